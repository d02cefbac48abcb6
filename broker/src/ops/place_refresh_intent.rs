//! Places an owner's durable will to send the refresh token of one version (2.b.8, step 3). Nobody else may call the provider while it stands, however old it is.

use super::refresh_row::{answer, attempt_of, entry, find_refreshable, outcome_of};
use crate::{
    app::App,
    http::{caller::Caller, error::ApiError},
};
use contract::{
    AuditEvent,
    ids::ConnectionId,
    refresh::{PlaceIntent, RefreshAnswer},
};
use store::{Intent, Swap};

/// Places it if none stands (or exactly the one to replace does), version and epoch are these and the fence is current.
pub(crate) async fn place_refresh_intent(
    app: &App,
    caller: &Caller,
    id: &ConnectionId,
    request: PlaceIntent,
) -> Result<RefreshAnswer, ApiError> {
    let (viewer, now_ms, request) = (&caller.viewer(), app.now_ms(), &request);
    let attempt = attempt_of(caller, request.fence, request.version, request.grant_epoch);
    let replaces = &request.replaces.clone().map(|intent| Intent {
        owner: intent.owner,
        fence: intent.fence,
        version: intent.version,
    });
    app.store()
        .run("place_refresh_intent", |mut tx| async move {
            let found = find_refreshable(&mut tx, caller, viewer, id).await?;
            let swap = tx.place_refresh_intent(viewer, &found.connection, attempt, replaces.as_ref()).await?;
            let answer = answer(&mut tx, viewer, id, outcome_of(&swap), now_ms).await?;
            if !matches!(swap, Swap::Done(())) {
                return Ok(tx.commit_unchanged(answer)?);
            }
            let event = AuditEvent::ConnectionRefreshIntended {
                connection_id: id.clone(),
                grant_epoch: attempt.grant_epoch,
                fence: attempt.fence,
                credential_version: attempt.version,
                takes_over: replaces.is_some(),
            };
            Ok::<_, ApiError>(tx.commit_with(entry(caller, event, now_ms), answer).await?)
        })
        .await
}
