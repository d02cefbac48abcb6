//! Real third-party servers the suites talk to, by the exact versions and digests of `tests/peers`. Runs none of their
//! install scripts.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::process::{Repo, Trouble, run, which};
use crate::{node, python, say};

/// What `npm ci` reads.
const FILES: [&str; 3] = ["package.json", "package-lock.json", ".npmrc"];

/// What pip reads.
const REQUIREMENTS: &str = "requirements.txt";

/// The program that runs the peers in JavaScript.
const NODE: &str = "COLLIE_NODE";

/// The program that runs the peers in Python.
const PYTHON: &str = "COLLIE_PYTHON";

/// The peers' variables: the package whose entry script each names.
const ENTRIES: &[(&str, &str)] = &[
    ("COLLIE_PEER_EVERYTHING", "@modelcontextprotocol/server-everything"),
    ("COLLIE_PEER_CONFORMANCE", "@modelcontextprotocol/conformance"),
];

/// The peers' variables: the start script of `tests/peers` that each names.
const SCRIPTS: &[(&str, &str)] = &[
    ("COLLIE_PEER_OIDC_PROVIDER", "oidc-provider.mjs"),
    ("COLLIE_PEER_MCP_PY", "mcp_server.py"),
    ("COLLIE_PEER_FASTMCP", "fastmcp_server.py"),
];

/// Every variable that this part gives to the suites.
pub(crate) fn variables() -> impl Iterator<Item = &'static str> {
    [NODE, PYTHON].into_iter().chain(ENTRIES.iter().chain(SCRIPTS).map(|(variable, _)| *variable))
}

/// Installs the peers into the target folder and returns the variables that name them.
pub(crate) fn install(repo: &Repo) -> Result<Vec<(&'static str, OsString)>, Trouble> {
    let node = node::find_or_install(repo)?;
    let folder = repo.target.join("peers");
    let wanted = read_wanted(repo, &FILES)?;
    once(&folder.join("installed"), &wanted, || {
        say::note(&format!("installing the peer servers into {}", folder.display()));
        copy_files(repo, &folder, &FILES)?;
        npm_ci(&folder, &node)
    })?;
    let python = python::install(&folder.join("python"), &repo.root.join("tests/peers").join(REQUIREMENTS))?;
    // Node.js finds packages beside the script, so the scripts stand beside them. They change without an install.
    let scripts: Vec<&str> = SCRIPTS.iter().map(|(_, script)| *script).collect();
    copy_files(repo, &folder, &scripts)?;
    let mut variables = vec![(NODE, node.into_os_string()), (PYTHON, python.into_os_string())];
    for (variable, package) in ENTRIES {
        variables.push((variable, entry_of(&folder, package)?.into_os_string()));
    }
    for (variable, script) in SCRIPTS {
        variables.push((variable, folder.join(script).into_os_string()));
    }
    Ok(variables)
}

/// Does `work` unless `stamp` says that it was done for the same `wanted`.
pub(crate) fn once(stamp: &Path, wanted: &str, work: impl FnOnce() -> Result<(), Trouble>) -> Result<(), Trouble> {
    if std::fs::read_to_string(stamp).ok().as_deref() == Some(wanted) {
        return Ok(());
    }
    work()?;
    write(stamp, wanted)
}

fn npm_ci(folder: &Path, node: &Path) -> Result<(), Trouble> {
    let mut npm = Command::new(which("npm").unwrap_or_else(|| PathBuf::from("npm")));
    npm.current_dir(folder).args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]);
    npm.stdin(Stdio::null()).stdout(Stdio::null());
    // npm is itself a script of Node.js: the one that was chosen runs it.
    if let (Some(beside), Some(path)) = (node.parent(), std::env::var_os("PATH")) {
        let folders = std::iter::once(beside.to_path_buf()).chain(std::env::split_paths(&path));
        if let Ok(joined) = std::env::join_paths(folders) {
            npm.env("PATH", joined);
        }
    }
    run(&mut npm, None)
}

fn read_wanted(repo: &Repo, names: &[&str]) -> Result<String, Trouble> {
    let mut wanted = String::new();
    for name in names {
        let file = repo.root.join("tests/peers").join(name);
        wanted.push_str(&std::fs::read_to_string(&file).map_err(|error| {
            Trouble::new(format!("cannot read {}: {error}", file.display()), "restore it from the repository")
        })?);
    }
    Ok(wanted)
}

fn copy_files(repo: &Repo, folder: &Path, names: &[&str]) -> Result<(), Trouble> {
    std::fs::create_dir_all(folder).map_err(|error| {
        Trouble::new(format!("cannot make {}: {error}", folder.display()), "look at its permissions")
    })?;
    for name in names {
        std::fs::copy(repo.root.join("tests/peers").join(name), folder.join(name)).map_err(|error| {
            Trouble::new(format!("cannot copy {name}: {error}"), "look at the folder's permissions")
        })?;
    }
    Ok(())
}

/// The one script a package's `bin` names.
fn entry_of(folder: &Path, package: &str) -> Result<PathBuf, Trouble> {
    let home = folder.join("node_modules").join(package);
    let broken = || {
        Trouble::new(format!("{package} has no entry script"), "remove the target folder's `peers` and run this again")
    };
    let text = std::fs::read_to_string(home.join("package.json")).map_err(|_| broken())?;
    let manifest: Value = serde_json::from_str(&text).map_err(|_| broken())?;
    let script = script_of(&manifest).ok_or_else(broken)?;
    let entry = home.join(script);
    if entry.is_file() { Ok(entry) } else { Err(broken()) }
}

fn script_of(manifest: &Value) -> Option<&str> {
    let bin = manifest.get("bin")?;
    bin.as_str().or_else(|| bin.as_object()?.values().next()?.as_str())
}

fn write(file: &Path, text: &str) -> Result<(), Trouble> {
    std::fs::write(file, text)
        .map_err(|error| Trouble::new(format!("cannot write {}: {error}", file.display()), "look at its permissions"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_entry_is_what_bin_names() {
        assert_eq!(script_of(&json!({ "bin": { "x": "dist/index.js" } })), Some("dist/index.js"));
        assert_eq!(script_of(&json!({ "bin": "cli.js" })), Some("cli.js"));
        assert_eq!(script_of(&json!({ "name": "x" })), None);
    }

    #[test]
    fn the_lock_pins_each_package_and_names_no_place() {
        let lock = include_str!("../../tests/peers/package-lock.json");
        let lock: Value = serde_json::from_str(lock).expect("the lock is JSON");
        let packages = lock["packages"].as_object().expect("packages");
        for (name, package) in packages.iter().filter(|(name, _)| !name.is_empty()) {
            assert!(package.get("resolved").is_none(), "{name} names where it was fetched from");
            assert!(
                package["integrity"].as_str().is_some_and(|digest| digest.starts_with("sha512-")),
                "{name} has no digest"
            );
        }
        assert_eq!(packages["node_modules/@modelcontextprotocol/server-everything"]["version"], "2026.8.31");
        assert_eq!(packages["node_modules/@modelcontextprotocol/conformance"]["version"], "0.2.0-alpha.12");
        assert_eq!(packages["node_modules/oidc-provider"]["version"], "9.13.3");
    }

    #[test]
    fn each_requirement_is_pinned_by_digest_and_names_no_place() {
        let text = include_str!("../../tests/peers/requirements.txt");
        let wanted = include_str!("../../tests/peers/requirements.in");
        for line in wanted.lines() {
            assert!(text.contains(&format!("\n{line} \\\n")), "{line} is not locked");
        }
        let joined = text.replace("\\\n", " ");
        for line in joined.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
            let name = line.split_whitespace().next().expect("a name");
            assert!(name.contains("=="), "{name} is not pinned");
            assert!(line.contains("--hash=sha256:"), "{name} has no digest");
            assert!(!line.contains("://") && !line.contains("index"), "{name} names where it was fetched from");
        }
    }

    #[test]
    fn the_variables_are_each_once() {
        let mut names: Vec<&str> = variables().collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 2 + ENTRIES.len() + SCRIPTS.len());
    }
}
