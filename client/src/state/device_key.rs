//! The device's signing key in its file, one for each service. A damaged file is an error and stays as it is; it is never replaced by another key.

use super::ServiceDir;
use super::files::{self, Made};
use crate::error::CliError;
use contract::{Code, b64u};
use sign::{DeviceKey, Secret};
use std::path::Path;
use zeroize::Zeroizing;

/// The file's name.
pub const DEVICE_KEY: &str = "device.key";

/// The file of a key whose pairing waits for a person.
const PAIRING_KEY: &str = "pairing.key";

/// First line of the file.
const HEAD: &str = "collie-device-key-v1";

impl ServiceDir {
    /// The key, if this device has one for this service.
    pub fn find_device_key(&self) -> Result<Option<DeviceKey>, CliError> {
        self.find_key(DEVICE_KEY)
    }

    /// The key, which a connected device has.
    pub fn device_key(&self) -> Result<DeviceKey, CliError> {
        self.find_device_key()?.ok_or_else(|| missing(&self.file(DEVICE_KEY)))
    }

    /// The key of the device that this one is about to become, made now if there is none. Of two processes one makes it and both use it.
    pub fn find_or_make_pairing_key(&self) -> Result<DeviceKey, CliError> {
        if let Some(key) = self.find_key(PAIRING_KEY)? {
            return Ok(key);
        }
        self.make()?;
        let key = DeviceKey::from_seed(&Secret::new(self.door.random()));
        match files::write_new(&self.file(PAIRING_KEY), &text(&key), self.nonce())? {
            Made::New => Ok(key),
            Made::WasThere => self.find_key(PAIRING_KEY)?.ok_or_else(|| missing(&self.file(PAIRING_KEY))),
        }
    }

    /// Whether the key of a pairing is still here, waiting or already in its place.
    pub fn has_key_of_pairing(&self, public_key: &str) -> Result<bool, CliError> {
        let keys = [self.find_key(PAIRING_KEY)?, self.find_device_key()?];
        Ok(keys.iter().flatten().any(|key| key.public_key().b64u() == public_key))
    }

    /// Puts the key of an approved pairing in its place. Done already after an interruption, it changes nothing.
    pub fn install_pairing_key(&self) -> Result<(), CliError> {
        files::rename(&self.file(PAIRING_KEY), &self.file(DEVICE_KEY))
    }

    /// Destroys the key of a pairing that is given up.
    pub fn remove_pairing_key(&self) -> Result<bool, CliError> {
        files::remove(&self.file(PAIRING_KEY))
    }

    /// Destroys the key.
    pub fn remove_device_key(&self) -> Result<bool, CliError> {
        files::remove(&self.file(DEVICE_KEY))
    }

    fn find_key(&self, name: &str) -> Result<Option<DeviceKey>, CliError> {
        let path = self.file(name);
        let Some(bytes) = files::read_secret(&path)? else { return Ok(None) };
        parse(&bytes).map(Some).ok_or_else(|| {
            CliError::new(Code::KeyCorrupt, format!("{} is damaged; it is left as it is", path.display()))
                .hint("restore it from a backup, or move it away and run `collie online login --replace` to connect this device with a new key")
        })
    }
}

fn missing(path: &Path) -> CliError {
    CliError::new(Code::KeyCorrupt, format!("{} is missing", path.display()))
        .hint("restore it from a backup, or run `collie online login --replace` to connect this device with a new key")
}

fn text(key: &DeviceKey) -> Zeroizing<Vec<u8>> {
    // EXPOSE: to the device's own key file.
    let seed = key.expose_seed_for_key_file().with(|seed| Zeroizing::new(b64u::encode(seed)));
    Zeroizing::new(format!("{HEAD}\n{}\n{}\n", *seed, key.public_key().b64u()).into_bytes())
}

/// The public half is stored too: a flipped bit in the seed is seen.
fn parse(bytes: &[u8]) -> Option<DeviceKey> {
    let mut lines = std::str::from_utf8(bytes).ok()?.lines();
    let (head, seed, public) = (lines.next()?, lines.next()?, lines.next()?);
    let seed = Secret::new(b64u::decode_array(seed).ok()?);
    let key = DeviceKey::from_seed(&seed);
    (head == HEAD && lines.next().is_none() && key.public_key().b64u() == public).then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::door::Door;
    use crate::state::StateDir;

    fn folder() -> (tempfile::TempDir, ServiceDir) {
        let root = tempfile::tempdir().expect("a folder");
        let state = StateDir::new(Some(root.path()), Door).expect("a state folder");
        let service = state.service("http://127.0.0.1:1");
        (root, service)
    }

    #[test]
    fn many_first_runs_end_with_one_key() {
        let (_root, service) = folder();
        let keys: Vec<String> = std::thread::scope(|scope| {
            let runs: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| service.find_or_make_pairing_key().expect("a key").public_key().b64u()))
                .collect();
            runs.into_iter().map(|run| run.join().expect("ends")).collect()
        });
        assert!(keys.iter().all(|key| *key == keys[0]));
        service.install_pairing_key().expect("installs");
        service.install_pairing_key().expect("again, after an interruption");
        assert!(service.has_key_of_pairing(&keys[0]).expect("looks"));
        assert_eq!(service.device_key().expect("a key").public_key().b64u(), keys[0]);
    }

    #[test]
    fn a_damaged_file_is_an_error_and_stays() {
        let (_root, service) = folder();
        let key = service.find_or_make_pairing_key().expect("a key");
        let good = text(&key);
        let path = service.file(PAIRING_KEY);
        for at in 0..good.len() {
            let mut bad = good.to_vec();
            bad[at] = if bad[at] == b'A' { b'B' } else { b'A' };
            files::replace(&path, &bad, [0; 8]).expect("writes");
            let error = service.find_or_make_pairing_key().err().expect("refused");
            assert_eq!(error.code, Code::KeyCorrupt, "byte {at}");
            assert_eq!(std::fs::read(&path).expect("reads"), bad, "byte {at}");
        }
        for length in 0..good.len() - 1 {
            files::replace(&path, &good[..length], [0; 8]).expect("writes");
            assert!(service.find_or_make_pairing_key().is_err(), "{length} bytes");
        }
    }
}
