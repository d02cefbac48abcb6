//! Statements as data: written once, named, and bound to plain values. Never builds SQL from input.

use crate::error::StoreError;
use contract::Digest;

/// What a statement may do, which decides the commit it asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Reads only; the one kind that runs inside `read`.
    Read,
    /// Changes something that an audit event must explain.
    Write,
    /// Housekeeping that may be committed as upkeep.
    Upkeep(Upkeep),
}

/// The closed list of what may be committed without an event: it changes nothing that anybody decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upkeep {
    /// Request nonces seen.
    Nonce,
    /// A device or session was seen just now.
    Heartbeat,
    /// Access tokens issued or expired inside a family that stands.
    Session,
    /// Counted attempts.
    Retry,
    /// Sign-ins in progress and what waits for a review.
    SignIn,
    /// Wrapped tenant keys, in the database of their own.
    TenantKey,
    /// Who may try next.
    Lease,
}

/// One SQL statement with its name, its table and the text for each engine.
#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) name: &'static str,
    pub(crate) table: &'static str,
    pub(crate) access: Access,
    pub(crate) sqlite: &'static str,
    pub(crate) postgres: &'static str,
}

impl Statement {
    /// One text that both engines understand.
    #[must_use]
    pub(crate) const fn both(name: &'static str, table: &'static str, access: Access, text: &'static str) -> Self {
        Self { name, table, access, sqlite: text, postgres: text }
    }

    /// One text for each engine, where they differ.
    #[must_use]
    #[cfg_attr(not(test), expect(dead_code, reason = "no statement of the product differs yet"))]
    pub(crate) const fn split(
        name: &'static str,
        table: &'static str,
        access: Access,
        sqlite: &'static str,
        postgres: &'static str,
    ) -> Self {
        Self { name, table, access, sqlite, postgres }
    }
}

/// Declares the statements of one repository and lists them, so that a test can prepare every one on both engines.
///
/// A statement is `access "table" NAME = text;` or, where the engines differ, `access "table" NAME = sqlite_text => postgres_text;`.
macro_rules! statements {
    ($($access:ident $(($upkeep:ident))? $table:literal $name:ident = $sqlite:expr $(=> $postgres:expr)?;)+) => {
        $(const $name: $crate::engine::Statement = $crate::engine::statements!(
            @one $name, $table, $crate::engine::Access::$access $(($crate::engine::Upkeep::$upkeep))?, $sqlite $(=> $postgres)?
        );)+

        /// Every statement of this file.
        #[cfg(test)]
        pub(crate) const STATEMENTS: &[&$crate::engine::Statement] = &[$(&$name),+];
    };
    (@one $name:ident, $table:literal, $access:expr, $text:expr) => {
        $crate::engine::Statement::both(stringify!($name), $table, $access, $text)
    };
    (@one $name:ident, $table:literal, $access:expr, $sqlite:expr => $postgres:expr) => {
        $crate::engine::Statement::split(stringify!($name), $table, $access, $sqlite, $postgres)
    };
}
pub(crate) use statements;

/// A value bound to a placeholder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    Text(Option<String>),
    Int(Option<i64>),
    Bytes(Option<Vec<u8>>),
}

impl Value {
    /// PostgreSQL has no NUL in text; SQLite would keep it and cut it in some functions. Neither gets it.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        match self {
            Self::Text(Some(text)) if text.contains('\0') => Err(StoreError::Nul),
            Self::Text(_) | Self::Int(_) | Self::Bytes(_) => Ok(()),
        }
    }
}

/// Collects bound values in the order of their placeholders.
macro_rules! bind {
    ($($value:expr),* $(,)?) => { vec![$($crate::engine::Value::from($value)),*] };
}
pub(crate) use bind;

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(Some(text.to_owned()))
    }
}

impl From<Option<&str>> for Value {
    fn from(text: Option<&str>) -> Self {
        Self::Text(text.map(str::to_owned))
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Self {
        Self::Text(Some(text.clone()))
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(Some(text))
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(Some(value))
    }
}

impl From<Option<i64>> for Value {
    fn from(value: Option<i64>) -> Self {
        Self::Int(value)
    }
}

impl From<u64> for Value {
    /// Beyond `i64::MAX` no row has a version or a count, so the largest value finds nothing, as it should.
    fn from(value: u64) -> Self {
        Self::Int(Some(i64::try_from(value).unwrap_or(i64::MAX)))
    }
}

impl From<&[u8]> for Value {
    fn from(bytes: &[u8]) -> Self {
        Self::Bytes(Some(bytes.to_vec()))
    }
}

impl From<&[u8; 32]> for Value {
    fn from(bytes: &[u8; 32]) -> Self {
        Self::Bytes(Some(bytes.to_vec()))
    }
}

impl From<&Digest> for Value {
    fn from(digest: &Digest) -> Self {
        Self::Text(Some(digest.b64u()))
    }
}

impl From<Option<&Digest>> for Value {
    fn from(digest: Option<&Digest>) -> Self {
        Self::Text(digest.map(Digest::b64u))
    }
}

macro_rules! id_values {
    ($($id:ident)+) => {$(
        impl From<&contract::ids::$id> for Value {
            fn from(id: &contract::ids::$id) -> Self {
                Self::Text(Some(id.as_str().to_owned()))
            }
        }

        impl From<Option<&contract::ids::$id>> for Value {
            fn from(id: Option<&contract::ids::$id>) -> Self {
                Self::Text(id.map(|id| id.as_str().to_owned()))
            }
        }
    )+};
}
id_values!(ConnectionId DeploymentId DeviceId FamilyId LoanId PairingId ProjectId UserId WorkspaceId);
