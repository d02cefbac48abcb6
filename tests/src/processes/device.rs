//! One device of a person: a state folder of its own and the `collie` program run on it. What is typed and what is answered, nothing else.

use super::binaries::Binaries;
use super::child::{Finished, Running, Seen};
use crate::browser::{Browser, Page};
use crate::trouble::Trouble;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// A device.
pub struct Device {
    program: PathBuf,
    name: String,
    folder: PathBuf,
    loopback: bool,
    environment: Vec<(String, String)>,
    /// Everything that was run here, for those who search it.
    runs: Mutex<Vec<Finished>>,
}

/// A login that waits for a person.
pub struct Pairing {
    process: Running,
    /// What the person types.
    pub user_code: String,
    /// What the person compares.
    pub fingerprint: String,
    /// Where.
    pub page: String,
}

impl Device {
    /// A new device: `folder` will hold its state and everything temporary.
    pub fn new(binaries: &Binaries, name: &str, folder: &Path) -> Result<Self, Trouble> {
        for part in ["state", "home", "tmp"] {
            std::fs::create_dir_all(folder.join(part)).map_err(|error| {
                Trouble::new(format!("cannot make {}: {error}", folder.display()), "look at its permissions")
            })?;
        }
        let program = binaries.program("collie");
        Ok(Self {
            program,
            name: name.to_owned(),
            folder: folder.to_owned(),
            loopback: true,
            environment: Vec::new(),
            runs: Mutex::default(),
        })
    }

    /// The same device, without the development setting that lets connections lead to this machine.
    #[must_use]
    pub fn without_loopback(mut self) -> Self {
        self.loopback = false;
        self
    }

    /// The same device, with this variable in the environment of every command.
    #[must_use]
    pub fn with_environment(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its state folder.
    #[must_use]
    pub fn state_dir(&self) -> PathBuf {
        self.folder.join("state")
    }

    /// The folder around it, with its home and its temporary files.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Runs `collie online <arguments>` to its end.
    pub fn run(&self, arguments: &[&str]) -> Result<Finished, Trouble> {
        self.run_with(arguments, b"")
    }

    /// Runs `collie online <arguments>` with this on its standard input.
    pub fn run_with(&self, arguments: &[&str], stdin: &[u8]) -> Result<Finished, Trouble> {
        self.keep(self.start(arguments, stdin)?.finish()?)
    }

    /// Runs `collie online <arguments>` to its end and keeps no record of it here: for what prints a secret.
    pub fn run_apart(&self, arguments: &[&str]) -> Result<Finished, Trouble> {
        self.start(arguments, b"")?.finish()
    }

    /// Runs `collie online <arguments> --json`, which must succeed, and returns its data.
    pub fn data(&self, arguments: &[&str]) -> Result<Value, Trouble> {
        self.data_with(arguments, b"")
    }

    /// The same with this on its standard input.
    pub fn data_with(&self, arguments: &[&str], stdin: &[u8]) -> Result<Value, Trouble> {
        let mut with_json = arguments.to_vec();
        with_json.push("--json");
        let finished = self.run_with(&with_json, stdin)?;
        let mut document = finished.json()?;
        if finished.code == Some(0) && document.get("ok") == Some(&Value::Bool(true)) {
            return Ok(document.get_mut("data").map(Value::take).unwrap_or_default());
        }
        let error = document.get("error").cloned().unwrap_or_default();
        let word = |name: &str| error.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        Err(Trouble::new(
            format!("`{}` on {}: {} ({})", line(arguments), self.name, word("message"), word("code")),
            word("hint"),
        ))
    }

    /// Runs `collie online <arguments> --json`, which must fail, and returns its exit code and error.
    pub fn refusal(&self, arguments: &[&str]) -> Result<(i32, Value), Trouble> {
        let mut with_json = arguments.to_vec();
        with_json.push("--json");
        let finished = self.run(&with_json)?;
        let mut document = finished.json()?;
        match (finished.code, document.get_mut("error").map(Value::take)) {
            (Some(code @ 1..), Some(error)) => Ok((code, error)),
            _ => {
                Err(Trouble::new(format!("`{}` on {} was not refused", line(arguments), self.name), "this is a defect"))
            }
        }
    }

    /// Starts `collie online <arguments>` and leaves it running.
    pub fn start(&self, arguments: &[&str], stdin: &[u8]) -> Result<Running, Trouble> {
        let mut command = Command::new(&self.program);
        command.arg("online").args(arguments).env_clear().current_dir(&self.folder);
        command.env("HOME", self.folder.join("home")).env("TMPDIR", self.folder.join("tmp"));
        command.env("COLLIE_STATE_DIR", self.state_dir());
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        if self.loopback {
            command.env("COLLIE_DEVELOPMENT_ALLOW_LOOPBACK", "1");
        }
        Running::start(&mut command, stdin)
    }

    /// Starts a login and waits for what it shows the person.
    pub fn start_login(&self, server: &str) -> Result<Pairing, Trouble> {
        let process = self.start(&["login", "--server", server, "--device-name", &self.name, "--no-browser"], b"")?;
        let shown = process.wait_out(|text| {
            let after = |mark: &str| {
                text.lines().find_map(|line| line.split_once(mark)).map(|(_, rest)| rest.trim().to_owned())
            };
            Some((after("Open ")?, after("code: ")?, after("fingerprint: ")?))
        });
        let Some((page, user_code, fingerprint)) = shown else {
            let finished = process.finish()?;
            return Err(Trouble::new(
                format!("login on {}: {}", self.name, finished.err().trim()),
                "look at the service's log",
            ));
        };
        Ok(Pairing { process, user_code, fingerprint, page })
    }

    /// Waits until a login that was approved has ended.
    pub fn finish_login(&self, pairing: Pairing) -> Result<Finished, Trouble> {
        let finished = self.keep(pairing.process.finish()?)?;
        if finished.code == Some(0) {
            return Ok(finished);
        }
        Err(Trouble::new(format!("login on {}: {}", self.name, finished.err().trim()), "look at the service's log"))
    }

    /// Pairs this device: the login here, the person's typing and yes in `browser`.
    pub fn pair(&self, server: &str, browser: &mut Browser) -> Result<Finished, Trouble> {
        let pairing = self.start_login(server)?;
        approve_in(browser, &pairing)?;
        self.finish_login(pairing)
    }

    /// Everything that was run here.
    #[must_use]
    pub fn runs(&self) -> Vec<Finished> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What others could see of every process that was run here.
    #[must_use]
    pub fn seen(&self) -> Vec<Seen> {
        self.runs().into_iter().map(|run| run.seen).collect()
    }

    fn keep(&self, finished: Finished) -> Result<Finished, Trouble> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).push(finished.clone());
        Ok(finished)
    }
}

/// What the person does on the page: types the code, compares, presses the button.
pub fn approve_in(browser: &mut Browser, pairing: &Pairing) -> Result<Page, Trouble> {
    let asked = browser.open(&pairing.page)?;
    let shown = browser.submit(&asked, "/pair", &[("user_code", &pairing.user_code)])?;
    if !shown.text().contains(&pairing.fingerprint) {
        return Err(Trouble::new(
            format!("the page does not show the fingerprint of the device: {}", shown.text()),
            "refuse it",
        ));
    }
    let done = browser.submit(&shown, "/pair/approve", &[])?;
    if done.status == 200 {
        return Ok(shown);
    }
    Err(Trouble::new(format!("the page did not bind the device: {}", done.text()), "look at the service's log"))
}

/// A command line as a person types it.
#[must_use]
pub fn line(arguments: &[&str]) -> String {
    arguments.iter().fold("collie online".to_owned(), |mut text, argument| {
        let plain =
            !argument.is_empty() && argument.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_=./:,@%+".contains(&b));
        text.push(' ');
        text.push_str(&if plain { (*argument).to_owned() } else { format!("'{}'", argument.replace('\'', "'\\''")) });
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_can_be_pasted_into_a_shell() {
        assert_eq!(
            line(&["invoke", "conn_1", "t", "--args", "{\"a\": \"b'c\"}"]),
            "collie online invoke conn_1 t --args '{\"a\": \"b'\\''c\"}'"
        );
    }
}
