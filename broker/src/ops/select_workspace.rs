//! A session in another workspace of the same person, on the same device. The session that asked stays as it is: other processes of the device may still use it.

use super::issue_tokens::{Life, make_fresh, tokens};
use crate::{
    app::App,
    door,
    http::{caller::Caller, error::ApiError},
};
use contract::{
    AuditEvent,
    audit::AuditLog,
    ids::FamilyId,
    session::{SelectWorkspace, WorkspaceSelected},
};
use sign::token::TokenKind;
use store::NewFamily;

/// Makes a family of tokens for the workspace. Not a member and not there are one answer.
pub(crate) async fn select_workspace(
    app: &App,
    caller: &Caller,
    request: SelectWorkspace,
) -> Result<WorkspaceSelected, ApiError> {
    let family_id = FamilyId::from_random(door::make_random()?);
    let (access, now_ms) = (make_fresh(app.token_key(), TokenKind::Access)?, app.now_ms());
    let (family_id, stored, workspace_id) = (&family_id, &access.stored, &request.workspace_id);
    let life = app
        .store()
        .run("select_workspace", |mut tx| async move {
            let device = tx.find_device(&caller.user_id, &caller.device_id).await?;
            let device = device.ok_or_else(|| ApiError::not_found("device"))?;
            let life = Life::of(device.session_class, device.created_at_ms, now_ms);
            let family = NewFamily {
                id: family_id,
                workspace_id,
                user_id: &caller.user_id,
                device_id: &caller.device_id,
                session_class: device.session_class,
                expires_at_ms: life.family_expires_at_ms,
                ends_at_ms: life.family_ends_at_ms,
            };
            tx.insert_family(family, now_ms).await?;
            tx.insert_access_token(stored, family_id, now_ms, life.access_ends_at_ms).await?;
            let event =
                AuditEvent::SessionSelected { family_id: family_id.clone(), device_id: caller.device_id.clone() };
            let entry = event.entry(AuditLog::Workspace(workspace_id.clone()), caller.actor(), now_ms);
            Ok::<_, ApiError>(tx.commit_with(entry, life).await?)
        })
        .await?;
    let tokens = tokens(app, &access, family_id, 1, life);
    Ok(WorkspaceSelected { workspace_id: request.workspace_id, tokens })
}
