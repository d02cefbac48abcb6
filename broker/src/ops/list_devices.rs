//! The devices of one person, for the person themselves. Shows keys for comparison only.

use crate::{app::App, door::wire_seconds, http::error::ApiError};
use contract::{device::DeviceRow, ids::UserId};
use sign::PublicKey;
use store::Device;

/// Every bound device and the newest revoked ones.
pub(crate) async fn list_devices(app: &App, user_id: &UserId) -> Result<Vec<DeviceRow>, ApiError> {
    let devices: Vec<Device> =
        app.store().read("list_devices", |mut tx| async move { tx.list_devices(user_id).await }).await?;
    devices.into_iter().map(row).collect()
}

fn row(device: Device) -> Result<DeviceRow, ApiError> {
    let key = PublicKey::from_bytes(&device.public_key).map_err(ApiError::internal)?;
    Ok(DeviceRow {
        id: device.id,
        name: device.name,
        last_seen_at: wire_seconds(device.last_seen_at_ms),
        revoked_at: device.revoked_at_ms.map(wire_seconds),
        public_key: key.b64u(),
        fingerprint: key.fingerprint(),
        session_class: device.session_class,
        created_at: wire_seconds(device.created_at_ms),
    })
}
