//! Every statement prepares on both migrated engines, and no other SQL exists.

use super::{Fixture, on_both_engines};
use crate::{StoreConfig, engine::Access, repository::all_statements};
use sqlx::{Connection as _, Executor as _, PgConnection, SqlSafeStr as _, SqliteConnection};
use std::collections::BTreeSet;

on_both_engines! {
    async fn every_statement_prepares(fixture: Fixture) {
        let mut refused = Vec::new();
        match &fixture.config {
            StoreConfig::Sqlite { path } => {
                let mut connection = SqliteConnection::connect(&format!("sqlite://{}", path.display())).await.expect("opens");
                for statement in all_statements() {
                    if let Err(error) = (&mut connection).prepare(statement.sqlite.into_sql_str()).await {
                        refused.push(format!("{}: {error}", statement.name));
                    }
                }
            }
            StoreConfig::Postgres { url } => {
                let mut connection = PgConnection::connect(url).await.expect("opens");
                for statement in all_statements() {
                    if let Err(error) = (&mut connection).prepare(statement.postgres.into_sql_str()).await {
                        refused.push(format!("{}: {error}", statement.name));
                    }
                }
            }
        }
        assert!(refused.is_empty(), "{refused:#?}");
    }
}

#[test]
fn statements_say_what_they_do() {
    let writes = |text: &str| ["INSERT", "UPDATE", "DELETE"].iter().any(|verb| text.trim_start().starts_with(verb));
    let mut names = BTreeSet::new();
    for statement in all_statements() {
        for text in [statement.sqlite, statement.postgres] {
            assert_eq!(statement.access != Access::Read, writes(text), "{}", statement.name);
            let bounded =
                statement.access != Access::Read || !statement.name.starts_with("LIST") || text.contains("LIMIT $");
            assert!(bounded, "{} has no limit", statement.name);
        }
        names.insert((statement.table, statement.name));
    }
    assert!(names.len() > 60, "the registry lost statements: {}", names.len());
    assert_eq!(names.len(), all_statements().count(), "two statements of one table share a name");
}

/// What is not in a `statements!` list would be prepared by nobody.
#[test]
fn sql_stands_in_the_lists_only() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for file in std::fs::read_dir(root.join("repository")).expect("the folder is there") {
        let path = file.expect("an entry").path();
        let text = std::fs::read_to_string(&path).expect("a source file");
        assert!(!text.contains("sqlx::"), "{} talks to the driver", path.display());
        assert!(!text.contains("Statement::both"), "{} has a statement outside its list", path.display());
        let stem = path.file_stem().and_then(|stem| stem.to_str()).expect("a name");
        let module = std::fs::read_to_string(root.join("repository/mod.rs")).expect("a source file");
        if text.contains("statements! {") {
            assert!(module.contains(&format!("{stem}::STATEMENTS")), "{stem} is not in the registry");
        }
    }
}

/// The tenant stands in every statement about something whose id a person chooses, and in every one about what belongs to a person.
#[test]
fn tenants_stand_in_every_statement() {
    for statement in all_statements() {
        let text = statement.sqlite;
        let tenant = match statement.table {
            "connection"
            | "connection_credential"
            | "connection_oauth"
            | "vault_credential"
            | "loan"
            | "invocation"
            | "project"
            | "project_member" => "workspace_id",
            "device" if !matches!(statement.name, "SEE_DEVICE" | "FLAG_DEVICE" | "INSERT_DEVICE") => "user_id",
            _ => continue,
        };
        assert!(text.contains(tenant), "{} does not name its tenant", statement.name);
    }
}
