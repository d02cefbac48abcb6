//! Sealed credentials on the wire: ciphertext and the statement about it; nothing here can hold a plaintext.

use crate::{
    Digest, Json, b64u,
    blob::{BlobType, ClaimedBlob, SecretKind},
    cjson::{self, JsonError},
    connection::{ConnectionRow, Profile, Scope, SealFormat, SignedWire},
    ids::{ConnectionId, DeviceId, WorkspaceId},
    limits,
};
use serde::{Deserialize, Serialize};

/// A v2 sealed credential (2.b.6): DEK wrap (type 11), payload (type 10) and the author's signed statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SealedCredentialV2 {
    /// Always 2.
    pub v: u8,
    /// 1 for the first credential of a connection, then +1 per write; in the header of both blobs.
    pub version: u64,
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
    /// The tenant.
    pub workspace: WorkspaceId,
    /// The connection.
    pub connection: ConnectionId,
    /// As in the blobs' headers.
    pub version: u64,
    /// Commitment of the type 10 blob of version−1; absent at version 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prev_commit: Option<Digest>,
    /// What kind of secret it is.
    pub secret_kind: SecretKind,
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
    /// What an OAuth grant belongs to; there for that kind and for no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oauth: Option<GrantFacts>,
}

/// What an OAuth grant belongs to: CTX tags 07, 09, 0a and 17 of the credential it is in (2.a.3). No secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GrantFacts {
    /// The authorization server's issuer, byte for byte.
    pub issuer: String,
    /// Who we are to it.
    pub client_id: String,
    /// The scopes that were reviewed.
    pub scopes: Vec<String>,
    /// The issuer's name for the person; empty where it names none.
    pub subject: String,
}

impl GrantFacts {
    /// CTX tag 17: `iss ‖ 00 ‖ sub`, empty where the issuer names nobody.
    #[must_use]
    pub fn subject_tag(&self) -> String {
        if self.subject.is_empty() { String::new() } else { format!("{}\0{}", self.issuer, self.subject) }
    }
}

/// Why a sealed credential is refused before anybody tries to open it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CredentialError {
    /// Not the JSON shape of a v2 credential.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// A blob is not base64, not CLV2, or says another type, version or generation than the object around it.
    #[error("field `{field}` of the sealed credential is malformed")]
    Malformed {
        /// The field to blame.
        field: &'static str,
    },
    /// The statement was made about another credential.
    #[error("the statement's `{field}` is not that of this credential")]
    OtherCredential {
        /// The field to blame.
        field: &'static str,
    },
}

/// Both blobs of a sealed credential, taken apart and agreeing with each other and with what stands around them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialBlobs {
    /// The type 11 blob.
    pub dek: Vec<u8>,
    /// The type 10 blob.
    pub payload: Vec<u8>,
    /// Commitment of the type 10 blob: what the next version names as `prev_commit`.
    pub commitment: Digest,
}

impl SealedCredentialV2 {
    /// Reads the object as stored or received.
    pub fn parse(json: &Json) -> Result<Self, CredentialError> {
        let bytes = json.canonical();
        let sealed: Self = cjson::from_slice(&bytes, bytes.len())?;
        if sealed.v == 2 { Ok(sealed) } else { Err(CredentialError::Malformed { field: "v" }) }
    }

    /// The object as JSON.
    pub fn to_json(&self) -> Result<Json, JsonError> {
        cjson::to_json(self)
    }

    /// Decodes both blobs and checks their structure. Proves nothing about their content.
    pub fn blobs(&self) -> Result<CredentialBlobs, CredentialError> {
        let dek = decode(&self.dek, "dek")?;
        let payload = decode(&self.payload, "payload")?;
        let claimed = claim(&dek, BlobType::CredentialKey, "dek")?;
        if claimed.version != self.version || claimed.key_gen != self.usk_gen {
            return Err(CredentialError::Malformed { field: "dek" });
        }
        let claimed = claim(&payload, BlobType::SealedCredential, "payload")?;
        if claimed.version != self.version || claimed.key_gen != 0 {
            return Err(CredentialError::Malformed { field: "payload" });
        }
        let commitment = Digest::from_bytes(claimed.commitment);
        Ok(CredentialBlobs { dek, payload, commitment })
    }

    /// Checks that `statement` is about exactly this object, and returns its blobs. The signature is checked before, by `sign`.
    pub fn check_statement(&self, statement: &CredentialStatement) -> Result<CredentialBlobs, CredentialError> {
        let blobs = self.blobs()?;
        let agree = [
            ("version", statement.version == self.version && self.version >= 1),
            ("prev_commit", statement.prev_commit.is_some() == (self.version > 1)),
            ("usk_gen", statement.usk_gen == self.usk_gen),
            ("oauth", statement.oauth.is_some() == (statement.secret_kind == SecretKind::OAuth)),
            ("author_device", statement.author_device == self.author_device),
            ("dek_sha256", statement.dek_sha256 == Digest::of(&[&blobs.dek])),
            ("payload_sha256", statement.payload_sha256 == Digest::of(&[&blobs.payload])),
        ];
        match agree.into_iter().find(|(_, same)| !same) {
            Some((field, _)) => Err(CredentialError::OtherCredential { field }),
            None => Ok(blobs),
        }
    }
}

fn decode(text: &str, field: &'static str) -> Result<Vec<u8>, CredentialError> {
    // Four characters stand for three bytes; the length is checked before anything is allocated.
    if text.len() > limits::BLOB_BYTES_MAX.div_ceil(3) * 4 {
        return Err(CredentialError::Malformed { field });
    }
    b64u::decode(text).map_err(|_| CredentialError::Malformed { field })
}

fn claim<'a>(bytes: &'a [u8], expected: BlobType, field: &'static str) -> Result<ClaimedBlob<'a>, CredentialError> {
    ClaimedBlob::parse(bytes)
        .ok()
        .filter(|claimed| claimed.blob == expected)
        .ok_or(CredentialError::Malformed { field })
}

/// The public client's frozen envelope (wire-collie-v1 3.1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnvelopeV1 {
    /// Always 1.
    pub v: u8,
    /// Always `A256GCM`.
    pub alg: String,
    /// b64u of 12 bytes.
    pub nonce: String,
    /// b64u of ciphertext and 16-byte tag.
    pub ciphertext: String,
}

impl EnvelopeV1 {
    /// The only algorithm.
    pub const ALG: &'static str = "A256GCM";

    /// Reads an envelope and checks its shape: version, algorithm, nonce of 12 bytes, bounded ciphertext with a tag.
    pub fn parse(json: &Json) -> Result<Self, CredentialError> {
        let bytes = json.canonical();
        let envelope: Self = cjson::from_slice(&bytes, bytes.len())?;
        envelope.parts()?;
        Ok(envelope)
    }

    /// The envelope as JSON.
    pub fn to_json(&self) -> Result<Json, JsonError> {
        cjson::to_json(self)
    }

    /// Nonce and ciphertext.
    pub fn parts(&self) -> Result<([u8; 12], Vec<u8>), CredentialError> {
        let bad = |field| CredentialError::Malformed { field };
        if self.v != 1 {
            return Err(bad("v"));
        }
        if self.alg != Self::ALG {
            return Err(bad("alg"));
        }
        let nonce = b64u::decode_array(&self.nonce).map_err(|_| bad("nonce"))?;
        if self.ciphertext.len() > limits::V1_ENVELOPE_BYTES_MAX.div_ceil(3) * 4 {
            return Err(bad("ciphertext"));
        }
        let ciphertext = b64u::decode(&self.ciphertext).map_err(|_| bad("ciphertext"))?;
        if ciphertext.len() < crate::blob::TAG_BYTES || ciphertext.len() > limits::V1_ENVELOPE_BYTES_MAX {
            return Err(bad("ciphertext"));
        }
        Ok((nonce, ciphertext))
    }
}

/// The eight fields of a row that a v1 credential names inside its plaintext (wire-collie-v1 3.3).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BindingV1 {
    /// Canonical resource URI.
    pub endpoint: String,
    /// Connection id.
    pub id: ConnectionId,
    /// Digest of the projected rows.
    pub manifest_digest: String,
    /// Name.
    pub name: String,
    /// Project id, or empty.
    pub project_id: String,
    /// Reviewed digest; equal to `manifest_digest` on every usable row.
    pub reviewed_digest: String,
    /// Personal or project.
    pub scope: Scope,
    /// The profile.
    pub transport: Profile,
}

impl BindingV1 {
    /// The binding of a row whose credential is in the v1 format and whose review stands; none for any other row.
    #[must_use]
    pub fn of(row: &ConnectionRow) -> Option<Self> {
        let usable = row.seal_format == SealFormat::V1
            && row.transport == Profile::DeviceDirect
            && !row.manifest_digest.is_empty()
            && row.reviewed_digest == row.manifest_digest;
        usable.then(|| Self {
            endpoint: row.endpoint.clone(),
            id: row.id.clone(),
            manifest_digest: row.manifest_digest.clone(),
            name: row.name.clone(),
            project_id: row.project_id.clone(),
            reviewed_digest: row.reviewed_digest.clone(),
            scope: row.scope,
            transport: row.transport,
        })
    }
}

/// POST /v1/connections/{id}/credential
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PutCredential {
    /// A [`SealedCredentialV2`], or an [`EnvelopeV1`] for a v1 connection.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn blob(kind: u8, key_gen: u32, version: u64) -> Vec<u8> {
        let head: [&[u8]; 9] = [
            b"CLV2",
            &[kind, 1, 0, 0],
            &[7; 16],
            &key_gen.to_be_bytes(),
            &version.to_be_bytes(),
            &[1; 32],
            &[2; 32],
            &[3; 24],
            &16_u32.to_be_bytes(),
        ];
        [&head.concat()[..], &[9; 16]].concat()
    }

    fn sealed() -> SealedCredentialV2 {
        let text = String::new;
        SealedCredentialV2 {
            v: 2,
            version: 1,
            usk_gen: 1,
            author_device: DeviceId::from_random([1; 16]),
            dek: b64u::encode(blob(0x11, 1, 1)),
            payload: b64u::encode(blob(0x10, 0, 1)),
            statement: SignedWire { payload: text(), kid: text(), sig: text() },
        }
    }

    fn statement(sealed: &SealedCredentialV2) -> CredentialStatement {
        let blobs = sealed.blobs().expect("blobs");
        CredentialStatement {
            workspace: WorkspaceId::from_random([2; 16]),
            connection: ConnectionId::from_random([3; 16]),
            version: sealed.version,
            prev_commit: None,
            secret_kind: SecretKind::StaticBearer,
            dek_sha256: Digest::of(&[&blobs.dek]),
            payload_sha256: Digest::of(&[&blobs.payload]),
            review_digest: Digest::of(&[b"review"]),
            author_device: sealed.author_device.clone(),
            usk_gen: sealed.usk_gen,
            oauth: None,
        }
    }

    #[test]
    fn a_statement_is_about_one_credential() {
        let sealed = sealed();
        let good = statement(&sealed);
        cjson::to_json(&good).expect("JSON").check_signable().expect("signable");
        assert_eq!(sealed.check_statement(&good).expect("agrees").commitment, Digest::from_bytes([2; 32]));
        assert_eq!(SealedCredentialV2::parse(&sealed.to_json().expect("JSON")), Ok(sealed.clone()));

        type Change = fn(&mut CredentialStatement);
        let changes: [(&str, Change); 7] = [
            ("oauth", |s| s.secret_kind = SecretKind::OAuth),
            ("version", |s| s.version = 2),
            ("prev_commit", |s| s.prev_commit = Some(Digest::of(&[b"x"]))),
            ("usk_gen", |s| s.usk_gen = 2),
            ("author_device", |s| s.author_device = DeviceId::from_random([9; 16])),
            ("dek_sha256", |s| s.dek_sha256 = Digest::of(&[b"x"])),
            ("payload_sha256", |s| s.payload_sha256 = Digest::of(&[b"x"])),
        ];
        for (field, change) in changes {
            let mut other = good.clone();
            change(&mut other);
            assert_eq!(sealed.check_statement(&other), Err(CredentialError::OtherCredential { field }));
        }
    }

    #[test]
    fn blobs_agree_with_the_object_around_them() {
        type Change = fn(&mut SealedCredentialV2);
        let changes: [(&str, Change); 8] = [
            ("dek", |s| s.dek = s.payload.clone()),
            ("payload", |s| s.payload = s.dek.clone()),
            ("dek", |s| s.version = 2),
            ("dek", |s| s.usk_gen = 2),
            ("dek", |s| s.dek.push('=')),
            ("payload", |s| s.payload = b64u::encode(blob(0x10, 1, 1))),
            ("payload", |s| s.payload = b64u::encode(blob(0x10, 0, 2))),
            ("payload", |s| s.payload = "A".repeat(limits::BLOB_BYTES_MAX * 2)),
        ];
        for (field, change) in changes {
            let mut other = sealed();
            change(&mut other);
            assert_eq!(other.blobs(), Err(CredentialError::Malformed { field }));
        }
        let mut other = sealed();
        other.v = 1;
        assert!(SealedCredentialV2::parse(&other.to_json().expect("JSON")).is_err());
    }

    #[test]
    fn an_envelope_has_one_shape() {
        let good = EnvelopeV1 {
            v: 1,
            alg: EnvelopeV1::ALG.to_owned(),
            nonce: b64u::encode([1; 12]),
            ciphertext: b64u::encode([1; 16]),
        };
        assert_eq!(EnvelopeV1::parse(&good.to_json().expect("JSON")), Ok(good.clone()));
        type Change = fn(&mut EnvelopeV1);
        let changes: [(&str, Change); 4] = [
            ("v", |e| e.v = 2),
            ("alg", |e| e.alg = "A128GCM".to_owned()),
            ("nonce", |e| e.nonce = b64u::encode([1; 11])),
            ("ciphertext", |e| e.ciphertext = b64u::encode([1; 15])),
        ];
        for (field, change) in changes {
            let mut other = good.clone();
            change(&mut other);
            assert_eq!(EnvelopeV1::parse(&other.to_json().expect("JSON")), Err(CredentialError::Malformed { field }));
        }
    }
}
