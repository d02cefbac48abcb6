//! A credential in the clear, on the device, in memory: what it is, how it is written before it is sealed, and the one function through which its secret leaves. Never printed, never serialized.

use crate::grant::DeviceGrant;
use contract::{blob::SecretKind, credential::GrantFacts, limits};
use sign::Secret;
use zeroize::{Zeroize, Zeroizing};

/// Why a typed secret cannot be a credential. Says nothing of the secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CredentialTextError {
    /// Nothing was typed.
    #[error("the secret is empty")]
    Empty,
    /// Longer than [`limits::CREDENTIAL_SECRET_BYTES_MAX`].
    #[error("the secret is longer than {max} bytes")]
    TooLong {
        /// The named maximum.
        max: usize,
    },
    /// A header carries visible ASCII only; a bearer token no spaces either.
    #[error("the secret holds a character that a header cannot carry")]
    Character,
    /// Not a header name, or one that belongs to the protocol.
    #[error("`{name}` cannot be the header of a credential")]
    HeaderName {
        /// The name, which is no secret.
        name: String,
    },
}

/// Headers that carry the request itself; a credential may not take their place.
const PROTOCOL_HEADERS: &[&str] = &[
    "accept",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "keep-alive",
    "last-event-id",
    "origin",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// One header line that carries a secret. Has no `Debug` and lives inside a [`Secret`].
#[derive(Zeroize)]
pub struct HeaderLine {
    name: String,
    value: String,
    secret_at: usize,
}

impl HeaderLine {
    /// The header's name, as it was typed.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole value, as sent.
    #[must_use]
    pub fn value(&self) -> &str {
        &self.value
    }

    /// The secret inside the value, as an answer might echo it.
    #[must_use]
    pub fn secret(&self) -> &str {
        self.value.split_at_checked(self.secret_at).map_or(&self.value, |(_, secret)| secret)
    }
}

/// A credential in memory.
///
/// ```
/// let token = collie_seal::Credential::static_bearer(&sign::Secret::new(String::from("s3cret"))).map_err(|_| ())?;
/// let shown = format!("{:?}", token.kind());
/// # let _ = shown;
/// # Ok::<(), ()>(())
/// ```
/// ```compile_fail
/// let token = collie_seal::Credential::static_bearer(&sign::Secret::new(String::from("s3cret"))).map_err(|_| ())?;
/// let shown = format!("{:?}", token);
/// # let _ = shown;
/// # Ok::<(), ()>(())
/// ```
pub struct Credential {
    kind: SecretKind,
    lines: Secret<Vec<HeaderLine>>,
    grant: Option<Box<DeviceGrant>>,
}

impl Credential {
    /// No secret: the server asks for none.
    #[must_use]
    pub fn none() -> Self {
        Self { kind: SecretKind::None, lines: Secret::new(Vec::new()), grant: None }
    }

    /// A bearer token (RFC 6750): visible ASCII without spaces.
    pub fn static_bearer(token: &Secret<String>) -> Result<Self, CredentialTextError> {
        // EXPOSE: to the header line, which lives in a secret.
        token.with(|text| {
            check_value(text, false)?;
            Ok(Self {
                kind: SecretKind::StaticBearer,
                lines: Secret::new(vec![bearer_line("Bearer", text)]),
                grant: None,
            })
        })
    }

    /// The value of one named header.
    pub fn static_header(name: &str, value: &Secret<String>) -> Result<Self, CredentialTextError> {
        check_name(name)?;
        // EXPOSE: to the header line, which lives in a secret.
        value.with(|text| {
            check_value(text, true)?;
            Ok(Self { kind: SecretKind::StaticHeader, lines: Secret::new(vec![header_line(name, text)]), grant: None })
        })
    }

    /// A consent with its access token (RFC 6750).
    pub fn oauth(grant: DeviceGrant) -> Result<Self, CredentialTextError> {
        let access = grant.access.as_ref().ok_or(CredentialTextError::Empty)?;
        // EXPOSE: to the header line, which lives in a secret.
        let lines = access.token.with(|token| {
            check_value(token, false)?;
            Ok(Secret::new(vec![bearer_line("Bearer", token)]))
        })?;
        Ok(Self { kind: SecretKind::OAuth, lines, grant: Some(Box::new(grant)) })
    }

    /// What its grant belongs to, where it has one.
    #[must_use]
    pub fn grant_facts(&self) -> Option<&GrantFacts> {
        self.grant.as_ref().map(|grant| &grant.facts)
    }

    /// The grant, for a request to its authorization server: a refresh, a revocation, a new sign-in.
    #[must_use]
    pub fn grant(&self) -> Option<&DeviceGrant> {
        self.grant.as_deref()
    }

    /// The grant alone, to be kept with other tokens in it.
    #[must_use]
    pub fn into_grant(self) -> Option<DeviceGrant> {
        self.grant.map(|grant| *grant)
    }

    /// Lines as the public client stored them: a bearer line, headers, or both.
    pub(crate) fn from_lines(lines: Vec<HeaderLine>) -> Self {
        let kind = match lines.first() {
            None => SecretKind::None,
            Some(line) if line.secret_at > 0 => SecretKind::StaticBearer,
            Some(_) => SecretKind::StaticHeader,
        };
        Self { kind, lines: Secret::new(lines), grant: None }
    }

    /// What kind of secret it is.
    #[must_use]
    pub const fn kind(&self) -> SecretKind {
        self.kind
    }

    /// The one way out: lets `send` see the header lines, to put them on a request to the reviewed endpoint and to redact them from its answer.
    pub fn expose_for_upstream_request<R>(&self, send: impl FnOnce(&[HeaderLine]) -> R) -> R {
        // EXPOSE: to the request to the reviewed endpoint.
        self.lines.with(|lines| send(lines))
    }

    /// The plaintext of a sealed credential: `{}`, `{"token":"…"}` or `{"name":"…","value":"…"}`, canonical. `None` for a credential of another shape than its kind.
    pub(crate) fn to_plaintext(&self) -> Option<Secret<Vec<u8>>> {
        if let Some(grant) = &self.grant {
            return grant.to_plaintext();
        }
        // EXPOSE: to the plaintext, which is a secret itself.
        self.lines.with(|lines| {
            let mut written = None;
            let plaintext = Secret::init(|out: &mut Vec<u8>| {
                out.reserve(2 * limits::CREDENTIAL_SECRET_BYTES_MAX);
                written = write_plaintext(self.kind, lines, out);
            });
            written.map(|()| plaintext)
        })
    }

    /// Reads the plaintext of a sealed credential of this kind; only the spelling that [`to_plaintext`](Self::to_plaintext) writes.
    pub(crate) fn from_plaintext(kind: SecretKind, plaintext: &Secret<Vec<u8>>) -> Option<Self> {
        if kind == SecretKind::OAuth {
            return Self::oauth(DeviceGrant::from_plaintext(plaintext)?).ok();
        }
        // EXPOSE: to the credential, which lives in a secret.
        let credential = plaintext.with(|bytes| {
            let text = std::str::from_utf8(bytes).ok()?;
            match kind {
                SecretKind::None => (text == "{}").then(Self::none),
                SecretKind::StaticBearer => {
                    let token = unescape(text.strip_prefix("{\"token\":\"")?.strip_suffix("\"}")?)?;
                    Self::static_bearer(&token).ok()
                }
                SecretKind::StaticHeader => {
                    // A header name holds no quote, so the first one ends it.
                    let (name, rest) = text.strip_prefix("{\"name\":\"")?.split_once('"')?;
                    let value = unescape(rest.strip_prefix(",\"value\":\"")?.strip_suffix("\"}")?)?;
                    Self::static_header(name, &value).ok()
                }
                SecretKind::OAuth | SecretKind::ClientSecret | SecretKind::Dcr | SecretKind::Pkce => None,
            }
        })?;
        credential.to_plaintext()?.is_same(plaintext).then_some(credential)
    }
}

pub(crate) fn bearer_line(scheme: &str, token: &str) -> HeaderLine {
    HeaderLine { name: "authorization".to_owned(), value: [scheme, " ", token].concat(), secret_at: scheme.len() + 1 }
}

pub(crate) fn header_line(name: &str, value: &str) -> HeaderLine {
    HeaderLine { name: name.to_owned(), value: value.to_owned(), secret_at: 0 }
}

pub(crate) fn check_name(name: &str) -> Result<(), CredentialTextError> {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let lower = name.to_ascii_lowercase();
    let usable = (1..=limits::CREDENTIAL_HEADER_NAME_CHARS_MAX).contains(&name.len())
        && name.bytes().all(token)
        && !PROTOCOL_HEADERS.contains(&lower.as_str())
        && !lower.starts_with("mcp-")
        && !lower.starts_with("proxy-");
    if usable { Ok(()) } else { Err(CredentialTextError::HeaderName { name: contract::text::visible(name) }) }
}

pub(crate) fn check_value(text: &str, spaces: bool) -> Result<(), CredentialTextError> {
    if text.is_empty() {
        return Err(CredentialTextError::Empty);
    }
    if text.len() > limits::CREDENTIAL_SECRET_BYTES_MAX {
        return Err(CredentialTextError::TooLong { max: limits::CREDENTIAL_SECRET_BYTES_MAX });
    }
    let visible = text.bytes().all(|byte| byte.is_ascii_graphic() || (spaces && byte == b' '));
    if visible && text.trim() == text { Ok(()) } else { Err(CredentialTextError::Character) }
}

fn write_plaintext(kind: SecretKind, lines: &[HeaderLine], out: &mut Vec<u8>) -> Option<()> {
    match (kind, lines) {
        (SecretKind::None, []) => out.extend_from_slice(b"{}"),
        (SecretKind::StaticBearer, [line]) if line.value.starts_with("Bearer ") => {
            out.extend_from_slice(b"{\"token\":");
            push_string(line.secret(), out);
            out.push(b'}');
        }
        (SecretKind::StaticHeader, [line]) => {
            out.extend_from_slice(b"{\"name\":");
            push_string(&line.name, out);
            out.extend_from_slice(b",\"value\":");
            push_string(&line.value, out);
            out.push(b'}');
        }
        (SecretKind::None | SecretKind::StaticBearer | SecretKind::StaticHeader, _) => return None,
        // A grant writes itself; the others are no header line, see `cloud_secret`.
        (SecretKind::OAuth | SecretKind::ClientSecret | SecretKind::Dcr | SecretKind::Pkce, _) => return None,
    }
    Some(())
}

/// A JSON string of visible ASCII, for which canonical JSON escapes these two characters only. Written here so that no copy of the secret is left behind unwiped.
pub(crate) fn push_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for byte in text.bytes() {
        if matches!(byte, b'"' | b'\\') {
            out.push(b'\\');
        }
        out.push(byte);
    }
    out.push(b'"');
}

pub(crate) fn unescape(text: &str) -> Option<Secret<String>> {
    let mut plain = Zeroizing::new(String::with_capacity(text.len()));
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        plain.push(if c == '\\' { characters.next()? } else { c });
    }
    Some(Secret::new(std::mem::take(&mut *plain)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn secret(text: &str) -> Secret<String> {
        Secret::new(text.to_owned())
    }

    fn plaintext(credential: &Credential) -> String {
        credential.to_plaintext().expect("a plaintext").with(|bytes| String::from_utf8(bytes.clone()).expect("text"))
    }

    fn read(kind: SecretKind, text: &str) -> Option<Credential> {
        Credential::from_plaintext(kind, &Secret::new(text.as_bytes().to_vec()))
    }

    #[test]
    fn each_kind_has_one_plaintext() {
        let bearer = Credential::static_bearer(&secret("a\"b\\c")).expect("a token");
        assert_eq!(plaintext(&bearer), r#"{"token":"a\"b\\c"}"#);
        let header = Credential::static_header("X-Api-Key", &secret("k 1")).expect("a header");
        assert_eq!(plaintext(&header), r#"{"name":"X-Api-Key","value":"k 1"}"#);
        assert_eq!(plaintext(&Credential::none()), "{}");
        header.expose_for_upstream_request(|lines| {
            assert_eq!((lines[0].name(), lines[0].value(), lines[0].secret()), ("X-Api-Key", "k 1", "k 1"));
        });
        bearer.expose_for_upstream_request(|lines| {
            assert_eq!(
                (lines[0].name(), lines[0].value(), lines[0].secret()),
                ("authorization", "Bearer a\"b\\c", "a\"b\\c")
            );
        });
    }

    #[test]
    fn a_plaintext_of_another_kind_or_spelling_is_refused() {
        let good = r#"{"token":"abc"}"#;
        assert!(read(SecretKind::StaticBearer, good).is_some());
        assert!(read(SecretKind::StaticHeader, good).is_none());
        assert!(read(SecretKind::None, good).is_none());
        for bad in [
            r#"{"token": "abc"}"#,
            r#"{"token":"\u0061bc"}"#,
            r#"{"token":"abc","token":"d"}"#,
            r#"{"token":"abc"} "#,
            r#"{"token":""}"#,
            r#"{"token":"a\nb"}"#,
            "",
        ] {
            assert!(read(SecretKind::StaticBearer, bad).is_none(), "{bad}");
        }
        assert!(read(SecretKind::StaticHeader, r#"{"name":"host","value":"x"}"#).is_none());
    }

    #[test]
    fn what_a_header_cannot_carry_is_refused() {
        let bearer = |text: &str| Credential::static_bearer(&secret(text)).err();
        assert_eq!(bearer(""), Some(CredentialTextError::Empty));
        for bad in ["a b", "a\r\nx: y", "é", "a\0", "\t"] {
            assert_eq!(bearer(bad), Some(CredentialTextError::Character), "{bad:?}");
        }
        let max = limits::CREDENTIAL_SECRET_BYTES_MAX;
        assert_eq!(bearer(&"x".repeat(max + 1)), Some(CredentialTextError::TooLong { max }));
        for name in ["", "a b", "a:", "Host", "Mcp-Session-Id", "Content-Length", "x\r\n"] {
            assert!(matches!(
                Credential::static_header(name, &secret("x")).err(),
                Some(CredentialTextError::HeaderName { .. })
            ));
        }
    }

    proptest! {
        #[test]
        fn every_typed_secret_comes_back(token in "[!-~]{1,80}", value in "[!-~]([ -~]{0,60}[!-~])?") {
            let bearer = Credential::static_bearer(&secret(&token)).expect("a token");
            let back = read(SecretKind::StaticBearer, &plaintext(&bearer)).expect("reads back");
            back.expose_for_upstream_request(|lines| assert_eq!(lines[0].secret(), token));
            let header = Credential::static_header("X-Key", &secret(&value)).expect("a value");
            let back = read(SecretKind::StaticHeader, &plaintext(&header)).expect("reads back");
            back.expose_for_upstream_request(|lines| assert_eq!(lines[0].value(), value));
        }

        #[test]
        fn arbitrary_plaintexts_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            for kind in SecretKind::ALL {
                let _ = Credential::from_plaintext(*kind, &Secret::new(bytes.clone()));
            }
        }
    }
}
