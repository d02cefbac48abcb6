//! Replaces the sealed credential of a connection under its standing review. Sees ciphertext only; what it checks is shape, authorship and order.

use super::{
    review_connection::{check_signs, find_reviewable, sealed_entry},
    sealed::{Sealed, check_credential, check_envelope, nonce_refusal},
    signed_review,
};
use crate::{
    app::App,
    http::{caller::Caller, error::ApiError},
};
use contract::{
    Code,
    connection::{SealFormat, Status},
    credential::{CredentialStored, PutCredential},
    ids::ConnectionId,
};
use store::{Connection, ReadTx, StoreError, Viewer};

/// Stores the next version in the connection's own format; no format is ever tried after another.
pub(crate) async fn put_credential(
    app: &App,
    caller: &Caller,
    id: &ConnectionId,
    request: PutCredential,
) -> Result<CredentialStored, ApiError> {
    let (viewer, now_ms, request) = (&caller.viewer(), app.now_ms(), &request);
    app.store()
        .run("put_credential", |mut tx| async move {
            let standing = find_reviewable(&mut tx, viewer, id).await?;
            if standing.status != Status::Active {
                return Err(ApiError::new(
                    Code::ReviewRequired,
                    "review the connection first; a credential is sealed under its review",
                ));
            }
            let sealed = match standing.seal_format {
                SealFormat::V1 => check_envelope(&request.sealed_credential)?,
                SealFormat::V2 => check_v2(&mut tx, (caller, viewer), &standing, request).await?,
            };
            let new = sealed.to_new(&caller.device_id);
            let put = tx.seal_credential(viewer, id, request.expected_version, new, now_ms).await;
            let (connection, version) = put.map_err(nonce_refusal)?;
            let answer = CredentialStored {
                updated_at: version.updated_at_s,
                credential_version: version.version,
                version: connection.version,
            };
            let entry = sealed_entry(caller, viewer, id, (version, sealed.commitment()), now_ms);
            Ok(tx.commit_with(entry, answer).await?)
        })
        .await
}

async fn check_v2<'a>(
    tx: &mut ReadTx,
    (caller, viewer): (&Caller, &Viewer),
    standing: &Connection,
    request: &'a PutCredential,
) -> Result<Sealed<'a>, ApiError> {
    check_signs(caller)?;
    let expected = request.expected_version.ok_or_else(|| ApiError::field("expected_version", "missing"))?;
    if standing.version != expected {
        return Err(StoreError::VersionMoved { what: "connection", expected, actual: standing.version }.into());
    }
    let review =
        standing.review.as_ref().ok_or_else(|| ApiError::new(Code::ReviewRequired, "no signed review stands"))?;
    let key = signed_review::find_key(tx, caller).await?;
    let stored = tx.find_credential(viewer, &standing.id).await?;
    check_credential(caller, standing, stored.as_ref(), &request.sealed_credential, &key, &review.digest)
}
