//! Opening a database of either engine at the schema this program knows. Never opens one that another program wrote.

use crate::{
    engine::{Begin, Bounds, Writer},
    error::{EngineFault, StoreError},
};
use contract::limits;
use sqlx::{
    ConnectOptions as _, PgPool, SqlitePool,
    migrate::{Migrate, MigrateError, Migrator},
    postgres::{PgConnectOptions, PgPoolOptions},
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};
use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

static SQLITE_MIGRATIONS: Migrator = sqlx::migrate!("../../migrations/sqlite");
static POSTGRES_MIGRATIONS: Migrator = sqlx::migrate!("../../migrations/postgres");
static SQLITE_KEY_MIGRATIONS: Migrator = sqlx::migrate!("../../migrations/tmk/sqlite");
static POSTGRES_KEY_MIGRATIONS: Migrator = sqlx::migrate!("../../migrations/tmk/postgres");

/// Where the database is.
#[derive(Clone, PartialEq, Eq)]
pub enum StoreConfig {
    /// A file, made with mode 0600 when it is not there.
    Sqlite {
        /// Its path.
        path: PathBuf,
    },
    /// A PostgreSQL database.
    Postgres {
        /// `postgres://…`; it may hold a password and is never printed.
        url: String,
    },
}

impl fmt::Debug for StoreConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite { path } => f.debug_struct("Sqlite").field("path", path).finish(),
            Self::Postgres { .. } => f.debug_struct("Postgres").finish_non_exhaustive(),
        }
    }
}

/// The database of one installation. Clones share it.
#[derive(Clone)]
pub struct Store {
    backend: Arc<Backend>,
    body_max: Duration,
}

pub(crate) enum Backend {
    Sqlite { writer: Writer, readers: SqlitePool },
    Postgres { pool: PgPool, begin: Begin },
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("engine", &self.engine_name()).finish_non_exhaustive()
    }
}

impl Store {
    /// Opens the database, makes it when it is not there, and brings it to this program's schema. Must be called inside a tokio runtime.
    pub async fn open(config: StoreConfig) -> Result<Self, StoreError> {
        let backend = match config {
            StoreConfig::Sqlite { path } => open_sqlite(&path, &SQLITE_MIGRATIONS).await?,
            StoreConfig::Postgres { url } => open_postgres(&url, Begin::SERIALIZABLE, &POSTGRES_MIGRATIONS).await?,
        };
        Ok(Self::new(backend))
    }

    /// `sqlite` or `postgres`, for status pages.
    #[must_use]
    pub fn engine_name(&self) -> &'static str {
        match self.backend() {
            Backend::Sqlite { .. } => "sqlite",
            Backend::Postgres { .. } => "postgres",
        }
    }

    /// Number of the newest migration this program knows.
    #[must_use]
    pub fn schema_version() -> i64 {
        SQLITE_MIGRATIONS.iter().map(|migration| migration.version).max().unwrap_or_default()
    }

    /// Whether the database answers now.
    pub async fn ping(&self) -> Result<(), StoreError> {
        match self.backend() {
            Backend::Sqlite { readers, .. } => sqlx::query("SELECT 1").execute(readers).await.map(|_| ()),
            Backend::Postgres { pool, .. } => sqlx::query("SELECT 1").execute(pool).await.map(|_| ()),
        }
        .map_err(StoreError::from)
    }

    /// Removes from SQLite's write-ahead log what was overwritten or deleted since the last call; a read that lasts may leave it to the next one. Does nothing on PostgreSQL.
    pub async fn checkpoint(&self) -> Result<(), StoreError> {
        match self.backend() {
            Backend::Sqlite { writer, .. } => writer.checkpoint().await,
            Backend::Postgres { .. } => Ok(()),
        }
    }

    /// Ends after everything that waits already. Later calls end with [`StoreError::Closed`].
    pub async fn close(&self) {
        match self.backend() {
            Backend::Sqlite { writer, readers } => {
                readers.close().await;
                writer.close().await;
            }
            Backend::Postgres { pool, .. } => pool.close().await,
        }
    }

    fn new(backend: Backend) -> Self {
        Self { backend: Arc::new(backend), body_max: Duration::from_secs(limits::STORE_BODY_S_MAX) }
    }

    pub(crate) const fn bounds(&self, operation: &'static str) -> Bounds {
        Bounds { operation, body_max: self.body_max }
    }

    pub(crate) fn backend(&self) -> &Backend {
        &self.backend
    }

    /// The same store with another patience.
    #[cfg(test)]
    pub(crate) fn with_body_max(mut self, body_max: Duration) -> Self {
        self.body_max = body_max;
        self
    }

    /// A setting of the writer's own connection.
    #[cfg(test)]
    pub(crate) async fn writer_pragma(&self, name: &'static str) -> String {
        match self.backend() {
            Backend::Sqlite { writer, .. } => writer.pragma(name).await,
            Backend::Postgres { .. } => String::new(),
        }
    }

    /// Commits that the SQLite writer has made.
    #[cfg(test)]
    pub(crate) fn group_commits(&self) -> u64 {
        match self.backend() {
            Backend::Sqlite { writer, .. } => writer.commits(),
            Backend::Postgres { .. } => 0,
        }
    }

    /// Waits until this many bodies wait for the SQLite writer.
    #[cfg(test)]
    pub(crate) async fn wait_for_queue(&self, bodies: usize) {
        if let Backend::Sqlite { writer, .. } = self.backend() {
            writer.wait_for_queue(bodies).await;
        }
    }

    /// A store at another isolation level: the must-fail control of the write-skew test.
    #[cfg(test)]
    pub(crate) async fn open_postgres_at(url: &str, begin: Begin) -> Result<Self, StoreError> {
        Ok(Self::new(open_postgres(url, begin, &POSTGRES_MIGRATIONS).await?))
    }
}

/// Opens the database of wrapped tenant keys. A main database is of another schema and is left alone.
pub(crate) async fn open_tenant_keys(config: StoreConfig) -> Result<Store, StoreError> {
    let backend = match config {
        StoreConfig::Sqlite { path } => open_sqlite(&path, &SQLITE_KEY_MIGRATIONS).await?,
        StoreConfig::Postgres { url } => open_postgres(&url, Begin::ALONE, &POSTGRES_KEY_MIGRATIONS).await?,
    };
    Ok(Store::new(backend))
}

async fn open_sqlite(path: &Path, migrations: &'static Migrator) -> Result<Backend, StoreError> {
    make_private_file(path)?;
    let options = SqliteConnectOptions::new()
        .filename(path)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(Duration::from_secs(limits::STORE_BUSY_S_MAX))
        .pragma("secure_delete", "ON")
        .pragma("trusted_schema", "OFF")
        .statement_cache_capacity(limits::STORE_STATEMENTS_MAX)
        .disable_statement_logging();
    let mut connection = options.connect().await?;
    migrate(migrations, &mut connection).await?;
    let readers = SqlitePoolOptions::new()
        .max_connections(limits::STORE_READERS_MAX)
        .acquire_timeout(Duration::from_secs(limits::STORE_BUSY_S_MAX))
        .connect_lazy_with(options.read_only(true).pragma("query_only", "ON"));
    Ok(Backend::Sqlite { writer: Writer::start(connection), readers })
}

async fn open_postgres(url: &str, begin: Begin, migrations: &'static Migrator) -> Result<Backend, StoreError> {
    let body_ms_max = (limits::STORE_BODY_S_MAX * 1000).to_string();
    let options = url
        .parse::<PgConnectOptions>()?
        .application_name("collie-broker")
        .options([
            ("statement_timeout", body_ms_max.as_str()),
            ("idle_in_transaction_session_timeout", body_ms_max.as_str()),
        ])
        .statement_cache_capacity(limits::STORE_STATEMENTS_MAX)
        .disable_statement_logging();
    let pool = PgPoolOptions::new()
        .max_connections(limits::STORE_CONNECTIONS_MAX)
        .acquire_timeout(Duration::from_secs(limits::STORE_ACQUIRE_S_MAX))
        .connect_with(options)
        .await?;
    migrate(migrations, &mut *pool.acquire().await?).await?;
    Ok(Backend::Postgres { pool, begin })
}

/// Forward only. Another process may migrate the same SQLite file at the same time; then one of the two finds it done.
async fn migrate<C: Migrate>(migrations: &'static Migrator, connection: &mut C) -> Result<(), StoreError> {
    let mut outcome = migrations.run_direct(None, connection, false).await;
    if matches!(outcome, Err(MigrateError::Execute(_) | MigrateError::ExecuteMigration(..))) {
        outcome = migrations.run_direct(None, connection, false).await;
    }
    outcome.map_err(|error| schema_error(&error))
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the driver's enum is open; what is not named here is one kind")]
fn schema_error(error: &MigrateError) -> StoreError {
    match error {
        MigrateError::VersionMissing(version)
        | MigrateError::VersionMismatch(version)
        | MigrateError::VersionNotPresent(version)
        | MigrateError::VersionTooNew(version, _)
        | MigrateError::VersionTooOld(version, _)
        | MigrateError::Dirty(version) => StoreError::UnknownSchema { version: *version },
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => {
            StoreError::Engine(EngineFault::from(error))
        }
        _ => StoreError::Engine(EngineFault::of_kind("migration failed")),
    }
}

/// SQLite gives its log files the mode of the database, so the database must begin private.
fn make_private_file(path: &Path) -> Result<(), StoreError> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    match options.open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(_) => Err(StoreError::Engine(EngineFault::of_kind("database file cannot be made"))),
    }
}
