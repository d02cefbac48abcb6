//! The refresh row of a connection for one of its owners. Reads only.

use super::refresh_row::{find_refreshable, refresh_state};
use crate::{
    app::App,
    http::{caller::Caller, error::ApiError},
};
use contract::{ids::ConnectionId, refresh::RefreshState};

/// Who refreshes, and how the grant stands.
pub(crate) async fn find_refresh(app: &App, caller: &Caller, id: &ConnectionId) -> Result<RefreshState, ApiError> {
    let (viewer, now_ms) = (&caller.viewer(), app.now_ms());
    app.store()
        .read("find_refresh", |mut tx| async move {
            let found = find_refreshable(&mut tx, caller, viewer, id).await?;
            let row = tx.find_refresh(viewer, &found.connection).await?;
            Ok(refresh_state(id, row, now_ms))
        })
        .await
}
