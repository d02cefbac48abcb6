//! The keys of a tenant: found in the key store, unwrapped once for many callers, made when there is none. Gives them to the vault only.

use crate::{
    NoRandomness, VaultError,
    cache::{Cache, Cached},
};
use contract::{
    Digest,
    ids::{DeploymentId, WorkspaceId},
};
use kms::{KekRecord, KekRing};
use seal::{
    SealRandom,
    context::{BlobContext as _, KekName, Tenant, TenantKeyRow, TenantMasterKeyContext},
    device_direct::CredentialRandom,
    vault_keys::{TenantMasterKey, WrappingKey},
};
use sign::Secret;
use std::sync::Arc;
use store::{KeyStore, TenantKey, TenantKeyState};

/// The service's one source of randomness: fills the bytes, or says that it cannot.
pub type Fill = Arc<dyn Fn(&mut [u8]) -> Result<(), NoRandomness> + Send + Sync>;

/// The first generation of every tenant.
const FIRST: u32 = 1;

/// A tenant's key, unlocked for one operation.
#[must_use = "an unlocked key that nobody uses should not have been unlocked"]
pub struct UnlockedTenant {
    pub(crate) workspace: WorkspaceId,
    pub(crate) key: Arc<TenantMasterKey>,
}

pub(crate) struct TenantKeys {
    pub(crate) deployment: DeploymentId,
    pub(crate) keks: KekRing,
    pub(crate) store: KeyStore,
    pub(crate) cache: Cache,
    pub(crate) fill: Fill,
}

impl TenantKeys {
    /// The key that new secrets of a tenant are sealed under, made at its first use.
    pub(crate) async fn active(&self, tenant: Tenant<'_>, now_ms: i64) -> Result<Arc<TenantMasterKey>, VaultError> {
        if let Some(row) = self.store.find_active(tenant.as_str()).await? {
            return self.unwrap(tenant, &row, now_ms).await;
        }
        let made = self.make(tenant).await?;
        // Kept before its first use, so that nothing is ever sealed under a key that is nowhere (2.a.6).
        self.store.insert(&made, now_ms).await?;
        let row = self.store.find_active(tenant.as_str()).await?.ok_or(VaultError::KeyGone { generation: FIRST })?;
        self.unwrap(tenant, &row, now_ms).await
    }

    /// One generation of a tenant's key, to open what was sealed under it.
    pub(crate) async fn generation(
        &self,
        tenant: Tenant<'_>,
        generation: u32,
        now_ms: i64,
    ) -> Result<Arc<TenantMasterKey>, VaultError> {
        let row = self.store.find(tenant.as_str(), generation).await?.ok_or(VaultError::KeyGone { generation })?;
        self.unwrap(tenant, &row, now_ms).await
    }

    /// From memory, or from the provider: once for all callers, and early when its time runs out.
    async fn unwrap(
        &self,
        tenant: Tenant<'_>,
        row: &TenantKey,
        now_ms: i64,
    ) -> Result<Arc<TenantMasterKey>, VaultError> {
        let record = KekRecord::parse(&row.wk).map_err(|_| kms::KekError::Record)?;
        let kek = KekName { provider: &record.provider, kek_id: &record.kek_id, version: &record.version };
        let named = TenantKeyRow { deployment: &self.deployment, tenant, generation: row.generation, kek };
        let ctx = TenantMasterKeyContext(named).ctx().map_err(|_| VaultError::Open)?;
        // The wraps belong to the name: a row that was changed under a key in memory is another key.
        let id = Digest::of(&[&Digest::of(&[ctx.as_bytes()]).as_bytes()[..], &row.wk, &row.tmk]);
        match self.cache.find(&id, now_ms) {
            Cached::Fresh(key) => Ok(key),
            Cached::Ageing(key) => {
                let flight = self.cache.flight(&id);
                if let Ok(_alone) = flight.try_lock() {
                    // A provider that is away now does not matter yet.
                    let _ = self.load(named, &record, row, id, now_ms).await;
                }
                self.cache.land(&id, flight);
                Ok(key)
            }
            Cached::Missing => {
                let flight = self.cache.flight(&id);
                let alone = flight.lock().await;
                let loaded = match self.cache.find(&id, now_ms) {
                    Cached::Fresh(key) | Cached::Ageing(key) => Ok(key),
                    Cached::Missing => self.load(named, &record, row, id, now_ms).await,
                };
                drop(alone);
                self.cache.land(&id, flight);
                loaded
            }
        }
    }

    async fn load(
        &self,
        named: TenantKeyRow<'_>,
        record: &KekRecord,
        row: &TenantKey,
        id: Digest,
        now_ms: i64,
    ) -> Result<Arc<TenantMasterKey>, VaultError> {
        let epoch = self.cache.epoch();
        let wk = self.keks.unwrap(named, record).await?;
        let tmk = wk.unwrap_tenant_key(&TenantMasterKeyContext(named), &row.tmk).map_err(|_| VaultError::Open)?;
        let mut jitter = [0];
        (self.fill)(&mut jitter)?;
        let key = Arc::new(tmk);
        self.cache.keep(id, named.tenant.as_str(), Arc::clone(&key), epoch, now_ms, jitter[0]);
        Ok(key)
    }

    /// A fresh wrapping key and tenant master key, wrapped.
    async fn make(&self, tenant: Tenant<'_>) -> Result<TenantKey, VaultError> {
        let named = TenantKeyRow { deployment: &self.deployment, tenant, generation: FIRST, kek: self.keks.active() };
        let wk = WrappingKey::new(FIRST, self.make_key()?);
        let tmk = {
            let fresh = TenantMasterKey::new(FIRST, self.make_key()?);
            let context = TenantMasterKeyContext(named);
            wk.wrap_tenant_key(&context, &fresh, self.make_seal_random()?).map_err(|_| VaultError::Seal)?
        };
        let record = self.keks.wrap(named, &wk, self.make_seal_random()?).await?;
        Ok(TenantKey {
            tenant: tenant.as_str().to_owned(),
            generation: FIRST,
            state: TenantKeyState::Active,
            wk: record.to_bytes().map_err(|_| VaultError::Seal)?,
            tmk,
        })
    }

    pub(crate) fn make_seal_random(&self) -> Result<SealRandom, NoRandomness> {
        let mut random = [0; SealRandom::BYTES];
        (self.fill)(&mut random)?;
        Ok(SealRandom::new(random))
    }

    pub(crate) fn make_credential_random(&self) -> Result<CredentialRandom, NoRandomness> {
        Ok(CredentialRandom::new(self.make_key()?, self.make_seal_random()?, self.make_seal_random()?))
    }

    fn make_key(&self) -> Result<Secret<[u8; 32]>, NoRandomness> {
        let mut filled = Ok(());
        let key = Secret::init(|bytes: &mut [u8; 32]| filled = (self.fill)(bytes));
        filled.map(|()| key)
    }
}
