//! Raw manifests (2.h): everything a server controls that a model or person will see, canonical and digested from bytes; and its projection into the public client's rows. Decides nothing about effects.

use crate::{
    Digest, Effect, Json,
    cjson::{self, JsonError},
    labels, limits,
};
use std::collections::BTreeMap;

/// Why a list of tools is no manifest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// A tool is not an object with a `name` of 1 to 128 characters.
    #[error("tool {index} has no usable `name`")]
    NoName {
        /// Position over all pages.
        index: usize,
    },
    /// Two tools have one name, so a review of the name would be a review of neither.
    #[error("two tools are named `{name}`")]
    DuplicateName {
        /// The name, as sent.
        name: String,
    },
    /// More than [`limits::MANIFEST_TOOLS_MAX`] tools.
    #[error("more than {max} tools")]
    TooManyTools {
        /// The named maximum.
        max: usize,
    },
    /// More than [`limits::MANIFEST_BYTES_MAX`] canonical bytes.
    #[error("the manifest is {actual} bytes, the maximum is {max}")]
    TooLarge {
        /// Canonical bytes.
        actual: usize,
        /// The named maximum.
        max: usize,
    },
    /// The stored form is not `{"instructions": string, "tools": […]}`.
    #[error("field `{field}` of the manifest is missing or has another shape")]
    Shape {
        /// The field to blame.
        field: &'static str,
    },
}

/// A complete raw manifest: `instructions` and every tool with every field it sent, sorted by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawManifest {
    instructions: String,
    tools: BTreeMap<String, Json>,
}

impl RawManifest {
    /// Builds the manifest from the tools of all pages, in any order. `ttlMs` and `cacheScope` belong to the list result, not to it.
    pub fn from_tools(instructions: &str, tools: Vec<Json>) -> Result<Self, ManifestError> {
        if tools.len() > limits::MANIFEST_TOOLS_MAX {
            return Err(ManifestError::TooManyTools { max: limits::MANIFEST_TOOLS_MAX });
        }
        let mut sorted = BTreeMap::new();
        for (index, tool) in tools.into_iter().enumerate() {
            let name = tool
                .find_str("name")
                .filter(|name| (1..=limits::TOOL_NAME_CHARS_MAX).contains(&name.chars().count()))
                .ok_or(ManifestError::NoName { index })?
                .to_owned();
            if sorted.insert(name.clone(), tool).is_some() {
                return Err(ManifestError::DuplicateName { name });
            }
        }
        let manifest = Self { instructions: instructions.to_owned(), tools: sorted };
        let actual = manifest.canonical().len();
        if actual > limits::MANIFEST_BYTES_MAX {
            return Err(ManifestError::TooLarge { actual, max: limits::MANIFEST_BYTES_MAX });
        }
        Ok(manifest)
    }

    /// Reads the stored form back; the tools may arrive in any order.
    pub fn from_json(json: &Json) -> Result<Self, ManifestError> {
        let members = json.as_object().ok_or(ManifestError::Shape { field: "." })?;
        if members.keys().any(|key| key != "instructions" && key != "tools") {
            return Err(ManifestError::Shape { field: "." });
        }
        let instructions = json.find_str("instructions").ok_or(ManifestError::Shape { field: "instructions" })?;
        let tools = json.find("tools").and_then(Json::as_array).ok_or(ManifestError::Shape { field: "tools" })?;
        Self::from_tools(instructions, tools.to_vec())
    }

    /// `{"instructions": …, "tools": […]}`.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let tools = self.tools.values().cloned().collect::<Vec<_>>();
        Json::from_members([("instructions", self.instructions.as_str().into()), ("tools", Json::Array(tools))])
    }

    /// Canonical bytes of the stored form.
    #[must_use]
    pub fn canonical(&self) -> Vec<u8> {
        self.to_json().canonical()
    }

    /// `SHA-256("collie.manifest.v2\0" ‖ CJ)` (2.h).
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(&[labels::MANIFEST, &self.canonical()])
    }

    /// `SHA-256("collie.instructions.v2\0" ‖ instructions)`: the review shows which text it has read.
    #[must_use]
    pub fn instructions_digest(&self) -> Digest {
        Digest::of(&[labels::INSTRUCTIONS, self.instructions.as_bytes()])
    }

    /// What the server says about itself, verbatim.
    #[must_use]
    pub fn instructions(&self) -> &str {
        &self.instructions
    }

    /// One tool as it was sent.
    #[must_use]
    pub fn find_tool(&self, name: &str) -> Option<&Json> {
        self.tools.get(name)
    }

    /// Names and tools, sorted by name.
    pub fn tools(&self) -> impl ExactSizeIterator<Item = (&str, &Json)> {
        self.tools.iter().map(|(name, tool)| (name.as_str(), tool))
    }
}

/// `SHA-256("collie.tool.v2\0" ‖ CJ(tool))` (2.h).
#[must_use]
pub fn tool_digest(tool: &Json) -> Digest {
    Digest::of(&[labels::TOOL, &tool.canonical()])
}

/// What a server hints about one tool. A hint fills a proposal and may raise; it never lowers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hint {
    /// `readOnlyHint: true` and not destructive.
    ReadOnly,
    /// `destructiveHint: true`.
    Destructive,
    /// Neither.
    Silent,
}

/// Reads a tool's hints.
#[must_use]
pub fn hint(tool: &Json) -> Hint {
    let says = |name: &str| tool.pointer(&format!("/annotations/{name}")).and_then(Json::as_bool) == Some(true);
    if says("destructiveHint") {
        Hint::Destructive
    } else if says("readOnlyHint") {
        Hint::ReadOnly
    } else {
        Hint::Silent
    }
}

/// The effect to propose to the person who reviews. Until they confirm it, the tool counts as commit or higher.
#[must_use]
pub fn propose_effect(tool: &Json) -> Effect {
    match hint(tool) {
        Hint::ReadOnly => Effect::Observe,
        Hint::Destructive => Effect::Restricted,
        Hint::Silent => Effect::Commit,
    }
}

/// The action word that the public client derives from a tool's name (wire-collie-v1 4).
#[must_use]
pub fn propose_action(name: &str) -> &'static str {
    const WORDS: &[(&str, &[&str])] = &[
        ("send", &["send", "message", "email"]),
        ("publish", &["publish", "post", "release", "deploy"]),
        ("delete", &["delete", "remove", "unsubscribe"]),
        ("invite", &["invite"]),
        ("merge", &["merge"]),
        ("upload", &["upload", "attach"]),
        ("purchase", &["purchase", "buy", "pay", "checkout"]),
        ("submit", &["submit", "create", "update", "write", "set"]),
    ];
    let lower = name.to_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_alphanumeric()).collect::<Vec<_>>();
    WORDS
        .iter()
        .find(|(_, known)| words.iter().any(|word| known.contains(word)))
        .map_or("external_change", |(action, _)| action)
}

/// One tool of the public client's rows: `{name, effect, action, description[..1000], input_schema, annotations}`, numbers as that client spells them.
#[must_use]
pub fn project_v1(name: &str, tool: &Json, effect: Effect, action: &str) -> Json {
    let object = |key: &str| {
        tool.find(key).filter(|value| value.as_object().is_some()).map_or_else(Json::object, cjson::respell_numbers)
    };
    let description: String =
        tool.find_str("description").unwrap_or_default().chars().take(limits::TOOL_DESCRIPTION_V1_CHARS_MAX).collect();
    Json::from_members([
        ("name", name.into()),
        ("effect", effect.as_str().into()),
        ("action", action.into()),
        ("description", description.into()),
        ("input_schema", object("inputSchema")),
        ("annotations", object("annotations")),
    ])
}

/// The public client's digest of its rows: `b64u(SHA-256(CJ(rows sorted by name)))` (wire-collie-v1 2.6).
#[must_use]
pub fn digest_v1(rows: &[Json]) -> Digest {
    Digest::of(&[&Json::Array(sort_v1(rows)).canonical()])
}

/// The rows sorted by tool name, by code point.
#[must_use]
pub fn sort_v1(rows: &[Json]) -> Vec<Json> {
    let mut sorted = rows.to_vec();
    sorted.sort_by(|a, b| a.find_str("name").cmp(&b.find_str("name")));
    sorted
}

/// Checks rows that arrive from a client: objects with exactly the six fields, unique names, known effects, bounded size.
pub fn check_v1(rows: &[Json]) -> Result<(), JsonError> {
    let refuse = |field: String, what: &str| JsonError::Shape { field, what: what.to_owned() };
    if rows.len() > limits::MANIFEST_TOOLS_MAX {
        return Err(refuse("manifest".to_owned(), "too many tools"));
    }
    let mut names = std::collections::BTreeSet::new();
    for (index, row) in rows.iter().enumerate() {
        let at = |name: &str| format!("manifest[{index}].{name}");
        let name = row
            .find_str("name")
            .filter(|name| (1..=limits::TOOL_NAME_CHARS_MAX).contains(&name.chars().count()))
            .ok_or_else(|| refuse(at("name"), "1 to 128 characters were expected"))?;
        if !names.insert(name) {
            return Err(refuse(at("name"), "two tools have this name"));
        }
        if row.find_str("effect").and_then(Effect::parse).is_none() {
            return Err(refuse(at("effect"), "not one of observe, prepare, act, commit, restricted"));
        }
        for (field, good) in [
            ("action", row.find_str("action").is_some_and(|action| action.chars().count() <= 100)),
            (
                "description",
                row.find_str("description")
                    .is_some_and(|text| text.chars().count() <= limits::TOOL_DESCRIPTION_V1_CHARS_MAX),
            ),
            ("input_schema", row.find("input_schema").is_some_and(|value| value.as_object().is_some())),
            ("annotations", row.find("annotations").is_some_and(|value| value.as_object().is_some())),
        ] {
            if !good {
                return Err(refuse(at(field), "missing or of another shape"));
            }
        }
        if row.as_object().is_some_and(|members| members.len() != 6) {
            return Err(refuse(format!("manifest[{index}]"), "exactly six fields were expected"));
        }
    }
    let size = Json::Array(rows.to_vec()).canonical().len();
    if size > limits::MANIFEST_V1_BYTES_MAX {
        return Err(JsonError::TooLarge { actual: size, max: limits::MANIFEST_V1_BYTES_MAX });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cjson;

    fn tool(text: &str) -> Json {
        cjson::parse(text.as_bytes(), 10_000).expect("a test tool is JSON")
    }

    fn digest(instructions: &str, tools: &[&str]) -> Digest {
        RawManifest::from_tools(instructions, tools.iter().map(|text| tool(text)).collect())
            .expect("a manifest")
            .digest()
    }

    #[test]
    fn order_and_white_space_do_not_matter_and_every_byte_of_content_does() {
        let (a, b) = (r#"{"name":"a","x":1,"title":"T"}"#, r#"{"name":"b","annotations":{"vendorHint":true}}"#);
        let base = digest("hi", &[a, b]);
        assert_eq!(base, digest("hi", &[b, a]));
        assert_eq!(base, digest("hi", &[r#"{ "title":"T", "x":1, "name":"a" }"#, b]));
        for (instructions, tools) in [
            ("hi ", [a, b]),
            ("hi", [r#"{"name":"a","x":1.0,"title":"T"}"#, b]),
            ("hi", [r#"{"name":"a","x":1,"title":"t"}"#, b]),
            ("hi", [r#"{"name":"a","x":1,"title":"T","_meta":{}}"#, b]),
            ("hi", [a, r#"{"name":"b","annotations":{"vendorHint":false}}"#]),
        ] {
            assert_ne!(base, digest(instructions, &tools), "{instructions} {tools:?}");
        }
    }

    #[test]
    fn names_are_unique_and_present() {
        let refuse = |tools: &[&str]| RawManifest::from_tools("", tools.iter().map(|text| tool(text)).collect()).err();
        assert_eq!(
            refuse(&[r#"{"name":"a"}"#, r#"{"name":"a","x":1}"#]),
            Some(ManifestError::DuplicateName { name: "a".to_owned() })
        );
        assert_eq!(refuse(&[r#"{"name":""}"#]), Some(ManifestError::NoName { index: 0 }));
        assert_eq!(refuse(&["[]"]), Some(ManifestError::NoName { index: 0 }));
    }

    #[test]
    fn hints_fill_the_proposal_only() {
        assert_eq!(propose_effect(&tool(r#"{"name":"a","annotations":{"readOnlyHint":true}}"#)), Effect::Observe);
        assert_eq!(
            propose_effect(&tool(r#"{"name":"a","annotations":{"readOnlyHint":true,"destructiveHint":true}}"#)),
            Effect::Restricted
        );
        assert_eq!(propose_effect(&tool(r#"{"name":"a"}"#)), Effect::Commit);
        assert_eq!(propose_action("send_mail"), "send");
        assert_eq!(propose_action("list_mail"), "external_change");
    }
}
