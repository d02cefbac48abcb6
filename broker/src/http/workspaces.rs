//! Workspaces and their members over HTTP. Parses, calls one operation, answers.

use super::{answer::Answer, body::JsonBody, caller::Caller, error::ApiError, path::PathId};
use crate::{app::App, ops};
use axum::extract::State;
use contract::{
    ids::WorkspaceId,
    workspace::{AddMember, CreateWorkspace, MemberAnswer, MemberList, WorkspaceAnswer, WorkspaceList},
};

/// GET /v1/workspaces
pub(super) async fn list(State(app): State<App>, caller: Caller) -> Result<Answer, ApiError> {
    let workspaces = ops::list_workspaces::list_workspaces(&app, &caller).await?;
    Answer::ok(&WorkspaceList { workspaces })
}

/// POST /v1/workspaces
pub(super) async fn create(
    State(app): State<App>,
    caller: Caller,
    JsonBody(request): JsonBody<CreateWorkspace>,
) -> Result<Answer, ApiError> {
    let workspace = ops::create_workspace::create_workspace(&app, &caller, request).await?;
    Answer::ok(&WorkspaceAnswer { workspace })
}

/// GET /v1/workspaces/{id}/members
pub(super) async fn list_members(
    State(app): State<App>,
    caller: Caller,
    PathId(id): PathId<WorkspaceId>,
) -> Result<Answer, ApiError> {
    let members = ops::list_members::list_members(&app, &caller, id).await?;
    Answer::ok(&MemberList { members })
}

/// POST /v1/workspaces/{id}/members
pub(super) async fn add_member(
    State(app): State<App>,
    caller: Caller,
    PathId(id): PathId<WorkspaceId>,
    JsonBody(request): JsonBody<AddMember>,
) -> Result<Answer, ApiError> {
    let member = ops::add_member::add_member(&app, &caller, id, request).await?;
    Answer::ok(&MemberAnswer { member })
}
