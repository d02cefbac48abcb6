//! The vault's rows: sealed secrets by compare-and-set, sign-ins taken once, loans, invocations, and the key store, on both engines.

use super::{
    Fixture, PrivateDatabase, on_both_engines, runtime,
    world::{
        NOW, connection, deployment, device, digest, entry, json, make_device, make_person, user, viewer, workspace,
    },
};
use crate::{
    Attempt, Begun, BootCanary, ClientAuthMethod, ClientIdentityKind, CloudCredentials, ConnectionOAuth, InvocationKey,
    InvocationState, KeyStore, NewConnection, NewInvocation, NewLoan, NewReview, NewVaultCredential, OAuthTxn,
    OAuthTxnPurpose, RevocationReach, Rewrap, Store, StoreConfig, StoreError, Swap, TenantKey, TenantKeyState, Upkeep,
    repository::key_store_statements,
};
use contract::{
    Effect,
    blob::SecretKind,
    connection::{Profile, SealFormat, SignedWire},
    device::SessionClass,
    ids::LoanId,
};
use sqlx::{Connection as _, Executor as _, PgConnection, SqlSafeStr as _, SqliteConnection};

/// Connection `n` of person `n`, of this profile, in `review_required`.
async fn make_cloud(store: &Store, n: u8, profile: Profile) {
    make_person(store, n).await;
    make_device(store, n, SessionClass::Rotating).await;
    let new = NewConnection {
        id: &connection(n),
        name: "Notes",
        project_id: None,
        profile,
        endpoint: "https://mcp.example.test/mcp",
        manifest: &[],
        manifest_digest: &digest("rows"),
        seal_format: SealFormat::V2,
        device_id: &device(n),
    };
    let made = store.run("make", |mut tx| async move {
        tx.insert_connection(&viewer(n, n), new, NOW).await?;
        tx.commit_with(entry(n), ()).await
    });
    made.await.unwrap_or_else(|error: StoreError| panic!("{error}"));
}

fn oauth() -> ConnectionOAuth {
    ConnectionOAuth {
        issuer: "https://as.example.test".to_owned(),
        client_id: "client-1".to_owned(),
        client_identity: ClientIdentityKind::Registered,
        client_auth: ClientAuthMethod::ClientSecretBasic,
        scopes: vec!["notes:read".to_owned(), "a\"b".to_owned()],
        subject: Some("ada".to_owned()),
        revocation: RevocationReach::Grant,
        reuse_safe: false,
    }
}

async fn write(store: &Store, n: u8, kind: SecretKind, expected_version: u64, bytes: u8) -> Result<u64, StoreError> {
    let blob = [bytes; 40];
    let new = NewVaultCredential {
        secret_kind: kind,
        expected_version,
        dek: &blob,
        payload: &blob,
        commitment: &digest("c"),
        tmk_gen: 3,
    };
    store
        .run("write", |mut tx| async move {
            let version = tx.write_vault_credential(&viewer(n, n), &connection(n), new, NOW).await?;
            tx.commit_with(entry(n), version).await
        })
        .await
}

async fn stored(store: &Store, n: u8, kind: SecretKind) -> Option<(u64, u8)> {
    let found =
        store.read("find", |mut tx| async move { tx.find_vault_credential(&workspace(n), &connection(n), kind).await });
    let found: Result<_, StoreError> = found.await;
    found.expect("reads").map(|row| (row.version, row.dek[0]))
}

async fn review(
    store: &Store,
    n: u8,
    expected_version: u64,
    seq: u64,
    credential: CloudCredentials<'_>,
) -> Result<(), StoreError> {
    let raw = json(r#"{"instructions":"","tools":[]}"#);
    let wire = SignedWire { payload: "e30".to_owned(), kid: "k".to_owned(), sig: "s".to_owned() };
    let new = NewReview {
        expected_version,
        manifest: &[],
        manifest_digest: &digest("rows"),
        raw_manifest: &raw,
        raw_digest: &digest("raw"),
        review: &wire,
        review_digest: &digest("review"),
        review_seq: seq,
        allowed_effects: &[Effect::Observe],
        device_id: &device(n),
        credential,
    };
    store
        .run("review", |mut tx| async move {
            tx.review_cloud(&viewer(n, n), &connection(n), new, NOW).await?;
            tx.commit_with(entry(n), ()).await
        })
        .await
}

fn secret(kind: SecretKind, expected_version: u64, blob: &[u8]) -> NewVaultCredential<'_> {
    static COMMITMENT: std::sync::OnceLock<contract::Digest> = std::sync::OnceLock::new();
    let commitment = COMMITMENT.get_or_init(|| digest("c"));
    NewVaultCredential { secret_kind: kind, expected_version, dek: blob, payload: blob, commitment, tmk_gen: 1 }
}

fn txn(n: u8, id: &str, purpose: OAuthTxnPurpose) -> OAuthTxn {
    let waiting = purpose == OAuthTxnPurpose::WaitingCredential;
    OAuthTxn {
        id: id.to_owned(),
        workspace_id: workspace(n),
        connection_id: connection(n),
        user_id: user(n),
        device_id: device(n),
        purpose,
        secret_kind: if waiting { SecretKind::OAuth } else { SecretKind::Pkce },
        endpoint: "https://mcp.example.test/mcp".to_owned(),
        issuer: "https://as.example.test".to_owned(),
        client_id: "client-1".to_owned(),
        client: Some((ClientIdentityKind::Cimd, ClientAuthMethod::None)),
        scopes: vec!["notes:read".to_owned()],
        subject: None,
        dek: vec![1; 9],
        payload: vec![2; 9],
        tmk_gen: 1,
        created_at_ms: NOW,
        expires_at_ms: NOW + 600_000,
    }
}

async fn keep(store: &Store, row: &OAuthTxn) -> Result<(), StoreError> {
    store
        .run("keep", |mut tx| async move {
            tx.insert_oauth_txn(row).await?;
            tx.commit_upkeep(Upkeep::SignIn, ())
        })
        .await
}

async fn take(store: &Store, id: &str, purpose: OAuthTxnPurpose, now_ms: i64) -> Option<OAuthTxn> {
    let taken = store.run("take", |mut tx| async move {
        let row = tx.take_oauth_txn(id, purpose, now_ms).await?;
        tx.commit_upkeep(Upkeep::SignIn, row)
    });
    let taken: Result<_, StoreError> = taken.await;
    taken.expect("takes")
}

fn key(n: u8) -> (contract::ids::ConnectionId, contract::ids::DeviceId) {
    (connection(n), device(n))
}

async fn begin(store: &Store, n: u8, tool: &str, arguments: &str, process: &str) -> Result<Begun, StoreError> {
    let (connection_id, device_id) = key(n);
    let (arguments_digest, review_digest) = (digest(arguments), digest("review"));
    let new = NewInvocation {
        key: InvocationKey { connection_id: &connection_id, device_id: &device_id, idempotency_key: "k1" },
        tool,
        arguments_digest: &arguments_digest,
        review_digest: &review_digest,
        process,
    };
    store
        .run("begin", |mut tx| async move {
            let begun = tx.begin_invocation(&viewer(n, n), new, NOW).await?;
            match begun {
                Begun::Intent => tx.commit_with(entry(n), begun).await,
                Begun::Before(_) => tx.commit_unchanged(begun),
            }
        })
        .await
}

#[derive(Clone, Copy)]
enum Step {
    Send,
    Complete,
    Doubt,
    Withdraw,
}

async fn step(store: &Store, n: u8, process: &str, step: Step) -> Result<(), StoreError> {
    let (connection_id, device_id) = key(n);
    let name = InvocationKey { connection_id: &connection_id, device_id: &device_id, idempotency_key: "k1" };
    let (workspace, result) = (workspace(n), digest("result"));
    let (workspace, result) = (&workspace, &result);
    store
        .run("step", |mut tx| async move {
            match step {
                Step::Send => tx.send_invocation(workspace, name, process, NOW).await?,
                Step::Complete => tx.complete_invocation(workspace, name, process, result, NOW).await?,
                Step::Doubt => tx.doubt_invocation(workspace, name, process, NOW).await?,
                Step::Withdraw => tx.withdraw_invocation(workspace, name, process).await?,
            }
            tx.commit_with(entry(n), ()).await
        })
        .await
}

async fn lend(store: &Store, n: u8, loan: u8, ends_at_ms: i64) -> Result<(), StoreError> {
    let (id, connection_id, device_id, review_digest) =
        (LoanId::from_random([loan; 16]), connection(n), device(n), digest("review"));
    let scopes = ["notes:read".to_owned()];
    let new = NewLoan {
        id: &id,
        connection_id: &connection_id,
        device_id: &device_id,
        review_digest: &review_digest,
        credential_version: 1,
        scopes: &scopes,
        unchecked: true,
        ends_at_ms,
    };
    store
        .run("lend", |mut tx| async move {
            let made = tx.insert_loan(&viewer(n, n), new, NOW).await?;
            assert!(made.unchecked && made.scopes == scopes_of(new));
            tx.commit_with(entry(n), ()).await
        })
        .await
}

fn scopes_of(new: NewLoan<'_>) -> Vec<String> {
    new.scopes.to_vec()
}

async fn revoke(store: &Store, n: u8) {
    let revoked = store.run("revoke", |mut tx| async move {
        tx.revoke_connection(&viewer(n, n), &connection(n), NOW).await?;
        tx.commit_with(entry(n), ()).await
    });
    revoked.await.unwrap_or_else(|error: StoreError| panic!("{error}"));
}

on_both_engines! {
    async fn a_secret_is_written_on_the_version_its_writer_saw(fixture: Fixture) {
        let store = &fixture.store;
        make_cloud(store, 1, Profile::CloudProxy).await;
        let kind = SecretKind::OAuth;
        assert_eq!(write(store, 1, kind, 1, 9).await, Err(StoreError::VersionMoved { what: "credential", expected: 1, actual: 0 }));
        assert_eq!(write(store, 1, kind, 0, 1).await, Ok(1));
        assert_eq!(write(store, 1, kind, 0, 9).await, Err(StoreError::VersionMoved { what: "credential", expected: 0, actual: 1 }));
        assert_eq!(write(store, 1, kind, 1, 2).await, Ok(2));
        assert_eq!(stored(store, 1, kind).await, Some((2, 2)));
        // Another kind of secret is another row.
        assert_eq!(write(store, 1, SecretKind::Dcr, 0, 5).await, Ok(1));
        assert_eq!(stored(store, 1, kind).await, Some((2, 2)));

        make_cloud(store, 2, Profile::DeviceDirect).await;
        assert_eq!(write(store, 2, kind, 0, 1).await, Err(StoreError::WrongState { what: "connection", state: "sealed on devices" }));
    }

    async fn of_many_writers_one_wins(fixture: Fixture) {
        let store = fixture.store.clone();
        make_cloud(&store, 1, Profile::CloudProxy).await;
        let writers = (0..8_u8).map(|byte| {
            let store = store.clone();
            tokio::spawn(async move { write(&store, 1, SecretKind::OAuth, 0, byte).await })
        });
        let mut won = 0;
        for writer in writers.collect::<Vec<_>>() {
            match writer.await.expect("no panic") {
                Ok(1) => won += 1,
                Err(StoreError::VersionMoved { expected: 0, actual: 1, .. }) => {}
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(won, 1);
    }

    async fn a_secret_of_another_person_is_not_written(fixture: Fixture) {
        let store = &fixture.store;
        make_cloud(store, 1, Profile::CloudProxy).await;
        make_cloud(store, 2, Profile::CloudProxy).await;
        let blob = [7; 40];
        let new = secret(SecretKind::OAuth, 0, &blob);
        for stranger in [viewer(2, 2), viewer(1, 2), viewer(2, 1)] {
            let stranger = &stranger;
            let refused = store.run("write", |mut tx| async move {
                let version = tx.write_vault_credential(stranger, &connection(1), new, NOW).await?;
                tx.commit_with(entry(1), version).await
            });
            let refused: Result<u64, StoreError> = refused.await;
            assert_eq!(refused, Err(StoreError::NotVisible { what: "connection" }), "{stranger:?}");
        }
    }

    async fn a_review_lands_with_its_secrets_or_not_at_all(fixture: Fixture) {
        let store = &fixture.store;
        make_cloud(store, 1, Profile::CloudProxy).await;
        let (one, two, oauth) = ([1; 40], [2; 40], oauth());
        keep(store, &txn(1, "t1", OAuthTxnPurpose::WaitingCredential)).await.expect("keeps");
        // The second secret is for a version that does not stand: nothing of the review lands.
        let torn = [secret(SecretKind::OAuth, 0, &one), secret(SecretKind::Dcr, 4, &two)];
        let refused = review(store, 1, 1, 1, CloudCredentials { secrets: &torn, oauth: Some(&oauth) }).await;
        assert_eq!(refused, Err(StoreError::VersionMoved { what: "credential", expected: 4, actual: 0 }));
        assert_eq!(stored(store, 1, SecretKind::OAuth).await, None);

        let whole = [secret(SecretKind::OAuth, 0, &one), secret(SecretKind::Dcr, 0, &two)];
        review(store, 1, 1, 1, CloudCredentials { secrets: &whole, oauth: Some(&oauth) }).await.expect("lands");
        let facts: Result<_, StoreError> = store.read("oauth", |mut tx| async move {
            let waiting = tx.list_waiting_credentials(&viewer(1, 1), &connection(1), NOW).await?;
            Ok((tx.find_connection_oauth(&workspace(1), &connection(1)).await?, waiting))
        }).await;
        assert_eq!(facts, Ok((Some(oauth), Vec::new())), "what waited for the review is gone");
        assert_eq!(stored(store, 1, SecretKind::Dcr).await, Some((1, 2)));

        // A review with a static credential leaves nothing of the grant behind.
        let bearer = [secret(SecretKind::StaticBearer, 0, &one)];
        review(store, 1, 2, 2, CloudCredentials { secrets: &bearer, oauth: None }).await.expect("lands");
        assert_eq!(stored(store, 1, SecretKind::OAuth).await, None);
        assert_eq!(stored(store, 1, SecretKind::StaticBearer).await, Some((1, 1)));
    }

    async fn revoking_shreds_every_secret_and_ends_every_loan(fixture: Fixture) {
        let store = &fixture.store;
        for n in [1, 2] {
            make_cloud(store, n, Profile::CloudProxy).await;
            let (blob, oauth) = ([n; 40], oauth());
            let secrets = [secret(SecretKind::OAuth, 0, &blob)];
            review(store, n, 1, 1, CloudCredentials { secrets: &secrets, oauth: Some(&oauth) }).await.expect("lands");
            lend(store, n, n, NOW + 60_000).await.expect("lends");
            keep(store, &txn(n, &format!("t{n}"), OAuthTxnPurpose::Authorization)).await.expect("keeps");
        }
        revoke(store, 1).await;
        assert_eq!(stored(store, 1, SecretKind::OAuth).await, None);
        assert_eq!(take(store, "t1", OAuthTxnPurpose::Authorization, NOW).await, None);
        let loans = async |n: u8| {
            let loans: Result<_, StoreError> =
                store.read("loans", |mut tx| async move { tx.list_loans(&workspace(n), &connection(n), NOW).await }).await;
            loans.expect("reads").len()
        };
        assert_eq!(loans(1).await, 0);
        assert_eq!(lend(store, 1, 9, NOW + 60_000).await, Err(StoreError::WrongState { what: "connection", state: "revoked" }));
        assert_eq!(write(store, 1, SecretKind::OAuth, 0, 1).await, Err(StoreError::WrongState { what: "connection", state: "revoked" }));
        // The neighbour keeps everything.
        assert_eq!(stored(store, 2, SecretKind::OAuth).await, Some((1, 2)));
        assert_eq!(loans(2).await, 1);
        assert!(take(store, "t2", OAuthTxnPurpose::Authorization, NOW).await.is_some());
    }

    async fn a_refreshed_grant_lands_on_the_intent_of_its_owner(fixture: Fixture) {
        let store = &fixture.store;
        make_cloud(store, 1, Profile::CloudProxy).await;
        let (blob, oauth) = ([1; 40], oauth());
        let secrets = [secret(SecretKind::OAuth, 0, &blob), secret(SecretKind::ClientSecret, 0, &blob)];
        review(store, 1, 1, 1, CloudCredentials { secrets: &secrets, oauth: Some(&oauth) }).await.expect("lands");
        let viewer = viewer(1, 1);
        let viewer = &viewer;
        let intent: Result<_, StoreError> = store.run("intend", |mut tx| async move {
            let standing = tx.find_connection(viewer, &connection(1)).await?.expect("is there");
            assert_eq!(standing.credential_version, 1, "the version of the grant");
            let Swap::Done(fence) = tx.take_refresh_lease(viewer, &standing, "process-1", NOW).await? else { panic!("leased") };
            let attempt = Attempt { owner: "process-1", fence, version: 1, grant_epoch: 1 };
            assert_eq!(tx.place_refresh_intent(viewer, &standing, attempt, None).await?, Swap::Done(()));
            tx.commit_with(entry(1), fence).await
        }).await;
        let fence = intent.expect("intends");
        let busy = review(store, 1, 2, 2, CloudCredentials { secrets: &[secret(SecretKind::OAuth, 1, &blob)], oauth: Some(&oauth) }).await;
        assert_eq!(busy, Err(StoreError::Refreshing), "no other write while a token may be on its way");

        let land = async |owner: &'static str, byte: u8| {
            let blob = [byte; 40];
            let landed: Result<_, StoreError> = store.run("land", |mut tx| async move {
                let standing = tx.find_connection(viewer, &connection(1)).await?.expect("is there");
                let attempt = Attempt { owner, fence, version: 1, grant_epoch: 1 };
                let swap = tx.store_refreshed_cloud(viewer, &standing, attempt, secret(SecretKind::OAuth, 1, &blob), NOW).await?;
                match swap {
                    Swap::Done(_) => tx.commit_with(entry(1), swap).await,
                    Swap::Stood(_) | Swap::Lost => tx.commit_unchanged(swap),
                }
            }).await;
            landed.expect("no error")
        };
        assert_eq!(land("process-2", 8).await, Swap::Lost);
        assert_eq!(land("process-1", 7).await, Swap::Done(2));
        assert_eq!(land("process-1", 9).await, Swap::Lost, "once");
        assert_eq!(stored(store, 1, SecretKind::OAuth).await, Some((2, 7)));

        let consent = async |epoch: u64| {
            let blob = [5; 40];
            let stored: Result<_, StoreError> = store.run("consent", |mut tx| async move {
                let standing = tx.find_connection(viewer, &connection(1)).await?.expect("is there");
                let secrets = [secret(SecretKind::OAuth, 2, &blob)];
                let new = CloudCredentials { secrets: &secrets, oauth: None };
                let swap = tx.store_consent_cloud(viewer, &standing, epoch, new, NOW).await?;
                match swap {
                    Swap::Done(()) => tx.commit_with(entry(1), swap).await,
                    Swap::Stood(()) | Swap::Lost => tx.commit_unchanged(swap),
                }
            }).await;
            stored.expect("no error")
        };
        assert_eq!(consent(2).await, Swap::Lost);
        assert_eq!(consent(1).await, Swap::Done(()));
        assert_eq!(stored(store, 1, SecretKind::OAuth).await, Some((3, 5)));
        assert_eq!(stored(store, 1, SecretKind::ClientSecret).await, None, "the old consent's secrets are gone");
    }

    async fn a_sign_in_is_taken_once(fixture: Fixture) {
        let store = fixture.store.clone();
        make_cloud(&store, 1, Profile::CloudProxy).await;
        let row = txn(1, "t1", OAuthTxnPurpose::Authorization);
        keep(&store, &row).await.expect("keeps");
        assert_eq!(take(&store, "t1", OAuthTxnPurpose::WaitingCredential, NOW).await, None, "another purpose");
        assert_eq!(take(&store, "t1", OAuthTxnPurpose::Authorization, NOW + 600_000).await, None, "over");
        let takers = (0..8).map(|_| {
            let store = store.clone();
            tokio::spawn(async move { take(&store, "t1", OAuthTxnPurpose::Authorization, NOW).await })
        });
        let mut taken = Vec::new();
        for taker in takers.collect::<Vec<_>>() {
            taken.extend(taker.await.expect("no panic"));
        }
        assert_eq!(taken, [row]);
        assert_eq!(take(&store, "t1", OAuthTxnPurpose::Authorization, NOW).await, None);
    }

    async fn sign_ins_are_bounded_and_swept(fixture: Fixture) {
        let store = &fixture.store;
        make_cloud(store, 1, Profile::CloudProxy).await;
        let max = contract::limits::OAUTH_TXNS_PER_WORKSPACE_MAX;
        let filled: Result<(), StoreError> = store.run("fill", |mut tx| async move {
            for at in 0..max {
                tx.insert_oauth_txn(&txn(1, &format!("t{at}"), OAuthTxnPurpose::Authorization)).await?;
            }
            tx.commit_upkeep(Upkeep::SignIn, ())
        }).await;
        filled.expect("fills");
        let full = keep(store, &txn(1, "more", OAuthTxnPurpose::Authorization)).await;
        assert_eq!(full, Err(StoreError::Full { what: "sign-ins in progress", max }));
        let revocation = OAuthTxn { secret_kind: SecretKind::OAuth, ..txn(1, "rev", OAuthTxnPurpose::Revocation) };
        keep(store, &revocation).await.expect("a revocation always fits");
        let swept: Result<u64, StoreError> = store.run("sweep", |mut tx| async move {
            let swept = tx.sweep_oauth_txns(NOW + 600_000).await?;
            tx.commit_upkeep(Upkeep::SignIn, swept)
        }).await;
        assert_eq!(swept, Ok(max + 1));
    }

    async fn a_loan_has_an_end_and_a_standing_review(fixture: Fixture) {
        let store = &fixture.store;
        make_cloud(store, 1, Profile::CloudProxy).await;
        assert_eq!(lend(store, 1, 1, NOW + 1).await, Err(StoreError::WrongState { what: "connection", state: "review_required" }));
        let blob = [1; 40];
        let secrets = [secret(SecretKind::None, 0, &blob)];
        review(store, 1, 1, 1, CloudCredentials { secrets: &secrets, oauth: None }).await.expect("lands");
        let too_long = NOW + 1 + i64::try_from(contract::limits::LOAN_TTL_S_MAX * 1000).expect("fits");
        for ends in [NOW, NOW - 1, too_long] {
            assert_eq!(lend(store, 1, 1, ends).await, Err(StoreError::WrongState { what: "loan", state: "longer than it may be" }));
        }
        lend(store, 1, 1, NOW + 60_000).await.expect("lends");
        let id = &LoanId::from_random([1; 16]);
        let changed: Result<_, StoreError> = store.run("change", |mut tx| async move {
            let longer = tx.shorten_loan(&viewer(1, 1), id, NOW + 90_000).await?;
            let shorter = tx.shorten_loan(&viewer(1, 1), id, NOW + 30_000).await?;
            let of_another = tx.end_loan(&viewer(1, 2), id, NOW + 1).await?;
            let ended = tx.end_loan(&viewer(1, 1), id, NOW + 1).await?;
            let again = tx.end_loan(&viewer(1, 1), id, NOW + 2).await?;
            tx.commit_with(entry(1), (longer, shorter, of_another, ended, again)).await
        }).await;
        assert_eq!(changed, Ok((false, true, false, true, false)));
        let loan: Result<_, StoreError> = store.read("loan", |mut tx| async move { tx.find_loan(&viewer(1, 1), id).await }).await;
        let loan = loan.expect("reads").expect("is there");
        assert_eq!((loan.ends_at_ms, loan.ended_at_ms), (NOW + 30_000, Some(NOW + 1)));
    }

    async fn an_idempotency_key_stands_for_one_invocation(fixture: Fixture) {
        let store = &fixture.store;
        make_cloud(store, 1, Profile::CloudProxy).await;
        assert_eq!(begin(store, 1, "send", "a", "p1").await, Ok(Begun::Intent));
        for (tool, arguments) in [("send", "b"), ("look", "a")] {
            assert_eq!(begin(store, 1, tool, arguments, "p1").await, Err(StoreError::AlreadyThere { what: "idempotency key" }));
        }
        let state = async || match begin(store, 1, "send", "a", "p2").await.expect("reads") {
            Begun::Before(standing) => standing.state,
            Begun::Intent => panic!("it stood before"),
        };
        assert_eq!(state().await, InvocationState::Intent);
        assert!(step(store, 1, "p1", Step::Complete).await.is_err(), "not sent yet");
        assert!(step(store, 1, "p2", Step::Send).await.is_err(), "another process's");
        step(store, 1, "p1", Step::Send).await.expect("sends");
        assert!(step(store, 1, "p1", Step::Send).await.is_err(), "sent once");
        assert_eq!(state().await, InvocationState::Sent);
        step(store, 1, "p1", Step::Complete).await.expect("completes");
        for later in [Step::Send, Step::Complete, Step::Doubt, Step::Withdraw] {
            assert!(step(store, 1, "p1", later).await.is_err(), "completed is the end");
        }
        assert_eq!(state().await, InvocationState::Completed);
    }

    async fn what_a_dead_process_sent_is_uncertain_and_stays_so(fixture: Fixture) {
        let store = &fixture.store;
        for n in [1, 2, 3] {
            make_cloud(store, n, Profile::CloudProxy).await;
            begin(store, n, "send", "a", if n == 3 { "alive" } else { "dead" }).await.expect("begins");
        }
        step(store, 1, "dead", Step::Send).await.expect("sends");
        step(store, 3, "alive", Step::Send).await.expect("sends");
        let abandoned: Result<u64, StoreError> = store.run("abandon", |mut tx| async move {
            let uncertain = tx.abandon_invocations("dead", NOW).await?;
            tx.commit_with(entry(1), uncertain).await
        }).await;
        assert_eq!(abandoned, Ok(1));
        let Ok(Begun::Before(standing)) = begin(store, 1, "send", "a", "p2").await else { panic!("it stands") };
        assert_eq!(standing.state, InvocationState::Uncertain);
        for later in [Step::Send, Step::Complete, Step::Withdraw] {
            assert!(step(store, 1, "dead", later).await.is_err());
        }
        assert_eq!(begin(store, 2, "send", "a", "p2").await, Ok(Begun::Intent), "what never left is forgotten");
        step(store, 3, "alive", Step::Withdraw).await.expect("a refused call frees its key");
        assert_eq!(begin(store, 3, "send", "other", "p2").await, Ok(Begun::Intent));
    }

    async fn the_canary_and_a_rewrap(fixture: Fixture) {
        let store = &fixture.store;
        make_cloud(store, 1, Profile::CloudProxy).await;
        let canary = BootCanary { dek: vec![1; 9], tmk_gen: 2 };
        let (expected, canary) = (canary.clone(), &canary);
        let made: Result<(), StoreError> = store.run("canary", |mut tx| async move {
            tx.insert_deployment(&deployment(), &user(1), NOW).await?;
            tx.insert_boot_canary(&deployment(), canary, NOW).await?;
            tx.commit_with(entry(1), ()).await
        }).await;
        made.expect("made");
        write(store, 1, SecretKind::OAuth, 0, 1).await.expect("writes");
        let rewraps: Result<_, StoreError> = store.run("rewrap", |mut tx| async move {
            let rewrap = Rewrap { secret_kind: SecretKind::OAuth, old_dek: &[1; 40], dek: &[8; 40], tmk_gen: 4 };
            let first = tx.rewrap_vault_credential(&workspace(1), &connection(1), rewrap).await?;
            let second = tx.rewrap_vault_credential(&workspace(1), &connection(1), rewrap).await?;
            tx.commit_with(entry(1), (first, second)).await
        }).await;
        assert_eq!(rewraps, Ok((true, false)));
        assert_eq!(stored(store, 1, SecretKind::OAuth).await, Some((1, 8)));
        let read: Result<_, StoreError> = store.read("read", |mut tx| async move {
            Ok((tx.find_boot_canary(&deployment()).await?, tx.count_vault_rows().await?))
        }).await;
        assert_eq!(read, Ok((Some(expected), 1)));
    }

    async fn the_key_store_keeps_one_active_key_for_each_tenant(fixture: Fixture) {
        let (config, _database) = key_store_config(&fixture.config);
        let keys = KeyStore::open(config).await.expect("opens");
        let key = |tenant: &str, generation, byte| TenantKey {
            tenant: tenant.to_owned(),
            generation,
            state: TenantKeyState::Active,
            wk: vec![byte; 9],
            tmk: vec![byte; 9],
        };
        assert_eq!(keys.count().await, Ok(0));
        let inserts = (0..8_u8).map(|byte| {
            let (keys, key) = (keys.clone(), key("ws_1", 1, byte));
            tokio::spawn(async move { keys.insert(&key, NOW).await })
        });
        let mut inserted = 0;
        for insert in inserts.collect::<Vec<_>>() {
            inserted += u32::from(insert.await.expect("no panic").expect("no error"));
        }
        assert_eq!(inserted, 1, "one of many wins");
        assert_eq!(keys.insert(&key("ws_1", 2, 9), NOW).await, Ok(false), "a second active key");
        assert_eq!(keys.insert(&key("", 1, 9), NOW).await, Ok(true), "the installation's own");
        let standing = keys.find_active("ws_1").await.expect("reads").expect("is there");
        assert_eq!(keys.find("ws_1", 1).await, Ok(Some(standing.clone())));
        assert_eq!(keys.find("ws_1", 2).await, Ok(None));

        // B7: two rotations of the same bytes.
        assert_eq!(keys.rewrap(&standing, &key("ws_1", 1, 0x50)).await, Ok(true));
        assert_eq!(keys.rewrap(&standing, &key("ws_1", 1, 0x51)).await, Ok(false));
        assert_eq!(keys.find_active("ws_1").await.expect("reads").map(|key| key.wk[0]), Some(0x50));

        assert_eq!(keys.shred("ws_1").await, Ok(1));
        assert_eq!(keys.find_active("ws_1").await, Ok(None));
        assert_eq!(keys.count().await, Ok(1));
        keys.close().await;
    }

    async fn the_key_store_is_never_the_main_database(fixture: Fixture) {
        let refused = KeyStore::open(fixture.config.clone()).await.err();
        assert!(matches!(refused, Some(StoreError::UnknownSchema { .. })), "{refused:?}");
    }

    async fn every_statement_of_the_key_store_prepares(fixture: Fixture) {
        let (config, _database) = key_store_config(&fixture.config);
        KeyStore::open(config.clone()).await.expect("opens").close().await;
        for statement in key_store_statements() {
            let prepared = match &config {
                StoreConfig::Sqlite { path } => {
                    let mut connection = SqliteConnection::connect(&format!("sqlite://{}", path.display())).await.expect("opens");
                    (&mut connection).prepare(statement.sqlite.into_sql_str()).await.map(|_| ())
                }
                StoreConfig::Postgres { url } => {
                    let mut connection = PgConnection::connect(url).await.expect("opens");
                    (&mut connection).prepare(statement.postgres.into_sql_str()).await.map(|_| ())
                }
            };
            assert!(prepared.is_ok(), "{}: {prepared:?}", statement.name);
        }
    }
}

/// A database that is dropped on a thread of its own, because making and dropping one needs a runtime.
struct Elsewhere(Option<PrivateDatabase>);

impl Drop for Elsewhere {
    fn drop(&mut self) {
        let database = self.0.take();
        std::thread::spawn(move || drop(database)).join().expect("the database is dropped");
    }
}

/// A place for a key store beside this main database.
fn key_store_config(main: &StoreConfig) -> (StoreConfig, Elsewhere) {
    match main {
        StoreConfig::Sqlite { path } => (StoreConfig::Sqlite { path: path.with_file_name("tmk.db") }, Elsewhere(None)),
        StoreConfig::Postgres { .. } => {
            let made =
                std::thread::spawn(PrivateDatabase::make).join().expect("no panic").expect("PostgreSQL is there");
            (StoreConfig::Postgres { url: made.url.clone() }, Elsewhere(Some(made)))
        }
    }
}

/// Overwritten and shredded keys are in no file of SQLite's afterwards.
#[test]
fn shredded_keys_leave_the_files() {
    runtime().block_on(async {
        let folder = tempfile::tempdir().expect("a folder");
        let keys = KeyStore::open(StoreConfig::Sqlite { path: folder.path().join("tmk.db") }).await.expect("opens");
        let needle = b"a wrapped key to be found";
        let key = TenantKey {
            tenant: "ws_1".to_owned(),
            generation: 1,
            state: TenantKeyState::Active,
            wk: needle.to_vec(),
            tmk: vec![1],
        };
        keys.insert(&key, NOW).await.expect("inserts");
        let found = || {
            let files = std::fs::read_dir(folder.path()).expect("the folder");
            files
                .map(|file| std::fs::read(file.expect("an entry").path()).expect("a file"))
                .any(|bytes| bytes.windows(needle.len()).any(|window| window == needle))
        };
        assert!(found(), "the control: a key that stands is in the files");
        keys.shred("ws_1").await.expect("shreds");
        assert!(!found());
        keys.close().await;
    });
}
