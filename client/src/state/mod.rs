//! What a device keeps on disk: one folder per service, so that keys, tokens and copies of two services never meet. Never touches the files of the public client.

pub mod accounts;
pub mod device_key;
pub mod files;
pub mod forget;
pub mod pairing;
pub mod profile;
pub mod sealing_key;
pub mod session;

use crate::door::Door;
use crate::error::CliError;
use contract::Digest;
use files::FileLock;
use pairing::Pairing;
use profile::Profile;
use std::path::{Path, PathBuf};

/// The state folder of this user: `services/<service>/…` and `services/current`.
#[derive(Debug, Clone)]
pub struct StateDir {
    services: PathBuf,
    door: Door,
}

impl StateDir {
    /// The state folder: what was said, else the XDG state folder. Makes nothing.
    pub fn new(said: Option<&Path>, door: Door) -> Result<Self, CliError> {
        let root = match said {
            Some(path) => path.to_owned(),
            None => default_root(door).ok_or_else(|| {
                CliError::usage("no place for this device's state").hint("set HOME, or pass `--state-dir DIR`")
            })?,
        };
        Ok(Self { services: root.join("services"), door })
    }

    /// The folder of one service; `base` is its URL as [`normal_base`] gives it.
    #[must_use]
    pub fn service(&self, base: &str) -> ServiceDir {
        ServiceDir { path: self.services.join(folder_name(base)), door: self.door }
    }

    /// The URL of the service that commands speak to when none is said.
    pub fn find_current(&self) -> Result<Option<String>, CliError> {
        let bytes = files::read(&self.services.join(CURRENT))?;
        Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned()).filter(|text| !text.is_empty()))
    }

    /// Makes a service the one that commands speak to when none is said.
    pub fn set_current(&self, base: &str) -> Result<(), CliError> {
        files::make_dir(&self.services)?;
        files::replace(&self.services.join(CURRENT), format!("{base}\n").as_bytes(), self.door.random())
    }

    /// The pairing that was started last and waits, at whatever service.
    pub fn find_waiting(&self) -> Result<Option<Pairing>, CliError> {
        let mut waiting = Vec::new();
        for folder in self.folders() {
            waiting.extend(folder.find_pairing()?);
        }
        Ok(waiting.into_iter().max_by_key(|pairing| pairing.expires_at))
    }

    /// Every service this device has or had to do with.
    pub fn list_profiles(&self) -> Result<Vec<Profile>, CliError> {
        let mut profiles = Vec::new();
        for folder in self.folders() {
            profiles.extend(folder.find_profile()?);
        }
        profiles.sort_by(|a, b| a.base.cmp(&b.base));
        Ok(profiles)
    }

    fn folders(&self) -> impl Iterator<Item = ServiceDir> {
        let entries = std::fs::read_dir(&self.services).into_iter().flatten().flatten().map(|entry| entry.path());
        entries.filter(|path| path.is_dir()).map(|path| ServiceDir { path, door: self.door })
    }
}

const CURRENT: &str = "current";

/// The folder of one service.
#[derive(Debug, Clone)]
pub struct ServiceDir {
    path: PathBuf,
    door: Door,
}

impl ServiceDir {
    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the folder.
    pub fn make(&self) -> Result<(), CliError> {
        files::make_dir(&self.path)
    }

    /// A file in it.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Where the local database is.
    #[must_use]
    pub fn database(&self) -> PathBuf {
        self.file("collie.db")
    }

    /// Keeps other processes from signing in or out at the same time.
    pub fn lock_login(&self) -> Result<FileLock, CliError> {
        self.make()?;
        FileLock::take(&self.file("login.lock"))?.ok_or_else(|| {
            CliError::new(contract::Code::LoginPending, "another login or logout is under way for this service")
                .hint("finish it, or end that process, then run the command again")
        })
    }

    fn nonce(&self) -> [u8; 8] {
        self.door.random()
    }
}

/// The folder's name: readable, and one of its own for every URL.
fn folder_name(base: &str) -> String {
    let readable: String = base
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-') { c } else { '_' })
        .take(80)
        .collect();
    format!("{readable}-{}", Digest::of(&[base.as_bytes()]).short())
}

fn default_root(door: Door) -> Option<PathBuf> {
    if let Some(state) = door.variable("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute()) {
        return Some(state.join("collie"));
    }
    Some(PathBuf::from(door.variable("HOME")?).join(".local/state/collie"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_never_share_a_folder() {
        let names = [
            "http://127.0.0.1:1",
            "http://127.0.0.1:10",
            "https://127.0.0.1:1",
            "https://a.example/x",
            "https://a.example_x",
        ];
        let folders: std::collections::BTreeSet<_> = names.iter().map(|name| folder_name(name)).collect();
        assert_eq!(folders.len(), names.len());
        assert!(folders.iter().all(|name| !name.contains('/')));
    }
}
