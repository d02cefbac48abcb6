//! Devices and their enrolment on the wire (wire-collie-v1 2.1, 2.3; 2.e). Membership of an account is all that a row here proves.

use crate::{
    connection::words,
    ids::{DeploymentId, DeviceId, UserId, WorkspaceId},
};
use serde::{Deserialize, Serialize};

words! {
    /// How a device's sessions live; fixed at enrolment and shown at approval (2.e).
    SessionClass {
        /// Ten-minute access tokens and a rotating refresh token: our clients.
        Rotating = "rotating",
        /// Validity slides while the device key keeps signing: the public client.
        Sliding = "sliding",
    }
}

/// POST /v1/devices/start
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartPairing {
    /// ≤ 120 characters.
    pub device_name: String,
    /// b64u(SHA-256(verifier)).
    pub challenge: String,
    /// b64u of the raw Ed25519 key.
    pub public_key: String,
    /// `["refresh"]` from clients that rotate tokens.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<String>,
}

/// 201 of [`StartPairing`].
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairingStarted {
    /// What the device polls with; with the verifier it is the right to fetch the tokens once.
    pub device_code: String,
    /// What the person types, `ABCD-EFGH`.
    pub user_code: String,
    /// Where to type it.
    pub verification_uri: String,
    /// Seconds.
    pub expires_in: u64,
    /// Seconds between polls.
    pub interval: u64,
}

/// POST /v1/devices/token
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FetchTokens {
    /// From [`PairingStarted`].
    pub device_code: String,
    /// 43 characters whose SHA-256 is the challenge.
    pub verifier: String,
}

/// 200 of [`FetchTokens`]. The only answer, with refresh and select, that carries tokens.
#[derive(Clone, Serialize, Deserialize)]
pub struct Enrolled {
    /// The person.
    pub user_id: UserId,
    /// Their workspace.
    pub workspace_id: WorkspaceId,
    /// This device.
    pub device_id: DeviceId,
    /// Its name as stored.
    pub device_name: String,
    /// The installation; the client pins it.
    pub deployment_id: DeploymentId,
    /// How the session lives.
    pub session_class: SessionClass,
    /// The origin under which the person approved.
    pub origin: String,
    /// The tokens.
    #[serde(flatten)]
    pub tokens: crate::session::Tokens,
}

/// POST /v1/devices/pending, from a bound device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FindPending {
    /// What the new device shows.
    pub user_code: String,
}

/// What a person sees before they approve.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingDevice {
    /// What the new device calls itself.
    pub device_name: String,
    /// Fingerprint of its key, to compare on both screens.
    pub fingerprint: String,
    /// How its sessions would live.
    pub session_class: SessionClass,
    /// The origin it spoke to.
    pub origin: String,
    /// Unix seconds.
    pub started_at: u64,
}

/// POST /v1/devices/approve, from a bound device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApproveDevice {
    /// What the new device shows.
    pub user_code: String,
    /// The fingerprint that was shown; another one is refused.
    pub fingerprint: String,
}

/// POST /v1/devices/revoke
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RevokeDevice {
    /// Which.
    pub device_id: DeviceId,
}

/// One device of the caller's user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceRow {
    /// Id.
    pub id: DeviceId,
    /// Name.
    pub name: String,
    /// Unix seconds, 0 before its first signed call.
    pub last_seen_at: u64,
    /// Unix seconds; absent while it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<u64>,
    /// b64u of its Ed25519 key, for comparison only.
    pub public_key: String,
    /// The same for people.
    pub fingerprint: String,
    /// How its sessions live.
    pub session_class: SessionClass,
    /// Unix seconds.
    pub created_at: u64,
}

/// GET /v1/devices
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceList {
    /// The complete set.
    pub devices: Vec<DeviceRow>,
}

/// GET /v1/whoami
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WhoAmI {
    /// The person.
    pub user_id: UserId,
    /// Display only.
    pub display_name: String,
    /// The session's workspace.
    pub workspace_id: WorkspaceId,
    /// The calling device.
    pub device_id: DeviceId,
    /// Its name.
    pub device_name: String,
    /// The installation.
    pub deployment_id: DeploymentId,
    /// How the session lives.
    pub session_class: SessionClass,
}
