//! The two schemas have the same tables, columns, keys, indexes and checks, and a database of another program is left alone.

use super::{Fixture, PrivateDatabase, on_both_engines, runtime};
use crate::{Store, StoreConfig, StoreError};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row as _, SqliteConnection};
use std::collections::BTreeSet;

const SQLITE_SHAPE: &str = "
WITH t AS (SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> '_sqlx_migrations'),
i AS (SELECT t.name AS t, l.name AS i, l.origin, l.\"unique\" AS u,
        (SELECT group_concat(name, ',') FROM (SELECT name FROM pragma_index_info(l.name) ORDER BY seqno)) AS cols
      FROM t JOIN pragma_index_list(t.name) l),
f AS (SELECT t.name AS t, k.id, k.\"table\" AS target, k.on_delete, group_concat(k.\"from\" || '>' || k.\"to\", ',' ORDER BY k.seq) AS cols
      FROM t JOIN pragma_foreign_key_list(t.name) k GROUP BY t.name, k.id)
SELECT t.name || '.' || c.name || ' ' || c.type || CASE c.\"notnull\" WHEN 1 THEN ' not null' ELSE '' END || ' default ' || COALESCE(c.dflt_value, '-')
  AS line FROM t JOIN pragma_table_info(t.name) c
UNION ALL SELECT t || ' key ' || cols FROM i WHERE origin = 'pk'
UNION ALL SELECT t || ' unique ' || cols FROM i WHERE origin <> 'pk' AND u = 1
UNION ALL SELECT t || ' index ' || i || ' ' || cols FROM i WHERE origin <> 'pk' AND u = 0
UNION ALL SELECT t || ' refers ' || target || ' ' || cols || ' ' || on_delete FROM f
UNION ALL SELECT name || ' checks ' || ((length(sql) - length(replace(sql, 'CHECK (', ''))) / 7) FROM t";

const POSTGRES_SHAPE: &str = "
WITH t AS (SELECT c.oid, c.relname::text AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
           WHERE n.nspname = 'public' AND c.relkind = 'r' AND c.relname <> '_sqlx_migrations'),
i AS (SELECT t.name AS t, x.relname::text AS i, p.indisprimary, p.indisunique,
        (SELECT string_agg(a.attname::text, ',' ORDER BY k.n) FROM unnest(p.indkey) WITH ORDINALITY k(num, n)
         JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = k.num) AS cols
      FROM t JOIN pg_index p ON p.indrelid = t.oid JOIN pg_class x ON x.oid = p.indexrelid),
f AS (SELECT t.name AS t, r.relname::text AS target, CASE k.confdeltype WHEN 'c' THEN 'CASCADE' WHEN 'a' THEN 'NO ACTION' ELSE 'OTHER' END AS on_delete,
        (SELECT string_agg(a.attname::text || '>' || b.attname::text, ',' ORDER BY u.n) FROM unnest(k.conkey, k.confkey) WITH ORDINALITY u(x, y, n)
         JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.x JOIN pg_attribute b ON b.attrelid = k.confrelid AND b.attnum = u.y) AS cols
      FROM t JOIN pg_constraint k ON k.conrelid = t.oid AND k.contype = 'f' JOIN pg_class r ON r.oid = k.confrelid)
SELECT c.table_name::text || '.' || c.column_name::text || ' ' ||
  CASE WHEN c.data_type = 'text' AND c.collation_name = 'C' THEN 'TEXT' WHEN c.data_type = 'bigint' THEN 'INTEGER' WHEN c.data_type = 'bytea' THEN 'BLOB'
       ELSE c.data_type || ' ' || COALESCE(c.collation_name, 'of the database') END
  || CASE c.is_nullable WHEN 'NO' THEN ' not null' ELSE '' END || ' default ' || COALESCE(c.column_default, '-') AS line
  FROM t JOIN information_schema.columns c ON c.table_schema = 'public' AND c.table_name = t.name
UNION ALL SELECT t || ' key ' || cols FROM i WHERE indisprimary
UNION ALL SELECT t || ' unique ' || cols FROM i WHERE NOT indisprimary AND indisunique
UNION ALL SELECT t || ' index ' || i || ' ' || cols FROM i WHERE NOT indisunique
UNION ALL SELECT t || ' refers ' || target || ' ' || cols || ' ' || on_delete FROM f
UNION ALL SELECT name || ' checks ' || (SELECT COUNT(*) FROM pg_constraint k WHERE k.conrelid = t.oid AND k.contype = 'c') FROM t";

async fn sqlite_shape(path: &std::path::Path) -> BTreeSet<String> {
    let mut connection = SqliteConnection::connect(&format!("sqlite://{}", path.display())).await.expect("opens");
    let rows = sqlx::query(SQLITE_SHAPE).fetch_all(&mut connection).await.expect("the shape is read");
    rows.iter().map(|row| row.get::<String, _>("line")).collect()
}

async fn postgres_shape(url: &str) -> BTreeSet<String> {
    let mut connection = PgConnection::connect(url).await.expect("opens");
    let rows = sqlx::query(POSTGRES_SHAPE).fetch_all(&mut connection).await.expect("the shape is read");
    rows.iter().map(|row| row.get::<String, _>("line")).collect()
}

#[test]
fn both_schemas_have_one_shape() {
    let Some(database) = PrivateDatabase::make() else { return };
    runtime().block_on(async {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("collie.db");
        let sqlite = Store::open(StoreConfig::Sqlite { path: path.clone() }).await.expect("opens");
        let postgres = Store::open(StoreConfig::Postgres { url: database.url.clone() }).await.expect("opens");
        let (one, other) = (sqlite_shape(&path).await, postgres_shape(&database.url).await);
        assert!(one.len() > 150, "the shape was read: {}", one.len());
        let differs: Vec<_> = one.symmetric_difference(&other).collect();
        assert!(differs.is_empty(), "{differs:#?}");

        // Must fail: one column more on one side is seen.
        let mut connection = PgConnection::connect(&database.url).await.expect("opens");
        sqlx::query("ALTER TABLE device ADD COLUMN extra TEXT").execute(&mut connection).await.expect("alters");
        assert_eq!(one.symmetric_difference(&postgres_shape(&database.url).await).count(), 1);
        connection.close().await.expect("closes");
        sqlite.close().await;
        postgres.close().await;
    });
}

/// Counting checks does not compare them; their text stands in the files.
#[test]
fn both_folders_have_the_same_files_and_checks() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../migrations");
    let read = |engine: &str| {
        let folder = std::fs::read_dir(root.join(engine)).expect("the folder is there");
        let mut files: Vec<_> = folder.map(|entry| entry.expect("an entry").path()).collect();
        files.sort();
        let names: Vec<_> = files.iter().map(|path| path.file_name().expect("a name").to_owned()).collect();
        let texts: String = files.iter().map(|path| std::fs::read_to_string(path).expect("a file")).collect();
        let checks: Vec<_> = texts
            .lines()
            .filter_map(|line| line.split_once("CHECK (").map(|(_, check)| check.trim_end_matches(',').to_owned()))
            .collect();
        (names, checks)
    };
    let (sqlite, postgres) = (read("sqlite"), read("postgres"));
    assert_eq!(sqlite.0, postgres.0);
    assert_eq!(sqlite.1, postgres.1);
    assert!(sqlite.1.len() > 30);
}

on_both_engines! {
    async fn an_unknown_schema_is_left_alone(fixture: Fixture) {
        raw(&fixture.config, "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
            VALUES (9999, 'from the future', TRUE, 'x', 0)").await;
        let refused = Store::open(fixture.config.clone()).await.expect_err("must refuse");
        assert_eq!(refused, StoreError::UnknownSchema { version: 9999 });

        raw(&fixture.config, "DELETE FROM _sqlx_migrations WHERE version = 9999").await;
        Store::open(fixture.config.clone()).await.expect("the twin without the row opens").close().await;

        raw(&fixture.config, "UPDATE _sqlx_migrations SET checksum = 'x' WHERE version = 1").await;
        let refused = Store::open(fixture.config.clone()).await.expect_err("must refuse");
        assert_eq!(refused, StoreError::UnknownSchema { version: 1 });
    }

    async fn many_processes_may_open_at_once(fixture: Fixture) {
        raw_drop_all(&fixture.config).await;
        let opened = (0..4).map(|_| tokio::spawn(Store::open(fixture.config.clone())));
        for store in opened.collect::<Vec<_>>() {
            store.await.expect("no panic").expect("opens").close().await;
        }
    }
}

#[test]
fn sqlite_is_private_durable_and_strict() {
    use std::os::unix::fs::PermissionsExt as _;
    runtime().block_on(async {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("collie.db");
        let store = Store::open(StoreConfig::Sqlite { path: path.clone() }).await.expect("opens");
        let pragma = async |name: &'static str| store.writer_pragma(name).await;
        assert_eq!(pragma("journal_mode").await, "wal");
        assert_eq!(pragma("synchronous").await, "2");
        assert_eq!(pragma("foreign_keys").await, "1");
        assert_eq!(pragma("secure_delete").await, "1");
        assert_eq!(pragma("trusted_schema").await, "0");
        for file in std::fs::read_dir(folder.path()).expect("the folder") {
            let file = file.expect("an entry");
            assert_eq!(
                file.metadata().expect("metadata").permissions().mode() & 0o777,
                0o600,
                "{:?}",
                file.file_name()
            );
        }
        store.close().await;
        assert_eq!(store.ping().await, Err(StoreError::Engine(crate::EngineFault::of_kind("pool closed"))));
    });
}

#[test]
fn a_configuration_never_prints_its_password() {
    let config = StoreConfig::Postgres { url: "postgres://collie:hunter2@db/collie".to_owned() };
    assert!(!format!("{config:?}").contains("hunter2"));
    let refused = runtime()
        .block_on(Store::open(StoreConfig::Postgres { url: "postgres://collie:hunter2@[bad/collie".to_owned() }));
    let refused = refused.expect_err("not a URL");
    assert!(!format!("{refused} {refused:?}").contains("hunter2"));
}

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

async fn raw_drop_all(config: &StoreConfig) {
    match config {
        StoreConfig::Sqlite { path } => {
            for suffix in ["", "-wal", "-shm"] {
                let _ = std::fs::remove_file(format!("{}{suffix}", path.display()));
            }
        }
        StoreConfig::Postgres { .. } => raw(config, "DROP SCHEMA public CASCADE; CREATE SCHEMA public").await,
    }
}
