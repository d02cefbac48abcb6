//! The lab's authorization server: metadata, consent, tokens, registration, revocation, and how the MCP endpoint checks its tokens. Never keeps a secret in what was seen.
//!
//! Two servers run beside every lab whose credential is [`Credential::OAuth`](crate::Credential::OAuth): the first one, whose
//! endpoints are also reachable on the resource's own host, and a second one that knows nothing of the first.
//!
//! Faults strike here too, but only those whose `method` names the endpoint: `oauth/metadata`, `oauth/authorize`,
//! `oauth/token`, `oauth/register`, `oauth/revoke`, `oauth/device`. `tool` narrows them: the grant type at the token endpoint
//! (`refresh_token`), `server` or `resource` at the metadata. `drop_after`, `hang_after` and all damage strike after the
//! change is made and counted.

mod assertion;
mod authorize;
mod client;
mod desk;
mod device;
mod document;
mod echo;
mod form;
mod ledger;
mod metadata;
mod register;
mod resource;
mod revoke;
pub(crate) mod scope;
mod seen;
mod switches;
mod token;

pub(crate) use client::Client;
pub use client::GivenClient;
pub(crate) use desk::{Addresses, Desk, Site, Work, issuer};
pub(crate) use ledger::Ledger;
pub(crate) use resource::{Bench, Judged, challenge, insufficient, judge};
pub use seen::{ClientVerdict, OAuthCounts, OAuthSeen, SeenOAuth, SeenToken, TokenVerdict, Verdict};
pub use switches::{
    ClientAuth, Consent, DeviceGrant, Discovery, ExpiresIn, IssForm, MetadataLie, OAuthSwitches, Offline, RefreshForm,
    Registration, Revocation, ScopeForm, SecretEcho, StateForm,
};

use axum::Router;
use axum::routing::{any, get, post};

/// The endpoints of one server on one listener.
pub(crate) fn routes(desk: Desk) -> Router {
    Router::new()
        .route("/.well-known/{*rest}", get(metadata::serve))
        .route("/tenant/.well-known/{*rest}", get(metadata::serve))
        .route(metadata::HIDDEN, get(metadata::serve))
        .route(metadata::HIDDEN_B, get(metadata::serve))
        .route("/oauth/authorize", get(authorize::serve).post(authorize::serve))
        .route("/oauth/consent", post(authorize::decide))
        .route("/oauth/token", post(token::serve))
        .route("/oauth/register", post(register::serve))
        .route("/oauth/register/{id}", any(register::manage))
        .route("/oauth/revoke", post(revoke::serve))
        .route("/oauth/device", post(device::serve))
        .with_state(desk)
}
