//! Starts with a vault: what belongs together opens, anything else seals the whole service, and a key is never made in passing.

use super::*;
use crate::{Config, Service, StartError, SystemClock, config::Surroundings, testing::World};
use std::path::PathBuf;

/// Settings whose key lies in a folder of its own.
fn settings(state: &Path, key: PathBuf, surroundings: Surroundings) -> VaultSettings {
    VaultSettings {
        kek_file: key,
        kek_name: kms::KekFullName::parse("file-1").expect("a name"),
        key_store: StoreConfig::Sqlite { path: state.join("tenant-keys.db") },
        surroundings,
    }
}

/// A service with a vault whose key is made from `seed`.
fn with_vault(config: &mut Config, keys: &Path, seed: u8) {
    let key = keys.join("kek.key");
    let _ = std::fs::remove_file(&key);
    make_key_file(&key, &sign::Secret::new([seed; 32])).expect("a key file");
    config.vault = Some(settings(&config.state_dir, key, Surroundings::Production));
}

async fn readiness(world: &World) -> (u16, String) {
    let reply = world.send("GET", "/readyz", &[], b"").await;
    (reply.status, reply.text())
}

async fn check_sealed(world: &World, reason: &str) {
    let (status, text) = readiness(world).await;
    assert_eq!((status, text.contains("vault: sealed: ") && text.contains(reason)), (503, true), "{text}");
    assert_eq!(world.send("GET", "/healthz", &[], b"").await.status, 200, "alive");
    for (method, target) in [("GET", "/"), ("GET", "/version"), ("POST", "/v1/devices/start"), ("GET", "/v1/whoami")] {
        let reply = world.send(method, target, &[("content-type", "application/json")], b"").await;
        assert_eq!((reply.status, reply.code().as_str()), (503, "unavailable"), "{target}");
    }
}

#[tokio::test]
async fn what_belongs_together_opens_again() {
    let keys = tempfile::tempdir().expect("a folder");
    let world = World::start_with(|config| with_vault(config, keys.path(), 7)).await;
    assert_eq!(readiness(&world).await, (200, r#"{"reasons":[],"status":"ready"}"#.to_owned()));
    let device = world.pair(1, "[\"refresh\"]").await;
    let world = world.restart(|config| with_vault(config, keys.path(), 7)).await;
    assert_eq!(readiness(&world).await.0, 200);
    assert_eq!(world.call(&device, "GET", "/v1/whoami", "").await.status, 200);
    world.service.shutdown().await;
}

#[tokio::test]
async fn another_key_seals_the_service() {
    let keys = tempfile::tempdir().expect("a folder");
    let world = World::start_with(|config| with_vault(config, keys.path(), 7)).await;
    let world = world.restart(|config| with_vault(config, keys.path(), 8)).await;
    check_sealed(&world, "").await;
    let world = world.restart(|config| with_vault(config, keys.path(), 7)).await;
    assert_eq!(readiness(&world).await.0, 200, "the right key again");
    world.service.shutdown().await;
}

#[tokio::test]
async fn a_lost_key_store_seals_the_service_and_is_not_made_anew() {
    let keys = tempfile::tempdir().expect("a folder");
    let world = World::start_with(|config| with_vault(config, keys.path(), 7)).await;
    let aside = |config: &mut Config| {
        with_vault(config, keys.path(), 7);
        if let Some(settings) = &mut config.vault {
            settings.key_store = StoreConfig::Sqlite { path: config.state_dir.join("another.db") };
        }
    };
    let world = world.restart(aside).await;
    check_sealed(&world, "key store").await;
    world.service.shutdown().await;
}

#[tokio::test]
async fn a_start_makes_no_key_and_takes_none_beside_its_database() {
    let directory = tempfile::tempdir().expect("a folder");
    let state = directory.path().join("state");
    let start = |key: PathBuf, surroundings| {
        let mut config = Config::in_directory(&state);
        config.vault = Some(settings(&state, key, surroundings));
        Service::start(config, Arc::new(SystemClock))
    };
    let apart = directory.path().join("kek.key");
    let missing = start(apart.clone(), Surroundings::Production).await;
    assert!(matches!(missing.err(), Some(StartError::Vault(VaultStartError::KeyFile(_)))));
    assert!(!apart.exists(), "a start makes no key");

    let beside = state.join("kek.key");
    let production = settings(&state, beside.clone(), Surroundings::Production);
    let database = StoreConfig::Sqlite { path: state.join("collie.db") };
    assert!(matches!(make_key(&production, &database), Err(VaultStartError::Placement(_))));
    let development = settings(&state, beside.clone(), Surroundings::Development);
    make_key(&development, &database).expect("made");
    let before = std::fs::read(&beside).expect("read");
    make_key(&development, &database).expect("there");
    assert_eq!(std::fs::read(&beside).expect("read"), before, "never replaced");
    assert!(matches!(
        start(beside.clone(), Surroundings::Production).await.err(),
        Some(StartError::Vault(VaultStartError::Placement(_)))
    ));
    let warned = start(beside, Surroundings::Development).await.expect("starts");
    warned.shutdown().await;
}
