//! The projects of the session's workspace that the caller belongs to. A role in the workspace alone shows none.

use crate::{
    app::App,
    door::wire_seconds,
    http::{caller::Caller, error::ApiError},
};
use contract::workspace::ProjectRow;
use store::Project;

/// Oldest first.
pub(crate) async fn list_projects(app: &App, caller: &Caller) -> Result<Vec<ProjectRow>, ApiError> {
    let viewer = &caller.viewer();
    let projects = app.store().read("list_projects", |mut tx| async move { tx.list_projects(viewer).await }).await?;
    Ok(projects.into_iter().map(|project| project_row(project, caller)).collect())
}

/// A project as its member sees it.
pub(super) fn project_row(project: Project, caller: &Caller) -> ProjectRow {
    ProjectRow {
        id: project.id,
        name: project.name,
        role: project.role,
        updated_at: wire_seconds(project.updated_at_ms),
        workspace_id: caller.workspace_id.clone(),
    }
}
