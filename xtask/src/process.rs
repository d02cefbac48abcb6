//! The checkout and the programs run in it. Never runs a shell, so no argument is ever parsed twice.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::guard::Guard;

/// What happened, and what to do about it.
#[derive(Debug)]
pub(crate) struct Trouble {
    pub(crate) what: String,
    pub(crate) then: String,
}

impl Trouble {
    pub(crate) fn new(what: impl Into<String>, then: impl Into<String>) -> Self {
        Self { what: what.into(), then: then.into() }
    }
}

/// The checkout this command works on.
pub(crate) struct Repo {
    /// The folder of the workspace's `Cargo.toml`.
    pub(crate) root: PathBuf,
    /// Where cargo builds: the checkout's own target folder, unless cargo's configuration names another.
    pub(crate) target: PathBuf,
    /// `cargo metadata --no-deps`: members with what each declares.
    pub(crate) metadata: Value,
}

impl Repo {
    /// Finds the checkout: beside xtask's manifest, as cargo gives it.
    pub(crate) fn find() -> Result<Self, Trouble> {
        let manifest = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
        let root = Path::new(&manifest).parent().map(Path::to_path_buf).filter(|root| root.join("xtask").is_dir());
        let root = root.ok_or_else(|| {
            Trouble::new(
                format!("{} is not the xtask folder of a checkout", Path::new(&manifest).display()),
                "run it as `cargo xtask …` inside the checkout",
            )
        })?;
        let mut command = cargo_in(&root);
        command.args(["metadata", "--no-deps", "--format-version", "1"]);
        let text = output_of(&mut command)?;
        let metadata: Value = serde_json::from_str(&text).map_err(|error| {
            Trouble::new(format!("cargo metadata did not answer JSON: {error}"), "run `cargo metadata` and look")
        })?;
        let target =
            metadata.get("target_directory").and_then(Value::as_str).map_or(root.join("target"), PathBuf::from);
        Ok(Self { root, target, metadata })
    }

    /// A cargo command in this checkout.
    pub(crate) fn cargo<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Command {
        let mut command = cargo_in(&self.root);
        command.args(arguments);
        command
    }

    /// Where the released binaries are.
    pub(crate) fn bin_dir(&self) -> PathBuf {
        self.target.join("release")
    }

    /// Whether package `package` declares a binary `binary`.
    pub(crate) fn has_binary(&self, package: &str, binary: &str) -> bool {
        let packages = self.metadata.get("packages").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let named = |value: &Value, name: &str| value.get("name").and_then(Value::as_str) == Some(name);
        let is_bin = |target: &Value| {
            target.get("kind").and_then(Value::as_array).is_some_and(|kinds| kinds.iter().any(|kind| kind == "bin"))
        };
        packages.iter().filter(|entry| named(entry, package)).any(|entry| {
            let targets = entry.get("targets").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            targets.iter().any(|target| named(target, binary) && is_bin(target))
        })
    }
}

/// Runs `command` to its end in this terminal. Its process is told to the guard, which ends it if we are ended.
pub(crate) fn run(command: &mut Command, guard: Option<&mut Guard>) -> Result<(), Trouble> {
    let shown = line_of(command);
    let mut child = command.spawn().map_err(|error| cannot_start(&shown, &error))?;
    let mut guard = guard;
    if let Some(guard) = guard.as_deref_mut() {
        guard.follow(child.id());
    }
    let status = child.wait().map_err(|error| cannot_start(&shown, &error))?;
    if let Some(guard) = guard {
        guard.unfollow();
    }
    if status.success() {
        return Ok(());
    }
    Err(Trouble::new(format!("`{shown}` failed ({status})"), "read its own message above"))
}

/// Runs `command` and returns its stdout; its stderr is the message of a failure.
pub(crate) fn output_of(command: &mut Command) -> Result<String, Trouble> {
    let shown = line_of(command);
    let output = command.stdin(Stdio::null()).output().map_err(|error| cannot_start(&shown, &error))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let last: Vec<&str> = said.lines().rev().take(12).collect();
        let last: Vec<&str> = last.into_iter().rev().collect();
        return Err(Trouble::new(
            format!("`{shown}` failed ({}):\n{}", output.status, last.join("\n")),
            "put right what it names and run this again",
        ));
    }
    String::from_utf8(output.stdout)
        .map_err(|_| Trouble::new(format!("`{shown}` did not answer UTF-8"), "run it by hand and look"))
}

/// Whether a program starts and says its version.
pub(crate) fn answers(program: impl AsRef<OsStr>, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Whether this is an unattended run, where a part that cannot be had is a failure and not a remark.
pub(crate) fn in_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false" && value != "0")
}

/// Finds a program in PATH.
pub(crate) fn which(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

fn cargo_in(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    command.current_dir(root).env_remove("CARGO_TARGET_DIR");
    // What `cargo run` told us about xtask is not true of the packages built next, and would make some build twice.
    for (name, _) in std::env::vars_os() {
        let own = name.to_string_lossy();
        if own.starts_with("CARGO_PKG_") || own.starts_with("CARGO_MANIFEST_") || own == "CARGO_PRIMARY_PACKAGE" {
            command.env_remove(&name);
        }
    }
    command
}

fn cannot_start(shown: &str, error: &std::io::Error) -> Trouble {
    Trouble::new(format!("`{shown}` did not start: {error}"), "install it, or put it in PATH")
}

fn line_of(command: &Command) -> String {
    let mut line = Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy().into_owned();
    for argument in command.get_args() {
        line.push(' ');
        line.push_str(&argument.to_string_lossy());
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_says_what_failed_and_with_which_words() {
        let trouble = output_of(Command::new("ls").arg("/does-not-exist")).expect_err("no such folder");
        assert!(trouble.what.contains("`ls /does-not-exist` failed"), "{}", trouble.what);
        assert!(trouble.what.contains("No such file"), "{}", trouble.what);
        let trouble = output_of(&mut Command::new("collie-no-such-program")).expect_err("no such program");
        assert!(trouble.what.contains("did not start"), "{}", trouble.what);
    }
}
