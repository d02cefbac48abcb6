//! The five effect classes of Authority v2, in their order; what a tool's effect is comes from a person's review, never from a server.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What a call does to the world, from harmless to what needs a person's word on exactly this operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// Reads only.
    Observe,
    /// Prepares something that nobody else sees.
    Prepare,
    /// Changes something of the person's own that can be undone.
    Act,
    /// Leaves a mark that others see or that cannot be taken back.
    Commit,
    /// Money, permanent deletion, account security, signatures, permissions.
    Restricted,
}

impl Effect {
    /// All effects, mildest first.
    pub const ALL: [Self; 5] = [Self::Observe, Self::Prepare, Self::Act, Self::Commit, Self::Restricted];

    /// The wire word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Observe => "observe",
            Self::Prepare => "prepare",
            Self::Act => "act",
            Self::Commit => "commit",
            Self::Restricted => "restricted",
        }
    }

    /// Reads the wire word; an unknown word is no effect.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|effect| effect.as_str() == word)
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
