//! SQLite's writer: many bodies in few durable commits, and a body that panics, hangs or is cancelled costs nobody else anything.

use super::{
    Fixture, on_both_engines, on_sqlite,
    world::{NOW, entry, make_person, user},
};
use crate::{
    Committed, Store, StoreConfig, StoreError, Tx,
    engine::{Access, Statement, bind},
};
use contract::{audit::AuditLog, limits};
use std::{
    future::{Future, pending},
    sync::{
        Mutex,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    task::Poll,
};
use tokio::{sync::oneshot, task::JoinHandle};

/// Makes the COMMIT itself fail: a foreign key that is checked only there.
const DEFER: Statement = Statement::both("DEFER", "membership", Access::Write, "PRAGMA defer_foreign_keys = ON");
const DANGLE: Statement = Statement::both(
    "DANGLE",
    "membership",
    Access::Write,
    "INSERT INTO membership (workspace_id, user_id, role, created_at_ms) VALUES ('ws_none', $1, 'owner', 0)",
);

async fn append(store: &Store, n: u8) -> Result<(), StoreError> {
    store.run("append", |tx| async move { tx.commit_with(entry(n), ()).await }).await
}

async fn count_events(store: &Store, n: u8) -> usize {
    let log = &AuditLog::Workspace(super::world::workspace(n));
    let mut seen = 0;
    loop {
        let page = store
            .read("log", |mut tx| async move { tx.list_audit_events(log, u64::try_from(seen).expect("small")).await })
            .await;
        let page = page.unwrap_or_else(|error: StoreError| panic!("{error}"));
        if page.is_empty() {
            return seen;
        }
        seen += page.len();
    }
}

#[test]
fn two_thousand_bodies_share_few_commits() {
    on_sqlite(|Fixture { store, .. }| async move {
        let before = store.group_commits();
        let bodies: Vec<_> = (0..2000)
            .map(|_| {
                let store = store.clone();
                tokio::spawn(async move { append(&store, 1).await })
            })
            .collect();
        for body in bodies {
            body.await.expect("no panic").expect("commits");
        }
        let commits = store.group_commits() - before;
        assert_eq!(count_events(&store, 1).await, 2000);
        let least = 2000_u64.div_ceil(u64::try_from(limits::STORE_GROUP_MAX).expect("small"));
        assert!((least..=500).contains(&commits), "{commits} commits");
    });
}

/// The first COMMIT fails; everybody in its group runs again, the answers are those of the second run, and a refusal waits like an answer.
#[test]
fn a_failed_commit_runs_everybody_again() {
    on_sqlite(|Fixture { store, .. }| async move {
        make_person(&store, 1).await;
        // All three wait while another body holds the writer, so that they form one group.
        let (holder, release) = hold_the_writer(&store).await;
        let poison = counted(&store, |run, mut tx| async move {
            if run == 0 {
                tx.execute(&DEFER, bind![]).await?;
                tx.execute(&DANGLE, bind![&user(1)]).await?;
            }
            tx.commit_with(entry(1), run).await
        });
        let neighbour = counted(&store, |run, tx| async move { tx.commit_with(entry(2), run).await });
        let refuser = counted(&store, |run, _tx| async move { Err(StoreError::Full { what: "run", max: run }) });
        store.wait_for_queue(3).await;
        release.send(()).expect("held");
        assert_eq!(holder.await.expect("no panic"), Ok(()));
        assert_eq!(poison.await.expect("no panic"), Ok(1));
        assert_eq!(neighbour.await.expect("no panic"), Ok(1));
        assert_eq!(refuser.await.expect("no panic"), Err(StoreError::Full { what: "run", max: 1 }));
        assert_eq!((count_events(&store, 1).await, count_events(&store, 2).await), (2, 1));
    });
}

/// A body that has the writer until it is released.
async fn hold_the_writer(store: &Store) -> (JoinHandle<Result<(), StoreError>>, oneshot::Sender<()>) {
    let (release, held) = oneshot::channel::<()>();
    let (holding, holds) = oneshot::channel::<()>();
    let (store, gate) = (store.clone(), Mutex::new(Some((holding, held))));
    let holder = tokio::spawn(async move {
        let gate = &gate;
        let done: Result<(), StoreError> = store
            .run("hold", |tx| async move {
                let taken = gate.lock().expect("not poisoned").take();
                if let Some((holding, held)) = taken {
                    holding.send(()).expect("awaited");
                    held.await.expect("released");
                }
                tx.commit_unchanged(())
            })
            .await;
        done
    });
    holds.await.expect("the holder runs");
    (holder, release)
}

/// Runs a body that is told how often it ran before.
fn counted<Fut>(store: &Store, body: fn(u64, Tx) -> Fut) -> JoinHandle<Result<u64, StoreError>>
where
    Fut: Future<Output = Result<Committed<u64>, StoreError>> + Send + 'static,
{
    let store = store.clone();
    tokio::spawn(async move {
        let runs = AtomicU64::new(0);
        store.run("counted", |tx| body(runs.fetch_add(1, Ordering::SeqCst), tx)).await
    })
}

#[test]
fn a_commit_that_always_fails_is_an_error() {
    on_sqlite(|Fixture { store, .. }| async move {
        make_person(&store, 1).await;
        let runs = &AtomicU32::new(0);
        let id = &user(1);
        let done: Result<(), StoreError> = store
            .run("poison", |mut tx| async move {
                runs.fetch_add(1, Ordering::SeqCst);
                tx.execute(&DEFER, bind![]).await?;
                tx.execute(&DANGLE, bind![id]).await?;
                tx.commit_with(entry(1), ()).await
            })
            .await;
        assert!(matches!(done, Err(StoreError::Engine(_))), "{done:?}");
        assert_eq!(runs.load(Ordering::SeqCst), limits::STORE_COMMIT_ATTEMPTS_MAX);
        assert_eq!(append(&store, 2).await, Ok(()));
        assert_eq!((count_events(&store, 1).await, count_events(&store, 2).await), (1, 1));
    });
}

/// What a crash before COMMIT leaves is what a process that never ends its group leaves: nothing of it.
#[test]
fn an_answer_never_leaves_before_its_commit() {
    on_sqlite(|Fixture { store, config }| async move {
        let StoreConfig::Sqlite { path } = &config else { return };
        let copy = path.with_file_name("crash.db");
        let (copied, id) = (&copy, &user(1));
        let done: Result<(), StoreError> = store
            .run("crash", |mut tx| async move {
                tx.insert_user(id, "Ada", NOW).await?;
                let committed = tx.commit_with(entry(1), ()).await?;
                // The machine stops here: what is on disk now is what a start finds.
                for suffix in ["", "-wal"] {
                    std::fs::copy(format!("{}{suffix}", path.display()), format!("{}{suffix}", copied.display()))
                        .expect("copies");
                }
                Ok(committed)
            })
            .await;
        assert_eq!(done, Ok(()));
        let crashed = Store::open(StoreConfig::Sqlite { path: copy.clone() }).await.expect("recovers");
        let found = crashed.read("find", |mut tx| async move { tx.find_user(id).await }).await;
        assert_eq!(found, Ok::<_, StoreError>(None));
        assert_eq!(count_events(&crashed, 1).await, 0);
        crashed.close().await;

        // After the answer it must be there, whatever happens to the process.
        for suffix in ["", "-wal"] {
            std::fs::copy(format!("{}{suffix}", path.display()), format!("{}{suffix}", copy.display()))
                .expect("copies");
        }
        let crashed = Store::open(StoreConfig::Sqlite { path: copy }).await.expect("recovers");
        assert_eq!(count_events(&crashed, 1).await, 1);
        crashed.close().await;
    });
}

/// What was replaced or deleted does not stay in the file or in the write-ahead log.
#[test]
fn a_checkpoint_removes_what_was_deleted() {
    on_sqlite(|Fixture { store, config }| async move {
        const DELETE: Statement =
            Statement::both("DELETE", "user", Access::Write, r#"DELETE FROM "user" WHERE id = $1"#);
        let StoreConfig::Sqlite { path } = &config else { return };
        let holds = |needle: &str| {
            ["", "-wal"].iter().any(|suffix| {
                let bytes = std::fs::read(format!("{}{suffix}", path.display())).expect("a file");
                bytes.windows(needle.len()).any(|window| window == needle.as_bytes())
            })
        };
        let id = &user(1);
        let done: Result<(), StoreError> = store
            .run("insert", |mut tx| async move {
                tx.insert_user(id, "canary-8c1f", NOW).await?;
                tx.commit_with(entry(1), ()).await
            })
            .await;
        done.expect("inserts");
        assert!(holds("canary-8c1f"));
        let done: Result<(), StoreError> = store
            .run("delete", |mut tx| async move {
                tx.execute_one(&DELETE, bind![id]).await?;
                tx.commit_with(entry(1), ()).await
            })
            .await;
        done.expect("deletes");
        assert!(holds("canary-8c1f"), "the log still has it");
        store.checkpoint().await.expect("truncates");
        assert!(!holds("canary-8c1f"));
    });
}

on_both_engines! {
    async fn a_body_that_panics_costs_only_itself(fixture: Fixture) {
        let store = fixture.store.clone();
        let panicked = tokio::spawn(async move {
            let id = &user(1);
            let done: Result<(), StoreError> = store.run("panic", |mut tx| async move {
                tx.insert_user(id, "Ada", NOW).await?;
                panic!("on purpose");
            }).await;
            done
        });
        assert!(panicked.await.is_err());
        make_person(&fixture.store, 1).await;
    }

    /// Cancelled after any number of polls: at the queue, in a statement, between statements, or while it waits for the verdict.
    async fn a_cancelled_caller_costs_only_itself(fixture: Fixture) {
        let mut ended = 0_u32;
        for polls in 0..60_u32 {
            let store = &fixture.store;
            let mut caller = Box::pin(async move {
                let done: Result<(), StoreError> = store.run("cancel", |mut tx| async move {
                    tx.record(entry(1)).await?;
                    tx.commit_with(entry(1), ()).await
                }).await;
                done
            });
            let mut left = polls;
            let outcome = std::future::poll_fn(|context| {
                if left == 0 { return Poll::Ready(None) }
                left -= 1;
                match caller.as_mut().poll(context) {
                    Poll::Ready(done) => Poll::Ready(Some(done)),
                    Poll::Pending => Poll::Pending,
                }
            }).await;
            drop(caller);
            if let Some(done) = outcome {
                done.expect("commits");
                ended += 1;
            }
            append(store, 2).await.expect("the next one runs");
        }
        assert!(ended > 0 && ended < 60, "{ended} of 60 ended: both cases were met");
        let events = count_events(&fixture.store, 1).await;
        assert_eq!(events % 2, 0, "both events of a body or none");
        assert!(events >= 2 * usize::try_from(ended).expect("small"));
        assert_eq!(count_events(&fixture.store, 2).await, 60);
    }

    async fn a_closed_store_says_so(fixture: Fixture) {
        append(&fixture.store, 1).await.expect("runs");
        fixture.store.close().await;
        assert!(append(&fixture.store, 1).await.is_err_and(|error| error.is_transient()));
        let again = Store::open(fixture.config.clone()).await.expect("opens again");
        assert_eq!(count_events(&again, 1).await, 1);
        again.close().await;
    }

    async fn two_stores_share_one_database(fixture: Fixture) {
        let other = Store::open(fixture.config.clone()).await.expect("opens");
        let bodies: Vec<_> = (0..400).map(|n| {
            let store = if n % 2 == 0 { fixture.store.clone() } else { other.clone() };
            tokio::spawn(async move { append(&store, 1).await })
        }).collect();
        for body in bodies {
            body.await.expect("no panic").expect("commits");
        }
        assert_eq!(count_events(&fixture.store, 1).await, 400);
        other.close().await;
    }

    async fn a_body_that_hangs_is_ended(fixture: Fixture) {
        let impatient = fixture.store.clone().with_body_max(std::time::Duration::from_millis(20));
        let hung: Result<(), StoreError> = impatient.run("hang", |mut tx| async move {
            tx.record(entry(1)).await?;
            pending::<()>().await;
            tx.commit_unchanged(())
        }).await;
        assert_eq!(hung, Err(StoreError::TooSlow { operation: "hang" }));
        append(&fixture.store, 2).await.expect("the next one runs");
        assert_eq!(count_events(&fixture.store, 1).await, 0);
    }
}
