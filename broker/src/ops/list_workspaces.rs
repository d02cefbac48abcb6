//! The workspaces that a person belongs to. Lists nobody else's.

use crate::{
    app::App,
    http::{caller::Caller, error::ApiError},
};
use contract::workspace::WorkspaceRow;
use store::Workspace;

/// Oldest first, so the personal one leads.
pub(crate) async fn list_workspaces(app: &App, caller: &Caller) -> Result<Vec<WorkspaceRow>, ApiError> {
    let user_id = &caller.user_id;
    let workspaces =
        app.store().read("list_workspaces", |mut tx| async move { tx.list_workspaces(user_id).await }).await?;
    Ok(workspaces.into_iter().map(workspace_row).collect())
}

/// A workspace as its member sees it.
pub(super) fn workspace_row(workspace: Workspace) -> WorkspaceRow {
    WorkspaceRow { id: workspace.id, name: workspace.name, kind: workspace.kind, role: workspace.role }
}
