//! The raw manifest of the newest signed review, standing or lifted, so that a device can show what changed. A connection that only the public client reviewed has none.

use crate::{
    app::App,
    http::{caller::Caller, error::ApiError},
};
use contract::{
    connection::{ManifestAnswer, Status},
    ids::ConnectionId,
};
use store::StoreError;

/// Finds it with its digest.
pub(crate) async fn find_manifest(app: &App, caller: &Caller, id: &ConnectionId) -> Result<ManifestAnswer, ApiError> {
    let viewer = &caller.viewer();
    let found = app
        .store()
        .read("find_manifest", |mut tx| async move {
            let connection =
                tx.find_connection(viewer, id).await?.ok_or(StoreError::NotVisible { what: "connection" })?;
            if connection.status == Status::Revoked {
                return Ok(None);
            }
            tx.find_raw_manifest(viewer, id).await
        })
        .await?;
    let (manifest, raw_digest) = found.ok_or_else(|| ApiError::not_found("manifest"))?;
    Ok(ManifestAnswer { manifest, raw_digest })
}
