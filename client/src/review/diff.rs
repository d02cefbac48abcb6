//! What changed between a reviewed manifest and the one the server has now, with a risk class for each change. Compares bytes, and calls nothing harmless because a server says so.

use super::{hidden_texts, is_suspect, table::quoted};
use contract::manifest::{self, Hint, RawManifest};
use contract::review::Era;
use contract::{Effect, Json};

/// How much a change can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Risk {
    /// Takes away, or changes what neither a model nor a person acts on.
    Low,
    /// Changes what a model or person reads or may send; read it.
    Medium,
    /// Claims more than before, hides something, or speaks to the model directly.
    High,
}

impl Risk {
    /// The word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// How much it can do.
    pub risk: Risk,
    /// The tool; none for the server's own words and protocol.
    pub tool: Option<String>,
    /// What happened, in words.
    pub what: String,
    /// The text before, where one was there.
    pub before: Option<String>,
    /// The text now, where one is there.
    pub after: Option<String>,
}

/// A manifest in its era.
#[derive(Debug, Clone, Copy)]
pub struct Edition<'a> {
    /// The manifest.
    pub manifest: &'a RawManifest,
    /// Its era.
    pub era: Era,
}

/// Every change from `old` to `new`, riskiest first. Empty exactly when digest and era are the same.
#[must_use]
pub fn changes(old: Edition<'_>, new: Edition<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    if old.era != new.era {
        let (before, after) = (Some(old.era.as_str().to_owned()), Some(new.era.as_str().to_owned()));
        changes.push(Change { risk: Risk::Medium, tool: None, what: "the protocol era".to_owned(), before, after });
    }
    let (before, after) = (old.manifest.instructions(), new.manifest.instructions());
    if before != after {
        let (before, after) = (some(before), some(after));
        changes.push(Change {
            risk: Risk::High,
            tool: None,
            what: "the server's instructions".to_owned(),
            before,
            after,
        });
    }
    for (name, tool) in old.manifest.tools() {
        match new.manifest.find_tool(name) {
            None => changes.push(of_tool(Risk::Low, name, "is gone")),
            Some(now) => changed_tool(name, tool, now, &mut changes),
        }
    }
    for (name, tool) in new.manifest.tools().filter(|(name, _)| old.manifest.find_tool(name).is_none()) {
        let hides = !hidden_texts(tool).is_empty() || is_suspect(name);
        let risk =
            if hides || manifest::propose_effect(tool) == Effect::Restricted { Risk::High } else { Risk::Medium };
        let mut change = of_tool(risk, name, "is new");
        change.after = tool.find_str("description").map(str::to_owned);
        changes.push(change);
    }
    changes.sort_by(|a, b| b.risk.cmp(&a.risk).then_with(|| a.tool.cmp(&b.tool)));
    changes
}

/// The changes as lines for people.
#[must_use]
pub fn lines(changes: &[Change]) -> Vec<String> {
    let mut lines = Vec::new();
    for change in changes {
        let about = change.tool.as_ref().map_or_else(String::new, |tool| format!("{tool}: "));
        lines.push(format!("[{}] {about}{}", change.risk.as_str(), change.what));
        lines.extend(change.before.iter().flat_map(|before| quoted(before, "    - ")));
        lines.extend(change.after.iter().flat_map(|after| quoted(after, "    + ")));
    }
    lines
}

/// The changes for machines.
#[must_use]
pub fn to_json(changes: &[Change]) -> Json {
    let items = changes.iter().map(|change| {
        let text = |text: &Option<String>| text.as_deref().map_or(Json::Null, Json::from);
        Json::from_members([
            ("risk", change.risk.as_str().into()),
            ("tool", text(&change.tool)),
            ("what", change.what.as_str().into()),
            ("before", text(&change.before)),
            ("after", text(&change.after)),
        ])
    });
    Json::Array(items.collect())
}

fn some(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn of_tool(risk: Risk, name: &str, what: impl Into<String>) -> Change {
    Change { risk, tool: Some(name.to_owned()), what: what.into(), before: None, after: None }
}

fn changed_tool(name: &str, old: &Json, new: &Json, changes: &mut Vec<Change>) {
    if old == new {
        return;
    }
    let hidden_now = hidden_texts(new);
    let newly_hidden = hidden_now.iter().any(|at| !hidden_texts(old).contains(at));
    if newly_hidden {
        changes.push(of_tool(Risk::High, name, format!("hides characters in {}", hidden_now.join(", "))));
    }
    let fields = old.as_object().into_iter().chain(new.as_object()).flatten().map(|(field, _)| field.as_str());
    for field in fields.collect::<std::collections::BTreeSet<_>>() {
        let (before, after) = (old.find(field), new.find(field));
        if before != after {
            let mut change =
                of_tool(risk_of_field(field, old, new), name, format!("`{field}` {}", verb(before, after)));
            (change.before, change.after) = (before.map(shown), after.map(shown));
            changes.push(change);
        }
    }
}

/// A claim to be milder is the worst change of all: it asks for less care.
fn risk_of_field(field: &str, old: &Json, new: &Json) -> Risk {
    match field {
        "annotations" => {
            let severity = |tool: &Json| match manifest::hint(tool) {
                Hint::ReadOnly => 0,
                Hint::Silent => 1,
                Hint::Destructive => 2,
            };
            if severity(new) < severity(old) { Risk::High } else { Risk::Medium }
        }
        "icons" | "outputSchema" => Risk::Low,
        // Descriptions, schemas, titles, and every field that nobody here knows.
        _ => Risk::Medium,
    }
}

const fn verb(before: Option<&Json>, after: Option<&Json>) -> &'static str {
    match (before, after) {
        (None, _) => "is new",
        (_, None) => "is gone",
        (Some(_), Some(_)) => "changed",
    }
}

fn shown(value: &Json) -> String {
    value.as_str().map_or_else(|| value.canonical_string(), str::to_owned)
}
