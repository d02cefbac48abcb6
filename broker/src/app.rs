//! What every handler shares: store, clock, token keys, settings and origin. Holds no request state and no secret that can be printed.

use crate::{config::Config, door::Clock, origin::Origin};
use contract::{ids::DeploymentId, limits};
use sign::TokenKey;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};
use store::Store;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use vault::{SealedReason, Vault, VaultState};

/// The service's shared state. Clones share it.
#[derive(Clone)]
pub(crate) struct App(Arc<Inner>);

/// What an [`App`] is made of.
pub(crate) struct Parts {
    pub(crate) store: Store,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) token_key: TokenKey,
    pub(crate) config: Config,
    pub(crate) origin: Origin,
    pub(crate) deployment_id: DeploymentId,
    pub(crate) vault: Option<Vault>,
}

struct Inner {
    parts: Parts,
    draining: AtomicBool,
    bodies: Arc<Semaphore>,
}

/// Bytes of one unit of [`limits::BODIES_BYTES_MAX`].
const BODY_UNIT_BYTES: usize = 1024;

impl App {
    pub(crate) fn new(parts: Parts) -> Self {
        let bodies = Arc::new(Semaphore::new(limits::BODIES_BYTES_MAX / BODY_UNIT_BYTES));
        Self(Arc::new(Inner { parts, draining: AtomicBool::new(false), bodies }))
    }

    /// The database.
    pub(crate) fn store(&self) -> &Store {
        &self.0.parts.store
    }

    /// Unix milliseconds by the service's clock.
    pub(crate) fn now_ms(&self) -> i64 {
        self.0.parts.clock.now_ms()
    }

    /// The key for the stored form of tokens and codes.
    pub(crate) fn token_key(&self) -> &TokenKey {
        &self.0.parts.token_key
    }

    /// The settings as they were at start.
    pub(crate) fn config(&self) -> &Config {
        &self.0.parts.config
    }

    /// The origin under which people and devices reach the service.
    pub(crate) fn origin(&self) -> &Origin {
        &self.0.parts.origin
    }

    /// This installation.
    pub(crate) fn deployment_id(&self) -> &DeploymentId {
        &self.0.parts.deployment_id
    }

    /// Waits until `bytes` more of request bodies may be buffered. Ordinary small ones need no room.
    pub(crate) async fn body_room(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        if bytes <= limits::PUBLIC_BODY_BYTES_MAX {
            return None;
        }
        let units = u32::try_from(bytes.div_ceil(BODY_UNIT_BYTES)).unwrap_or(u32::MAX);
        // The semaphore is never closed.
        Arc::clone(&self.0.bodies).acquire_many_owned(units).await.ok()
    }

    /// Why the service is sealed, if it is: key file, key store and database do not belong together, so that sessions and reviews are as doubtful as secrets (2.a.4).
    pub(crate) fn sealed(&self) -> Option<SealedReason> {
        match self.0.parts.vault.as_ref()?.state() {
            VaultState::Open => None,
            VaultState::Sealed(reason) => Some(reason),
        }
    }

    /// Forgets every key of the vault; part of ending the service.
    pub(crate) fn seal(&self) {
        if let Some(vault) = &self.0.parts.vault {
            vault.seal(SealedReason::Operator);
        }
    }

    /// From now on `readyz` says that the service is going away.
    pub(crate) fn begin_draining(&self) {
        self.0.draining.store(true, Ordering::Relaxed);
    }

    /// Whether the service is going away.
    pub(crate) fn is_draining(&self) -> bool {
        self.0.draining.load(Ordering::Relaxed)
    }
}
