//! What the service can check of a sealed credential without any key that opens: structure, authorship, what it is bound to, and its place in the chain of versions (2.b.6, 2.b.9). Sees ciphertext alone.

use super::signed_review::verify;
use crate::http::{caller::Caller, error::ApiError};
use contract::{
    Code, Digest, Json,
    blob::{self, ClaimedBlob},
    credential::{CredentialStatement, EnvelopeV1, SealedCredentialV2},
    ids::{ConnectionId, DeviceId},
    limits,
};
use sign::PublicKey;
use store::{Connection, NewCredential, NewFormat, StoreError, StoredCredential};

/// Bytes of the ciphertext of a type 11 blob: a data key of 32 bytes and the tag.
const DEK_CIPHERTEXT_BYTES: usize = 32 + blob::TAG_BYTES;

/// A credential that may be stored as the connection's next version.
pub(crate) enum Sealed<'a> {
    /// The public client's envelope.
    V1 { json: &'a Json, commitment: Digest, nonce: [u8; 12] },
    /// CLV2 with its statement.
    V2 { json: &'a Json, commitment: Digest, version: u64 },
}

impl Sealed<'_> {
    /// What names this version: the payload blob's commitment, or the envelope's digest.
    pub(super) const fn commitment(&self) -> Digest {
        match self {
            Self::V1 { commitment, .. } | Self::V2 { commitment, .. } => *commitment,
        }
    }

    pub(super) const fn to_new<'b>(&'b self, author_device: &'b DeviceId) -> NewCredential<'b> {
        match self {
            Self::V1 { json, commitment, nonce } => {
                NewCredential { sealed: json, commitment, author_device, format: NewFormat::V1 { nonce } }
            }
            Self::V2 { json, commitment, version } => {
                NewCredential { sealed: json, commitment, author_device, format: NewFormat::V2 { version: *version } }
            }
        }
    }
}

/// The public client's envelope: its shape is all that shows.
pub(super) fn check_envelope(json: &Json) -> Result<Sealed<'_>, ApiError> {
    let envelope = EnvelopeV1::parse(json).map_err(|error| refusal(&error))?;
    let (nonce, _) = envelope.parts().map_err(|error| refusal(&error))?;
    Ok(Sealed::V1 { json, commitment: Digest::of(&[&json.canonical()]), nonce })
}

/// A v2 credential: structure → statement → what is bound → the next link of the chain.
pub(super) fn check_credential<'a>(
    caller: &Caller,
    standing: &Connection,
    stored: Option<&StoredCredential>,
    json: &'a Json,
    key: &PublicKey,
    review_digest: &Digest,
) -> Result<Sealed<'a>, ApiError> {
    let sealed = SealedCredentialV2::parse(json).map_err(|error| refusal(&error))?;
    let verified = verify::<CredentialStatement>(&sealed.statement, key, "sealed_credential.statement")?;
    let statement = verified.body();
    let blobs = sealed.check_statement(statement).map_err(|error| refusal(&error))?;
    check_sizes(&standing.id, &blobs.dek, &blobs.payload)?;
    let bound = [
        ("workspace", statement.workspace == caller.workspace_id),
        ("connection", statement.connection == standing.id),
        ("review_digest", statement.review_digest == *review_digest),
        ("author_device", statement.author_device == caller.device_id),
        ("usk_gen", statement.usk_gen >= 1),
    ];
    if let Some((field, _)) = bound.into_iter().find(|(_, same)| !same) {
        return Err(ApiError::field(
            "sealed_credential",
            &format!("its statement's `{field}` is another one than here"),
        ));
    }
    let next = standing.credential_version + 1;
    if statement.version != next || statement.prev_commit != stored.map(|stored| stored.commitment) {
        return Err(
            ApiError::new(Code::StaleVersion, format!("the next credential is version {next}")).at("sealed_credential")
        );
    }
    Ok(Sealed::V2 { json, commitment: blobs.commitment, version: sealed.version })
}

/// What a blob shows without a key: the data key's exact size, the payload's maximum, and the key id that the payload's table gives it (2.a.3).
fn check_sizes(id: &ConnectionId, dek: &[u8], payload: &[u8]) -> Result<(), ApiError> {
    let bad = |field: &str| {
        ApiError::field(&format!("sealed_credential.{field}"), "not the blob of this connection's credential")
    };
    let claimed = ClaimedBlob::parse(dek).map_err(|_| bad("dek"))?;
    if claimed.ciphertext.len() != DEK_CIPHERTEXT_BYTES {
        return Err(bad("dek"));
    }
    let claimed = ClaimedBlob::parse(payload).map_err(|_| bad("payload"))?;
    let named = Digest::of(&[id.as_str().as_bytes()]);
    let too_long = claimed.ciphertext.len() > limits::CREDENTIAL_BYTES_MAX + blob::TAG_BYTES;
    if too_long || !named.as_bytes().starts_with(&claimed.key_id) {
        return Err(bad("payload"));
    }
    Ok(())
}

fn refusal(error: &dyn std::error::Error) -> ApiError {
    ApiError::field("sealed_credential", &error.to_string())
}

/// Under one key a second use of a nonce gives plaintext away; the refusal must not read like a replayed request (2.b.9).
pub(super) fn nonce_refusal(error: StoreError) -> ApiError {
    if matches!(error, StoreError::Replayed { .. }) {
        return ApiError::new(Code::SealNonceReused, "this nonce sealed something before; seal again")
            .at("sealed_credential.nonce");
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
