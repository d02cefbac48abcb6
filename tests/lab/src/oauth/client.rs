//! Clients of an authorization server and how they show who they are. Never takes two proofs, and never a proof of another kind than agreed.

use super::assertion;
use super::desk::{Answer, Work};
use super::form::Form;
use super::seen::{ClientVerdict, Verdict};
use super::switches::ClientAuth;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

/// A client that the lab is told of, as a person registers one by hand.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GivenClient {
    /// Its id.
    pub client_id: String,
    /// How it shows who it is.
    pub auth: ClientAuth,
    /// Its secret, for `client_secret_basic` and `client_secret_post`.
    #[serde(default)]
    pub client_secret: Option<String>,
    /// Where it may be sent back to; the port of a loopback address does not matter.
    pub redirect_uris: Vec<String>,
    /// Its public keys as a JWK set, for `private_key_jwt`.
    #[serde(default)]
    pub jwks: Value,
    /// Whether the second server knows it, instead of the first.
    #[serde(default)]
    pub second: bool,
}

impl fmt::Debug for GivenClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GivenClient({}, ..)", self.client_id)
    }
}

/// A client as a server knows it.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) auth: ClientAuth,
    pub(crate) secret: Option<String>,
    pub(crate) redirect_uris: Vec<String>,
    pub(crate) jwks: Value,
    /// The token that manages its registration (RFC 7592).
    pub(crate) management: Option<String>,
    /// What it registered with, to be shown again.
    pub(crate) metadata: Value,
}

impl From<GivenClient> for Client {
    fn from(given: GivenClient) -> Client {
        Client {
            auth: given.auth,
            secret: given.client_secret,
            redirect_uris: given.redirect_uris,
            jwks: given.jwks,
            management: None,
            metadata: Value::Null,
        }
    }
}

impl Client {
    /// Whether it may be sent back to this address (RFC 8252, 7.3: any port on loopback).
    pub(crate) fn redirects_to(&self, asked: &str) -> bool {
        self.redirect_uris.iter().any(|known| known == asked || is_same_but_port(known, asked))
    }
}

fn is_same_but_port(known: &str, asked: &str) -> bool {
    let portless = |text: &str| {
        let mut url = url::Url::parse(text).ok()?;
        let loopback = url.scheme() == "http" && matches!(url.host_str(), Some("127.0.0.1" | "[::1]" | "localhost"));
        (loopback && url.set_port(None).is_ok()).then_some(url)
    };
    portless(known).is_some_and(|known| portless(asked) == Some(known))
}

/// What a request presents.
enum Proof {
    None,
    Secret(String),
    Assertion(String),
}

/// Who asks, proven. The verdicts go into the request's record.
pub(crate) fn authenticate(work: &mut Work<'_>, headers: &HeaderMap, form: &Form) -> Result<String, Answer> {
    let (client_id, kind, proof) = match read(headers, form) {
        Ok(read) => read,
        Err(several) => {
            work.entry.client_proof = Verdict::Several;
            return Err(Answer::error(StatusCode::BAD_REQUEST, "invalid_request", several));
        }
    };
    work.entry.client_auth = Some(kind);
    name(work, client_id.as_deref());
    let in_header = headers.contains_key(AUTHORIZATION);
    let client = client_id.as_ref().and_then(|id| work.ledger.clients.get(id)).cloned();
    let (Some(client_id), Some(client)) = (client_id, client) else {
        work.entry.client_proof = Verdict::Wrong;
        return Err(unknown(in_header, "no such client"));
    };
    let proven =
        client.auth == kind && work.switches.client_auth.contains(&kind) && proves(work, &client_id, &client, proof);
    work.entry.client_proof = if proven { Verdict::Right } else { Verdict::Wrong };
    if proven { Ok(client_id) } else { Err(unknown(in_header, "client authentication failed")) }
}

/// Notes who the client says it is.
pub(crate) fn name(work: &mut Work<'_>, client_id: Option<&str>) {
    work.entry.client = match client_id {
        None => ClientVerdict::Absent,
        Some(id) if work.ledger.clients.contains_key(id) => ClientVerdict::Known,
        Some(id) if work.other.clients.contains_key(id) => ClientVerdict::OtherServers,
        Some(_) => ClientVerdict::Unknown,
    };
    work.entry.client_id = client_id.map(|id| id.chars().take(200).collect());
}

fn read(headers: &HeaderMap, form: &Form) -> Result<(Option<String>, ClientAuth, Proof), &'static str> {
    let basic = headers.get(AUTHORIZATION).map(|value| basic(value).ok_or("not readable as Basic")).transpose()?;
    let secret = form.one("client_secret");
    let assertion = form.one("client_assertion");
    let in_form = form.one("client_id").map(str::to_owned);
    match (basic, secret, assertion) {
        (Some((id, secret)), None, None) => {
            if in_form.is_some_and(|named| named != id) {
                return Err("two clients are named");
            }
            Ok((Some(id), ClientAuth::Basic, Proof::Secret(secret)))
        }
        (None, Some(secret), None) => Ok((in_form, ClientAuth::Post, Proof::Secret(secret.to_owned()))),
        (None, None, Some(jwt)) => {
            let id = in_form.or_else(|| assertion::subject(jwt));
            if form.one("client_assertion_type") != Some(assertion::TYPE) {
                return Err("client_assertion_type is not that of a JWT");
            }
            Ok((id, ClientAuth::Assertion, Proof::Assertion(jwt.to_owned())))
        }
        (None, None, None) => Ok((in_form, ClientAuth::None, Proof::None)),
        _ => Err("more than one client authentication"),
    }
}

/// Id and secret of a Basic header; both are form-encoded inside (RFC 6749, 2.3.1).
fn basic(value: &HeaderValue) -> Option<(String, String)> {
    let encoded = value.to_str().ok()?.strip_prefix("Basic ")?;
    let text = String::from_utf8(STANDARD.decode(encoded).ok()?).ok()?;
    let (id, secret) = text.split_once(':')?;
    let plain = |part: &str| {
        let form = Form::read(format!("v={part}").as_bytes());
        form.one("v").map(str::to_owned)
    };
    Some((plain(id)?, plain(secret)?))
}

fn proves(work: &mut Work<'_>, client_id: &str, client: &Client, proof: Proof) -> bool {
    match proof {
        Proof::None => true,
        Proof::Secret(given) => client.secret.as_deref() == Some(given.as_str()),
        Proof::Assertion(jwt) => {
            let wanted = assertion::Wanted { keys: &client.jwks, issuer: &work.issuer(), client_id, now_s: work.now_s };
            match assertion::verify(&jwt, &wanted) {
                // An assertion is good once.
                Some(id) => work.ledger.assertions.insert(format!("{client_id} {id}")),
                None => false,
            }
        }
    }
}

fn unknown(in_header: bool, text: &str) -> Answer {
    let mut answer = Answer::error(StatusCode::UNAUTHORIZED, "invalid_client", text);
    if in_header {
        answer.headers.push((WWW_AUTHENTICATE, HeaderValue::from_static(r#"Basic realm="collie-lab""#)));
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_loopback_port_may_differ() {
        for (known, asked, same) in [
            ("http://127.0.0.1/callback", "http://127.0.0.1:5/callback", true),
            ("http://127.0.0.1:9/callback", "http://127.0.0.1:5/callback", true),
            ("http://127.0.0.1/callback", "http://127.0.0.1:5/other", false),
            ("http://127.0.0.1/callback", "http://localhost:5/callback", false),
            ("https://one.invalid/callback", "https://one.invalid:5/callback", false),
            ("https://one.invalid/callback", "https://one.invalid/callback/", false),
        ] {
            assert_eq!(is_same_but_port(known, asked), same, "{asked}");
        }
    }
}
