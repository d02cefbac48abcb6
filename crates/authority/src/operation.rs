//! One exact operation: connection, review, tool and arguments. Two operations are the same when their digests are, and nothing else is compared.

use contract::{Digest, Json, ids::ConnectionId, labels};

/// `SHA-256(CJ(arguments))`: key order does not matter, every other byte does (`5` and `"5"` differ).
#[must_use]
pub fn arguments_digest(arguments: &Json) -> Digest {
    Digest::of(&[&arguments.canonical()])
}

/// What would be done, exactly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    connection: ConnectionId,
    review: Digest,
    tool: String,
    arguments: Digest,
}

impl Operation {
    /// An operation on a reviewed tool; [`crate::Pinned`] makes it, so it always names the review that stands.
    pub(crate) fn new(connection: ConnectionId, review: Digest, tool: &str, arguments: &Json) -> Self {
        Self { connection, review, tool: tool.to_owned(), arguments: arguments_digest(arguments) }
    }

    /// `SHA-256("collie.operation.v1\0" ‖ CJ({arguments, connection, review, tool}))`.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let body = Json::from_members([
            ("arguments", self.arguments.b64u().into()),
            ("connection", self.connection.as_str().into()),
            ("review", self.review.b64u().into()),
            ("tool", self.tool.as_str().into()),
        ]);
        Digest::of(&[labels::OPERATION, &body.canonical()])
    }

    /// The connection.
    #[must_use]
    pub const fn connection(&self) -> &ConnectionId {
        &self.connection
    }

    /// The tool's exact name.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Digest of the arguments.
    #[must_use]
    pub const fn arguments(&self) -> Digest {
        self.arguments
    }

    /// Digest of the review it is pinned to.
    #[must_use]
    pub const fn review(&self) -> Digest {
        self.review
    }
}
