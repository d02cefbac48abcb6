//! The vault's own tests, each on both engines: what a database writer can do to its rows, and what a start notices. Nothing here is product code.
//!
//! `COLLIE_TEST_POSTGRES` is a URL that may create databases; without it only SQLite runs.

mod attack;
mod boot;
mod keys;
mod purpose;
mod transient;
mod world;

use sqlx::{AssertSqlSafe, Connection as _, PgConnection, SqliteConnection};
use std::{
    future::Future,
    sync::atomic::{AtomicU32, Ordering},
};
use store::StoreConfig;

/// Where the main database and the key store are.
#[derive(Clone)]
pub(super) struct Fixture {
    pub(super) main: StoreConfig,
    pub(super) keys: StoreConfig,
    /// Another, empty place for each.
    pub(super) other_main: StoreConfig,
    pub(super) other_keys: StoreConfig,
}

/// Writes one test that runs on SQLite and one that runs on PostgreSQL.
macro_rules! on_both_engines {
    ($($(#[doc = $doc:literal])* async fn $name:ident($fixture:ident: Fixture) $body:block)+) => {$(
        mod $name {
            use super::*;

            $(#[doc = $doc])*
            async fn body($fixture: $crate::tests::Fixture) $body

            #[test]
            fn sqlite() {
                $crate::tests::on_sqlite(body);
            }

            #[test]
            fn postgres() {
                $crate::tests::on_postgres(body);
            }
        }
    )+};
}
pub(crate) use on_both_engines;

pub(super) fn on_sqlite<Fut: Future<Output = ()> + Send + 'static>(body: fn(Fixture) -> Fut) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let place = |name: &str| StoreConfig::Sqlite { path: folder.path().join(name) };
    run(body(Fixture {
        main: place("collie.db"),
        keys: place("tmk.db"),
        other_main: place("other.db"),
        other_keys: place("other-tmk.db"),
    }));
}

pub(super) fn on_postgres<Fut: Future<Output = ()> + Send + 'static>(body: fn(Fixture) -> Fut) {
    let Ok(admin) = std::env::var("COLLIE_TEST_POSTGRES") else {
        println!("skipped on PostgreSQL: COLLIE_TEST_POSTGRES is not set");
        return;
    };
    let databases: [PrivateDatabase; 4] = std::array::from_fn(|_| PrivateDatabase::make(&admin));
    let [main, keys, other_main, other_keys] =
        std::array::from_fn(|at| StoreConfig::Postgres { url: databases[at].url.clone() });
    run(body(Fixture { main, keys, other_main, other_keys }));
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().expect("a runtime")
}

fn run(body: impl Future<Output = ()> + Send + 'static) {
    runtime().block_on(async { tokio::spawn(body).await.expect("the test holds") });
}

/// A database of this test's own, dropped at its end however it ends.
struct PrivateDatabase {
    admin: String,
    name: String,
    url: String,
}

impl PrivateDatabase {
    fn make(admin: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("collie_vault_{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::SeqCst));
        run_admin(admin, format!("CREATE DATABASE {name}"));
        let (address, params) = admin.split_once('?').map_or((admin, String::new()), |(a, p)| (a, format!("?{p}")));
        let base = address.rsplit_once('/').map_or(address, |(base, _)| base);
        Self { admin: admin.to_owned(), url: format!("{base}/{name}{params}"), name }
    }
}

impl Drop for PrivateDatabase {
    fn drop(&mut self) {
        run_admin(&self.admin, format!("DROP DATABASE {} WITH (FORCE)", self.name));
    }
}

fn run_admin(url: &str, sql: String) {
    runtime().block_on(raw(&StoreConfig::Postgres { url: url.to_owned() }, &sql));
}

/// What a database writer does: any statement, past every rule of the store.
pub(super) async fn raw(config: &StoreConfig, sql: &str) {
    let sql = AssertSqlSafe(sql.to_owned());
    match config {
        StoreConfig::Sqlite { path } => {
            let mut connection =
                SqliteConnection::connect(&format!("sqlite://{}", path.display())).await.expect("opens");
            sqlx::raw_sql(sql).execute(&mut connection).await.expect("runs");
            connection.close().await.expect("closes");
        }
        StoreConfig::Postgres { url } => {
            let mut connection = PgConnection::connect(url).await.expect("opens");
            sqlx::raw_sql(sql).execute(&mut connection).await.expect("runs");
            connection.close().await.expect("closes");
        }
    }
}
