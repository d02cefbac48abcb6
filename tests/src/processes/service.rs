//! `collie-broker` as a process: on a free loopback port, with its own state folder, its log kept. Reads the owner link from the file that the service makes for it.

use super::binaries::Binaries;
use super::child::{Finished, Running, Seen};
use crate::browser::Browser;
use crate::trouble::Trouble;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where a service stores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Database {
    /// The file in its state folder.
    Sqlite,
    /// A PostgreSQL address; handed over by the environment, since it may hold a password.
    Postgres(String),
}

/// How a service is started.
#[derive(Debug, Clone)]
pub struct ServiceOptions {
    /// Its state folder.
    pub state_dir: PathBuf,
    /// Where it stores.
    pub database: Database,
    /// `host:port`; port 0 takes a free one.
    pub listen: String,
    /// How much it logs.
    pub log: &'static str,
}

impl ServiceOptions {
    /// SQLite in `state_dir`, a free loopback port, the usual log.
    #[must_use]
    pub fn in_folder(state_dir: &Path) -> Self {
        Self {
            state_dir: state_dir.to_owned(),
            database: Database::Sqlite,
            listen: "127.0.0.1:0".to_owned(),
            log: "info",
        }
    }
}

/// A running service.
pub struct Service {
    process: Running,
    options: ServiceOptions,
    origin: String,
}

impl Service {
    /// Starts a service and waits until it answers.
    pub fn start(binaries: &Binaries, options: ServiceOptions) -> Result<Self, Trouble> {
        let folder = &options.state_dir;
        let unusable = |error: std::io::Error| {
            Trouble::new(format!("cannot use {}: {error}", folder.display()), "look at its permissions")
        };
        std::fs::create_dir_all(folder).map_err(unusable)?;
        let mut command = Command::new(binaries.program("collie-broker"));
        command.env_clear().env("HOME", folder).args(["--listen", &options.listen, "--log", options.log]);
        command.arg("--state-dir").arg(folder);
        if let Database::Postgres(url) = &options.database {
            command.env("COLLIE_BROKER_DATABASE", url);
        }
        let process = Running::start(&mut command, b"")?;
        let ready = wait_ready(&process)?;
        let origin = ready.get("origin").and_then(Value::as_str).unwrap_or_default().to_owned();
        Ok(Self { process, options, origin })
    }

    /// Where people and devices reach it.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// `host:port`.
    #[must_use]
    pub fn authority(&self) -> &str {
        self.origin.trim_start_matches("http://")
    }

    /// Its process.
    #[must_use]
    pub fn process(&self) -> &Running {
        &self.process
    }

    /// What others can see of it now.
    #[must_use]
    pub fn look(&self) -> Seen {
        self.process.look()
    }

    /// Its state folder.
    #[must_use]
    pub fn state_dir(&self) -> &Path {
        &self.options.state_dir
    }

    /// The SQLite database.
    #[must_use]
    pub fn database_file(&self) -> PathBuf {
        self.options.state_dir.join("collie.db")
    }

    /// The file that holds the owner link of the first start.
    #[must_use]
    pub fn owner_link_file(&self) -> PathBuf {
        self.options.state_dir.join(OWNER_LINK_FILE)
    }

    /// The owner link, read from its file, which nobody else may read.
    pub fn read_owner_link(&self) -> Result<String, Trouble> {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.owner_link_file();
        let missing = |error: std::io::Error| {
            Trouble::new(format!("no owner link in {}: {error}", path.display()), "look at the service's log")
        };
        let mode = std::fs::metadata(&path).map_err(missing)?.permissions().mode();
        if mode & 0o077 != 0 {
            return Err(Trouble::new(
                format!("{} has mode {:o}: others can read it", path.display(), mode & 0o777),
                "this is a defect",
            ));
        }
        Ok(std::fs::read_to_string(&path).map_err(missing)?.trim().to_owned())
    }

    /// Signs a browser in by the owner link, as the person does: opens it, reads, presses the button.
    pub fn sign_in(&self) -> Result<Browser, Trouble> {
        let link = self.read_owner_link()?;
        let mut browser = Browser::default();
        let asked = browser.open(&link)?;
        let page = browser.submit(&asked, "", &[])?;
        if page.status != 200 || browser.cookie_values().next().is_none() {
            return Err(Trouble::new(
                format!("the owner link did not sign in: {}", page.text()),
                "look at the service's log",
            ));
        }
        Ok(browser)
    }

    /// Stops it as a service manager does, and waits until it has ended.
    pub fn stop(self) -> Result<(Finished, ServiceOptions), Trouble> {
        let Self { process, mut options, origin } = self;
        // The same address again, so that devices find it there.
        options.listen = origin.trim_start_matches("http://").to_owned();
        Ok((process.stop("TERM")?, options))
    }
}

/// Where the service leaves the owner link when its standard error is no terminal.
const OWNER_LINK_FILE: &str = "owner-link";

/// Waits for the line that the service prints once it answers.
fn wait_ready(process: &Running) -> Result<Value, Trouble> {
    let line = process.wait_out(|text| text.split_once('\n').map(|(line, _)| line.to_owned()));
    line.and_then(|line| serde_json::from_str(&line).ok()).ok_or_else(|| {
        let said = String::from_utf8_lossy(&process.err_so_far()).trim().to_owned();
        Trouble::new(
            format!("collie-broker did not get ready; it said: {said}"),
            "run `collie-broker` by hand and look",
        )
    })
}
