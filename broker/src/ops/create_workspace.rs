//! Makes a team workspace owned by the caller. The session stays in the workspace it is in.

use super::{list_workspaces::workspace_row, names::check_name};
use crate::{
    app::App,
    door::make_random,
    http::{caller::Caller, error::ApiError},
};
use contract::{
    AuditEvent,
    audit::AuditLog,
    ids::WorkspaceId,
    workspace::{CreateWorkspace, WorkspaceKind, WorkspaceRow},
};
use store::{NewWorkspace, StoreError, Viewer};

/// Makes it, and begins its own log.
pub(crate) async fn create_workspace(
    app: &App,
    caller: &Caller,
    request: CreateWorkspace,
) -> Result<WorkspaceRow, ApiError> {
    check_name(&request.name)?;
    let (id, now_ms) = (WorkspaceId::from_random(make_random()?), app.now_ms());
    let viewer = &Viewer { workspace_id: id.clone(), user_id: caller.user_id.clone() };
    let new = NewWorkspace { id: &id, name: &request.name, kind: WorkspaceKind::Team, owner_id: &caller.user_id };
    let made = app
        .store()
        .run("create_workspace", |mut tx| async move {
            tx.insert_workspace(new, now_ms).await?;
            let made = tx.find_workspace(viewer).await?.ok_or(StoreError::NotVisible { what: "workspace" })?;
            let event = AuditEvent::WorkspaceCreated {
                workspace_id: viewer.workspace_id.clone(),
                workspace_kind: made.kind,
                user_id: viewer.user_id.clone(),
            };
            let log = AuditLog::Workspace(viewer.workspace_id.clone());
            tx.commit_with(event.entry(log, caller.actor(), now_ms), made).await
        })
        .await?;
    Ok(workspace_row(made))
}
