//! Why a key encryption key was not used. Says which key by its name, and nothing of any key.

use std::{io, path::PathBuf};

/// Why a wrapping key was not wrapped or unwrapped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KekError {
    /// The record names a key that this installation does not list; no provider was asked (B1).
    #[error("the key `{kek_id}` of provider `{provider}` is not listed for this installation")]
    NotListed {
        /// As the record says.
        provider: String,
        /// As the record says.
        kek_id: String,
    },
    /// The record names another version of a listed key; no provider was asked.
    #[error("the record names version `{recorded}` of the key `{kek_id}`, this installation holds `{held}`")]
    OtherVersion {
        /// The key.
        kek_id: String,
        /// As the record says.
        recorded: String,
        /// What stands.
        held: String,
    },
    /// The record cannot be read.
    #[error("the record of the wrapping key cannot be read")]
    Record,
    /// The provider answered, and the wrapping key does not open as this tenant's.
    #[error("the wrapping key does not open")]
    Open,
    /// The wrapping key cannot be wrapped.
    #[error("the wrapping key cannot be wrapped")]
    Wrap,
    /// The provider cannot be reached or refuses everything now.
    #[error("the KEK provider `{provider}` does not answer")]
    Unavailable {
        /// Which.
        provider: &'static str,
    },
}

impl KekError {
    /// Whether the same call may succeed later without anybody changing anything.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        matches!(self, Self::Unavailable { .. })
    }
}

/// Why a key file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    /// It is not 32 bytes of a key.
    #[error("`{path}` is not a key file of 32 bytes; restore it from its backup: without it no cloud_proxy credential opens", path = path.display())]
    Corrupt {
        /// Its path.
        path: PathBuf,
    },
    /// Others can read it.
    #[error("other users may read `{path}`; set its mode to 0600", path = path.display())]
    Exposed {
        /// Its path.
        path: PathBuf,
    },
    /// It cannot be read or made.
    #[error("cannot use the key file `{path}`", path = path.display())]
    Io {
        /// Its path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}
