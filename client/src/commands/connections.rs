//! Lists the device's connections, from its own copy when the service does not answer.

use crate::app::{App, Service};
use crate::db::Db;
use crate::error::CliError;
use crate::mirror::{self, Freshness};
use crate::output::Outcome;
use crate::state::profile::Standing;
use contract::Json;
use contract::connection::{ConnectionRow, SealFormat, Status};
use contract::ids::WorkspaceId;

/// Arguments of `connections`.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {}

/// Runs `connections`.
pub async fn run(app: &App, _args: &Args) -> Result<Outcome, CliError> {
    let service = app.find_service()?.ok_or_else(CliError::not_connected)?;
    let mut db = service.db().await?;
    let (workspace, freshness) = refresh(app, &service, &mut db).await?;
    let rows = db.list_connections(&workspace).await?;
    let mut data = Vec::new();
    let mut lines = Vec::new();
    for row in &rows {
        let here = db.find_credential(&row.id).await?.is_some();
        lines.push(line(row, here));
        data.push(Json::from_members([
            ("connection", contract::cjson::to_json(row)?),
            ("on_this_device", here.into()),
        ]));
    }
    if rows.is_empty() {
        lines.push("No connections. Share one: collie online share-mcp NAME --url https://…".to_owned());
    }
    let fresh = freshness == Freshness::Fresh;
    let mut outcome =
        Outcome::new(Json::from_members([("connections", Json::Array(data)), ("fresh", fresh.into())])).lines(lines);
    outcome.warnings.extend(freshness.warning());
    Ok(outcome)
}

/// Brings the copy up to date where the device is signed in and the service answers.
pub(super) async fn refresh(
    app: &App,
    service: &Service<'_>,
    db: &mut Db,
) -> Result<(WorkspaceId, Freshness), CliError> {
    if service.profile.standing != Standing::Connected {
        let said = app.global.workspace_id.as_deref().map(str::parse).transpose();
        let said = said.map_err(|error| CliError::usage(format!("`--workspace-id` is {error}")))?;
        let why = "this device is signed out".to_owned();
        return Ok((said.unwrap_or_else(|| service.profile.workspace_id.clone()), Freshness::Stale { why }));
    }
    let api = service.api()?.within(mirror::SHORT_WAIT_S);
    let freshness = mirror::refresh_all(&api, db, service.door().now_ms()).await?;
    Ok((api.workspace().clone(), freshness))
}

fn line(row: &ConnectionRow, here: bool) -> String {
    let mut notes = vec![state(row).to_owned(), format!("{} tools", row.manifest.len())];
    if !row.project_id.is_empty() {
        notes.push(format!("project {}", row.project_id));
    }
    notes.extend(format_note(row).map(str::to_owned));
    if !here && row.status == Status::Active {
        notes.push("not opened on this device".to_owned());
    }
    format!("{}  {}  {}  [{}]", row.id, row.name, row.endpoint, notes.join("; "))
}

/// A status in words.
pub(super) const fn state(row: &ConnectionRow) -> &'static str {
    match row.status {
        Status::Active => "reviewed",
        Status::ReviewRequired => "REVIEW REQUIRED",
        Status::Revoked => "revoked",
    }
}

/// What a person must know about a format.
pub(super) const fn format_note(row: &ConnectionRow) -> Option<&'static str> {
    match row.seal_format {
        SealFormat::V2 => None,
        SealFormat::V1 if row.review_seq == 0 => Some("v1: trusts the service; reviewed by the public client"),
        SealFormat::V1 => Some("v1: trusts the service"),
    }
}
