//! Reads a token endpoint's answer by explicit rules (RFC 6749 5.1). Never loses a refresh token over a member that can be done without, and never takes a token of a kind that is not asked for.

use super::error::Fault;
use super::fields::{Fields, is_scope, is_token_text};
use contract::{Json, b64u, cjson, limits};
use sign::Secret;

/// What a token endpoint gave.
#[must_use]
pub struct Tokens {
    /// The access token; always a Bearer token (RFC 6750).
    pub access_token: Secret<String>,
    /// How long it lives.
    pub lifetime: Lifetime,
    /// What was granted.
    pub granted: Granted,
    /// What the next refresh uses.
    pub refresh: NextRefresh,
    /// Who consented, if an id token came with it.
    pub subject: Option<Subject>,
}

/// What `expires_in` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// So many seconds from the answer, at most [`limits::OAUTH_ACCESS_TTL_S_MAX`]. A whole number, also as a text of digits.
    Stated(u64),
    /// It says nothing: the token is used until it is refused, and never lent.
    Unstated,
    /// Zero or negative: the token is over.
    Over,
    /// It is no number of seconds; as if it said nothing, and shown.
    Nonsense,
}

/// What was granted, against what was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Granted {
    /// The scopes of the token; what was asked if the server says nothing (RFC 6749 5.1).
    pub scopes: Vec<String>,
    /// Asked for and not granted. `offline_access` is not counted: it is no right at the resource.
    pub missing: Vec<String>,
    /// Granted without having been asked for.
    pub extra: Vec<String>,
}

/// What the next refresh uses.
pub enum NextRefresh {
    /// There is no refresh token.
    None,
    /// The one that was sent stays: the answer has none, an empty one or the same.
    Kept,
    /// A new one; the old one is over.
    New(Secret<String>),
}

/// Who consented (OpenID Connect Core 2). Read from an id token that came over TLS from the token endpoint, so its signature is not looked at (3.1.3.7, 6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subject {
    /// The issuer; always the one that was asked.
    pub iss: String,
    /// Its name for the person.
    pub sub: String,
}

/// What an answer is read against.
#[derive(Clone, Copy)]
pub(crate) struct Expected<'a> {
    pub(crate) scopes: &'a [String],
    pub(crate) issuer: &'a str,
    pub(crate) client_id: &'a str,
    pub(crate) sign_in: SignIn,
}

/// Whether a new sign-in or a refresh is answered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum SignIn {
    New,
    Refresh,
}

pub(crate) fn read(mut fields: Fields, expected: Expected<'_>) -> Result<Tokens, Fault> {
    let bad = |field, what| Fault::Malformed { field, what };
    match fields.text("token_type") {
        Some(kind) if kind.eq_ignore_ascii_case("Bearer") => {}
        Some(_) => return Err(bad("token_type", "is not Bearer")),
        None => return Err(bad("token_type", "is missing")),
    }
    let access_token = fields.take_secret("access_token").ok_or(bad("access_token", "is missing"))?;
    // EXPOSE: to a look at its characters.
    if !access_token.with(|token| is_token_text(token)) {
        return Err(bad("access_token", "is empty, too long or has characters that no header can carry"));
    }
    let lifetime = lifetime(&fields);
    let granted = granted(&fields, expected.scopes)?;
    let refresh = next_refresh(&mut fields, expected.sign_in)?;
    let subject = match expected.sign_in {
        SignIn::New => subject(&mut fields, expected)?,
        SignIn::Refresh => None,
    };
    Ok(Tokens { access_token, lifetime, granted, refresh, subject })
}

fn lifetime(fields: &Fields) -> Lifetime {
    let Some(value) = fields.find("expires_in") else { return Lifetime::Unstated };
    let text = match value {
        Json::Number(number) => number.as_str(),
        Json::String(text) => text,
        Json::Null | Json::Bool(_) | Json::Array(_) | Json::Object(_) => return Lifetime::Nonsense,
    };
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Lifetime::Nonsense;
    }
    if text.starts_with('-') || digits.bytes().all(|byte| byte == b'0') {
        return Lifetime::Over;
    }
    // More digits than fit are a long life, which is lowered like any other.
    let seconds = digits.parse().unwrap_or(u64::MAX);
    Lifetime::Stated(seconds.min(limits::OAUTH_ACCESS_TTL_S_MAX))
}

fn granted(fields: &Fields, asked: &[String]) -> Result<Granted, Fault> {
    let bad = |what| Fault::Malformed { field: "scope", what };
    let scopes = match fields.find("scope") {
        None => asked.to_vec(),
        Some(value) => {
            let text = value.as_str().ok_or(bad("is no text"))?;
            let scopes: Vec<String> = text.split(' ').filter(|scope| !scope.is_empty()).map(str::to_owned).collect();
            if scopes.len() > limits::OAUTH_SCOPES_MAX || !scopes.iter().all(|scope| is_scope(scope)) {
                return Err(bad("is no list of scopes"));
            }
            scopes
        }
    };
    let without = |these: &[String], those: &[String]| -> Vec<String> {
        these.iter().filter(|scope| !those.contains(scope) && *scope != "offline_access").cloned().collect()
    };
    Ok(Granted { missing: without(asked, &scopes), extra: without(&scopes, asked), scopes })
}

fn next_refresh(fields: &mut Fields, sign_in: SignIn) -> Result<NextRefresh, Fault> {
    let absent = || match sign_in {
        SignIn::New => NextRefresh::None,
        SignIn::Refresh => NextRefresh::Kept,
    };
    let Some(token) = fields.take_secret("refresh_token") else {
        return match fields.find("refresh_token") {
            None => Ok(absent()),
            Some(_) => Err(Fault::Malformed { field: "refresh_token", what: "is no text" }),
        };
    };
    // EXPOSE: to a look at its characters.
    let (empty, fits) = token.with(|text| (text.is_empty(), text.len() <= limits::CREDENTIAL_SECRET_BYTES_MAX));
    match (empty, fits) {
        (true, _) => Ok(absent()),
        (false, true) => Ok(NextRefresh::New(token)),
        (false, false) => Err(Fault::Malformed { field: "refresh_token", what: "is too long" }),
    }
}

fn subject(fields: &mut Fields, expected: Expected<'_>) -> Result<Option<Subject>, Fault> {
    let bad = |what| Fault::Malformed { field: "id_token", what };
    let Some(token) = fields.take_secret("id_token") else { return Ok(None) };
    // EXPOSE: to the reader of its claims, which are wiped again.
    let claims = token.with(|token| {
        let claims = b64u::decode(token.split('.').nth(1)?).ok()?;
        Fields::new(cjson::parse(&claims, limits::OAUTH_ANSWER_BYTES_MAX).ok()?)
    });
    let claims = claims.ok_or(bad("cannot be read"))?;
    if claims.text("iss") != Some(expected.issuer) {
        return Err(bad("is of another issuer"));
    }
    let is_us = |item: &Json| item.as_str() == Some(expected.client_id);
    let for_us =
        claims.find("aud").is_some_and(|aud| is_us(aud) || aud.as_array().is_some_and(|all| all.iter().any(is_us)));
    if !for_us {
        return Err(bad("is for another client"));
    }
    let sub = claims.text("sub").filter(|sub| (1..=255).contains(&sub.len())).ok_or(bad("names nobody"))?;
    Ok(Some(Subject { iss: expected.issuer.to_owned(), sub: sub.to_owned() }))
}
