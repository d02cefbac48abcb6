//! The service's own row of a connection, read from its database file as a thief of a backup would. Read-only, and only by the demo.

use crate::canary::{Canary, Place, files_below};
use crate::trouble::Trouble;
use serde_json::Value;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{Connection as _, Row as _};
use std::path::Path;

/// What the service stores of one connection.
#[derive(Debug)]
pub(super) struct StoredRow {
    pub(super) name: String,
    pub(super) endpoint: String,
    pub(super) status: String,
    pub(super) seal_format: String,
    pub(super) review_seq: i64,
    pub(super) credential_version: i64,
    pub(super) sealed: Value,
}

/// Reads the row.
pub(super) fn read_row(database: &Path, connection_id: &str) -> Result<StoredRow, Trouble> {
    let failed = |error: &dyn std::fmt::Display| {
        Trouble::new(format!("cannot read the service's database: {error}"), "look at its folder")
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| failed(&error))?;
    runtime.block_on(async {
        let options = SqliteConnectOptions::new().filename(database).read_only(true);
        let mut open = SqliteConnection::connect_with(&options).await.map_err(|error| failed(&error))?;
        let row = sqlx::query(
            "SELECT c.name, c.endpoint, c.status, c.seal_format, c.review_seq, s.version, s.sealed \
             FROM connection c JOIN connection_credential s ON s.workspace_id = c.workspace_id AND s.connection_id = c.id WHERE c.id = ?",
        )
        .bind(connection_id)
        .fetch_one(&mut open)
        .await
        .map_err(|error| failed(&error))?;
        let text = |column: &str| row.try_get::<String, _>(column).map_err(|error| failed(&error));
        let number = |column: &str| row.try_get::<i64, _>(column).map_err(|error| failed(&error));
        Ok(StoredRow {
            name: text("name")?,
            endpoint: text("endpoint")?,
            status: text("status")?,
            seal_format: text("seal_format")?,
            review_seq: number("review_seq")?,
            credential_version: number("version")?,
            sealed: serde_json::from_str(&text("sealed")?).map_err(|error| failed(&error))?,
        })
    })
}

/// Bytes that the service keeps (database, log of the database, everything else in its folder) and what it logged, and how often a secret is in them in any spelling.
pub(super) fn search(folder: &Path, log: &[u8], secret: &[u8]) -> (usize, usize) {
    let mut canary = Canary::default();
    canary.add("secret", secret);
    let mut places: Vec<Place> = files_below(folder).into_iter().map(|(_, place)| place).collect();
    places.push(Place::new("log", log));
    let bytes = places.iter().map(|place| place.bytes.len()).sum();
    let hits = places.iter().map(|place| canary.search(place).len()).sum();
    (bytes, hits)
}
