//! The store's own tests: each runs on both engines, from one text. Never stands in for a database.
//!
//! `COLLIE_TEST_POSTGRES` is a URL that may create databases; without it only SQLite runs, and each skipped half says so.
//! With `COLLIE_REQUIRE_POSTGRES=1` its absence fails the suite.

mod connection;
mod engine;
mod group;
mod identity;
mod pairing;
mod refresh;
mod rows;
mod session;
mod shape;
mod skew;
mod statements;
mod vault;
mod workspace;
mod world;

use crate::{Store, StoreConfig};
use sqlx::{Connection as _, PgConnection};
use std::{
    future::Future,
    sync::atomic::{AtomicU32, Ordering},
};

/// A fresh database of one engine, with what a test needs to look behind the store.
#[derive(Clone)]
pub(super) struct Fixture {
    pub(super) store: Store,
    pub(super) config: StoreConfig,
}

/// Writes one test that runs on SQLite and one that runs on PostgreSQL.
macro_rules! on_both_engines {
    ($($(#[doc = $doc:literal])* async fn $name:ident($fixture:ident: Fixture) $body:block)+) => {$(
        mod $name {
            use super::*;

            $(#[doc = $doc])*
            async fn body($fixture: Fixture) $body

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
    runtime().block_on(async {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let config = StoreConfig::Sqlite { path: folder.path().join("collie.db") };
        let store = Store::open(config.clone()).await.expect("SQLite opens");
        tokio::spawn(body(Fixture { store: store.clone(), config })).await.expect("the test holds");
        store.close().await;
    });
}

pub(super) fn on_postgres<Fut: Future<Output = ()> + Send + 'static>(body: fn(Fixture) -> Fut) {
    let Some(database) = PrivateDatabase::make() else { return };
    runtime().block_on(async {
        let config = StoreConfig::Postgres { url: database.url.clone() };
        let store = Store::open(config.clone()).await.expect("PostgreSQL opens");
        tokio::spawn(body(Fixture { store: store.clone(), config })).await.expect("the test holds");
        store.close().await;
    });
}

pub(super) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build().expect("a runtime")
}

/// A database of this test's own, dropped at its end however it ends.
pub(super) struct PrivateDatabase {
    admin: String,
    name: String,
    pub(super) url: String,
}

impl PrivateDatabase {
    pub(super) fn make() -> Option<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let Ok(admin) = std::env::var("COLLIE_TEST_POSTGRES") else {
            println!("skipped on PostgreSQL: COLLIE_TEST_POSTGRES is not set");
            return None;
        };
        let name = format!("collie_test_{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::SeqCst));
        run_admin(&admin, format!("CREATE DATABASE {name}"));
        let url = with_database(&admin, &name);
        Some(Self { admin, name, url })
    }
}

impl Drop for PrivateDatabase {
    fn drop(&mut self) {
        run_admin(&self.admin, format!("DROP DATABASE {} WITH (FORCE)", self.name));
    }
}

fn run_admin(url: &str, sql: String) {
    runtime().block_on(async {
        let mut connection = PgConnection::connect(url).await.expect("the admin URL answers");
        sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&mut connection).await.expect("the admin statement runs");
    });
}

/// The admin URL with another database: `postgres://user@host/name?params`.
fn with_database(admin: &str, name: &str) -> String {
    let (address, params) = admin.split_once('?').map_or((admin, ""), |(address, params)| (address, params));
    let authority_end = address.find("://").map_or(0, |at| at + 3);
    let base_end = address[authority_end..].find('/').map_or(address.len(), |at| authority_end + at);
    let query = if params.is_empty() { String::new() } else { format!("?{params}") };
    format!("{}/{name}{query}", &address[..base_end])
}

#[test]
fn postgres_runs_where_it_is_required() {
    let required = std::env::var("COLLIE_REQUIRE_POSTGRES").is_ok_and(|value| value == "1");
    assert!(!required || std::env::var("COLLIE_TEST_POSTGRES").is_ok(), "COLLIE_TEST_POSTGRES must be set here");
}

#[test]
fn the_database_of_a_url_is_replaced() {
    assert_eq!(with_database("postgres://a:b@h:5/postgres?host=/tmp/x", "t"), "postgres://a:b@h:5/t?host=/tmp/x");
    assert_eq!(with_database("postgres://h", "t"), "postgres://h/t");
}
