//! The table a person reviews: tools grouped by effect, riskiest first, whole texts, nothing hidden. Lines go through the printer, which makes every hidden character visible.

use super::{Basis, Draft, DraftTool, short};
use contract::manifest::Hint;
use contract::{Effect, Json, text};

/// What the table says about the server itself.
#[derive(Debug, Clone)]
pub struct Heading {
    /// What the person calls the connection.
    pub name: String,
    /// The server's URL.
    pub endpoint: String,
    /// The addresses it leads to now.
    pub addresses: Vec<String>,
    /// How the credential travels.
    pub credential: String,
    /// Everything that is allowed beyond the usual: loopback, private networks, the public client's format.
    pub exceptions: Vec<String>,
}

/// Words for an effect, as a person weighs it.
#[must_use]
pub const fn meaning(effect: Effect) -> &'static str {
    match effect {
        Effect::Observe => "reads only; runs without asking",
        Effect::Prepare => "prepares something nobody else sees; runs without asking",
        Effect::Act => "changes something of yours that can be undone; runs without asking",
        Effect::Commit => "leaves a mark that others see or that cannot be taken back; asks for a yes each time",
        Effect::Restricted => "money, permanent deletion, account security, permissions; refused here",
    }
}

/// The whole table.
#[must_use]
pub fn lines(heading: &Heading, draft: &Draft) -> Vec<String> {
    let mut lines = vec![
        format!("Review of `{}`", heading.name),
        format!("  server        {}", heading.endpoint),
        format!("  addresses     {}", heading.addresses.join(", ")),
        format!("  credential    {}", heading.credential),
        format!("  protocol      MCP {}", draft.era().as_str()),
        format!("  manifest      {} ({} tools)", short(&draft.manifest().digest()), draft.manifest().tools().len()),
    ];
    lines.extend(heading.exceptions.iter().map(|exception| format!("  ! {exception}")));
    lines.extend(instructions(draft.manifest().instructions()));
    for effect in Effect::ALL.iter().rev() {
        let group: Vec<&DraftTool> = draft.tools().iter().filter(|tool| tool.effect == *effect).collect();
        if !group.is_empty() {
            lines.push(String::new());
            lines.push(format!(
                "{} ({}): {}",
                effect.as_str().to_uppercase(),
                group.len(),
                meaning_under(*effect, draft)
            ));
            lines.extend(group.into_iter().flat_map(tool_lines));
        }
    }
    if !draft.left_out().is_empty() {
        lines.push(String::new());
        lines.push(format!("LEFT OUT (nobody can call them): {}", draft.left_out().join(", ")));
    }
    lines
}

/// What an effect means where the review lets fewer effects run.
fn meaning_under(effect: Effect, draft: &Draft) -> &'static str {
    if effect < Effect::Commit && !draft.allowed_effects().contains(&effect) {
        return "not allowed in advance; asks for a yes each time";
    }
    meaning(effect)
}

/// What the server says about itself, whole.
fn instructions(said: &str) -> Vec<String> {
    if said.is_empty() {
        return vec!["  instructions  (none)".to_owned()];
    }
    let mut lines = vec!["  instructions  (a model may read these; they are the server's words, not ours)".to_owned()];
    lines.extend(quoted(said, "    | "));
    if super::is_suspect(said) {
        lines.push("    ! the instructions hold hidden characters, shown above as \\u{…}".to_owned());
    }
    lines
}

/// One tool.
fn tool_lines(tool: &DraftTool) -> Vec<String> {
    let mut lines = vec![format!("  {}  [{}; {}]", tool.name, tool.action, basis(tool.basis))];
    if let Some(title) = tool.tool.find_str("title") {
        lines.extend(quoted(title, "    title  "));
    }
    lines.extend(quoted(tool.tool.find_str("description").unwrap_or("(no description)"), "    | "));
    lines.push(format!("    arguments  {}", arguments(&tool.tool)));
    if !tool.bindings.is_empty() {
        let bindings =
            tool.bindings.iter().map(|(kind, pointers)| format!("{} = {}", kind.as_str(), pointers.join(",")));
        lines.push(format!("    bindings   {}", bindings.collect::<Vec<_>>().join("; ")));
    }
    if !tool.hidden.is_empty() {
        lines.push(format!("    ! hidden characters in {}", tool.hidden.join(", ")));
    }
    lines
}

/// Why an effect stands, in words.
#[must_use]
pub fn basis(basis: Basis) -> String {
    match basis {
        Basis::Proposed(Hint::ReadOnly) => "the server says it only reads; not confirmed".to_owned(),
        Basis::Proposed(Hint::Destructive) => "the server says it destroys".to_owned(),
        Basis::Proposed(Hint::Silent) => "the server does not say; so commit".to_owned(),
        Basis::Kept => "as reviewed, unchanged".to_owned(),
        Basis::Changed { before } => format!("CHANGED since it was reviewed as {before}"),
        Basis::Decided => "decided by you".to_owned(),
    }
}

fn arguments(tool: &Json) -> String {
    let required = tool.pointer("/inputSchema/required").and_then(Json::as_array).unwrap_or_default();
    let properties = tool.pointer("/inputSchema/properties").and_then(Json::as_object);
    let names: Vec<String> = properties
        .into_iter()
        .flatten()
        .map(|(name, schema)| {
            let mark = if required.iter().any(|needed| needed.as_str() == Some(name)) { "*" } else { "" };
            match schema.find_str("type") {
                Some(kind) => format!("{name}{mark}: {kind}"),
                None => format!("{name}{mark}"),
            }
        })
        .collect();
    if names.is_empty() { "(none)".to_owned() } else { names.join(", ") }
}

/// A text on lines of its own, every one behind `mark`, so that a server's words cannot look like ours.
#[must_use]
pub fn quoted(said: &str, mark: &str) -> Vec<String> {
    said.split('\n').map(|line| format!("{mark}{}", text::visible(line.trim_end_matches('\r')))).collect()
}
