//! What went wrong in a driver or a suite, and what to do about it. Never holds a secret: text of a process is added only where it is known to have none.

use std::fmt;

/// Two sentences: what happened, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// What happened.
    pub what: String,
    /// What to do about it.
    pub then: String,
}

impl Trouble {
    /// A trouble by its two sentences.
    #[must_use]
    pub fn new(what: impl Into<String>, then: impl Into<String>) -> Self {
        Self { what: what.into(), then: then.into() }
    }

    /// The same, with what was being done in front.
    #[must_use]
    pub fn during(mut self, step: &str) -> Self {
        self.what = format!("{step}: {}", self.what);
        self
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.what, self.then)
    }
}

impl std::error::Error for Trouble {}
