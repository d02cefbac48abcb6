//! The two requests that give tokens: a code for the first ones, a refresh token for the next ones. Each is sent exactly once, and a failure says whether the server can have acted.

use super::callback::GrantedCode;
use super::client_auth::{Moment, authenticated_post};
use super::error::{Fault, StepError};
use super::form::Form;
use super::http::exchange;
use super::identity::Client;
use super::metadata::AuthorizationServer;
use super::token_answer::{Expected, NextRefresh, SignIn, Tokens, read};
use contract::{Digest, limits};
use egress::{Destination, Egress, Request};
use sign::Secret;

/// What tokens are asked for.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// The resource, byte for byte as at the authorization (RFC 8707).
    pub resource: &'a str,
    /// The scopes that the grant has.
    pub scopes: &'a [String],
    /// Fewer of them, for a token that is lent; none asks for the same again.
    pub narrowed: Option<&'a [String]>,
}

impl<'a> Asked<'a> {
    /// The scopes that an answer is held against.
    pub(crate) fn expected(self) -> &'a [String] {
        self.narrowed.unwrap_or(self.scopes)
    }
}

/// Exchanges an authorization code (RFC 6749 4.1.3), once.
pub async fn exchange_code(
    egress: &Egress,
    server: &AuthorizationServer,
    client: &Client,
    code: GrantedCode,
    moment: Moment,
) -> Result<Tokens, StepError> {
    let scopes = code.transaction().scopes().to_vec();
    let (destination, request) = code_request(egress, server, client, code, moment)?;
    let expected =
        Expected { scopes: &scopes, issuer: server.issuer(), client_id: client.client_id(), sign_in: SignIn::New };
    send(&destination, request, expected).await
}

/// A refresh that is ready to go out. It holds the one copy of the token that is sent, and [`Self::send`] takes it.
#[must_use]
pub struct RefreshRequest {
    destination: Destination,
    request: Request,
    sent: Digest,
    scopes: Vec<String>,
    issuer: String,
    client_id: String,
}

/// Makes a refresh (RFC 6749 6); nothing is sent yet. The token is borrowed for the making alone, so that no caller holds it while it waits. Whether it may be sent is the refresh machine's to say.
pub fn prepare_refresh(
    egress: &Egress,
    server: &AuthorizationServer,
    client: &Client,
    refresh_token: &Secret<String>,
    asked: Asked<'_>,
    moment: Moment,
) -> Result<RefreshRequest, StepError> {
    let (destination, request) = refresh_request(egress, server, client, refresh_token, asked, moment)?;
    Ok(RefreshRequest {
        destination,
        request,
        sent: digest(refresh_token),
        scopes: asked.expected().to_vec(),
        issuer: server.issuer().to_owned(),
        client_id: client.client_id().to_owned(),
    })
}

impl RefreshRequest {
    /// Sends it, exactly once.
    ///
    /// On an error with [`egress::Sent::Maybe`] the refresh token can be used up: it must not be sent again.
    pub async fn send(self) -> Result<Tokens, StepError> {
        let Self { destination, request, sent, scopes, issuer, client_id } = self;
        let expected = Expected { scopes: &scopes, issuer: &issuer, client_id: &client_id, sign_in: SignIn::Refresh };
        let mut tokens = send(&destination, request, expected).await?;
        // A server without rotation may send the same one again.
        if matches!(&tokens.refresh, NextRefresh::New(next) if digest(next) == sent) {
            tokens.refresh = NextRefresh::Kept;
        }
        Ok(tokens)
    }
}

/// Tells two tokens apart without keeping one.
fn digest(token: &Secret<String>) -> Digest {
    // EXPOSE: to the hash.
    token.with(|token| Digest::of(&[b"collie.oauth.refresh\0", token.as_bytes()]))
}

pub(crate) async fn send(
    destination: &Destination,
    request: Request,
    expected: Expected<'_>,
) -> Result<Tokens, StepError> {
    let answer = exchange(destination, request, limits::OAUTH_ANSWER_BYTES_MAX).await?;
    Ok(read(answer.success()?, expected)?)
}

fn code_request(
    egress: &Egress,
    server: &AuthorizationServer,
    client: &Client,
    code: GrantedCode,
    moment: Moment,
) -> Result<(Destination, Request), Fault> {
    let GrantedCode { code, transaction } = code;
    if transaction.issuer != server.issuer() {
        return Err(Fault::OtherIssuer);
    }
    if transaction.client_id != client.client_id() {
        return Err(Fault::BadRequest { what: "the code was given to another client" });
    }
    let mut form = Form::new();
    form.push("grant_type", "authorization_code")?;
    // EXPOSE: to the token endpoint of the issuer that gave it.
    code.with(|code| form.push("code", code))?;
    form.push("redirect_uri", &transaction.redirect_uri)?;
    // EXPOSE: to the same endpoint, which has its hash.
    transaction.verifier.with(|verifier| form.push("code_verifier", verifier))?;
    form.push("resource", &transaction.resource)?;
    authenticated_post(egress, server, client, server.token_endpoint(), form, moment)
}

fn refresh_request(
    egress: &Egress,
    server: &AuthorizationServer,
    client: &Client,
    refresh_token: &Secret<String>,
    asked: Asked<'_>,
    moment: Moment,
) -> Result<(Destination, Request), Fault> {
    let mut form = Form::new();
    form.push("grant_type", "refresh_token")?;
    // EXPOSE: to the token endpoint of the issuer that gave it; the client's issuer is compared before anything is sent.
    refresh_token.with(|token| form.push("refresh_token", token))?;
    form.push("resource", asked.resource)?;
    if let Some(scopes) = asked.narrowed {
        form.push("scope", &scopes.join(" "))?;
    }
    authenticated_post(egress, server, client, server.token_endpoint(), form, moment)
}
