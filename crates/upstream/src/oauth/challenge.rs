//! Reads a Bearer challenge (RFC 6750 3, RFC 9728 5.1). Never follows what it says.

use super::error::ErrorCode;
use super::fields::is_scope;
use contract::limits;

/// What a resource said in `WWW-Authenticate`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Challenge {
    /// Where the resource says that its metadata is.
    pub resource_metadata: Option<String>,
    /// The scopes that it wants.
    pub scopes: Vec<String>,
    /// Its error; with `insufficient_scope`, more scopes help.
    pub error: Option<ErrorCode>,
}

/// The header is no list of challenges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the challenge in `WWW-Authenticate` cannot be read: {what}")]
pub struct ChallengeError {
    /// Why not.
    pub what: &'static str,
}

impl Challenge {
    /// The Bearer challenge of a header's value; none if it has none.
    pub fn parse(header: &str) -> Result<Option<Self>, ChallengeError> {
        let bad = |what| ChallengeError { what };
        if header.len() > limits::OAUTH_CHALLENGE_BYTES_MAX {
            return Err(bad("it is too long"));
        }
        let Some(mut rest) = after_scheme(header) else { return Ok(None) };
        let mut challenge = Self::default();
        let mut seen: Vec<String> = Vec::new();
        loop {
            rest = rest.trim_start_matches([' ', '\t', ',']);
            let name_end = rest.find(|c: char| !is_token_char(c)).unwrap_or(rest.len());
            let (name, after) = rest.split_at(name_end);
            // The end, or the next challenge's scheme.
            let Some(value) = after.trim_start().strip_prefix('=') else { break };
            let (value, after) = parameter_value(value.trim_start()).ok_or(bad("a parameter has no end"))?;
            let name = name.to_ascii_lowercase();
            if seen.contains(&name) {
                return Err(bad("a parameter stands twice"));
            }
            challenge.take(&name, value)?;
            seen.push(name);
            rest = after;
        }
        Ok(Some(challenge))
    }

    fn take(&mut self, name: &str, value: String) -> Result<(), ChallengeError> {
        match name {
            "resource_metadata" => self.resource_metadata = Some(value),
            "error" => self.error = Some(ErrorCode::parse(&value)),
            "scope" => {
                let scopes: Vec<String> = value.split(' ').filter(|s| !s.is_empty()).map(str::to_owned).collect();
                if scopes.len() > limits::OAUTH_SCOPES_MAX || !scopes.iter().all(|scope| is_scope(scope)) {
                    return Err(ChallengeError { what: "`scope` is no list of scopes" });
                }
                self.scopes = scopes;
            }
            _ => {}
        }
        Ok(())
    }
}

/// What follows the scheme `Bearer`, wherever it stands outside of a quoted text.
fn after_scheme(header: &str) -> Option<&str> {
    let mut quoted = false;
    let mut escaped = false;
    let mut at_start = true;
    for (at, c) in header.char_indices() {
        if at_start && !quoted {
            let head = header.get(at..at + 6).unwrap_or_default();
            let rest = header.get(at + 6..).unwrap_or_default();
            if head.eq_ignore_ascii_case("bearer") && (rest.is_empty() || rest.starts_with([' ', '\t', ','])) {
                return Some(rest);
            }
        }
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ => {}
        }
        at_start = !quoted && matches!(c, ',' | ' ' | '\t') && (at_start || matches!(c, ','));
    }
    None
}

/// A token or a quoted text, and what follows.
fn parameter_value(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([',', ' ', '\t']).unwrap_or(text.len());
        let (value, rest) = text.split_at(end);
        return Some((value.to_owned(), rest));
    };
    let mut value = String::new();
    let mut chars = quoted.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, quoted.get(at + 1..)?)),
            '\\' => value.push(chars.next()?.1),
            _ => value.push(c),
        }
    }
    None
}

fn is_token_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(header: &str) -> Challenge {
        Challenge::parse(header).expect("readable").expect("a Bearer challenge")
    }

    #[test]
    fn hints_scopes_and_errors_are_found_in_any_order_and_case() {
        let wanted = Some("https://h/.well-known/x?a=1,2".to_owned());
        for header in [
            r#"Bearer resource_metadata="https://h/.well-known/x?a=1,2", scope="a:b c", error="insufficient_scope""#,
            r#"bearer  realm="x, Bearer \"y", Scope="a:b c",resource_metadata="https://h/.well-known/x?a=1,2" , error=insufficient_scope"#,
            r#"Basic realm="bearer x", Bearer error="insufficient_scope",scope="a:b c", resource_metadata="https://h/.well-known/x?a=1,2", DPoP algs="ES256""#,
        ] {
            let challenge = parse(header);
            assert_eq!(challenge.resource_metadata, wanted, "{header}");
            assert_eq!(challenge.scopes, ["a:b", "c"], "{header}");
            assert_eq!(challenge.error, Some(ErrorCode::InsufficientScope));
        }
        assert_eq!(parse("Bearer"), Challenge::default());
        for header in ["", "Basic realm=\"Bearer x\"", "DPoP", "BearerX a=b"] {
            assert_eq!(Challenge::parse(header), Ok(None), "{header}");
        }
    }

    #[test]
    fn broken_challenges_are_refused() {
        for header in [
            r#"Bearer scope="a"#,
            r#"Bearer scope="a", scope="b""#,
            "Bearer scope=\"a\u{7f}\"",
            &format!("Bearer scope=\"{}\"", "a ".repeat(5000)),
            &format!("Bearer scope=\"{}\"", "a ".repeat(limits::OAUTH_SCOPES_MAX + 1)),
        ] {
            assert!(Challenge::parse(header).is_err(), "{header}");
        }
    }
}
