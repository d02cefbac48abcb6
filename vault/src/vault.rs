//! Sealing and opening credentials under the reviewed row, each opening for one purpose. Holds no secret between two calls but the tenants' keys.

use crate::{
    Call, ClientAuth, Fill, Loan, Opened, PinError, PinnedRow, Purpose, ReadManifest, Refresh, Revoke, SealedReason,
    UnlockedTenant, VaultError, VaultState, boot, cache::Cache, opened::About, tenant_keys::TenantKeys,
};
use contract::{
    Digest,
    blob::SecretKind,
    ids::{DeploymentId, WorkspaceId},
};
use kms::KekRing;
use seal::{CloudSecret, context::Tenant, vault_keys::VaultBlobs};
use std::sync::{PoisonError, RwLock};
use store::{KeyStore, NewVaultCredential, Store, VaultCredential};

/// What a vault is made of.
pub struct VaultParts {
    /// The installation, CTX tag 01.
    pub deployment: DeploymentId,
    /// Its key encryption keys.
    pub keks: KekRing,
    /// Where the wrapped tenant keys are.
    pub key_store: KeyStore,
    /// Randomness.
    pub fill: Fill,
}

/// The vault of one process.
pub struct Vault {
    pub(crate) keys: TenantKeys,
    state: RwLock<VaultState>,
}

/// A sealed secret on its way into the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedSecret {
    kind: SecretKind,
    expected_version: u64,
    blobs: VaultBlobs,
    commitment: Digest,
    tmk_gen: u32,
}

impl SealedSecret {
    /// What the store writes.
    #[must_use]
    pub fn to_write(&self) -> NewVaultCredential<'_> {
        NewVaultCredential {
            secret_kind: self.kind,
            expected_version: self.expected_version,
            dek: &self.blobs.dek,
            payload: &self.blobs.payload,
            commitment: &self.commitment,
            tmk_gen: self.tmk_gen,
        }
    }

    /// The version it will be.
    #[must_use]
    pub const fn version(&self) -> u64 {
        self.expected_version + 1
    }

    /// The payload's commitment, for the event.
    #[must_use]
    pub const fn commitment(&self) -> &Digest {
        &self.commitment
    }

    /// What kind of secret it is.
    #[must_use]
    pub const fn kind(&self) -> SecretKind {
        self.kind
    }
}

impl Vault {
    /// Starts the vault with every check of 2.a.4. It always starts; what fails leaves it sealed with the reason.
    pub async fn start(parts: VaultParts, store: &Store, now_ms: i64) -> Self {
        let VaultParts { deployment, keks, key_store, fill } = parts;
        let keys = TenantKeys { deployment, keks, store: key_store, cache: Cache::new(), fill };
        let state = match boot::check(&keys, store, now_ms).await {
            Ok(()) => VaultState::Open,
            Err(reason) => VaultState::Sealed(reason),
        };
        Self { keys, state: RwLock::new(state) }
    }

    /// Whether it works, and if not, why.
    #[must_use]
    pub fn state(&self) -> VaultState {
        self.state.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Seals the vault until the service is started again, and forgets every key. Also what ends a process does.
    pub fn seal(&self, reason: SealedReason) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if *state == VaultState::Open {
            *state = VaultState::Sealed(reason);
        }
        self.keys.cache.drop_all();
    }

    /// Forgets a tenant's keys: part of revoking one of its connections.
    pub fn forget_tenant(&self, workspace: &WorkspaceId) {
        self.keys.cache.drop_tenant(workspace.as_str());
    }

    /// The listed key encryption keys, for `check` and for pages that show how well they are kept.
    pub const fn keks(&self) -> &KekRing {
        &self.keys.keks
    }

    /// The installation whose vault this is.
    #[must_use]
    pub const fn deployment(&self) -> &DeploymentId {
        &self.keys.deployment
    }

    /// Unlocks the key that new secrets of this workspace are sealed under. Before the writing transaction, never inside it.
    pub async fn unlock(&self, workspace: &WorkspaceId, now_ms: i64) -> Result<UnlockedTenant, VaultError> {
        self.check_open()?;
        let key = self.keys.active(Tenant::Workspace(workspace), now_ms).await?;
        // The vault may have been sealed while the provider was asked.
        self.check_open()?;
        Ok(UnlockedTenant { workspace: workspace.clone(), key })
    }

    /// Seals a secret for its reviewed row, to replace `expected_version` (0: there is none).
    pub fn seal_credential(
        &self,
        tenant: &UnlockedTenant,
        pin: &PinnedRow,
        expected_version: u64,
        secret: &CloudSecret,
    ) -> Result<SealedSecret, VaultError> {
        self.check_open()?;
        check_tenant(tenant, pin.workspace())?;
        let context = pin.context(secret.kind())?;
        let version = expected_version.checked_add(1).ok_or(VaultError::Seal)?;
        let random = self.keys.make_credential_random()?;
        let blobs = tenant.key.seal_credential(&context, version, secret, random).map_err(|_| VaultError::Seal)?;
        let commitment = blobs.commitment().ok_or(VaultError::Seal)?;
        Ok(SealedSecret { kind: secret.kind(), expected_version, blobs, commitment, tmk_gen: tenant.key.generation() })
    }

    /// Seals what stands under one review anew under the next one. The secret does not leave the vault.
    pub async fn reseal_credential(
        &self,
        from: &PinnedRow,
        stored: &VaultCredential,
        to: &PinnedRow,
        now_ms: i64,
    ) -> Result<SealedSecret, VaultError> {
        if (from.workspace(), from.connection()) != (to.workspace(), to.connection()) {
            return Err(VaultError::Pin(PinError::Mismatch { field: "connection" }));
        }
        let old = self.generation(from, stored, now_ms).await?;
        let new = self.unlock(to.workspace(), now_ms).await?;
        let secret = open(&old, from, stored)?;
        self.seal_credential(&new, to, stored.version, &secret)
    }

    /// Opens a credential for one call. `live_manifest` is the digest of what was read last; a changed one, or a review that does not stand, opens nothing.
    pub async fn open_for_call(
        &self,
        pin: &PinnedRow,
        stored: &VaultCredential,
        live_manifest: &Digest,
        now_ms: i64,
    ) -> Result<Opened<Call>, VaultError> {
        pin.check_live(live_manifest)?;
        self.open(pin, stored, now_ms).await
    }

    /// Opens a grant to lend its access token. The same compare as for a call comes first.
    pub async fn open_for_loan(
        &self,
        pin: &PinnedRow,
        stored: &VaultCredential,
        live_manifest: &Digest,
        now_ms: i64,
    ) -> Result<Opened<Loan>, VaultError> {
        pin.check_live(live_manifest)?;
        self.open(pin, stored, now_ms).await
    }

    /// Opens a credential for tools/list, under the reviewed values, also while the review does not stand.
    pub async fn open_for_manifest(
        &self,
        pin: &PinnedRow,
        stored: &VaultCredential,
        now_ms: i64,
    ) -> Result<Opened<ReadManifest>, VaultError> {
        self.open(pin, stored, now_ms).await
    }

    /// Opens a grant to refresh it, under the reviewed values, also while the review does not stand.
    pub async fn open_for_refresh(
        &self,
        pin: &PinnedRow,
        stored: &VaultCredential,
        now_ms: i64,
    ) -> Result<Opened<Refresh>, VaultError> {
        self.open(pin, stored, now_ms).await
    }

    /// Opens a client's own secret, to show the client at its issuer's endpoints.
    pub async fn open_for_client_auth(
        &self,
        pin: &PinnedRow,
        stored: &VaultCredential,
        now_ms: i64,
    ) -> Result<Opened<ClientAuth>, VaultError> {
        self.open(pin, stored, now_ms).await
    }

    /// Opens a secret to end it at its provider.
    pub async fn open_for_revoke(
        &self,
        pin: &PinnedRow,
        stored: &VaultCredential,
        now_ms: i64,
    ) -> Result<Opened<Revoke>, VaultError> {
        self.open(pin, stored, now_ms).await
    }

    async fn open<P: Purpose>(
        &self,
        pin: &PinnedRow,
        stored: &VaultCredential,
        now_ms: i64,
    ) -> Result<Opened<P>, VaultError> {
        let tenant = self.generation(pin, stored, now_ms).await?;
        let secret = open(&tenant, pin, stored)?;
        let about = About {
            connection: pin.connection().clone(),
            review_digest: Some(*pin.review_digest()),
            version: stored.version,
        };
        Ok(Opened::new(secret, about))
    }

    async fn generation(
        &self,
        pin: &PinnedRow,
        stored: &VaultCredential,
        now_ms: i64,
    ) -> Result<UnlockedTenant, VaultError> {
        self.unlock_generation(pin.workspace(), stored.tmk_gen, now_ms).await
    }

    pub(crate) async fn unlock_generation(
        &self,
        workspace: &WorkspaceId,
        generation: u32,
        now_ms: i64,
    ) -> Result<UnlockedTenant, VaultError> {
        self.check_open()?;
        let key = self.keys.generation(Tenant::Workspace(workspace), generation, now_ms).await?;
        self.check_open()?;
        Ok(UnlockedTenant { workspace: workspace.clone(), key })
    }

    pub(crate) fn check_open(&self) -> Result<(), VaultError> {
        match self.state() {
            VaultState::Open => Ok(()),
            VaultState::Sealed(reason) => Err(VaultError::Sealed(reason)),
        }
    }
}

pub(crate) fn check_tenant(tenant: &UnlockedTenant, workspace: &WorkspaceId) -> Result<(), VaultError> {
    if tenant.workspace == *workspace {
        Ok(())
    } else {
        Err(VaultError::Pin(PinError::Mismatch { field: "workspace_id" }))
    }
}

fn open(tenant: &UnlockedTenant, pin: &PinnedRow, stored: &VaultCredential) -> Result<CloudSecret, VaultError> {
    let context = pin.context(stored.secret_kind)?;
    let blobs = VaultBlobs { dek: stored.dek.clone(), payload: stored.payload.clone() };
    if blobs.commitment() != Some(stored.commitment) {
        return Err(VaultError::Open);
    }
    tenant.key.open_credential(&context, stored.version, &blobs).map_err(|_| VaultError::Open)
}
