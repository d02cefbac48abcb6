//! The refresh machine (2.b.8): who may send a single-use refresh token, once, when several owners share one grant over a store that none of them trusts. Never sends twice, never takes over by time, and never deletes what is stored.
//!
//! A [`Machine`] is pure: [`Machine::action`] says what has to be done next, the caller does it and tells the outcome
//! with [`Machine::advance`]. Devices over the blind service and processes of the service drive the same machine; only
//! where the row and the journal lie differs. No secret is inside it: tokens and sealed pairs stay with the caller.
//!
//! What the caller owes, in the words of the rules:
//! - one owner runs one machine for a connection at a time (a lock of the device or the process);
//! - each change of the row is a compare-and-set on what its [`Action`] names and on nothing else: an upload asks for
//!   version, epoch and intent, not for the lease (i); uploading bytes that are already stored is done, not lost;
//! - a journal entry is durable before [`Event::Done`] is told, and sealed under the owner's own key (x);
//! - after a restart, [`Machine::recover`] comes before [`Machine::start`];
//! - `revoke_device` and a new consent void standing intents; the first leaves the row uncertain (ix), the second
//!   raises the epoch (ii). [`reconsent_order`] says when the old grant is revoked (vii).

mod machine;
mod row;
mod state;

pub use machine::Machine;
pub use row::{
    Attempt, Held, Intent, Journal, Owner, Preset, ReconsentStep, Reuse, Revocation, RowView, Status, is_fresh,
    reconsent_order,
};
pub use state::{Action, End, Event, InvalidTransition, Why};
