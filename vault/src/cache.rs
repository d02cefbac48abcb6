//! Tenant master keys in memory (2.a.8): few, for a short time, for a bounded number of uses, and dropped at once when told. Keeps nothing but these keys.

use contract::{Digest, limits};
use seal::vault_keys::TenantMasterKey;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The cache. All times are Unix milliseconds and come from the caller.
pub(crate) struct Cache {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    entries: HashMap<Digest, Entry>,
    flights: HashMap<Digest, Arc<tokio::sync::Mutex<()>>>,
    /// Counts drops, so that a key which was being unwrapped when its tenant was dropped does not come back.
    epoch: u64,
}

struct Entry {
    key: Arc<TenantMasterKey>,
    tenant: String,
    loaded_ms: i64,
    refresh_at_ms: i64,
    ends_ms: i64,
    uses: u64,
    used_ms: i64,
}

/// What the cache has.
pub(crate) enum Cached {
    Fresh(Arc<TenantMasterKey>),
    /// Still good; somebody should unwrap it again before it ends.
    Ageing(Arc<TenantMasterKey>),
    Missing,
}

/// The cache's state before an unwrap, which its result must still fit.
#[derive(Clone, Copy)]
pub(crate) struct Epoch(u64);

impl Cache {
    pub(crate) fn new() -> Self {
        Self { inner: Mutex::new(Inner::default()) }
    }

    pub(crate) fn find(&self, id: &Digest, now_ms: i64) -> Cached {
        let mut inner = self.lock();
        let Some(entry) = inner.entries.get_mut(id) else { return Cached::Missing };
        // A clock that went back proves nothing about an age.
        let ended = now_ms >= entry.ends_ms || now_ms < entry.loaded_ms;
        if ended || entry.uses >= limits::TENANT_KEY_USES_MAX {
            inner.entries.remove(id);
            return Cached::Missing;
        }
        entry.uses += 1;
        entry.used_ms = now_ms;
        let key = Arc::clone(&entry.key);
        if now_ms >= entry.refresh_at_ms { Cached::Ageing(key) } else { Cached::Fresh(key) }
    }

    pub(crate) fn epoch(&self) -> Epoch {
        Epoch(self.lock().epoch)
    }

    /// Keeps a key that was unwrapped since `epoch`. `jitter` spreads the early refresh of keys that were loaded together.
    pub(crate) fn keep(
        &self,
        id: Digest,
        tenant: &str,
        key: Arc<TenantMasterKey>,
        epoch: Epoch,
        now_ms: i64,
        jitter: u8,
    ) {
        let mut inner = self.lock();
        if inner.epoch != epoch.0 {
            return;
        }
        if inner.entries.len() >= limits::TENANT_KEYS_CACHED_MAX && !inner.entries.contains_key(&id) {
            let oldest = inner.entries.iter().min_by_key(|(_, entry)| entry.used_ms).map(|(id, _)| *id);
            oldest.and_then(|id| inner.entries.remove(&id));
        }
        let ttl_ms = i64::try_from(limits::TENANT_KEY_TTL_S_MAX * 1000).unwrap_or_default();
        // Between three quarters and nearly all of its life.
        let refresh_ms = ttl_ms * 3 / 4 + ttl_ms / 4 * i64::from(jitter) / 256;
        let entry = Entry {
            key,
            tenant: tenant.to_owned(),
            loaded_ms: now_ms,
            refresh_at_ms: now_ms.saturating_add(refresh_ms),
            ends_ms: now_ms.saturating_add(ttl_ms),
            uses: 1,
            used_ms: now_ms,
        };
        inner.entries.insert(id, entry);
    }

    /// The lock under which this key is unwrapped, so that many callers unwrap it once.
    pub(crate) fn flight(&self, id: &Digest) -> Arc<tokio::sync::Mutex<()>> {
        let mut inner = self.lock();
        if inner.flights.len() >= limits::TENANT_KEYS_CACHED_MAX {
            // A caller that was cancelled has left its lock behind.
            inner.flights.retain(|_, flight| Arc::strong_count(flight) > 1);
        }
        Arc::clone(inner.flights.entry(*id).or_default())
    }

    /// Forgets the lock when nobody else waits for it.
    pub(crate) fn land(&self, id: &Digest, flight: Arc<tokio::sync::Mutex<()>>) {
        let mut inner = self.lock();
        // The table's and the caller's.
        if Arc::strong_count(&flight) <= 2 {
            inner.flights.remove(id);
        }
        drop(flight);
    }

    pub(crate) fn drop_tenant(&self, tenant: &str) {
        let mut inner = self.lock();
        inner.epoch += 1;
        inner.entries.retain(|_, entry| entry.tenant != tenant);
    }

    pub(crate) fn drop_all(&self) {
        let mut inner = self.lock();
        inner.epoch += 1;
        inner.entries.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
