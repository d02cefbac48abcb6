//! Where the programs under test are. Builds nothing and never takes one from PATH.

use crate::trouble::Trouble;
use std::path::{Path, PathBuf};

/// The variable that names the folder of the released binaries.
pub const BIN_DIR: &str = "COLLIE_BIN_DIR";

/// The folder with `collie-broker`, `collie` and `collie-lab`.
#[derive(Debug, Clone)]
pub struct Binaries {
    folder: PathBuf,
}

const NAMES: [&str; 3] = ["collie-broker", "collie", "collie-lab"];

impl Binaries {
    /// The folder that [`BIN_DIR`] names, else the one this program was built into.
    pub fn find() -> Result<Self, Trouble> {
        let named = std::env::var_os(BIN_DIR).filter(|value| !value.is_empty()).map(PathBuf::from);
        let folder = match named {
            Some(folder) => folder,
            None => beside_this_program()?,
        };
        Self::at(&folder)
    }

    /// The programs in `folder`; all have to be there.
    pub fn at(folder: &Path) -> Result<Self, Trouble> {
        // Absolute: the programs are started in folders of their own.
        let folder = &std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        match NAMES.into_iter().find(|name| !folder.join(name).is_file()) {
            None => Ok(Self { folder: folder.clone() }),
            Some(missing) => Err(Trouble::new(
                format!("there is no `{missing}` in {}", folder.display()),
                format!(
                    "run it by `cargo xtask demo` or `cargo xtask test`, or build the programs and set {BIN_DIR} to their folder"
                ),
            )),
        }
    }

    /// The folder itself.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The path of one program.
    #[must_use]
    pub fn program(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

/// A test runs in `target/<profile>/deps`, a driver in `target/<profile>`.
fn beside_this_program() -> Result<PathBuf, Trouble> {
    let unknown = || Trouble::new("this program does not know where it is", format!("set {BIN_DIR}"));
    let own = std::env::current_exe().map_err(|_| unknown())?;
    let folder = own.parent().ok_or_else(unknown)?;
    let folder = if folder.ends_with("deps") { folder.parent().ok_or_else(unknown)? } else { folder };
    Ok(folder.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["collie-broker", "collie-lab"] {
            std::fs::write(folder.path().join(name), "").expect("written");
        }
        let trouble = Binaries::at(folder.path()).expect_err("one is missing");
        assert!(trouble.what.starts_with("there is no `collie` in "), "{trouble}");
        std::fs::write(folder.path().join("collie"), "").expect("written");
        let found = Binaries::at(folder.path()).expect("all are there");
        assert!(found.program("collie").is_absolute());
    }
}
