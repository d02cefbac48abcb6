//! The store's grouped commits beside one commit for each write, on the same SQLite file.

use super::measure::{Bound, Measure, per_second, timed};
use crate::trouble::Trouble;
use contract::AuditEvent;
use contract::audit::{Actor, AuditEntry, AuditLog};
use contract::ids::{DeploymentId, UserId, WorkspaceId};
use store::{Store, StoreConfig, StoreError};

/// Writes that wait for each other.
const ALONE: usize = 300;

/// Writes that arrive together.
const TOGETHER: usize = 3_000;

/// Writes that arrive together are at least this many times faster.
const GAIN_MIN: f64 = 3.0;

pub(super) fn measure() -> Result<Vec<Measure>, Trouble> {
    let failed = |error: &dyn std::fmt::Display| Trouble::new(format!("the store failed: {error}"), "look at TMPDIR");
    let folder = tempfile::tempdir().map_err(|error| failed(&error))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| failed(&error))?;
    let path = folder.path().join("bench.db");
    let opened = runtime.block_on(Store::open(StoreConfig::Sqlite { path }));
    let store = opened.map_err(|error| failed(&error))?;
    let entry = entry().ok_or_else(|| Trouble::new("an id of the bench is none", "this is a defect"))?;

    let (alone, done) = timed(|| {
        runtime.block_on(async {
            for _ in 0..ALONE {
                write(&store, &entry).await?;
            }
            Ok::<_, StoreError>(())
        })
    });
    done.map_err(|error| failed(&error))?;
    let (together, done) = timed(|| {
        runtime.block_on(async {
            let mut running = tokio::task::JoinSet::new();
            for _ in 0..TOGETHER {
                let (store, entry) = (store.clone(), entry.clone());
                running.spawn(async move { write(&store, &entry).await });
            }
            let mut ended = Ok(());
            while let Some(one) = running.join_next().await {
                ended = ended.and(one.unwrap_or(Ok(())));
            }
            ended
        })
    });
    done.map_err(|error| failed(&error))?;
    let (alone, together) = (per_second(ALONE, alone), per_second(TOGETHER, together));
    Ok(vec![
        Measure::new("durable writes, one commit each", alone, "per second", Bound::None),
        Measure::new("durable writes, grouped", together, "per second", Bound::None),
        Measure::new("gain of grouping", together / alone, "×", Bound::AtLeast(GAIN_MIN)),
    ])
}

async fn write(store: &Store, entry: &AuditEntry) -> Result<(), StoreError> {
    store.run("bench", |tx| async move { tx.commit_with(entry.clone(), ()).await }).await
}

fn entry() -> Option<AuditEntry> {
    let id = "00000000000000000000000000000001";
    let event = AuditEvent::OwnerCreated {
        user_id: UserId::parse(&format!("usr_{id}")).ok()?,
        workspace_id: WorkspaceId::parse(&format!("ws_{id}")).ok()?,
    };
    let log = AuditLog::Deployment(DeploymentId::parse(&format!("dep_{id}")).ok()?);
    Some(event.entry(log, Actor::Operator, 0))
}
