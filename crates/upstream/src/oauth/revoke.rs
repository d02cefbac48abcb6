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

/// A revocation that is ready to go out.
#[must_use]
pub struct RevocationRequest(Result<(Destination, Request), Revoked>);

/// Makes a revocation of `token`; nothing is sent yet. The token is borrowed for the making alone, so that no caller holds it while it waits.
pub fn prepare_revocation(
    egress: &Egress,
    server: &AuthorizationServer,
    client: &Client,
    token: &Secret<String>,
    kind: TokenKind,
    moment: Moment,
) -> RevocationRequest {
    RevocationRequest(match server.revocation_endpoint() {
        None => Err(Revoked::NotSupported),
        Some(endpoint) => request(egress, server, client, endpoint, token, kind, moment).map_err(Revoked::Pending),
    })
}

impl RevocationRequest {
    /// Sends it, where there is somewhere to send it.
    pub async fn send(self) -> Revoked {
        let (destination, request) = match self.0 {
            Ok(ready) => ready,
            Err(revoked) => return revoked,
        };
        let answer = exchange(&destination, request, limits::OAUTH_ANSWER_BYTES_MAX).await;
        match answer.map(|answer| answer.refusal()) {
            Ok(None) => Revoked::Done,
            // RFC 7009 2.2: an invalid token is as good as a revoked one, whatever a server calls it.
            Ok(Some(Fault::Refused { code: ErrorCode::InvalidToken | ErrorCode::InvalidGrant, .. })) => Revoked::Done,
            Ok(Some(Fault::Refused { code: ErrorCode::UnsupportedTokenType, .. })) => Revoked::NotSupported,
            Ok(Some(fault)) => Revoked::Pending(fault),
            Err(error) => Revoked::Pending(error.into()),
        }
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
