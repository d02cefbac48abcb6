//! The vault's start (2.a.4): the known answer, the providers, the key store, and the boot canary. Whatever fails seals the vault with its reason; nothing is repaired by guessing.

use crate::{VaultError, tenant_keys::TenantKeys};
use contract::{
    AuditEvent, Digest,
    audit::{Actor, AuditLog},
};
use kms::KekError;
use seal::context::Tenant;
use store::{BootCanary, Store, StoreError};

/// Whether the vault works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VaultState {
    /// It opens and seals.
    Open,
    /// It does neither until the service is started again.
    Sealed(SealedReason),
}

/// Why a vault is sealed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SealedReason {
    /// The program does not make the bytes it should.
    #[error("the known-answer test failed")]
    KnownAnswer,
    /// A listed key does not work.
    #[error("a key encryption key does not work")]
    Kek(#[source] KekError),
    /// The key store or the database does not answer.
    #[error("the key store or the database does not answer")]
    Store(#[source] StoreError),
    /// There are sealed secrets or tenant keys, and no canary: part of the database was replaced.
    #[error(
        "there are stored secrets or keys, and no boot canary; the database or the key store is not the one they belong to"
    )]
    CanaryMissing,
    /// The canary's key is not in the key store.
    #[error("the key store lacks the installation's own key; restore the key store that belongs to this database")]
    KeyStoreLost,
    /// The canary does not open: the key file, the key store or the database is another one.
    #[error("the boot canary does not open: key file, key store and database do not belong together")]
    CanaryShut,
    /// No randomness.
    #[error("the system's random source failed")]
    Random,
    /// A person sealed it, or the service is ending.
    #[error("it was sealed by its operator")]
    Operator,
}

/// Every check of the start, in order. `Ok` means that key file, key store and database belong together.
pub(crate) async fn check(keys: &TenantKeys, store: &Store, now_ms: i64) -> Result<(), SealedReason> {
    kms::known_answer_test().map_err(|_| SealedReason::KnownAnswer)?;
    keys.keks.health().await.map_err(SealedReason::Kek)?;
    match find_canary(keys, store).await? {
        (Some(canary), _) => check_canary(keys, &canary, now_ms).await,
        (None, 0) => set_up(keys, store, now_ms).await,
        (None, _) => Err(SealedReason::CanaryMissing),
    }
}

/// The canary, and how many secrets there are in the database.
async fn find_canary(keys: &TenantKeys, store: &Store) -> Result<(Option<BootCanary>, u64), SealedReason> {
    let deployment = &keys.deployment;
    store
        .read("find_boot_canary", |mut tx| async move {
            Ok((tx.find_boot_canary(deployment).await?, tx.count_vault_rows().await?))
        })
        .await
        .map_err(SealedReason::Store)
}

async fn check_canary(keys: &TenantKeys, canary: &BootCanary, now_ms: i64) -> Result<(), SealedReason> {
    let key = keys.generation(Tenant::Deployment, canary.tmk_gen, now_ms).await.map_err(|error| reason(&error))?;
    key.check_canary(&keys.deployment, &canary.dek).map_err(|_| SealedReason::CanaryShut)
}

/// The first start. The key store may hold the installation's own key already, from a start that ended here; a tenant's key would mean that a database is missing.
async fn set_up(keys: &TenantKeys, store: &Store, now_ms: i64) -> Result<(), SealedReason> {
    // In this order: another process may be at its first start too, and its key appears in between.
    let all = keys.store.count().await.map_err(SealedReason::Store)?;
    let own = keys.store.find_active("").await.map_err(SealedReason::Store)?;
    if all > 1 || (all == 1 && own.is_none()) {
        return Err(SealedReason::CanaryMissing);
    }
    let key = keys.active(Tenant::Deployment, now_ms).await.map_err(|error| reason(&error))?;
    let random = keys.make_seal_random().map_err(|_| SealedReason::Random)?;
    let dek = key.seal_canary(&keys.deployment, random).map_err(|_| SealedReason::CanaryShut)?;
    let event = AuditEvent::VaultSetUp { canary: Digest::of(&[&dek]) };
    let canary = BootCanary { dek, tmk_gen: key.generation() };
    let entry = event.entry(AuditLog::Deployment(keys.deployment.clone()), Actor::Operator, now_ms);
    let (deployment, written, entry) = (&keys.deployment, &canary, &entry);
    let set_up: Result<(), StoreError> = store
        .run("set_up_vault", |mut tx| async move {
            if tx.find_boot_canary(deployment).await?.is_some() {
                return tx.commit_unchanged(());
            }
            tx.insert_boot_canary(deployment, written, now_ms).await?;
            tx.commit_with(entry.clone(), ()).await
        })
        .await;
    set_up.map_err(SealedReason::Store)?;
    // Another process may have been faster: what stands is what counts.
    match find_canary(keys, store).await? {
        (Some(canary), _) => check_canary(keys, &canary, now_ms).await,
        (None, _) => Err(SealedReason::CanaryMissing),
    }
}

fn reason(error: &VaultError) -> SealedReason {
    match error {
        VaultError::Sealed(reason) => reason.clone(),
        VaultError::KekUnavailable(error) | VaultError::KekRefused(error) => SealedReason::Kek(error.clone()),
        VaultError::KeyGone { .. } => SealedReason::KeyStoreLost,
        VaultError::Store(error) => SealedReason::Store(error.clone()),
        VaultError::Random(_) => SealedReason::Random,
        VaultError::Open | VaultError::Seal | VaultError::Pin(_) => SealedReason::CanaryShut,
    }
}
