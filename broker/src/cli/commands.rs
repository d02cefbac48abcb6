//! The commands: each opens what it needs, says what it did, and leaves nothing half made.

use super::{Trouble, load, logs, print};
use crate::{
    config::{Config, Sources},
    door::{Clock as _, SystemClock},
    keys,
    ops::{first_start, owner_link},
    origin::Origin,
    private_files,
    service::{self, Ready, Service, StartError, origin_path, owner_url},
    tls, vault_start,
};
use contract::Json;
use sign::Secret;
use std::{
    io::{self, IsTerminal as _, Write as _},
    path::{Path, PathBuf},
    sync::Arc,
};
use store::{Store, StoreConfig};

const REMEDY: &str = "`collie-broker check` says what is there and what is missing";

/// Serves until SIGINT or SIGTERM.
pub(super) fn serve(config: Config) -> Result<(), Trouble> {
    logs::start(config.log);
    runtime()?.block_on(async {
        let ready_file = config.ready_file.clone();
        let state_dir = config.state_dir.clone();
        let mut service =
            Service::start(config, Arc::new(SystemClock)).await.map_err(|error| Trouble::new(error, REMEDY))?;
        if let Some(link) = service.take_owner_link() {
            hand_over(&link, &state_dir)?;
        }
        announce(service.ready(), ready_file.as_deref())?;
        let signal = wait_for_signal().await?;
        tracing::info!(signal, "ending");
        service.shutdown().await;
        tracing::info!("ended");
        Ok(())
    })
}

/// Serves on a free loopback port from a directory that is removed at the end; flags and environment still win.
pub(super) fn dev(mut sources: Sources) -> Result<(), Trouble> {
    let directory = ThrowAway::make()?;
    let mut default = |key: &str, value: String| {
        sources.flags.entry(key.to_owned()).or_insert(value);
    };
    default("state_dir", directory.0.display().to_string());
    default("listen", String::from("127.0.0.1:0"));
    default("log", String::from("debug"));
    serve(load(&sources)?)
}

/// Makes what the first start makes, without serving.
pub(super) fn init(config: Config) -> Result<(), Trouble> {
    runtime()?.block_on(async {
        let failed = |error: StartError| Trouble::new(error, REMEDY);
        config.exposure().map_err(|error| failed(error.into()))?;
        let state = service::open_state(&config, &SystemClock).await.map_err(failed)?;
        if let Some(settings) = &config.vault {
            vault_start::make_key(settings, &config.database).map_err(|error| failed(error.into()))?;
        }
        let origin = config.origin(config.listen).map_err(|error| failed(error.into()))?;
        let own = tls::open(&config.tls, &config.state_dir, &origin).map_err(|error| failed(error.into()))?;
        state.store.close().await;
        let fingerprint = own.map_or_else(String::new, |own| format!("certificate  {}\n", own.fingerprint));
        let text = format!(
            "state        {}\ndeployment   {}\norigin       {origin}\n{fingerprint}",
            config.state_dir.display(),
            state.deployment.id
        );
        print(&text)
    })
}

/// Says what is there and what is missing; changes nothing.
pub(super) fn check(config: Config) -> Result<(), Trouble> {
    let exposure =
        config.exposure().map_err(|error| Trouble::new(error, "docs/configuration.md explains every setting"))?;
    let mut missing = Vec::new();
    let mut report =
        format!("listen       {} ({exposure:?})\nstate        {}\n", config.listen, config.state_dir.display());
    match keys::open(&config.state_dir) {
        Ok(_) => report.push_str("token key    there\n"),
        Err(error) => missing.push(format!("token key: {error}")),
    }
    match tls::find_fingerprint(&config.tls, &config.state_dir) {
        Ok(Some(fingerprint)) => report.push_str(&format!("certificate  {fingerprint}\n")),
        Ok(None) if config.tls != crate::config::Tls::Off => missing.push(String::from("certificate: not there yet")),
        Ok(None) => {}
        Err(error) => missing.push(format!("certificate: {error}")),
    }
    if let Some(settings) = &config.vault {
        match vault_start::check_key(settings, &config.database) {
            Ok(()) => report.push_str(&format!("key file     {} (software)\n", settings.kek_file.display())),
            Err(error) => missing.push(format!("vault: {error}")),
        }
    }
    match runtime()?.block_on(find_deployment(&config)) {
        Ok(found) => report.push_str(&found),
        Err(what) => missing.push(what),
    }
    print(&report)?;
    if missing.is_empty() {
        return Ok(());
    }
    Err(Trouble::new(missing.join("\n"), "`collie-broker init` makes what a first start makes"))
}

async fn find_deployment(config: &Config) -> Result<String, String> {
    if let StoreConfig::Sqlite { path } = &config.database
        && !path.exists()
    {
        return Err(format!("database: `{}` is not there", path.display()));
    }
    let store = Store::open(config.database.clone()).await.map_err(|error| format!("database: {error}"))?;
    let found = first_start::find_deployment(&store).await.map_err(|error| format!("database: {error}"));
    let engine = store.engine_name();
    store.close().await;
    match found? {
        Some(deployment) => {
            Ok(format!("database     {engine}, schema {}\ndeployment   {}\n", Store::schema_version(), deployment.id))
        }
        None => Err(String::from("database: no installation in it yet")),
    }
}

/// Makes an owner link on the database itself, also while the service runs.
pub(super) fn admin_owner_link(config: Config) -> Result<(), Trouble> {
    runtime()?.block_on(async {
        let failed = |error: &dyn std::error::Error| Trouble::new(error, REMEDY);
        let state = service::open_state(&config, &SystemClock).await.map_err(|error| failed(&error))?;
        let origin = find_origin(&config)?;
        let token =
            owner_link::issue_owner_link(&state.store, &state.token_key, &state.deployment, SystemClock.now_ms()).await;
        state.store.close().await;
        hand_over(&owner_url(&origin, &token.map_err(|error| failed(&error))?), &config.state_dir)
    })
}

/// The configured origin, else that of the last start, which may have taken a free port.
fn find_origin(config: &Config) -> Result<Origin, Trouble> {
    if let Some(origin) = &config.public_url {
        return Ok(origin.clone());
    }
    let remembered = std::fs::read_to_string(origin_path(config)).ok().and_then(|text| Origin::parse(text.trim()).ok());
    match remembered {
        Some(origin) => Ok(origin),
        None => config.origin(config.listen).map_err(|error| Trouble::new(error, REMEDY)),
    }
}

/// Shows the link on the terminal, or leaves it in a file of mode 0600 and says where. It is never in a log.
fn hand_over(link: &Secret<String>, state_dir: &Path) -> Result<(), Trouble> {
    let minutes = contract::limits::OWNER_LINK_TTL_S / 60;
    let mut stderr = io::stderr();
    if stderr.is_terminal() {
        // EXPOSE: to the operator's terminal.
        let shown =
            link.with(|link| writeln!(stderr, "\nSign in as the owner, once, within {minutes} minutes:\n  {link}\n"));
        return shown.map_err(|error| Trouble::new(error, REMEDY));
    }
    let path = state_dir.join("owner-link");
    // EXPOSE: to a file of mode 0600.
    let put = link.with(|link| private_files::put(&path, format!("{link}\n").as_bytes()));
    put.map_err(|error| Trouble::new(format!("cannot write `{}`: {error}", path.display()), REMEDY))?;
    let said = writeln!(
        stderr,
        "{}",
        Json::from_members([("message", "owner link written".into()), ("path", path.display().to_string().into())])
            .canonical_string()
    );
    said.map_err(|error| Trouble::new(error, REMEDY))
}

/// One JSON line on stdout, and in the ready file where there is one.
fn announce(ready: &Ready, ready_file: Option<&Path>) -> Result<(), Trouble> {
    let mut line =
        Json::from_members([("listen", ready.listen.to_string().into()), ("origin", ready.origin.as_str().into())]);
    if let (Json::Object(members), Some(fingerprint)) = (&mut line, &ready.fingerprint) {
        members.insert(String::from("fingerprint"), fingerprint.to_string().into());
    }
    let line = format!("{}\n", line.canonical_string());
    if let Some(path) = ready_file {
        private_files::put(path, line.as_bytes())
            .map_err(|error| Trouble::new(format!("cannot write `{}`: {error}", path.display()), "set `ready_file`"))?;
    }
    print(&line)
}

async fn wait_for_signal() -> Result<&'static str, Trouble> {
    use tokio::signal::unix::{SignalKind, signal};
    let listen = |kind| signal(kind).map_err(|error| Trouble::new(error, "the system refuses to deliver signals"));
    let (mut interrupt, mut terminate) = (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
    Ok(tokio::select! {
        _ = interrupt.recv() => "SIGINT",
        _ = terminate.recv() => "SIGTERM",
    })
}

fn runtime() -> Result<tokio::runtime::Runtime, Trouble> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Trouble::new(error, "the system gives no threads"))
}

/// A directory that goes with the process.
struct ThrowAway(PathBuf);

impl ThrowAway {
    fn make() -> Result<Self, Trouble> {
        let random: [u8; 8] = crate::door::make_random().map_err(|error| Trouble::new(error, REMEDY))?;
        let path = std::env::temp_dir().join(format!("collie-broker-dev-{}", contract::digest::hex(&random)));
        private_files::make_directory(&path)
            .map_err(|error| Trouble::new(format!("cannot make `{}`: {error}", path.display()), REMEDY))?;
        Ok(Self(path))
    }
}

impl Drop for ThrowAway {
    fn drop(&mut self) {
        // What stays behind in the temporary directory is private and of no further use.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
