//! Whether this device is connected, what it holds and what needs a person. Answers offline and never fails.

use crate::app::{App, Service};
use crate::error::CliError;
use crate::output::Outcome;
use crate::sealing;
use crate::state::profile::Standing;
use contract::Json;
use contract::connection::{ConnectionRow, SealFormat, Status};
use contract::device::WhoAmI;

/// Arguments of `status`.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Args {
    /// Ask the service whether it answers.
    #[arg(long)]
    pub check: bool,
}

/// Runs `status`.
pub async fn run(app: &App, args: &Args) -> Result<Outcome, CliError> {
    let service = match app.find_service() {
        Ok(Some(service)) => service,
        Ok(None) => return Ok(local(app)),
        Err(error) => return Ok(local(app).warn(error.to_string())),
    };
    let mut warnings = Vec::new();
    let held = Held::read(&service, &mut warnings).await;
    let reachable = if args.check { Some(reach(&service, &mut warnings).await) } else { None };
    let mut outcome = Outcome::new(data(&service, &held, reachable)).lines(lines(&service, &held, reachable));
    outcome.warnings.extend(warnings);
    Ok(outcome)
}

fn local(app: &App) -> Outcome {
    let others = app.state.list_profiles().unwrap_or_default();
    let servers: Vec<Json> = others.iter().map(|profile| profile.base.as_str().into()).collect();
    let outcome = Outcome::new(Json::from_members([("mode", "local".into()), ("services", servers.into())]));
    outcome.line("Local mode: this device is not connected. Connect it by `collie online login --server <url>`.")
}

/// What this device holds.
#[derive(Default)]
struct Held {
    rows: Vec<ConnectionRow>,
    sealed: u64,
    uncertain: u64,
    sealing_key: Option<String>,
    access_expires_at: u64,
}

impl Held {
    /// Reads what can be read; the rest becomes a warning.
    async fn read(service: &Service<'_>, warnings: &mut Vec<String>) -> Self {
        let mut held = Self::default();
        match service.folder.find_sealing_key() {
            Ok(key) => held.sealing_key = key.map(|key| key.id().short()),
            Err(error) => warnings.push(error.to_string()),
        }
        match service.folder.find_session(&service.profile.workspace_id) {
            Ok(session) => held.access_expires_at = session.map_or(0, |session| session.access_expires_at),
            Err(error) => warnings.push(error.to_string()),
        }
        if service.folder.database().exists()
            && let Err(error) = held.read_database(service).await
        {
            warnings.push(error.to_string());
        }
        held
    }

    async fn read_database(&mut self, service: &Service<'_>) -> Result<(), CliError> {
        let mut db = service.db().await?;
        self.uncertain = db.count_uncertain().await?;
        self.rows = db.list_connections(&service.profile.workspace_id).await?;
        self.sealed =
            u64::try_from(db.list_credentials(&service.profile.workspace_id).await?.len()).unwrap_or(u64::MAX);
        Ok(())
    }

    fn count(&self, status: Status) -> usize {
        self.rows.iter().filter(|row| row.status == status).count()
    }

    fn needs_key(&self) -> bool {
        self.sealing_key.is_none() && sealing::has_sealed(&self.rows, SealFormat::V2)
    }
}

async fn reach(service: &Service<'_>, warnings: &mut Vec<String>) -> bool {
    let me: Result<WhoAmI, CliError> = match service.api() {
        Ok(api) => api.get("/v1/whoami").await,
        Err(error) => Err(error),
    };
    me.map_err(|error| warnings.push(error.to_string())).is_ok()
}

fn mode(standing: Standing) -> &'static str {
    match standing {
        Standing::Connected => "connected",
        Standing::SignedOut => "signed_out",
        Standing::Revoked => "revoked",
    }
}

fn lines(service: &Service<'_>, held: &Held, reachable: Option<bool>) -> Vec<String> {
    let profile = &service.profile;
    let mut lines = vec![match profile.standing {
        Standing::Connected => format!("Connected to {} as device {}.", profile.base, profile.device_name),
        Standing::SignedOut => {
            format!("Signed out of {}. Connect again by `collie online login --server {}`.", profile.base, profile.base)
        }
        Standing::Revoked => format!("Revoked at {}; its keys and its sealed copy were deleted.", profile.base),
    }];
    lines.push(format!("  user         {}", profile.user_id));
    lines.push(format!("  device       {}", profile.device_id));
    lines.push(format!("  workspace    {}", profile.workspace_id));
    lines.push(format!(
        "  connections  {} here ({} active, {} to review), {} sealed",
        held.rows.len(),
        held.count(Status::Active),
        held.count(Status::ReviewRequired),
        held.sealed
    ));
    lines.push("  key storage  files of mode 0600 in the state folder".to_owned());
    lines.push(match &held.sealing_key {
        Some(id) => format!("  sealing key  here ({id})"),
        None => "  sealing key  not here".to_owned(),
    });
    if profile.standing == Standing::Connected {
        lines.push(format!("  access expires: {}", held.access_expires_at));
    }
    if held.needs_key() {
        lines.push("Needs you: sealed connections are here without their key. `collie online key-import` takes it from another device.".to_owned());
    }
    if held.uncertain > 0 {
        lines.push(format!(
            "Needs you: {} call(s) have an outcome that nobody knows. `collie online doctor` lists them.",
            held.uncertain
        ));
    }
    match reachable {
        Some(true) => lines.push("The service answers.".to_owned()),
        Some(false) => lines.push("The service does not answer, or not to this device.".to_owned()),
        None => {}
    }
    lines
}

fn data(service: &Service<'_>, held: &Held, reachable: Option<bool>) -> Json {
    let number = |value: usize| Json::from(i64::try_from(value).unwrap_or(i64::MAX));
    let big = |value: u64| Json::from(i64::try_from(value).unwrap_or(i64::MAX));
    let profile = &service.profile;
    Json::from_members([
        ("mode", mode(profile.standing).into()),
        ("server", profile.base.as_str().into()),
        ("user_id", profile.user_id.as_str().into()),
        ("workspace_id", profile.workspace_id.as_str().into()),
        (
            "device",
            Json::from_members([
                ("id", profile.device_id.as_str().into()),
                ("name", profile.device_name.as_str().into()),
            ]),
        ),
        (
            "keys",
            Json::from_members([
                ("storage", "file".into()),
                ("sealing_key", held.sealing_key.as_deref().unwrap_or_default().into()),
                ("required", held.needs_key().into()),
            ]),
        ),
        (
            "connections",
            Json::from_members([
                ("here", number(held.rows.len())),
                ("active", number(held.count(Status::Active))),
                ("review_required", number(held.count(Status::ReviewRequired))),
                ("sealed", big(held.sealed)),
            ]),
        ),
        ("pending", Json::from_members([("uncertain", big(held.uncertain))])),
        ("access_expires_at", big(held.access_expires_at)),
        ("reachable", reachable.map_or(Json::Null, Json::from)),
    ])
}
