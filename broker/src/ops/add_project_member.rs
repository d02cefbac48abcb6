//! Adds a member of the workspace to a project or changes their role there. Sealed history is not given with it.

use super::{add_member::check_role, list_members::member_row};
use crate::{
    app::App,
    http::{caller::Caller, error::ApiError},
};
use contract::{
    AuditEvent,
    audit::AuditLog,
    ids::ProjectId,
    workspace::{AddMember, MemberRow},
};
use store::{MemberChange, StoreError};

/// Sets the role. Ranks are compared in the transaction that writes.
pub(crate) async fn add_project_member(
    app: &App,
    caller: &Caller,
    id: ProjectId,
    request: AddMember,
) -> Result<MemberRow, ApiError> {
    check_role(request.role)?;
    let (viewer, now_ms, id, request) = (&caller.viewer(), app.now_ms(), &id, &request);
    let member = app
        .store()
        .run("add_project_member", |mut tx| async move {
            let (user_id, role) = (request.user_id.clone(), request.role);
            let change = tx.set_project_member(viewer, id, &user_id, role, now_ms).await?;
            let members = tx.list_project_members(viewer, id).await?;
            let member = members
                .into_iter()
                .find(|member| member.user_id == user_id)
                .ok_or(StoreError::NotVisible { what: "member" })?;
            let event = match change {
                MemberChange::Unchanged => return tx.commit_unchanged(member),
                MemberChange::Added => AuditEvent::ProjectMemberAdded { project_id: id.clone(), user_id, role },
                MemberChange::Changed { from } => {
                    AuditEvent::ProjectMemberRoleChanged { project_id: id.clone(), user_id, from, to: role }
                }
            };
            let log = AuditLog::Workspace(viewer.workspace_id.clone());
            tx.commit_with(event.entry(log, caller.actor(), now_ms), member).await
        })
        .await?;
    Ok(member_row(member))
}
