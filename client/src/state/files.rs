//! Files that only this user may read: made exclusively, replaced atomically, refused when others can read them. Never follows a half-written state.

use crate::error::CliError;
use contract::{Code, digest};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// Bytes of the largest file that is read here.
const FILE_BYTES_MAX: u64 = 64 * 1024;

/// Makes a folder that only this user may enter, and its parents. One that exists is left as it is.
pub fn make_dir(path: &Path) -> Result<(), CliError> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(|error| trouble("make", path, &error))
}

/// Whether others than this user may read or change what is there.
pub fn is_open_to_others(path: &Path) -> Result<bool, CliError> {
    let metadata = std::fs::symlink_metadata(path).map_err(|error| trouble("look at", path, &error))?;
    Ok(metadata.mode() & 0o077 != 0)
}

/// Reads a file, if there is one.
pub fn read(path: &Path) -> Result<Option<Zeroizing<Vec<u8>>>, CliError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(trouble("read", path, &error)),
    };
    let size = file.metadata().map_err(|error| trouble("read", path, &error))?.len();
    if size > FILE_BYTES_MAX {
        return Err(CliError::new(
            Code::KeyCorrupt,
            format!("{} is larger than anything that is written there", path.display()),
        ));
    }
    // One allocation, so that no copy stays behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1));
    file.take(FILE_BYTES_MAX).read_to_end(&mut bytes).map_err(|error| trouble("read", path, &error))?;
    Ok(Some(bytes))
}

/// Reads a file that holds a secret; one that others may read is refused.
pub fn read_secret(path: &Path) -> Result<Option<Zeroizing<Vec<u8>>>, CliError> {
    let Some(bytes) = read(path)? else { return Ok(None) };
    if is_open_to_others(path)? {
        return Err(CliError::new(
            Code::KeyCorrupt,
            format!("{} can be read by other users of this machine", path.display()),
        )
        .hint(format!("decide whether its secret is still one; then run `chmod 600 {}`", path.display())));
    }
    Ok(Some(bytes))
}

/// Whether [`write_new`] made the file or found one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Made {
    /// The file is ours.
    New,
    /// Another process was first; nothing changed.
    WasThere,
}

/// Writes a file of mode 0600 that must not exist yet. It appears whole or not at all, and of two processes exactly one wins.
pub fn write_new(path: &Path, bytes: &[u8], nonce: [u8; 8]) -> Result<Made, CliError> {
    let temporary = write_temporary(path, bytes, nonce)?;
    // A hard link refuses an existing name, as O_EXCL does, and the linked file is complete.
    let linked = std::fs::hard_link(&temporary, path);
    let _ = std::fs::remove_file(&temporary);
    match linked {
        Ok(()) => sync_parent(path).map(|()| Made::New),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(Made::WasThere),
        Err(error) => Err(trouble("make", path, &error)),
    }
}

/// Writes a file of mode 0600 in place of whatever is there, atomically.
pub fn replace(path: &Path, bytes: &[u8], nonce: [u8; 8]) -> Result<(), CliError> {
    let temporary = write_temporary(path, bytes, nonce)?;
    std::fs::rename(&temporary, path).map_err(|error| trouble("replace", path, &error))?;
    sync_parent(path)
}

/// Moves a file to another name, atomically, in place of what is there. Nothing happens where there is none.
pub fn rename(from: &Path, to: &Path) -> Result<(), CliError> {
    match std::fs::rename(from, to) {
        Ok(()) => sync_parent(to),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(trouble("move", from, &error)),
    }
}

/// Removes a file; says whether there was one.
pub fn remove(path: &Path) -> Result<bool, CliError> {
    match std::fs::remove_file(path) {
        Ok(()) => sync_parent(path).map(|()| true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(trouble("remove", path, &error)),
    }
}

/// A lock between processes; it ends when this value is dropped or the process dies.
#[derive(Debug)]
#[must_use]
pub struct FileLock(#[expect(dead_code, reason = "held for its lock")] File);

impl FileLock {
    /// Waits for the lock.
    pub fn wait(path: &Path) -> Result<Self, CliError> {
        let file = open_lock(path)?;
        file.lock().map_err(|error| trouble("lock", path, &error))?;
        Ok(Self(file))
    }

    /// Takes the lock, unless somebody else has it.
    pub fn take(path: &Path) -> Result<Option<Self>, CliError> {
        let file = open_lock(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self(file))),
            Err(std::fs::TryLockError::WouldBlock) => Ok(None),
            Err(std::fs::TryLockError::Error(error)) => Err(trouble("lock", path, &error)),
        }
    }
}

fn open_lock(path: &Path) -> Result<File, CliError> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map_err(|error| trouble("open", path, &error))
}

fn write_temporary(path: &Path, bytes: &[u8], nonce: [u8; 8]) -> Result<PathBuf, CliError> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", digest::hex(&nonce)));
    let temporary = path.with_file_name(name);
    let write = || -> std::io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    write().map_err(|error| {
        let _ = std::fs::remove_file(&temporary);
        trouble("write", &temporary, &error)
    })?;
    Ok(temporary)
}

fn sync_parent(path: &Path) -> Result<(), CliError> {
    let parent = path.parent().unwrap_or(path);
    File::open(parent).and_then(|folder| folder.sync_all()).map_err(|error| trouble("sync", parent, &error))
}

fn trouble(verb: &str, path: &Path, error: &std::io::Error) -> CliError {
    CliError::internal(format!("cannot {verb} {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn of_two_writers_one_wins_and_the_file_is_private_and_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("key");
        let made: Vec<_> = std::thread::scope(|scope| {
            let writers: Vec<_> = (0..8_u8)
                .map(|n| {
                    let path = path.clone();
                    scope.spawn(move || write_new(&path, &[n; 1000], [n; 8]).expect("writes"))
                })
                .collect();
            writers.into_iter().map(|writer| writer.join().expect("ends")).collect()
        });
        assert_eq!(made.iter().filter(|made| **made == Made::New).count(), 1);
        let bytes = read_secret(&path).expect("reads").expect("is there");
        assert_eq!(bytes.len(), 1000);
        assert!(bytes.iter().all(|byte| *byte == bytes[0]));
        assert!(!is_open_to_others(&path).expect("looks"));
        assert_eq!(std::fs::read_dir(folder.path()).expect("lists").count(), 1, "nothing temporary stays");
    }

    #[test]
    fn a_secret_that_others_may_read_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("key");
        replace(&path, b"secret", [0; 8]).expect("writes");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).expect("opens it");
        let error = read_secret(&path).expect_err("refused");
        assert_eq!(error.code, Code::KeyCorrupt);
        assert!(!error.to_string().contains("secret\n"));
    }

    #[test]
    fn a_lock_is_held_until_it_is_dropped() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("lock");
        let held = FileLock::wait(&path).expect("takes it");
        assert!(FileLock::take(&path).expect("asks").is_none());
        drop(held);
        assert!(FileLock::take(&path).expect("asks").is_some());
    }
}
