//! Ends a connection for good and deletes its ciphertext. Cannot reach the provider: what was sealed must be revoked there by the person.

use super::connection_row::connection_row;
use crate::{
    app::App,
    http::{caller::Caller, error::ApiError},
};
use contract::{AuditEvent, audit::AuditLog, connection::ConnectionRow, ids::ConnectionId};
use store::{Revocation, StoreError};

/// Revokes; repeating it changes nothing. Answers the row as it ended.
pub(crate) async fn revoke_connection(
    app: &App,
    caller: &Caller,
    id: &ConnectionId,
) -> Result<ConnectionRow, ApiError> {
    let (viewer, now_ms) = (&caller.viewer(), app.now_ms());
    let row = app
        .store()
        .run("revoke_connection", |mut tx| async move {
            let revocation = tx.revoke_connection(viewer, id, now_ms).await?;
            let connection =
                tx.find_connection(viewer, id).await?.ok_or(StoreError::NotVisible { what: "connection" })?;
            match revocation {
                Revocation::Before => tx.commit_unchanged(connection),
                Revocation::Now { .. } => {
                    let event = AuditEvent::ConnectionRevoked { connection_id: id.clone() };
                    let log = AuditLog::Workspace(viewer.workspace_id.clone());
                    tx.commit_with(event.entry(log, caller.actor(), now_ms), connection).await
                }
            }
        })
        .await?;
    // Deleted ciphertext must not live on in SQLite's write-ahead log.
    app.store().checkpoint().await?;
    Ok(connection_row(row))
}
