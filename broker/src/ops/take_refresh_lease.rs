//! Takes the lease under which an intent may be placed (2.b.8, step 2). It keeps owners from disturbing each other and protects nothing by itself.

use super::refresh_row::{answer, find_refreshable};
use crate::{
    app::App,
    http::{caller::Caller, error::ApiError},
};
use contract::{
    ids::ConnectionId,
    refresh::{RefreshAnswer, RefreshOutcome},
};
use store::{Swap, Upkeep};

/// The lease with a new fence, or the row of whoever has it.
pub(crate) async fn take_refresh_lease(
    app: &App,
    caller: &Caller,
    id: &ConnectionId,
) -> Result<RefreshAnswer, ApiError> {
    let (viewer, now_ms) = (&caller.viewer(), app.now_ms());
    app.store()
        .run("take_refresh_lease", |mut tx| async move {
            let found = find_refreshable(&mut tx, caller, viewer, id).await?;
            let owner = caller.device_id.as_str();
            let outcome = match tx.take_refresh_lease(viewer, &found.connection, owner, now_ms).await? {
                Swap::Done(_) | Swap::Stood(_) => RefreshOutcome::Done,
                Swap::Lost => RefreshOutcome::LeaseTaken,
            };
            let answer = answer(&mut tx, viewer, id, outcome, now_ms).await?;
            Ok::<_, ApiError>(tx.commit_upkeep(Upkeep::Lease, answer)?)
        })
        .await
}
