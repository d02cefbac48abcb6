//! Takes back an intent from which nothing was sent (2.b.8, iv): only its owner knows that, so only its owner may.

use super::refresh_row::{answer, entry, find_refreshable, outcome_of};
use crate::{
    app::App,
    http::{caller::Caller, error::ApiError},
};
use contract::{
    AuditEvent,
    ids::ConnectionId,
    refresh::{RefreshAnswer, WithdrawIntent},
};
use store::{Intent, Swap};

/// Withdraws the caller's own standing intent.
pub(crate) async fn withdraw_refresh_intent(
    app: &App,
    caller: &Caller,
    id: &ConnectionId,
    request: WithdrawIntent,
) -> Result<RefreshAnswer, ApiError> {
    let (viewer, now_ms) = (&caller.viewer(), app.now_ms());
    let owner = caller.device_id.as_str().to_owned();
    let intent = &Intent { owner, fence: request.fence, version: request.version };
    app.store()
        .run("withdraw_refresh_intent", |mut tx| async move {
            let found = find_refreshable(&mut tx, caller, viewer, id).await?;
            let swap = tx.withdraw_refresh_intent(viewer, &found.connection, intent).await?;
            let answer = answer(&mut tx, viewer, id, outcome_of(&swap), now_ms).await?;
            if !matches!(swap, Swap::Done(())) {
                return Ok(tx.commit_unchanged(answer)?);
            }
            let event = AuditEvent::ConnectionRefreshWithdrawn {
                connection_id: id.clone(),
                fence: intent.fence,
                credential_version: intent.version,
            };
            Ok::<_, ApiError>(tx.commit_with(entry(caller, event, now_ms), answer).await?)
        })
        .await
}
