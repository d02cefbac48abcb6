//! The chapters of the story, each one function: what happens, what is checked, who could read what afterwards.

mod calls;
mod change;
mod revoke;
mod setup;
mod share;
mod storage;

pub(super) use calls::{commit, read};
pub(super) use change::{change, review_again};
pub(super) use revoke::revoke;
pub(super) use setup::{pair, sign_in, start};
pub(super) use share::{bring_the_key, share};
pub(super) use storage::look_at_the_service;
