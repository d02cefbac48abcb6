//! The service's token key: a 0600 file beside the database and never inside it. A damaged file stops the start; it is never replaced.

use crate::{door, private_files};
use sign::{Secret, TokenKey};
use std::{
    io,
    path::{Path, PathBuf},
};

/// Why the token key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    /// The file is there and not a key.
    #[error("`{path}` is not a token key; restore it from a backup: without it every session ends")]
    Corrupt {
        /// Its path.
        path: PathBuf,
    },
    /// The file cannot be read or made.
    #[error("cannot use `{path}`: {source}")]
    Io {
        /// Its path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// No randomness.
    #[error(transparent)]
    Random(#[from] door::RandomError),
}

/// Where the token key is.
pub(crate) fn path(state_dir: &Path) -> PathBuf {
    state_dir.join("keys").join("token.key")
}

/// Reads the token key, or makes it at the first start.
pub(crate) fn open_or_make(state_dir: &Path) -> Result<TokenKey, KeyFileError> {
    let path = path(state_dir);
    let failed = |source| KeyFileError::Io { path: path.clone(), source };
    private_files::make_directory(path.parent().unwrap_or(state_dir)).map_err(failed)?;
    let fresh = door::make_secret()?;
    // EXPOSE: to its own key file, mode 0600.
    match fresh.with(|bytes| private_files::create(&path, bytes)) {
        Ok(()) => Ok(TokenKey::new(fresh)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => open(state_dir),
        Err(error) => Err(failed(error)),
    }
}

/// Reads the token key.
pub(crate) fn open(state_dir: &Path) -> Result<TokenKey, KeyFileError> {
    let path = path(state_dir);
    let bytes = private_files::read(&path, 32).map_err(|source| {
        if source.kind() == io::ErrorKind::InvalidData {
            KeyFileError::Corrupt { path: path.clone() }
        } else {
            KeyFileError::Io { path: path.clone(), source }
        }
    })?;
    let bytes = Secret::new(bytes);
    let mut whole = false;
    let key = Secret::init(|key: &mut [u8; 32]| {
        // EXPOSE: to the key itself.
        bytes.with(|bytes| {
            whole = bytes.len() == key.len() && bytes.iter().any(|byte| *byte != 0);
            if whole {
                key.copy_from_slice(bytes);
            }
        });
    });
    if whole { Ok(TokenKey::new(key)) } else { Err(KeyFileError::Corrupt { path }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sign::token::TokenKind;

    #[test]
    fn the_key_is_made_once_and_a_damaged_one_is_never_replaced() {
        let directory = tempfile::tempdir().expect("directory");
        let mac = |key: &TokenKey| key.mac(TokenKind::Access, "collie_at_x");
        let first = mac(&open_or_make(directory.path()).expect("made"));
        assert_eq!(mac(&open_or_make(directory.path()).expect("read")), first);

        for damaged in [&b"short"[..], &[7; 33], &[0; 32]] {
            private_files::put(&path(directory.path()), damaged).expect("damaged");
            assert!(matches!(open_or_make(directory.path()), Err(KeyFileError::Corrupt { .. })));
            assert_eq!(std::fs::read(path(directory.path())).expect("still there"), damaged);
        }
    }
}
