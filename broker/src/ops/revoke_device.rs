//! Ends a device of the caller's person and all its sessions, for good; also the caller itself, which is how a device signs out. Repeating it changes nothing.

use crate::{
    app::App,
    http::{caller::Caller, error::ApiError},
};
use contract::{AuditEvent, audit::AuditLog, ids::DeviceId};
use store::Revocation;

/// Revokes the device. Another person's device is not there.
pub(crate) async fn revoke_device(app: &App, caller: &Caller, device_id: &DeviceId) -> Result<(), ApiError> {
    let now_ms = app.now_ms();
    app.store()
        .run("revoke_device", |mut tx| async move {
            match tx.revoke_device(&caller.user_id, device_id, now_ms).await? {
                Revocation::Before => Ok::<_, ApiError>(tx.commit_unchanged(())?),
                Revocation::Now { families } => {
                    let event = AuditEvent::DeviceRevoked {
                        device_id: device_id.clone(),
                        user_id: caller.user_id.clone(),
                        families,
                    };
                    let entry = event.entry(AuditLog::Workspace(caller.workspace_id.clone()), caller.actor(), now_ms);
                    Ok(tx.commit_with(entry, ()).await?)
                }
            }
        })
        .await
}
