//! Repositories: the statements of each table and the domain values their rows become. Every statement about something that belongs to somebody carries the tenant.

pub(crate) mod audit;
pub(crate) mod browser;
pub(crate) mod connection;
pub(crate) mod credential;
pub(crate) mod deployment;
pub(crate) mod device;
pub(crate) mod draft;
pub(crate) mod invocation;
pub(crate) mod loan;
pub(crate) mod nonce;
pub(crate) mod oauth_txn;
pub(crate) mod pairing;
pub(crate) mod project;
pub(crate) mod refresh;
pub(crate) mod role;
pub(crate) mod session;
pub(crate) mod tenant_key;
pub(crate) mod vault;
pub(crate) mod workspace;

use contract::ids::{UserId, WorkspaceId};
use std::fmt;

/// The HMAC of a token or code under the key outside the database; the only form of either that the store sees.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TokenMac([u8; 32]);

impl TokenMac {
    /// Wraps the 32 bytes.
    #[must_use]
    pub const fn new(mac: [u8; 32]) -> Self {
        Self(mac)
    }
}

impl From<&TokenMac> for crate::engine::Value {
    fn from(mac: &TokenMac) -> Self {
        Self::from(&mac.0)
    }
}

impl fmt::Debug for TokenMac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenMac(..)")
    }
}

/// Who asks, and in which workspace: the tenant of every question about something a person chose an id for. Both come from the session, never from a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Viewer {
    /// The session's workspace.
    pub workspace_id: WorkspaceId,
    /// The session's user.
    pub user_id: UserId,
}

/// What an insert found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inserted<T> {
    /// It was not there.
    New(T),
    /// The same content stood already; nothing was written.
    Same(T),
}

impl<T> Inserted<T> {
    /// The value, new or not.
    pub fn into_value(self) -> T {
        match self {
            Self::New(value) | Self::Same(value) => value,
        }
    }
}

/// The statements of the key store, which has a database of its own.
#[cfg(test)]
pub(crate) fn key_store_statements() -> impl Iterator<Item = &'static crate::engine::Statement> {
    tenant_key::STATEMENTS.iter().copied()
}

/// Every statement of the main database, for the test that prepares each on both engines.
#[cfg(test)]
pub(crate) fn all_statements() -> impl Iterator<Item = &'static crate::engine::Statement> {
    [
        audit::STATEMENTS,
        browser::STATEMENTS,
        connection::STATEMENTS,
        credential::STATEMENTS,
        deployment::STATEMENTS,
        device::STATEMENTS,
        draft::STATEMENTS,
        invocation::STATEMENTS,
        loan::STATEMENTS,
        nonce::STATEMENTS,
        oauth_txn::STATEMENTS,
        pairing::STATEMENTS,
        project::STATEMENTS,
        refresh::STATEMENTS,
        session::STATEMENTS,
        vault::STATEMENTS,
        workspace::STATEMENTS,
    ]
    .into_iter()
    .flatten()
    .copied()
}
