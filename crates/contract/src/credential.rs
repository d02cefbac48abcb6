//! Sealed credentials on the wire: ciphertext and the statement about it; nothing here can hold a plaintext.

use crate::{
    Digest, Json,
    connection::SignedWire,
    ids::{ConnectionId, DeviceId},
};
use serde::{Deserialize, Serialize};

/// A v2 sealed credential (2.b.6): DEK wrap (type 11), payload (type 10) and the author's signed statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SealedCredentialV2 {
    /// Always 2.
    pub v: u8,
    /// +1 per write; in the header of both blobs.
    pub version: u32,
    /// Generation of the person's sealing key.
    pub usk_gen: u32,
    /// The device that sealed it.
    pub author_device: DeviceId,
    /// b64u of the type 11 blob.
    pub dek: String,
    /// b64u of the type 10 blob.
    pub payload: String,
    /// Signed [`CredentialStatement`].
    pub statement: SignedWire,
}

/// What the author signs about a sealed credential (2.b.6, 2.c.1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CredentialStatement {
    /// The connection.
    pub connection: ConnectionId,
    /// As in the blobs' headers.
    pub version: u32,
    /// Commitment of the payload blob of version−1, empty at version 1.
    pub prev_commit: String,
    /// SHA-256 of the type 11 blob.
    pub dek_sha256: Digest,
    /// SHA-256 of the type 10 blob.
    pub payload_sha256: Digest,
    /// The review it is sealed under.
    pub review_digest: Digest,
    /// The author.
    pub author_device: DeviceId,
    /// Generation of the person's sealing key.
    pub usk_gen: u32,
}

/// POST /v1/connections/{id}/credential
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PutCredential {
    /// A [`SealedCredentialV2`], or the public client's envelope for a v1 connection.
    pub sealed_credential: Json,
    /// The row version this call replaces; the public client does not send it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<u64>,
}

/// 200 of [`PutCredential`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CredentialStored {
    /// Unix seconds, never 0, never lower than before.
    pub updated_at: u64,
    /// Version of the stored credential.
    pub credential_version: u64,
    /// Version of the row now.
    pub version: u64,
}

/// GET /v1/connections/{id}/credential
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CredentialAnswer {
    /// As stored, byte for byte in canonical form.
    pub sealed_credential: Json,
    /// Unix seconds, never 0.
    pub updated_at: u64,
}
