//! The device's database: its sealed copy of connections and the ledger of its calls. One SQLite file per service; holds no key and nothing opened.

pub mod copy;
pub mod directory;
pub mod ledger;

use crate::error::CliError;
use contract::Code;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};
use sqlx::{Connection as _, Row as _};
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

/// The open database.
pub struct Db {
    pub(crate) connection: SqliteConnection,
}

/// Forward-only, in order; the number of the last one is the schema version.
const MIGRATIONS: &[&str] = &[include_str!("../../migrations/0001_device.sql")];

/// How long another process of this device may hold the database, seconds.
const BUSY_S_MAX: u64 = 10;

impl Db {
    /// Opens the database, made at first use, readable by this user alone.
    pub async fn open(path: &Path) -> Result<Self, CliError> {
        // SQLite gives -wal and -shm the mode of the database itself.
        let made = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path);
        made.map_err(|error| CliError::internal(format!("cannot open {}: {error}", path.display())))?;
        let options = SqliteConnectOptions::new()
            .filename(path)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .busy_timeout(Duration::from_secs(BUSY_S_MAX))
            .pragma("secure_delete", "ON")
            .pragma("trusted_schema", "OFF");
        let connection = SqliteConnection::connect_with(&options).await?;
        let mut db = Self { connection };
        db.migrate().await?;
        Ok(db)
    }

    /// The schema version of the file.
    pub async fn schema_version(&mut self) -> Result<i64, CliError> {
        Ok(sqlx::query("PRAGMA user_version").fetch_one(&mut self.connection).await?.try_get(0)?)
    }

    /// SQLite's own check of the whole file; `ok`, or what is wrong.
    pub async fn integrity(&mut self) -> Result<String, CliError> {
        Ok(sqlx::query("PRAGMA integrity_check(1)").fetch_one(&mut self.connection).await?.try_get(0)?)
    }

    /// Empties the write-ahead log into the database, so that what was deleted is gone from both.
    pub async fn checkpoint(&mut self) -> Result<(), CliError> {
        sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut self.connection).await?;
        Ok(())
    }

    /// Begins a group of writes; dropped without [`Db::commit`], none of them happened.
    pub async fn begin(&mut self) -> Result<(), CliError> {
        sqlx::query("BEGIN IMMEDIATE").execute(&mut self.connection).await?;
        Ok(())
    }

    /// Ends a group of writes; all of them happened.
    pub async fn commit(&mut self) -> Result<(), CliError> {
        sqlx::query("COMMIT").execute(&mut self.connection).await?;
        Ok(())
    }

    async fn migrate(&mut self) -> Result<(), CliError> {
        let known = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
        if self.schema_version().await? == known {
            return Ok(());
        }
        let mut transaction = self.connection.begin_with("BEGIN IMMEDIATE").await?;
        // Another process may have been first.
        let found: i64 = sqlx::query("PRAGMA user_version").fetch_one(&mut *transaction).await?.try_get(0)?;
        if found > known {
            return Err(CliError::new(
                Code::Unsupported,
                format!("the local database has version {found}, this program knows {known}"),
            )
            .hint("use the newer `collie` that wrote it"));
        }
        let done = usize::try_from(found).unwrap_or(0);
        for migration in MIGRATIONS.iter().skip(done) {
            sqlx::raw_sql(*migration).execute(&mut *transaction).await?;
        }
        sqlx::raw_sql(sqlx::AssertSqlSafe(format!("PRAGMA user_version = {known}"))).execute(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn temporary() -> (tempfile::TempDir, Db) {
        let folder = tempfile::tempdir().expect("a folder");
        let db = Db::open(&folder.path().join("collie.db")).await.expect("opens");
        (folder, db)
    }

    #[tokio::test]
    async fn it_is_private_durable_and_forgets() {
        let (folder, mut db) = temporary().await;
        for (pragma, value) in [("PRAGMA synchronous", 2), ("PRAGMA secure_delete", 1), ("PRAGMA foreign_keys", 1)] {
            let found: i64 = sqlx::query(pragma).fetch_one(&mut db.connection).await.expect("answers").get(0);
            assert_eq!(found, value, "{pragma}");
        }
        let mode: String =
            sqlx::query("PRAGMA journal_mode").fetch_one(&mut db.connection).await.expect("answers").get(0);
        assert_eq!(mode, "wal");
        for entry in std::fs::read_dir(folder.path()).expect("lists") {
            let path = entry.expect("an entry").path();
            assert!(!crate::state::files::is_open_to_others(&path).expect("looks"), "{}", path.display());
        }
    }

    #[tokio::test]
    async fn a_newer_file_is_refused_and_an_open_one_is_shared() {
        let (folder, mut db) = temporary().await;
        let path = folder.path().join("collie.db");
        let again = Db::open(&path).await.expect("opens a second time").schema_version().await.expect("answers");
        assert_eq!(again, 1);
        sqlx::query("PRAGMA user_version = 99").execute(&mut db.connection).await.expect("sets");
        let error = Db::open(&path).await.err().expect("refused");
        assert_eq!(error.code, Code::Unsupported);
    }
}
