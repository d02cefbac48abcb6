//! The review record (2.h): what a person saw of a manifest and decided about each tool. Devices take effects only from it, never from a row.

use crate::{
    Digest, Effect,
    cjson::{self, JsonError},
    connection::{Profile, Scope},
    ids::{ConnectionId, ProjectId},
    limits,
    manifest::{self, RawManifest},
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The protocol era a manifest was read in; another era is another review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Era {
    /// MCP 2025-11-25, with sessions.
    #[serde(rename = "2025-11-25")]
    Sessions,
    /// MCP 2026-07-28, stateless.
    #[serde(rename = "2026-07-28")]
    Stateless,
}

impl Era {
    /// Both eras, newest first.
    pub const ALL: [Self; 2] = [Self::Stateless, Self::Sessions];

    /// The protocol version string.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sessions => "2025-11-25",
            Self::Stateless => "2026-07-28",
        }
    }

    /// Reads the protocol version string.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|era| era.as_str() == text)
    }
}

/// What an argument means, so that code which knows no tool can tell a recipient from a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BindingKind {
    /// The account that acts.
    Account,
    /// How much.
    Amount,
    /// What is said.
    Content,
    /// In what money.
    Currency,
    /// Who receives.
    Recipients,
    /// What it is done to.
    Target,
    /// Where it leads.
    Url,
}

impl BindingKind {
    /// All kinds, alphabetical as on the wire.
    pub const ALL: [Self; 7] =
        [Self::Account, Self::Amount, Self::Content, Self::Currency, Self::Recipients, Self::Target, Self::Url];

    /// The wire word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Account => "account",
            Self::Amount => "amount",
            Self::Content => "content",
            Self::Currency => "currency",
            Self::Recipients => "recipients",
            Self::Target => "target",
            Self::Url => "url",
        }
    }

    /// Reads the wire word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// Kind → RFC 6901 pointers into the arguments.
pub type Bindings = BTreeMap<BindingKind, Vec<String>>;

/// One reviewed tool. A tool that is not in the record does not exist for anybody.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReviewedTool {
    /// The exact name.
    pub name: String,
    /// Digest of the tool as it was sent (2.h).
    pub tool_digest: Digest,
    /// What the person decided.
    pub effect: Effect,
    /// The action word the effect is about.
    pub action: String,
    /// Which arguments mean what.
    pub bindings: Bindings,
}

/// What a person decided about one connection; its canonical bytes are signed by the reviewing device, its digest is CTX tag 16.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReviewRecord {
    /// The connection.
    pub connection: ConnectionId,
    /// Personal or project.
    pub scope: Scope,
    /// The project; absent for a personal connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<ProjectId>,
    /// Where the credential is opened.
    pub profile: Profile,
    /// Canonical resource URI of the server.
    pub endpoint: String,
    /// Protocol era of the manifest.
    pub era: Era,
    /// Digest of the raw manifest that was read.
    pub raw_digest: Digest,
    /// Digest of the server's instructions.
    pub instructions_digest: Digest,
    /// The reviewed subset of tools, sorted by name.
    pub tools: Vec<ReviewedTool>,
    /// Effects that may run without asking again, mildest first.
    pub allowed_effects: Vec<Effect>,
    /// 1 for the first review of a connection, then +1; devices keep the highest they saw.
    pub review_seq: u64,
}

/// Why a review does not belong to a manifest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReviewError {
    /// The record names another raw manifest.
    #[error("the review was made for another manifest")]
    OtherManifest,
    /// A reviewed tool is not in the manifest, or differs from it.
    #[error("the review of tool `{name}` was made for another version of it")]
    OtherTool {
        /// The tool.
        name: String,
    },
    /// Tools or effects are not sorted and unique, or a list is too long.
    #[error("field `{field}` of the review is not sorted, not unique or too long")]
    Order {
        /// The field to blame.
        field: &'static str,
    },
}

impl ReviewRecord {
    /// Canonical bytes, the signed body.
    pub fn canonical(&self) -> Result<Vec<u8>, JsonError> {
        cjson::to_canonical(self)
    }

    /// `SHA-256(CJ)`, CTX tag 16 (2.h).
    pub fn digest(&self) -> Result<Digest, JsonError> {
        Ok(Digest::of(&[&self.canonical()?]))
    }

    /// The reviewed tool of this name.
    #[must_use]
    pub fn find_tool(&self, name: &str) -> Option<&ReviewedTool> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    /// Checks that the record is well-formed and was made for exactly this manifest.
    pub fn check_against(&self, manifest: &RawManifest) -> Result<(), ReviewError> {
        self.check_order()?;
        if self.raw_digest != manifest.digest() || self.instructions_digest != manifest.instructions_digest() {
            return Err(ReviewError::OtherManifest);
        }
        for reviewed in &self.tools {
            let same = manifest
                .find_tool(&reviewed.name)
                .is_some_and(|tool| manifest::tool_digest(tool) == reviewed.tool_digest);
            if !same {
                return Err(ReviewError::OtherTool { name: reviewed.name.clone() });
            }
        }
        Ok(())
    }

    /// The public client's rows for the reviewed tools, in order.
    #[must_use]
    pub fn project_v1(&self, manifest: &RawManifest) -> Vec<crate::Json> {
        self.tools
            .iter()
            .filter_map(|tool| {
                let sent = manifest.find_tool(&tool.name)?;
                Some(manifest::project_v1(&tool.name, sent, tool.effect, &tool.action))
            })
            .collect()
    }

    fn check_order(&self) -> Result<(), ReviewError> {
        let ascending = |sorted: bool, field| if sorted { Ok(()) } else { Err(ReviewError::Order { field }) };
        ascending(
            self.tools.len() <= limits::MANIFEST_TOOLS_MAX && self.tools.is_sorted_by(|a, b| a.name < b.name),
            "tools",
        )?;
        ascending(self.allowed_effects.is_sorted_by(|a, b| a < b), "allowed_effects")?;
        ascending(
            self.tools
                .iter()
                .all(|tool| tool.bindings.values().map(Vec::len).sum::<usize>() <= limits::BINDINGS_PER_TOOL_MAX),
            "bindings",
        )
    }
}

/// Proposes bindings from a tool's input schema by the names of its properties; the person corrects them.
#[must_use]
pub fn propose_bindings(tool: &crate::Json) -> Bindings {
    const NAMES: &[(BindingKind, &[&str])] = &[
        (BindingKind::Account, &["account", "account_id", "from", "sender"]),
        (BindingKind::Amount, &["amount", "price", "total", "sum"]),
        (BindingKind::Content, &["body", "content", "message", "subject", "text", "title"]),
        (BindingKind::Currency, &["currency"]),
        (
            BindingKind::Recipients,
            &["to", "cc", "bcc", "recipient", "recipients", "attendees", "invitees", "email", "user", "channel"],
        ),
        (BindingKind::Target, &["id", "path", "file", "name", "note", "target", "repo", "repository", "project"]),
        (BindingKind::Url, &["url", "uri", "link", "href"]),
    ];
    let mut bindings = Bindings::new();
    let properties = tool.pointer("/inputSchema/properties").and_then(crate::Json::as_object);
    for name in properties.into_iter().flatten().map(|(name, _)| name) {
        let lower = name.to_lowercase();
        if let Some((kind, _)) = NAMES.iter().find(|(_, names)| names.contains(&lower.as_str())) {
            let pointer = format!("/{}", name.replace('~', "~0").replace('/', "~1"));
            let pointers = bindings.entry(*kind).or_default();
            if pointers.len() < limits::BINDINGS_PER_TOOL_MAX / BindingKind::ALL.len() {
                pointers.push(pointer);
            }
        }
    }
    bindings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Json;

    fn manifest() -> RawManifest {
        let tool = br#"{"name":"send_note","inputSchema":{"properties":{"to":{},"text":{},"a/b":{}}}}"#;
        RawManifest::from_tools("hi", vec![cjson::parse(tool, 1000).expect("JSON")]).expect("a manifest")
    }

    fn record(manifest: &RawManifest) -> ReviewRecord {
        let tool = manifest.find_tool("send_note").expect("the tool");
        ReviewRecord {
            connection: ConnectionId::from_random([1; 16]),
            scope: Scope::Personal,
            project: None,
            profile: Profile::DeviceDirect,
            endpoint: "https://mcp.example.test/mcp".to_owned(),
            era: Era::Stateless,
            raw_digest: manifest.digest(),
            instructions_digest: manifest.instructions_digest(),
            tools: vec![ReviewedTool {
                name: "send_note".to_owned(),
                tool_digest: manifest::tool_digest(tool),
                effect: Effect::Commit,
                action: "send".to_owned(),
                bindings: propose_bindings(tool),
            }],
            allowed_effects: vec![Effect::Observe, Effect::Prepare, Effect::Act],
            review_seq: 1,
        }
    }

    #[test]
    fn a_review_is_signable_and_belongs_to_one_manifest() {
        let manifest = manifest();
        let good = record(&manifest);
        cjson::to_json(&good).expect("JSON").check_signable().expect("signable");
        assert_eq!(good.check_against(&manifest), Ok(()));
        let bytes = good.canonical().expect("canonical");
        assert_eq!(cjson::from_slice::<ReviewRecord>(&bytes, 10_000).expect("reads back"), good);

        let mut other = good.clone();
        other.raw_digest = Digest::of(&[b"x"]);
        assert_eq!(other.check_against(&manifest), Err(ReviewError::OtherManifest));
        let mut other = good.clone();
        other.tools.iter_mut().for_each(|tool| tool.tool_digest = Digest::of(&[b"x"]));
        assert!(matches!(other.check_against(&manifest), Err(ReviewError::OtherTool { .. })));
        let mut other = good.clone();
        other.allowed_effects.reverse();
        assert_eq!(other.check_against(&manifest), Err(ReviewError::Order { field: "allowed_effects" }));
        let mut other = good;
        other.tools = [other.tools.clone(), other.tools].concat();
        assert_eq!(other.check_against(&manifest), Err(ReviewError::Order { field: "tools" }));
    }

    #[test]
    fn bindings_are_proposed_from_names() {
        let bindings = propose_bindings(manifest().find_tool("send_note").expect("the tool"));
        assert_eq!(bindings.get(&BindingKind::Recipients), Some(&vec!["/to".to_owned()]));
        assert_eq!(bindings.get(&BindingKind::Content), Some(&vec!["/text".to_owned()]));
        assert_eq!(propose_bindings(&Json::object()), Bindings::new());
    }
}
