//! What the service can check of a signed review and of a v2 credential without any key that opens: signatures by the directory key, agreement of record, row, manifest and rows, and the chain of versions (2.b.6, 2.h). Its word proves nothing to a device, which checks again.

use crate::http::{caller::Caller, error::ApiError};
use contract::{
    Code, Digest, Effect, Json,
    blob::{self, ClaimedBlob},
    connection::{SignedReviewParts, SignedWire},
    credential::{CredentialError, CredentialStatement, SealedCredentialV2},
    ids::ConnectionId,
    limits,
    manifest::{self, ManifestError, RawManifest},
    review::ReviewRecord,
};
use sign::{PublicKey, Signed, SignedBody, Verified};
use store::{Connection, NewCredential, NewFormat, NewReview, ReadTx, StoreError, StoredCredential};

/// Bytes of the ciphertext of a type 11 blob: a data key of 32 bytes and the tag.
const DEK_CIPHERTEXT_BYTES: usize = 32 + blob::TAG_BYTES;

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
    pub(super) fn to_new<'a>(&'a self, parts: &'a SignedReviewParts, caller: &'a Caller, credential: NewCredential<'a>) -> NewReview<'a> {
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

/// A v2 credential whose structure, statement and place in the chain are right.
pub(crate) struct SealedV2 {
    /// Commitment of its type 10 blob.
    pub(crate) commitment: Digest,
    author: contract::ids::DeviceId,
    version: u64,
    json: Json,
}

impl SealedV2 {
    pub(super) fn to_new(&self) -> NewCredential<'_> {
        NewCredential {
            sealed: &self.json,
            commitment: &self.commitment,
            author_device: &self.author,
            format: NewFormat::V2 { version: self.version },
        }
    }
}

/// The calling device's key as the directory has it.
pub(super) async fn find_key(tx: &mut ReadTx, caller: &Caller) -> Result<PublicKey, ApiError> {
    let device = tx.find_device(&caller.user_id, &caller.device_id).await?;
    let device = device.filter(|device| device.revoked_at_ms.is_none()).ok_or(StoreError::NotVisible { what: "device" })?;
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
        return Err(ApiError::new(Code::ManifestInvalid, "the tools of the manifest are not sorted by name").at("manifest"));
    }
    record.check_against(&raw).map_err(|error| ApiError::field("review", &error.to_string()))?;
    let rows = record.project_v1(&raw);
    manifest::check_v1(&rows).map_err(|error| ApiError::new(Code::ManifestInvalid, error.to_string()).at("manifest"))?;
    let rows_digest = manifest::digest_v1(&rows);
    if rows_digest != *digest {
        return Err(ApiError::new(Code::DigestMismatch, "the reviewed tools have another digest").at("digest"));
    }
    Ok(Reviewed { digest: *verified.digest(), raw_digest: raw.digest(), rows, rows_digest, record: verified.into_body() })
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

/// Structure → statement → what is bound → the next link of the chain.
pub(super) fn check_credential(
    caller: &Caller,
    standing: &Connection,
    stored: Option<&StoredCredential>,
    json: &Json,
    key: &PublicKey,
    review_digest: &Digest,
) -> Result<SealedV2, ApiError> {
    let sealed = SealedCredentialV2::parse(json).map_err(credential_refusal)?;
    let verified = verify::<CredentialStatement>(&sealed.statement, key, "sealed_credential.statement")?;
    let statement = verified.body();
    let blobs = sealed.check_statement(statement).map_err(credential_refusal)?;
    check_sizes(&standing.id, &blobs.dek, &blobs.payload)?;
    let bound = [
        ("workspace", statement.workspace == caller.workspace_id),
        ("connection", statement.connection == standing.id),
        ("review_digest", statement.review_digest == *review_digest),
        ("author_device", statement.author_device == caller.device_id),
        ("usk_gen", statement.usk_gen >= 1),
    ];
    if let Some((field, _)) = bound.into_iter().find(|(_, same)| !same) {
        return Err(ApiError::field("sealed_credential", &format!("its statement's `{field}` is another one than here")));
    }
    let next = standing.credential_version + 1;
    if statement.version != next || statement.prev_commit != stored.map(|stored| stored.commitment) {
        return Err(ApiError::new(Code::StaleVersion, format!("the next credential is version {next}")).at("sealed_credential"));
    }
    Ok(SealedV2 { commitment: blobs.commitment, author: sealed.author_device, version: sealed.version, json: json.clone() })
}

/// What a blob shows without a key: the data key's exact size, the payload's maximum, and the key ids that its table gives them (2.a.3).
fn check_sizes(id: &ConnectionId, dek: &[u8], payload: &[u8]) -> Result<(), ApiError> {
    let bad = |field: &str| ApiError::field(&format!("sealed_credential.{field}"), "not the blob of this connection's credential");
    let claimed = ClaimedBlob::parse(dek).map_err(|_| bad("dek"))?;
    if claimed.ciphertext.len() != DEK_CIPHERTEXT_BYTES {
        return Err(bad("dek"));
    }
    let claimed = ClaimedBlob::parse(payload).map_err(|_| bad("payload"))?;
    let named = Digest::of(&[id.as_str().as_bytes()]);
    if claimed.key_id != named.as_bytes()[..claimed.key_id.len()] || claimed.ciphertext.len() > limits::CREDENTIAL_BYTES_MAX + blob::TAG_BYTES {
        return Err(bad("payload"));
    }
    Ok(())
}

fn verify<T: SignedBody>(wire: &SignedWire, key: &PublicKey, field: &str) -> Result<Verified<T>, ApiError> {
    Signed::<T>::from_wire(wire)
        .and_then(|signed| signed.verify(key))
        .map_err(|error| ApiError::field(field, &error.to_string()))
}

fn credential_refusal(error: CredentialError) -> ApiError {
    match error {
        CredentialError::Json(error) => ApiError::from(error),
        CredentialError::Malformed { .. } | CredentialError::OtherCredential { .. } => ApiError::field("sealed_credential", &error.to_string()),
    }
}

fn manifest_refusal(error: ManifestError) -> ApiError {
    ApiError::new(Code::ManifestInvalid, error.to_string()).at("manifest")
}
