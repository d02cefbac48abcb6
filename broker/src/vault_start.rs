//! The vault's start: key file, key store and database are opened together and checked against each other (2.a.4). Makes a key only for `init`, never for a start, and never replaces one.

use crate::{
    config::VaultSettings,
    door::{self, fill_random},
};
use contract::ids::DeploymentId;
use kms::{
    KekBesideDatabase, KekRing, KeyFileError, KeyFileProvider, ListedKek, Placement, RingError, Standing,
    check_placement, make_key_file,
};
use std::{path::Path, sync::Arc};
use store::{KeyStore, Store, StoreConfig, StoreError};
use vault::{Fill, NoRandomness, Vault, VaultParts};

/// Why the service does not start with its vault. A vault that starts and does not fit is sealed instead.
#[derive(Debug, thiserror::Error)]
pub enum VaultStartError {
    /// The key file.
    #[error("{0}; `collie-broker init` makes a key file for a new installation")]
    KeyFile(#[from] KeyFileError),
    /// It lies where one backup holds both halves.
    #[error(transparent)]
    Placement(#[from] KekBesideDatabase),
    /// The list of keys.
    #[error(transparent)]
    Ring(#[from] RingError),
    /// The key store cannot be opened.
    #[error("the key store cannot be used: {0}; set `key_store`")]
    KeyStore(StoreError),
    /// No randomness for a new key.
    #[error(transparent)]
    Random(#[from] door::RandomError),
}

/// A vault, open or sealed, with what must be closed after it.
pub(crate) struct Started {
    pub(crate) vault: Vault,
    pub(crate) key_store: KeyStore,
}

/// Opens the vault of these settings. What does not belong together leaves it sealed with the reason.
pub(crate) async fn start(
    settings: &VaultSettings,
    database: &StoreConfig,
    store: &Store,
    deployment: &DeploymentId,
    now_ms: i64,
) -> Result<Started, VaultStartError> {
    check_place(settings, database)?;
    let provider = KeyFileProvider::open(&settings.kek_file, settings.kek_name.clone())?;
    let keks = KekRing::new(vec![ListedKek { standing: Standing::Active, provider: Box::new(provider) }])?;
    let key_store = KeyStore::open(settings.key_store.clone()).await.map_err(VaultStartError::KeyStore)?;
    let fill: Fill = Arc::new(|bytes| fill_random(bytes).map_err(|_| NoRandomness));
    let parts = VaultParts { deployment: deployment.clone(), keks, key_store: key_store.clone(), fill };
    let vault = Vault::start(parts, store, now_ms).await;
    Ok(Started { vault, key_store })
}

/// Makes the key file of a new installation; one that is there stays as it is.
pub(crate) fn make_key(settings: &VaultSettings, database: &StoreConfig) -> Result<(), VaultStartError> {
    check_place(settings, database)?;
    if settings.kek_file.exists() {
        return Ok(());
    }
    Ok(make_key_file(&settings.kek_file, &door::make_secret()?)?)
}

/// Whether the key file is there and is one.
pub(crate) fn check_key(settings: &VaultSettings, database: &StoreConfig) -> Result<(), VaultStartError> {
    check_place(settings, database)?;
    KeyFileProvider::open(&settings.kek_file, settings.kek_name.clone())?;
    Ok(())
}

/// A key file inside the folder of a database is refused in production and warned about elsewhere.
fn check_place(settings: &VaultSettings, database: &StoreConfig) -> Result<(), KekBesideDatabase> {
    let folders: Vec<&Path> = [database, &settings.key_store].into_iter().filter_map(folder).collect();
    match check_placement(&settings.kek_file, &folders, settings.surroundings)? {
        Placement::Apart => {}
        Placement::Beside(beside) => tracing::warn!(code = "vault.key_beside_database", "{beside}"),
    }
    Ok(())
}

fn folder(database: &StoreConfig) -> Option<&Path> {
    match database {
        StoreConfig::Sqlite { path } => path.parent(),
        StoreConfig::Postgres { .. } => None,
    }
}

#[cfg(test)]
#[path = "vault_start_tests.rs"]
mod tests;
