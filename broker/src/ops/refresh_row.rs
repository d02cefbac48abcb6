//! What the operations of a refresh share (2.b.8): which connections have one, the caller as its owner, and the row as it is answered. Changes nothing.

use super::{
    review_connection::{check_signs, find_reviewable},
    signed_review,
};
use crate::{
    door::wire_seconds,
    http::{caller::Caller, error::ApiError},
};
use contract::{
    AuditEvent, Code, Digest,
    audit::{AuditEntry, AuditLog},
    connection::{Profile, SealFormat},
    ids::ConnectionId,
    refresh::{RefreshAnswer, RefreshIntent, RefreshLease, RefreshOutcome, RefreshState},
};
use sign::PublicKey;
use store::{Attempt, Connection, ReadTx, Refresh, Swap, Viewer};

/// A connection whose grant the caller's devices refresh, the digest of the newest review, and the caller's key.
pub(super) struct Refreshable {
    pub(super) connection: Connection,
    pub(super) review_digest: Digest,
    pub(super) key: PublicKey,
}

/// Finds it for a device that is not revoked in this very transaction: an intent of a revoked one would stand for ever.
///
/// A drift does not end it: refresh is one of the few things that go on under the reviewed values (2.a.3).
pub(super) async fn find_refreshable(
    tx: &mut ReadTx,
    caller: &Caller,
    viewer: &Viewer,
    id: &ConnectionId,
) -> Result<Refreshable, ApiError> {
    let connection = find_reviewable(tx, viewer, id).await?;
    check_signs(caller)?;
    if connection.seal_format != SealFormat::V2 || connection.profile != Profile::DeviceDirect {
        return Err(ApiError::new(Code::Unsupported, "devices do not refresh the credential of this connection"));
    }
    let review = connection.review.as_ref().filter(|_| connection.credential_version > 0);
    let Some(review_digest) = review.map(|review| review.digest) else {
        return Err(ApiError::new(Code::IllegalTransition, "the connection has no credential yet"));
    };
    let key = signed_review::find_key(tx, caller).await?;
    Ok(Refreshable { connection, review_digest, key })
}

/// The attempt that the caller names; its owner is the caller, whatever the request says.
pub(super) fn attempt_of(caller: &Caller, fence: u64, version: u64, grant_epoch: u64) -> Attempt<'_> {
    Attempt { owner: caller.device_id.as_str(), fence, version, grant_epoch }
}

/// What a compare-and-set came to, on the wire.
pub(super) const fn outcome_of<T>(swap: &Swap<T>) -> RefreshOutcome {
    match swap {
        Swap::Done(_) | Swap::Stood(_) => RefreshOutcome::Done,
        Swap::Lost => RefreshOutcome::Lost,
    }
}

/// The row with what its change came to, as it stands at the end of the transaction.
pub(super) async fn answer(
    tx: &mut ReadTx,
    viewer: &Viewer,
    id: &ConnectionId,
    outcome: RefreshOutcome,
    now_ms: i64,
) -> Result<RefreshAnswer, ApiError> {
    let connection = find_reviewable(tx, viewer, id).await?;
    let row = tx.find_refresh(viewer, &connection).await?;
    Ok(RefreshAnswer { outcome, state: refresh_state(id, row, now_ms) })
}

/// The row on the wire; a lease that has run out is none.
pub(super) fn refresh_state(id: &ConnectionId, row: Refresh, now_ms: i64) -> RefreshState {
    let lease = row.lease.filter(|lease| lease.expires_at_ms > now_ms);
    RefreshState {
        connection: id.clone(),
        credential_version: row.credential_version,
        grant_epoch: row.grant_epoch,
        status: row.status,
        fence: row.fence,
        lease: lease.map(|lease| RefreshLease { owner: lease.owner, expires_at: wire_seconds(lease.expires_at_ms) }),
        intent: row.intent.map(|intent| RefreshIntent {
            owner: intent.owner,
            fence: intent.fence,
            version: intent.version,
        }),
    }
}

/// The entry of an event in the caller's workspace.
pub(super) fn entry(caller: &Caller, event: AuditEvent, now_ms: i64) -> AuditEntry {
    event.entry(AuditLog::Workspace(caller.workspace_id.clone()), caller.actor(), now_ms)
}
