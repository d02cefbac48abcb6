//! Session tokens over HTTP. Parses, calls one operation, answers.

use super::{answer::Answer, body::JsonBody, caller::Caller, error::ApiError, gate::Claimed};
use crate::{
    app::App,
    ops::{refresh_session, select_workspace},
};
use axum::{Extension, extract::State};
use contract::session::{RefreshTokens, SelectWorkspace};

/// POST /v1/auth/refresh
pub(super) async fn refresh(
    State(app): State<App>,
    Extension(claimed): Extension<Claimed>,
    JsonBody(request): JsonBody<RefreshTokens>,
) -> Result<Answer, ApiError> {
    Answer::ok(&refresh_session::refresh_session(&app, &request, &claimed).await?)
}

/// POST /v1/workspaces/select
pub(super) async fn select(
    State(app): State<App>,
    caller: Caller,
    JsonBody(request): JsonBody<SelectWorkspace>,
) -> Result<Answer, ApiError> {
    Answer::ok(&select_workspace::select_workspace(&app, &caller, request).await?)
}
