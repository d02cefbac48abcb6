//! Paired devices of a person. A row holds a public key and proves membership of an account, never trust to execute.

use crate::{
    engine::{ReadTx, Row, Tx, bind, statements},
    error::StoreError,
};
use contract::{
    device::SessionClass,
    ids::{DeviceId, UserId},
    limits,
};

statements! {
    Read "device" FIND_DEVICE =
        "SELECT id, user_id, name, public_key, session_class, created_at_ms, last_seen_at_ms, flagged_at_ms, revoked_at_ms
         FROM device WHERE user_id = $1 AND id = $2";
    Read "device" LIST_DEVICES =
        "SELECT id, user_id, name, public_key, session_class, created_at_ms, last_seen_at_ms, flagged_at_ms, revoked_at_ms
         FROM device WHERE user_id = $1 ORDER BY (revoked_at_ms IS NOT NULL), created_at_ms DESC, id LIMIT $2";
    Read "device" COUNT_BOUND = "SELECT COUNT(*) AS number FROM device WHERE user_id = $1 AND revoked_at_ms IS NULL";
    Write "device" INSERT_DEVICE =
        "INSERT INTO device (id, user_id, name, public_key, session_class, created_at_ms, last_seen_at_ms) VALUES ($1, $2, $3, $4, $5, $6, 0)";
    Write "device" REVOKE_DEVICE = "UPDATE device SET revoked_at_ms = $3 WHERE user_id = $1 AND id = $2 AND revoked_at_ms IS NULL";
    Write "session_family" END_DEVICE_FAMILIES =
        "UPDATE session_family SET ended_at_ms = $3, end_reason = 'device_revoked' WHERE user_id = $1 AND device_id = $2 AND ended_at_ms IS NULL";
    Write "request_nonce" DELETE_DEVICE_NONCES = "DELETE FROM request_nonce WHERE device_id = $1";
    Write "device" FLAG_DEVICE = "UPDATE device SET flagged_at_ms = $2 WHERE id = $1";
    Upkeep(Heartbeat) "device" SEE_DEVICE = "UPDATE device SET last_seen_at_ms = $2 WHERE id = $1 AND last_seen_at_ms < $2";
}

/// How many devices, revoked ones last, one list shows.
const DEVICES_LISTED_MAX: u64 = 2 * limits::DEVICES_PER_USER_MAX;

/// One paired device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// Id, made by the service.
    pub id: DeviceId,
    /// Whose.
    pub user_id: UserId,
    /// What it calls itself.
    pub name: String,
    /// Raw Ed25519 key.
    pub public_key: [u8; 32],
    /// Fixed at enrolment.
    pub session_class: SessionClass,
    /// Unix milliseconds.
    pub created_at_ms: i64,
    /// Unix milliseconds; 0 before its first signed request.
    pub last_seen_at_ms: i64,
    /// When one of its refresh tokens came twice, Unix milliseconds.
    pub flagged_at_ms: Option<i64>,
    /// When it was revoked, for good, Unix milliseconds.
    pub revoked_at_ms: Option<i64>,
}

/// What a new device begins with.
#[derive(Debug, Clone, Copy)]
pub struct NewDevice<'a> {
    /// A fresh id.
    pub id: &'a DeviceId,
    /// Whose.
    pub user_id: &'a UserId,
    /// At most 120 characters.
    pub name: &'a str,
    /// Raw Ed25519 key.
    pub public_key: &'a [u8; 32],
    /// Fixed from now on.
    pub session_class: SessionClass,
}

/// What a revocation found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Revocation {
    /// It stood until now.
    Now {
        /// Session families that ended with it; 0 for anything but a device.
        families: u64,
    },
    /// It had ended before; nothing was written.
    Before,
}

impl ReadTx {
    /// A device of this person, revoked or not.
    pub async fn find_device(&mut self, user_id: &UserId, id: &DeviceId) -> Result<Option<Device>, StoreError> {
        self.find(&FIND_DEVICE, bind![user_id, id]).await?.map(|row| Device::try_from(&row)).transpose()
    }

    /// Every bound device of this person and the newest revoked ones.
    pub async fn list_devices(&mut self, user_id: &UserId) -> Result<Vec<Device>, StoreError> {
        let rows = self.list(&LIST_DEVICES, bind![user_id, DEVICES_LISTED_MAX]).await?;
        rows.iter().map(Device::try_from).collect()
    }
}

impl Tx {
    /// Makes a device. [`StoreError::Full`] beyond [`limits::DEVICES_PER_USER_MAX`] bound ones.
    pub async fn insert_device(&mut self, new: NewDevice<'_>, now_ms: i64) -> Result<(), StoreError> {
        if self.count(&COUNT_BOUND, bind![new.user_id]).await? >= limits::DEVICES_PER_USER_MAX {
            return Err(StoreError::Full { what: "devices", max: limits::DEVICES_PER_USER_MAX });
        }
        let values = bind![new.id, new.user_id, new.name, new.public_key, new.session_class.as_str(), now_ms];
        self.execute_one(&INSERT_DEVICE, values).await
    }

    /// Ends a device of this person and all its sessions, for good. Repeating it changes nothing.
    pub async fn revoke_device(
        &mut self,
        user_id: &UserId,
        id: &DeviceId,
        now_ms: i64,
    ) -> Result<Revocation, StoreError> {
        let device = self.find_device(user_id, id).await?.ok_or(StoreError::NotVisible { what: "device" })?;
        if device.revoked_at_ms.is_some() {
            return Ok(Revocation::Before);
        }
        self.execute_one(&REVOKE_DEVICE, bind![user_id, id, now_ms]).await?;
        self.execute(&DELETE_DEVICE_NONCES, bind![id]).await?;
        let families = self.execute(&END_DEVICE_FAMILIES, bind![user_id, id, now_ms]).await?;
        Ok(Revocation::Now { families })
    }

    /// Notes that a verified request came. Upkeep; never goes back in time.
    pub async fn see_device(&mut self, id: &DeviceId, now_ms: i64) -> Result<(), StoreError> {
        self.execute(&SEE_DEVICE, bind![id, now_ms]).await.map(|_| ())
    }

    /// Marks a device whose refresh token came twice.
    pub(super) async fn flag_device(&mut self, id: &DeviceId, now_ms: i64) -> Result<(), StoreError> {
        self.execute_one(&FLAG_DEVICE, bind![id, now_ms]).await
    }
}

impl TryFrom<&Row> for Device {
    type Error = StoreError;

    fn try_from(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.id("id")?,
            user_id: row.id("user_id")?,
            name: row.text("name")?,
            public_key: row.bytes32("public_key")?,
            session_class: row.parsed("session_class", SessionClass::parse)?,
            created_at_ms: row.int("created_at_ms")?,
            last_seen_at_ms: row.int("last_seen_at_ms")?,
            flagged_at_ms: row.optional_int("flagged_at_ms")?,
            revoked_at_ms: row.optional_int("revoked_at_ms")?,
        })
    }
}
