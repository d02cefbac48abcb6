//! Room in the one answer that lists connections: the public client reads 4 MiB and no second page, so what would not fit is refused when it is written. Decides about sizes only.

use contract::{connection::Scope, limits};
use store::{ReadTx, StoreError, Viewer};

/// Fails when the rows of this scope no longer fit; the caller's write is then taken back.
///
/// A viewer's list is their own personal rows and at most all project rows of the workspace; each half has its own maximum, so nobody's list depends on what others keep for themselves.
pub(crate) async fn check(tx: &mut ReadTx, viewer: &Viewer, scope: Scope) -> Result<(), StoreError> {
    let max = limits::CONNECTION_ROWS_BYTES_MAX as u64;
    if tx.count_row_bytes(viewer, scope).await? > max {
        return Err(StoreError::Full { what: "bytes of connection manifests", max });
    }
    Ok(())
}
