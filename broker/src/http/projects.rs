//! Projects and their members over HTTP. Parses, calls one operation, answers.

use super::{answer::Answer, body::JsonBody, caller::Caller, error::ApiError, path::PathId};
use crate::{app::App, ops};
use axum::extract::State;
use contract::{
    ids::ProjectId,
    workspace::{AddMember, CreateProject, MemberAnswer, MemberList, ProjectAnswer, ProjectList},
};

/// GET /v1/projects
pub(super) async fn list(State(app): State<App>, caller: Caller) -> Result<Answer, ApiError> {
    let projects = ops::list_projects::list_projects(&app, &caller).await?;
    Answer::ok(&ProjectList { projects })
}

/// POST /v1/projects
pub(super) async fn create(
    State(app): State<App>,
    caller: Caller,
    JsonBody(request): JsonBody<CreateProject>,
) -> Result<Answer, ApiError> {
    let project = ops::create_project::create_project(&app, &caller, request).await?;
    Answer::ok(&ProjectAnswer { project })
}

/// GET /v1/projects/{id}/members
pub(super) async fn list_members(
    State(app): State<App>,
    caller: Caller,
    PathId(id): PathId<ProjectId>,
) -> Result<Answer, ApiError> {
    let members = ops::list_project_members::list_project_members(&app, &caller, id).await?;
    Answer::ok(&MemberList { members })
}

/// POST /v1/projects/{id}/members
pub(super) async fn add_member(
    State(app): State<App>,
    caller: Caller,
    PathId(id): PathId<ProjectId>,
    JsonBody(request): JsonBody<AddMember>,
) -> Result<Answer, ApiError> {
    let member = ops::add_project_member::add_project_member(&app, &caller, id, request).await?;
    Answer::ok(&MemberAnswer { member })
}
