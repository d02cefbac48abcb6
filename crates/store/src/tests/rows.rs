//! Impossible rows: a database that somebody edited is named, not guessed at.

use super::{
    Fixture, on_both_engines,
    shape::raw,
    world::{connection, device, family, mac, make_connection, make_device, make_person, user, viewer},
};
use crate::StoreError;
use contract::{connection::SealFormat, device::SessionClass};

fn impossible<T>(table: &'static str, column: &'static str, row: &str) -> Result<T, StoreError> {
    Err(StoreError::Inconsistent { table, column, row: row.to_owned() })
}

on_both_engines! {
    async fn edited_rows_are_named(fixture: Fixture) {
        let store = &fixture.store;
        make_person(store, 1).await;
        make_device(store, 1, SessionClass::Rotating).await;
        make_connection(store, 1, SealFormat::V2).await;

        // The classes of a device and of its families never differ.
        raw(&fixture.config, "UPDATE session_family SET session_class = 'sliding'").await;
        let found = store.read("session", |mut tx| async move { tx.find_session(&mac(1)).await }).await;
        assert_eq!(found, impossible("session_family", "family_class", family(1).as_str()));

        // A document that is not in its canonical form was not written here.
        let id = connection(1);
        for (column, value) in [("manifest", "[ ]"), ("manifest", "{}"), ("allowed_effects", "[\"all\"]"), ("manifest_digest", "short"), ("endpoint", "")] {
            raw(&fixture.config, "UPDATE connection SET manifest = '[]', allowed_effects = '[]'").await;
            raw(&fixture.config, &format!("UPDATE connection SET {column} = '{value}'")).await;
            let found = store.read("find", |mut tx| async move { tx.find_connection(&viewer(1, 1), &connection(1)).await }).await;
            match column {
                "manifest" | "allowed_effects" => assert_eq!(found, impossible("connection", column, id.as_str()), "{value}"),
                _ => assert_eq!(found, impossible("connection", "manifest_digest", id.as_str()), "{value}"),
            }
        }

        raw(&fixture.config, &format!("UPDATE device SET public_key = {}", match &fixture.config {
            crate::StoreConfig::Sqlite { .. } => "x'0102'",
            crate::StoreConfig::Postgres { .. } => r"'\x0102'::bytea",
        })).await;
        let found = store.read("device", |mut tx| async move { tx.find_device(&user(1), &device(1)).await }).await;
        assert_eq!(found, impossible("device", "public_key", device(1).as_str()));
    }

    /// What no code writes, the tables refuse too.
    async fn the_tables_refuse_impossible_states(fixture: Fixture) {
        let store = &fixture.store;
        make_person(store, 1).await;
        make_device(store, 1, SessionClass::Rotating).await;
        make_connection(store, 1, SealFormat::V2).await;
        for statement in [
            "UPDATE membership SET role = 'king'",
            "UPDATE connection SET status = 'active'",
            "UPDATE connection SET review_seq = 1",
            "UPDATE connection SET raw_manifest = '{}'",
            "UPDATE connection SET scope = 'project'",
            "UPDATE session_family SET ended_at_ms = 5",
            "UPDATE session_family SET expires_at_ms = ends_at_ms + 1",
            "UPDATE connection SET workspace_id = 'ws_other'",
            "DELETE FROM device",
        ] {
            assert!(is_refused(&fixture.config, statement).await, "{statement}");
        }
        assert!(!is_refused(&fixture.config, "UPDATE membership SET role = 'admin'").await, "a possible state is taken");
    }
}

async fn is_refused(config: &crate::StoreConfig, statement: &str) -> bool {
    let (config, statement) = (config.clone(), statement.to_owned());
    tokio::spawn(async move { raw(&config, &statement).await }).await.is_err()
}
