//! The refresh of a shared grant over HTTP (2.b.8). Parses, calls one operation, answers.

use super::{answer::Answer, body::JsonBody, caller::Caller, connections::Nothing, error::ApiError, path::PathId};
use crate::{
    app::App,
    ops::{self, mark_refresh_stuck::Stuck},
};
use axum::extract::State;
use contract::{
    ids::ConnectionId,
    refresh::{PlaceIntent, RefreshAttempt, StoreConsent, UploadRefreshed, WithdrawIntent},
};

/// GET /v1/connections/{id}/refresh
pub(super) async fn find(
    State(app): State<App>,
    caller: Caller,
    PathId(id): PathId<ConnectionId>,
) -> Result<Answer, ApiError> {
    Answer::ok(&ops::find_refresh::find_refresh(&app, &caller, &id).await?)
}

/// POST /v1/connections/{id}/refresh/lease
pub(super) async fn lease(
    State(app): State<App>,
    caller: Caller,
    PathId(id): PathId<ConnectionId>,
    JsonBody(_): JsonBody<Nothing>,
) -> Result<Answer, ApiError> {
    Answer::ok(&ops::take_refresh_lease::take_refresh_lease(&app, &caller, &id).await?)
}

/// POST /v1/connections/{id}/refresh/intent
pub(super) async fn intent(
    State(app): State<App>,
    caller: Caller,
    PathId(id): PathId<ConnectionId>,
    JsonBody(request): JsonBody<PlaceIntent>,
) -> Result<Answer, ApiError> {
    Answer::ok(&ops::place_refresh_intent::place_refresh_intent(&app, &caller, &id, request).await?)
}

/// POST /v1/connections/{id}/refresh/withdraw
pub(super) async fn withdraw(
    State(app): State<App>,
    caller: Caller,
    PathId(id): PathId<ConnectionId>,
    JsonBody(request): JsonBody<WithdrawIntent>,
) -> Result<Answer, ApiError> {
    Answer::ok(&ops::withdraw_refresh_intent::withdraw_refresh_intent(&app, &caller, &id, request).await?)
}

/// POST /v1/connections/{id}/refresh/upload
pub(super) async fn upload(
    State(app): State<App>,
    caller: Caller,
    PathId(id): PathId<ConnectionId>,
    JsonBody(request): JsonBody<UploadRefreshed>,
) -> Result<Answer, ApiError> {
    Answer::ok(&ops::store_refreshed::store_refreshed(&app, &caller, &id, request).await?)
}

/// POST /v1/connections/{id}/refresh/uncertain
pub(super) async fn uncertain(
    State(app): State<App>,
    caller: Caller,
    PathId(id): PathId<ConnectionId>,
    JsonBody(request): JsonBody<RefreshAttempt>,
) -> Result<Answer, ApiError> {
    Answer::ok(&ops::mark_refresh_stuck::mark_refresh_stuck(&app, &caller, &id, request, Stuck::Uncertain).await?)
}

/// POST /v1/connections/{id}/refresh/dead
pub(super) async fn dead(
    State(app): State<App>,
    caller: Caller,
    PathId(id): PathId<ConnectionId>,
    JsonBody(request): JsonBody<RefreshAttempt>,
) -> Result<Answer, ApiError> {
    Answer::ok(&ops::mark_refresh_stuck::mark_refresh_stuck(&app, &caller, &id, request, Stuck::Dead).await?)
}

/// POST /v1/connections/{id}/refresh/reconsent
pub(super) async fn reconsent(
    State(app): State<App>,
    caller: Caller,
    PathId(id): PathId<ConnectionId>,
    JsonBody(request): JsonBody<StoreConsent>,
) -> Result<Answer, ApiError> {
    Answer::ok(&ops::store_consent::store_consent(&app, &caller, &id, request).await?)
}
