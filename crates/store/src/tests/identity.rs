//! Installation, people, owner links, browser sessions and devices.

use super::{
    Fixture, on_both_engines,
    world::{NOW, deployment, device, entry, mac, make_device, make_device_of, make_person, user, workspace},
};
use crate::{NewDevice, NewWorkspace, Revocation, Standing, Store, StoreError, TokenMac, Upkeep};
use contract::{
    device::SessionClass,
    limits,
    workspace::{Role, WorkspaceKind},
};

async fn use_link(store: &Store, token: TokenMac, now_ms: i64) -> Result<Option<contract::ids::UserId>, StoreError> {
    store
        .run("use_link", |mut tx| async move {
            let who = tx.use_owner_link(&token, now_ms).await?;
            tx.commit_with(entry(1), who).await
        })
        .await
}

async fn make_link(store: &Store, token: TokenMac) -> Result<i64, StoreError> {
    store
        .run("make_link", |mut tx| async move {
            let end = tx.insert_owner_link(&token, &user(1), NOW).await?;
            tx.commit_with(entry(1), end).await
        })
        .await
}

async fn open_browser(store: &Store, token: TokenMac, now_ms: i64) -> Result<i64, StoreError> {
    store
        .run("open_browser", |mut tx| async move {
            let end = tx.insert_browser_session(&token, &user(1), now_ms).await?;
            tx.commit_with(entry(1), end).await
        })
        .await
}

async fn is_signed_in(store: &Store, token: TokenMac, now_ms: i64) -> bool {
    let found = store.read("browser", |mut tx| async move { tx.find_browser_session(&token, now_ms).await }).await;
    found.unwrap_or_else(|error: StoreError| panic!("{error}")).is_some()
}

async fn revoke(store: &Store, user_n: u8, device_n: u8, now_ms: i64) -> Result<Revocation, StoreError> {
    store
        .run("revoke", |mut tx| async move {
            let done = tx.revoke_device(&user(user_n), &device(device_n), now_ms).await?;
            if done == Revocation::Before {
                return tx.commit_unchanged(done);
            }
            tx.commit_with(entry(1), done).await
        })
        .await
}

on_both_engines! {
    async fn there_is_one_installation(fixture: Fixture) {
        let store = &fixture.store;
        let found = store.read("find", |mut tx| async move { tx.find_deployment().await }).await;
        assert_eq!(found, Ok::<_, StoreError>(None));
        make_person(store, 1).await;
        make_person(store, 2).await;
        let make = |n: u8, owner: u8| async move {
            let id = &contract::ids::DeploymentId::from_random([n; 16]);
            let done: Result<(), StoreError> = store.run("make", |mut tx| async move {
                tx.insert_deployment(id, &user(owner), NOW).await?;
                tx.commit_with(entry(1), ()).await
            }).await;
            done
        };
        assert_eq!(make(9, 1).await, Ok(()));
        for (n, owner) in [(9, 1), (9, 2), (8, 1)] {
            assert_eq!(make(n, owner).await, Err(StoreError::AlreadyThere { what: "deployment" }));
        }
        let found: Result<_, StoreError> = store.read("find", |mut tx| async move { tx.find_deployment().await }).await;
        let found = found.expect("reads").expect("is there");
        assert_eq!((found.id, found.owner_id), (deployment(), user(1)));
    }

    async fn an_owner_link_works_once_and_the_newest_only(fixture: Fixture) {
        let store = &fixture.store;
        make_person(store, 1).await;
        let end = make_link(store, mac(1)).await.expect("made");
        assert_eq!(end, NOW + 900_000);
        let look = |token: TokenMac, now_ms: i64| async move {
            store.read("look", |mut tx| async move { tx.find_owner_link(&token, now_ms).await }).await
                .unwrap_or_else(|error: StoreError| panic!("{error}"))
        };
        assert_eq!(look(mac(1), NOW).await, Some(user(1)));
        assert_eq!(look(mac(1), end).await, None);
        assert_eq!(use_link(store, mac(1), end).await, Ok(None), "expired at its end");
        make_link(store, mac(2)).await.expect("made");
        assert_eq!(use_link(store, mac(1), NOW).await, Ok(None), "the newer one voids it");
        assert_eq!(use_link(store, mac(2), end - 1).await, Ok(Some(user(1))));
        assert_eq!(use_link(store, mac(2), NOW).await, Ok(None), "used up");
    }

    async fn of_many_uses_of_one_link_one_wins(fixture: Fixture) {
        make_person(&fixture.store, 1).await;
        make_link(&fixture.store, mac(1)).await.expect("made");
        let uses: Vec<_> = (0..16).map(|_| {
            let store = fixture.store.clone();
            tokio::spawn(async move { use_link(&store, mac(1), NOW).await })
        }).collect();
        let mut won = 0;
        for used in uses {
            won += u32::from(used.await.expect("no panic").expect("answers").is_some());
        }
        assert_eq!(won, 1);
    }

    async fn browser_sessions_end(fixture: Fixture) {
        let store = &fixture.store;
        make_person(store, 1).await;
        let end = open_browser(store, mac(1), NOW).await.expect("opened");
        assert_eq!(end, NOW + 43_200_000);
        assert!(is_signed_in(store, mac(1), end - 1).await && !is_signed_in(store, mac(1), end).await);
        let close: Result<_, StoreError> = store.run("close", |mut tx| async move {
            let who = tx.end_browser_session(&mac(1)).await?;
            tx.commit_with(entry(1), who).await
        }).await;
        assert_eq!(close, Ok(Some(user(1))));
        assert!(!is_signed_in(store, mac(1), NOW).await);

        for n in 0..20_u8 {
            open_browser(store, mac(100 + n), NOW + i64::from(n)).await.expect("opened");
        }
        let max = u8::try_from(limits::BROWSER_SESSIONS_PER_USER_MAX).expect("small");
        for n in 0..20_u8 {
            assert_eq!(is_signed_in(store, mac(100 + n), NOW).await, n >= 20 - max, "session {n}");
        }
        let swept: Result<u64, StoreError> = store.run("sweep", |mut tx| async move {
            let swept = tx.sweep_browser_sessions(end + 100).await?;
            tx.commit_upkeep(Upkeep::Session, swept)
        }).await;
        assert_eq!(swept, Ok(u64::from(max)));
    }

    async fn devices_belong_to_one_person(fixture: Fixture) {
        let store = &fixture.store;
        for n in [1, 2] {
            make_person(store, n).await;
            make_device(store, n, SessionClass::Rotating).await;
        }
        let find = |user_n: u8, device_n: u8| async move {
            store.read("find", |mut tx| async move { tx.find_device(&user(user_n), &device(device_n)).await }).await
                .unwrap_or_else(|error: StoreError| panic!("{error}"))
        };
        assert_eq!(find(1, 2).await, None);
        let own = find(1, 1).await.expect("is there");
        assert_eq!((own.public_key, own.last_seen_at_ms, own.revoked_at_ms), ([1; 32], 0, None));

        let not_visible = Err(StoreError::NotVisible { what: "device" });
        assert_eq!(revoke(store, 1, 2, NOW).await, not_visible, "somebody else's device");
        assert_eq!(revoke(store, 1, 7, NOW).await, not_visible, "no device at all: the same answer");
        assert!(find(2, 2).await.expect("is there").revoked_at_ms.is_none());
    }

    async fn a_revoked_device_ends_with_all_its_sessions(fixture: Fixture) {
        let store = &fixture.store;
        make_person(store, 1).await;
        make_device(store, 1, SessionClass::Rotating).await;
        make_device_of(store, 2, 1, SessionClass::Sliding).await;
        assert_eq!(revoke(store, 1, 1, NOW + 5).await, Ok(Revocation::Now { families: 1 }));
        assert_eq!(revoke(store, 1, 1, NOW + 9).await, Ok(Revocation::Before));
        let standing = |n: u8| async move {
            let found: Result<_, StoreError> = store.read("session", |mut tx| async move { tx.find_session(&mac(n)).await }).await;
            found.expect("reads").expect("is there").standing(NOW + 10)
        };
        assert_eq!(standing(1).await, Standing::Ended(crate::EndReason::DeviceRevoked));
        assert_eq!(standing(2).await, Standing::Live(Role::Owner));
        let listed: Result<Vec<_>, StoreError> = store.read("list", |mut tx| async move { tx.list_devices(&user(1)).await }).await;
        let listed: Vec<_> = listed.expect("reads").into_iter().map(|row| (row.id, row.revoked_at_ms)).collect();
        assert_eq!(listed, [(device(2), None), (device(1), Some(NOW + 5))]);
    }

    async fn a_person_has_a_bounded_number_of_devices(fixture: Fixture) {
        let store = &fixture.store;
        make_person(store, 1).await;
        let max = u8::try_from(limits::DEVICES_PER_USER_MAX).expect("small");
        let insert = |n: u8| async move {
            let done: Result<(), StoreError> = store.run("insert", |mut tx| async move {
                let id = &device(n);
                let new = NewDevice { id, user_id: &user(1), name: "d", public_key: &[n; 32], session_class: SessionClass::Sliding };
                tx.insert_device(new, NOW).await?;
                tx.commit_with(entry(1), ()).await
            }).await;
            done
        };
        for n in 0..max {
            assert_eq!(insert(n).await, Ok(()));
        }
        let full = Err(StoreError::Full { what: "devices", max: limits::DEVICES_PER_USER_MAX });
        assert_eq!(insert(max).await, full);
        revoke(store, 1, 0, NOW).await.expect("revoked");
        assert_eq!(insert(max).await, Ok(()), "a revoked one makes room");
    }

    async fn being_seen_never_goes_back(fixture: Fixture) {
        let store = &fixture.store;
        make_person(store, 1).await;
        make_device(store, 1, SessionClass::Rotating).await;
        for at_ms in [NOW + 50, NOW + 20] {
            let done: Result<(), StoreError> = store.run("see", |mut tx| async move {
                tx.see_device(&device(1), at_ms).await?;
                tx.commit_upkeep(Upkeep::Heartbeat, ())
            }).await;
            done.expect("seen");
        }
        let found: Result<_, StoreError> = store.read("find", |mut tx| async move { tx.find_device(&user(1), &device(1)).await }).await;
        assert_eq!(found.expect("reads").expect("is there").last_seen_at_ms, NOW + 50);
    }

    async fn a_person_owns_a_bounded_number_of_workspaces(fixture: Fixture) {
        let store = &fixture.store;
        make_person(store, 1).await;
        let insert = |n: u8| async move {
            let done: Result<(), StoreError> = store.run("insert", |mut tx| async move {
                let new = NewWorkspace { id: &workspace(n), name: "Team", kind: WorkspaceKind::Team, owner_id: &user(1) };
                tx.insert_workspace(new, NOW).await?;
                tx.commit_with(entry(1), ()).await
            }).await;
            done
        };
        let max = u8::try_from(limits::WORKSPACES_PER_USER_MAX).expect("small");
        for n in 1..max {
            assert_eq!(insert(100 + n).await, Ok(()));
        }
        assert_eq!(insert(99).await, Err(StoreError::Full { what: "workspaces", max: limits::WORKSPACES_PER_USER_MAX }));
    }
}
