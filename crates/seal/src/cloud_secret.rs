//! What the service's vault keeps in the clear for one moment: a typed credential, a grant, a client's secret, or an authorization in progress. Never printed, never serialized; it has one spelling, and is read back in that spelling only.

use crate::credential::{Credential, push_string, unescape};
use contract::{blob::SecretKind, limits};
use sign::Secret;

/// A secret of the vault. Its parts stay in custody; only the request they are for looks at them.
///
/// ```
/// let secret = collie_seal::CloudSecret::ClientSecret(sign::Secret::new(String::from("s3cret")));
/// let shown = format!("{:?}", secret.kind());
/// # let _ = shown;
/// ```
/// ```compile_fail
/// let secret = collie_seal::CloudSecret::ClientSecret(sign::Secret::new(String::from("s3cret")));
/// let shown = format!("{:?}", secret);
/// # let _ = shown;
/// ```
pub enum CloudSecret {
    /// What a person typed, or nothing at all.
    Typed(Credential),
    /// What an authorization server granted.
    Grant(OAuthGrant),
    /// The secret of a client that a person registered, or its private key as text.
    ClientSecret(Secret<String>),
    /// What belongs to a client that we registered (RFC 7591, 7592).
    Registration(ClientRegistration),
    /// An authorization in progress, as its own bytes.
    Authorization(Secret<Vec<u8>>),
}

/// Tokens of one consent. Holds at least one of the two.
pub struct OAuthGrant {
    /// For the next refresh; a server may give none.
    pub refresh_token: Option<Secret<String>>,
    /// For calls.
    pub access: Option<AccessToken>,
    /// What was granted, as the server said.
    pub scopes: Vec<String>,
}

/// A bearer token for the reviewed resource (RFC 6750).
pub struct AccessToken {
    /// The token.
    pub token: Secret<String>,
    /// Unix seconds; absent where the server did not say.
    pub expires_at_s: Option<u64>,
}

/// What the registration of a client gave. Holds at least one of the two secrets.
pub struct ClientRegistration {
    /// For confidential clients.
    pub client_secret: Option<Secret<String>>,
    /// For reading and ending the registration.
    pub management: Option<RegistrationAccess>,
}

/// How a registration is managed (RFC 7592).
pub struct RegistrationAccess {
    /// Where.
    pub uri: String,
    /// With what.
    pub token: Secret<String>,
}

impl CloudSecret {
    /// What kind of secret it is.
    #[must_use]
    pub const fn kind(&self) -> SecretKind {
        match self {
            Self::Typed(credential) => credential.kind(),
            Self::Grant(_) => SecretKind::OAuth,
            Self::ClientSecret(_) => SecretKind::ClientSecret,
            Self::Registration(_) => SecretKind::Dcr,
            Self::Authorization(_) => SecretKind::Pkce,
        }
    }

    /// The plaintext: canonical JSON, or the bytes of an authorization. `None` where a part is empty, too long, or has characters that no part of a request can have.
    pub(crate) fn to_plaintext(&self) -> Option<Secret<Vec<u8>>> {
        let mut written = None;
        let plaintext = match self {
            Self::Typed(credential) => return credential.to_plaintext(),
            Self::Authorization(bytes) => Secret::init(|out: &mut Vec<u8>| {
                // EXPOSE: to the plaintext, which is a secret itself.
                written = bytes.with(|bytes| {
                    let fits = (1..=limits::VAULT_AUTHORIZATION_BYTES_MAX).contains(&bytes.len());
                    fits.then(|| out.extend_from_slice(bytes))
                });
            }),
            Self::Grant(grant) => Secret::init(|out| written = write(out, |members| write_grant(grant, members))),
            Self::ClientSecret(secret) => {
                Secret::init(|out| written = write(out, |members| members.secret("client_secret", secret)))
            }
            Self::Registration(registration) => {
                Secret::init(|out| written = write(out, |members| write_registration(registration, members)))
            }
        };
        written.map(|()| plaintext)
    }

    /// Reads a plaintext of this kind; only the spelling that [`to_plaintext`](Self::to_plaintext) writes.
    pub(crate) fn from_plaintext(kind: SecretKind, plaintext: &Secret<Vec<u8>>) -> Option<Self> {
        let read = match kind {
            SecretKind::None | SecretKind::StaticBearer | SecretKind::StaticHeader => {
                Self::Typed(Credential::from_plaintext(kind, plaintext)?)
            }
            SecretKind::OAuth => Self::Grant(read(plaintext, read_grant)?),
            SecretKind::ClientSecret => Self::ClientSecret(read(plaintext, |members| members.secret("client_secret"))?),
            SecretKind::Dcr => Self::Registration(read(plaintext, read_registration)?),
            // EXPOSE: to another secret of the same kind.
            SecretKind::Pkce => Self::Authorization(Secret::init(|out: &mut Vec<u8>| {
                plaintext.with(|bytes| out.extend_from_slice(bytes));
            })),
        };
        read.to_plaintext()?.is_same(plaintext).then_some(read)
    }
}

fn write_grant(grant: &OAuthGrant, members: &mut Writer<'_>) -> Option<()> {
    if grant.refresh_token.is_none() && grant.access.is_none() {
        return None;
    }
    if let Some(access) = &grant.access {
        if let Some(expires_at_s) = access.expires_at_s {
            members.number("access_expires_at", expires_at_s)?;
        }
        members.secret("access_token", &access.token)?;
    }
    if let Some(token) = &grant.refresh_token {
        members.secret("refresh_token", token)?;
    }
    let one_word = |scope: &String| !scope.is_empty() && scope.bytes().all(|byte| byte.is_ascii_graphic());
    if grant.scopes.len() > limits::OAUTH_SCOPES_MAX || !grant.scopes.iter().all(one_word) {
        return None;
    }
    members.text("scope", &grant.scopes.join(" "));
    Some(())
}

fn read_grant(members: &mut Reader<'_>) -> Option<OAuthGrant> {
    let expires_at_s = members.number("access_expires_at");
    let access = members.secret("access_token").map(|token| AccessToken { token, expires_at_s });
    let refresh_token = members.secret("refresh_token");
    let scopes = members.text("scope")?.split(' ').filter(|scope| !scope.is_empty()).map(str::to_owned).collect();
    Some(OAuthGrant { refresh_token, access, scopes })
}

fn write_registration(registration: &ClientRegistration, members: &mut Writer<'_>) -> Option<()> {
    if registration.client_secret.is_none() && registration.management.is_none() {
        return None;
    }
    if let Some(secret) = &registration.client_secret {
        members.secret("client_secret", secret)?;
    }
    if let Some(management) = &registration.management {
        members.secret("registration_token", &management.token)?;
        if management.uri.is_empty() || !is_plain(&management.uri) {
            return None;
        }
        members.text("registration_uri", &management.uri);
    }
    Some(())
}

fn read_registration(members: &mut Reader<'_>) -> Option<ClientRegistration> {
    let client_secret = members.secret("client_secret");
    let token = members.secret("registration_token");
    let uri = members.text("registration_uri").map(str::to_owned);
    let management = match (token, uri) {
        (Some(token), Some(uri)) => Some(RegistrationAccess { uri, token }),
        (None, None) => None,
        (Some(_), None) | (None, Some(_)) => return None,
    };
    Some(ClientRegistration { client_secret, management })
}

/// Printable ASCII (RFC 6749 appendix A, VSCHAR), within the maximum of one secret.
fn is_plain(text: &str) -> bool {
    text.len() <= limits::CREDENTIAL_SECRET_BYTES_MAX && text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

pub(crate) fn write(out: &mut Vec<u8>, members: impl FnOnce(&mut Writer<'_>) -> Option<()>) -> Option<()> {
    // One allocation that holds everything, so that no smaller one is left behind unwiped.
    out.reserve(8 * limits::CREDENTIAL_SECRET_BYTES_MAX);
    out.push(b'{');
    members(&mut Writer { out, first: true })?;
    out.push(b'}');
    Some(())
}

/// Writes the members of one object, in the order of their names.
pub(crate) struct Writer<'a> {
    out: &'a mut Vec<u8>,
    first: bool,
}

impl Writer<'_> {
    fn name(&mut self, name: &str) {
        if !std::mem::take(&mut self.first) {
            self.out.push(b',');
        }
        push_string(name, self.out);
        self.out.push(b':');
    }

    pub(crate) fn text(&mut self, name: &str, text: &str) {
        self.name(name);
        push_string(text, self.out);
    }

    /// A text of printable ASCII that is no secret; it can be empty.
    pub(crate) fn plain(&mut self, name: &str, text: &str) -> Option<()> {
        is_plain(text).then(|| self.text(name, text))
    }

    pub(crate) fn secret(&mut self, name: &str, secret: &Secret<String>) -> Option<()> {
        // EXPOSE: to the plaintext, which is a secret itself.
        secret.with(|text| (!text.is_empty() && is_plain(text)).then(|| self.text(name, text)))
    }

    pub(crate) fn number(&mut self, name: &str, number: u64) -> Option<()> {
        (number <= limits::SIGNED_INTEGER_MAX).then(|| {
            self.name(name);
            self.out.extend_from_slice(number.to_string().as_bytes());
        })
    }
}

/// Reads `{…}` whole. What it accepts beyond the one spelling falls at the comparison afterwards.
pub(crate) fn read<T>(plaintext: &Secret<Vec<u8>>, members: impl FnOnce(&mut Reader<'_>) -> Option<T>) -> Option<T> {
    // EXPOSE: to the parts, which are secrets again.
    plaintext.with(|bytes| {
        let inside = std::str::from_utf8(bytes).ok()?.strip_prefix('{')?.strip_suffix('}')?;
        let mut reader = Reader(inside);
        let read = members(&mut reader)?;
        reader.0.is_empty().then_some(read)
    })
}

/// What is left of an object's members.
pub(crate) struct Reader<'a>(&'a str);

impl<'a> Reader<'a> {
    /// Takes the value of the next member if it has this name.
    fn value(&mut self, name: &str, end: impl Fn(&str) -> Option<usize>) -> Option<&'a str> {
        let rest = self.0.strip_prefix(',').unwrap_or(self.0);
        let rest = rest.strip_prefix('"')?.strip_prefix(name)?.strip_prefix("\":")?;
        let (value, rest) = rest.split_at_checked(end(rest)?)?;
        self.0 = rest;
        Some(value)
    }

    fn string(&mut self, name: &str) -> Option<&'a str> {
        let quoted = self.value(name, |rest| {
            let mut escaped = false;
            let end = rest.strip_prefix('"')?.find(|c| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            })?;
            Some(end + 2)
        })?;
        quoted.strip_prefix('"')?.strip_suffix('"')
    }

    pub(crate) fn text(&mut self, name: &str) -> Option<&'a str> {
        self.string(name).filter(|text| !text.contains('\\'))
    }

    /// A text that is no secret.
    pub(crate) fn plain(&mut self, name: &str) -> Option<String> {
        // EXPOSE: nothing; what is read here is no secret.
        unescape(self.string(name)?).map(|text| text.with(Clone::clone))
    }

    pub(crate) fn secret(&mut self, name: &str) -> Option<Secret<String>> {
        unescape(self.string(name)?)
    }

    pub(crate) fn number(&mut self, name: &str) -> Option<u64> {
        let before = self.0;
        let digits = self.value(name, |rest| rest.find(|c: char| !c.is_ascii_digit()).or(Some(rest.len())))?;
        let number = digits.parse().ok();
        if number.is_none() {
            self.0 = before;
        }
        number
    }
}

#[cfg(test)]
#[path = "cloud_secret_tests.rs"]
mod tests;
