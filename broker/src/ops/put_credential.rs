//! Replaces the sealed credential of a connection under its standing review. Sees ciphertext only; what it checks is shape, authorship and order.

use super::{
    review_connection::{check_takes_v2, find_reviewable, sealed_entry},
    signed_review,
};
use crate::{
    app::App,
    http::{caller::Caller, error::ApiError},
};
use contract::{
    Code, Digest, Json,
    connection::{SealFormat, Status},
    credential::{CredentialStored, EnvelopeV1, PutCredential},
    ids::{ConnectionId, DeviceId},
};
use store::{Connection, NewCredential, NewFormat, StoreError, StoredVersion, Tx, Viewer};

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
                return Err(ApiError::new(Code::ReviewRequired, "review the connection first; a credential is sealed under its review"));
            }
            let put = match standing.seal_format {
                SealFormat::V1 => put_v1(&mut tx, caller, viewer, &standing, request, now_ms).await?,
                SealFormat::V2 => put_v2(&mut tx, caller, viewer, &standing, request, now_ms).await?,
            };
            let Put { connection, version, commitment } = put;
            let answer = CredentialStored {
                updated_at: version.updated_at_s,
                credential_version: version.version,
                version: connection.version,
            };
            let entry = sealed_entry(caller, viewer, id, (version, commitment), now_ms);
            Ok(tx.commit_with(entry, answer).await?)
        })
        .await
}

struct Put {
    connection: Connection,
    version: StoredVersion,
    commitment: Digest,
}

async fn put_v1(
    tx: &mut Tx,
    caller: &Caller,
    viewer: &Viewer,
    standing: &Connection,
    request: &PutCredential,
    now_ms: i64,
) -> Result<Put, ApiError> {
    let (nonce, commitment) = check_v1(&request.sealed_credential)?;
    let new = new_v1(&request.sealed_credential, &commitment, &caller.device_id, &nonce);
    let (connection, version) =
        tx.seal_credential(viewer, &standing.id, request.expected_version, new, now_ms).await.map_err(nonce_refusal)?;
    Ok(Put { connection, version, commitment })
}

async fn put_v2(
    tx: &mut Tx,
    caller: &Caller,
    viewer: &Viewer,
    standing: &Connection,
    request: &PutCredential,
    now_ms: i64,
) -> Result<Put, ApiError> {
    check_takes_v2(caller, standing)?;
    let expected = request.expected_version.ok_or_else(|| ApiError::field("expected_version", "missing"))?;
    if standing.version != expected {
        return Err(StoreError::VersionMoved { what: "connection", expected, actual: standing.version }.into());
    }
    let review = standing.review.as_ref().ok_or_else(|| ApiError::new(Code::ReviewRequired, "no signed review stands"))?;
    let key = signed_review::find_key(tx, caller).await?;
    let stored = tx.find_credential(viewer, &standing.id).await?;
    let sealed = signed_review::check_credential(caller, standing, stored.as_ref(), &request.sealed_credential, &key, &review.digest)?;
    let (connection, version) = tx.seal_credential(viewer, &standing.id, Some(expected), sealed.to_new(), now_ms).await?;
    Ok(Put { connection, version, commitment: sealed.commitment })
}

/// The envelope's nonce, and the digest that names this version of it.
fn check_v1(json: &Json) -> Result<([u8; 12], Digest), ApiError> {
    let refuse = |error: &dyn std::fmt::Display| ApiError::field("sealed_credential", &error.to_string());
    let envelope = EnvelopeV1::parse(json).map_err(|error| refuse(&error))?;
    let (nonce, _) = envelope.parts().map_err(|error| refuse(&error))?;
    Ok((nonce, Digest::of(&[&json.canonical()])))
}

const fn new_v1<'a>(sealed: &'a Json, commitment: &'a Digest, author_device: &'a DeviceId, nonce: &'a [u8; 12]) -> NewCredential<'a> {
    NewCredential { sealed, commitment, author_device, format: NewFormat::V1 { nonce } }
}

/// Under one key a second use of a nonce gives plaintext away; the refusal must not read like a replayed request (2.b.9).
fn nonce_refusal(error: StoreError) -> ApiError {
    if matches!(error, StoreError::Replayed { .. }) {
        return ApiError::new(Code::SealNonceReused, "this nonce sealed something before; seal again").at("sealed_credential.nonce");
    }
    error.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_used_nonce_is_a_conflict_and_not_an_end_of_the_session() {
        let refusal = nonce_refusal(StoreError::Replayed { what: "v1 nonce" });
        assert_eq!((refusal.code(), refusal.status().as_u16()), (Code::SealNonceReused, 409));
        assert_eq!(nonce_refusal(StoreError::Outranked).code(), Code::RoleForbidden);
    }
}
