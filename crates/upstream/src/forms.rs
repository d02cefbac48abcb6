//! The forms in which a secret can stand inside text: as it is, percent-encoded, escaped, hexadecimal, base64 at any alignment. Only finds; never decodes what is not the secret.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use std::ops::Range;
use zeroize::Zeroizing;

/// Secrets shorter than this are looked for as they are only: their encodings would be found everywhere.
const ENCODED_SECRET_BYTES_MIN: usize = 4;

/// One secret and what it looks like.
pub(crate) struct Forms {
    secret: Zeroizing<Vec<u8>>,
    /// The base64 characters that depend on the secret alone, for each of the three alignments, in the standard alphabet.
    cores: Vec<Zeroizing<Vec<u8>>>,
    hex: Zeroizing<Vec<u8>>,
    /// Bytes with which any of the forms can begin.
    starts: [bool; 256],
}

impl Forms {
    /// The forms of a secret; an empty one has none.
    pub(crate) fn new(secret: &[u8]) -> Option<Self> {
        if secret.is_empty() {
            return None;
        }
        let encoded = secret.len() >= ENCODED_SECRET_BYTES_MIN;
        let cores = if encoded { (0..3).map(|offset| core(secret, offset)).collect() } else { Vec::new() };
        let hex = Zeroizing::new(if encoded { contract::digest::hex(secret).into_bytes() } else { Vec::new() });
        let mut forms = Self { secret: Zeroizing::new(secret.to_vec()), cores, hex, starts: [false; 256] };
        forms.mark_starts();
        Some(forms)
    }

    /// Where in `text` any form of the secret stands, from `from` on.
    pub(crate) fn find(&self, text: &[u8], from: usize) -> Option<Range<usize>> {
        (from..text.len())
            .filter(|at| text.get(*at).is_some_and(|byte| self.starts.get(usize::from(*byte)) == Some(&true)))
            .find_map(|at| self.find_at(text, at))
    }

    fn find_at(&self, text: &[u8], at: usize) -> Option<Range<usize>> {
        let rest = text.get(at..)?;
        if let Some(length) = plain(rest, &self.secret) {
            return Some(at..at + length);
        }
        if let Some(length) = hexadecimal(rest, &self.hex) {
            return Some(at..at + length);
        }
        let length = self.cores.iter().find_map(|core| base64(rest, core))?;
        Some(widened(text, at..at + length))
    }

    fn mark_starts(&mut self) {
        let firsts = [&self.secret, &self.hex].into_iter().chain(&self.cores).filter_map(|form| form.first().copied());
        let mut marks: Vec<u8> = firsts.flat_map(|byte| [byte, byte.to_ascii_uppercase()]).collect();
        marks.extend_from_slice(b"%\\+");
        if self.cores.iter().any(|core| matches!(core.first(), Some(b'+' | b'/'))) {
            marks.extend_from_slice(b"-_");
        }
        for mark in marks {
            if let Some(slot) = self.starts.get_mut(usize::from(mark)) {
                *slot = true;
            }
        }
    }
}

/// The characters of base64 text in which `secret`, standing `offset` bytes into a group of three, alone decides every bit.
fn core(secret: &[u8], offset: usize) -> Zeroizing<Vec<u8>> {
    let mut padded = Zeroizing::new(vec![0; offset]);
    padded.extend_from_slice(secret);
    let text = Zeroizing::new(STANDARD_NO_PAD.encode(&*padded));
    let (first, end) = ((8 * offset).div_ceil(6), 8 * (offset + secret.len()) / 6);
    Zeroizing::new(text.as_bytes().get(first..end).unwrap_or_default().to_vec())
}

/// Matches the secret byte by byte, each byte in any spelling of its own; gives the length in the text.
fn plain(text: &[u8], secret: &[u8]) -> Option<usize> {
    let Some((wanted, others)) = secret.split_first() else { return Some(0) };
    spellings(text, *wanted).find_map(|length| plain(text.get(length..)?, others).map(|rest| length + rest))
}

/// Lengths of all spellings of `wanted` with which `text` begins: itself, `%41`, `+`, `\x41`, `A`, `\"`, with any number of backslashes.
fn spellings(text: &[u8], wanted: u8) -> impl Iterator<Item = usize> {
    let literal = (text.first() == Some(&wanted)).then_some(1);
    let percent = text.strip_prefix(b"%").and_then(|rest| spelled(rest, 2, wanted)).map(|length| 1 + length);
    let plus = (wanted == b' ' && text.first() == Some(&b'+')).then_some(1);
    let slashes = text.iter().take_while(|byte| **byte == b'\\').count();
    let escaped = (slashes > 0).then(|| text.get(slashes..)).flatten().and_then(|rest| match rest.split_first()? {
        (b'u', digits) => spelled(digits, 4, wanted).map(|length| 1 + length),
        (b'x', digits) => spelled(digits, 2, wanted).map(|length| 1 + length),
        (byte, _) if *byte == wanted => Some(1),
        _ => None,
    });
    // A backslash of the secret itself stands there twice, or more often.
    let slash = (wanted == b'\\' && slashes > 1).then_some(slashes);
    [literal, percent, plus, escaped.map(|length| slashes + length), slash].into_iter().flatten()
}

/// Whether `text` begins with `digits` hexadecimal digits that stand for `wanted`.
fn spelled(text: &[u8], digits: usize, wanted: u8) -> Option<usize> {
    let value =
        text.get(..digits)?.iter().try_fold(0_u32, |value, byte| Some(value * 16 + char::from(*byte).to_digit(16)?))?;
    (value == u32::from(wanted)).then_some(digits)
}

/// Matches hexadecimal digits in either case, with at most one `:`, `-` or blank between two bytes.
fn hexadecimal(text: &[u8], hex: &[u8]) -> Option<usize> {
    if hex.is_empty() {
        return None;
    }
    let mut at = 0;
    for (index, wanted) in hex.iter().enumerate() {
        if index > 0 && index % 2 == 0 && matches!(text.get(at), Some(b':' | b'-' | b' ')) {
            at += 1;
        }
        if !text.get(at)?.eq_ignore_ascii_case(wanted) {
            return None;
        }
        at += 1;
    }
    Some(at)
}

/// Matches base64 characters of either alphabet, line breaks aside.
fn base64(text: &[u8], core: &[u8]) -> Option<usize> {
    if core.is_empty() {
        return None;
    }
    let mut at = 0;
    for wanted in core {
        while at > 0 && matches!(text.get(at), Some(b'\r' | b'\n')) {
            at += 1;
        }
        let found = match text.get(at)? {
            b'-' => b'+',
            b'_' => b'/',
            other => *other,
        };
        if found != *wanted {
            return None;
        }
        at += 1;
    }
    Some(at)
}

/// Takes the neighbours in, which hold the secret's outer bits, and padding.
fn widened(text: &[u8], range: Range<usize>) -> Range<usize> {
    let is_base64 = |at: usize| text.get(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || b"+/-_".contains(byte));
    let start = range.start.checked_sub(1).filter(|at| is_base64(*at)).unwrap_or(range.start);
    let mut end = range.end + usize::from(is_base64(range.end));
    while text.get(end) == Some(&b'=') {
        end += 1;
    }
    start..end
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
    use proptest::prelude::*;

    fn found(secret: &[u8], text: &str) -> bool {
        Forms::new(secret).expect("not empty").find(text.as_bytes(), 0).is_some()
    }

    #[test]
    fn every_spelling_is_found() {
        let secret = br#"s3cr"et/\ +%"#;
        for text in [
            r#"x s3cr"et/\ +% x"#,
            r"s3cr%22et%2F%5C%20%2B%25",
            r"s3cr%22et%2f%5c+%2b%25",
            r#"s3cr\"et/\\ +%"#,
            r#"s3cr\\\"et\\/\\\\ +%"#,
            r"\u0073\u0033\u0063\u0072\u0022\u0065\u0074\u002f\u005c\u0020\u002B\u0025",
            r"\\u0073\\u0033cr\\u0022et/\\u005c +%",
            r"\x733cr\x22et/\x5c +%",
            "7333637222 65742f5c202b25",
            "73:33:63:72:22:65:74:2F:5C:20:2B:25",
        ] {
            assert!(found(secret, text), "{text}");
        }
        for text in ["", "s3cr", r#"s3cr"et/ +%"#, "%", r"\", r"\u00", "%2"] {
            assert!(!found(secret, text), "{text}");
        }
    }

    #[test]
    fn base64_is_found_over_line_breaks_and_taken_out_whole() {
        let forms = Forms::new(b"a-secret-of-some-length").expect("not empty");
        let text = STANDARD.encode(b"user:a-secret-of-some-length");
        let broken = format!("<{}\r\n{}>", &text[..20], &text[20..]);
        let range = forms.find(broken.as_bytes(), 0).expect("found");
        assert!(broken[..range.start].len() <= 8 && &broken[range.end..] == ">", "{range:?}");
    }

    proptest! {
        #[test]
        fn base64_and_hex_are_found_at_any_alignment(
            secret in proptest::collection::vec(any::<u8>(), 6..40),
            before in proptest::collection::vec(any::<u8>(), 0..5),
            after in proptest::collection::vec(any::<u8>(), 0..5),
        ) {
            let all = [before.as_slice(), &secret, &after].concat();
            prop_assert!(found(&secret, &STANDARD.encode(&all)));
            prop_assert!(found(&secret, &URL_SAFE_NO_PAD.encode(&all)));
            prop_assert!(found(&secret, &contract::digest::hex(&all)));
            prop_assert!(found(&secret, &contract::digest::hex(&all).to_uppercase()));
        }

        #[test]
        fn any_text_is_searched_without_panic(secret in proptest::collection::vec(any::<u8>(), 1..12), text in r"[%\\uxa0-9=+/é\r\n]{0,60}") {
            let forms = Forms::new(&secret).expect("not empty");
            if let Some(range) = forms.find(text.as_bytes(), 0) {
                prop_assert!(range.start < range.end && range.end <= text.len());
            }
        }
    }
}
