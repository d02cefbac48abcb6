//! Connects this device to a service. An interrupted login goes on where it stopped; a repeated one changes nothing; no address without TLS is spoken to but this machine.

use crate::api::{Api, Way};
use crate::app::{App, Service, normal_base, trust};
use crate::error::CliError;
use crate::output::Outcome;
use crate::pairing::{self, NewDevice};
use crate::sealing;
use crate::state::ServiceDir;
use crate::state::pairing::Pairing;
use crate::state::profile::{Profile, Standing};
use crate::state::session::Session;
use contract::connection::{ConnectionList, SealFormat};
use contract::device::{Enrolled, WhoAmI};
use contract::ids::DeviceId;
use contract::{Code, Json};
use sign::PublicKey;
use std::process::{Command, Stdio};

/// Arguments of `login`.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Believe exactly this certificate: the fingerprint that the service shows at its start.
    #[arg(long, value_name = "SHA256")]
    pub server_fingerprint: Option<String>,
    /// What this device is called on your account.
    #[arg(long, value_name = "NAME")]
    pub device_name: Option<String>,
    /// Connect again as a new device, in place of the connection that is here.
    #[arg(long)]
    pub replace: bool,
    /// Do not open a browser.
    #[arg(long)]
    pub no_browser: bool,
    /// Print the code and end; the next `login` goes on.
    #[arg(long)]
    pub no_wait: bool,
}

/// Runs `login`.
pub async fn run(app: &App, args: &Args) -> Result<Outcome, CliError> {
    let base = find_base(app)?;
    let folder = app.state.service(&base);
    let before = folder.find_profile()?;
    let fingerprint = said_fingerprint(args, before.as_ref(), folder.find_pairing()?.as_ref())?;
    let way = Way::new(app, &base, &fingerprint)?;
    let lock = folder.lock_login()?;
    let pairing = match resumable(app, args, &folder, &fingerprint)? {
        Some(pairing) => pairing,
        None => match before.as_ref().filter(|profile| profile.standing == Standing::Connected && !args.replace) {
            Some(profile) => return repeat(app, args, profile, &fingerprint),
            None => start(app, args, &way, &base, &fingerprint).await?,
        },
    };
    show(app, args, &base, &pairing)?;
    let enrolled = if args.no_wait {
        pairing::poll(&way, &pairing).await?.ok_or_else(|| pending(&pairing))?
    } else {
        match pairing::wait(&way, app.door, &pairing).await {
            Err(error) if matches!(error.code, Code::PairingExpired | Code::PairingRefused | Code::PairingTries) => {
                folder.remove_pairing()?;
                return Err(error);
            }
            other => other?,
        }
    };
    let outcome = finish(app, &folder, before, enrolled, &fingerprint, &base).await?;
    drop(lock);
    Ok(outcome)
}

/// The service that is meant: what was said, the one of a login that waits, or the one signed in to last.
fn find_base(app: &App) -> Result<String, CliError> {
    let waiting =
        || Ok::<_, CliError>(app.state.find_waiting()?.filter(|pairing| pairing.expires_at > app.door.now_s()));
    let base = match &app.global.server {
        Some(said) => Some(normal_base(said)?),
        None => waiting()?.map(|pairing| pairing.base).or(app.find_base()?),
    };
    base.ok_or_else(|| {
        CliError::usage("which service?")
            .hint("pass `--server <url>`, for example http://127.0.0.1:7420 on this machine or https://collie.example")
    })
}

/// The pin for this login: what was said, else that of the login that waits, else what was pinned before.
fn said_fingerprint(args: &Args, before: Option<&Profile>, waiting: Option<&Pairing>) -> Result<String, CliError> {
    let Some(said) = &args.server_fingerprint else {
        let pinned =
            waiting.map(|pairing| &pairing.server_fingerprint).or(before.map(|profile| &profile.server_fingerprint));
        return Ok(pinned.cloned().unwrap_or_default());
    };
    match trust(said)? {
        egress::Trust::Pinned(fingerprint) => Ok(fingerprint.to_string()),
        egress::Trust::Roots => Err(CliError::usage("the fingerprint is empty")),
    }
}

/// The same login again: nothing changes, and that is said. Another one needs `--replace`.
fn repeat(app: &App, args: &Args, profile: &Profile, fingerprint: &str) -> Result<Outcome, CliError> {
    let other_name = args.device_name.as_ref().is_some_and(|name| name.trim() != profile.device_name);
    if other_name || fingerprint != profile.server_fingerprint {
        let what = if other_name {
            format!("under the name `{}`", profile.device_name)
        } else {
            "with another certificate pin".to_owned()
        };
        return Err(CliError::new(
            Code::DeviceExists,
            format!("this device is connected to {} already, {what}", profile.base),
        )
        .hint("run the command with `--replace` to connect it again as a new device"));
    }
    if app.state.find_current()?.as_deref() != Some(profile.base.as_str()) {
        app.state.set_current(&profile.base)?;
    }
    Ok(Outcome::new(data(profile, None)?)
        .line(format!("Already connected to {} as device {}. Nothing changed.", profile.base, profile.device_name)))
}

/// The pairing that waits, if it is the one that is asked for and its key is still here.
fn resumable(app: &App, args: &Args, folder: &ServiceDir, fingerprint: &str) -> Result<Option<Pairing>, CliError> {
    let Some(pairing) = folder.find_pairing()? else { return Ok(None) };
    let same_name = args.device_name.as_ref().is_none_or(|name| name.trim() == pairing.device_name);
    let alive = pairing.expires_at > app.door.now_s() && same_name && pairing.server_fingerprint == fingerprint;
    if alive && folder.has_key_of_pairing(&pairing.public_key)? {
        return Ok(Some(pairing));
    }
    folder.remove_pairing()?;
    Ok(None)
}

async fn start(app: &App, args: &Args, way: &Way, base: &str, fingerprint: &str) -> Result<Pairing, CliError> {
    let folder = app.state.service(base);
    let name = pairing::check_name(&args.device_name.clone().unwrap_or_else(|| default_name(app)))?;
    // A device that is connected anew is a new one, with a key of its own; the connection that is here stays until that is bound.
    let public_key = folder.find_or_make_pairing_key()?.public_key();
    let device = NewDevice { base, name: &name, public_key: &public_key, server_fingerprint: fingerprint };
    let pairing = pairing::start(way, app.door, device).await?;
    folder.store_pairing(&pairing)?;
    Ok(pairing)
}

fn default_name(app: &App) -> String {
    let from_system = || std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = app.door.variable("HOSTNAME").or_else(from_system).unwrap_or_default();
    if pairing::check_name(&name).is_ok() { name.trim().to_owned() } else { "This device".to_owned() }
}

fn show(app: &App, args: &Args, base: &str, pairing: &Pairing) -> Result<(), CliError> {
    let key = PublicKey::parse(&pairing.public_key).map_err(|error| CliError::internal(error.to_string()))?;
    app.output.say(&format!("Open {}", pairing.verification_uri));
    app.output.say(&format!("Confirm that this device shows code: {}", pairing.user_code));
    app.output.say(&format!("and that the page shows this key fingerprint: {}", key.fingerprint()));
    // Only a page of the service itself: an answer must not choose what a browser opens.
    let own_page = pairing.verification_uri.starts_with(&format!("{base}/"));
    if !args.no_browser && !args.no_wait && own_page && app.output.is_for_a_person() {
        let _ = Command::new("xdg-open")
            .arg(&pairing.verification_uri)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
    }
    Ok(())
}

fn pending(pairing: &Pairing) -> CliError {
    CliError::new(Code::LoginPending, "this device waits for a person to approve it")
        .hint("approve it, then run `collie online login` again: it goes on from here")
        .details(Json::from_members([
            ("user_code", pairing.user_code.as_str().into()),
            ("verification_uri", pairing.verification_uri.as_str().into()),
        ]))
}

/// Stores what the approval gave, in an order in which every interruption can be gone on from.
async fn finish(
    app: &App,
    folder: &ServiceDir,
    before: Option<Profile>,
    enrolled: Enrolled,
    fingerprint: &str,
    base: &str,
) -> Result<Outcome, CliError> {
    let replaced = before
        .as_ref()
        .filter(|profile| profile.standing == Standing::Connected)
        .map(|profile| profile.device_id.clone());
    let now_s = app.door.now_s();
    let profile = Profile {
        base: base.to_owned(),
        deployment_id: enrolled.deployment_id,
        server_fingerprint: fingerprint.to_owned(),
        user_id: enrolled.user_id,
        workspace_id: enrolled.workspace_id,
        device_id: enrolled.device_id,
        device_name: enrolled.device_name,
        session_class: enrolled.session_class,
        standing: Standing::Connected,
        connected_at: now_s,
        changed_at: now_s,
    };
    let session = Session::new(enrolled.tokens)?;
    refuse_collision(app, &profile)?;
    folder.keep_accounts_apart(before.as_ref().map(|profile| &profile.user_id), &profile.user_id)?;
    let v1_key = match before.filter(|before| before.user_id == profile.user_id) {
        Some(profile) => Service::new(app, folder.clone(), profile).take_v1_key().await?,
        None => None,
    };
    folder.remove_sessions()?;
    folder.store_session(&profile.workspace_id, &session)?;
    drop(session);
    folder.install_pairing_key()?;
    folder.store_profile(&profile)?;
    let service = Service::new(app, folder.clone(), profile.clone());
    if let Some(key) = v1_key {
        service.put_v1_key(key).await?;
    }
    app.state.set_current(base)?;
    folder.remove_pairing()?;
    let mut outcome = greet(&service.api()?, &profile, folder).await?;
    if let Some(device) = replaced {
        outcome = outcome.warn(before_device(&device));
    }
    if normal_base(&enrolled.origin).ok().as_deref() != Some(base) {
        outcome = outcome.warn(format!("the service calls itself {}, this device speaks to {base}", enrolled.origin));
    }
    Ok(outcome)
}

fn before_device(device: &DeviceId) -> String {
    format!(
        "the device this was before ({device}) stays on the account without a key; run `collie online device-revoke {device}` to end it"
    )
}

/// The same device id at another service would let that service use what is signed here.
fn refuse_collision(app: &App, profile: &Profile) -> Result<(), CliError> {
    let others = app.state.list_profiles()?;
    match others.iter().find(|other| other.base != profile.base && other.device_id == profile.device_id) {
        Some(other) => Err(CliError::new(
            Code::TrustPin,
            format!("this service assigned the device id that {} assigned before", other.base),
        )
        .hint("do not trust this service: it may want to use at the other one what this device signs for it")),
        None => Ok(()),
    }
}

/// The first signed call proves the key. The device is connected whether or not it gets through.
async fn greet(api: &Api, profile: &Profile, folder: &ServiceDir) -> Result<Outcome, CliError> {
    let me: Result<WhoAmI, CliError> = api.get("/v1/whoami").await;
    let name = me.as_ref().map_or_else(|_| profile.user_id.to_string(), |me| me.display_name.clone());
    let mut outcome =
        Outcome::new(data(profile, Some(&name))?).line(format!("Connected {name} as device {}.", profile.device_name));
    if let Err(error) = me {
        return Ok(outcome.warn(format!("the first signed request did not get through: {error}")));
    }
    let rows: Result<ConnectionList, CliError> = api.get("/v1/connections").await;
    let sealed = rows.is_ok_and(|rows| sealing::has_sealed(&rows.connections, SealFormat::V2));
    if sealed && folder.find_sealing_key()?.is_none() {
        outcome = outcome
            .line("This account has sealed connections. To open them here:")
            .line("  on a device that opens them: collie online key-export --yes")
            .line("  on this one:                 collie online key-import");
    }
    Ok(outcome)
}

fn data(profile: &Profile, display_name: Option<&str>) -> Result<Json, CliError> {
    Ok(Json::from_members([
        ("server", profile.base.as_str().into()),
        ("user_id", profile.user_id.as_str().into()),
        ("display_name", display_name.unwrap_or_default().into()),
        ("workspace_id", profile.workspace_id.as_str().into()),
        ("device_id", profile.device_id.as_str().into()),
        ("device_name", profile.device_name.as_str().into()),
        ("session_class", profile.session_class.as_str().into()),
        ("changed", display_name.is_some().into()),
    ]))
}
