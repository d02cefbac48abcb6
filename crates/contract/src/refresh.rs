//! Refreshing a grant that several owners share over a service that cannot open it (2.b.8): the row as owners see it, and each change as one compare-and-set. No token is in any of these types.

use crate::{Json, connection::words, ids::ConnectionId};
use serde::{Deserialize, Serialize};

words! {
    /// State of a grant.
    RefreshStatus {
        /// It can be refreshed.
        Live = "live",
        /// Nobody knows whether the stored version's refresh token was used; the person consents anew.
        Uncertain = "uncertain",
        /// The provider refused the stored version's refresh token; the person consents anew.
        Dead = "dead",
    }
}

words! {
    /// What a change of the refresh row came to.
    RefreshOutcome {
        /// It stands, durably.
        Done = "done",
        /// Something that the change names is not what stands; nothing was written.
        Lost = "lost",
        /// Somebody else has the lease; nothing was written.
        LeaseTaken = "lease_taken",
    }
}

/// One owner's declared will to send the refresh token of one version. It outlives the lease (i).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RefreshIntent {
    /// A device's id, or that of a process of the service.
    pub owner: String,
    /// The fence of the lease under which it was placed.
    pub fence: u64,
    /// The credential version whose refresh token is meant.
    pub version: u64,
}

/// The right to place an intent; it only keeps owners from disturbing each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefreshLease {
    /// Whose.
    pub owner: String,
    /// Unix seconds.
    pub expires_at: u64,
}

/// GET /v1/connections/{id}/refresh, and beside every outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefreshState {
    /// Which.
    pub connection: ConnectionId,
    /// Version of the stored credential, 0 when there is none.
    pub credential_version: u64,
    /// 1 for the first consent, then +1 for each new one.
    pub grant_epoch: u64,
    /// State of the grant.
    pub status: RefreshStatus,
    /// The newest fence that was given.
    pub fence: u64,
    /// The lease that stands and has not expired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<RefreshLease>,
    /// The intent that stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<RefreshIntent>,
}

/// The answer of every change: what it came to, and the row after it. After `lease` with `done`, `state.fence` is the caller's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefreshAnswer {
    /// What it came to.
    pub outcome: RefreshOutcome,
    /// The row as it stands now.
    pub state: RefreshState,
}

/// POST …/refresh/uncertain and …/refresh/dead: names the caller's own standing attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RefreshAttempt {
    /// The intent's fence.
    pub fence: u64,
    /// The intent's version.
    pub version: u64,
    /// The epoch it belongs to.
    pub grant_epoch: u64,
}

/// POST …/refresh/intent
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlaceIntent {
    /// The caller's current fence.
    pub fence: u64,
    /// The stored version.
    pub version: u64,
    /// The epoch that stands.
    pub grant_epoch: u64,
    /// Only at a provider that answers a repeated refresh token again (iii): the intent that is taken over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<RefreshIntent>,
}

/// POST …/refresh/withdraw: the caller's own intent, from which nothing was sent (iv).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WithdrawIntent {
    /// The intent's fence.
    pub fence: u64,
    /// The intent's version.
    pub version: u64,
}

/// POST …/refresh/upload: the next version, sealed under the newest signed review. The lease is not asked for (i); repeating it is done, not lost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UploadRefreshed {
    /// The intent's fence.
    pub fence: u64,
    /// The intent's version; the credential is the one after it.
    pub version: u64,
    /// The epoch it belongs to.
    pub grant_epoch: u64,
    /// A [`crate::credential::SealedCredentialV2`].
    pub sealed_credential: Json,
}

/// POST …/refresh/reconsent: a new consent replaces the grant; every standing intent is void (ii).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoreConsent {
    /// The epoch that is replaced.
    pub grant_epoch: u64,
    /// The next version, sealed under the newest signed review: a [`crate::credential::SealedCredentialV2`].
    pub sealed_credential: Json,
}
