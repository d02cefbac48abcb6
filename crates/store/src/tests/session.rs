//! Session families, refresh numbers and nonces.

use super::{
    Fixture, on_both_engines,
    world::{NOW, device, entry, family, mac, make_device, make_device_of, make_person, user, viewer, workspace},
};
use crate::{EndReason, NewFamily, Refreshed, Session, Standing, Store, StoreError, Upkeep, repository::nonce::Window};
use contract::{device::SessionClass, ids::FamilyId, limits, workspace::Role};

async fn by_access(store: &Store, n: u8) -> Option<Session> {
    let found = store.read("session", |mut tx| async move { tx.find_session(&mac(n)).await }).await;
    found.unwrap_or_else(|error: StoreError| panic!("{error}"))
}

async fn by_family(store: &Store, n: u8) -> Session {
    let found: Result<_, StoreError> =
        store.read("family", |mut tx| async move { tx.find_family(&family(n)).await }).await;
    found.expect("reads").expect("is there")
}

async fn refresh(store: &Store, n: u8, presented: u64) -> Result<Refreshed, StoreError> {
    store
        .run("refresh", |mut tx| async move {
            let done = tx.refresh_family(&family(n), presented, NOW).await?;
            match done {
                Refreshed::Advanced { .. } => tx.commit_upkeep(Upkeep::Session, done),
                Refreshed::Repeated { .. } => tx.commit_unchanged(done),
                Refreshed::Reused { .. } => tx.commit_with(entry(1), done).await,
            }
        })
        .await
}

async fn nonce(store: &Store, device_n: u8, text: &str, now_ms: i64) -> Result<(), StoreError> {
    store
        .run("nonce", |mut tx| async move {
            tx.insert_request_nonce(&device(device_n), text, now_ms).await?;
            tx.commit_upkeep(Upkeep::Nonce, ())
        })
        .await
}

fn new_family<'a>(
    ids: &'a (FamilyId, contract::ids::WorkspaceId, contract::ids::UserId, contract::ids::DeviceId),
) -> NewFamily<'a> {
    NewFamily {
        id: &ids.0,
        workspace_id: &ids.1,
        user_id: &ids.2,
        device_id: &ids.3,
        session_class: SessionClass::Rotating,
        expires_at_ms: NOW + 1000,
        ends_at_ms: NOW + 5000,
    }
}

on_both_engines! {
    async fn a_session_says_whether_it_stands(fixture: Fixture) {
        let store = &fixture.store;
        make_person(store, 1).await;
        make_device(store, 1, SessionClass::Sliding).await;
        assert_eq!(by_access(store, 2).await, None);
        let session = by_access(store, 1).await.expect("is there");
        assert_eq!((&session.workspace_id, &session.device.id, session.device.public_key), (&workspace(1), &device(1), [1; 32]));
        assert_eq!((session.refresh_issued, session.session_class), (1, SessionClass::Sliding));
        assert_eq!(session.standing(NOW), Standing::Live(Role::Owner));
        assert_eq!(session.standing(NOW + 599_999), Standing::Live(Role::Owner));
        assert_eq!(session.standing(NOW + 600_000), Standing::Expired, "the access token's end");
        assert_eq!(by_family(store, 1).await.standing(NOW + 600_000), Standing::Live(Role::Owner), "the family lives on");
        assert_eq!(by_family(store, 1).await.standing(NOW + 1_000_000), Standing::Expired);
    }

    async fn the_sliding_end_moves_forward_to_the_cap(fixture: Fixture) {
        let store = &fixture.store;
        make_person(store, 1).await;
        make_device(store, 1, SessionClass::Sliding).await;
        for (to, then) in [(NOW + 2_000_000, NOW + 2_000_000), (NOW + 1, NOW + 2_000_000), (NOW + 99_000_000, NOW + 10_000_000)] {
            let done: Result<(), StoreError> = store.run("slide", |mut tx| async move {
                tx.slide_family(&family(1), to).await?;
                tx.commit_upkeep(Upkeep::Session, ())
            }).await;
            done.expect("slides");
            assert_eq!(by_family(store, 1).await.expires_at_ms, then);
        }
    }

    async fn refresh_repeats_the_successor_until_it_is_used(fixture: Fixture) {
        let store = &fixture.store;
        make_person(store, 1).await;
        make_device(store, 1, SessionClass::Rotating).await;
        assert_eq!(refresh(store, 1, 1).await, Ok(Refreshed::Advanced { issued: 2 }));
        assert_eq!(refresh(store, 1, 1).await, Ok(Refreshed::Repeated { issued: 2 }), "a lost answer");
        assert_eq!(refresh(store, 1, 1).await, Ok(Refreshed::Repeated { issued: 2 }));
        assert_eq!(refresh(store, 1, 2).await, Ok(Refreshed::Advanced { issued: 3 }));
        assert_eq!(refresh(store, 1, 2).await, Ok(Refreshed::Repeated { issued: 3 }));
        assert_eq!(refresh(store, 1, 1).await, Ok(Refreshed::Reused { issued: 3 }), "1 after 2 was used");
        let ended = by_family(store, 1).await;
        assert_eq!(ended.standing(NOW), Standing::Ended(EndReason::RefreshReused));
        assert_eq!(ended.device.flagged_at_ms, Some(NOW));
        for presented in [1, 2, 3, 4] {
            let over = Err(StoreError::WrongState { what: "session", state: "refresh_reused" });
            assert_eq!(refresh(store, 1, presented).await, over, "nothing comes from an ended family");
        }
    }

    async fn numbers_that_were_never_issued_end_the_family(fixture: Fixture) {
        let store = &fixture.store;
        make_person(store, 1).await;
        for (n, presented) in [(1, 0), (2, 2), (3, u64::MAX)] {
            make_device_of(store, n, 1, SessionClass::Rotating).await;
            assert_eq!(refresh(store, n, presented).await, Ok(Refreshed::Reused { issued: 1 }), "presented {presented}");
        }
    }

    /// The same token at once from two processes of one device: one advances, the others repeat, nobody ends the family.
    async fn refreshing_at_once_is_no_reuse(fixture: Fixture) {
        make_person(&fixture.store, 1).await;
        make_device(&fixture.store, 1, SessionClass::Rotating).await;
        let all: Vec<_> = (0..12).map(|_| {
            let store = fixture.store.clone();
            tokio::spawn(async move { refresh(&store, 1, 1).await })
        }).collect();
        let mut advanced = 0;
        for one in all {
            match one.await.expect("no panic").expect("answers") {
                Refreshed::Advanced { issued: 2 } => advanced += 1,
                Refreshed::Repeated { issued: 2 } => {}
                other @ (Refreshed::Advanced { .. } | Refreshed::Repeated { .. } | Refreshed::Reused { .. }) => panic!("{other:?}"),
            }
        }
        assert_eq!(advanced, 1);
    }

    async fn a_family_needs_a_member_and_their_own_bound_device(fixture: Fixture) {
        let store = &fixture.store;
        for n in [1, 2] {
            make_person(store, n).await;
            make_device(store, n, SessionClass::Rotating).await;
        }
        let insert = |workspace_n: u8, user_n: u8, device_n: u8, class: SessionClass| async move {
            let ids = &(FamilyId::from_random([50 + workspace_n; 16]), workspace(workspace_n), user(user_n), device(device_n));
            let done: Result<(), StoreError> = store.run("insert", |mut tx| async move {
                tx.insert_family(NewFamily { session_class: class, ..new_family(ids) }, NOW).await?;
                tx.commit_with(entry(1), ()).await
            }).await;
            done
        };
        let rotating = SessionClass::Rotating;
        let not_visible = Err(StoreError::NotVisible { what: "workspace" });
        assert_eq!(insert(2, 1, 1, rotating).await, not_visible, "no member of it");
        assert_eq!(insert(9, 1, 1, rotating).await, not_visible, "no workspace at all: the same answer");
        assert_eq!(insert(1, 1, 2, rotating).await, not_visible, "somebody else's device");
        assert_eq!(insert(1, 1, 1, SessionClass::Sliding).await, not_visible, "another class than the device's");
        assert_eq!(insert(1, 1, 1, rotating).await, Ok(()));
    }

    async fn the_oldest_family_and_token_make_room(fixture: Fixture) {
        let store = &fixture.store;
        make_person(store, 1).await;
        make_device(store, 1, SessionClass::Rotating).await;
        let max = u8::try_from(limits::SESSIONS_PER_DEVICE_MAX).expect("small");
        for n in 0..max {
            let ids = &(family(100 + n), workspace(1), user(1), device(1));
            let done: Result<(), StoreError> = store.run("insert", |mut tx| async move {
                tx.insert_family(new_family(ids), NOW + 1 + i64::from(n)).await?;
                tx.commit_with(entry(1), ()).await
            }).await;
            done.expect("inserted");
        }
        assert_eq!(by_family(store, 1).await.standing(NOW), Standing::Ended(EndReason::Replaced));
        assert_eq!(by_family(store, 100).await.standing(NOW), Standing::Live(Role::Owner));

        let tokens = u8::try_from(limits::ACCESS_TOKENS_PER_FAMILY_MAX).expect("small");
        for n in 0..=tokens {
            let done: Result<(), StoreError> = store.run("token", |mut tx| async move {
                tx.insert_access_token(&mac(200 + n), &family(100), NOW + i64::from(n), NOW + 500).await?;
                tx.commit_upkeep(Upkeep::Session, ())
            }).await;
            done.expect("inserted");
        }
        assert_eq!(by_access(store, 200).await, None);
        assert!(by_access(store, 201).await.is_some() && by_access(store, 200 + tokens).await.is_some());
    }

    async fn losing_membership_ends_the_session(fixture: Fixture) {
        let store = &fixture.store;
        for n in [1, 2] {
            make_person(store, n).await;
            make_device(store, n, SessionClass::Rotating).await;
        }
        let ids = &(family(77), workspace(1), user(2), device(2));
        let done: Result<(), StoreError> = store.run("join", |mut tx| async move {
            tx.set_member(&viewer(1, 1), &user(2), Role::Member, NOW).await?;
            tx.insert_family(new_family(ids), NOW).await?;
            tx.insert_access_token(&mac(77), &family(77), NOW, NOW + 500).await?;
            tx.commit_with(entry(1), ()).await
        }).await;
        done.expect("joined");
        assert_eq!(by_access(store, 77).await.expect("is there").standing(NOW), Standing::Live(Role::Member));
        let done: Result<Role, StoreError> = store.run("remove", |mut tx| async move {
            let role = tx.remove_member(&viewer(1, 1), &user(2), NOW).await?;
            tx.commit_with(entry(1), role).await
        }).await;
        assert_eq!(done, Ok(Role::Member));
        assert_eq!(by_access(store, 77).await.expect("is there").standing(NOW), Standing::Ended(EndReason::MembershipEnded));
        assert_eq!(by_access(store, 2).await.expect("is there").standing(NOW), Standing::Live(Role::Owner), "their own workspace stays");
    }

    async fn sweeping_keeps_what_lives(fixture: Fixture) {
        let store = &fixture.store;
        make_person(store, 1).await;
        make_device(store, 1, SessionClass::Rotating).await;
        for (now_ms, swept) in [(NOW + 599_999, 0), (NOW + 600_000, 1), (NOW + 9_999_999, 0), (NOW + 10_000_000, 1)] {
            let done: Result<u64, StoreError> = store.run("sweep", |mut tx| async move {
                let swept = tx.sweep_sessions(now_ms).await?;
                tx.commit_upkeep(Upkeep::Session, swept)
            }).await;
            assert_eq!(done, Ok(swept), "at {now_ms}");
        }
    }

    async fn a_nonce_works_once_per_device_and_window(fixture: Fixture) {
        let store = &fixture.store;
        for n in [1, 2] {
            make_person(store, n).await;
            make_device(store, n, SessionClass::Rotating).await;
        }
        assert_eq!(nonce(store, 1, "abc", NOW).await, Ok(()));
        assert_eq!(nonce(store, 1, "abc", NOW + 599_999).await, Err(StoreError::Replayed { what: "nonce" }));
        assert_eq!(nonce(store, 2, "abc", NOW).await, Ok(()), "another device");
        assert_eq!(nonce(store, 1, "abc", NOW + 600_000).await, Ok(()), "twice the skew later no signature with it is fresh");
        let all: Vec<_> = (0..16).map(|_| {
            let store = store.clone();
            tokio::spawn(async move { nonce(&store, 1, "race", NOW).await })
        }).collect();
        let mut passed = 0;
        for one in all {
            passed += u32::from(one.await.expect("no panic").is_ok());
        }
        assert_eq!(passed, 1);
    }

    async fn a_full_nonce_store_refuses_and_evicts_nothing(fixture: Fixture) {
        let store = &fixture.store;
        for n in [1, 2] {
            make_person(store, n).await;
            make_device(store, n, SessionClass::Rotating).await;
        }
        let within = |device_n: u8, text: &'static str, now_ms: i64| async move {
            let window = Window { expires_at_ms: now_ms + 1000, max: 3 };
            let done: Result<(), StoreError> = store.run("nonce", |mut tx| async move {
                tx.insert_request_nonce_within(&device(device_n), text, now_ms, window).await?;
                tx.commit_upkeep(Upkeep::Nonce, ())
            }).await;
            done
        };
        for (text, at) in [("a", 0), ("b", 1), ("c", 2)] {
            assert_eq!(within(1, text, NOW + at).await, Ok(()));
        }
        assert_eq!(within(1, "d", NOW + 3).await, Err(StoreError::Full { what: "nonces", max: 3 }));
        assert_eq!(within(2, "d", NOW + 3).await, Ok(()), "each device has its own store");
        assert_eq!(within(1, "d", NOW + 1000).await, Ok(()), "the oldest has expired");
        assert_eq!(within(1, "b", NOW + 1000).await, Err(StoreError::Full { what: "nonces", max: 3 }));
        assert_eq!(within(1, "c", NOW + 1001).await, Err(StoreError::Replayed { what: "nonce" }), "what lives was kept");
    }
}
