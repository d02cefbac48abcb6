//! The refresh row under many owners at once: one lease, one intent, one upload or one consent (2.b.8).

use super::{
    Fixture, on_both_engines,
    world::{NOW, connection, device, digest, entry, json, make_connection, make_device, make_person, viewer},
};
use crate::{
    Attempt, Connection, Intent, NewCredential, NewFormat, Refresh, Store, StoreError, Swap, Upkeep, VoidedIntent,
};
use contract::{connection::SealFormat, device::SessionClass, limits, refresh::RefreshStatus};

const LEASE_MS: i64 = limits::REFRESH_LEASE_S_MAX.cast_signed() * 1000;

async fn world(store: &Store) {
    for n in [1, 2] {
        make_person(store, n).await;
        make_device(store, n, SessionClass::Rotating).await;
        make_connection(store, n, SealFormat::V2).await;
        seal(store, n, 1).await.expect("the first credential");
    }
}

async fn seal(store: &Store, n: u8, version: u64) -> Result<(), StoreError> {
    let parts = (&json(r#"{"v":2}"#), &digest("commit"), &device(n), &viewer(n, n));
    store
        .run("seal", |mut tx| async move {
            let format = NewFormat::V2 { version };
            let new = NewCredential { sealed: parts.0, commitment: parts.1, author_device: parts.2, format };
            tx.seal_credential(parts.3, &connection(n), None, new, NOW).await?;
            tx.commit_with(entry(n), ()).await
        })
        .await
}

async fn row(store: &Store, n: u8) -> (Connection, Refresh) {
    let own = &viewer(n, n);
    let found: Result<_, StoreError> = store
        .read("row", |mut tx| async move {
            let connection = tx.find_connection(own, &connection(n)).await?.expect("is there");
            let refresh = tx.find_refresh(own, &connection).await?;
            Ok((connection, refresh))
        })
        .await;
    found.unwrap_or_else(|error| panic!("{error}"))
}

async fn lease(store: &Store, n: u8, owner: &str, now_ms: i64) -> Swap<u64> {
    let own = &viewer(n, n);
    let taken: Result<_, StoreError> = store
        .run("lease", |mut tx| async move {
            let connection = tx.find_connection(own, &connection(n)).await?.expect("is there");
            let swap = tx.take_refresh_lease(own, &connection, owner, now_ms).await?;
            tx.commit_upkeep(Upkeep::Lease, swap)
        })
        .await;
    taken.unwrap_or_else(|error| panic!("{error}"))
}

async fn place(store: &Store, n: u8, attempt: Attempt<'_>, replaces: Option<&Intent>) -> Swap<()> {
    let own = &viewer(n, n);
    let placed: Result<_, StoreError> = store
        .run("place", |mut tx| async move {
            let connection = tx.find_connection(own, &connection(n)).await?.expect("is there");
            match tx.place_refresh_intent(own, &connection, attempt, replaces).await? {
                Swap::Done(()) => tx.commit_with(entry(n), Swap::Done(())).await,
                swap @ (Swap::Stood(()) | Swap::Lost) => tx.commit_unchanged(swap),
            }
        })
        .await;
    placed.unwrap_or_else(|error| panic!("{error}"))
}

/// Stores version 2 by the standing attempt, or under the epoch after `attempt`'s.
async fn store_next(store: &Store, attempt: Attempt<'_>, is_consent: Kind) -> Result<bool, StoreError> {
    let parts = (&json(r#"{"v":2,"n":2}"#), &digest("commit2"), &device(1), &viewer(1, 1));
    store
        .run("store_next", |mut tx| async move {
            let (own, format) = (parts.3, NewFormat::V2 { version: 2 });
            let new = NewCredential { sealed: parts.0, commitment: parts.1, author_device: parts.2, format };
            let connection = tx.find_connection(own, &connection(1)).await?.expect("is there");
            let swap = match is_consent {
                Kind::Upload => tx.store_refreshed(own, &connection, attempt, new, NOW).await?,
                Kind::Consent => tx.store_consent(own, &connection, attempt.grant_epoch, new, NOW).await?,
            };
            match swap {
                Swap::Done(_) => tx.commit_with(entry(1), true).await,
                Swap::Stood(_) | Swap::Lost => tx.commit_unchanged(false),
            }
        })
        .await
}

#[derive(Clone, Copy)]
enum Kind {
    Upload,
    Consent,
}

async fn void(store: &Store, owner: &'static str) -> Vec<VoidedIntent> {
    let voided: Result<_, StoreError> = store
        .run("void", |mut tx| async move {
            let voided = tx.void_refresh_intents(owner).await?;
            tx.commit_with(entry(1), voided).await
        })
        .await;
    voided.unwrap_or_else(|error| panic!("{error}"))
}

const fn first(owner: &str, fence: u64) -> Attempt<'_> {
    Attempt { owner, fence, version: 1, grant_epoch: 1 }
}

on_both_engines! {
    async fn of_many_owners_one_gets_the_lease(fixture: Fixture) {
        world(&fixture.store).await;
        let all: Vec<_> = (0..12).map(|n| {
            let store = fixture.store.clone();
            tokio::spawn(async move { lease(&store, 1, &format!("dev_{n}"), NOW).await })
        }).collect();
        let mut won = Vec::new();
        for one in all {
            if let Swap::Done(fence) = one.await.expect("no panic") {
                won.push(fence);
            }
        }
        assert_eq!(won, [1]);
        assert_eq!(lease(&fixture.store, 1, "dev_x", NOW + LEASE_MS - 1).await, Swap::Lost);
        assert_eq!(lease(&fixture.store, 1, "dev_x", NOW + LEASE_MS).await, Swap::Done(2), "when it has run out");
        assert_eq!(lease(&fixture.store, 1, "dev_x", NOW + LEASE_MS).await, Swap::Done(3), "its holder gets a new fence");
        assert_eq!(row(&fixture.store, 2).await.1.fence, 0, "another connection's row is another row");
    }

    async fn an_intent_is_placed_once(fixture: Fixture) {
        let store = &fixture.store;
        world(store).await;
        assert_eq!(place(store, 1, first("dev_a", 1), None).await, Swap::Lost, "without a lease");
        assert_eq!(lease(store, 1, "dev_a", NOW).await, Swap::Done(1));
        assert_eq!(place(store, 1, first("dev_a", 1), None).await, Swap::Done(()));
        assert_eq!(place(store, 1, first("dev_a", 1), None).await, Swap::Stood(()));
        assert_eq!(lease(store, 1, "dev_b", NOW + LEASE_MS).await, Swap::Done(2));
        assert_eq!(place(store, 1, first("dev_b", 2), None).await, Swap::Lost, "the intent outlives the lease");
        let standing = Intent { owner: "dev_a".to_owned(), fence: 1, version: 1 };
        assert_eq!(row(store, 1).await.1.intent.as_ref(), Some(&standing));
        assert_eq!(seal(store, 1, 2).await, Err(StoreError::Refreshing));
        seal(store, 2, 2).await.expect("another connection is not hindered");
        assert_eq!(place(store, 1, first("dev_b", 2), Some(&standing)).await, Swap::Done(()));
    }

    async fn an_upload_and_a_consent_exclude_each_other(fixture: Fixture) {
        let store = &fixture.store;
        world(store).await;
        assert_eq!(lease(store, 1, "dev_a", NOW).await, Swap::Done(1));
        assert_eq!(place(store, 1, first("dev_a", 1), None).await, Swap::Done(()));
        let all: Vec<_> = [Kind::Upload, Kind::Upload, Kind::Consent].into_iter().map(|kind| {
            let store = fixture.store.clone();
            tokio::spawn(async move { store_next(&store, first("dev_a", 1), kind).await })
        }).collect();
        let mut won = 0;
        for one in all {
            match one.await.expect("no panic") {
                Ok(stored) => won += u32::from(stored),
                // A consent that comes after the upload is sealed for the wrong version: its device seals again.
                Err(refused) => assert_eq!(refused, StoreError::VersionMoved { what: "credential", expected: 1, actual: 2 }),
            }
        }
        let (connection, refresh) = row(store, 1).await;
        assert_eq!((won, connection.credential_version, refresh.intent), (1, 2, None));
        assert_eq!(refresh.status, RefreshStatus::Live);
    }

    async fn an_owner_that_is_gone_leaves_its_rows_uncertain(fixture: Fixture) {
        let store = &fixture.store;
        world(store).await;
        for n in [1, 2] {
            assert_eq!(lease(store, n, "dev_a", NOW).await, Swap::Done(1));
            assert_eq!(place(store, n, first("dev_a", 1), None).await, Swap::Done(()));
        }
        assert_eq!(void(store, "dev_b").await, []);
        let voided = void(store, "dev_a").await;
        assert_eq!(voided.iter().map(|intent| &intent.connection_id).collect::<Vec<_>>(), [&connection(1), &connection(2)]);
        for n in [1, 2] {
            let refresh = row(store, n).await.1;
            assert_eq!((refresh.status, refresh.intent, refresh.lease), (RefreshStatus::Uncertain, None, None));
        }
        assert_eq!(void(store, "dev_a").await, [], "twice is once");
        assert_eq!(store_next(store, first("dev_a", 1), Kind::Upload).await, Ok(false), "what it brings is not taken");
        assert_eq!(store_next(store, first("dev_a", 1), Kind::Consent).await, Ok(true));
        assert_eq!(row(store, 1).await.1.grant_epoch, 2);
    }
}
