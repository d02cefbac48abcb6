//! When a device may make a sealing key, and when it must ask for the account's. A second key on an account would lock one of its devices out, so none is made while sealed data stands that nobody here can open.

use crate::api::Api;
use crate::app::Service;
use crate::error::CliError;
use crate::state::files::Made;
use contract::Code;
use contract::connection::{ConnectionList, ConnectionRow, SealFormat, Status};
use seal::local::{self, LocalPlace};
use seal::v1::V1Key;
use seal::{SealRandom, UserSealingKey};
use sign::Secret;

/// Name of the sealed public client's key among the device's local secrets.
const V1_KEY: &str = "v1_key";

/// Whether sealed data of a format stands on the account: not revoked, with a credential.
#[must_use]
pub fn has_sealed(rows: &[ConnectionRow], format: SealFormat) -> bool {
    rows.iter().any(|row| is_sealed(row, format))
}

/// Whether this connection has a credential of this format that somebody may have to open.
#[must_use]
pub fn is_sealed(row: &ConnectionRow, format: SealFormat) -> bool {
    row.seal_format == format && row.credential_version > 0 && row.status != Status::Revoked
}

/// What to do where the account's key is somewhere else.
#[must_use]
pub fn key_required(what: &str) -> CliError {
    CliError::new(Code::KeyRequired, format!("{what}, and its key is not on this device"))
        .hint("run `collie online key-export --yes` on a device that has it, then `collie online key-import` here")
}

impl Service<'_> {
    /// The sealing key, for opening.
    pub fn sealing_key(&self) -> Result<UserSealingKey, CliError> {
        self.folder.find_sealing_key()?.ok_or_else(|| key_required("this connection is sealed"))
    }

    /// The sealing key exists after this: it was here, or it is made now because the account has no sealed data yet.
    pub async fn ready_sealing_key(&self, api: &Api) -> Result<(), CliError> {
        if self.folder.find_sealing_key()?.is_some() {
            return Ok(());
        }
        let rows: ConnectionList = api.get("/v1/connections").await?;
        if has_sealed(&rows.connections, SealFormat::V2) {
            return Err(key_required("this account has sealed connections"));
        }
        let key = UserSealingKey::new(1, Secret::new(self.door().random()))
            .map_err(|error| CliError::internal(error.to_string()))?;
        match self.folder.store_sealing_key(&key)? {
            // Another process of this device may have been first; its key is as good.
            Made::New | Made::WasThere => Ok(()),
        }
    }

    /// The public client's key, if this device has it.
    pub async fn find_v1_key(&self) -> Result<Option<V1Key>, CliError> {
        let Some(blob) = self.db().await?.find_local_secret(V1_KEY).await? else { return Ok(None) };
        let usk = self.sealing_key()?;
        let key = local::open_v1_key(&usk, self.local_place(), &blob);
        key.map(Some).map_err(|_| {
            CliError::new(Code::WrongKey, "the public client's key on this device does not open")
                .hint("it was sealed under another sealing key or device; import the `collie-seal-v1:` text again")
        })
    }

    /// The public client's key exists after this: it was here, or it is made now because nothing is sealed under another one yet.
    pub async fn ready_v1_key(&self, api: &Api) -> Result<(), CliError> {
        self.ready_sealing_key(api).await?;
        if self.find_v1_key().await?.is_some() {
            return Ok(());
        }
        let rows: ConnectionList = api.get("/v1/connections").await?;
        if has_sealed(&rows.connections, SealFormat::V1) {
            return Err(CliError::new(
                Code::KeyRequired,
                "the public client has sealed connections on this account, and its key is not on this device",
            )
            .hint("run `collie online key-export --yes` of the public client, then `collie online key-import` here"));
        }
        let sealed = self.seal_v1_key(&V1Key::new(Secret::new(self.door().random())))?;
        self.store_v1_key(&sealed).await.map(|_| ())
    }

    /// Seals the public client's key for this device.
    pub fn seal_v1_key(&self, key: &V1Key) -> Result<Vec<u8>, CliError> {
        let random = SealRandom::new(self.door().random());
        local::seal_v1_key(&self.sealing_key()?, self.local_place(), key, random)
            .map_err(|error| CliError::internal(error.to_string()))
    }

    /// Stores the sealed key of the public client, unless one is there.
    pub async fn store_v1_key(&self, sealed: &[u8]) -> Result<bool, CliError> {
        self.db().await?.insert_local_secret(V1_KEY, sealed, self.door().now_ms()).await
    }

    /// Takes the public client's key out of a device that is about to become another one. One that does not open is left where it is.
    pub async fn take_v1_key(&self) -> Result<Option<V1Key>, CliError> {
        if !self.folder.database().exists() || self.folder.find_sealing_key()?.is_none() {
            return Ok(None);
        }
        Ok(self.find_v1_key().await.unwrap_or(None))
    }

    /// Seals the public client's key for the device that this one became.
    pub async fn put_v1_key(&self, key: V1Key) -> Result<(), CliError> {
        let sealed = self.seal_v1_key(&key)?;
        drop(key);
        self.db().await?.replace_local_secret(V1_KEY, &sealed, self.door().now_ms()).await
    }

    /// Where secrets of this device belong. Not to the session's workspace: the key is the person's.
    pub(crate) fn local_place(&self) -> LocalPlace<'_> {
        LocalPlace {
            deployment: &self.profile.deployment_id,
            workspace: &self.profile.workspace_id,
            device: &self.profile.device_id,
        }
    }
}
