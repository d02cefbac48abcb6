//! Pairings: one code, one decision, one claim, five tries.

use super::{
    Fixture, on_both_engines,
    world::{NOW, device, entry, family, mac, make_device, make_person, user, workspace},
};
use crate::{Guesser, NewDevice, NewPairing, Pairing, PairingState, Store, StoreError, Upkeep};
use contract::{device::SessionClass, ids::PairingId, limits};

const TTL_MS: i64 = 600_000;

fn pairing(n: u8) -> PairingId {
    PairingId::from_random([n; 16])
}

/// Pairing `n` with device code `n` and user code `code`.
async fn start(store: &Store, n: u8, code: u8, now_ms: i64) -> Result<i64, StoreError> {
    store
        .run("start", |mut tx| async move {
            let new = NewPairing {
                id: &pairing(n),
                device_code: &mac(n),
                user_code: &mac(code),
                challenge: "challenge",
                public_key: &[n; 32],
                device_name: "Laptop",
                session_class: SessionClass::Rotating,
                origin: "http://127.0.0.1:7420",
            };
            let end = tx.insert_pairing(new, now_ms).await?;
            tx.commit_with(entry(1), end).await
        })
        .await
}

async fn approve(store: &Store, n: u8, now_ms: i64) -> Result<(), StoreError> {
    store
        .run("approve", |mut tx| async move {
            tx.approve_pairing(&pairing(n), &user(1), &workspace(1), now_ms).await?;
            tx.commit_with(entry(1), ()).await
        })
        .await
}

async fn refuse(store: &Store, n: u8) -> Result<(), StoreError> {
    store
        .run("refuse", |mut tx| async move {
            tx.refuse_pairing(&pairing(n), NOW).await?;
            tx.commit_with(entry(1), ()).await
        })
        .await
}

/// Claims pairing `n` as device `device_n`.
async fn claim(store: &Store, n: u8, device_n: u8, now_ms: i64) -> Result<(), StoreError> {
    store
        .run("claim", |mut tx| async move {
            let id = &device(device_n);
            let class = SessionClass::Rotating;
            tx.insert_device(
                NewDevice { id, user_id: &user(1), name: "Laptop", public_key: &[n; 32], session_class: class },
                now_ms,
            )
            .await?;
            tx.claim_pairing(&pairing(n), id, &family(device_n), now_ms).await?;
            tx.commit_with(entry(1), ()).await
        })
        .await
}

async fn by_user_code(store: &Store, code: u8, now_ms: i64) -> Option<Pairing> {
    let found =
        store.read("find", |mut tx| async move { tx.find_pairing_by_user_code(&mac(code), now_ms).await }).await;
    found.unwrap_or_else(|error: StoreError| panic!("{error}"))
}

async fn by_device_code(store: &Store, n: u8) -> Option<Pairing> {
    let found = store.read("find", |mut tx| async move { tx.find_pairing_by_device_code(&mac(n)).await }).await;
    found.unwrap_or_else(|error: StoreError| panic!("{error}"))
}

async fn guess(store: &Store, guesser: Guesser<'_>, now_ms: i64) -> Result<u64, StoreError> {
    store
        .run("guess", |mut tx| async move {
            let left = tx.count_pairing_try(guesser, now_ms).await?;
            tx.commit_upkeep(Upkeep::Retry, left)
        })
        .await
}

fn fenced(statement: &'static str) -> Result<(), StoreError> {
    Err(StoreError::Fenced { statement, expected: 1, actual: 0 })
}

on_both_engines! {
    async fn a_pairing_goes_one_way(fixture: Fixture) {
        let store = &fixture.store;
        make_person(store, 1).await;
        assert_eq!(start(store, 1, 51, NOW).await, Ok(NOW + TTL_MS));
        assert_eq!(claim(store, 1, 1, NOW).await, fenced("CLAIM_PAIRING"), "not approved");
        let waiting = by_user_code(store, 51, NOW).await.expect("waits");
        assert_eq!((&waiting.state, waiting.public_key, waiting.origin.as_str()), (&PairingState::Waiting, [1; 32], "http://127.0.0.1:7420"));

        assert_eq!(approve(store, 1, NOW).await, Ok(()));
        assert_eq!(approve(store, 1, NOW).await, fenced("APPROVE_PAIRING"));
        assert_eq!(refuse(store, 1).await, fenced("REFUSE_PAIRING"));
        assert_eq!(by_user_code(store, 51, NOW).await, None, "an approved code leads nowhere");
        let approved = by_device_code(store, 1).await.expect("is there").state;
        assert_eq!(approved, PairingState::Approved { user_id: user(1), workspace_id: workspace(1) });

        assert_eq!(claim(store, 1, 1, NOW + 7).await, Ok(()));
        assert_eq!(claim(store, 1, 2, NOW + 7).await, fenced("CLAIM_PAIRING"), "one claim");
        let claimed = by_device_code(store, 1).await.expect("is there").state;
        let expected = PairingState::Claimed {
            user_id: user(1), workspace_id: workspace(1), device_id: device(1), family_id: family(1), at_ms: NOW + 7,
        };
        assert_eq!(claimed, expected);
        let listed: Result<Vec<_>, StoreError> = store.read("list", |mut tx| async move { tx.list_devices(&user(1)).await }).await;
        assert_eq!(listed.expect("reads").len(), 1, "the second claim made no device");
    }

    async fn of_many_claims_one_wins(fixture: Fixture) {
        make_person(&fixture.store, 1).await;
        start(&fixture.store, 1, 51, NOW).await.expect("started");
        approve(&fixture.store, 1, NOW).await.expect("approved");
        let claims: Vec<_> = (0..16).map(|n| {
            let store = fixture.store.clone();
            tokio::spawn(async move { claim(&store, 1, n, NOW).await })
        }).collect();
        let mut won = 0;
        for claimed in claims {
            won += u32::from(claimed.await.expect("no panic").is_ok());
        }
        assert_eq!(won, 1);
    }

    async fn an_expired_pairing_is_over(fixture: Fixture) {
        let store = &fixture.store;
        make_person(store, 1).await;
        start(store, 1, 51, NOW).await.expect("started");
        assert!(by_user_code(store, 51, NOW + TTL_MS - 1).await.is_some());
        assert_eq!(by_user_code(store, 51, NOW + TTL_MS).await, None);
        assert_eq!(approve(store, 1, NOW + TTL_MS).await, fenced("APPROVE_PAIRING"));
        assert_eq!(approve(store, 1, NOW + TTL_MS - 1).await, Ok(()));
        assert_eq!(claim(store, 1, 1, NOW + TTL_MS).await, fenced("CLAIM_PAIRING"));

        start(store, 2, 52, NOW).await.expect("started");
        assert_eq!(refuse(store, 2).await, Ok(()));
        assert_eq!(approve(store, 2, NOW).await, fenced("APPROVE_PAIRING"), "no means no");
        assert_eq!(by_device_code(store, 2).await.expect("is there").state, PairingState::Refused);
    }

    async fn codes_are_unique_and_pairings_bounded(fixture: Fixture) {
        let store = &fixture.store;
        start(store, 1, 51, NOW).await.expect("started");
        let taken = Err(StoreError::AlreadyThere { what: "pairing" });
        assert_eq!(start(store, 2, 51, NOW).await, taken, "the same user code");
        assert_eq!(start(store, 1, 53, NOW).await, taken, "the same device code");

        let sql = "INSERT INTO pairing (id, device_code_hmac, user_code_hmac, challenge, public_key, device_name, session_class, origin, state, \
            created_at_ms, expires_at_ms) ";
        let rows = match &fixture.config {
            crate::StoreConfig::Sqlite { .. } => format!("{sql} WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 999) \
                SELECT 'pair_' || i, CAST('d' || i AS BLOB), CAST('u' || i AS BLOB), 'c', CAST('k' AS BLOB), 'n', 'sliding', 'o', 'waiting', 0, {} FROM n", NOW + 5),
            crate::StoreConfig::Postgres { .. } => format!("{sql} SELECT 'pair_' || i, ('d' || i)::bytea, ('u' || i)::bytea, 'c', 'k'::bytea, 'n', 'sliding', \
                'o', 'waiting', 0, {} FROM generate_series(1, 999) i", NOW + 5),
        };
        crate::tests::shape::raw(&fixture.config, &rows).await;
        let full = Err(StoreError::Full { what: "pairings", max: limits::PAIRINGS_OPEN_MAX });
        assert_eq!(start(store, 3, 54, NOW).await, full);
        assert_eq!(start(store, 3, 54, NOW + 5).await, Ok(NOW + 5 + TTL_MS), "expired ones make room");
    }

    async fn the_sixth_guess_is_refused(fixture: Fixture) {
        let store = &fixture.store;
        make_person(store, 1).await;
        make_device(store, 1, SessionClass::Rotating).await;
        let (cookie, id) = (mac(1), device(1));
        let browser = Guesser::Browser(&cookie);
        for left in [4, 3, 2, 1, 0] {
            assert_eq!(guess(store, browser, NOW).await, Ok(left));
        }
        let full = Err(StoreError::Full { what: "pairing tries", max: limits::PAIRING_TRIES_MAX });
        assert_eq!(guess(store, browser, NOW + TTL_MS - 1).await, full);
        assert_eq!(guess(store, Guesser::Device(&id), NOW).await, Ok(4), "counted apart");
        assert_eq!(guess(store, browser, NOW + TTL_MS).await, Ok(4), "a new window");

        let right: Result<(), StoreError> = store.run("right", |mut tx| async move {
            tx.return_pairing_try(Guesser::Device(&device(1))).await?;
            tx.commit_upkeep(Upkeep::Retry, ())
        }).await;
        right.expect("given back");
        assert_eq!(guess(store, Guesser::Device(&id), NOW).await, Ok(4), "a right code costs nothing");
        assert_eq!(guess(store, Guesser::Device(&id), NOW).await, Ok(3), "and gives back no wrong one");
    }

    /// A guesser who fires all tries at once gets five, not five per connection.
    async fn guesses_at_once_are_counted(fixture: Fixture) {
        let guesses: Vec<_> = (0..20).map(|_| {
            let store = fixture.store.clone();
            tokio::spawn(async move { guess(&store, Guesser::Browser(&mac(1)), NOW).await })
        }).collect();
        let mut passed = 0;
        for tried in guesses {
            passed += u64::from(tried.await.expect("no panic").is_ok());
        }
        assert_eq!(passed, limits::PAIRING_TRIES_MAX);
    }

    async fn a_claimed_pairing_outlives_its_end_for_the_repeat(fixture: Fixture) {
        let store = &fixture.store;
        make_person(store, 1).await;
        start(store, 1, 51, NOW).await.expect("started");
        approve(store, 1, NOW).await.expect("approved");
        claim(store, 1, 1, NOW + TTL_MS - 1).await.expect("claimed");
        let repeat_ms = 1000 * i64::try_from(limits::PAIRING_REPEAT_S).expect("small");
        for (now_ms, stays) in [(NOW + TTL_MS + repeat_ms - 1, true), (NOW + TTL_MS + repeat_ms, false)] {
            let done: Result<u64, StoreError> = store.run("sweep", |mut tx| async move {
                let swept = tx.sweep_pairings(now_ms).await?;
                tx.commit_upkeep(Upkeep::Session, swept)
            }).await;
            done.expect("swept");
            assert_eq!(by_device_code(store, 1).await.is_some(), stays);
        }
    }
}
