//! The device's sealed copy of its connections: rows, credentials as ciphertext, reviewed manifests, and the highest review and credential it ever saw.

use super::Db;
use crate::error::CliError;
use contract::connection::{ConnectionRow, SealFormat};
use contract::ids::{ConnectionId, WorkspaceId};
use contract::review::Era;
use contract::{Digest, Json, cjson};
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

/// A sealed credential as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredCredential {
    /// The format.
    pub format: SealFormat,
    /// Its version.
    pub version: u64,
    /// As it travels.
    pub sealed: Json,
    /// Unix seconds, as the service says.
    pub updated_at: u64,
}

/// The last reading of a live manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveCheck {
    /// Protocol era of the reading.
    pub era: Era,
    /// What was read.
    pub raw_digest: Digest,
    /// Unix milliseconds.
    pub checked_ms: u64,
}

/// The highest review and credential of a connection that this device ever accepted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HighWater {
    /// Sequence number of the review.
    pub review_seq: u64,
    /// Version of the credential.
    pub credential_version: u64,
    /// b64u commitment of that credential's payload, empty before the first.
    pub credential_commit: String,
}

impl Db {
    /// Stores a row as the service served it.
    pub async fn store_connection(
        &mut self,
        workspace: &WorkspaceId,
        row: &ConnectionRow,
        now_ms: u64,
    ) -> Result<(), CliError> {
        sqlx::query(
            "INSERT INTO connection (connection_id, workspace_id, status, row, stored_ms) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (connection_id) DO UPDATE SET
               workspace_id = excluded.workspace_id, status = excluded.status, row = excluded.row, stored_ms = excluded.stored_ms",
        )
        .bind(row.id.as_str())
        .bind(workspace.as_str())
        .bind(row.status.as_str())
        .bind(cjson::to_json(row)?.canonical_string())
        .bind(signed(now_ms))
        .execute(&mut self.connection)
        .await?;
        Ok(())
    }

    /// The rows of a workspace, by name.
    pub async fn list_connections(&mut self, workspace: &WorkspaceId) -> Result<Vec<ConnectionRow>, CliError> {
        let rows = sqlx::query("SELECT row FROM connection WHERE workspace_id = $1")
            .bind(workspace.as_str())
            .fetch_all(&mut self.connection)
            .await?;
        let mut connections = rows.iter().map(read_row).collect::<Result<Vec<_>, _>>()?;
        connections.sort_by(|a, b| (&a.name, a.id.as_str()).cmp(&(&b.name, b.id.as_str())));
        Ok(connections)
    }

    /// One row.
    pub async fn find_connection(&mut self, id: &ConnectionId) -> Result<Option<ConnectionRow>, CliError> {
        let row = sqlx::query("SELECT row FROM connection WHERE connection_id = $1")
            .bind(id.as_str())
            .fetch_optional(&mut self.connection)
            .await?;
        row.as_ref().map(read_row).transpose()
    }

    /// Forgets one connection, but for its high-water marks.
    pub async fn remove_connection(&mut self, id: &ConnectionId) -> Result<(), CliError> {
        sqlx::query("DELETE FROM connection WHERE connection_id = $1")
            .bind(id.as_str())
            .execute(&mut self.connection)
            .await?;
        Ok(())
    }

    /// Stores a sealed credential.
    pub async fn store_credential(
        &mut self,
        id: &ConnectionId,
        credential: &StoredCredential,
        now_ms: u64,
    ) -> Result<(), CliError> {
        sqlx::query(
            "INSERT INTO sealed_credential (connection_id, seal_format, version, sealed, updated_at, stored_ms) VALUES ($1, $2, $3, $4, $5, $6)
             ON CONFLICT (connection_id) DO UPDATE SET
               seal_format = excluded.seal_format, version = excluded.version, sealed = excluded.sealed,
               updated_at = excluded.updated_at, stored_ms = excluded.stored_ms",
        )
        .bind(id.as_str())
        .bind(credential.format.as_str())
        .bind(signed(credential.version))
        .bind(credential.sealed.canonical_string())
        .bind(signed(credential.updated_at))
        .bind(signed(now_ms))
        .execute(&mut self.connection)
        .await?;
        Ok(())
    }

    /// The sealed credential of a connection.
    pub async fn find_credential(&mut self, id: &ConnectionId) -> Result<Option<StoredCredential>, CliError> {
        let row = sqlx::query(
            "SELECT seal_format, version, sealed, updated_at FROM sealed_credential WHERE connection_id = $1",
        )
        .bind(id.as_str())
        .fetch_optional(&mut self.connection)
        .await?;
        let Some(row) = row else { return Ok(None) };
        let format = SealFormat::parse(row.try_get::<&str, _>(0)?)
            .ok_or_else(|| impossible("sealed_credential", "seal_format"))?;
        Ok(Some(StoredCredential {
            format,
            version: unsigned(row.try_get(1)?, "sealed_credential", "version")?,
            sealed: read_json(&row, 2, "sealed_credential", "sealed")?,
            updated_at: unsigned(row.try_get(3)?, "sealed_credential", "updated_at")?,
        }))
    }

    /// Every sealed credential of a workspace, with its row.
    pub async fn list_credentials(
        &mut self,
        workspace: &WorkspaceId,
    ) -> Result<Vec<(ConnectionRow, StoredCredential)>, CliError> {
        let mut sealed = Vec::new();
        for row in self.list_connections(workspace).await? {
            if let Some(credential) = self.find_credential(&row.id).await? {
                sealed.push((row, credential));
            }
        }
        Ok(sealed)
    }

    /// Stores the raw manifest under the standing review.
    pub async fn store_manifest(
        &mut self,
        id: &ConnectionId,
        raw_digest: &Digest,
        manifest: &Json,
        now_ms: u64,
    ) -> Result<(), CliError> {
        sqlx::query(
            "INSERT INTO reviewed_manifest (connection_id, raw_digest, manifest, stored_ms) VALUES ($1, $2, $3, $4)
             ON CONFLICT (connection_id) DO UPDATE SET
               raw_digest = excluded.raw_digest, manifest = excluded.manifest, stored_ms = excluded.stored_ms",
        )
        .bind(id.as_str())
        .bind(raw_digest.b64u())
        .bind(manifest.canonical_string())
        .bind(signed(now_ms))
        .execute(&mut self.connection)
        .await?;
        Ok(())
    }

    /// The raw manifest under the standing review, as JSON.
    pub async fn find_manifest(&mut self, id: &ConnectionId) -> Result<Option<Json>, CliError> {
        let row = sqlx::query("SELECT manifest FROM reviewed_manifest WHERE connection_id = $1")
            .bind(id.as_str())
            .fetch_optional(&mut self.connection)
            .await?;
        row.map(|row| read_json(&row, 0, "reviewed_manifest", "manifest")).transpose()
    }

    /// Records a reading of the live manifest.
    pub async fn store_live_check(&mut self, id: &ConnectionId, check: &LiveCheck) -> Result<(), CliError> {
        sqlx::query(
            "INSERT INTO live_check (connection_id, era, raw_digest, checked_ms) VALUES ($1, $2, $3, $4)
             ON CONFLICT (connection_id) DO UPDATE SET era = excluded.era, raw_digest = excluded.raw_digest, checked_ms = excluded.checked_ms",
        )
        .bind(id.as_str())
        .bind(check.era.as_str())
        .bind(check.raw_digest.b64u())
        .bind(signed(check.checked_ms))
        .execute(&mut self.connection)
        .await?;
        Ok(())
    }

    /// The last reading of the live manifest.
    pub async fn find_live_check(&mut self, id: &ConnectionId) -> Result<Option<LiveCheck>, CliError> {
        let row = sqlx::query("SELECT era, raw_digest, checked_ms FROM live_check WHERE connection_id = $1")
            .bind(id.as_str())
            .fetch_optional(&mut self.connection)
            .await?;
        let Some(row) = row else { return Ok(None) };
        Ok(Some(LiveCheck {
            era: Era::parse(row.try_get::<&str, _>(0)?).ok_or_else(|| impossible("live_check", "era"))?,
            raw_digest: Digest::parse(row.try_get::<&str, _>(1)?)
                .map_err(|_| impossible("live_check", "raw_digest"))?,
            checked_ms: unsigned(row.try_get(2)?, "live_check", "checked_ms")?,
        }))
    }

    /// The high-water marks of a connection; zero before the first.
    pub async fn find_high_water(&mut self, id: &ConnectionId) -> Result<HighWater, CliError> {
        let row = sqlx::query(
            "SELECT review_seq, credential_version, credential_commit FROM high_water WHERE connection_id = $1",
        )
        .bind(id.as_str())
        .fetch_optional(&mut self.connection)
        .await?;
        let Some(row) = row else { return Ok(HighWater::default()) };
        Ok(HighWater {
            review_seq: unsigned(row.try_get(0)?, "high_water", "review_seq")?,
            credential_version: unsigned(row.try_get(1)?, "high_water", "credential_version")?,
            credential_commit: row.try_get(2)?,
        })
    }

    /// Raises the high-water marks; a lower mark changes nothing and is refused.
    pub async fn raise_high_water(&mut self, id: &ConnectionId, mark: &HighWater) -> Result<bool, CliError> {
        let done = sqlx::query(
            "INSERT INTO high_water (connection_id, review_seq, credential_version, credential_commit) VALUES ($1, $2, $3, $4)
             ON CONFLICT (connection_id) DO UPDATE SET
               review_seq = excluded.review_seq, credential_version = excluded.credential_version,
               credential_commit = excluded.credential_commit
             WHERE excluded.review_seq >= high_water.review_seq AND (excluded.credential_version > high_water.credential_version
               OR (excluded.credential_version = high_water.credential_version AND excluded.credential_commit = high_water.credential_commit))",
        )
        .bind(id.as_str())
        .bind(signed(mark.review_seq))
        .bind(signed(mark.credential_version))
        .bind(&mark.credential_commit)
        .execute(&mut self.connection)
        .await?;
        Ok(done.rows_affected() == 1)
    }

    /// Forgets the whole copy, but for high-water marks and the ledger; says how many connections it held.
    pub async fn forget_copy(&mut self) -> Result<u64, CliError> {
        let done = sqlx::query("DELETE FROM connection").execute(&mut self.connection).await?;
        sqlx::query("DELETE FROM local_secret").execute(&mut self.connection).await?;
        sqlx::query("UPDATE invocation SET result_sealed = NULL").execute(&mut self.connection).await?;
        Ok(done.rows_affected())
    }

    /// A sealed secret of the device.
    pub async fn find_local_secret(&mut self, name: &str) -> Result<Option<Vec<u8>>, CliError> {
        let row = sqlx::query("SELECT sealed FROM local_secret WHERE name = $1")
            .bind(name)
            .fetch_optional(&mut self.connection)
            .await?;
        Ok(row.map(|row| row.try_get(0)).transpose()?)
    }

    /// Stores a sealed secret of the device, unless one of this name is there; says whether it was stored.
    pub async fn insert_local_secret(&mut self, name: &str, sealed: &[u8], now_ms: u64) -> Result<bool, CliError> {
        let done = sqlx::query(
            "INSERT INTO local_secret (name, sealed, stored_ms) VALUES ($1, $2, $3) ON CONFLICT (name) DO NOTHING",
        )
        .bind(name)
        .bind(sealed)
        .bind(signed(now_ms))
        .execute(&mut self.connection)
        .await?;
        Ok(done.rows_affected() == 1)
    }

    /// Forgets a sealed secret of the device.
    pub async fn remove_local_secret(&mut self, name: &str) -> Result<(), CliError> {
        sqlx::query("DELETE FROM local_secret WHERE name = $1").bind(name).execute(&mut self.connection).await?;
        Ok(())
    }

    /// Stores a sealed secret of the device in place of the one that is there.
    pub async fn replace_local_secret(&mut self, name: &str, sealed: &[u8], now_ms: u64) -> Result<(), CliError> {
        sqlx::query(
            "INSERT INTO local_secret (name, sealed, stored_ms) VALUES ($1, $2, $3)
             ON CONFLICT (name) DO UPDATE SET sealed = excluded.sealed, stored_ms = excluded.stored_ms",
        )
        .bind(name)
        .bind(sealed)
        .bind(signed(now_ms))
        .execute(&mut self.connection)
        .await?;
        Ok(())
    }
}

fn read_row(row: &SqliteRow) -> Result<ConnectionRow, CliError> {
    let text: &str = row.try_get(0)?;
    cjson::from_slice(text.as_bytes(), text.len()).map_err(|_| impossible("connection", "row"))
}

fn read_json(row: &SqliteRow, column: usize, table: &str, name: &str) -> Result<Json, CliError> {
    let text: &str = row.try_get(column)?;
    cjson::parse(text.as_bytes(), text.len()).map_err(|_| impossible(table, name))
}

/// SQLite has signed integers only; every number we store is far below.
pub(super) fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

pub(super) fn unsigned(value: i64, table: &str, column: &str) -> Result<u64, CliError> {
    u64::try_from(value).map_err(|_| impossible(table, column))
}

pub(super) fn impossible(table: &str, column: &str) -> CliError {
    CliError::internal(format!("the local database holds an impossible value in {table}.{column}"))
        .hint("run `collie online doctor`")
}

#[cfg(test)]
#[path = "copy_tests.rs"]
mod tests;
