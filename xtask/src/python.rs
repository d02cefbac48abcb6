//! A Python environment for the peers, from pinned digests. Never touches the machine's own packages.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::peers::once;
use crate::process::{Trouble, output_of, run};
use crate::{say, tools};

/// The oldest version the peers run on, and the first that they are not locked for.
const MINORS: std::ops::Range<u32> = 11..15;

/// Makes the environment `folder` with what `requirements` pins, and returns its program.
pub(crate) fn install(folder: &Path, requirements: &Path) -> Result<PathBuf, Trouble> {
    let python = folder.join("bin/python");
    let wanted = std::fs::read_to_string(requirements).map_err(|error| {
        Trouble::new(format!("cannot read {}: {error}", requirements.display()), "restore it from the repository")
    })?;
    once(&folder.join("installed"), &wanted, || {
        say::note(&format!("installing the Python peers into {}", folder.display()));
        let base = find_or_install()?;
        run(quiet(Command::new(base).args(["-m", "venv", "--clear"]).arg(folder)), None)?;
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", "--no-deps"]);
        pip.args(["--require-hashes", "--only-binary=:all:", "--requirement"]).arg(requirements);
        run(quiet(&mut pip), None)
    })?;
    if is_new_enough(&python) {
        return Ok(python);
    }
    Err(Trouble::new(
        format!("{} does not run", python.display()),
        format!("remove {} and run this again", folder.display()),
    ))
}

fn find_or_install() -> Result<&'static str, Trouble> {
    const PROGRAM: &str = "python3";
    let has_venv = || output_of(Command::new(PROGRAM).args(["-c", "import ensurepip, venv"])).is_ok();
    if !is_new_enough(Path::new(PROGRAM)) || !has_venv() {
        tools::apt_install(&["python3", "python3-venv"], "Python 3.11 or newer with venv")?;
    }
    if is_new_enough(Path::new(PROGRAM)) && has_venv() {
        return Ok(PROGRAM);
    }
    Err(Trouble::new("python3 is not 3.11 to 3.14, or has no venv", "install Python 3.11 or newer with venv"))
}

fn quiet(command: &mut Command) -> &mut Command {
    command.stdin(Stdio::null()).stdout(Stdio::null())
}

fn is_new_enough(python: &Path) -> bool {
    output_of(Command::new(python).arg("--version"))
        .is_ok_and(|said| minor(&said).is_some_and(|minor| MINORS.contains(&minor)))
}

/// `Python 3.11.7` → 11.
fn minor(version: &str) -> Option<u32> {
    version.trim().strip_prefix("Python 3.")?.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_minor_version_decides() {
        assert_eq!(minor("Python 3.11.7\n"), Some(11));
        assert_eq!(minor("Python 2.7.18"), None);
        assert!(MINORS.contains(&11) && !MINORS.contains(&10));
    }
}
