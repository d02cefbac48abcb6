//! Revokes another device of the account, and says what no revocation can take back: what a modified client there would still hold.

use crate::app::App;
use crate::cli::DeviceArg;
use crate::error::CliError;
use crate::output::Outcome;
use crate::prompt;
use contract::connection::{ConnectionList, ConnectionRow, Profile as Transport, SealFormat, Status};
use contract::device::{DeviceList, DeviceRow, RevokeDevice};
use contract::{Code, Json};

/// Arguments of `device-revoke`.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Which device.
    #[command(flatten)]
    pub device: DeviceArg,
    /// Do not ask.
    #[arg(long)]
    pub yes: bool,
}

/// Runs `device-revoke`.
pub async fn run(app: &App, args: &Args) -> Result<Outcome, CliError> {
    let id = args.device.id()?;
    let service = app.service()?;
    if id == service.profile.device_id {
        return Err(CliError::new(Code::DeviceSelf, "this is the device itself")
            .hint("run `collie online logout` to sign it out"));
    }
    let api = service.api()?;
    let list: DeviceList = api.get("/v1/devices").await?;
    let row = list.devices.iter().find(|row| row.id == id).ok_or_else(|| {
        CliError::new(Code::NotFound, format!("your account has no device {id}"))
            .hint("`collie online devices` lists them")
    })?;
    let repeated = row.revoked_at.is_some();
    if !repeated {
        confirm(args, row)?;
        let _: Json = api.post("/v1/devices/revoke", &RevokeDevice { device_id: id.clone() }).await?;
    }
    let rows: ConnectionList = api.get("/v1/connections").await?;
    let exposed = exposed(&rows);
    let first = if repeated {
        format!("Device {id} was revoked already. Nothing changed.")
    } else {
        format!("Revoked device {} ({id}).", row.name)
    };
    let outcome = Outcome::new(Json::from_members([
        ("revoked", id.as_str().into()),
        ("changed", (!repeated).into()),
        ("rotate", exposed.iter().map(|row| entry(row)).collect::<Vec<_>>().into()),
    ]))
    .line(first)
    .line("The service gives it nothing any more. What it was given, no revocation can take back:");
    Ok(explain(outcome, &exposed))
}

fn confirm(args: &Args, row: &DeviceRow) -> Result<(), CliError> {
    if args.yes
        || prompt::ask_yes(
            &format!("Revoke device `{}` ({})?", row.name, row.fingerprint),
            "pass `--yes` to revoke it",
        )?
    {
        return Ok(());
    }
    Err(CliError::new(Code::Canceled, "the device was not revoked; nothing changed"))
}

/// Connections whose credential the device could open.
fn exposed(rows: &ConnectionList) -> Vec<&ConnectionRow> {
    let mut exposed: Vec<_> = rows
        .connections
        .iter()
        .filter(|row| {
            row.status != Status::Revoked && row.transport == Transport::DeviceDirect && row.credential_version > 0
        })
        .collect();
    exposed.sort_by(|a, b| a.name.cmp(&b.name));
    exposed
}

fn explain(outcome: Outcome, exposed: &[&ConnectionRow]) -> Outcome {
    if exposed.is_empty() {
        return outcome.line("  no connection of yours has a sealed credential, so it held none.");
    }
    let mut outcome = outcome
        .line("  a modified client there may have kept the sealing key and every credential it opened.")
        .line("Change these at their providers, then seal the new ones with `collie online connection-review ID`:");
    for row in exposed {
        let format = if row.seal_format == SealFormat::V1 { " (public client's format)" } else { "" };
        outcome = outcome.line(format!("  {}  {}  {}{format}", row.id, row.name, row.endpoint));
    }
    outcome
}

fn entry(row: &ConnectionRow) -> Json {
    Json::from_members([
        ("connection_id", row.id.as_str().into()),
        ("name", row.name.as_str().into()),
        ("endpoint", row.endpoint.as_str().into()),
        ("seal_format", row.seal_format.as_str().into()),
    ])
}
