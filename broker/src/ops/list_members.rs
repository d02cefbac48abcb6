//! Who belongs to a workspace, for its members alone.

use crate::{
    app::App,
    http::{caller::Caller, error::ApiError},
};
use contract::{ids::WorkspaceId, workspace::MemberRow};
use store::{Member, Viewer};

/// Oldest member first. A workspace that the caller does not belong to is not there.
pub(crate) async fn list_members(app: &App, caller: &Caller, id: WorkspaceId) -> Result<Vec<MemberRow>, ApiError> {
    // The id in the path only chooses among the caller's own memberships, which the query reads.
    let viewer = &Viewer { workspace_id: id, user_id: caller.user_id.clone() };
    let members = app.store().read("list_members", |mut tx| async move { tx.list_members(viewer).await }).await?;
    Ok(members.into_iter().map(member_row).collect())
}

/// A member as other members see them.
pub(super) fn member_row(member: Member) -> MemberRow {
    MemberRow { user_id: member.user_id, role: member.role, display_name: member.display_name }
}
