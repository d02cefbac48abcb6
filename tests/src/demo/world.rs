//! What the story happens in: a temporary folder, the service, an MCP server, two devices and a browser. Everything of it goes when the story ends.

use super::ending::Ending;
use super::flags::Flags;
use super::target::{Plan, Target};
use crate::browser::Browser;
use crate::processes::{Binaries, Device, Service};
use crate::public_client::random;
use crate::trouble::Trouble;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The world of one demo.
pub(super) struct World {
    pub(super) binaries: Binaries,
    /// Everything is below it.
    pub(super) folder: tempfile::TempDir,
    pub(super) service: Option<Service>,
    pub(super) target: Target,
    pub(super) browser: Browser,
    /// The first device.
    pub(super) laptop: Device,
    /// The second one.
    pub(super) desk: Device,
    /// The shared connection, once it is there.
    pub(super) connection: String,
    /// What is called; known from the start for the lab.
    pub(super) plan: Option<Plan>,
    /// The text that `key-export` printed, to search for it.
    pub(super) key_text: String,
    began: Instant,
}

impl World {
    /// Finds the programs and makes the folder; starts nothing.
    pub(super) fn prepare(flags: &Flags, ending: &Ending) -> Result<Self, Trouble> {
        let binaries = Binaries::find()?;
        let unusable = |error: std::io::Error| {
            Trouble::new(format!("cannot make a temporary folder: {error}"), "look at TMPDIR and its permissions")
        };
        let folder = tempfile::Builder::new().prefix("collie-demo-").tempdir().map_err(unusable)?;
        ending.owe(folder.path());
        let target = target(flags)?;
        let loopback = is_loopback(&target.url);
        let device = |name: &str| {
            let device = Device::new(&binaries, name, &folder.path().join(name))?;
            Ok::<_, Trouble>(if loopback { device } else { device.without_loopback() })
        };
        let (laptop, desk) = (device("laptop")?, device("desk")?);
        let plan = flags.mcp_url.is_none().then(Plan::of_lab);
        let (browser, connection, key_text) = (Browser::default(), String::new(), String::new());
        Ok(Self {
            binaries,
            folder,
            service: None,
            target,
            browser,
            laptop,
            desk,
            connection,
            plan,
            key_text,
            began: now(),
        })
    }

    /// The running service.
    pub(super) fn service(&self) -> Result<&Service, Trouble> {
        self.service.as_ref().ok_or_else(|| Trouble::new("the service does not run", "this is a defect of the demo"))
    }

    /// The plan, once it is made.
    pub(super) fn plan(&self) -> Result<Plan, Trouble> {
        self.plan.clone().ok_or_else(|| Trouble::new("no tool was chosen", "this is a defect of the demo"))
    }

    /// The service's state folder.
    pub(super) fn service_folder(&self) -> PathBuf {
        self.folder.path().join("service")
    }

    pub(super) fn introduction(&self) -> String {
        match self.target.lab {
            None if !self.target.url.is_empty() => format!("The MCP server is yours: {}.", self.target.url),
            _ => "The MCP server is collie-lab: notes to read, to save and to send, behind a bearer token.".to_owned(),
        }
    }

    /// Time since the start, in words.
    pub(super) fn taken(&self) -> String {
        format!("{:.1} seconds", now().duration_since(self.began).as_secs_f64())
    }

    /// What to try by hand while everything stays up.
    pub(super) fn what_next(&self) -> Vec<String> {
        let bin = self.binaries.folder().display();
        let state = |device: &Device| device.state_dir().display().to_string();
        let origin = self.service.as_ref().map_or("", Service::origin);
        let mut lines = vec![
            String::new(),
            "Everything stays up until Ctrl-C. In another terminal:".to_owned(),
            format!("  export PATH={bin}:$PATH COLLIE_DEVELOPMENT_ALLOW_LOOPBACK=1"),
            format!("  export COLLIE_STATE_DIR={}      # the laptop", state(&self.laptop)),
            format!("  export COLLIE_STATE_DIR={}        # the other device", state(&self.desk)),
            "  collie online connections".to_owned(),
            format!("  collie online connection-show {}", self.connection),
            format!("  collie online connection-test {}", self.connection),
        ];
        if let Some(plan) = &self.plan {
            lines.push(format!(
                "  collie online invoke {} {} --arguments '{}'",
                self.connection, plan.read.tool, plan.read.arguments
            ));
        }
        lines.push(format!(
            "  collie-broker admin owner-link --state-dir {}   # a browser session at {origin}",
            self.service_folder().display()
        ));
        if let Some(lab) = &self.target.lab {
            lines.push(format!("The lab's MCP server: {}", lab.mcp_url()));
        }
        lines.push(String::new());
        lines
    }

    /// Ends everything in its order.
    pub(super) fn end(self) -> Result<(), Trouble> {
        let Self { service, target, folder, .. } = self;
        if let Some(service) = service {
            service.stop()?;
        }
        drop(target);
        folder
            .close()
            .map_err(|error| Trouble::new(format!("cannot remove the temporary folder: {error}"), "remove it by hand"))
    }
}

fn target(flags: &Flags) -> Result<Target, Trouble> {
    let Some(url) = &flags.mcp_url else {
        let token: [u8; 24] = random();
        let bearer = format!("lab_{}", contract::b64u::encode(token));
        return Ok(Target { url: String::new(), bearer: Some(bearer), lab: None });
    };
    let bearer = if flags.bearer_stdin { Some(read_bearer()?) } else { None };
    Ok(Target { url: url.clone(), bearer, lab: None })
}

fn read_bearer() -> Result<String, Trouble> {
    let mut text = String::new();
    let read = std::io::stdin().lock().take(16 * 1024).read_to_string(&mut text);
    let token = text.trim().to_owned();
    match read {
        Ok(_) if token.len() >= 16 => Ok(token),
        _ => Err(Trouble::new(
            "standard input holds no bearer token of 16 characters or more",
            "pipe the token into `--bearer-stdin`",
        )),
    }
}

/// Whether the address is this machine, which connections may lead to only in development. The lab is.
fn is_loopback(url: &str) -> bool {
    let authority = url.split("://").nth(1).unwrap_or_default().split(['/', '?']).next().unwrap_or_default();
    let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host);
    url.is_empty() || host == "localhost" || host == "[::1]" || host.starts_with("127.")
}

#[expect(clippy::disallowed_methods, reason = "the demo says how long it took; nothing depends on it")]
fn now() -> Instant {
    Instant::now()
}

/// A path below the story's folder, short enough to be read.
pub(super) fn short_path(world: &World, path: &Path) -> String {
    path.strip_prefix(world.folder.path())
        .map_or_else(|_| path.display().to_string(), |rest| format!("…/{}", rest.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_loopback() {
        for url in ["", "http://127.0.0.1:3001/mcp", "http://localhost/mcp", "http://[::1]:5/mcp"] {
            assert!(is_loopback(url), "{url}");
        }
        for url in ["https://mcp.example.test/mcp", "https://127.example.test/", "http://10.0.0.1/"] {
            assert_eq!(is_loopback(url), url.contains("://127."), "{url}");
        }
    }
}
