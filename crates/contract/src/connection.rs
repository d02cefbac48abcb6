//! Connections on the wire: the public client's row with our fields beside it, and the calls that make, review and end one. A row never grants; the signed review does.

use crate::{
    Digest, Effect, Json,
    ids::{ConnectionId, DeviceId, ProjectId},
    review::Era,
};
use serde::{Deserialize, Serialize};

macro_rules! words {
    ($(#[doc = $doc:literal])+ $name:ident { $($(#[doc = $vdoc:literal])+ $variant:ident = $word:literal,)+ }) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[doc = $vdoc])+ #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// Every value.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The wire word.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// Reads the wire word; an unknown word is none of them.
            #[must_use]
            pub fn parse(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.as_str() == word)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}
pub(crate) use words;

words! {
    /// Where the long-lived credential is opened (the contract's "transport").
    Profile {
        /// On a trusted device, in memory, for one use.
        DeviceDirect = "device_direct",
        /// In the service's vault.
        CloudProxy = "cloud_proxy",
    }
}

words! {
    /// Who a connection is for.
    Scope {
        /// One person, on all their devices.
        Personal = "personal",
        /// The members of a project.
        Project = "project",
    }
}

words! {
    /// Whether a connection can be used.
    Status {
        /// Nobody has reviewed the manifest that stands now.
        ReviewRequired = "review_required",
        /// Reviewed and current.
        Active = "active",
        /// Ended for good.
        Revoked = "revoked",
    }
}

words! {
    /// The format its credential is sealed in, fixed at creation (2.b.9).
    SealFormat {
        /// The public client's frozen envelope.
        V1 = "v1",
        /// CLV2.
        V2 = "v2",
    }
}

/// Effects that a v1 review lets pass without asking.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionPolicy {
    /// Mildest first.
    pub allowed_effects: Vec<Effect>,
}

/// One connection as every device sees it. The first eleven fields are the public client's and stay byte-stable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionRow {
    /// Id.
    pub id: ConnectionId,
    /// What the person calls it.
    pub name: String,
    /// Personal or project.
    pub scope: Scope,
    /// The project's id, or the empty string.
    pub project_id: String,
    /// The profile.
    pub transport: Profile,
    /// Canonical resource URI.
    pub endpoint: String,
    /// The public client's tool rows, sorted by name.
    pub manifest: Vec<Json>,
    /// The public client's digest of those rows.
    pub manifest_digest: String,
    /// Equal to `manifest_digest` while reviewed, else empty.
    pub reviewed_digest: String,
    /// State.
    pub status: Status,
    /// Allowed effects.
    pub policy: ConnectionPolicy,
    /// Format of the credential.
    pub seal_format: SealFormat,
    /// Row version for compare-and-set.
    pub version: u64,
    /// Version of the stored credential, 0 when there is none.
    pub credential_version: u64,
    /// 0 before the first signed review.
    pub review_seq: u64,
    /// Digest of the stored raw manifest, or empty where only the public client has reviewed.
    pub raw_digest: String,
    /// The newest signed review, under which the credential is sealed; it stands while `status` is active.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<SignedWire>,
    /// Device that reviewed last, or empty.
    pub reviewed_by: String,
    /// Unix seconds.
    pub created_at: u64,
}

/// `{payload, kid, sig}`: a signed object as it travels (2.c.2). Only `sign::Signed` reads it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedWire {
    /// b64u of the signed bytes.
    pub payload: String,
    /// b64u of the key id.
    pub kid: String,
    /// b64u of the signature.
    pub sig: String,
}

/// GET /v1/connections
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionList {
    /// The complete set.
    pub connections: Vec<ConnectionRow>,
}

/// The answer of every call that changes one connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionAnswer {
    /// The row as it stands now.
    pub connection: ConnectionRow,
}

/// POST /v1/connections
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CreateConnection {
    /// 1 to 200 characters.
    pub name: String,
    /// The server's URL.
    pub endpoint: String,
    /// The public client's tool rows.
    pub manifest: Vec<Json>,
    /// Personal or project.
    pub scope: Scope,
    /// The project's id, or the empty string.
    #[serde(default)]
    pub project_id: String,
    /// The profile.
    pub transport: Profile,
    /// Only our clients name it; a public session always makes v1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seal_format: Option<SealFormat>,
    /// The draft that becomes this connection and gives it its id; everything that both name is the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft_id: Option<ConnectionId>,
}

/// POST /v1/connections/drafts: an id before there is a manifest, so that what is sealed on the way can be bound to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CreateDraft {
    /// 1 to 200 characters.
    pub name: String,
    /// The server's URL.
    pub endpoint: String,
    /// The profile.
    pub transport: Profile,
    /// Personal or project.
    pub scope: Scope,
    /// The project's id, or the empty string.
    #[serde(default)]
    pub project_id: String,
}

/// A connection that is being made. It is in no list, lives at most [`crate::limits::CONNECTION_DRAFT_TTL_S_MAX`] and opens for reading the manifest only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DraftRow {
    /// The id that the connection will have.
    pub id: ConnectionId,
    /// What the person calls it.
    pub name: String,
    /// Personal or project.
    pub scope: Scope,
    /// The project's id, or the empty string.
    pub project_id: String,
    /// The profile.
    pub transport: Profile,
    /// Canonical resource URI.
    pub endpoint: String,
    /// Format of the credential.
    pub seal_format: SealFormat,
    /// Always `draft`.
    pub status: String,
    /// Unix seconds; from then on it is not there.
    pub expires_at: u64,
}

impl DraftRow {
    /// The one value of [`DraftRow::status`].
    pub const STATUS: &'static str = "draft";
}

/// 201 of [`CreateDraft`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DraftAnswer {
    /// The draft.
    pub draft: DraftRow,
}

/// POST /v1/connections/{id}/review. The public client sends the first two fields; our clients send all, and all of it lands or nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReviewConnection {
    /// The public client's digest of the rows that stand after this call.
    pub digest: String,
    /// Effects that may run without asking.
    pub allowed_effects: Vec<Effect>,
    /// The raw manifest that was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest: Option<Json>,
    /// The signed review record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<SignedWire>,
    /// The credential, sealed under this review.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed_credential: Option<Json>,
    /// The row version this call replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<u64>,
}

/// The signed half of a review (2.h): complete, or not there at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedReviewParts {
    /// The raw manifest that was read.
    pub manifest: Json,
    /// The signed review record.
    pub review: SignedWire,
    /// The credential, sealed under this review.
    pub sealed_credential: Json,
    /// The row version this call replaces.
    pub expected_version: u64,
}

impl ReviewConnection {
    /// The signed half; `Err` names the field that is missing where only some are there.
    pub fn signed_parts(&self) -> Result<Option<SignedReviewParts>, &'static str> {
        match (&self.manifest, &self.review, &self.sealed_credential, self.expected_version) {
            (None, None, None, None) => Ok(None),
            (Some(manifest), Some(review), Some(sealed_credential), Some(expected_version)) => {
                Ok(Some(SignedReviewParts {
                    manifest: manifest.clone(),
                    review: review.clone(),
                    sealed_credential: sealed_credential.clone(),
                    expected_version,
                }))
            }
            (None, ..) => Err("manifest"),
            (_, None, ..) => Err("review"),
            (_, _, None, _) => Err("sealed_credential"),
            (_, _, _, None) => Err("expected_version"),
        }
    }
}

/// GET /v1/connections/{id}/manifest
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestAnswer {
    /// The raw manifest of the newest signed review, standing or lifted: a device compares and shows what changed.
    pub manifest: Json,
    /// Its digest.
    pub raw_digest: Digest,
}

/// POST /v1/connections/{id}/drift: a device read another manifest than the reviewed one. It can only narrow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriftReport {
    /// What the device read.
    pub raw_digest: Digest,
    /// The review it compared with.
    pub review_digest: Digest,
}

/// A connection that a device holds, with what it needs offline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// The connection.
    pub connection: ConnectionId,
    /// Its project, for project scope.
    pub project: Option<ProjectId>,
    /// The device it is bound on.
    pub device: DeviceId,
    /// Era of the reviewed manifest.
    pub era: Era,
}
