//! The person's sealing key in its file (USK generation 1, 2.b.1), as its checksummed text. Made once and never replaced; a damaged file is an error.

use super::ServiceDir;
use super::files::{self, Made};
use crate::error::CliError;
use contract::Code;
use seal::{UserSealingKey, recovery};
use sign::Secret;
use zeroize::Zeroizing;

/// The file's name.
pub const SEALING_KEY: &str = "sealing-1.key";

impl ServiceDir {
    /// The key, if this device has it.
    pub fn find_sealing_key(&self) -> Result<Option<UserSealingKey>, CliError> {
        let path = self.file(SEALING_KEY);
        let Some(bytes) = files::read_secret(&path)? else { return Ok(None) };
        let damaged = || {
            CliError::new(Code::KeyCorrupt, format!("{} is damaged; it is left as it is", path.display()))
                .hint("move it away, then run `collie online key-import` with the text that `key-export` prints on another device")
        };
        let text = std::str::from_utf8(&bytes).map_err(|_| damaged())?;
        let text = Secret::init(|copy: &mut String| copy.push_str(text));
        recovery::decode_usk(&text).map(Some).map_err(|_| damaged())
    }

    /// Stores the key, unless one is there. The caller has proved it or has just made it.
    pub fn store_sealing_key(&self, key: &UserSealingKey) -> Result<Made, CliError> {
        self.make()?;
        let text = recovery::encode_usk(key).map_err(|error| CliError::internal(error.to_string()))?;
        // EXPOSE: to the device's own key file.
        let bytes = text.with(|text| Zeroizing::new(format!("{text}\n").into_bytes()));
        files::write_new(&self.file(SEALING_KEY), &bytes, self.nonce())
    }

    /// Destroys the key; says whether there was one.
    pub fn remove_sealing_key(&self) -> Result<bool, CliError> {
        files::remove(&self.file(SEALING_KEY))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::door::Door;
    use crate::state::StateDir;

    #[test]
    fn it_is_stored_once_and_a_damaged_one_stays() {
        let root = tempfile::tempdir().expect("a folder");
        let service = StateDir::new(Some(root.path()), Door).expect("a state folder").service("http://127.0.0.1:1");
        let key = |byte| UserSealingKey::new(1, Secret::new([byte; 32])).expect("a key");
        assert!(service.find_sealing_key().expect("looks").is_none());
        assert_eq!(service.store_sealing_key(&key(1)).expect("stores"), Made::New);
        assert_eq!(service.store_sealing_key(&key(2)).expect("refuses"), Made::WasThere);
        assert_eq!(service.find_sealing_key().expect("looks").expect("is there").id(), key(1).id());
        let path = service.file(SEALING_KEY);
        let mut bytes = std::fs::read(&path).expect("reads");
        bytes[40] = if bytes[40] == b'0' { b'1' } else { b'0' };
        files::replace(&path, &bytes, [0; 8]).expect("writes");
        assert_eq!(service.find_sealing_key().err().expect("refused").code, Code::KeyCorrupt);
        assert_eq!(service.store_sealing_key(&key(2)).expect("refuses"), Made::WasThere);
        assert_eq!(std::fs::read(&path).expect("reads"), bytes);
    }
}
