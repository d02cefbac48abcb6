//! The ledger of calls made from this device. A call whose outcome is not known is never repeated blindly.

use super::Db;
use crate::error::CliError;
use sqlx::Row as _;

impl Db {
    /// How many calls have an outcome that nobody knows.
    pub async fn count_uncertain(&mut self) -> Result<u64, CliError> {
        let count: i64 = sqlx::query("SELECT count(*) FROM invocation WHERE state IN ('intent', 'uncertain')")
            .fetch_one(&mut self.connection)
            .await?
            .try_get(0)?;
        Ok(u64::try_from(count).unwrap_or(0))
    }

    /// Calls whose outcome nobody knows, oldest first, as tool and connection.
    pub async fn list_uncertain(&mut self) -> Result<Vec<String>, CliError> {
        let rows = sqlx::query("SELECT tool, connection_id, idempotency_key FROM invocation WHERE state IN ('intent', 'uncertain') ORDER BY created_ms")
            .fetch_all(&mut self.connection)
            .await?;
        rows.iter()
            .map(|row| {
                Ok(format!(
                    "{} on {} (key {})",
                    row.try_get::<&str, _>(0)?,
                    row.try_get::<&str, _>(1)?,
                    row.try_get::<&str, _>(2)?
                ))
            })
            .collect()
    }
}
