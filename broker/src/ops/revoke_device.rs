//! Ends a device of the caller's person and all its sessions, for good; also the caller itself, which is how a device signs out. What it was about to refresh needs its person (2.b.8, ix). Repeating it changes nothing.

use crate::{
    app::App,
    http::{caller::Caller, error::ApiError},
};
use contract::{
    AuditEvent,
    audit::{AuditEntry, AuditLog},
    ids::DeviceId,
    refresh::RefreshStatus,
};
use store::{Revocation, VoidedIntent};

/// Revokes the device. Another person's device is not there.
pub(crate) async fn revoke_device(app: &App, caller: &Caller, device_id: &DeviceId) -> Result<(), ApiError> {
    let now_ms = app.now_ms();
    app.store()
        .run("revoke_device", |mut tx| async move {
            match tx.revoke_device(&caller.user_id, device_id, now_ms).await? {
                Revocation::Before => Ok::<_, ApiError>(tx.commit_unchanged(())?),
                Revocation::Now { families } => {
                    for voided in tx.void_refresh_intents(device_id.as_str()).await? {
                        tx.record(stuck_entry(voided, caller, now_ms)).await?;
                    }
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

/// Nobody but the device knows whether it sent the token of its intent.
fn stuck_entry(voided: VoidedIntent, caller: &Caller, now_ms: i64) -> AuditEntry {
    let event = AuditEvent::ConnectionRefreshStuck {
        connection_id: voided.connection_id,
        grant_epoch: voided.grant_epoch,
        credential_version: voided.version,
        status: RefreshStatus::Uncertain,
    };
    event.entry(AuditLog::Workspace(voided.workspace_id), caller.actor(), now_ms)
}
