//! The person's sealing key in its file (USK generation 1). Made once, never replaced; a damaged file is an error.

use super::{ServiceDir, files};
use crate::error::CliError;

/// The file's name.
pub const SEALING_KEY: &str = "sealing-1.key";

impl ServiceDir {
    /// Whether there is a key.
    #[must_use]
    pub fn has_sealing_key(&self) -> bool {
        self.file(SEALING_KEY).exists()
    }

    /// Destroys the key; says whether there was one.
    pub fn remove_sealing_key(&self) -> Result<bool, CliError> {
        files::remove(&self.file(SEALING_KEY))
    }
}
