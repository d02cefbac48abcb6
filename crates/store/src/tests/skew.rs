//! Write skew: two owners demote each other at the same time. Whatever the engine, one of them stays.

use super::{
    Fixture, PrivateDatabase, on_both_engines, runtime,
    shape::raw,
    world::{NOW, entry, make_person, user, viewer},
};
use crate::{
    MemberChange, Store, StoreConfig, StoreError, Viewer,
    engine::{Access, Begin, Statement, bind},
};
use contract::workspace::Role;
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU32, Ordering},
};
use tokio::sync::Barrier;

const RACES: u32 = 1000;
const CONTROL_RACES: u32 = 20;

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
        assert!(
            matches!(done, Ok(MemberChange::Changed { from: Role::Owner }) | Err(StoreError::Outranked)),
            "{done:?}"
        );
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

/// Must fail: at REPEATABLE READ, with both snapshots taken before either writes, nobody is left. The one event log of the workspace would hide it,
/// because both commits write its head; so the two demotions here explain themselves in two logs.
#[test]
fn one_level_weaker_loses_both_owners() {
    let Some(database) = PrivateDatabase::make() else { return };
    runtime().block_on(async {
        let config = StoreConfig::Postgres { url: database.url.clone() };
        let weak = Store::open_postgres_at(&database.url, Begin::REPEATABLE_READ).await.expect("opens");
        two_owners(&weak).await;
        for n in 0..CONTROL_RACES {
            assert_eq!(overlapping_race(&weak).await, Vec::<u8>::new(), "race {n}: the control must lose both");
            raw(&config, "UPDATE membership SET role = 'owner'").await;
        }
        weak.close().await;

        let strong = Store::open(config.clone()).await.expect("opens");
        for n in 0..CONTROL_RACES {
            assert_eq!(overlapping_race(&strong).await.len(), 1, "race {n}: the twin keeps one");
            raw(&config, "UPDATE membership SET role = 'owner'").await;
        }
        strong.close().await;
    });
}

/// As [`race`], where both transactions have read before one writes, and each event goes to another log.
async fn overlapping_race(store: &Store) -> Vec<u8> {
    let both_read = Arc::new(Barrier::new(2));
    let demotions = [(1_u8, 2_u8), (2, 1)].map(|(actor, target)| {
        let (store, both_read) = (store.clone(), Arc::clone(&both_read));
        tokio::spawn(async move {
            let (by, target, first, both_read) = (&viewer(1, actor), &user(target), &AtomicBool::new(true), &both_read);
            let done: Result<MemberChange, StoreError> = store
                .run("set_member", |mut tx| async move {
                    tx.find_role(by).await?;
                    // A retry runs alone.
                    if first.swap(false, Ordering::SeqCst) {
                        both_read.wait().await;
                    }
                    let change = tx.set_member(by, target, Role::Member, NOW).await?;
                    tx.commit_with(entry(actor), change).await
                })
                .await;
            done
        })
    });
    for demotion in demotions {
        let done = demotion.await.expect("no panic");
        assert!(
            matches!(done, Ok(MemberChange::Changed { from: Role::Owner }) | Err(StoreError::Outranked)),
            "{done:?}"
        );
    }
    owners(store).await
}

/// Two bodies that lock two rows in opposite order: PostgreSQL ends one of them, and it runs again.
#[test]
fn a_deadlock_is_tried_again() {
    const TOUCH: Statement =
        Statement::both("TOUCH", "user", Access::Write, r#"UPDATE "user" SET display_name = 'seen' WHERE id = $1"#);
    let Some(database) = PrivateDatabase::make() else { return };
    runtime().block_on(async {
        let store = Store::open(StoreConfig::Postgres { url: database.url.clone() }).await.expect("opens");
        two_owners(&store).await;
        let (both_hold, runs) = (Arc::new(Barrier::new(2)), Arc::new(AtomicU32::new(0)));
        let bodies = [(1_u8, 2_u8), (2, 1)].map(|(one, other)| {
            let (store, both_hold, runs) = (store.clone(), Arc::clone(&both_hold), Arc::clone(&runs));
            tokio::spawn(async move {
                let (one, other, first, both_hold, runs) =
                    (&user(one), &user(other), &AtomicBool::new(true), &both_hold, &runs);
                let done: Result<(), StoreError> = store
                    .run("cross", |mut tx| async move {
                        runs.fetch_add(1, Ordering::SeqCst);
                        tx.execute_one(&TOUCH, bind![one]).await?;
                        if first.swap(false, Ordering::SeqCst) {
                            both_hold.wait().await;
                        }
                        tx.execute_one(&TOUCH, bind![other]).await?;
                        tx.commit_with(entry(1), ()).await
                    })
                    .await;
                done
            })
        });
        for body in bodies {
            assert_eq!(body.await.expect("no panic"), Ok(()));
        }
        assert!(runs.load(Ordering::SeqCst) >= 3, "one of them ran again");
        store.close().await;
    });
}
