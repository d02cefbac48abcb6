//! Session tokens on the wire (wire-collie-v1 1.5, 2.2). The only types of this crate that carry a secret: they have no Debug, and exist only as the answer that issues tokens.

use crate::ids::WorkspaceId;
use serde::{Deserialize, Serialize};

/// A pair of session tokens. Opaque to devices.
#[derive(Clone, Serialize, Deserialize)]
pub struct Tokens {
    /// `collie_at_…`
    pub access_token: String,
    /// `collie_rt_…`
    pub refresh_token: String,
    /// Unix seconds.
    pub access_expires_at: u64,
    /// Unix seconds.
    pub refresh_expires_at: u64,
}

/// POST /v1/auth/refresh
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RefreshTokens {
    /// The newest refresh token this device has.
    pub refresh_token: String,
}

/// POST /v1/workspaces/select
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SelectWorkspace {
    /// Which.
    pub workspace_id: WorkspaceId,
}

/// 200 of [`SelectWorkspace`].
#[derive(Clone, Serialize, Deserialize)]
pub struct WorkspaceSelected {
    /// Which.
    pub workspace_id: WorkspaceId,
    /// Tokens for it.
    #[serde(flatten)]
    pub tokens: Tokens,
}
