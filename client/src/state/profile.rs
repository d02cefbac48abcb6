//! Who this device is at one service. Holds nothing secret, and outlives the session so that `status` can say what happened.

use super::{ServiceDir, files};
use crate::error::CliError;
use contract::cjson;
use contract::device::SessionClass;
use contract::ids::{DeploymentId, DeviceId, UserId, WorkspaceId};
use contract::{Code, limits};
use serde::{Deserialize, Serialize};

/// How the connection of this device to a service stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Signed in.
    Connected,
    /// Signed out here, by this person.
    SignedOut,
    /// Revoked; keys and copies are gone.
    Revoked,
}

/// One service as this device knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// The service's URL, without a slash at its end.
    pub base: String,
    /// The installation, pinned at login.
    pub deployment_id: DeploymentId,
    /// Fingerprint of the certificate pinned at login; empty where the system's roots decide.
    #[serde(default)]
    pub server_fingerprint: String,
    /// The person.
    pub user_id: UserId,
    /// The workspace that was signed in to.
    pub workspace_id: WorkspaceId,
    /// This device.
    pub device_id: DeviceId,
    /// Its name.
    pub device_name: String,
    /// How its sessions live.
    pub session_class: SessionClass,
    /// How it stands.
    pub standing: Standing,
    /// Unix seconds of the login.
    pub connected_at: u64,
    /// Unix seconds since when it stands as it does.
    pub changed_at: u64,
}

impl ServiceDir {
    /// The profile, if this device ever signed in here.
    pub fn find_profile(&self) -> Result<Option<Profile>, CliError> {
        let Some(bytes) = files::read(&self.file(PROFILE))? else { return Ok(None) };
        cjson::from_slice(&bytes, limits::BODY_BYTES_MAX).map(Some).map_err(|error| {
            CliError::new(Code::Internal, format!("{} cannot be read: {error}", self.file(PROFILE).display()))
                .hint("run `collie online login --replace` to connect this device again")
        })
    }

    /// Stores the profile.
    pub fn store_profile(&self, profile: &Profile) -> Result<(), CliError> {
        self.make()?;
        files::replace(&self.file(PROFILE), &cjson::to_canonical(profile)?, self.nonce())
    }
}

const PROFILE: &str = "profile.json";
