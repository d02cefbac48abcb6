//! The transaction that a body works in, and the proof that it ended with an explanation. Never begins, commits or retries by itself: `run` does.

use super::{
    row::{Inner, Row},
    statement::{Access, Statement, Upkeep, Value},
};
use crate::{
    error::{EngineFault, StoreError},
    repository::audit,
};
use contract::audit::AuditEntry;
use sqlx::{
    Postgres, Sqlite, SqliteConnection, Transaction, postgres::PgArguments, query::Query, sqlite::SqliteArguments,
};
use std::{
    ops::{Deref, DerefMut},
    sync::{Arc, Mutex, PoisonError},
};
use tokio::sync::OwnedMutexGuard;

/// The connection under a transaction.
pub(crate) enum Link {
    /// SQLite's one writer, inside a savepoint of a group.
    SqliteWriter(OwnedMutexGuard<SqliteConnection>),
    /// A read-only SQLite snapshot.
    SqliteReader(Transaction<'static, Sqlite>),
    /// A PostgreSQL transaction.
    Postgres(Transaction<'static, Postgres>),
}

/// Where a link goes back to when its transaction is dropped, and what `run` must know about it.
#[derive(Default)]
pub(crate) struct Home {
    link: Mutex<Option<Link>>,
    fault: Mutex<Option<EngineFault>>,
}

impl Home {
    /// The link, if the body is through with it.
    pub(crate) fn take_link(&self) -> Option<Link> {
        self.link.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The first failure of the engine inside this transaction.
    pub(crate) fn fault(&self) -> Option<EngineFault> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A transaction that reads. It has every `find_*` and `list_*`, and goes back to `run` or `read` when it is dropped.
#[must_use = "a transaction that is dropped has done nothing"]
pub struct ReadTx {
    operation: &'static str,
    link: Option<Link>,
    home: Arc<Home>,
    unexplained: Option<&'static str>,
    upkept: Option<&'static str>,
}

/// A transaction that writes: a [`ReadTx`] with the `insert_*` methods and the transitions. Dropping it writes nothing; only a commit makes the [`Committed`] that `run` asks for.
#[must_use = "a transaction that is dropped has done nothing"]
pub struct Tx(ReadTx);

/// Proof that a body ended with an explained commit. `run` releases the answer once the write is durable.
#[must_use = "`run` needs this to commit"]
pub struct Committed<T> {
    pub(super) tx: Tx,
    pub(super) answer: T,
}

impl Deref for Tx {
    type Target = ReadTx;

    fn deref(&self) -> &ReadTx {
        &self.0
    }
}

impl DerefMut for Tx {
    fn deref_mut(&mut self) -> &mut ReadTx {
        &mut self.0
    }
}

impl Drop for ReadTx {
    fn drop(&mut self) {
        *self.home.link.lock().unwrap_or_else(PoisonError::into_inner) = self.link.take();
    }
}

impl Tx {
    pub(crate) fn new(operation: &'static str, link: Link, home: Arc<Home>) -> Self {
        Self(ReadTx::new(operation, link, home))
    }

    /// Ends the body with the event that explains it. The answer is released after the commit is durable.
    pub async fn commit_with<T>(mut self, entry: AuditEntry, answer: T) -> Result<Committed<T>, StoreError> {
        self.record(entry).await?;
        self.check_unspoiled()?;
        Ok(Committed { tx: self, answer })
    }

    /// Ends the body without an event, for housekeeping. Refuses when a statement ran that needs one.
    pub fn commit_upkeep<T>(self, upkeep: Upkeep, answer: T) -> Result<Committed<T>, StoreError> {
        self.check_unspoiled()?;
        if let Some(statement) = self.0.unexplained {
            return Err(StoreError::Unexplained { statement });
        }
        tracing::trace!(operation = self.0.operation, ?upkeep, "upkeep");
        Ok(Committed { tx: self, answer })
    }

    /// Ends the body without an event because nothing was written: a repeated request whose answer stands already.
    pub fn commit_unchanged<T>(self, answer: T) -> Result<Committed<T>, StoreError> {
        self.check_unspoiled()?;
        match self.0.unexplained.or(self.0.upkept) {
            Some(statement) => Err(StoreError::Unexplained { statement }),
            None => Ok(Committed { tx: self, answer }),
        }
    }

    /// Writes one more event into the same commit, for an operation that has two.
    pub async fn record(&mut self, entry: AuditEntry) -> Result<(), StoreError> {
        audit::append(self, entry).await
    }

    /// Runs a write and says how many rows it touched.
    pub(crate) async fn execute(
        &mut self,
        statement: &'static Statement,
        values: Vec<Value>,
    ) -> Result<u64, StoreError> {
        self.note(statement);
        self.0.execute(statement, values).await
    }

    /// Runs a write that must touch exactly one row.
    pub(crate) async fn execute_one(
        &mut self,
        statement: &'static Statement,
        values: Vec<Value>,
    ) -> Result<(), StoreError> {
        match self.execute(statement, values).await? {
            1 => Ok(()),
            actual => Err(StoreError::Fenced { statement: statement.name, expected: 1, actual }),
        }
    }

    /// Runs a write with `RETURNING` that touches at most one row.
    pub(crate) async fn returning(
        &mut self,
        statement: &'static Statement,
        values: Vec<Value>,
    ) -> Result<Option<Row>, StoreError> {
        self.note(statement);
        self.0.fetch_optional(statement, values).await
    }

    fn note(&mut self, statement: &'static Statement) {
        match statement.access {
            Access::Read => {}
            Access::Write => self.0.unexplained = Some(statement.name),
            Access::Upkeep(_) => self.0.upkept = Some(statement.name),
        }
    }
}

impl ReadTx {
    pub(crate) fn new(operation: &'static str, link: Link, home: Arc<Home>) -> Self {
        Self { operation, link: Some(link), home, unexplained: None, upkept: None }
    }

    /// At most one row.
    pub(crate) async fn find(
        &mut self,
        statement: &'static Statement,
        values: Vec<Value>,
    ) -> Result<Option<Row>, StoreError> {
        debug_assert!(statement.access == Access::Read, "`{}` writes", statement.name);
        self.fetch_optional(statement, values).await
    }

    /// All rows; the statement carries its own LIMIT.
    pub(crate) async fn list(
        &mut self,
        statement: &'static Statement,
        values: Vec<Value>,
    ) -> Result<Vec<Row>, StoreError> {
        debug_assert!(statement.access == Access::Read, "`{}` writes", statement.name);
        self.check(&values)?;
        let fetched = match &mut self.link {
            Some(Link::SqliteWriter(connection)) => {
                sqlite_query(statement, values).fetch_all(&mut **connection).await.map(Inner::all_sqlite)
            }
            Some(Link::SqliteReader(tx)) => {
                sqlite_query(statement, values).fetch_all(&mut **tx).await.map(Inner::all_sqlite)
            }
            Some(Link::Postgres(tx)) => {
                postgres_query(statement, values).fetch_all(&mut **tx).await.map(Inner::all_postgres)
            }
            None => return Err(StoreError::Spoiled { operation: self.operation }),
        };
        let rows = fetched.map_err(|error| self.spoil(&error))?;
        Ok(rows.into_iter().map(|inner| Row { table: statement.table, inner }).collect())
    }

    async fn fetch_optional(
        &mut self,
        statement: &'static Statement,
        values: Vec<Value>,
    ) -> Result<Option<Row>, StoreError> {
        self.check(&values)?;
        let fetched = match &mut self.link {
            Some(Link::SqliteWriter(connection)) => sqlite_query(statement, values)
                .fetch_optional(&mut **connection)
                .await
                .map(|row| row.map(Inner::Sqlite)),
            Some(Link::SqliteReader(tx)) => {
                sqlite_query(statement, values).fetch_optional(&mut **tx).await.map(|row| row.map(Inner::Sqlite))
            }
            Some(Link::Postgres(tx)) => {
                postgres_query(statement, values).fetch_optional(&mut **tx).await.map(|row| row.map(Inner::Postgres))
            }
            None => return Err(StoreError::Spoiled { operation: self.operation }),
        };
        let row = fetched.map_err(|error| self.spoil(&error))?;
        Ok(row.map(|inner| Row { table: statement.table, inner }))
    }

    async fn execute(&mut self, statement: &'static Statement, values: Vec<Value>) -> Result<u64, StoreError> {
        self.check(&values)?;
        let done = match &mut self.link {
            Some(Link::SqliteWriter(connection)) => {
                sqlite_query(statement, values).execute(&mut **connection).await.map(|done| done.rows_affected())
            }
            Some(Link::SqliteReader(tx)) => {
                sqlite_query(statement, values).execute(&mut **tx).await.map(|done| done.rows_affected())
            }
            Some(Link::Postgres(tx)) => {
                postgres_query(statement, values).execute(&mut **tx).await.map(|done| done.rows_affected())
            }
            None => return Err(StoreError::Spoiled { operation: self.operation }),
        };
        done.map_err(|error| self.spoil(&error))
    }

    fn check(&self, values: &[Value]) -> Result<(), StoreError> {
        self.check_unspoiled()?;
        values.iter().try_for_each(Value::check)
    }

    // Invariant: after a failed statement nothing more runs and nothing commits. PostgreSQL would answer COMMIT with a silent ROLLBACK, and SQLite may already have left the transaction, so that the next statement would commit alone.
    fn check_unspoiled(&self) -> Result<(), StoreError> {
        match self.home.fault() {
            Some(_) => Err(StoreError::Spoiled { operation: self.operation }),
            None => Ok(()),
        }
    }

    fn spoil(&self, error: &sqlx::Error) -> StoreError {
        let fault = EngineFault::from(error);
        let mut first = self.home.fault.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert_with(|| fault.clone());
        StoreError::Engine(fault)
    }
}

impl Inner {
    fn all_sqlite(rows: Vec<sqlx::sqlite::SqliteRow>) -> Vec<Self> {
        rows.into_iter().map(Self::Sqlite).collect()
    }

    fn all_postgres(rows: Vec<sqlx::postgres::PgRow>) -> Vec<Self> {
        rows.into_iter().map(Self::Postgres).collect()
    }
}

fn sqlite_query(statement: &'static Statement, values: Vec<Value>) -> Query<'static, Sqlite, SqliteArguments> {
    values.into_iter().fold(sqlx::query(statement.sqlite), |query, value| match value {
        Value::Text(text) => query.bind(text),
        Value::Int(int) => query.bind(int),
        Value::Bytes(bytes) => query.bind(bytes),
    })
}

fn postgres_query(statement: &'static Statement, values: Vec<Value>) -> Query<'static, Postgres, PgArguments> {
    values.into_iter().fold(sqlx::query(statement.postgres), |query, value| match value {
        Value::Text(text) => query.bind(text),
        Value::Int(int) => query.bind(int),
        Value::Bytes(bytes) => query.bind(bytes),
    })
}
