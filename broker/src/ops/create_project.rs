//! Makes a project, under an id of the caller's choice where nobody else has it. Repeating the call with the same id and name changes nothing.

use super::{list_projects::project_row, names::check_name};
use crate::{
    app::App,
    door::make_random,
    http::{caller::Caller, error::ApiError},
};
use contract::{
    AuditEvent,
    audit::AuditLog,
    ids::ProjectId,
    workspace::{CreateProject, ProjectRow, Role},
};
use store::{Inserted, NewProject, StoreError};

/// Makes it with the caller as its owner, or finds the one they made before.
pub(crate) async fn create_project(app: &App, caller: &Caller, request: CreateProject) -> Result<ProjectRow, ApiError> {
    check_name(&request.name)?;
    let (viewer, now_ms, fresh_id) = (&caller.viewer(), app.now_ms(), ProjectId::from_random(make_random()?));
    let new = NewProject { requested_id: request.project_id.as_ref(), fresh_id: &fresh_id, name: &request.name };
    let project = app
        .store()
        .run("create_project", |mut tx| async move {
            // The role is read where it is written by; the gate's may be a moment old.
            match tx.find_role(viewer).await? {
                Some(Role::Owner | Role::Admin | Role::Member) => {}
                Some(Role::Guest) => return Err(StoreError::Outranked),
                None => return Err(StoreError::NotVisible { what: "workspace" }),
            }
            let made = match tx.insert_project(viewer, new, now_ms).await? {
                Inserted::Same(standing) => return tx.commit_unchanged(standing),
                Inserted::New(made) => made,
            };
            let event = AuditEvent::ProjectCreated { project_id: made.id.clone(), user_id: viewer.user_id.clone() };
            let log = AuditLog::Workspace(viewer.workspace_id.clone());
            tx.commit_with(event.entry(log, caller.actor(), now_ms), made).await
        })
        .await?;
    Ok(project_row(project, caller))
}
