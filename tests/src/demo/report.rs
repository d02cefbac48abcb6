//! What the demo found out, as one JSON document. Facts only; the words are the teller's.

use serde::Serialize;
use serde_json::{Map, Value};

/// The whole story.
#[derive(Debug, Default, Serialize)]
pub(super) struct Report {
    /// Whether it came to its end with every check passed.
    pub(super) ok: bool,
    /// What failed, and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<Value>,
    /// Chapters in order.
    pub(super) chapters: Vec<Chapter>,
    /// Commands that a person typed, in all.
    pub(super) commands: usize,
    /// Decisions that a person made, in all.
    pub(super) decisions: usize,
    /// Facts by name.
    pub(super) facts: Map<String, Value>,
}

/// One chapter.
#[derive(Debug, Default, Serialize)]
pub(super) struct Chapter {
    /// Its title.
    pub(super) title: String,
    /// The commands, as typed.
    pub(super) commands: Vec<String>,
    /// The decisions, in words.
    pub(super) decisions: Vec<String>,
    /// What was checked, in words.
    pub(super) checked: Vec<String>,
    /// Who could read what at its end.
    pub(super) readers: Vec<Reader>,
}

/// One who could read something.
#[derive(Debug, Serialize)]
pub(super) struct Reader {
    /// Who.
    pub(super) who: String,
    /// What.
    pub(super) what: String,
}
