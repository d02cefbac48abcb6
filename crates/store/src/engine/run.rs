//! Begin, commit and retry around a body, for both engines. A body may run again, so nothing that cannot be repeated belongs into it, the network least of all.

use super::{
    tx::{Committed, Home, Link, ReadTx, Tx},
    writer::{Report, Turn, Writer},
};
use crate::{
    Store,
    error::{EngineFault, StoreError},
    store::Backend,
};
use contract::limits;
use sqlx::{PgPool, Postgres, SqlitePool, Transaction};
use std::{sync::Arc, time::Duration};

/// How a PostgreSQL transaction begins: the first time, and when it lost against another one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Begin {
    pub(crate) first: &'static str,
    pub(crate) again: &'static str,
}

impl Begin {
    /// Writes. REPEATABLE READ would let two owners demote each other. A loser queues behind the other losers before its
    /// snapshot is taken (LOCK takes none), so that it waits without a clock and meets fewer winners each time.
    pub(crate) const SERIALIZABLE: Self = Self {
        first: "BEGIN ISOLATION LEVEL SERIALIZABLE; SAVEPOINT body",
        again: "BEGIN ISOLATION LEVEL SERIALIZABLE; LOCK TABLE deployment IN SHARE UPDATE EXCLUSIVE MODE; SAVEPOINT body",
    };

    /// Writes to a database without the table that losers queue at.
    pub(crate) const ALONE: Self = Self {
        first: "BEGIN ISOLATION LEVEL SERIALIZABLE; SAVEPOINT body",
        again: "BEGIN ISOLATION LEVEL SERIALIZABLE; SAVEPOINT body",
    };

    /// Reads. A deferrable snapshot waits until it cannot fail.
    const READ_ONLY: Self = Self {
        first: "BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY",
        again: "BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE",
    };

    /// One level too weak: the must-fail control of the write-skew test.
    #[cfg(test)]
    pub(crate) const REPEATABLE_READ: Self = Self {
        first: "BEGIN ISOLATION LEVEL REPEATABLE READ; SAVEPOINT body",
        again: "BEGIN ISOLATION LEVEL REPEATABLE READ; SAVEPOINT body",
    };

    const fn text(self, attempt: u32) -> &'static str {
        if attempt == 0 { self.first } else { self.again }
    }
}

/// What a body runs under: its name for errors and its longest time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) operation: &'static str,
    pub(crate) body_max: Duration,
}

/// How one attempt ended.
enum Attempt<T, E> {
    Done(Result<T, E>),
    Again(StoreError),
}

impl Store {
    /// Runs a body that writes, and releases its answer once the commit is durable.
    ///
    /// The body takes the transaction by value and ends in [`Tx::commit_with`] or [`Tx::commit_upkeep`]; an error takes
    /// everything back, and is released only when what it was decided on is durable too. It may run several times.
    pub async fn run<T, E, F, Fut>(&self, operation: &'static str, body: F) -> Result<T, E>
    where
        F: Fn(Tx) -> Fut,
        Fut: Future<Output = Result<Committed<T>, E>> + Send,
        E: From<StoreError>,
    {
        let attempts_max = match self.backend() {
            Backend::Sqlite { .. } => limits::STORE_COMMIT_ATTEMPTS_MAX,
            Backend::Postgres { .. } => limits::STORE_CONTENTION_ATTEMPTS_MAX,
        };
        let mut last = StoreError::Contention { operation };
        for attempt in 0..attempts_max {
            let ended = match self.backend() {
                Backend::Sqlite { writer, .. } => run_sqlite(writer, self.bounds(operation), &body).await,
                Backend::Postgres { pool, begin } => {
                    run_postgres(pool, begin.text(attempt), self.bounds(operation), &body).await
                }
            };
            match ended {
                Attempt::Done(answer) => return answer,
                Attempt::Again(why) => last = why,
            }
        }
        Err(E::from(last))
    }

    /// Runs a body that reads one consistent snapshot. It may run several times.
    pub async fn read<T, E, F, Fut>(&self, operation: &'static str, body: F) -> Result<T, E>
    where
        F: Fn(ReadTx) -> Fut,
        Fut: Future<Output = Result<T, E>> + Send,
        E: From<StoreError>,
    {
        for attempt in 0..limits::STORE_CONTENTION_ATTEMPTS_MAX {
            let ended = match self.backend() {
                Backend::Sqlite { readers, .. } => return read_sqlite(readers, self.bounds(operation), &body).await,
                Backend::Postgres { pool, .. } => {
                    read_postgres(pool, Begin::READ_ONLY.text(attempt), self.bounds(operation), &body).await
                }
            };
            if let Attempt::Done(answer) = ended {
                return answer;
            }
        }
        Err(E::from(StoreError::Contention { operation }))
    }
}

async fn run_sqlite<T, E, F, Fut>(writer: &Writer, bounds: Bounds, body: &F) -> Attempt<T, E>
where
    F: Fn(Tx) -> Fut,
    Fut: Future<Output = Result<Committed<T>, E>> + Send,
    E: From<StoreError>,
{
    let operation = bounds.operation;
    let Turn { link, report, verdict } = match writer.wait_turn().await {
        Ok(Ok(turn)) => turn,
        Ok(Err(fault)) => return Attempt::Again(StoreError::Engine(fault)),
        Err(closed) => return Attempt::Done(Err(E::from(closed))),
    };
    let home = Arc::new(Home::default());
    let outcome = bounded(bounds, body(Tx::new(operation, Link::SqliteWriter(link), Arc::clone(&home)))).await;
    let answer = outcome.map(released);
    let Some(link) = home.take_link() else {
        return Attempt::Done(Err(E::from(StoreError::Spoiled { operation })));
    };
    drop(link);
    // The writer waits for this report; it is gone only when the whole store is.
    let _ = report.send(if answer.is_ok() { Report::Keep } else { Report::Undo });
    match verdict.await {
        Ok(Ok(())) => Attempt::Done(answer),
        Ok(Err(fault)) => Attempt::Again(StoreError::Engine(fault)),
        Err(_) => Attempt::Done(Err(E::from(StoreError::Closed))),
    }
}

async fn run_postgres<T, E, F, Fut>(pool: &PgPool, begin: &'static str, bounds: Bounds, body: &F) -> Attempt<T, E>
where
    F: Fn(Tx) -> Fut,
    Fut: Future<Output = Result<Committed<T>, E>> + Send,
    E: From<StoreError>,
{
    let operation = bounds.operation;
    let tx = match pool.begin_with(begin).await {
        Ok(tx) => tx,
        Err(error) => return ended_by(&error, operation),
    };
    let home = Arc::new(Home::default());
    let outcome = bounded(bounds, body(Tx::new(operation, Link::Postgres(tx), Arc::clone(&home)))).await;
    finish_postgres(&home, operation, outcome.map(released)).await
}

async fn read_postgres<T, E, F, Fut>(pool: &PgPool, begin: &'static str, bounds: Bounds, body: &F) -> Attempt<T, E>
where
    F: Fn(ReadTx) -> Fut,
    Fut: Future<Output = Result<T, E>> + Send,
    E: From<StoreError>,
{
    let operation = bounds.operation;
    let tx = match pool.begin_with(begin).await {
        Ok(tx) => tx,
        Err(error) => return ended_by(&error, operation),
    };
    let home = Arc::new(Home::default());
    let outcome = bounded(bounds, body(ReadTx::new(operation, Link::Postgres(tx), Arc::clone(&home)))).await;
    let Some(Link::Postgres(tx)) = home.take_link() else {
        return Attempt::Done(Err(E::from(StoreError::Spoiled { operation })));
    };
    finish_read(&home, tx, operation, outcome).await
}

async fn read_sqlite<T, E, F, Fut>(readers: &SqlitePool, bounds: Bounds, body: &F) -> Result<T, E>
where
    F: Fn(ReadTx) -> Fut,
    Fut: Future<Output = Result<T, E>> + Send,
    E: From<StoreError>,
{
    let operation = bounds.operation;
    let tx = readers.begin().await.map_err(StoreError::from)?;
    let home = Arc::new(Home::default());
    bounded(bounds, body(ReadTx::new(operation, Link::SqliteReader(tx), home))).await
}

/// Commits what the body kept, or only what it read: even a refusal must not rest on a snapshot that never was.
async fn finish_postgres<T, E: From<StoreError>>(
    home: &Home,
    operation: &'static str,
    answer: Result<T, E>,
) -> Attempt<T, E> {
    let Some(Link::Postgres(mut tx)) = home.take_link() else {
        return Attempt::Done(Err(E::from(StoreError::Spoiled { operation })));
    };
    if answer.is_err() {
        if let Some(fault) = home.fault() {
            return if fault.is_contention() {
                Attempt::Again(StoreError::Contention { operation })
            } else {
                Attempt::Done(answer)
            };
        }
        if let Err(error) = sqlx::query("ROLLBACK TO SAVEPOINT body").execute(&mut *tx).await {
            return ended_by(&error, operation);
        }
    }
    match tx.commit().await {
        Ok(()) => Attempt::Done(answer),
        Err(error) => ended_by(&error, operation),
    }
}

async fn finish_read<T, E: From<StoreError>>(
    home: &Home,
    tx: Transaction<'static, Postgres>,
    operation: &'static str,
    answer: Result<T, E>,
) -> Attempt<T, E> {
    match home.fault() {
        Some(fault) if fault.is_contention() => Attempt::Again(StoreError::Contention { operation }),
        Some(_) => Attempt::Done(answer),
        None => match tx.commit().await {
            Ok(()) => Attempt::Done(answer),
            Err(error) => ended_by(&error, operation),
        },
    }
}

fn ended_by<T, E: From<StoreError>>(error: &sqlx::Error, operation: &'static str) -> Attempt<T, E> {
    let fault = EngineFault::from(error);
    if fault.is_contention() {
        return Attempt::Again(StoreError::Contention { operation });
    }
    Attempt::Done(Err(E::from(StoreError::Engine(fault))))
}

/// Gives the link back and keeps the answer.
fn released<T>(committed: Committed<T>) -> T {
    let Committed { tx, answer } = committed;
    drop(tx);
    answer
}

/// A body that hangs must not hold the writer, or a row lock, for ever.
async fn bounded<T, E: From<StoreError>>(bounds: Bounds, body: impl Future<Output = Result<T, E>>) -> Result<T, E> {
    match tokio::time::timeout(bounds.body_max, body).await {
        Ok(outcome) => outcome,
        Err(_) => Err(E::from(StoreError::TooSlow { operation: bounds.operation })),
    }
}
