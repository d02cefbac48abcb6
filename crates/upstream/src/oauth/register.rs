//! Dynamic client registration (RFC 7591) and its undoing (RFC 7592). Registers once, accepts no other redirect address than the one it asked for, and keeps the secrets of the answer in custody.

use super::client_auth::{AuthMethod, ClientAuth};
use super::error::{ErrorCode, Fault, StepError};
use super::fields::{Fields, is_token_text};
use super::http::{AUTHORIZATION, CONTENT_TYPE, exchange, request};
use super::identity::{Client, ClientIdentity};
use super::metadata::AuthorizationServer;
use contract::{Json, limits};
use egress::{Egress, Method};
use sign::Secret;
use zeroize::Zeroizing;

/// What kind of client it is (OpenID Connect Registration 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Application {
    /// On a person's device, with a loopback redirect.
    Native,
    /// A service with an https redirect.
    Web,
}

/// What to register.
#[derive(Debug, Clone, Copy)]
pub struct RegistrationRequest<'a> {
    /// The name that the person sees when they consent.
    pub client_name: &'a str,
    /// The one redirect address.
    pub redirect_uri: &'a str,
    /// What kind of client it is.
    pub application: Application,
    /// The scopes that will be asked for; none leaves it to the server.
    pub scopes: &'a [String],
}

/// How a registration can be removed again.
pub struct Management {
    /// Where.
    pub uri: String,
    /// The token for it.
    pub token: Secret<String>,
}

/// A registered client and when its secret ends.
pub struct Registration {
    /// The client, at this issuer only.
    pub client: Client,
    /// When the secret ends, Unix seconds; none if never.
    pub secret_expires_at_s: Option<u64>,
}

/// Why no client was registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegisterError {
    /// The step itself failed.
    #[error(transparent)]
    Step(#[from] StepError),
    /// The server refuses. The request held no secret, so its words are kept: shortened, and with hidden characters visible when shown.
    #[error("the authorization server registers no client: {code}: {}", contract::text::visible(words))]
    Refused {
        /// Its code.
        code: ErrorCode,
        /// Its words.
        words: String,
    },
}

/// What became of a registration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unregistered {
    /// It is gone.
    Done,
    /// The server did not say how to remove it.
    NotSupported,
    /// It is not known whether it is gone; to be tried again.
    Pending(Fault),
}

/// Registers a client.
pub async fn register(
    egress: &Egress,
    server: &AuthorizationServer,
    asked: RegistrationRequest<'_>,
) -> Result<Registration, RegisterError> {
    let lacks = |what| StepError::from(Fault::NotOffered { what });
    let endpoint = server.registration_endpoint().ok_or(lacks("registration of clients"))?;
    let method = preferred(server, asked.application).ok_or(lacks("a client authentication that we can do"))?;
    let destination = egress.foreign(endpoint).map_err(StepError::from)?;
    let max = limits::OAUTH_DOCUMENT_BYTES_MAX;
    let request = request(Method::POST, destination.target(), max)
        .and_then(|request| request.header(CONTENT_TYPE, "application/json"))
        .map_err(StepError::from)?
        .body(body_of(server, asked, method).canonical());
    let answer = exchange(&destination, request, max).await.map_err(StepError::from)?;
    if let Some(fault) = answer.refusal() {
        return Err(refused(fault, answer.fields()));
    }
    let fields = answer.success().map_err(StepError::from)?;
    Ok(read(egress, server, asked, method, fields).map_err(StepError::from)?)
}

/// Removes a registration.
pub async fn unregister(egress: &Egress, client: &Client) -> Unregistered {
    let ClientIdentity::Registered { management: Some(management), .. } = client.identity() else {
        return Unregistered::NotSupported;
    };
    match delete(egress, management).await {
        Ok(200..=299 | 401 | 404 | 410) => Unregistered::Done,
        Ok(405 | 501) => Unregistered::NotSupported,
        Ok(status) => Unregistered::Pending(Fault::Status { status }),
        Err(fault) => Unregistered::Pending(fault),
    }
}

async fn delete(egress: &Egress, management: &Management) -> Result<u16, Fault> {
    let destination = egress.foreign(&management.uri)?;
    // EXPOSE: to the server that gave it, at the address it came with.
    let header = management.token.with(|token| {
        let mut header = Zeroizing::new(Vec::with_capacity(7 + token.len()));
        header.extend_from_slice(b"Bearer ");
        header.extend_from_slice(token.as_bytes());
        header
    });
    let max = limits::OAUTH_ANSWER_BYTES_MAX;
    let request = request(Method::DELETE, destination.target(), max)?.secret_header(AUTHORIZATION, header)?;
    Ok(exchange(&destination, request, max).await?.status)
}

/// A device keeps no secret that it can do without; a service shows one where it can (RFC 9700 2.5).
fn preferred(server: &AuthorizationServer, application: Application) -> Option<AuthMethod> {
    let order = match application {
        Application::Native => [AuthMethod::None, AuthMethod::ClientSecretBasic, AuthMethod::ClientSecretPost],
        Application::Web => [AuthMethod::ClientSecretBasic, AuthMethod::ClientSecretPost, AuthMethod::None],
    };
    order.into_iter().find(|method| server.takes(*method))
}

fn body_of(server: &AuthorizationServer, asked: RegistrationRequest<'_>, method: AuthMethod) -> Json {
    let list = |items: &[&str]| Json::Array(items.iter().map(|item| (*item).into()).collect());
    let mut grants = vec!["authorization_code", "refresh_token"];
    if server.offers_grant(super::device::GRANT) {
        grants.push(super::device::GRANT);
    }
    let application = match asked.application {
        Application::Native => "native",
        Application::Web => "web",
    };
    let mut members = vec![
        ("client_name", asked.client_name.into()),
        ("redirect_uris", list(&[asked.redirect_uri])),
        ("grant_types", list(&grants)),
        ("response_types", list(&["code"])),
        ("token_endpoint_auth_method", method.as_str().into()),
        ("application_type", application.into()),
    ];
    if !asked.scopes.is_empty() {
        members.push(("scope", asked.scopes.join(" ").into()));
    }
    Json::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

fn refused(fault: Fault, fields: Option<Fields>) -> RegisterError {
    match (fault, fields) {
        (Fault::Refused { code, status: 400..=499 }, Some(fields)) => {
            let words = fields.text("error_description").unwrap_or_default();
            let words = words.chars().take(limits::OAUTH_MESSAGE_CHARS_MAX).collect();
            RegisterError::Refused { code, words }
        }
        (fault, _) => RegisterError::Step(fault.into()),
    }
}

fn read(
    egress: &Egress,
    server: &AuthorizationServer,
    asked: RegistrationRequest<'_>,
    method: AuthMethod,
    mut fields: Fields,
) -> Result<Registration, Fault> {
    let bad = |field, what| Fault::Malformed { field, what };
    let client_id = fields.text("client_id").map(str::to_owned).ok_or(bad("client_id", "is missing"))?;
    if let Some(uris) = fields.find("redirect_uris") {
        let ours = uris.as_array().is_some_and(|uris| uris.iter().any(|uri| uri.as_str() == Some(asked.redirect_uri)));
        if !ours {
            return Err(bad("redirect_uris", "does not hold the address that was asked for"));
        }
    }
    let expires = fields.find("client_secret_expires_at").and_then(Json::as_i64).and_then(|s| u64::try_from(s).ok());
    let secret = fields.take_secret("client_secret");
    // EXPOSE: to a look at its characters.
    if secret.as_ref().is_some_and(|secret| !secret.with(|text| is_token_text(text))) {
        return Err(bad("client_secret", "is empty, too long or has characters that a secret cannot have"));
    }
    // RFC 7591 2: the server may choose another method and says so; silence means what was asked.
    let method = match fields.text("token_endpoint_auth_method") {
        Some(text) => AuthMethod::parse(text).ok_or(bad("token_endpoint_auth_method", "is not one that we can do"))?,
        None => method,
    };
    let auth = match (method, secret) {
        (AuthMethod::None, _) => ClientAuth::None,
        (AuthMethod::ClientSecretBasic, Some(secret)) => ClientAuth::Basic(secret),
        (AuthMethod::ClientSecretPost, Some(secret)) => ClientAuth::Post(secret),
        (AuthMethod::ClientSecretBasic | AuthMethod::ClientSecretPost, None) => {
            return Err(bad("client_secret", "is missing"));
        }
        (AuthMethod::PrivateKeyJwt, _) => {
            return Err(bad("token_endpoint_auth_method", "asks for a key that was not registered"));
        }
    };
    let management = management(egress, server, &mut fields)?;
    let identity = ClientIdentity::Registered { client_id, auth, management };
    let client = Client::new(server.issuer(), identity).map_err(|_| bad("client_id", "is no client id"))?;
    Ok(Registration { client, secret_expires_at_s: expires.filter(|at| *at > 0) })
}

/// RFC 7592 3. The token goes where the registration went, so it may not name another origin.
fn management(egress: &Egress, server: &AuthorizationServer, fields: &mut Fields) -> Result<Option<Management>, Fault> {
    let bad = |field, what| Fault::Malformed { field, what };
    let Some(uri) = fields.text("registration_client_uri").map(str::to_owned) else { return Ok(None) };
    let Some(token) = fields.take_secret("registration_access_token") else { return Ok(None) };
    let there = egress.foreign(&uri).map_err(|_| bad("registration_client_uri", "cannot be called"))?;
    let here = server.registration_endpoint().map(|endpoint| egress.foreign(endpoint)).transpose()?;
    if here.is_none_or(|here| here.origin() != there.origin()) {
        return Err(bad("registration_client_uri", "is on another origin than the registration"));
    }
    // EXPOSE: to a look at its characters.
    if !token.with(|text| is_token_text(text)) {
        return Err(bad("registration_access_token", "has characters that a token cannot have"));
    }
    Ok(Some(Management { uri, token }))
}
