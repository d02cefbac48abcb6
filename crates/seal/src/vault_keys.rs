//! The keys of the service's vault (2.a.1): key file → wrapping key → tenant master key → data key → payload. A data key never leaves this file, so nobody can hold one and its payload apart.

use crate::{
    cloud_secret::CloudSecret,
    clv2::{self, OpenError, SealError, SealRandom, TypedKey},
    context::{
        BlobContext, CloudCredentialContext, OAuthTransientContext, Tenant, TenantMasterKeyContext, VaultKeyContext,
        VaultRow, WrappingKeyContext,
    },
    device_direct::{CredentialRandom, fixed},
};
use contract::{
    Digest,
    blob::{ClaimedBlob, SecretKind},
    ids::DeploymentId,
    labels,
};
use sign::Secret;

/// Generation of a key file in the header: it has one, and a new file is a new key.
const KEY_FILE_GENERATION: u32 = 1;
/// Version of what is written once and never replaced in place.
const WRITTEN_ONCE: u64 = 1;

/// The key of a key file, which wraps wrapping keys.
pub struct KeyFileKey(TypedKey);

impl KeyFileKey {
    /// Takes the 32 bytes of the file.
    #[must_use]
    pub fn new(key: Secret<[u8; 32]>) -> Self {
        Self(TypedKey::long_lived(KEY_FILE_GENERATION, key))
    }

    /// `SHA-256("collie.kid.v2\0" ‖ key)[..16]`: names exactly this key.
    #[must_use]
    pub const fn key_id(&self) -> &[u8; 16] {
        self.0.key_id()
    }

    /// Wraps a wrapping key (type 05).
    pub fn wrap(
        &self,
        context: &WrappingKeyContext<'_>,
        key: &WrappingKey,
        random: SealRandom,
    ) -> Result<Vec<u8>, SealError> {
        clv2::seal(&self.0, context, u64::from(context.0.generation), &key.bytes(), random)
    }

    /// Unwraps a wrapping key of the context's generation.
    pub fn unwrap(&self, context: &WrappingKeyContext<'_>, blob: &[u8]) -> Result<WrappingKey, OpenError> {
        let generation = context.0.generation;
        let key = open_key(&self.0, context, u64::from(generation), blob)?;
        Ok(WrappingKey(TypedKey::long_lived(generation, key)))
    }
}

/// A wrapping key WK of one tenant and generation. It wraps one tenant master key and nothing else.
pub struct WrappingKey(TypedKey);

impl WrappingKey {
    /// Takes 32 random bytes.
    #[must_use]
    pub fn new(generation: u32, key: Secret<[u8; 32]>) -> Self {
        Self(TypedKey::long_lived(generation, key))
    }

    /// Wraps the tenant master key (type 01).
    pub fn wrap_tenant_key(
        &self,
        context: &TenantMasterKeyContext<'_>,
        key: &TenantMasterKey,
        random: SealRandom,
    ) -> Result<Vec<u8>, SealError> {
        clv2::seal(&self.0, context, u64::from(context.0.generation), &key.0.copy_bytes(), random)
    }

    /// Unwraps the tenant master key of the context's generation.
    pub fn unwrap_tenant_key(
        &self,
        context: &TenantMasterKeyContext<'_>,
        blob: &[u8],
    ) -> Result<TenantMasterKey, OpenError> {
        let generation = context.0.generation;
        let key = open_key(&self.0, context, u64::from(generation), blob)?;
        Ok(TenantMasterKey(TypedKey::long_lived(generation, key)))
    }

    fn bytes(&self) -> Secret<Vec<u8>> {
        self.0.copy_bytes()
    }
}

/// A data key wrap with the payload that it opens: the two columns of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VaultBlobs {
    /// The data key under the tenant master key (type 02).
    pub dek: Vec<u8>,
    /// The payload under the data key (type 03 or 04).
    pub payload: Vec<u8>,
}

impl VaultBlobs {
    /// The payload's commitment, which names this write; `None` where the payload is no blob.
    #[must_use]
    pub fn commitment(&self) -> Option<Digest> {
        ClaimedBlob::parse(&self.payload).ok().map(|blob| Digest::from_bytes(blob.commitment))
    }
}

/// A tenant master key TMK of one generation.
pub struct TenantMasterKey(TypedKey);

impl TenantMasterKey {
    /// Takes 32 random bytes.
    #[must_use]
    pub fn new(generation: u32, key: Secret<[u8; 32]>) -> Self {
        Self(TypedKey::long_lived(generation, key))
    }

    /// Its generation.
    #[must_use]
    pub const fn generation(&self) -> u32 {
        self.0.key_gen()
    }

    /// Seals a credential under a data key of its own (types 02 and 03). Refuses a secret of another kind than the row's.
    pub fn seal_credential(
        &self,
        row: &CloudCredentialContext<'_>,
        version: u64,
        secret: &CloudSecret,
        random: CredentialRandom,
    ) -> Result<VaultBlobs, SealError> {
        self.seal_pair(&row.key_context(), row, version, secret, random)
    }

    /// Opens a credential as what `row` says and nothing else.
    pub fn open_credential(
        &self,
        row: &CloudCredentialContext<'_>,
        version: u64,
        blobs: &VaultBlobs,
    ) -> Result<CloudSecret, OpenError> {
        self.open_pair(&row.key_context(), row, version, blobs)
    }

    /// Seals a transient secret under a data key of its own (types 02 and 04). `id` is the row of `oauth_txn`.
    pub fn seal_transient(
        &self,
        row: &OAuthTransientContext<'_>,
        id: &str,
        secret: &CloudSecret,
        random: CredentialRandom,
    ) -> Result<VaultBlobs, SealError> {
        self.seal_pair(&row.key_context(id), row, WRITTEN_ONCE, secret, random)
    }

    /// Opens a transient secret as what `row` says and nothing else.
    pub fn open_transient(
        &self,
        row: &OAuthTransientContext<'_>,
        id: &str,
        blobs: &VaultBlobs,
    ) -> Result<CloudSecret, OpenError> {
        self.open_pair(&row.key_context(id), row, WRITTEN_ONCE, blobs)
    }

    /// The boot canary of this installation (2.a.4): a type 02 blob whose content is known, so it is no key of anything.
    pub fn seal_canary(&self, deployment: &DeploymentId, random: SealRandom) -> Result<Vec<u8>, SealError> {
        clv2::seal(&self.0, &canary_context(deployment), WRITTEN_ONCE, &canary(deployment), random)
    }

    /// Whether this is the canary of this installation.
    pub fn check_canary(&self, deployment: &DeploymentId, blob: &[u8]) -> Result<(), OpenError> {
        let claimed = ClaimedBlob::parse(blob).map_err(|_| OpenError)?;
        let opened = clv2::open(&self.0, &canary_context(deployment), WRITTEN_ONCE, &claimed)?;
        if opened.is_same(&canary(deployment)) { Ok(()) } else { Err(OpenError) }
    }

    fn seal_pair<C: BlobContext>(
        &self,
        key_context: &VaultKeyContext<'_>,
        context: &C,
        version: u64,
        secret: &CloudSecret,
        random: CredentialRandom,
    ) -> Result<VaultBlobs, SealError> {
        if secret.kind() != key_context.secret_kind {
            return Err(SealError);
        }
        let (dek, dek_blob, payload_blob) = random.into_parts();
        let dek = TypedKey::per_write(&key_context.row_id(), dek);
        let plaintext = secret.to_plaintext().ok_or(SealError)?;
        Ok(VaultBlobs {
            payload: clv2::seal(&dek, context, version, &plaintext, payload_blob)?,
            dek: clv2::seal(&self.0, key_context, version, &dek.copy_bytes(), dek_blob)?,
        })
    }

    fn open_pair<C: BlobContext>(
        &self,
        key_context: &VaultKeyContext<'_>,
        context: &C,
        version: u64,
        blobs: &VaultBlobs,
    ) -> Result<CloudSecret, OpenError> {
        let dek = open_key(&self.0, key_context, version, &blobs.dek)?;
        let dek = TypedKey::per_write(&key_context.row_id(), dek);
        let payload = ClaimedBlob::parse(&blobs.payload).map_err(|_| OpenError)?;
        let plaintext = clv2::open(&dek, context, version, &payload)?;
        CloudSecret::from_plaintext(key_context.secret_kind, &plaintext).ok_or(OpenError)
    }
}

/// What a rotation may do with two generations of a tenant's key: wrap data keys anew. It holds no payload and cannot open one (B8).
///
/// ```
/// # use collie_seal::{SealRandom, context::VaultKeyContext, vault_keys::Rotation};
/// fn rotate(rotation: &Rotation<'_>, row: &VaultKeyContext<'_>, dek: &[u8], random: SealRandom) -> bool {
///     rotation.rewrap(row, 7, dek, random).is_ok()
/// }
/// ```
/// ```compile_fail
/// # use collie_seal::{context::CloudCredentialContext, vault_keys::{Rotation, VaultBlobs}};
/// fn rotate(rotation: &Rotation<'_>, row: &CloudCredentialContext<'_>, blobs: &VaultBlobs) -> bool {
///     rotation.open_credential(row, 7, blobs).is_ok()
/// }
/// ```
/// Its twin, with a key that may open, compiles:
/// ```
/// # use collie_seal::{context::CloudCredentialContext, vault_keys::{TenantMasterKey, VaultBlobs}};
/// fn open(key: &TenantMasterKey, row: &CloudCredentialContext<'_>, blobs: &VaultBlobs) -> bool {
///     key.open_credential(row, 7, blobs).is_ok()
/// }
/// ```
/// Nor does it give the key that it rewraps:
/// ```compile_fail
/// # use collie_seal::{SealRandom, context::VaultKeyContext, vault_keys::Rotation};
/// fn rotate(rotation: &Rotation<'_>, row: &VaultKeyContext<'_>, dek: &[u8], random: SealRandom) -> collie_seal::clv2::TypedKey {
///     rotation.rewrap(row, 7, dek, random).unwrap()
/// }
/// ```
pub struct Rotation<'a> {
    from: &'a TenantMasterKey,
    to: &'a TenantMasterKey,
}

impl<'a> Rotation<'a> {
    /// From one generation to another.
    #[must_use]
    pub const fn new(from: &'a TenantMasterKey, to: &'a TenantMasterKey) -> Self {
        Self { from, to }
    }

    /// Wraps a data key under the newer generation; the payload stays as it is.
    pub fn rewrap(
        &self,
        row: &VaultKeyContext<'_>,
        version: u64,
        dek: &[u8],
        random: SealRandom,
    ) -> Result<Vec<u8>, RewrapError> {
        let claimed = ClaimedBlob::parse(dek).map_err(|_| OpenError)?;
        let key = clv2::open(&self.from.0, row, version, &claimed)?;
        Ok(clv2::seal(&self.to.0, row, version, &key, random)?)
    }
}

/// Why a data key was not wrapped anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RewrapError {
    /// The old wrap does not open.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The new wrap cannot be made.
    #[error(transparent)]
    Seal(#[from] SealError),
}

fn open_key<C: BlobContext>(
    key: &TypedKey,
    context: &C,
    version: u64,
    blob: &[u8],
) -> Result<Secret<[u8; 32]>, OpenError> {
    let claimed = ClaimedBlob::parse(blob).map_err(|_| OpenError)?;
    fixed(&clv2::open(key, context, version, &claimed)?).ok_or(OpenError)
}

const fn canary_context(deployment: &DeploymentId) -> VaultKeyContext<'_> {
    VaultKeyContext {
        deployment,
        tenant: Tenant::Deployment,
        connection: None,
        secret_kind: SecretKind::None,
        row: VaultRow::BootCanary,
    }
}

fn canary(deployment: &DeploymentId) -> Secret<Vec<u8>> {
    Secret::new(Digest::of(&[labels::CANARY, deployment.as_str().as_bytes()]).as_bytes().to_vec())
}

#[cfg(test)]
#[path = "vault_keys_tests.rs"]
mod tests;
