//! Sealed credentials of the `device_direct` profile (2.b.6): made and opened under exactly one reviewed row. Opening is also what makes a review believable (2.h).

use crate::{
    clv2::{self, OpenError, SealError, SealRandom, TypedKey},
    context::{CredentialKeyContext, CredentialRow, SealedCredentialContext},
    credential::Credential,
    usk::UserSealingKey,
};
use contract::{
    Digest, b64u,
    blob::{ClaimedBlob, SecretKind},
    cjson::JsonError,
    connection::Profile,
    credential::{CredentialBlobs, CredentialError, CredentialStatement, GrantFacts, SealedCredentialV2},
    ids::{ConnectionId, DeploymentId, DeviceId, ProjectId, WorkspaceId},
    review::ReviewRecord,
};
use sign::{DeviceKey, Secret, Signed, Verified};

/// Where a credential belongs, taken whole from the review it stands under, so that no argument can disagree with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialPlace {
    deployment: DeploymentId,
    workspace: WorkspaceId,
    project: Option<ProjectId>,
    connection: ConnectionId,
    endpoint: String,
    manifest_digest: Digest,
    review_digest: Digest,
}

/// Why a review is no place for a sealed credential.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    /// The review is of another profile; its credential is not opened on devices.
    #[error("the review is not of the device_direct profile")]
    Profile,
    /// The review has no canonical form.
    #[error("the review has no canonical form")]
    Review(#[source] JsonError),
}

impl CredentialPlace {
    /// The place that this review describes.
    pub fn of_review(
        deployment: &DeploymentId,
        workspace: &WorkspaceId,
        review: &ReviewRecord,
    ) -> Result<Self, PlaceError> {
        match review.profile {
            Profile::DeviceDirect => Ok(Self {
                deployment: deployment.clone(),
                workspace: workspace.clone(),
                project: review.project.clone(),
                connection: review.connection.clone(),
                endpoint: review.endpoint.clone(),
                manifest_digest: review.raw_digest,
                review_digest: review.digest().map_err(PlaceError::Review)?,
            }),
            Profile::CloudProxy => Err(PlaceError::Profile),
        }
    }

    /// The connection.
    #[must_use]
    pub const fn connection(&self) -> &ConnectionId {
        &self.connection
    }

    /// Digest of the review, CTX tag 16.
    #[must_use]
    pub const fn review_digest(&self) -> &Digest {
        &self.review_digest
    }

    fn row<'a>(&'a self, claims: &'a CredentialStatement, subject: &'a str) -> CredentialRow<'a> {
        let facts = claims.oauth.as_ref();
        CredentialRow {
            deployment: &self.deployment,
            workspace: &self.workspace,
            project: self.project.as_ref(),
            connection: &self.connection,
            endpoint: &self.endpoint,
            scopes: facts.map_or(&[], |facts| &facts.scopes),
            manifest_digest: &self.manifest_digest,
            issuer: facts.map_or("", |facts| &facts.issuer),
            client_id: facts.map_or("", |facts| &facts.client_id),
            secret_kind: claims.secret_kind,
            prev_commit: claims.prev_commit.as_ref(),
            author_device: &claims.author_device,
            usk_gen: claims.usk_gen,
            review_digest: &self.review_digest,
            subject,
        }
    }
}

/// The place of a version in the chain of versions of one credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionLink {
    version: u64,
    prev_commit: Option<Digest>,
}

impl VersionLink {
    /// Version 1, which follows nothing.
    #[must_use]
    pub const fn first() -> Self {
        Self { version: 1, prev_commit: None }
    }

    /// The version after `version`, whose payload blob has this commitment.
    #[must_use]
    pub const fn after(version: u64, commitment: Digest) -> Self {
        Self { version: version.saturating_add(1), prev_commit: Some(commitment) }
    }
}

/// Fresh randomness for one sealed credential: its data key and two seals.
pub struct CredentialRandom {
    dek: Secret<[u8; 32]>,
    dek_blob: SealRandom,
    payload_blob: SealRandom,
}

impl CredentialRandom {
    /// Takes random values that were never used before.
    #[must_use]
    pub const fn new(dek: Secret<[u8; 32]>, dek_blob: SealRandom, payload_blob: SealRandom) -> Self {
        Self { dek, dek_blob, payload_blob }
    }

    pub(crate) fn into_parts(self) -> (Secret<[u8; 32]>, SealRandom, SealRandom) {
        (self.dek, self.dek_blob, self.payload_blob)
    }
}

/// Who seals, with what.
#[derive(Clone, Copy)]
pub struct Author<'a> {
    /// The person's sealing key.
    pub usk: &'a UserSealingKey,
    /// This device.
    pub device: &'a DeviceId,
    /// Its signing key.
    pub device_key: &'a DeviceKey,
}

/// Seals a credential for its place and signs the statement about it.
pub fn seal_device_direct(
    author: Author<'_>,
    place: &CredentialPlace,
    link: VersionLink,
    credential: &Credential,
    random: CredentialRandom,
) -> Result<SealedCredentialV2, SealError> {
    let version = link.version;
    let mut statement = CredentialStatement {
        workspace: place.workspace.clone(),
        connection: place.connection.clone(),
        version,
        prev_commit: link.prev_commit,
        secret_kind: credential.kind(),
        dek_sha256: Digest::of(&[]),
        payload_sha256: Digest::of(&[]),
        review_digest: place.review_digest,
        author_device: author.device.clone(),
        usk_gen: author.usk.generation(),
        oauth: credential.grant_facts().cloned(),
    };
    let subject = subject_tag(&statement);
    let row = place.row(&statement, &subject);
    // EXPOSE: to the plaintext of the data key's own blob.
    let dek_bytes = Secret::init(|out: &mut Vec<u8>| random.dek.with(|bytes| out.extend_from_slice(bytes)));
    let plaintext = credential.to_plaintext().ok_or(SealError)?;
    let dek_key = TypedKey::per_write(place.connection.as_str(), random.dek);
    let payload = clv2::seal(&dek_key, &SealedCredentialContext(row), version, &plaintext, random.payload_blob)?;
    let dek = clv2::seal(author.usk.seal_key(), &CredentialKeyContext(row), version, &dek_bytes, random.dek_blob)?;
    statement.dek_sha256 = Digest::of(&[&dek]);
    statement.payload_sha256 = Digest::of(&[&payload]);
    Ok(SealedCredentialV2 {
        v: 2,
        version,
        usk_gen: author.usk.generation(),
        author_device: author.device.clone(),
        dek: b64u::encode(&dek),
        payload: b64u::encode(&payload),
        statement: Signed::sign(author.device_key, &statement).map_err(|_| SealError)?.to_wire(),
    })
}

/// Why a sealed credential was not opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CredentialOpenError {
    /// The object or its statement does not hang together; no key was used.
    #[error(transparent)]
    Malformed(#[from] CredentialError),
    /// It was sealed for another connection, workspace or review; no key was used.
    #[error("the credential was sealed for another `{field}`")]
    OtherPlace {
        /// What differs.
        field: &'static str,
    },
    /// It was sealed under another generation of the person's key; no key was used.
    #[error("the credential was sealed under generation {sealed} of the sealing key, this device holds {held}")]
    OtherGeneration {
        /// As stated.
        sealed: u32,
        /// Ours.
        held: u32,
    },
    /// It does not open.
    #[error(transparent)]
    Open(#[from] OpenError),
}

/// A credential that opened under its review. Whoever holds one knows that the person's own key vouches for the review's digest.
///
/// It cannot be made without opening:
///
/// ```
/// fn digest(opened: &collie_seal::OpenedCredential) -> &contract::Digest { opened.review_digest() }
/// ```
/// ```compile_fail
/// fn digest(opened: &collie_seal::OpenedCredential) -> &contract::Digest { &opened.review_digest }
/// ```
#[must_use = "an opened credential that nobody uses should not have been opened"]
pub struct OpenedCredential {
    credential: Credential,
    review_digest: Digest,
    head: ChainHead,
    author_device: DeviceId,
}

impl OpenedCredential {
    /// The credential.
    #[must_use]
    pub const fn credential(&self) -> &Credential {
        &self.credential
    }

    /// The credential alone, for what happens after its connection is over.
    #[must_use]
    pub fn into_credential(self) -> Credential {
        self.credential
    }

    /// The digest of the review it was sealed under, authenticated by the person's sealing key (2.h).
    #[must_use]
    pub const fn review_digest(&self) -> &Digest {
        &self.review_digest
    }

    /// Its place in the chain of versions.
    #[must_use]
    pub const fn head(&self) -> &ChainHead {
        &self.head
    }

    /// The device that sealed it.
    #[must_use]
    pub const fn author_device(&self) -> &DeviceId {
        &self.author_device
    }

    /// What kind of secret it is.
    #[must_use]
    pub const fn kind(&self) -> SecretKind {
        self.credential.kind()
    }
}

/// Opens a sealed credential as what `place` says and nothing else.
pub fn open_device_direct(
    usk: &UserSealingKey,
    place: &CredentialPlace,
    statement: &Verified<CredentialStatement>,
    sealed: &SealedCredentialV2,
) -> Result<OpenedCredential, CredentialOpenError> {
    let claims = statement.body();
    let blobs = sealed.check_statement(claims)?;
    check_place(place, claims)?;
    if claims.usk_gen != usk.generation() {
        return Err(CredentialOpenError::OtherGeneration { sealed: claims.usk_gen, held: usk.generation() });
    }
    let credential = open_blobs(usk, place, claims, &blobs)?;
    Ok(OpenedCredential {
        credential,
        review_digest: place.review_digest,
        head: ChainHead { version: claims.version, commitment: blobs.commitment, prev_commit: claims.prev_commit },
        author_device: claims.author_device.clone(),
    })
}

fn check_place(place: &CredentialPlace, claims: &CredentialStatement) -> Result<(), CredentialOpenError> {
    let agree = [
        ("workspace", claims.workspace == place.workspace),
        ("connection", claims.connection == place.connection),
        ("review", claims.review_digest == place.review_digest),
    ];
    match agree.into_iter().find(|(_, same)| !same) {
        Some((field, _)) => Err(CredentialOpenError::OtherPlace { field }),
        None => Ok(()),
    }
}

fn open_blobs(
    usk: &UserSealingKey,
    place: &CredentialPlace,
    claims: &CredentialStatement,
    blobs: &CredentialBlobs,
) -> Result<Credential, OpenError> {
    let subject = subject_tag(claims);
    let row = place.row(claims, &subject);
    let wrapped = ClaimedBlob::parse(&blobs.dek).map_err(|_| OpenError)?;
    let dek_bytes = clv2::open(usk.seal_key(), &CredentialKeyContext(row), claims.version, &wrapped)?;
    let dek = fixed(&dek_bytes).ok_or(OpenError)?;
    let dek_key = TypedKey::per_write(place.connection.as_str(), dek);
    let payload = ClaimedBlob::parse(&blobs.payload).map_err(|_| OpenError)?;
    let plaintext = clv2::open(&dek_key, &SealedCredentialContext(row), claims.version, &payload)?;
    let credential = Credential::from_plaintext(claims.secret_kind, &plaintext).ok_or(OpenError)?;
    // What the author stated is in the context; the grant must say the same of itself.
    if credential.grant_facts() == claims.oauth.as_ref() { Ok(credential) } else { Err(OpenError) }
}

fn subject_tag(claims: &CredentialStatement) -> String {
    claims.oauth.as_ref().map(GrantFacts::subject_tag).unwrap_or_default()
}

/// Exactly 32 bytes, or none.
pub(crate) fn fixed(bytes: &Secret<Vec<u8>>) -> Option<Secret<[u8; 32]>> {
    // EXPOSE: to another secret of fixed length.
    bytes.with(|bytes| {
        let exact: &[u8; 32] = bytes.as_slice().try_into().ok()?;
        Some(Secret::init(|out: &mut [u8; 32]| out.copy_from_slice(exact)))
    })
}

/// A version of a credential as a device knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainHead {
    /// Its version.
    pub version: u64,
    /// Commitment of its payload blob.
    pub commitment: Digest,
    /// Commitment of the version before.
    pub prev_commit: Option<Digest>,
}

/// Why a version is refused although it opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ChainError {
    /// Older than what this device has seen.
    #[error("the service offers version {offered}, this device has seen {seen}")]
    Rollback {
        /// Offered now.
        offered: u64,
        /// Highest seen.
        seen: u64,
    },
    /// Not a successor of what this device has seen.
    #[error("version {offered} does not follow what this device has seen")]
    Fork {
        /// Offered now.
        offered: u64,
    },
}

impl ChainHead {
    /// The link for the next version.
    #[must_use]
    pub const fn next(&self) -> VersionLink {
        VersionLink::after(self.version, self.commitment)
    }

    /// Whether this version may take the place of `seen`, the highest this device knows (2.b.6): the same one, its successor by commitment, or a later one.
    pub fn check_follows(&self, seen: &Self) -> Result<(), ChainError> {
        let offered = self.version;
        if offered < seen.version {
            return Err(ChainError::Rollback { offered, seen: seen.version });
        }
        let linked = if offered == seen.version {
            self.commitment == seen.commitment
        } else {
            offered != seen.version + 1 || self.prev_commit == Some(seen.commitment)
        };
        if linked { Ok(()) } else { Err(ChainError::Fork { offered }) }
    }
}

#[cfg(test)]
#[path = "device_direct_tests.rs"]
mod tests;
