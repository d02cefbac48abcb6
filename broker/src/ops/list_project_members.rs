//! Who belongs to a project, for its members alone.

use super::list_members::member_row;
use crate::{
    app::App,
    http::{caller::Caller, error::ApiError},
};
use contract::{ids::ProjectId, workspace::MemberRow};

/// Oldest member first. A project that the caller does not belong to is not there.
pub(crate) async fn list_project_members(
    app: &App,
    caller: &Caller,
    id: ProjectId,
) -> Result<Vec<MemberRow>, ApiError> {
    let (viewer, id) = (&caller.viewer(), &id);
    let members = app
        .store()
        .read("list_project_members", |mut tx| async move { tx.list_project_members(viewer, id).await })
        .await?;
    Ok(members.into_iter().map(member_row).collect())
}
