//! The account's devices as the service listed them last, so that signatures can be checked offline. Attributes, and vouches for nothing.

use super::Db;
use super::copy::signed;
use crate::error::CliError;
use crate::opening::Directory;
use contract::device::DeviceRow;
use contract::ids::DeviceId;
use sign::PublicKey;
use sqlx::Row as _;

impl Db {
    /// Stores the list. A device that the service no longer names stays: its old words still stand. A key that changed is refused by keeping the one seen first.
    pub async fn store_directory(&mut self, rows: &[DeviceRow], now_ms: u64) -> Result<(), CliError> {
        for row in rows {
            sqlx::query(
                "INSERT INTO directory_device (device_id, public_key, name, revoked_at, stored_ms) VALUES ($1, $2, $3, $4, $5)
                 ON CONFLICT (device_id) DO UPDATE SET name = excluded.name, revoked_at = excluded.revoked_at, stored_ms = excluded.stored_ms",
            )
            .bind(row.id.as_str())
            .bind(&row.public_key)
            .bind(&row.name)
            .bind(signed(row.revoked_at.unwrap_or(0)))
            .bind(signed(now_ms))
            .execute(&mut self.connection)
            .await?;
        }
        Ok(())
    }

    /// The keys, revoked devices' included.
    pub async fn find_directory(&mut self) -> Result<Directory, CliError> {
        let rows =
            sqlx::query("SELECT device_id, public_key FROM directory_device").fetch_all(&mut self.connection).await?;
        let mut keys = Vec::new();
        for row in rows {
            let device = DeviceId::parse(row.try_get(0)?);
            let key = PublicKey::parse(row.try_get(1)?);
            keys.extend(device.ok().zip(key.ok()));
        }
        Ok(Directory::new(keys))
    }
}
