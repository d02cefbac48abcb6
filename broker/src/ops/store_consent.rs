//! A new consent of the person replaces a grant (2.b.8, ii): the epoch rises, standing intents are void, and what was uncertain or dead is live again. The old token is revoked by the device, in the order of (vii).

use super::{
    refresh_row::{answer, entry, find_refreshable},
    sealed::check_credential,
};
use crate::{
    app::App,
    http::{caller::Caller, error::ApiError},
};
use contract::{
    AuditEvent,
    ids::ConnectionId,
    refresh::{RefreshAnswer, RefreshOutcome, StoreConsent},
};
use store::{StoreError, Swap};

/// Stores it if the epoch that it replaces stands; an intent of another device does not hinder it.
pub(crate) async fn store_consent(
    app: &App,
    caller: &Caller,
    id: &ConnectionId,
    request: StoreConsent,
) -> Result<RefreshAnswer, ApiError> {
    let (viewer, now_ms, request) = (&caller.viewer(), app.now_ms(), &request);
    app.store()
        .run("store_consent", |mut tx| async move {
            let found = find_refreshable(&mut tx, caller, viewer, id).await?;
            let stored = tx.find_credential(viewer, id).await?;
            if tx.find_refresh(viewer, &found.connection).await?.grant_epoch != request.grant_epoch {
                let answer = answer(&mut tx, viewer, id, RefreshOutcome::Lost, now_ms).await?;
                return Ok(tx.commit_unchanged(answer)?);
            }
            let json = &request.sealed_credential;
            let sealed =
                check_credential(caller, &found.connection, stored.as_ref(), json, &found.key, &found.review_digest)?;
            let new = sealed.to_new(&caller.device_id);
            let swap = tx.store_consent(viewer, &found.connection, request.grant_epoch, new, now_ms).await?;
            let Swap::Done(version) = swap else {
                return Err(StoreError::Fenced { statement: "store_consent", expected: 1, actual: 0 }.into());
            };
            let answer = answer(&mut tx, viewer, id, RefreshOutcome::Done, now_ms).await?;
            let event = AuditEvent::ConnectionReconsented {
                connection_id: id.clone(),
                grant_epoch: answer.state.grant_epoch,
                credential_version: version.version,
                commitment: sealed.commitment(),
            };
            Ok::<_, ApiError>(tx.commit_with(entry(caller, event, now_ms), answer).await?)
        })
        .await
}
