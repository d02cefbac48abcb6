//! A database of one test's own, on either engine, looked at from outside the product. Dropped at the end however the test ends.

use sqlx::{Connection as _, PgConnection, Row as _, SqliteConnection, sqlite::SqliteConnectOptions};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};
use store::StoreConfig;

/// Which engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// A file.
    Sqlite,
    /// The server that `COLLIE_TEST_POSTGRES` names.
    Postgres,
}

/// A test's own database.
pub enum Database {
    /// A file in the service's directory.
    Sqlite {
        /// Its path.
        path: PathBuf,
    },
    /// A database on the test server.
    Postgres(PostgresDatabase),
}

/// A database that is dropped with this value.
pub struct PostgresDatabase {
    admin: String,
    name: String,
    url: String,
}

impl Database {
    pub(super) async fn make(engine: Engine, directory: &Path) -> Option<Self> {
        match engine {
            Engine::Sqlite => Some(Self::Sqlite { path: directory.join("collie.db") }),
            Engine::Postgres => PostgresDatabase::make().await.map(Self::Postgres),
        }
    }

    pub(super) fn config(&self) -> StoreConfig {
        match self {
            Self::Sqlite { path } => StoreConfig::Sqlite { path: path.clone() },
            Self::Postgres(database) => StoreConfig::Postgres { url: database.url.clone() },
        }
    }

    /// Rows of every table, and what the rows of connections and credentials say their version is: any write shows.
    pub async fn rows(&self) -> BTreeMap<String, i64> {
        let mut rows = BTreeMap::new();
        for table in self.names().await {
            rows.insert(table.clone(), self.number(&format!("SELECT COUNT(*) FROM \"{table}\"")).await);
        }
        for table in ["connection", "connection_credential"] {
            let versions = self.number(&format!("SELECT CAST(COALESCE(SUM(version), 0) AS BIGINT) FROM {table}")).await;
            rows.insert(format!("{table}.version"), versions);
        }
        rows
    }

    /// Every text cell of a table's column, for looking at what is stored.
    pub async fn texts(&self, table: &str, column: &str) -> Vec<String> {
        self.strings(&format!("SELECT {column} FROM \"{table}\" WHERE {column} IS NOT NULL")).await
    }

    async fn names(&self) -> Vec<String> {
        match self {
            Self::Sqlite { .. } => {
                self.strings("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_sqlx%' ESCAPE '\\' AND name NOT LIKE 'sqlite%'").await
            }
            Self::Postgres(_) => {
                self.strings("SELECT table_name::TEXT FROM information_schema.tables WHERE table_schema = 'public' AND table_name NOT LIKE '\\_sqlx%'").await
            }
        }
    }

    async fn strings(&self, sql: &str) -> Vec<String> {
        let sql = sqlx::AssertSqlSafe(sql.to_owned());
        match self {
            Self::Sqlite { path } => {
                let mut link = open_file(path).await;
                let rows = sqlx::query(sql).fetch_all(&mut link).await.expect("the query runs");
                rows.iter().map(|row| row.get(0)).collect()
            }
            Self::Postgres(database) => {
                let mut link = PgConnection::connect(&database.url).await.expect("the database answers");
                let rows = sqlx::query(sql).fetch_all(&mut link).await.expect("the query runs");
                rows.iter().map(|row| row.get(0)).collect()
            }
        }
    }

    async fn number(&self, sql: &str) -> i64 {
        let sql = sqlx::AssertSqlSafe(sql.to_owned());
        match self {
            Self::Sqlite { path } => {
                sqlx::query(sql).fetch_one(&mut open_file(path).await).await.expect("the query runs").get(0)
            }
            Self::Postgres(database) => {
                let mut link = PgConnection::connect(&database.url).await.expect("the database answers");
                sqlx::query(sql).fetch_one(&mut link).await.expect("the query runs").get(0)
            }
        }
    }
}

async fn open_file(path: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(path).read_only(true);
    SqliteConnection::connect_with(&options).await.expect("the file opens")
}

impl PostgresDatabase {
    async fn make() -> Option<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let Some(admin) = std::env::var("COLLIE_TEST_POSTGRES").ok().filter(|url| !url.is_empty()) else {
            assert!(std::env::var("COLLIE_REQUIRE_POSTGRES").is_err(), "COLLIE_TEST_POSTGRES must be set here");
            return None;
        };
        let name = format!("collie_suite_{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::SeqCst));
        run_admin(&admin, format!("CREATE DATABASE {name}")).await;
        let url = with_database(&admin, &name);
        Some(Self { admin, name, url })
    }
}

impl Drop for PostgresDatabase {
    fn drop(&mut self) {
        let (admin, sql) = (self.admin.clone(), format!("DROP DATABASE {} WITH (FORCE)", self.name));
        // A drop runs inside the test's runtime, which may not be blocked; a thread has a runtime of its own.
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(run_admin(&admin, sql));
        });
        let _ = dropping.join();
    }
}

async fn run_admin(url: &str, sql: String) {
    let mut link = PgConnection::connect(url).await.expect("the admin URL answers");
    sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&mut link).await.expect("the admin statement runs");
}

/// The admin URL with another database: `postgres://user@host/name?params`.
fn with_database(admin: &str, name: &str) -> String {
    let (address, params) = admin.split_once('?').unwrap_or((admin, ""));
    let authority = address.find("://").map_or(0, |at| at + 3);
    let end = address[authority..].find('/').map_or(address.len(), |at| authority + at);
    let query = if params.is_empty() { String::new() } else { format!("?{params}") };
    format!("{}/{name}{query}", &address[..end])
}
