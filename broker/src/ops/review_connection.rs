//! A person's review of a connection, in the two forms there are. The public client's names a digest; ours is a signed record that lands with its manifest and its credential, all of it or nothing.

use super::{
    connection_budget,
    connection_row::connection_row,
    sealed::{Sealed, check_credential, check_envelope, nonce_refusal},
    signed_review::{self, Reviewed},
};
use crate::{
    app::App,
    http::{caller::Caller, error::ApiError},
};
use contract::{
    AuditEvent, Code, Digest, Effect, Json,
    audit::{AuditEntry, AuditLog},
    connection::{ConnectionRow, ReviewConnection, SealFormat, SignedReviewParts, Status},
    device::SessionClass,
    ids::ConnectionId,
};
use sign::PublicKey;
use store::{Connection, PublicReview, ReadTx, StoreError, StoredVersion, Viewer};

/// Reviews in the form that the request has.
pub(crate) async fn review_connection(
    app: &App,
    caller: &Caller,
    id: &ConnectionId,
    request: ReviewConnection,
) -> Result<ConnectionRow, ApiError> {
    let allowed = check_allowed(&request.allowed_effects)?;
    let digest = Digest::parse(&request.digest)
        .map_err(|_| ApiError::field("digest", "a SHA-256 digest in url-safe base64 was expected"))?;
    let parts =
        request.signed_parts().map_err(|field| ApiError::field(field, "missing beside the rest of a signed review"))?;
    let reviewed = match &parts {
        None => review_public(app, caller, id, &digest, &allowed).await?,
        Some(parts) => review_signed(app, caller, id, parts, (&digest, &allowed)).await?,
    };
    Ok(connection_row(reviewed))
}

async fn review_public(
    app: &App,
    caller: &Caller,
    id: &ConnectionId,
    digest: &Digest,
    allowed: &[Effect],
) -> Result<Connection, ApiError> {
    let (viewer, now_ms) = (&caller.viewer(), app.now_ms());
    app.store()
        .run("review_connection", |mut tx| async move {
            let standing = find_reviewable(&mut tx, viewer, id).await?;
            if standing.seal_format != SealFormat::V1 {
                return Err(ApiError::new(Code::Unsupported, "this connection takes a signed review").at("review"));
            }
            if standing.manifest_digest != *digest {
                return Err(ApiError::new(Code::DigestMismatch, "another manifest stands now").at("digest"));
            }
            if standing.status == Status::Active && standing.allowed_effects == allowed {
                return Ok(tx.commit_unchanged(standing)?);
            }
            let review = PublicReview { digest, allowed_effects: allowed, device_id: &caller.device_id };
            let reviewed = tx.review_public(viewer, id, review, now_ms).await?;
            let event = AuditEvent::ConnectionReviewed {
                connection_id: id.clone(),
                review_seq: 0,
                manifest_digest: *digest,
                raw_digest: None,
                review_digest: None,
                allowed_effects: allowed.to_vec(),
            };
            let log = AuditLog::Workspace(viewer.workspace_id.clone());
            Ok(tx.commit_with(event.entry(log, caller.actor(), now_ms), reviewed).await?)
        })
        .await
}

async fn review_signed(
    app: &App,
    caller: &Caller,
    id: &ConnectionId,
    parts: &SignedReviewParts,
    v1: (&Digest, &[Effect]),
) -> Result<Connection, ApiError> {
    let (viewer, now_ms) = (&caller.viewer(), app.now_ms());
    app.store()
        .run("review_connection", |mut tx| async move {
            let standing = find_reviewable(&mut tx, viewer, id).await?;
            check_signs(caller)?;
            let key = signed_review::find_key(&mut tx, caller).await?;
            // What stands is compared first: a device that is late must hear so, not that its record is wrong.
            if standing.version != parts.expected_version {
                return Err(StoreError::VersionMoved {
                    what: "connection",
                    expected: parts.expected_version,
                    actual: standing.version,
                }
                .into());
            }
            let reviewed = signed_review::check(&standing, parts, &key, v1)?;
            let sealed =
                check_sealed(&mut tx, (caller, viewer), &standing, &parts.sealed_credential, (&key, &reviewed.digest))
                    .await?;
            let new = reviewed.to_new(parts, caller, sealed.to_new(&caller.device_id));
            let (connection, version) = tx.review_signed(viewer, id, new, now_ms).await.map_err(nonce_refusal)?;
            connection_budget::check(&mut tx, viewer, connection.scope).await?;
            tx.record(reviewed_entry(caller, &connection, &reviewed, now_ms)).await?;
            let sealed = sealed_entry(caller, viewer, id, (version, sealed.commitment()), now_ms);
            Ok(tx.commit_with(sealed, connection).await?)
        })
        .await
}

/// Checks a credential in the connection's own format; no format is ever tried after another.
async fn check_sealed<'a>(
    tx: &mut ReadTx,
    (caller, viewer): (&Caller, &Viewer),
    standing: &Connection,
    sealed: &'a Json,
    (key, review_digest): (&PublicKey, &Digest),
) -> Result<Sealed<'a>, ApiError> {
    match standing.seal_format {
        SealFormat::V1 => check_envelope(sealed),
        SealFormat::V2 => {
            let stored = tx.find_credential(viewer, &standing.id).await?;
            check_credential(caller, standing, stored.as_ref(), sealed, key, review_digest)
        }
    }
}

/// A connection that the viewer sees and that has not ended.
pub(super) async fn find_reviewable(
    tx: &mut ReadTx,
    viewer: &Viewer,
    id: &ConnectionId,
) -> Result<Connection, ApiError> {
    let standing = tx.find_connection(viewer, id).await?.ok_or(StoreError::NotVisible { what: "connection" })?;
    // Until project keys exist a credential is one person's, and so is every decision that it authenticates (2.b.10).
    if standing.user_id != viewer.user_id {
        return Err(StoreError::Outranked.into());
    }
    match standing.status {
        Status::ReviewRequired | Status::Active => Ok(standing),
        Status::Revoked => Err(ApiError::new(Code::ConnectionRevoked, "this connection was revoked")),
    }
}

/// The public client cannot make a signed object, so no session of its class brings one.
pub(super) fn check_signs(caller: &Caller) -> Result<(), ApiError> {
    match caller.session_class {
        SessionClass::Rotating => Ok(()),
        SessionClass::Sliding => {
            Err(ApiError::new(Code::Unsupported, "this device's session does not write signed objects"))
        }
    }
}

/// Sorted and unique, and never above act: what is commit or higher always asks.
fn check_allowed(effects: &[Effect]) -> Result<Vec<Effect>, ApiError> {
    let refuse = |what| Err(ApiError::field("allowed_effects", what));
    let mut sorted = effects.to_vec();
    sorted.sort_unstable();
    if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
        return refuse("an effect is named twice");
    }
    if sorted.last().is_some_and(|highest| *highest > Effect::Act) {
        return refuse("only observe, prepare and act may run without asking");
    }
    Ok(sorted)
}

fn reviewed_entry(caller: &Caller, connection: &Connection, reviewed: &Reviewed, now_ms: i64) -> AuditEntry {
    let event = AuditEvent::ConnectionReviewed {
        connection_id: connection.id.clone(),
        review_seq: connection.review_seq,
        manifest_digest: connection.manifest_digest,
        raw_digest: connection.raw_digest,
        review_digest: Some(reviewed.digest),
        allowed_effects: connection.allowed_effects.clone(),
    };
    event.entry(AuditLog::Workspace(caller.workspace_id.clone()), caller.actor(), now_ms)
}

pub(super) fn sealed_entry(
    caller: &Caller,
    viewer: &Viewer,
    id: &ConnectionId,
    (version, commitment): (StoredVersion, Digest),
    now_ms: i64,
) -> AuditEntry {
    let event = AuditEvent::ConnectionCredentialSealed {
        connection_id: id.clone(),
        credential_version: version.version,
        commitment,
        author_device: caller.device_id.clone(),
    };
    event.entry(AuditLog::Workspace(viewer.workspace_id.clone()), caller.actor(), now_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effects_are_sorted_unique_and_mild() {
        assert_eq!(check_allowed(&[Effect::Act, Effect::Observe]).ok(), Some(vec![Effect::Observe, Effect::Act]));
        assert_eq!(check_allowed(&[]).ok(), Some(vec![]));
        for bad in [&[Effect::Act, Effect::Act][..], &[Effect::Commit], &[Effect::Observe, Effect::Restricted]] {
            assert!(check_allowed(bad).is_err(), "{bad:?}");
        }
    }
}
