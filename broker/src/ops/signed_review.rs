//! What the service can check of a signed review without any key that opens: the signature by the directory key, and that record, row, manifest and rows agree (2.h). Its word proves nothing to a device, which checks again.

use crate::http::{caller::Caller, error::ApiError};
use contract::{
    Code, Digest, Effect, Json,
    connection::{SignedReviewParts, SignedWire},
    manifest::{self, ManifestError, RawManifest},
    review::ReviewRecord,
};
use sign::{PublicKey, Signed, SignedBody, Verified};
use store::{Connection, NewCredential, NewReview, ReadTx, StoreError};

/// A signed review that agrees with everything around it.
pub(crate) struct Reviewed {
    /// Digest of the record, CTX tag 16.
    pub(crate) digest: Digest,
    record: ReviewRecord,
    raw_digest: Digest,
    rows: Vec<Json>,
    rows_digest: Digest,
}

impl Reviewed {
    pub(super) fn to_new<'a>(
        &'a self,
        parts: &'a SignedReviewParts,
        caller: &'a Caller,
        credential: NewCredential<'a>,
    ) -> NewReview<'a> {
        NewReview {
            expected_version: parts.expected_version,
            manifest: &self.rows,
            manifest_digest: &self.rows_digest,
            raw_manifest: &parts.manifest,
            raw_digest: &self.raw_digest,
            review: &parts.review,
            review_digest: &self.digest,
            review_seq: self.record.review_seq,
            allowed_effects: &self.record.allowed_effects,
            device_id: &caller.device_id,
            credential,
        }
    }
}

/// The calling device's key as the directory has it.
pub(super) async fn find_key(tx: &mut ReadTx, caller: &Caller) -> Result<PublicKey, ApiError> {
    let device = tx.find_device(&caller.user_id, &caller.device_id).await?;
    let device =
        device.filter(|device| device.revoked_at_ms.is_none()).ok_or(StoreError::NotVisible { what: "device" })?;
    PublicKey::from_bytes(&device.public_key).map_err(ApiError::internal)
}

/// Signature → record ↔ row → manifest ↔ record → rows from the record → digest that the caller expects.
pub(super) fn check(
    standing: &Connection,
    parts: &SignedReviewParts,
    key: &PublicKey,
    (digest, allowed): (&Digest, &[Effect]),
) -> Result<Reviewed, ApiError> {
    let verified = verify::<ReviewRecord>(&parts.review, key, "review")?;
    let record = verified.body();
    check_agreement(standing, record, allowed)?;
    let raw = RawManifest::from_json(&parts.manifest).map_err(manifest_refusal)?;
    // The stored form is canonical, tools sorted by name; another order of the same tools would be a second spelling of one manifest.
    if raw.to_json() != parts.manifest {
        return Err(
            ApiError::new(Code::ManifestInvalid, "the tools of the manifest are not sorted by name").at("manifest")
        );
    }
    record.check_against(&raw).map_err(|error| ApiError::field("review", &error.to_string()))?;
    let rows = record.project_v1(&raw);
    manifest::check_v1(&rows)
        .map_err(|error| ApiError::new(Code::ManifestInvalid, error.to_string()).at("manifest"))?;
    let rows_digest = manifest::digest_v1(&rows);
    if rows_digest != *digest {
        return Err(ApiError::new(Code::DigestMismatch, "the reviewed tools have another digest").at("digest"));
    }
    Ok(Reviewed {
        digest: *verified.digest(),
        raw_digest: raw.digest(),
        rows,
        rows_digest,
        record: verified.into_body(),
    })
}

/// Each field that record and row (or request) both have is the same, and the record is the next one.
fn check_agreement(standing: &Connection, record: &ReviewRecord, allowed: &[Effect]) -> Result<(), ApiError> {
    let agree = [
        ("connection", record.connection == standing.id),
        ("scope", record.scope == standing.scope),
        ("project", record.project == standing.project_id),
        ("profile", record.profile == standing.profile),
        ("endpoint", record.endpoint == standing.endpoint),
        ("allowed_effects", record.allowed_effects == allowed),
    ];
    if let Some((field, _)) = agree.into_iter().find(|(_, same)| !same) {
        return Err(ApiError::field("review", &format!("its `{field}` is another one than here")));
    }
    let next = standing.review_seq + 1;
    if record.review_seq != next {
        return Err(ApiError::new(Code::StaleVersion, format!("the next review is number {next}")).at("review"));
    }
    Ok(())
}

/// Verifies a signed object by the directory key of the device that brings it.
pub(super) fn verify<T: SignedBody>(wire: &SignedWire, key: &PublicKey, field: &str) -> Result<Verified<T>, ApiError> {
    Signed::<T>::from_wire(wire)
        .and_then(|signed| signed.verify(key))
        .map_err(|error| ApiError::field(field, &error.to_string()))
}

fn manifest_refusal(error: ManifestError) -> ApiError {
    ApiError::new(Code::ManifestInvalid, error.to_string()).at("manifest")
}
