//! Ends a connection for every device and says what to change at the provider. Deletes this device's copy of the credential.

use crate::api::segment;
use crate::app::App;
use crate::cli::ConnectionArg;
use crate::db::copy::StoredCredential;
use crate::error::CliError;
use crate::output::Outcome;
use crate::prompt;
use contract::blob::SecretKind;
use contract::connection::{ConnectionAnswer, ConnectionList};
use contract::credential::{CredentialStatement, SealedCredentialV2};
use contract::{Code, Json, b64u, cjson};

/// Arguments of `connection-revoke`.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Which connection.
    #[command(flatten)]
    pub connection: ConnectionArg,
    /// Do not ask.
    #[arg(long)]
    pub yes: bool,
}

/// Runs `connection-revoke`.
pub async fn run(app: &App, args: &Args) -> Result<Outcome, CliError> {
    let service = app.service()?;
    let api = service.api()?;
    let mut db = service.db().await?;
    let id = args.connection.id()?;
    let rows: ConnectionList = api.get("/v1/connections").await?;
    let standing = rows.connections.into_iter().find(|row| row.id == id);
    let name = standing.as_ref().map_or_else(|| id.to_string(), |row| row.name.clone());
    if standing.is_some() && !args.yes && !prompt::ask_yes(&format!("End `{name}` for all your devices, for good?"), "pass `--yes`")? {
        return Err(CliError::new(Code::Canceled, "not revoked; nothing changed"));
    }
    let target = format!("/v1/connections/{}/revoke", segment(id.as_str()));
    let ConnectionAnswer { connection } = api.post(&target, &Nothing {}).await?;
    let kind = db.find_credential(&id).await?.as_ref().and_then(secret_kind);
    db.remove_connection(&id).await?;
    db.checkpoint().await?;
    let data = Json::from_members([
        ("connection", id.as_str().into()),
        ("changed", standing.is_some().into()),
        ("rotate_at", connection.endpoint.as_str().into()),
    ]);
    if standing.is_none() {
        return Ok(Outcome::new(data).line(format!("`{}` was revoked before; nothing changed.", connection.name)));
    }
    Ok(Outcome::new(data)
        .line(format!("Revoked `{name}`. No device can call its tools through Collie any more.", ))
        .line(what_to_rotate(kind, &connection.endpoint)))
}

#[derive(serde::Serialize)]
struct Nothing {}

/// The kind, as the author stated it; nothing is opened for this.
fn secret_kind(stored: &StoredCredential) -> Option<SecretKind> {
    let sealed = SealedCredentialV2::parse(&stored.sealed).ok()?;
    let payload = b64u::decode(&sealed.statement.payload).ok()?;
    cjson::from_slice::<CredentialStatement>(&payload, payload.len()).ok().map(|statement| statement.secret_kind)
}

fn what_to_rotate(kind: Option<SecretKind>, endpoint: &str) -> String {
    let still = "a device that opened it may still hold it, and revoking here does not end it there";
    match kind {
        Some(SecretKind::None) => format!("It had no credential; there is nothing to change at {endpoint}."),
        Some(SecretKind::StaticBearer) => format!("Now revoke or change its token at the provider of {endpoint}: {still}."),
        Some(SecretKind::StaticHeader) => format!("Now revoke or change its key at the provider of {endpoint}: {still}."),
        Some(SecretKind::OAuth | SecretKind::ClientSecret | SecretKind::Dcr | SecretKind::Pkce) | None => format!("Now revoke or change its credential at the provider of {endpoint}: {still}."),
    }
}
