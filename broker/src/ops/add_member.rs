//! Adds a person to a workspace or changes their role there. Membership lets them see and coordinate; it never makes a device execute.

use super::list_members::member_row;
use crate::{
    app::App,
    http::{caller::Caller, error::ApiError},
};
use contract::{
    AuditEvent, Code,
    audit::AuditLog,
    ids::WorkspaceId,
    workspace::{AddMember, MemberRow, Role, WorkspaceKind},
};
use store::{Member, MemberChange, ReadTx, StoreError, Viewer};

/// Sets the role. Ranks are compared in the transaction that writes.
pub(crate) async fn add_member(
    app: &App,
    caller: &Caller,
    id: WorkspaceId,
    request: AddMember,
) -> Result<MemberRow, ApiError> {
    check_role(request.role)?;
    let (viewer, now_ms) = (&Viewer { workspace_id: id, user_id: caller.user_id.clone() }, app.now_ms());
    let AddMember { user_id, role } = &request;
    let (user_id, role) = (user_id, *role);
    let member = app
        .store()
        .run("add_member", |mut tx| async move {
            let workspace = tx.find_workspace(viewer).await?.ok_or(StoreError::NotVisible { what: "workspace" })?;
            if workspace.kind == WorkspaceKind::Personal {
                return Err(ApiError::new(
                    Code::IllegalTransition,
                    "a personal workspace has one member; make another one to share",
                ));
            }
            let change = tx.set_member(viewer, user_id, role, now_ms).await?;
            let member = find_member(&mut tx, viewer, user_id.as_str()).await?;
            let event = match change {
                MemberChange::Unchanged => return Ok(tx.commit_unchanged(member)?),
                MemberChange::Added => AuditEvent::MemberAdded { user_id: user_id.clone(), role },
                MemberChange::Changed { from } => {
                    AuditEvent::MemberRoleChanged { user_id: user_id.clone(), from, to: role }
                }
            };
            let log = AuditLog::Workspace(viewer.workspace_id.clone());
            Ok(tx.commit_with(event.entry(log, caller.actor(), now_ms), member).await?)
        })
        .await?;
    Ok(member_row(member))
}

/// A workspace gets a further owner only by a step that this call is not.
pub(super) fn check_role(role: Role) -> Result<(), ApiError> {
    match role {
        Role::Admin | Role::Member | Role::Guest => Ok(()),
        Role::Owner => Err(ApiError::field("role", "admin, member or guest was expected")),
    }
}

async fn find_member(tx: &mut ReadTx, viewer: &Viewer, user_id: &str) -> Result<Member, StoreError> {
    let members = tx.list_members(viewer).await?;
    members
        .into_iter()
        .find(|member| member.user_id.as_str() == user_id)
        .ok_or(StoreError::NotVisible { what: "member" })
}
