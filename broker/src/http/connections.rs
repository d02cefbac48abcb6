//! Connections and their sealed credentials over HTTP. Parses, calls one operation, answers.

use super::{answer::Answer, body::JsonBody, caller::Caller, error::ApiError, path::PathId};
use crate::{app::App, ops};
use axum::extract::State;
use contract::{
    connection::{
        ConnectionAnswer, ConnectionList, CreateConnection, CreateDraft, DraftAnswer, DriftReport, ReviewConnection,
    },
    credential::PutCredential,
    ids::ConnectionId,
};

/// GET /v1/connections
pub(super) async fn list(State(app): State<App>, caller: Caller) -> Result<Answer, ApiError> {
    let connections = ops::list_connections::list_connections(&app, &caller).await?;
    Answer::ok(&ConnectionList { connections })
}

/// POST /v1/connections
pub(super) async fn create(
    State(app): State<App>,
    caller: Caller,
    JsonBody(request): JsonBody<CreateConnection>,
) -> Result<Answer, ApiError> {
    let connection = ops::create_connection::create_connection(&app, &caller, request).await?;
    Answer::ok(&ConnectionAnswer { connection })
}

/// POST /v1/connections/drafts
pub(super) async fn create_draft(
    State(app): State<App>,
    caller: Caller,
    JsonBody(request): JsonBody<CreateDraft>,
) -> Result<Answer, ApiError> {
    let draft = ops::create_draft::create_draft(&app, &caller, request).await?;
    Answer::created(&DraftAnswer { draft })
}

/// GET /v1/connections/{id}/manifest
pub(super) async fn manifest(
    State(app): State<App>,
    caller: Caller,
    PathId(id): PathId<ConnectionId>,
) -> Result<Answer, ApiError> {
    Answer::ok(&ops::find_manifest::find_manifest(&app, &caller, &id).await?)
}

/// POST /v1/connections/{id}/review
pub(super) async fn review(
    State(app): State<App>,
    caller: Caller,
    PathId(id): PathId<ConnectionId>,
    JsonBody(request): JsonBody<ReviewConnection>,
) -> Result<Answer, ApiError> {
    let connection = ops::review_connection::review_connection(&app, &caller, &id, request).await?;
    Answer::ok(&ConnectionAnswer { connection })
}

/// GET /v1/connections/{id}/credential
pub(super) async fn credential(
    State(app): State<App>,
    caller: Caller,
    PathId(id): PathId<ConnectionId>,
) -> Result<Answer, ApiError> {
    Answer::ok(&ops::find_credential::find_credential(&app, &caller, &id).await?)
}

/// POST /v1/connections/{id}/credential
pub(super) async fn put_credential(
    State(app): State<App>,
    caller: Caller,
    PathId(id): PathId<ConnectionId>,
    JsonBody(request): JsonBody<PutCredential>,
) -> Result<Answer, ApiError> {
    Answer::ok(&ops::put_credential::put_credential(&app, &caller, &id, request).await?)
}

/// POST /v1/connections/{id}/drift
pub(super) async fn drift(
    State(app): State<App>,
    caller: Caller,
    PathId(id): PathId<ConnectionId>,
    JsonBody(report): JsonBody<DriftReport>,
) -> Result<Answer, ApiError> {
    let connection = ops::report_drift::report_drift(&app, &caller, &id, report).await?;
    Answer::ok(&ConnectionAnswer { connection })
}

/// POST /v1/connections/{id}/revoke
pub(super) async fn revoke(
    State(app): State<App>,
    caller: Caller,
    PathId(id): PathId<ConnectionId>,
    JsonBody(_): JsonBody<Nothing>,
) -> Result<Answer, ApiError> {
    let connection = ops::revoke_connection::revoke_connection(&app, &caller, &id).await?;
    Answer::ok(&ConnectionAnswer { connection })
}

/// `{}`
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}
