//! The key file: 32 raw bytes, readable by the service's own user alone. Made once with O_EXCL, never replaced, and never printed.

use crate::{Assurance, Descriptor, KekError, KekFullName, KekFuture, KekProvider, KeyFileError, ProviderKind};
use contract::{digest, ids::DeploymentId};
use seal::{
    SealRandom,
    context::{Tenant, TenantKeyRow, WrappingKeyContext},
    vault_keys::{KeyFileKey, WrappingKey},
};
use sign::Secret;
use std::{
    fs, io,
    io::{Read as _, Write as _},
    path::Path,
};
use zeroize::Zeroizing;

const KEY_BYTES: usize = 32;

/// A key encryption key from a file.
pub struct KeyFileProvider {
    key: KeyFileKey,
    descriptor: Descriptor,
}

impl KeyFileProvider {
    /// Reads the key file at `path` under the full name that the configuration gives it.
    pub fn open(path: &Path, kek_id: KekFullName) -> Result<Self, KeyFileError> {
        Ok(Self::new(read(path)?, kek_id))
    }

    /// Takes the 32 bytes, for example from a systemd credential.
    #[must_use]
    pub fn new(key: Secret<[u8; KEY_BYTES]>, kek_id: KekFullName) -> Self {
        let key = KeyFileKey::new(key);
        let version = digest::hex(key.key_id());
        let descriptor =
            Descriptor { provider: ProviderKind::KeyFile, kek_id, version, assurance: Assurance::Software };
        Self { key, descriptor }
    }

    fn round_trip(&self) -> Result<(), KekError> {
        // A fixed key under a fixed context: the same bytes each time, so that the fixed randomness tells nobody anything.
        let deployment = DeploymentId::from_random([0; 16]);
        let row = TenantKeyRow {
            deployment: &deployment,
            tenant: Tenant::Deployment,
            generation: 0,
            kek: self.descriptor.name(),
        };
        let context = WrappingKeyContext(row);
        let key = WrappingKey::new(0, Secret::new([0; KEY_BYTES]));
        let wrapped = self.key.wrap(&context, &key, SealRandom::new([0; SealRandom::BYTES]));
        let wrapped = wrapped.map_err(|_| KekError::Wrap)?;
        self.key.unwrap(&context, &wrapped).map(|_| ()).map_err(|_| KekError::Open)
    }
}

impl KekProvider for KeyFileProvider {
    fn descriptor(&self) -> &Descriptor {
        &self.descriptor
    }

    fn wrap<'a>(
        &'a self,
        context: WrappingKeyContext<'a>,
        key: &'a WrappingKey,
        random: SealRandom,
    ) -> KekFuture<'a, Vec<u8>> {
        Box::pin(std::future::ready(self.key.wrap(&context, key, random).map_err(|_| KekError::Wrap)))
    }

    fn unwrap<'a>(&'a self, context: WrappingKeyContext<'a>, wrapped: &'a [u8]) -> KekFuture<'a, WrappingKey> {
        Box::pin(std::future::ready(self.key.unwrap(&context, wrapped).map_err(|_| KekError::Open)))
    }

    fn health(&self) -> KekFuture<'_, ()> {
        Box::pin(std::future::ready(self.round_trip()))
    }
}

/// Makes a key file of mode 0600 from 32 random bytes. A file that is there already is an error and stays as it is.
pub fn make_key_file(path: &Path, key: &Secret<[u8; KEY_BYTES]>) -> Result<(), KeyFileError> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    let failed = |source| KeyFileError::Io { path: path.to_owned(), source };
    let mut file = options.open(path).map_err(failed)?;
    // EXPOSE: to its own key file, mode 0600.
    key.with(|bytes| file.write_all(bytes)).and_then(|()| file.sync_all()).map_err(failed)?;
    sync_folder(path).map_err(failed)
}

/// The name of a new file is durable only when its folder is.
fn sync_folder(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => fs::File::open(folder)?.sync_all(),
        Some(_) | None => fs::File::open(".")?.sync_all(),
    }
}

fn read(path: &Path) -> Result<Secret<[u8; KEY_BYTES]>, KeyFileError> {
    let failed = |source| KeyFileError::Io { path: path.to_owned(), source };
    let corrupt = || KeyFileError::Corrupt { path: path.to_owned() };
    let file = fs::File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        if metadata.permissions().mode() & 0o077 != 0 {
            return Err(KeyFileError::Exposed { path: path.to_owned() });
        }
    }
    if !metadata.is_file() {
        return Err(corrupt());
    }
    let mut bytes = Zeroizing::new(Vec::with_capacity(KEY_BYTES + 1));
    file.take(KEY_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() != KEY_BYTES || bytes.iter().all(|byte| *byte == 0) {
        return Err(corrupt());
    }
    Ok(Secret::init(|key: &mut [u8; KEY_BYTES]| key.copy_from_slice(&bytes)))
}

#[cfg(test)]
#[path = "key_file_tests.rs"]
mod tests;
