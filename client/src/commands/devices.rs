//! Lists the devices of the account, and keeps their keys for checking signatures offline.

use crate::app::App;
use crate::error::CliError;
use crate::output::Outcome;
use contract::device::DeviceList;
use contract::{Json, cjson};

/// Runs `devices`.
pub async fn run(app: &App) -> Result<Outcome, CliError> {
    let service = app.service()?;
    let list: DeviceList = service.api()?.get("/v1/devices").await?;
    service.db().await?.store_directory(&list.devices, app.door.now_ms()).await?;
    let lines = list.devices.iter().map(|row| {
        let current = if row.id == service.profile.device_id { " · current" } else { "" };
        let revoked = if row.revoked_at.is_some() { " · revoked" } else { "" };
        let name: String = row.name.chars().take(22).collect();
        format!(
            "  {:<36} {name:<22} last={} {} {}{current}{revoked}",
            row.id.as_str(),
            row.last_seen_at,
            row.fingerprint,
            row.session_class
        )
    });
    let lines: Vec<_> = lines.collect();
    Ok(Outcome::new(Json::from_members([
        ("devices", cjson::to_json(&list.devices)?),
        ("current", service.profile.device_id.as_str().into()),
    ]))
    .lines(lines))
}
