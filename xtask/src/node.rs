//! A Node.js new enough for the peers: the machine's own, or the one npm carries as a package. Never changes the machine's own.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::process::{Repo, Trouble, output_of, run, which};
use crate::{say, tools};

/// The oldest major version the peers run on: the conformance suite needs what came with 22.
const MAJOR_MIN: u32 = 22;

/// The version fetched from npm when the machine's own is missing or older.
const FETCHED: &str = "24.22.3";

/// Finds a Node.js, or installs one, and returns the program.
pub(crate) fn find_or_install(repo: &Repo) -> Result<PathBuf, Trouble> {
    if let Some(node) = which("node").filter(|node| is_new_enough(node)) {
        return Ok(node);
    }
    if which("npm").is_none() {
        tools::apt_install(&["nodejs", "npm"], "Node.js with npm")?;
        if let Some(node) = which("node").filter(|node| is_new_enough(node)) {
            return Ok(node);
        }
    }
    let platform = match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => "linux-x64",
        ("linux", "aarch64") => "linux-arm64",
        (os, arch) => {
            return Err(Trouble::new(
                format!("Node.js is missing or older than {MAJOR_MIN}, and npm carries none for {os} on {arch}"),
                format!("install Node.js {MAJOR_MIN} or newer"),
            ));
        }
    };
    fetch(repo, platform)
}

fn fetch(repo: &Repo, platform: &str) -> Result<PathBuf, Trouble> {
    let folder = repo.target.join("node");
    let node = folder.join("node_modules").join(format!("node-{platform}")).join("bin/node");
    if is_new_enough(&node) {
        return Ok(node);
    }
    say::note(&format!(
        "Node.js is missing or older than {MAJOR_MIN}: installing node-{platform} {FETCHED} from npm into {}",
        folder.display()
    ));
    std::fs::create_dir_all(&folder).map_err(|error| {
        Trouble::new(format!("cannot make {}: {error}", folder.display()), "look at its permissions")
    })?;
    let mut npm = Command::new("npm");
    npm.current_dir(&folder).args([
        "install",
        "--no-save",
        "--no-package-lock",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--prefix",
        ".",
    ]);
    npm.arg(format!("node-{platform}@{FETCHED}")).stdin(Stdio::null()).stdout(Stdio::null());
    run(&mut npm, None)?;
    if is_new_enough(&node) {
        return Ok(node);
    }
    Err(Trouble::new(format!("{} does not run", node.display()), format!("install Node.js {MAJOR_MIN} or newer")))
}

fn is_new_enough(node: &Path) -> bool {
    output_of(Command::new(node).arg("--version"))
        .is_ok_and(|said| major(&said).is_some_and(|major| major >= MAJOR_MIN))
}

/// `v20.20.2` → 20.
fn major(version: &str) -> Option<u32> {
    version.trim().strip_prefix('v')?.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_version_decides() {
        assert_eq!(major("v20.20.2\n"), Some(20));
        assert_eq!(major("v9.1.0"), Some(9));
        assert_eq!(major("20.1"), None);
    }
}
