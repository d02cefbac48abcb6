//! The connections that the caller sees. Revoked ones are left out: the list is complete, and what is missing from it is deleted from a device's cache.

use super::connection_row::connection_row;
use crate::{
    app::App,
    http::{caller::Caller, error::ApiError},
};
use contract::connection::ConnectionRow;

/// The caller's own connections and those of their projects, oldest first.
pub(crate) async fn list_connections(app: &App, caller: &Caller) -> Result<Vec<ConnectionRow>, ApiError> {
    let viewer = &caller.viewer();
    let connections =
        app.store().read("list_connections", |mut tx| async move { tx.list_connections(viewer).await }).await?;
    Ok(connections.into_iter().map(connection_row).collect())
}
