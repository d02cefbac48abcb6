//! Connections and credentials: compare-and-set, all or nothing, and nobody else's.

use super::{
    Fixture, on_both_engines,
    world::{
        NOW, connection, device, digest, entry, json, make_connection, make_device, make_device_of, make_person,
        project, user, viewer,
    },
};
use crate::{
    Connection, Drift, DriftSeen, NewConnection, NewCredential, NewFormat, NewProject, NewReview, PublicReview,
    Revocation, Store, StoreError, StoredCredential, StoredVersion, Viewer,
};
use contract::{
    Effect, Json,
    connection::{Profile, Scope, SealFormat, SignedWire, Status},
    device::SessionClass,
    workspace::Role,
};

type Written = Result<(Connection, StoredVersion), StoreError>;

fn signed(n: u64) -> SignedWire {
    SignedWire { payload: format!("review{n}"), kid: "kid".to_owned(), sig: "sig".to_owned() }
}

/// What a device sends in one signed review.
#[derive(Clone)]
struct Draft {
    expected_version: u64,
    review_seq: u64,
    credential_version: u64,
    raw: Json,
}

fn draft(expected_version: u64, review_seq: u64, credential_version: u64) -> Draft {
    Draft {
        expected_version,
        review_seq,
        credential_version,
        raw: json(&format!(r#"{{"instructions":"","tools":[{review_seq}]}}"#)),
    }
}

async fn review(store: &Store, viewer: &Viewer, draft: &Draft) -> Written {
    let n = draft.review_seq;
    let (rows, sealed, wire) = ([json(r#"{"name":"look"}"#)], json(&format!(r#"{{"v":2,"version":{n}}}"#)), signed(n));
    let (raw_digest, review_digest) = (digest(&draft.raw.canonical_string()), digest(&format!("review{n}")));
    let parts = (&rows, &sealed, &wire, &raw_digest, &review_digest, &digest("rows2"), &digest("commit"), &device(1));
    store
        .run("review", |mut tx| async move {
            let new = NewReview {
                expected_version: draft.expected_version,
                manifest: parts.0,
                manifest_digest: parts.5,
                raw_manifest: &draft.raw,
                raw_digest: parts.3,
                review: parts.2,
                review_digest: parts.4,
                review_seq: draft.review_seq,
                allowed_effects: &[Effect::Observe, Effect::Act],
                device_id: parts.7,
                credential: NewCredential {
                    sealed: parts.1,
                    commitment: parts.6,
                    author_device: parts.7,
                    format: NewFormat::V2 { version: draft.credential_version },
                },
            };
            let done = tx.review_signed(viewer, &connection(1), new, NOW + 5000).await?;
            tx.commit_with(entry(1), done).await
        })
        .await
}

async fn seal(store: &Store, viewer: &Viewer, expected: Option<u64>, format: NewFormat<'_>, now_ms: i64) -> Written {
    let parts = (&json(r#"{"v":1}"#), &digest("commit2"), &device(1));
    store
        .run("seal", |mut tx| async move {
            let new = NewCredential { sealed: parts.0, commitment: parts.1, author_device: parts.2, format };
            let done = tx.seal_credential(viewer, &connection(1), expected, new, now_ms).await?;
            tx.commit_with(entry(1), done).await
        })
        .await
}

async fn find(store: &Store, viewer: &Viewer, n: u8) -> Option<Connection> {
    let found = store.read("find", |mut tx| async move { tx.find_connection(viewer, &connection(n)).await }).await;
    found.unwrap_or_else(|error: StoreError| panic!("{error}"))
}

async fn credential(store: &Store, viewer: &Viewer) -> Option<StoredCredential> {
    let found =
        store.read("credential", |mut tx| async move { tx.find_credential(viewer, &connection(1)).await }).await;
    found.unwrap_or_else(|error: StoreError| panic!("{error}"))
}

async fn drift(store: &Store, viewer: &Viewer, raw: &str, reviewed: &str) -> Result<Drift, StoreError> {
    let (raw_digest, review_digest) = (&digest(raw), &digest(reviewed));
    store
        .run("drift", |mut tx| async move {
            let done = tx.report_drift(viewer, &connection(1), DriftSeen { raw_digest, review_digest }, NOW).await?;
            match done {
                Drift::Lifted { .. } => tx.commit_with(entry(1), done).await,
                Drift::NothingToDo => tx.commit_unchanged(done),
            }
        })
        .await
}

async fn revoke(store: &Store, viewer: &Viewer) -> Result<Revocation, StoreError> {
    store
        .run("revoke", |mut tx| async move {
            let done = tx.revoke_connection(viewer, &connection(1), NOW).await?;
            match done {
                Revocation::Now { .. } => tx.commit_with(entry(1), done).await,
                Revocation::Before => tx.commit_unchanged(done),
            }
        })
        .await
}

async fn review_public(store: &Store, viewer: &Viewer, of: &str) -> Result<Connection, StoreError> {
    let (of, device_id) = (&digest(of), &device(1));
    store
        .run("review_public", |mut tx| async move {
            let new = PublicReview { digest: of, allowed_effects: &[Effect::Observe], device_id };
            let done = tx.review_public(viewer, &connection(1), new, NOW).await?;
            tx.commit_with(entry(1), done).await
        })
        .await
}

async fn world(store: &Store, format: SealFormat) {
    for n in [1, 2] {
        make_person(store, n).await;
        make_device(store, n, SessionClass::Rotating).await;
    }
    make_connection(store, 1, format).await;
}

fn moved<T>(what: &'static str, expected: u64, actual: u64) -> Result<T, StoreError> {
    Err(StoreError::VersionMoved { what, expected, actual })
}

on_both_engines! {
    async fn a_connection_begins_unreviewed(fixture: Fixture) {
        let store = &fixture.store;
        world(store, SealFormat::V2).await;
        let row = find(store, &viewer(1, 1), 1).await.expect("is there");
        assert_eq!((row.status, row.version, row.review_seq, row.credential_version), (Status::ReviewRequired, 1, 0, 0));
        assert_eq!((row.reviewed_digest, row.raw_digest, row.review, row.reviewed_by), (None, None, None, None));
        assert_eq!(row.manifest, [json(r#"{"action":"read","effect":"observe","name":"look"}"#)]);
        assert_eq!(credential(store, &viewer(1, 1)).await, None);
    }

    /// The public client compares rows byte by byte: numbers, order and spelling stay as they were sent.
    async fn v1_rows_keep_their_bytes(fixture: Fixture) {
        let store = &fixture.store;
        world(store, SealFormat::V1).await;
        let text = r#"{"annotations":{"p":1.50,"q":1e5,"r":-0.0},"description":"é\u0001\"𝄞","name":"look"}"#;
        let (rows, own) = (&[json(text)], &viewer(1, 1));
        let new = NewConnection {
            id: &connection(5), name: "n", project_id: None, profile: Profile::DeviceDirect, endpoint: "https://a.test/", manifest: rows,
            manifest_digest: &digest("x"), seal_format: SealFormat::V1, device_id: &device(1),
        };
        let made: Result<Connection, StoreError> = store.run("make", |mut tx| async move {
            let made = tx.insert_connection(own, new, NOW).await?;
            tx.commit_with(entry(1), made).await
        }).await;
        assert_eq!(made.expect("made").manifest[0].canonical_string(), rows[0].canonical_string());
        let row = find(store, own, 5).await.expect("is there");
        assert_eq!(row.manifest[0].canonical_string(), rows[0].canonical_string());
        assert!(row.manifest[0].canonical_string().contains(r#""p":1.50,"q":1e5,"r":-0.0"#));
        // A row in the list answer is never heavier than it is counted.
        let counted = |scope: Scope| async move {
            let bytes: Result<u64, StoreError> = store.read("count", |mut tx| async move { tx.count_row_bytes(own, scope).await }).await;
            bytes.expect("reads")
        };
        let before = counted(Scope::Personal).await;
        assert!(before > u64::try_from(2 * text.len()).expect("small"));
        assert_eq!(counted(Scope::Project).await, 0);
        let other = &viewer(1, 2);
        let theirs: Result<u64, StoreError> = store.read("count", |mut tx| async move { tx.count_row_bytes(other, Scope::Personal).await }).await;
        assert_eq!(theirs, Ok(0), "personal connections of others weigh nothing");
    }

    async fn a_signed_review_lands_whole(fixture: Fixture) {
        let store = &fixture.store;
        world(store, SealFormat::V2).await;
        let own = &viewer(1, 1);
        let first = draft(1, 1, 1);
        let (row, stored) = review(store, own, &first).await.expect("reviewed");
        assert_eq!((row.status, row.version, row.review_seq, row.credential_version), (Status::Active, 2, 1, 1));
        assert_eq!((row.reviewed_digest, row.reviewed_raw_digest), (Some(digest("rows2")), row.raw_digest));
        assert_eq!((row.allowed_effects, row.reviewed_by), (vec![Effect::Observe, Effect::Act], Some(device(1))));
        let kept = row.review.expect("is there");
        assert_eq!((kept.wire, kept.digest), (signed(1), digest("review1")));
        assert_eq!(stored, StoredVersion { version: 1, updated_at_s: 1_800_000_005 });
        let raw: Result<_, StoreError> = store.read("raw", |mut tx| async move { tx.find_raw_manifest(own, &connection(1)).await }).await;
        assert_eq!(raw, Ok(Some((first.raw, digest(r#"{"instructions":"","tools":[1]}"#)))));
        let sealed = credential(store, own).await.expect("is there");
        assert_eq!((sealed.version, sealed.author_device, sealed.commitment), (1, device(1), digest("commit")));
        assert_eq!(sealed.sealed, json(r#"{"v":2,"version":1}"#));
    }

    async fn a_signed_review_is_refused_whole(fixture: Fixture) {
        let store = &fixture.store;
        world(store, SealFormat::V2).await;
        let own = &viewer(1, 1);
        assert_eq!(review(store, own, &draft(7, 1, 1)).await, moved("connection", 7, 1));
        assert_eq!(review(store, own, &draft(1, 2, 1)).await, moved("review", 1, 0), "a number that does not follow");
        assert_eq!(review(store, own, &draft(1, 1, 2)).await, moved("credential", 1, 0), "its credential's version does not follow");
        let row = find(store, own, 1).await.expect("is there");
        assert_eq!((row.status, row.version, row.review, row.raw_digest), (Status::ReviewRequired, 1, None, None), "nothing of it was written");
        review(store, own, &draft(1, 1, 1)).await.expect("the right one lands");
        assert_eq!(review(store, own, &draft(2, 1, 2)).await, moved("review", 0, 1), "an old number again");
        assert_eq!(review(store, own, &draft(1, 2, 2)).await, moved("connection", 1, 2), "an old version again");
        review(store, own, &draft(2, 2, 2)).await.expect("the next one lands");
    }

    async fn of_many_reviews_one_wins(fixture: Fixture) {
        world(&fixture.store, SealFormat::V2).await;
        let all: Vec<_> = (0..12).map(|_| {
            let store = fixture.store.clone();
            tokio::spawn(async move { review(&store, &viewer(1, 1), &draft(1, 1, 1)).await })
        }).collect();
        let mut won = 0;
        for one in all {
            match one.await.expect("no panic") {
                Ok(_) => won += 1,
                Err(refused) => assert_eq!(refused, StoreError::VersionMoved { what: "connection", expected: 1, actual: 2 }),
            }
        }
        assert_eq!(won, 1);
    }

    async fn drift_only_narrows(fixture: Fixture) {
        let store = &fixture.store;
        world(store, SealFormat::V2).await;
        let own = &viewer(1, 1);
        assert_eq!(drift(store, own, "other", "review1").await, Ok(Drift::NothingToDo), "nothing stands yet");
        review(store, own, &draft(1, 1, 1)).await.expect("reviewed");
        let reviewed = r#"{"instructions":"","tools":[1]}"#;
        assert_eq!(drift(store, own, reviewed, "review1").await, Ok(Drift::NothingToDo), "the reviewed manifest itself");
        assert_eq!(drift(store, own, "other", "review9").await, Ok(Drift::NothingToDo), "about another review");
        assert_eq!(find(store, own, 1).await.expect("is there").status, Status::Active);
        assert_eq!(drift(store, own, "other", "review1").await, Ok(Drift::Lifted { review_seq: 1 }));
        let row = find(store, own, 1).await.expect("is there");
        assert_eq!((row.status, row.reviewed_digest, row.reviewed_raw_digest, row.version), (Status::ReviewRequired, None, None, 3));
        assert_eq!(row.review_seq, 1, "the number stays, so the next one is higher");
        assert_eq!(drift(store, own, "other", "review1").await, Ok(Drift::NothingToDo));
        assert_eq!(drift(store, &viewer(2, 2), "other", "review1").await, Err(StoreError::NotVisible { what: "connection" }));
        review(store, own, &draft(3, 2, 2)).await.expect("a new review lifts the block");
    }

    async fn the_public_review_needs_its_format_and_digest(fixture: Fixture) {
        let store = &fixture.store;
        world(store, SealFormat::V1).await;
        let own = &viewer(1, 1);
        let other = Err(StoreError::WrongState { what: "connection", state: "another manifest" });
        assert_eq!(review_public(store, own, "other").await, other);
        let row = review_public(store, own, "rows").await.expect("reviewed");
        assert_eq!((row.status, row.reviewed_digest, row.review_seq, row.version), (Status::Active, Some(digest("rows")), 0, 2));
        assert_eq!(review_public(store, &viewer(2, 2), "rows").await, Err(StoreError::NotVisible { what: "connection" }));
        let sealed = seal(store, own, None, NewFormat::V2 { version: 1 }, NOW).await;
        assert_eq!(sealed, Err(StoreError::WrongState { what: "connection", state: "sealed in v1" }));
    }

    async fn the_public_review_never_touches_v2(fixture: Fixture) {
        let store = &fixture.store;
        world(store, SealFormat::V2).await;
        let own = &viewer(1, 1);
        let refused = Err(StoreError::WrongState { what: "connection", state: "sealed in v2" });
        assert_eq!(review_public(store, own, "rows").await, refused);
        let sealed = seal(store, own, None, NewFormat::V1 { nonce: &[1; 12] }, NOW).await;
        assert_eq!(sealed, Err(StoreError::WrongState { what: "connection", state: "sealed in v2" }));
    }

    async fn credentials_move_one_version_at_a_time(fixture: Fixture) {
        let store = &fixture.store;
        world(store, SealFormat::V2).await;
        let own = &viewer(1, 1);
        review(store, own, &draft(1, 1, 1)).await.expect("reviewed");
        let next = NewFormat::V2 { version: 2 };
        assert_eq!(seal(store, own, Some(1), next, NOW).await, moved("connection", 1, 2));
        assert_eq!(seal(store, own, Some(2), NewFormat::V2 { version: 1 }, NOW).await, moved("credential", 0, 1), "an old version");
        assert_eq!(seal(store, own, Some(2), NewFormat::V2 { version: 3 }, NOW).await, moved("credential", 2, 1), "a gap");
        let (row, stored) = seal(store, own, Some(2), next, NOW + 1000).await.expect("sealed");
        assert_eq!((row.version, row.credential_version, row.status), (3, 2, Status::Active));
        assert_eq!(stored, StoredVersion { version: 2, updated_at_s: 1_800_000_005 }, "time never goes back");
        assert_eq!(seal(store, &viewer(2, 2), Some(3), next, NOW).await, Err(StoreError::NotVisible { what: "connection" }));
    }

    async fn a_v1_nonce_is_never_taken_twice(fixture: Fixture) {
        let store = &fixture.store;
        world(store, SealFormat::V1).await;
        let own = &viewer(1, 1);
        let (_, stored) = seal(store, own, None, NewFormat::V1 { nonce: &[1; 12] }, 0).await.expect("sealed");
        assert_eq!(stored, StoredVersion { version: 1, updated_at_s: 1 }, "above 0 whatever the clock says");
        let refused = seal(store, own, None, NewFormat::V1 { nonce: &[1; 12] }, NOW).await;
        assert_eq!(refused, Err(StoreError::Replayed { what: "v1 nonce" }));
        assert_eq!(find(store, own, 1).await.expect("is there").version, 2, "nothing of it was written");
        seal(store, own, None, NewFormat::V1 { nonce: &[2; 12] }, NOW).await.expect("another nonce");
    }

    async fn revoking_deletes_the_ciphertext(fixture: Fixture) {
        let store = &fixture.store;
        world(store, SealFormat::V2).await;
        let own = &viewer(1, 1);
        review(store, own, &draft(1, 1, 1)).await.expect("reviewed");
        assert_eq!(revoke(store, &viewer(2, 2)).await, Err(StoreError::NotVisible { what: "connection" }));
        assert_eq!(revoke(store, own).await, Ok(Revocation::Now { families: 0 }));
        assert_eq!(revoke(store, own).await, Ok(Revocation::Before));
        assert_eq!(credential(store, own).await, None);
        let listed: Result<Vec<_>, StoreError> = store.read("list", |mut tx| async move { tx.list_connections(own).await }).await;
        assert_eq!(listed, Ok(Vec::new()));
        assert_eq!(find(store, own, 1).await.expect("is there").status, Status::Revoked);
        let over = Err(StoreError::WrongState { what: "connection", state: "revoked" });
        assert_eq!(review(store, own, &draft(3, 2, 2)).await, over);
        let sealed = seal(store, own, Some(3), NewFormat::V2 { version: 2 }, NOW).await;
        assert_eq!(sealed, Err(StoreError::WrongState { what: "connection", state: "revoked" }));
    }

    /// The same id in another tenant, a member of the same workspace, and a stranger: none of them sees or blocks anything.
    async fn connection_ids_cannot_be_squatted(fixture: Fixture) {
        let store = &fixture.store;
        for n in [1, 2] {
            make_person(store, n).await;
            make_device(store, n, SessionClass::Rotating).await;
        }
        let make = |viewer: Viewer, device_n: u8| async move {
            let viewer = &viewer;
            let done: Result<Connection, StoreError> = store.run("make", |mut tx| async move {
                let new = NewConnection {
                    id: &connection(1), name: "n", project_id: None, profile: Profile::DeviceDirect, endpoint: "https://a.test/", manifest: &[],
                    manifest_digest: &digest("x"), seal_format: SealFormat::V2, device_id: &device(device_n),
                };
                let made = tx.insert_connection(viewer, new, NOW).await?;
                tx.commit_with(entry(1), made).await
            }).await;
            done
        };
        make(viewer(2, 2), 2).await.expect("the squatter's own tenant");
        let own = make(viewer(1, 1), 1).await.expect("the victim is not blocked");
        assert_eq!(own.user_id, user(1));
        assert_eq!(make(viewer(1, 1), 1).await, Err(StoreError::AlreadyThere { what: "connection" }));
        review(store, &viewer(1, 1), &draft(1, 1, 1)).await.expect("reviewed");
        let theirs = find(store, &viewer(2, 2), 1).await.expect("is there");
        assert_eq!((theirs.version, theirs.status), (1, Status::ReviewRequired), "a change stays in its tenant");
        assert_eq!(credential(store, &viewer(2, 2)).await, None);

        let joined: Result<_, StoreError> = store.run("join", |mut tx| async move {
            let done = tx.set_member(&viewer(1, 1), &user(2), Role::Admin, NOW).await?;
            tx.commit_with(entry(1), done).await
        }).await;
        joined.expect("joins");
        let admin = &viewer(1, 2);
        assert_eq!(find(store, admin, 1).await, None, "a personal connection is its person's alone, whatever the role");
        assert_eq!(credential(store, admin).await, None);
        assert_eq!(revoke(store, admin).await, Err(StoreError::NotVisible { what: "connection" }));
        assert_eq!(find(store, &viewer(2, 1), 1).await, None, "nor does a claim of another workspace help");
    }

    async fn project_connections_are_seen_by_members_and_changed_by_their_person(fixture: Fixture) {
        let store = &fixture.store;
        for n in [1, 2, 3] {
            make_person(store, n).await;
            make_device_of(store, n, n, SessionClass::Rotating).await;
        }
        let insert = |actor: Viewer| async move {
            let actor = &actor;
            let done: Result<Connection, StoreError> = store.run("make", |mut tx| async move {
                let new = NewConnection {
                    id: &connection(1), name: "n", project_id: Some(&project(5)), profile: Profile::DeviceDirect, endpoint: "https://a.test/",
                    manifest: &[], manifest_digest: &digest("x"), seal_format: SealFormat::V2, device_id: &device(1),
                };
                let made = tx.insert_connection(actor, new, NOW).await?;
                tx.commit_with(entry(1), made).await
            }).await;
            done
        };
        assert_eq!(insert(viewer(1, 1)).await, Err(StoreError::NotVisible { what: "project" }));
        let made: Result<(), StoreError> = store.run("setup", |mut tx| async move {
            let own = &viewer(1, 1);
            for n in [2, 3] {
                tx.set_member(own, &user(n), Role::Member, NOW).await?;
            }
            tx.insert_project(own, NewProject { requested_id: None, fresh_id: &project(5), name: "Garden" }, NOW).await?;
            tx.set_project_member(own, &project(5), &user(2), Role::Admin, NOW).await?;
            tx.commit_with(entry(1), ()).await
        }).await;
        made.expect("set up");
        insert(viewer(1, 1)).await.expect("made");
        assert!(find(store, &viewer(1, 2), 1).await.is_some(), "a member of the project");
        assert_eq!(find(store, &viewer(1, 3), 1).await, None, "a member of the workspace only");
        review(store, &viewer(1, 1), &draft(1, 1, 1)).await.expect("reviewed");
        assert_eq!(credential(store, &viewer(1, 2)).await, None, "sealed for one person's devices");
        assert_eq!(revoke(store, &viewer(1, 2)).await, Err(StoreError::Outranked));
        assert_eq!(drift(store, &viewer(1, 2), "other", "review1").await, Ok(Drift::Lifted { review_seq: 1 }), "anybody who sees it may narrow it");
    }
}
