//! Stores what the owner of an intent got from the provider (2.b.8, step 7). Asks whether version, epoch and intent are its own, and never whether the lease still is (i).

use super::{
    refresh_row::{answer, attempt_of, entry, find_refreshable},
    sealed::check_credential,
};
use crate::{
    app::App,
    http::{caller::Caller, error::ApiError},
};
use contract::{
    AuditEvent,
    ids::ConnectionId,
    refresh::{RefreshAnswer, RefreshOutcome, UploadRefreshed},
};
use store::{Attempt, Refresh, StoreError, StoredCredential, Swap};

/// Stores the next version and ends the intent. Bytes that are stored already are done, so that a lost answer can be asked for again.
pub(crate) async fn store_refreshed(
    app: &App,
    caller: &Caller,
    id: &ConnectionId,
    request: UploadRefreshed,
) -> Result<RefreshAnswer, ApiError> {
    let (viewer, now_ms, request) = (&caller.viewer(), app.now_ms(), &request);
    let attempt = attempt_of(caller, request.fence, request.version, request.grant_epoch);
    app.store()
        .run("store_refreshed", |mut tx| async move {
            let found = find_refreshable(&mut tx, caller, viewer, id).await?;
            let row = tx.find_refresh(viewer, &found.connection).await?;
            let stored = tx.find_credential(viewer, id).await?;
            if !attempt.is_standing_in(&row) {
                let outcome = match is_stored(&attempt, &row, stored.as_ref(), request) {
                    true => RefreshOutcome::Done,
                    false => RefreshOutcome::Lost,
                };
                let answer = answer(&mut tx, viewer, id, outcome, now_ms).await?;
                return Ok(tx.commit_unchanged(answer)?);
            }
            let json = &request.sealed_credential;
            let sealed =
                check_credential(caller, &found.connection, stored.as_ref(), json, &found.key, &found.review_digest)?;
            let new = sealed.to_new(&caller.device_id);
            let Swap::Done(version) = tx.store_refreshed(viewer, &found.connection, attempt, new, now_ms).await? else {
                return Err(StoreError::Fenced { statement: "store_refreshed", expected: 1, actual: 0 }.into());
            };
            let event = AuditEvent::ConnectionRefreshed {
                connection_id: id.clone(),
                grant_epoch: attempt.grant_epoch,
                fence: attempt.fence,
                credential_version: version.version,
                commitment: sealed.commitment(),
            };
            let answer = answer(&mut tx, viewer, id, RefreshOutcome::Done, now_ms).await?;
            Ok::<_, ApiError>(tx.commit_with(entry(caller, event, now_ms), answer).await?)
        })
        .await
}

/// The very bytes of this attempt are what is stored: its answer was lost.
fn is_stored(
    attempt: &Attempt<'_>,
    row: &Refresh,
    stored: Option<&StoredCredential>,
    request: &UploadRefreshed,
) -> bool {
    row.grant_epoch == attempt.grant_epoch
        && row.credential_version == attempt.version.saturating_add(1)
        && stored.is_some_and(|stored| stored.sealed == request.sealed_credential)
}
