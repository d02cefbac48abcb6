//! What a body may and may not do with its transaction, on both engines.

use super::{
    Fixture, on_both_engines,
    shape::raw,
    world::{NOW, deployment, entry, make_person, user, viewer, workspace},
};
use crate::{
    Store, StoreError, Tx, Upkeep, User,
    engine::{Access, Statement, bind},
};
use contract::{
    AuditEvent,
    audit::{Actor, AuditLog},
    ids::UserId,
};

/// A statement that both engines refuse when it runs: the user is no number.
const REFUSED: Statement = Statement::split(
    "REFUSED",
    "user",
    Access::Write,
    r#"INSERT INTO "user" (id, display_name, created_at_ms) VALUES ($1, 'x', NULL)"#,
    r#"INSERT INTO "user" (id, display_name, created_at_ms) VALUES ($1, 'x', NULL::BIGINT)"#,
);

async fn find_user(store: &Store, id: &UserId) -> Option<User> {
    store
        .read("find_user", |mut tx| async move { tx.find_user(id).await })
        .await
        .unwrap_or_else(|error: StoreError| panic!("{error}"))
}

#[derive(Debug, PartialEq)]
enum Refusal {
    Domain,
    Store(StoreError),
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

on_both_engines! {
    async fn a_commit_writes_its_event(fixture: Fixture) {
        let (store, id) = (&fixture.store, &user(1));
        let log = AuditLog::Deployment(deployment());
        let event = AuditEvent::OwnerCreated { user_id: id.clone(), workspace_id: workspace(1) };
        let (log_ref, event_ref) = (&log, &event);
        let answer: Result<u8, StoreError> = store.run("insert", |mut tx| async move {
            tx.insert_user(id, "Ada", NOW).await?;
            tx.commit_with(event_ref.clone().entry(log_ref.clone(), Actor::Operator, NOW), 7).await
        }).await;
        assert_eq!(answer, Ok(7));
        let written = store.read("log", |mut tx| async move { tx.list_audit_events(log_ref, 0).await }).await;
        let written: Vec<crate::AuditRecord> = written.unwrap_or_else(|error: StoreError| panic!("{error}"));
        assert_eq!(written.len(), 1);
        assert_eq!((written[0].seq, written[0].at_ms, &written[0].event), (1, NOW, &event));
        assert_eq!((written[0].actor_kind.as_str(), written[0].actor.as_str()), ("operator", "operator"));
        assert!(find_user(store, id).await.is_some());
    }

    async fn a_refusal_takes_everything_back(fixture: Fixture) {
        let (store, id) = (&fixture.store, &user(1));
        let refused: Result<(), Refusal> = store.run("refuse", |mut tx| async move {
            tx.insert_user(id, "Ada", NOW).await?;
            tx.record(entry(1)).await?;
            Err(Refusal::Domain)
        }).await;
        assert_eq!(refused, Err(Refusal::Domain));
        assert_eq!(find_user(store, id).await, None);
        let dropped: Result<(), Refusal> = store.run("drop", |mut tx| async move {
            tx.insert_user(id, "Ada", NOW).await?;
            let committed = tx.commit_with(entry(1), ()).await?;
            drop(committed);
            Err(Refusal::Domain)
        }).await;
        assert_eq!(dropped, Err(Refusal::Domain));
        assert_eq!(find_user(store, id).await, None, "a proof that is dropped commits nothing");
    }

    async fn upkeep_explains_only_upkeep(fixture: Fixture) {
        let (store, id) = (&fixture.store, &user(1));
        let refused: Result<(), StoreError> = store.run("smuggle", |mut tx| async move {
            tx.insert_user(id, "Ada", NOW).await?;
            tx.commit_upkeep(Upkeep::Session, ())
        }).await;
        assert_eq!(refused, Err(StoreError::Unexplained { statement: "INSERT_USER" }));
        assert_eq!(find_user(store, id).await, None);
        let refused: Result<(), StoreError> = store.run("unchanged", |mut tx| async move {
            tx.sweep_sessions(NOW).await?;
            tx.commit_unchanged(())
        }).await;
        assert!(matches!(refused, Err(StoreError::Unexplained { .. })));
        let kept: Result<u64, StoreError> = store.run("sweep", |mut tx| async move {
            let swept = tx.sweep_sessions(NOW).await?;
            tx.commit_upkeep(Upkeep::Session, swept)
        }).await;
        assert_eq!(kept, Ok(0));
        let nothing: Result<u8, StoreError> = store.run("repeat", |tx| async move { tx.commit_unchanged(3) }).await;
        assert_eq!(nothing, Ok(3));
    }

    /// PostgreSQL answers the COMMIT of a failed transaction with a silent ROLLBACK, and SQLite may have left the transaction already.
    async fn nothing_goes_on_after_a_failed_statement(fixture: Fixture) {
        let (store, id, other) = (&fixture.store, &user(1), &user(2));
        let refused: Result<(), StoreError> = store.run("go_on", |mut tx| async move {
            tx.insert_user(id, "Ada", NOW).await?;
            let failed = tx.execute(&REFUSED, bind![other]).await;
            assert!(matches!(failed, Err(StoreError::Engine(_))), "{failed:?}");
            assert_eq!(tx.insert_user(other, "Bob", NOW).await, Err(StoreError::Spoiled { operation: "go_on" }));
            tx.commit_with(entry(1), ()).await
        }).await;
        assert_eq!(refused, Err(StoreError::Spoiled { operation: "go_on" }));
        assert_eq!((find_user(store, id).await, find_user(store, other).await), (None, None));
    }

    async fn a_write_touches_exactly_one_row(fixture: Fixture) {
        const RENAME: Statement = Statement::both("RENAME", "user", Access::Write, r#"UPDATE "user" SET display_name = 'x' WHERE created_at_ms = $1"#);
        let store = &fixture.store;
        make_person(store, 1).await;
        let rename = |at_ms: i64| async move {
            let done: Result<(), StoreError> = store.run("rename", |mut tx| async move {
                tx.execute_one(&RENAME, bind![at_ms]).await?;
                tx.commit_with(entry(1), ()).await
            }).await;
            done
        };
        assert_eq!(rename(NOW + 1).await, Err(StoreError::Fenced { statement: "RENAME", expected: 1, actual: 0 }));
        assert_eq!(rename(NOW).await, Ok(()));
        make_person(store, 2).await;
        assert_eq!(rename(NOW).await, Err(StoreError::Fenced { statement: "RENAME", expected: 1, actual: 2 }));
    }

    async fn a_transaction_that_leaves_its_body_writes_nothing(fixture: Fixture) {
        let (store, id) = (&fixture.store, &user(1));
        let kept = &std::sync::Mutex::new(None::<Tx>);
        let refused: Result<(), StoreError> = store.run("escape", |mut tx| async move {
            tx.insert_user(id, "Ada", NOW).await?;
            kept.lock().expect("not poisoned").replace(tx);
            Err(StoreError::Outranked)
        }).await;
        assert_eq!(refused, Err(StoreError::Spoiled { operation: "escape" }));
        kept.lock().expect("not poisoned").take();
        assert_eq!(find_user(store, id).await, None);
        make_person(store, 2).await;
    }

    async fn text_with_nul_is_refused(fixture: Fixture) {
        let (store, id) = (&fixture.store, &user(1));
        let refused: Result<(), StoreError> = store.run("nul", |mut tx| async move {
            tx.insert_user(id, "A\0da", NOW).await?;
            tx.commit_with(entry(1), ()).await
        }).await;
        assert_eq!(refused, Err(StoreError::Nul));
    }

    /// A committed answer that names a sequence number must be true: no gap, no double, in every log, whoever rolled back.
    async fn the_audit_log_has_no_gap(fixture: Fixture) {
        let all = (0..120_u32).map(|n| {
            let store = fixture.store.clone();
            tokio::spawn(async move {
                let done: Result<(), Refusal> = store.run("log", |mut tx| async move {
                    tx.record(entry(u8::try_from(n % 2).expect("small"))).await?;
                    if n % 5 == 0 { return Err(Refusal::Domain) }
                    Ok(tx.commit_with(entry(u8::try_from(n % 2).expect("small")), ()).await?)
                }).await;
                assert_eq!(done, if n % 5 == 0 { Err(Refusal::Domain) } else { Ok(()) });
            })
        });
        for body in all.collect::<Vec<_>>() {
            body.await.expect("no panic");
        }
        for n in 0..2 {
            let log = &AuditLog::Workspace(workspace(n));
            let events = fixture.store.read("log", |mut tx| async move { tx.list_audit_events(log, 0).await }).await;
            let seqs: Vec<u64> = events.unwrap_or_else(|error: StoreError| panic!("{error}")).iter().map(|event| event.seq).collect();
            assert_eq!(seqs, (1..=96).collect::<Vec<u64>>());
        }
    }

    async fn a_read_cannot_write(fixture: Fixture) {
        const SNEAK: Statement = Statement::both("SNEAK", "user", Access::Read, r#"DELETE FROM "user" WHERE id = $1"#);
        make_person(&fixture.store, 1).await;
        let id = &user(1);
        let refused: Result<(), StoreError> = fixture.store.read("sneak", |mut tx| async move {
            tx.find(&SNEAK, bind![id]).await.map(|_| ())
        }).await;
        assert!(matches!(refused, Err(StoreError::Engine(_))), "{refused:?}");
        assert!(find_user(&fixture.store, id).await.is_some());
    }

    async fn a_read_sees_one_moment(fixture: Fixture) {
        let (store, log) = (&fixture.store, &AuditLog::Workspace(workspace(1)));
        make_person(store, 1).await;
        let counted: Result<(usize, usize), StoreError> = store.read("twice", |mut tx| async move {
            let before = tx.list_audit_events(log, 0).await?.len();
            let done: Result<(), StoreError> = store.run("between", |tx| async move { tx.commit_with(entry(1), ()).await }).await;
            done?;
            Ok((before, tx.list_audit_events(log, 0).await?.len()))
        }).await;
        assert_eq!(counted, Ok((1, 1)));
    }

    async fn an_impossible_row_names_its_place(fixture: Fixture) {
        make_person(&fixture.store, 1).await;
        raw(&fixture.config, "UPDATE audit_event SET body = '{\"kind\":\"nonsense\"}'").await;
        let log = &AuditLog::Workspace(workspace(1));
        let read: Result<Vec<_>, StoreError> = fixture.store.read("log", |mut tx| async move { tx.list_audit_events(log, 0).await }).await;
        let row = workspace(1).as_str().to_owned();
        assert_eq!(read, Err(StoreError::Inconsistent { table: "audit_event", column: "body", row }));
    }

    async fn the_viewer_alone_decides_the_tenant(fixture: Fixture) {
        make_person(&fixture.store, 1).await;
        make_person(&fixture.store, 2).await;
        let members = fixture.store.read("members", |mut tx| async move { tx.list_members(&viewer(1, 2)).await }).await;
        assert_eq!(members, Err(StoreError::NotVisible { what: "workspace" }));
    }
}
