//! The owner of an intent says that the grant needs its person: nobody knows whether the token was used (iv), or the provider refused the stored version (v). Deletes nothing (vi).

use super::refresh_row::{answer, attempt_of, entry, find_refreshable, outcome_of};
use crate::{
    app::App,
    http::{caller::Caller, error::ApiError},
};
use contract::{
    AuditEvent,
    ids::ConnectionId,
    refresh::{RefreshAnswer, RefreshAttempt, RefreshStatus},
};
use store::Swap;

/// Why the grant stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stuck {
    /// Sent, and no answer.
    Uncertain,
    /// `invalid_grant`.
    Dead,
}

/// Marks the row if the caller's attempt stands in it.
pub(crate) async fn mark_refresh_stuck(
    app: &App,
    caller: &Caller,
    id: &ConnectionId,
    request: RefreshAttempt,
    stuck: Stuck,
) -> Result<RefreshAnswer, ApiError> {
    let (viewer, now_ms) = (&caller.viewer(), app.now_ms());
    let attempt = attempt_of(caller, request.fence, request.version, request.grant_epoch);
    app.store()
        .run("mark_refresh_stuck", |mut tx| async move {
            let found = find_refreshable(&mut tx, caller, viewer, id).await?;
            let (swap, status) = match stuck {
                Stuck::Uncertain => {
                    let swap = tx.mark_refresh_uncertain(viewer, &found.connection, attempt).await?;
                    (swap, RefreshStatus::Uncertain)
                }
                Stuck::Dead => (tx.mark_refresh_dead(viewer, &found.connection, attempt).await?, RefreshStatus::Dead),
            };
            let answer = answer(&mut tx, viewer, id, outcome_of(&swap), now_ms).await?;
            if !matches!(swap, Swap::Done(())) {
                return Ok(tx.commit_unchanged(answer)?);
            }
            let event = AuditEvent::ConnectionRefreshStuck {
                connection_id: id.clone(),
                grant_epoch: attempt.grant_epoch,
                credential_version: attempt.version,
                status,
            };
            Ok::<_, ApiError>(tx.commit_with(entry(caller, event, now_ms), answer).await?)
        })
        .await
}
