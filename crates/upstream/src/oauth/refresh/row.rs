//! What the machine knows of the shared row, of its own journal and of the provider. Never a token.

use contract::limits;

/// Who refreshes: a device, or one process of the service.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Owner(String);

impl Owner {
    /// An owner by its id; no two owners share one.
    #[must_use]
    pub fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// The id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// One owner's declared will to send the refresh token of one version. It outlives the lease (i).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Intent {
    /// Whose it is.
    pub owner: Owner,
    /// The fence of the lease under which it was placed.
    pub fence: u64,
    /// The version whose refresh token is meant.
    pub version: u64,
}

/// State of the grant as the row says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    /// It can be refreshed.
    Live,
    /// Nobody knows whether the refresh token was used; the person consents anew.
    Uncertain,
    /// The provider refused the stored version's refresh token.
    Dead,
}

/// The row as read or as it stood when a compare-and-set was lost.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RowView {
    /// Version of the stored credential.
    pub version: u64,
    /// Raised by each new consent.
    pub epoch: u64,
    /// The intent that stands.
    pub intent: Option<Intent>,
    /// State of the grant.
    pub status: Status,
}

/// What the owner has opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Held {
    /// Version of the credential that was opened.
    pub version: u64,
    /// Epoch of the row it came from.
    pub epoch: u64,
}

/// One attempt to refresh: what every compare-and-set of it names.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Attempt {
    /// Its intent.
    pub intent: Intent,
    /// The epoch it belongs to.
    pub epoch: u64,
}

impl Attempt {
    /// The version that the attempt makes.
    #[must_use]
    pub const fn next_version(&self) -> u64 {
        self.intent.version + 1
    }

    /// Whether the row still is as this attempt needs it to send: rule (x).
    pub(super) fn stands_in(&self, row: &RowView) -> bool {
        row.status == Status::Live && self.is_mine_in(row)
    }

    /// Whether the row's intent is this attempt's, in its epoch and version.
    pub(super) fn is_mine_in(&self, row: &RowView) -> bool {
        row.epoch == self.epoch && row.version == self.intent.version && row.intent.as_ref() == Some(&self.intent)
    }
}

/// What the owner's journal holds.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Journal {
    /// The refresh token of the attempt's version is about to be sent, or was.
    AboutToSend(Attempt),
    /// The sealed pair of the next version stands beside this entry.
    Pair(Attempt),
}

/// What a provider does with a refresh token that comes twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reuse {
    /// It may end the grant: the default for everybody.
    Detected,
    /// It answers again; only where a preset says so.
    Safe,
}

/// What revoking one token ends at a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Revocation {
    /// That token.
    Token,
    /// The tokens of one consent.
    Family,
    /// All that the person ever granted to this client: the default for everybody.
    Grant,
}

/// What is known of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Preset {
    /// Reuse of a refresh token.
    pub reuse: Reuse,
    /// Reach of a revocation.
    pub revocation: Revocation,
}

impl Default for Preset {
    fn default() -> Self {
        Self { reuse: Reuse::Detected, revocation: Revocation::Grant }
    }
}

/// A step of a new consent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReconsentStep {
    /// Revoke the old refresh token.
    RevokeOld,
    /// The person consents.
    Consent,
    /// Compare-and-set on the epoch alone: epoch + 1, version + 1, no intent, live.
    Store,
}

/// The order of a new consent (vii): where a revocation ends the whole grant, it comes before the consent and never after.
#[must_use]
pub const fn reconsent_order(revocation: Revocation) -> [ReconsentStep; 3] {
    match revocation {
        Revocation::Grant => [ReconsentStep::RevokeOld, ReconsentStep::Consent, ReconsentStep::Store],
        Revocation::Token | Revocation::Family => {
            [ReconsentStep::Consent, ReconsentStep::Store, ReconsentStep::RevokeOld]
        }
    }
}

/// Whether an access token has enough time left to be used without a refresh; one without a stated end is used until it is refused.
#[must_use]
pub fn is_fresh(ends_at_s: Option<u64>, now_s: u64) -> bool {
    ends_at_s.is_none_or(|end| end > now_s.saturating_add(limits::REFRESH_LEFT_S_MIN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_fresh_for_more_than_a_minute() {
        assert!(is_fresh(None, u64::MAX));
        assert!(is_fresh(Some(161), 100));
        assert!(!is_fresh(Some(160), 100));
        assert!(!is_fresh(Some(0), 100));
        assert!(!is_fresh(Some(u64::MAX), u64::MAX));
    }
}
