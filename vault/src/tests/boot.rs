//! What a start notices (2.a.4): every part that is not the one it belongs with seals the vault, with its reason.

use super::{
    on_both_engines, raw,
    world::{NOW, grant, key_file, make, make_store, our_ring, ring, start, workspace},
};
use crate::{SealedReason, VaultError, VaultState};
use kms::KekError;
use store::KeyStore;

fn reason(state: VaultState) -> SealedReason {
    match state {
        VaultState::Sealed(reason) => reason,
        VaultState::Open => panic!("the vault opened"),
    }
}

on_both_engines! {
    async fn a_vault_starts_again_with_its_own_parts(fixture: Fixture) {
        let world = make(&fixture).await;
        for _ in 0..2 {
            assert_eq!(start(our_ring(), &world.keys, &world.store).await.state(), VaultState::Open);
        }
        assert_eq!(world.keys.count().await, Ok(1), "the installation's own key, made once");
    }

    async fn another_key_file_seals_it(fixture: Fixture) {
        let world = make(&fixture).await;
        let replaced = start(ring(key_file("kek-2026", [1; 32])), &world.keys, &world.store).await;
        assert!(matches!(reason(replaced.state()), SealedReason::Kek(KekError::OtherVersion { .. })));
        let renamed = start(ring(key_file("kek-2027", [1; 32])), &world.keys, &world.store).await;
        assert!(matches!(reason(renamed.state()), SealedReason::Kek(KekError::NotListed { .. })));
    }

    async fn another_key_store_seals_it(fixture: Fixture) {
        let world = make(&fixture).await;
        let empty = KeyStore::open(fixture.other_keys.clone()).await.expect("opens");
        assert_eq!(reason(start(our_ring(), &empty, &world.store).await.state()), SealedReason::KeyStoreLost);
        assert_eq!(empty.count().await, Ok(0), "and nothing is made in it");
    }

    async fn another_database_seals_it(fixture: Fixture) {
        let world = make(&fixture).await;
        world.make_person(1).await;
        let _ = world.vault.unlock(&workspace(1), NOW).await.expect("a tenant's key is made");
        let empty = make_store(fixture.other_main.clone()).await;
        assert_eq!(reason(start(our_ring(), &world.keys, &empty).await.state()), SealedReason::CanaryMissing);
    }

    async fn a_canary_that_is_gone_or_changed_seals_it(fixture: Fixture) {
        let world = make(&fixture).await;
        world.make_person(1).await;
        world.share(1, 1).await;
        raw(&fixture.main, "CREATE TABLE dump AS SELECT * FROM boot_canary; UPDATE boot_canary SET dek = (SELECT v.dek FROM vault_credential v WHERE v.secret_kind = 'oauth')").await;
        assert_eq!(reason(start(our_ring(), &world.keys, &world.store).await.state()), SealedReason::CanaryShut);
        raw(&fixture.main, "DELETE FROM boot_canary").await;
        assert_eq!(reason(start(our_ring(), &world.keys, &world.store).await.state()), SealedReason::CanaryMissing);
        raw(&fixture.main, "INSERT INTO boot_canary SELECT * FROM dump").await;
        assert_eq!(start(our_ring(), &world.keys, &world.store).await.state(), VaultState::Open, "the control");
    }

    async fn a_first_start_that_was_cut_short_goes_on(fixture: Fixture) {
        let world = make(&fixture).await;
        raw(&fixture.main, "DELETE FROM boot_canary").await;
        assert_eq!(start(our_ring(), &world.keys, &world.store).await.state(), VaultState::Open);
        assert_eq!(world.keys.count().await, Ok(1));
    }

    async fn many_processes_may_start_first(fixture: Fixture) {
        let store = make_store(fixture.main.clone()).await;
        let keys = KeyStore::open(fixture.keys.clone()).await.expect("opens");
        let starts = (0..4).map(|_| {
            let (store, keys) = (store.clone(), keys.clone());
            tokio::spawn(async move { start(our_ring(), &keys, &store).await.state() })
        });
        for state in starts.collect::<Vec<_>>() {
            assert_eq!(state.await.expect("no panic"), VaultState::Open);
        }
    }

    async fn a_sealed_vault_does_nothing(fixture: Fixture) {
        let world = make(&fixture).await;
        world.make_person(1).await;
        world.share(1, 1).await;
        let (pin, stored) = world.load(1, 1, contract::blob::SecretKind::OAuth).await;
        let (pin, stored) = (pin.expect("pins"), stored.expect("is there"));
        let tenant = world.vault.unlock(&workspace(1), NOW).await.expect("unlocks");
        world.vault.seal(SealedReason::Operator);
        let sealed = Some(VaultError::Sealed(SealedReason::Operator));
        assert_eq!(world.vault.unlock(&workspace(1), NOW).await.err(), sealed);
        assert_eq!(world.vault.open_for_manifest(&pin, &stored, NOW).await.err(), sealed);
        assert_eq!(world.vault.open_for_refresh(&pin, &stored, NOW).await.err(), sealed);
        assert_eq!(world.vault.seal_credential(&tenant, &pin, 1, &grant("x")).err(), sealed, "with a key from before, too");
        world.vault.seal(SealedReason::KnownAnswer);
        assert_eq!(world.vault.state(), VaultState::Sealed(SealedReason::Operator), "the first reason stays");
    }
}
