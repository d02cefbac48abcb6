//! Actions, events and states of the refresh machine. Only names what there is; what follows what is in `machine`.

use super::row::{Attempt, Held, Intent, RowView};

/// What has to be done next.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Action {
    /// Take the connection's lease → [`Event::Acquired`], [`Event::LeaseTaken`], [`Event::Failed`].
    Acquire,
    /// Fetch and open the stored version → [`Event::Pulled`], [`Event::Failed`].
    Pull,
    /// Place the intent, if none stands (or the one to replace does), the version and epoch are these and the fence is current → [`Event::Done`], [`Event::Lost`], [`Event::Failed`].
    PutIntent {
        /// The attempt.
        attempt: Attempt,
        /// Only at a provider that is safe against reuse: the intent that it takes over.
        replaces: Option<Intent>,
    },
    /// Write "about to send" durably → [`Event::Done`], [`Event::Failed`].
    JournalIntent(Attempt),
    /// Read the row → [`Event::Row`], [`Event::Failed`].
    ReadRow,
    /// Send the refresh token of this version, once → [`Event::Answered`], [`Event::InvalidGrant`], [`Event::NotUsed`], [`Event::NoAnswer`].
    Send(Attempt),
    /// Seal the answer as the next version and write it durably → [`Event::Done`], [`Event::Failed`].
    JournalPair(Attempt),
    /// Store the sealed pair if version, epoch and intent are these; the lease is not asked for → [`Event::Done`], [`Event::Lost`], [`Event::Failed`].
    Upload(Attempt),
    /// Mark the row uncertain, if version, epoch and intent are these → [`Event::Done`], [`Event::Lost`], [`Event::Failed`].
    MarkUncertain(Attempt),
    /// Mark the row dead and take the intent away, if version, epoch and intent are these → [`Event::Done`], [`Event::Lost`], [`Event::Failed`].
    MarkDead(Attempt),
    /// Empty the journal durably → [`Event::Done`], [`Event::Failed`].
    ClearJournal,
    /// Take the intent back, if it is this one → [`Event::Done`], [`Event::Lost`], [`Event::Failed`].
    Withdraw(Intent),
    /// Revoke the refresh token in the own journal, which nobody can store any more → [`Event::Done`], [`Event::Failed`].
    RevokeSuccessor(Attempt),
    /// Nothing; it is over.
    Finish(End),
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Event {
    /// The lease is ours under this fence, and the row is this.
    Acquired {
        /// The lease's fence.
        fence: u64,
        /// The row.
        row: RowView,
    },
    /// Somebody else has the lease.
    LeaseTaken,
    /// The stored version is opened now.
    Pulled {
        /// What was opened.
        held: Held,
        /// Whether its access token can be used ([`super::is_fresh`]).
        fresh: bool,
    },
    /// The row is this.
    Row(RowView),
    /// It is done, durably.
    Done,
    /// The compare-and-set was refused; the row is this.
    Lost(RowView),
    /// It was not done, or nobody knows whether it was.
    Failed,
    /// The provider gave tokens.
    Answered,
    /// The provider answered `invalid_grant`.
    InvalidGrant,
    /// Nothing was sent, or the provider refused before it used the token ([`egress::Sent::No`]).
    NotUsed,
    /// Nobody knows ([`egress::Sent::Maybe`]).
    NoAnswer,
}

/// Why the person is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Why {
    /// It is not known whether the refresh token was used.
    Uncertain,
    /// The provider refuses it.
    Dead,
}

/// How it ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum End {
    /// The stored version's access token can be used.
    UseStored,
    /// The next version is stored.
    Refreshed {
        /// The version.
        version: u64,
    },
    /// The answer is here and in the journal; storing it is for [`super::Machine::recover`].
    NotStoredYet {
        /// The version it will have.
        version: u64,
    },
    /// Somebody else is at it; nobody calls the provider meanwhile (ii).
    Wait {
        /// Whose intent stands, if one does.
        intent: Option<Intent>,
    },
    /// Nothing was used up; it may be tried again later.
    TryLater,
    /// A new consent or another version replaced this attempt; pull and start anew.
    Superseded,
    /// The person is needed.
    NeedsYou(Why),
    /// The row is older than what was opened before (2.a.7).
    RolledBack,
}

/// The event does not answer the action.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this event does not answer the machine's action")]
pub struct InvalidTransition;

/// Where a machine is; each variant has one action.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum State {
    Acquiring { held: Held, round: u32 },
    Pulling { round: u32 },
    PuttingIntent { held: Held, round: u32, attempt: Attempt, replaces: Option<Intent> },
    JournalingIntent(Attempt),
    Rereading(Attempt),
    Sending(Attempt),
    JournalingPair(Attempt),
    Uploading(Attempt),
    MarkingUncertain(Attempt),
    MarkingDead(Attempt),
    Clearing { withdraw: Option<Intent>, end: End },
    Withdrawing { intent: Intent, then: Then },
    RevokingSuccessor(Attempt),
    Recovering(Attempt),
    Finished(End),
}

/// What follows a withdrawal.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Then {
    End(End),
    Again { held: Held, round: u32 },
}
