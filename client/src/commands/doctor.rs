//! Checks this device and says what to do about every finding. Changes nothing, but for permissions with `--fix`.

use crate::api::Way;
use crate::app::{App, Service};
use crate::error::CliError;
use crate::output::Outcome;
use crate::sealing;
use crate::state::files;
use crate::state::profile::Standing;
use contract::connection::SealFormat;
use contract::device::WhoAmI;
use contract::{Code, Json, limits};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

/// Arguments of `doctor`.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Args {
    /// Take permissions away that others should not have.
    #[arg(long)]
    pub fix: bool,
}

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// As it should be.
    Green,
    /// Works; somebody should know.
    Yellow,
    /// Broken.
    Red,
}

impl State {
    const fn word(self) -> &'static str {
        match self {
            Self::Green => "green",
            Self::Yellow => "yellow",
            Self::Red => "red",
        }
    }
}

/// One finding.
struct Check {
    name: &'static str,
    state: State,
    what: String,
    hint: String,
}

impl Check {
    fn new(name: &'static str, state: State, what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { name, state, what: what.into(), hint: hint.into() }
    }

    fn of_error(name: &'static str, state: State, error: &CliError) -> Self {
        Self::new(name, state, error.message.clone(), error.hint.clone().unwrap_or_default())
    }

    fn json(&self) -> Json {
        Json::from_members([
            ("name", self.name.into()),
            ("state", self.state.word().into()),
            ("what", self.what.as_str().into()),
            ("hint", self.hint.as_str().into()),
        ])
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("  {:<7} {:<12} {}", self.state.word(), self.name, self.what)];
        if self.state != State::Green && !self.hint.is_empty() {
            lines.push(format!("  {:<20} {}", "", self.hint));
        }
        lines
    }
}

/// Runs `doctor`.
pub async fn run(app: &App, args: &Args) -> Result<Outcome, CliError> {
    let mut checks = Vec::new();
    match app.find_service() {
        Ok(Some(service)) => {
            checks.push(permissions(&service, args));
            checks.push(device_key(&service));
            checks.push(sealing_key(&service).await);
            checks.push(Check::new(
                "key storage",
                State::Green,
                "keys are files of mode 0600; whoever reads them as this user has them",
                "",
            ));
            checks.extend(database(&service).await);
            checks.push(pin(&service));
            checks.extend(network(app, &service).await);
        }
        Ok(None) => checks.push(Check::new(
            "connection",
            State::Yellow,
            "this device is not connected",
            "run `collie online login --server <url>`",
        )),
        Err(error) => checks.push(Check::of_error("profile", State::Red, &error)),
    }
    report(&checks)
}

fn report(checks: &[Check]) -> Result<Outcome, CliError> {
    let red = checks.iter().filter(|check| check.state == State::Red).count();
    let data = Json::from_members([("checks", checks.iter().map(Check::json).collect::<Vec<_>>().into())]);
    let lines: Vec<String> = checks.iter().flat_map(Check::lines).collect();
    if red == 0 {
        return Ok(Outcome::new(data).lines(lines));
    }
    let first = checks.iter().find(|check| check.state == State::Red).map_or("", |check| check.hint.as_str());
    let names: Vec<_> = checks.iter().filter(|check| check.state == State::Red).map(|check| check.name).collect();
    Err(CliError::new(Code::DoctorRed, format!("{red} of {} checks are red: {}", checks.len(), names.join(", ")))
        .hint(first)
        .details(data)
        .lines(lines))
}

fn permissions(service: &Service<'_>, args: &Args) -> Check {
    const NAME: &str = "permissions";
    let mut open = Vec::new();
    let mut paths: Vec<PathBuf> = vec![service.folder.path().to_owned()];
    paths.extend(std::fs::read_dir(service.folder.path()).into_iter().flatten().flatten().map(|entry| entry.path()));
    for path in paths {
        if files::is_open_to_others(&path).unwrap_or(true) {
            if args.fix {
                let mode = if path.is_dir() { 0o700 } else { 0o600 };
                let _ = std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode));
            }
            if files::is_open_to_others(&path).unwrap_or(true) {
                open.push(path.display().to_string());
            }
        }
    }
    match open.is_empty() {
        true => {
            Check::new(NAME, State::Green, format!("only this user can read {}", service.folder.path().display()), "")
        }
        false => Check::new(
            NAME,
            State::Red,
            format!("others can read {}", open.join(", ")),
            "run `collie online doctor --fix`; decide whether what is in there is still secret",
        ),
    }
}

fn device_key(service: &Service<'_>) -> Check {
    const NAME: &str = "device key";
    if service.profile.standing != Standing::Connected {
        return Check::new(
            NAME,
            State::Yellow,
            "this device is signed out, so it has none",
            "run `collie online login`",
        );
    }
    match service.folder.device_key() {
        Ok(key) => Check::new(NAME, State::Green, format!("fingerprint {}", key.public_key().fingerprint()), ""),
        Err(error) => Check::of_error(NAME, State::Red, &error),
    }
}

async fn sealing_key(service: &Service<'_>) -> Check {
    const NAME: &str = "sealing key";
    let sealed = match service.db().await {
        Ok(mut db) => db
            .list_connections(&service.profile.workspace_id)
            .await
            .is_ok_and(|rows| sealing::has_sealed(&rows, SealFormat::V2)),
        Err(_) => false,
    };
    match service.folder.find_sealing_key() {
        Ok(Some(key)) => Check::new(NAME, State::Green, format!("generation 1, {}", key.id().short()), ""),
        Ok(None) if sealed => Check::new(
            NAME,
            State::Red,
            "sealed connections are here without their key",
            "run `collie online key-export --yes` on a device that has it, then `collie online key-import` here",
        ),
        Ok(None) => Check::new(NAME, State::Green, "none yet; it is made with the first sealed credential", ""),
        Err(error) => Check::of_error(NAME, State::Red, &error),
    }
}

async fn database(service: &Service<'_>) -> Vec<Check> {
    const NAME: &str = "database";
    let mut db = match service.db().await {
        Ok(db) => db,
        Err(error) => return vec![Check::of_error(NAME, State::Red, &error)],
    };
    let whole = match db.integrity().await {
        Ok(word) if word == "ok" => Check::new(NAME, State::Green, "whole", ""),
        Ok(word) => Check::new(
            NAME,
            State::Red,
            format!("damaged: {word}"),
            format!(
                "move {} away; the copy is read again from the service, the ledger of calls is lost",
                service.folder.database().display()
            ),
        ),
        Err(error) => Check::of_error(NAME, State::Red, &error),
    };
    let ledger = match db.list_uncertain().await {
        Ok(calls) if calls.is_empty() => Check::new("ledger", State::Green, "every call has a known outcome", ""),
        Ok(calls) => Check::new(
            "ledger",
            State::Yellow,
            format!("nobody knows whether these calls happened: {}", calls.join(", ")),
            "look at the provider whether they did; repeating one under a new key may do it twice",
        ),
        Err(error) => Check::of_error("ledger", State::Red, &error),
    };
    vec![whole, ledger]
}

fn pin(service: &Service<'_>) -> Check {
    let profile = &service.profile;
    let what = if profile.base.starts_with("http://") {
        "plain http to this machine only".to_owned()
    } else if profile.server_fingerprint.is_empty() {
        "certificate by the system's authorities".to_owned()
    } else {
        format!("certificate {}", profile.server_fingerprint)
    };
    Check::new("pin", State::Green, format!("{what}; installation {}", profile.deployment_id), "")
}

async fn network(app: &App, service: &Service<'_>) -> Vec<Check> {
    let profile = &service.profile;
    let answer = match Way::new(app, &profile.base, &profile.server_fingerprint) {
        Ok(way) => way.get_public("/version").await,
        Err(error) => Err(error),
    };
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) if error.code == Code::Unreachable => {
            return vec![Check::of_error("service", State::Yellow, &error)];
        }
        Err(error) => return vec![Check::of_error("service", State::Red, &error)],
    };
    let mut checks = vec![
        Check::new("service", State::Green, format!("{} answers", profile.base), ""),
        clock(answer.clock_difference_s(app.door.now_s())),
    ];
    if profile.standing == Standing::Connected {
        checks.push(session(service).await);
    }
    checks
}

fn clock(difference_s: Option<i64>) -> Check {
    const NAME: &str = "clock";
    let Some(difference) = difference_s else {
        return Check::new(NAME, State::Yellow, "the service does not say its time", "");
    };
    let size = difference.unsigned_abs();
    let what = format!("{size} s {} the service's", if difference < 0 { "behind" } else { "ahead of" });
    if size > limits::REQUEST_SKEW_S_MAX {
        return Check::new(NAME, State::Red, what, "set this device's clock; the service refuses its requests");
    }
    let state = if size > limits::REQUEST_SKEW_S_MAX / 5 { State::Yellow } else { State::Green };
    Check::new(NAME, state, what, "set this device's clock")
}

async fn session(service: &Service<'_>) -> Check {
    const NAME: &str = "session";
    let me: Result<WhoAmI, CliError> = match service.api() {
        Ok(api) => api.get("/v1/whoami").await,
        Err(error) => Err(error),
    };
    match me {
        Ok(me) if me.deployment_id == service.profile.deployment_id => {
            Check::new(NAME, State::Green, format!("signed in as {}", me.display_name), "")
        }
        Ok(_) => Check::new(
            NAME,
            State::Red,
            "the service is another installation than the pinned one",
            "run `collie online login --replace` if it was installed anew; else do not trust it",
        ),
        Err(error) => Check::of_error(NAME, State::Red, &error),
    }
}
