//! Write skew: two owners demote each other at the same time. Whatever the engine, one of them stays.

use super::{
    Fixture, PrivateDatabase, on_both_engines, runtime,
    world::{NOW, entry, make_person, user, viewer, workspace},
};
use crate::{MemberChange, Store, StoreError, Viewer, engine::Begin};
use contract::workspace::Role;
use std::sync::Arc;
use tokio::sync::Barrier;

const RACES: u32 = 1000;
const CONTROL_RACES: u32 = 200;

async fn set(store: &Store, actor: &Viewer, n: u8, role: Role) -> Result<MemberChange, StoreError> {
    let target = &user(n);
    store
        .run("set_member", |mut tx| async move {
            let change = tx.set_member(actor, target, role, NOW).await?;
            tx.commit_with(entry(1), change).await
        })
        .await
}

async fn owners(store: &Store) -> Vec<u8> {
    let found = store.read("members", |mut tx| async move {
        let mut owners = Vec::new();
        for n in [1, 2] {
            if tx.find_role(&viewer(1, n)).await? == Some(Role::Owner) {
                owners.push(n);
            }
        }
        Ok(owners)
    });
    found.await.unwrap_or_else(|error: StoreError| panic!("{error}"))
}

/// Runs both demotions at once and returns who is still owner. Then makes both owners again.
async fn race(store: &Store) -> Vec<u8> {
    let start = Arc::new(Barrier::new(2));
    let demotions = [(1_u8, 2_u8), (2, 1)].map(|(actor, target)| {
        let (store, start) = (store.clone(), Arc::clone(&start));
        tokio::spawn(async move {
            start.wait().await;
            set(&store, &viewer(1, actor), target, Role::Member).await
        })
    });
    for demotion in demotions {
        let done = demotion.await.expect("no panic");
        assert!(matches!(done, Ok(MemberChange::Changed { from: Role::Owner }) | Err(StoreError::Outranked)), "{done:?}");
    }
    owners(store).await
}

async fn two_owners(store: &Store) {
    make_person(store, 1).await;
    make_person(store, 2).await;
    set(store, &viewer(1, 1), 2, Role::Owner).await.expect("a second owner");
}

on_both_engines! {
    async fn one_owner_always_stays(fixture: Fixture) {
        two_owners(&fixture.store).await;
        for n in 0..RACES {
            let left = race(&fixture.store).await;
            let [stays] = left.as_slice() else { panic!("race {n}: owners {left:?}") };
            set(&fixture.store, &viewer(1, *stays), 3 - stays, Role::Owner).await.expect("both again");
        }
    }
}

/// Must fail: at REPEATABLE READ both demotions commit and nobody is left. The event log would hide it, because both write its head; so this
/// control writes to two logs, as two operations in two workspaces would.
#[test]
fn one_level_weaker_loses_both_owners() {
    let Some(database) = PrivateDatabase::make() else { return };
    runtime().block_on(async {
        let store = Store::open_postgres_at(&database.url, Begin::REPEATABLE_READ).await.expect("opens");
        two_owners(&store).await;
        let mut nobody = 0;
        for _ in 0..CONTROL_RACES {
            if skewed_race(&store).await.is_empty() {
                nobody += 1;
                super::shape::raw(&crate::StoreConfig::Postgres { url: database.url.clone() }, "UPDATE membership SET role = 'owner'").await;
            }
        }
        store.close().await;
        assert!(nobody > 0, "the race is real: without SERIALIZABLE it is lost");

        let store = Store::open_postgres_at(&database.url, Begin::SERIALIZABLE).await.expect("opens");
        for _ in 0..CONTROL_RACES {
            assert!(!skewed_race(&store).await.is_empty(), "the twin holds");
            super::shape::raw(&crate::StoreConfig::Postgres { url: database.url.clone() }, "UPDATE membership SET role = 'owner'").await;
        }
        store.close().await;
    });
}

/// As [`race`], with each demotion's event in another log.
async fn skewed_race(store: &Store) -> Vec<u8> {
    let start = Arc::new(Barrier::new(2));
    let demotions = [(1_u8, 2_u8), (2, 1)].map(|(actor, target)| {
        let (store, start) = (store.clone(), Arc::clone(&start));
        tokio::spawn(async move {
            start.wait().await;
            let (actor_ref, target) = (&Viewer { workspace_id: workspace(1), user_id: user(actor) }, &user(target));
            let done: Result<MemberChange, StoreError> = store
                .run("set_member", |mut tx| async move {
                    let change = tx.set_member(actor_ref, target, Role::Member, NOW).await?;
                    tx.commit_with(entry(actor), change).await
                })
                .await;
            done
        })
    });
    for demotion in demotions {
        let _ = demotion.await.expect("no panic");
    }
    owners(store).await
}
