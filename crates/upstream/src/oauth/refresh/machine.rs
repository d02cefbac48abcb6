//! The transitions of the refresh machine, each rule of 2.b.8 at its place. Pure: no clock, no store, no network.

use super::row::{Attempt, Held, Intent, Journal, Owner, Preset, Reuse, Revocation, RowView, Status};
use super::state::{Action, End, Event, InvalidTransition, State, Then, Why};
use contract::limits;

/// One owner's refresh of one connection. `Clone` is for models of it: a caller runs each machine once.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[must_use]
pub struct Machine {
    owner: Owner,
    preset: Preset,
    state: State,
}

impl Machine {
    /// Begins a refresh; the local access token is not fresh any more, and the journal is empty.
    pub const fn start(owner: Owner, preset: Preset, held: Held) -> Self {
        Self { owner, preset, state: State::Acquiring { held, round: 0 } }
    }

    /// Goes on after a restart, from what the journal holds.
    pub fn recover(owner: Owner, preset: Preset, journal: Journal) -> Self {
        let state = match journal {
            Journal::AboutToSend(attempt) => State::Recovering(attempt),
            Journal::Pair(attempt) => State::Uploading(attempt),
        };
        Self { owner, preset, state }
    }

    /// What has to be done next.
    #[must_use]
    pub fn action(&self) -> Action {
        match &self.state {
            State::Acquiring { .. } => Action::Acquire,
            State::Pulling { .. } => Action::Pull,
            State::PuttingIntent { attempt, replaces, .. } => {
                Action::PutIntent { attempt: attempt.clone(), replaces: replaces.clone() }
            }
            State::JournalingIntent(attempt) => Action::JournalIntent(attempt.clone()),
            State::Rereading(_) | State::Recovering(_) => Action::ReadRow,
            State::Sending(attempt) => Action::Send(attempt.clone()),
            State::JournalingPair(attempt) => Action::JournalPair(attempt.clone()),
            State::Uploading(attempt) => Action::Upload(attempt.clone()),
            State::MarkingUncertain(attempt) => Action::MarkUncertain(attempt.clone()),
            State::MarkingDead(attempt) => Action::MarkDead(attempt.clone()),
            State::Clearing { .. } => Action::ClearJournal,
            State::Withdrawing { intent, .. } => Action::Withdraw(intent.clone()),
            State::RevokingSuccessor(attempt) => Action::RevokeSuccessor(attempt.clone()),
            State::Finished(end) => Action::Finish(end.clone()),
        }
    }

    /// Takes the outcome of [`Self::action`].
    pub fn advance(self, event: Event) -> Result<Self, InvalidTransition> {
        let state = match (self.state.clone(), event) {
            (State::Acquiring { held, round }, Event::Acquired { fence, row }) => {
                self.acquired(held, round, fence, row)
            }
            (State::Acquiring { .. }, Event::LeaseTaken) => State::Finished(End::Wait { intent: None }),
            (State::Acquiring { .. } | State::Pulling { .. }, Event::Failed) => State::Finished(End::TryLater),
            (State::Pulling { .. }, Event::Pulled { fresh: true, .. }) => State::Finished(End::UseStored),
            (State::Pulling { round }, Event::Pulled { held, fresh: false }) => again(held, round),

            (State::PuttingIntent { attempt, .. }, Event::Done) => State::JournalingIntent(attempt),
            (State::PuttingIntent { held, round, .. }, Event::Lost(_)) => again(held, round),
            // It can stand all the same: the next start finds it without a journal and withdraws it (iv).
            (State::PuttingIntent { .. }, Event::Failed) => State::Finished(End::TryLater),

            (State::JournalingIntent(attempt), Event::Done) => State::Rereading(attempt),
            // The entry can be durable all the same: it goes before the intent does.
            (State::JournalingIntent(attempt) | State::Rereading(attempt), Event::Failed) => give_up(attempt),
            (State::Rereading(attempt), Event::Row(row)) => reread(attempt, &row),

            (State::Sending(attempt), Event::Answered) => State::JournalingPair(attempt),
            (State::Sending(attempt), Event::InvalidGrant) => State::MarkingDead(attempt),
            (State::Sending(attempt), Event::NotUsed) => give_up(attempt),
            (State::Sending(attempt), Event::NoAnswer) => self.unanswered(attempt),

            // Without the entry a crash would lose the pair; storing it is the best that can still be done.
            (State::JournalingPair(attempt), Event::Done | Event::Failed) => State::Uploading(attempt),
            (State::Uploading(attempt), Event::Done) => {
                State::Clearing { withdraw: None, end: End::Refreshed { version: attempt.next_version() } }
            }
            (State::Uploading(attempt), Event::Lost(row)) => self.upload_lost(attempt, &row),
            (State::Uploading(attempt), Event::Failed) => {
                State::Finished(End::NotStoredYet { version: attempt.next_version() })
            }

            // The journal keeps "about to send" until a new consent voids it: nothing is sent from it again.
            (State::MarkingUncertain(_), Event::Done | Event::Lost(_) | Event::Failed) => needs_you(Why::Uncertain),
            (State::MarkingDead(_), Event::Done) => cleared(End::NeedsYou(Why::Dead)),
            // (v): the version that was refused is not the stored one any more.
            (State::MarkingDead(_), Event::Lost(_)) => cleared(End::Superseded),
            (State::MarkingDead(_), Event::Failed) => needs_you(Why::Dead),

            (State::Clearing { withdraw: Some(intent), end }, Event::Done) => {
                State::Withdrawing { intent, then: Then::End(end) }
            }
            (State::Clearing { withdraw: None, end }, Event::Done) => State::Finished(end),
            // The intent may only go when the journal is empty.
            (State::Clearing { end, .. }, Event::Failed) => State::Finished(end),
            (State::Withdrawing { then, .. }, Event::Done | Event::Lost(_)) => match then {
                Then::End(end) => State::Finished(end),
                Then::Again { held, round } => again(held, round),
            },
            (State::Withdrawing { then: Then::End(end), .. }, Event::Failed) => State::Finished(end),
            (State::Withdrawing { then: Then::Again { .. }, .. }, Event::Failed) => State::Finished(End::TryLater),

            (State::RevokingSuccessor(_), Event::Done) => cleared(End::Superseded),
            // The journal keeps the pair, so that the next recovery revokes it.
            (State::RevokingSuccessor(_), Event::Failed) => State::Finished(End::Superseded),

            (State::Recovering(attempt), Event::Row(row)) => self.recovered(attempt, &row),
            (State::Recovering(_), Event::Failed) => State::Finished(End::TryLater),
            (_, _) => return Err(InvalidTransition),
        };
        Ok(Self { state, ..self })
    }

    /// Steps 2 and 3: what the row says decides whether an intent may be placed.
    fn acquired(&self, held: Held, round: u32, fence: u64, row: RowView) -> State {
        if row.version < held.version || row.epoch < held.epoch {
            return State::Finished(End::RolledBack);
        }
        if row.version > held.version || row.epoch > held.epoch {
            return State::Pulling { round };
        }
        match row.status {
            Status::Live => {}
            Status::Uncertain => return needs_you(Why::Uncertain),
            Status::Dead => return needs_you(Why::Dead),
        }
        let replaces = match row.intent {
            // (iv): ours, and the journal is empty, so nothing was sent.
            Some(intent) if intent.owner == self.owner => {
                return State::Withdrawing { intent, then: Then::Again { held, round } };
            }
            // (ii), (iii): somebody else's stands, however old it is.
            Some(intent) if self.preset.reuse == Reuse::Detected => {
                return State::Finished(End::Wait { intent: Some(intent) });
            }
            other => other,
        };
        let intent = Intent { owner: self.owner.clone(), fence, version: row.version };
        State::PuttingIntent { held, round, attempt: Attempt { intent, epoch: row.epoch }, replaces }
    }

    /// (iv): sent and no reply. Never again, unless the provider is safe against it.
    fn unanswered(&self, attempt: Attempt) -> State {
        match self.preset.reuse {
            Reuse::Detected => State::MarkingUncertain(attempt),
            Reuse::Safe => give_up(attempt),
        }
    }

    /// The pair cannot be stored: a new consent, a revoked device, or a takeover at a provider that is safe against it.
    fn upload_lost(&self, attempt: Attempt, row: &RowView) -> State {
        if attempt.is_mine_in(row) {
            // A service that refuses what the rules allow. The journal keeps the pair.
            return State::Finished(End::NotStoredYet { version: attempt.next_version() });
        }
        let voided = row.epoch != attempt.epoch || row.version == attempt.intent.version;
        match self.preset.revocation {
            // (viii): nobody else can ever use this token, and it lives.
            Revocation::Token | Revocation::Family if voided => State::RevokingSuccessor(attempt),
            // It would end the new consent, or the tokens of whoever took over.
            Revocation::Token | Revocation::Family | Revocation::Grant => cleared(End::Superseded),
        }
    }

    /// A restart with "about to send" in the journal and no reply.
    fn recovered(&self, attempt: Attempt, row: &RowView) -> State {
        if row.epoch != attempt.epoch || row.version > attempt.intent.version {
            return cleared(End::Superseded);
        }
        if row.version < attempt.intent.version {
            return State::Finished(End::RolledBack);
        }
        match row.status {
            Status::Dead => cleared(End::NeedsYou(Why::Dead)),
            Status::Uncertain => needs_you(Why::Uncertain),
            Status::Live if attempt.is_mine_in(row) => self.unanswered(attempt),
            Status::Live if self.preset.reuse == Reuse::Safe => cleared(End::Superseded),
            Status::Live => needs_you(Why::Uncertain),
        }
    }
}

/// (x): read immediately before the one attempt.
fn reread(attempt: Attempt, row: &RowView) -> State {
    if attempt.stands_in(row) {
        return State::Sending(attempt);
    }
    State::Clearing { withdraw: Some(attempt.intent), end: End::Superseded }
}

/// Nothing was used up: the journal is emptied first, so that a crash in between finds an intent that may be withdrawn.
fn give_up(attempt: Attempt) -> State {
    State::Clearing { withdraw: Some(attempt.intent), end: End::TryLater }
}

fn again(held: Held, round: u32) -> State {
    if round + 1 >= limits::REFRESH_ROUNDS_MAX {
        return State::Finished(End::Wait { intent: None });
    }
    State::Acquiring { held, round: round + 1 }
}

const fn cleared(end: End) -> State {
    State::Clearing { withdraw: None, end }
}

const fn needs_you(why: Why) -> State {
    State::Finished(End::NeedsYou(why))
}
