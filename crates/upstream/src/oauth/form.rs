//! `application/x-www-form-urlencoded` bodies and queries. Secrets are written into one allocation that never grows and is wiped.

use super::error::Fault;
use contract::limits;
use zeroize::Zeroizing;

/// A form that may hold secrets.
pub(crate) struct Form(Zeroizing<Vec<u8>>);

impl Form {
    pub(crate) fn new() -> Self {
        Self(Zeroizing::new(Vec::with_capacity(limits::OAUTH_FORM_BYTES_MAX)))
    }

    /// Adds a field.
    pub(crate) fn push(&mut self, name: &str, value: &str) -> Result<(), Fault> {
        // Each byte takes three at most; the capacity is kept, so nothing is ever moved and left behind.
        if self.0.len() + 3 * (name.len() + value.len()) + 2 > limits::OAUTH_FORM_BYTES_MAX {
            return Err(Fault::BadRequest { what: "the form is larger than the limit" });
        }
        if !self.0.is_empty() {
            self.0.push(b'&');
        }
        encode_into(&mut self.0, name);
        self.0.push(b'=');
        encode_into(&mut self.0, value);
        Ok(())
    }

    pub(crate) fn into_bytes(self) -> Zeroizing<Vec<u8>> {
        self.0
    }
}

/// Appends `text` in the form's encoding to a buffer that has the room.
pub(crate) fn encode_into(out: &mut Vec<u8>, text: &str) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text.bytes() {
        match byte {
            b' ' => out.push(b'+'),
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'.' | b'_' | b'*' => out.push(byte),
            _ => {
                let digit = |nibble: u8| HEX.get(usize::from(nibble)).copied().unwrap_or(b'0');
                out.extend_from_slice(&[b'%', digit(byte >> 4), digit(byte & 15)]);
            }
        }
    }
}

/// Reads a query into names and values; a name that stands twice is refused by its caller.
pub(crate) fn decode(query: &str) -> Option<Vec<(String, String)>> {
    query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((decode_text(name)?, decode_text(value)?))
        })
        .collect()
}

fn decode_text(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let mut digit = || (rest.next()? as char).to_digit(16);
                let value = digit()? * 16 + digit()?;
                bytes.push(u8::try_from(value).ok()?);
            }
            _ => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded() {
        let mut form = Form::new();
        for (name, value) in [("a", "b c&d=e+f%"), ("resource", "https://h/mcp/"), ("é", "~ü\u{1f436}")] {
            form.push(name, value).expect("it fits");
        }
        let bytes = form.into_bytes();
        let text = std::str::from_utf8(&bytes).expect("ASCII");
        assert!(text.starts_with("a=b+c%26d%3De%2Bf%25&resource=https%3A%2F%2Fh%2Fmcp%2F&"), "{text}");
        let fields = decode(text).expect("a form");
        assert_eq!(fields[0].1, "b c&d=e+f%");
        assert_eq!(fields[2], ("é".to_owned(), "~ü\u{1f436}".to_owned()));
    }

    #[test]
    fn broken_escapes_and_large_forms_are_refused() {
        for query in ["a=%", "a=%2", "a=%zz", "a=%ff"] {
            assert_eq!(decode(query), None, "{query}");
        }
        let mut form = Form::new();
        assert!(form.push("a", &"%".repeat(limits::OAUTH_FORM_BYTES_MAX / 3)).is_err());
    }
}
