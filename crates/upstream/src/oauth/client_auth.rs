//! How a client shows the authorization server who it is. Uses one method, the client's own, and never tries another.

use super::error::Fault;
use super::form::{Form, encode_into};
use super::http::{AUTHORIZATION, CONTENT_TYPE, request};
use super::identity::Client;
use super::metadata::AuthorizationServer;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use contract::{Json, b64u, limits};
use egress::{Destination, Egress, Method, Request};
use sign::{Es256Key, Secret};
use zeroize::Zeroizing;

/// A method of client authentication by its registered name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthMethod {
    /// By the client id alone (RFC 7591).
    None,
    /// RFC 6749 2.3.1, in the header.
    ClientSecretBasic,
    /// RFC 6749 2.3.1, in the form.
    ClientSecretPost,
    /// RFC 7523, ES256.
    PrivateKeyJwt,
}

impl AuthMethod {
    /// Its registered name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::ClientSecretBasic => "client_secret_basic",
            Self::ClientSecretPost => "client_secret_post",
            Self::PrivateKeyJwt => "private_key_jwt",
        }
    }

    /// The method of a registered name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::None, Self::ClientSecretBasic, Self::ClientSecretPost, Self::PrivateKeyJwt]
            .into_iter()
            .find(|method| method.as_str() == text)
    }
}

/// What a client has to show.
pub enum ClientAuth {
    /// Nothing: a public client.
    None,
    /// A secret, in the header.
    Basic(Secret<String>),
    /// A secret, in the form.
    Post(Secret<String>),
    /// A key.
    PrivateKeyJwt {
        /// The key.
        key: Es256Key,
        /// Its name in the client's key set, if it has one.
        kid: Option<String>,
    },
}

/// The caller's clock and chance for one request: a client assertion needs both.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// Now, Unix seconds.
    pub now_s: u64,
    /// Fresh random bytes, used once.
    pub random: [u8; 16],
}

impl ClientAuth {
    /// The method.
    #[must_use]
    pub const fn method(&self) -> AuthMethod {
        match self {
            Self::None => AuthMethod::None,
            Self::Basic(_) => AuthMethod::ClientSecretBasic,
            Self::Post(_) => AuthMethod::ClientSecretPost,
            Self::PrivateKeyJwt { .. } => AuthMethod::PrivateKeyJwt,
        }
    }
}

/// A POST of `form` to an endpoint of `server`, by `client`. Nothing is sent where the client is another issuer's or its method is not taken.
pub(crate) fn authenticated_post(
    egress: &Egress,
    server: &AuthorizationServer,
    client: &Client,
    endpoint: &str,
    mut form: Form,
    moment: Moment,
) -> Result<(Destination, Request), Fault> {
    if client.issuer() != server.issuer() {
        return Err(Fault::OtherIssuer);
    }
    if !server.takes(client.auth().method()) {
        return Err(Fault::NotOffered { what: "this client's authentication method" });
    }
    let id = client.client_id();
    let mut basic = None;
    match client.auth() {
        ClientAuth::None => form.push("client_id", id)?,
        // EXPOSE: to the authorization server that the secret is for, whose issuer was compared above.
        ClientAuth::Basic(secret) => basic = Some(secret.with(|secret| basic_header(id, secret))),
        ClientAuth::Post(secret) => {
            form.push("client_id", id)?;
            // EXPOSE: to the same server, in the form.
            secret.with(|secret| form.push("client_secret", secret))?;
        }
        ClientAuth::PrivateKeyJwt { key, kid } => {
            form.push("client_id", id)?;
            form.push("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")?;
            form.push("client_assertion", &assertion(key, kid.as_deref(), id, server.issuer(), moment))?;
        }
    }
    let destination = egress.foreign(endpoint)?;
    let mut request = request(Method::POST, destination.target(), limits::OAUTH_ANSWER_BYTES_MAX)?
        .header(CONTENT_TYPE, "application/x-www-form-urlencoded")?
        .secret_body(form.into_bytes());
    if let Some(header) = basic {
        request = request.secret_header(AUTHORIZATION, header)?;
    }
    Ok((destination, request))
}

fn basic_header(id: &str, secret: &str) -> Zeroizing<Vec<u8>> {
    let mut pair = Zeroizing::new(Vec::with_capacity(3 * (id.len() + secret.len()) + 1));
    encode_into(&mut pair, id);
    pair.push(b':');
    encode_into(&mut pair, secret);
    let encoded = Zeroizing::new(STANDARD.encode(&pair));
    let mut header = Zeroizing::new(Vec::with_capacity(6 + encoded.len()));
    header.extend_from_slice(b"Basic ");
    header.extend_from_slice(encoded.as_bytes());
    header
}

/// RFC 7523 3, with the issuer as the sole audience: an assertion for a token endpoint could be replayed at another server's.
fn assertion(key: &Es256Key, kid: Option<&str>, client_id: &str, issuer: &str, moment: Moment) -> Zeroizing<String> {
    let seconds = |s: u64| Json::from(i64::try_from(s).unwrap_or(i64::MAX));
    let mut head = vec![("alg", Json::from("ES256")), ("typ", "JWT".into())];
    head.extend(kid.map(|kid| ("kid", kid.into())));
    let head = Json::Object(head.into_iter().map(|(name, value)| (name.to_owned(), value)).collect());
    let claims = Json::from_members([
        ("iss", client_id.into()),
        ("sub", client_id.into()),
        ("aud", issuer.into()),
        ("iat", seconds(moment.now_s)),
        ("exp", seconds(moment.now_s.saturating_add(limits::OAUTH_ASSERTION_TTL_S))),
        ("jti", b64u::encode(moment.random).into()),
    ]);
    let signed = format!("{}.{}", b64u::encode(head.canonical()), b64u::encode(claims.canonical()));
    let signature = b64u::encode(key.sign(signed.as_bytes()));
    Zeroizing::new(format!("{signed}.{signature}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn basic_encodes_both_halves_first() {
        // RFC 6749 2.3.1: a colon in an id must not become the separator.
        let header = basic_header("a:b", "p%q r");
        let text = std::str::from_utf8(&header).expect("ASCII");
        let pair = STANDARD.decode(text.strip_prefix("Basic ").expect("the scheme")).expect("base64");
        assert_eq!(pair, b"a%3Ab:p%25q+r");
    }

    #[test]
    fn an_assertion_is_for_the_issuer_alone_and_ends_soon() {
        let key = Es256Key::from_secret(&Secret::new([7; 32])).expect("a key");
        let jwt = assertion(&key, Some("k1"), "id", "https://as.example", Moment { now_s: 1000, random: [1; 16] });
        let parts: Vec<&str> = jwt.split('.').collect();
        let part = |at: usize| String::from_utf8(b64u::decode(parts[at]).expect("base64")).expect("text");
        assert_eq!(part(0), r#"{"alg":"ES256","kid":"k1","typ":"JWT"}"#);
        assert_eq!(
            part(1),
            r#"{"aud":"https://as.example","exp":1060,"iat":1000,"iss":"id","jti":"AQEBAQEBAQEBAQEBAQEBAQ","sub":"id"}"#
        );
        assert_eq!(b64u::decode(parts[2]).expect("base64").len(), 64);
    }
}
