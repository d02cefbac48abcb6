//! The store of wrapped tenant keys, in a database of its own that the main backup leaves out (2.a.6). Knows no other table, and keeps no key that opens.

use crate::{Store, StoreConfig, StoreError, Upkeep, repository::tenant_key::TenantKey, store::open_tenant_keys};

/// The key store of one installation. Clones share it.
#[derive(Debug, Clone)]
pub struct KeyStore(Store);

impl KeyStore {
    /// Opens the key store and makes it when it is not there. Its file or database must be another than the main one.
    pub async fn open(config: StoreConfig) -> Result<Self, StoreError> {
        open_tenant_keys(config).await.map(Self)
    }

    /// The generation that new secrets of a tenant are sealed under. The tenant is a workspace's id, or the empty text for the installation itself.
    pub async fn find_active(&self, tenant: &str) -> Result<Option<TenantKey>, StoreError> {
        self.0.read("find_active_tenant_key", |mut tx| async move { tx.find_active_tenant_key(tenant).await }).await
    }

    /// One generation of a tenant.
    pub async fn find(&self, tenant: &str, generation: u32) -> Result<Option<TenantKey>, StoreError> {
        self.0.read("find_tenant_key", |mut tx| async move { tx.find_tenant_key(tenant, generation).await }).await
    }

    /// Keys of all tenants.
    pub async fn count(&self) -> Result<u64, StoreError> {
        self.0.read("count_tenant_keys", |mut tx| async move { tx.count_tenant_keys().await }).await
    }

    /// Keeps a tenant's first or next active key. `false`: another process was faster, and its key counts.
    pub async fn insert(&self, key: &TenantKey, now_ms: i64) -> Result<bool, StoreError> {
        self.0
            .run("insert_tenant_key", |mut tx| async move {
                let inserted = tx.insert_tenant_key(key, now_ms).await?;
                tx.commit_upkeep(Upkeep::TenantKey, inserted)
            })
            .await
    }

    /// Replaces both wraps of a generation, if they are still the ones that were read (2.a.5). `false`: somebody else was faster.
    pub async fn rewrap(&self, old: &TenantKey, new: &TenantKey) -> Result<bool, StoreError> {
        self.0
            .run("rewrap_tenant_key", |mut tx| async move {
                let rewrapped = tx.rewrap_tenant_key(old, new).await?;
                tx.commit_upkeep(Upkeep::TenantKey, rewrapped)
            })
            .await
    }

    /// Destroys every generation of a tenant, for good, and removes what SQLite's log still holds of them. Says how many there were.
    pub async fn shred(&self, tenant: &str) -> Result<u64, StoreError> {
        let shredded = self
            .0
            .run("shred_tenant_keys", |mut tx| async move {
                let shredded = tx.shred_tenant_keys(tenant).await?;
                tx.commit_upkeep(Upkeep::TenantKey, shredded)
            })
            .await?;
        self.0.checkpoint().await?;
        Ok(shredded)
    }

    /// Whether the key store answers now.
    pub async fn ping(&self) -> Result<(), StoreError> {
        self.0.ping().await
    }

    /// Ends after everything that waits already.
    pub async fn close(&self) {
        self.0.close().await;
    }
}
