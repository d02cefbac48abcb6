//! Revokes a token at its authorization server (RFC 7009). Says honestly what became of it; what is pending is the caller's to try again.

use super::client_auth::{Moment, authenticated_post};
use super::error::{ErrorCode, Fault};
use super::form::Form;
use super::http::exchange;
use super::identity::Client;
use super::metadata::AuthorizationServer;
use contract::limits;
use egress::{Destination, Egress, Request};
use sign::Secret;

/// Which token it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// An access token.
    Access,
    /// A refresh token; it is revoked first, and whatever becomes of the access token.
    Refresh,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Revoked {
    /// The server says that the token is void.
    Done,
    /// The server cannot revoke it; it lives until it ends.
    NotSupported,
    /// It is not known whether it is void; to be tried again.
    Pending(Fault),
}

/// Revokes `token`.
pub async fn revoke(
    egress: &Egress,
    server: &AuthorizationServer,
    client: &Client,
    token: &Secret<String>,
    kind: TokenKind,
    moment: Moment,
) -> Revoked {
    let Some(endpoint) = server.revocation_endpoint() else { return Revoked::NotSupported };
    let answer = match request(egress, server, client, endpoint, token, kind, moment) {
        Ok((destination, request)) => exchange(&destination, request, limits::OAUTH_ANSWER_BYTES_MAX).await,
        Err(fault) => return Revoked::Pending(fault),
    };
    match answer.map(|answer| answer.refusal()) {
        Ok(None) => Revoked::Done,
        // RFC 7009 2.2: an invalid token is as good as a revoked one, whatever a server calls it.
        Ok(Some(Fault::Refused { code: ErrorCode::InvalidToken | ErrorCode::InvalidGrant, .. })) => Revoked::Done,
        Ok(Some(Fault::Refused { code: ErrorCode::UnsupportedTokenType, .. })) => Revoked::NotSupported,
        Ok(Some(fault)) => Revoked::Pending(fault),
        Err(error) => Revoked::Pending(error.into()),
    }
}

fn request(
    egress: &Egress,
    server: &AuthorizationServer,
    client: &Client,
    endpoint: &str,
    token: &Secret<String>,
    kind: TokenKind,
    moment: Moment,
) -> Result<(Destination, Request), Fault> {
    let mut form = Form::new();
    // EXPOSE: to the revocation endpoint of the issuer that gave it; the client's issuer is compared before anything is sent.
    token.with(|token| form.push("token", token))?;
    let hint = match kind {
        TokenKind::Access => "access_token",
        TokenKind::Refresh => "refresh_token",
    };
    form.push("token_type_hint", hint)?;
    authenticated_post(egress, server, client, endpoint, form, moment)
}
