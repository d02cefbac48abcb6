//! Why the store refused or failed. Never carries a bound value, a row or a driver's own message, which may quote either.

use std::fmt;

/// Everything a call into the store can end with besides an answer. The first group is about the caller, the last about the engine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Not there, or not the caller's to see. The two are one on purpose.
    #[error("no such {what}")]
    NotVisible {
        /// The product noun.
        what: &'static str,
    },
    /// The id stands already, with other content.
    #[error("this {what} exists already with other content")]
    AlreadyThere {
        /// The product noun.
        what: &'static str,
    },
    /// The row moved on since the caller read it.
    #[error("the {what} changed meanwhile: expected version {expected}, found {actual}")]
    VersionMoved {
        /// The product noun.
        what: &'static str,
        /// What the caller saw.
        expected: u64,
        /// What stands.
        actual: u64,
    },
    /// The state does not allow this step.
    #[error("the {what} is `{state}`")]
    WrongState {
        /// The product noun.
        what: &'static str,
        /// The state's word.
        state: &'static str,
    },
    /// A refresh token of this connection may be on its way; another write would lose its successor.
    #[error("the connection is being refreshed")]
    Refreshing,
    /// A named maximum is reached; nothing was evicted.
    #[error("the maximum of {max} for {what} is reached")]
    Full {
        /// What is full.
        what: &'static str,
        /// The maximum.
        max: u64,
    },
    /// A value that may be used once came again.
    #[error("this {what} was used before")]
    Replayed {
        /// What came again.
        what: &'static str,
    },
    /// The actor's role does not reach this member or this role.
    #[error("the role does not allow this")]
    Outranked,
    /// A workspace keeps at least one owner.
    #[error("the last owner of a workspace stays")]
    LastOwner,
    /// Text with a NUL character, which one of the engines cannot keep.
    #[error("text with a NUL character cannot be stored")]
    Nul,

    /// A write touched another number of rows than one: somebody else was faster, or the row is not there.
    #[error("`{statement}` touched {actual} rows, expected {expected}")]
    Fenced {
        /// The statement's name.
        statement: &'static str,
        /// Always 1 today.
        expected: u64,
        /// Rows touched.
        actual: u64,
    },
    /// A commit without an event held a write that needs one.
    #[error("`{statement}` needs an audit event")]
    Unexplained {
        /// The statement's name.
        statement: &'static str,
    },
    /// A row that cannot be: its column has a value no code of ours writes.
    #[error("table `{table}`, column `{column}`, row `{row}`: impossible value")]
    Inconsistent {
        /// Table.
        table: &'static str,
        /// Column.
        column: &'static str,
        /// The row's id.
        row: String,
    },

    /// Others kept winning; nothing was written.
    #[error("`{operation}` met too many competing writers")]
    Contention {
        /// The operation's name.
        operation: &'static str,
    },
    /// The body did not end within its maximum; nothing was written.
    #[error("`{operation}` took longer than a transaction may")]
    TooSlow {
        /// The operation's name.
        operation: &'static str,
    },
    /// The body went on after a failed statement, or kept the transaction beyond its end; nothing was written.
    #[error("`{operation}` went on with a transaction that was over")]
    Spoiled {
        /// The operation's name.
        operation: &'static str,
    },
    /// The database was written by a newer or another program; it is left alone.
    #[error("schema version {version} is not known to this program")]
    UnknownSchema {
        /// The version found.
        version: i64,
    },
    /// The engine failed.
    #[error("database failed: {0}")]
    Engine(EngineFault),
    /// The store is closed.
    #[error("the store is closed")]
    Closed,
}

impl StoreError {
    /// Whether trying the same thing later can help without anybody changing it.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        matches!(self, Self::Contention { .. } | Self::TooSlow { .. } | Self::Engine(_) | Self::Closed)
    }
}

/// What is safe to say about an engine's failure: its kind, its code and the constraint, never the message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineFault {
    kind: &'static str,
    code: Option<String>,
    constraint: Option<String>,
}

impl EngineFault {
    /// The engine's own code: an SQLSTATE, or an SQLite extended result code in decimal.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        self.code.as_deref()
    }

    /// PostgreSQL's two ways to say that another transaction won.
    pub(crate) fn is_contention(&self) -> bool {
        matches!(self.code(), Some("40001" | "40P01"))
    }

    pub(crate) const fn of_kind(kind: &'static str) -> Self {
        Self { kind, code: None, constraint: None }
    }
}

impl fmt::Display for EngineFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind)?;
        if let Some(code) = &self.code {
            write!(f, ", code {code}")?;
        }
        if let Some(constraint) = &self.constraint {
            write!(f, ", constraint {constraint}")?;
        }
        Ok(())
    }
}

impl From<&sqlx::Error> for EngineFault {
    fn from(error: &sqlx::Error) -> Self {
        if let Some(database) = error.as_database_error() {
            return Self {
                kind: "statement refused",
                code: database.code().map(|code| code.into_owned()),
                constraint: database.constraint().map(str::to_owned),
            };
        }
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "the driver's enum is open; what is not named here is one kind"
        )]
        let kind = match error {
            sqlx::Error::Io(_) => "connection lost",
            sqlx::Error::Tls(_) => "TLS failed",
            sqlx::Error::PoolTimedOut => "no connection free",
            sqlx::Error::PoolClosed => "pool closed",
            sqlx::Error::WorkerCrashed => "worker ended",
            sqlx::Error::Configuration(_) => "configuration refused",
            sqlx::Error::ColumnDecode { .. } | sqlx::Error::ColumnNotFound(_) => "unexpected column",
            _ => "driver error",
        };
        Self::of_kind(kind)
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        Self::Engine(EngineFault::from(&error))
    }
}
