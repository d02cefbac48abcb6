//! The MCP server of the story: the lab's, or one that the person names. Chooses harmless tools of a server it does not know, by what the tools say they take.

use crate::processes::Lab;
use serde_json::{Map, Value, json};

/// The server.
pub(super) struct Target {
    /// Where it is.
    pub(super) url: String,
    /// What it wants to see, if anything.
    pub(super) bearer: Option<String>,
    /// The lab, when it is ours.
    pub(super) lab: Option<Lab>,
}

/// A tool and the arguments it is called with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Planned {
    pub(super) tool: String,
    pub(super) arguments: Value,
}

/// What is called in the story.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plan {
    /// Only reads.
    pub(super) read: Planned,
    /// Asks for a yes.
    pub(super) commit: Planned,
    /// Is refused whoever asks, where there is one.
    pub(super) restricted: Option<Planned>,
    /// The person's decisions, as `TOOL=EFFECT`.
    pub(super) effects: Vec<String>,
}

impl Plan {
    /// The lab's six tools.
    pub(super) fn of_lab() -> Self {
        let effects = [
            "list_notes=observe",
            "read_note=observe",
            "draft_note=prepare",
            "save_note=act",
            "send_note=commit",
            "delete_everything=restricted",
        ];
        Self {
            read: Planned { tool: "list_notes".to_owned(), arguments: json!({}) },
            commit: Planned {
                tool: "send_note".to_owned(),
                arguments: json!({"to": "ada@example.test", "text": "The hay is in."}),
            },
            restricted: Some(Planned { tool: "delete_everything".to_owned(), arguments: json!({}) }),
            effects: effects.map(str::to_owned).to_vec(),
        }
    }

    /// Two harmless tools of a server's rows, as `connection-show` gives them: one reads, another is decided to be a commit.
    pub(super) fn choose(rows: &[Value]) -> Option<Self> {
        let mut candidates: Vec<(u32, Planned)> =
            rows.iter().filter_map(|row| Some((rank(row)?, planned(row)?))).collect();
        candidates.sort_by(|(a, first), (b, second)| a.cmp(b).then_with(|| first.tool.cmp(&second.tool)));
        let mut tools = candidates.into_iter().map(|(_, planned)| planned);
        let (read, commit) = (tools.next()?, tools.next()?);
        let effects = vec![format!("{}=observe", read.tool), format!("{}=commit", commit.tool)];
        Some(Self { read, commit, restricted: None, effects })
    }
}

/// Words in a name that a demonstration keeps away from.
const AVOID: [&str; 16] = [
    "env", "secret", "token", "delete", "remove", "drop", "send", "create", "write", "update", "exec", "run", "toggle",
    "trigger", "long", "simulate",
];

/// How well a tool suits, least first; none for one that is left alone.
fn rank(row: &Value) -> Option<u32> {
    let name = row.get("name")?.as_str()?.to_lowercase();
    let hint = |name: &str| row.pointer(&format!("/annotations/{name}")).and_then(Value::as_bool);
    if AVOID.iter().any(|word| name.split(|c: char| !c.is_ascii_alphanumeric()).any(|part| part == *word))
        || hint("destructiveHint") == Some(true) && hint("readOnlyHint") != Some(true)
    {
        return None;
    }
    let words = [("echo", 0), ("sum", 1), ("add", 1), ("list", 2), ("get", 3), ("read", 3), ("search", 4)];
    let by_name = words.iter().find(|(word, _)| name.contains(word)).map_or(6, |(_, rank)| *rank);
    Some(by_name + if hint("readOnlyHint") == Some(true) { 0 } else { 10 })
}

/// The tool with plain arguments for what it needs; none when it needs something that is not plain.
fn planned(row: &Value) -> Option<Planned> {
    let schema = row.get("input_schema")?;
    let required = schema.get("required").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut arguments = Map::new();
    for name in required.iter().filter_map(Value::as_str) {
        arguments.insert(name.to_owned(), plain_value(schema.pointer(&format!("/properties/{name}"))?)?);
    }
    Some(Planned { tool: row.get("name")?.as_str()?.to_owned(), arguments: Value::Object(arguments) })
}

fn plain_value(schema: &Value) -> Option<Value> {
    if let Some(first) = schema.get("enum").and_then(Value::as_array).and_then(|choices| choices.first()) {
        return Some(first.clone());
    }
    match schema.get("type")?.as_str()? {
        "string" => Some(json!("hello")),
        "number" | "integer" => {
            Some(schema.get("minimum").filter(|least| least.is_number()).cloned().unwrap_or_else(|| json!(2)))
        }
        "boolean" => Some(json!(false)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, schema: Value, annotations: Value) -> Value {
        json!({"name": name, "input_schema": schema, "annotations": annotations})
    }

    #[test]
    fn harmless_tools_are_chosen_and_the_others_left_alone() {
        let rows = [
            row("get-env", json!({}), json!({"readOnlyHint": true})),
            row("delete_all", json!({}), json!({})),
            row(
                "get-sum",
                json!({"required": ["a", "b"], "properties": {"a": {"type": "number"}, "b": {"type": "number"}}}),
                json!({}),
            ),
            row("echo", json!({"required": ["message"], "properties": {"message": {"type": "string"}}}), json!({})),
            row(
                "get-odd",
                json!({"required": ["x"], "properties": {"x": {"type": "object"}}}),
                json!({"readOnlyHint": true}),
            ),
        ];
        let plan = Plan::choose(&rows).expect("two suit");
        assert_eq!(plan.read, Planned { tool: "echo".to_owned(), arguments: json!({"message": "hello"}) });
        assert_eq!(plan.commit, Planned { tool: "get-sum".to_owned(), arguments: json!({"a": 2, "b": 2}) });
        assert_eq!(plan.effects, ["echo=observe", "get-sum=commit"]);
        assert_eq!(Plan::choose(&rows[..2]), None);
    }
}
