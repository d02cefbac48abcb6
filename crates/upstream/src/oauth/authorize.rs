//! Builds the authorization request (RFC 6749 4.1.1, 7636, 8707). Never without S256, and never an address that a shell or a browser could read as something else.

use super::discover::ProtectedResource;
use super::fields::is_scope;
use super::form::Form;
use super::identity::Client;
use super::metadata::AuthorizationServer;
use super::transaction::Transaction;
use contract::{b64u, limits};
use sign::{Secret, pkce};
use zeroize::Zeroizing;

/// Chance for one authorization, made by the caller and used once.
pub struct Seeds {
    /// For `state`.
    pub state: Secret<[u8; 32]>,
    /// For the PKCE verifier.
    pub verifier: Secret<[u8; 32]>,
}

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub struct AuthorizationRequest<'a> {
    /// The exact redirect address.
    pub redirect_uri: &'a str,
    /// The scopes.
    pub scopes: &'a [String],
    /// Whether `offline_access` is added where it is offered.
    pub offline: Offline,
    /// Whether the server is told to show its consent page even if it remembers one.
    pub consent: Consent,
}

/// Whether a refresh token is asked for by scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offline {
    /// `offline_access` where the server names it.
    WhereOffered,
    /// Not asked for: the second try after `invalid_scope`.
    Without,
}

/// Whether consent is shown in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consent {
    /// `prompt=consent` (OpenID Connect Core 3.1.2.1).
    Always,
    /// As the server decides.
    AsServerDecides,
}

/// Why no authorization can begin. Nothing was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AuthorizeError {
    /// The server offers no authorization codes.
    #[error("the authorization server offers no authorization codes")]
    NoCodes,
    /// The server does not advertise S256 (RFC 7636); without it a stolen code is a stolen grant.
    #[error("the authorization server does not advertise PKCE with S256")]
    NoPkce,
    /// The client belongs to another issuer.
    #[error("this client is registered at another issuer")]
    OtherIssuer,
    /// The resource does not name this server.
    #[error("the resource does not name this authorization server")]
    NotItsServer,
    /// The resource takes sender-constrained tokens only.
    #[error("the resource takes sender-constrained tokens (DPoP) only")]
    NeedsDpop,
    /// A scope is none, or there are too many.
    #[error("the scopes cannot be asked for")]
    BadScopes,
    /// The endpoint's address cannot carry a request.
    #[error("the authorization endpoint cannot be used: {what}")]
    BadEndpoint {
        /// Why not.
        what: &'static str,
    },
}

/// The address to show and open, and the transaction that its answer belongs to.
pub fn begin_authorization(
    server: &AuthorizationServer,
    resource: &ProtectedResource,
    client: &Client,
    asked: AuthorizationRequest<'_>,
    seeds: Seeds,
    now_s: u64,
) -> Result<(String, Transaction), AuthorizeError> {
    let endpoint = server.authorization_endpoint().filter(|_| server.offers_codes()).ok_or(AuthorizeError::NoCodes)?;
    if !server.has_s256() {
        return Err(AuthorizeError::NoPkce);
    }
    if client.issuer() != server.issuer() {
        return Err(AuthorizeError::OtherIssuer);
    }
    if !resource.issuers().iter().any(|issuer| issuer == server.issuer()) {
        return Err(AuthorizeError::NotItsServer);
    }
    if resource.is_dpop_required() {
        return Err(AuthorizeError::NeedsDpop);
    }
    let transaction = Transaction {
        issuer: server.issuer().to_owned(),
        client_id: client.client_id().to_owned(),
        redirect_uri: asked.redirect_uri.to_owned(),
        resource: resource.resource().to_owned(),
        scopes: scopes_of(server, asked)?,
        iss_promised: server.promises_iss(),
        ends_at_s: now_s.saturating_add(limits::OAUTH_TRANSACTION_TTL_S),
        state: text_of(&seeds.state),
        verifier: text_of(&seeds.verifier),
    };
    let url = url_of(endpoint, &transaction, asked.consent)?;
    Ok((url, transaction))
}

fn text_of(seed: &Secret<[u8; 32]>) -> Secret<String> {
    // EXPOSE: to its own text form.
    seed.with(|bytes| Secret::new(b64u::encode(bytes)))
}

fn scopes_of(server: &AuthorizationServer, asked: AuthorizationRequest<'_>) -> Result<Vec<String>, AuthorizeError> {
    const OFFLINE: &str = "offline_access";
    let mut scopes: Vec<String> = Vec::new();
    for scope in asked.scopes {
        if !scopes.contains(scope) {
            scopes.push(scope.clone());
        }
    }
    let wanted = asked.offline == Offline::WhereOffered && server.offers_offline_access();
    if wanted && !scopes.iter().any(|scope| scope == OFFLINE) {
        scopes.push(OFFLINE.to_owned());
    }
    let fine = scopes.len() <= limits::OAUTH_SCOPES_MAX && scopes.iter().all(|scope| is_scope(scope));
    if fine { Ok(scopes) } else { Err(AuthorizeError::BadScopes) }
}

/// Parameters that only we set; an endpoint that brings one along would decide it for us.
const OURS: &[&str] = &[
    "response_type",
    "client_id",
    "redirect_uri",
    "scope",
    "state",
    "code_challenge",
    "code_challenge_method",
    "resource",
    "response_mode",
    "request",
    "request_uri",
    "prompt",
];

fn url_of(endpoint: &str, transaction: &Transaction, consent: Consent) -> Result<String, AuthorizeError> {
    let bad = |what| AuthorizeError::BadEndpoint { what };
    let openable = endpoint.starts_with("https://") || endpoint.starts_with("http://");
    // A shell, a log or a browser sees one word that begins with a scheme we allow.
    if !openable || !endpoint.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"'`$\\<>|;".contains(&byte)) {
        return Err(bad("its address has a scheme or characters that are not allowed"));
    }
    let query = endpoint.split_once('?').map(|(_, query)| query);
    let fields = super::form::decode(query.unwrap_or_default()).ok_or(bad("its query cannot be read"))?;
    if fields.iter().any(|(name, _)| OURS.contains(&name.as_str())) {
        return Err(bad("its query sets a parameter of ours"));
    }
    let form = form_of(transaction, consent).map_err(|_| bad("the request is too long"))?;
    let parameters = std::str::from_utf8(&form).map_err(|_| bad("the request is no text"))?;
    let join = match query {
        None => "?",
        Some("") => "",
        Some(_) => "&",
    };
    let url = format!("{endpoint}{join}{parameters}");
    if url.len() > limits::OAUTH_CALLBACK_BYTES_MAX { Err(bad("the request is too long")) } else { Ok(url) }
}

fn form_of(transaction: &Transaction, consent: Consent) -> Result<Zeroizing<Vec<u8>>, super::error::Fault> {
    let mut form = Form::new();
    form.push("response_type", "code")?;
    form.push("client_id", &transaction.client_id)?;
    form.push("redirect_uri", &transaction.redirect_uri)?;
    if !transaction.scopes.is_empty() {
        form.push("scope", &transaction.scopes.join(" "))?;
    }
    // EXPOSE: to the person's browser and the server, which send it back.
    transaction.state.with(|state| form.push("state", state))?;
    // EXPOSE: to the hash; the verifier itself goes to the token endpoint alone.
    let challenge = transaction.verifier.with(|verifier| pkce::challenge(verifier));
    form.push("code_challenge", &challenge)?;
    form.push("code_challenge_method", "S256")?;
    form.push("resource", &transaction.resource)?;
    if consent == Consent::Always {
        form.push("prompt", "consent")?;
    }
    Ok(form.into_bytes())
}
