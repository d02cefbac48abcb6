//! What a person reviews and decides about a server's tools. A server's words fill proposals; only a person's word lowers anything, and what nobody decided counts as commit.

pub mod ask;
pub mod decisions;
pub mod diff;
pub mod submit;
pub mod table;

use crate::error::CliError;
use contract::connection::{Profile, Scope};
use contract::ids::{ConnectionId, ProjectId};
use contract::manifest::{self, Hint, RawManifest};
use contract::review::{Bindings, Era, ReviewRecord, ReviewedTool, propose_bindings};
use contract::{Code, Digest, Effect, Json, text};

/// Where the effect of a tool in a draft comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// Nobody has decided; the server hints this.
    Proposed(Hint),
    /// The tool is the reviewed one, byte for byte; the decision stands.
    Kept,
    /// The tool changed since it was decided; the decision is a proposal again.
    Changed {
        /// What was decided for the tool as it was.
        before: Effect,
    },
    /// Decided now, by a person.
    Decided,
}

impl Basis {
    /// Whether a person's decision is behind it.
    #[must_use]
    pub const fn is_decided(self) -> bool {
        match self {
            Self::Kept | Self::Decided => true,
            Self::Proposed(_) | Self::Changed { .. } => false,
        }
    }
}

/// One tool of a draft.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DraftTool {
    /// Its exact name.
    pub name: String,
    /// As the server sent it.
    pub tool: Json,
    /// The effect that stands now.
    pub effect: Effect,
    /// Why it stands.
    pub basis: Basis,
    /// The action word.
    pub action: String,
    /// Which arguments mean what.
    pub bindings: Bindings,
    /// Pointers to texts of the tool that hold hidden characters.
    pub hidden: Vec<String>,
}

/// A review in the making.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    manifest: RawManifest,
    era: Era,
    tools: Vec<DraftTool>,
    left_out: Vec<String>,
    allowed_effects: Vec<Effect>,
}

/// What a review is about, besides its tools.
#[derive(Debug, Clone)]
pub struct Subject {
    /// The connection.
    pub connection: ConnectionId,
    /// Its project; personal without one.
    pub project: Option<ProjectId>,
    /// Canonical resource URI.
    pub endpoint: String,
    /// The number of this review.
    pub review_seq: u64,
}

/// What was decided before, on the manifest it was decided for.
#[derive(Debug, Clone, Copy)]
pub struct Before<'a> {
    /// The review.
    pub review: &'a ReviewRecord,
    /// Its manifest, where this device still has it.
    pub manifest: Option<&'a RawManifest>,
}

impl Draft {
    /// A draft with a proposal for every tool. Decisions about tools that did not change are kept.
    #[must_use]
    pub fn propose(manifest: RawManifest, era: Era, before: Option<Before<'_>>) -> Self {
        let mut left_out = Vec::new();
        let mut tools = Vec::new();
        for (name, tool) in manifest.tools() {
            let reviewed = before.and_then(|before| before.review.find_tool(name));
            if reviewed.is_none() && before.is_some_and(|before| was_left_out(before, name, tool)) {
                left_out.push(name.to_owned());
                continue;
            }
            tools.push(propose_tool(name, tool, reviewed));
        }
        let allowed_effects =
            before.map_or_else(|| ALLOWED_AT_FIRST.to_vec(), |before| before.review.allowed_effects.clone());
        Self { manifest, era, tools, left_out, allowed_effects }
    }

    /// The manifest that is reviewed.
    #[must_use]
    pub const fn manifest(&self) -> &RawManifest {
        &self.manifest
    }

    /// The era it was read in.
    #[must_use]
    pub const fn era(&self) -> Era {
        self.era
    }

    /// The tools, sorted by name.
    #[must_use]
    pub fn tools(&self) -> &[DraftTool] {
        &self.tools
    }

    /// Tools of the server that the review does not name.
    #[must_use]
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// What runs without asking, mildest first.
    #[must_use]
    pub fn allowed_effects(&self) -> &[Effect] {
        &self.allowed_effects
    }

    /// Tools below commit that nobody has decided about.
    pub fn undecided(&self) -> impl Iterator<Item = &DraftTool> {
        self.tools.iter().filter(|tool| !tool.basis.is_decided() && tool.effect < Effect::Commit)
    }

    /// Raises what nobody decided to commit: a hint never lowers.
    pub fn raise_undecided(&mut self) {
        for tool in &mut self.tools {
            if !tool.basis.is_decided() {
                tool.effect = tool.effect.max(Effect::Commit);
            }
        }
    }

    /// Takes what stands below commit as a person's decision: they were shown it and said yes to this group.
    pub fn confirm(&mut self, effect: Effect) {
        for tool in self.tools.iter_mut().filter(|tool| tool.effect == effect && !tool.basis.is_decided()) {
            tool.basis = Basis::Decided;
        }
    }

    /// Raises one group that a person did not believe.
    pub fn doubt(&mut self, effect: Effect) {
        for tool in self.tools.iter_mut().filter(|tool| tool.effect == effect && !tool.basis.is_decided()) {
            tool.effect = tool.effect.max(Effect::Commit);
        }
    }

    /// The record that is signed.
    pub fn record(&self, subject: &Subject) -> Result<ReviewRecord, CliError> {
        if let Some(tool) = self.undecided().next() {
            return Err(CliError::internal(format!("`{}` is below commit and nobody decided it", tool.name)));
        }
        let record = ReviewRecord {
            connection: subject.connection.clone(),
            scope: if subject.project.is_some() { Scope::Project } else { Scope::Personal },
            project: subject.project.clone(),
            profile: Profile::DeviceDirect,
            endpoint: subject.endpoint.clone(),
            era: self.era,
            raw_digest: self.manifest.digest(),
            instructions_digest: self.manifest.instructions_digest(),
            tools: self.tools.iter().map(reviewed).collect(),
            allowed_effects: self.allowed_effects.clone(),
            review_seq: subject.review_seq,
        };
        let signable = contract::cjson::to_json(&record).and_then(|json| json.check_signable());
        signable.map_err(|error| {
            CliError::new(Code::ManifestInvalid, format!("these tools cannot be reviewed: {error}"))
                .hint("leave tools out by `--without TOOL`")
        })?;
        record.check_against(&self.manifest).map_err(|error| CliError::internal(error.to_string()))?;
        Ok(record)
    }

    /// The public client's rows of the reviewed tools.
    #[must_use]
    pub fn rows_v1(&self) -> Vec<Json> {
        let rows =
            self.tools.iter().map(|tool| manifest::project_v1(&tool.name, &tool.tool, tool.effect, &tool.action));
        rows.collect()
    }

    /// Whether the decisions equal those of a review of the same manifest.
    #[must_use]
    pub fn decides_as(&self, review: &ReviewRecord) -> bool {
        review.raw_digest == self.manifest.digest()
            && review.era == self.era
            && review.allowed_effects == self.allowed_effects
            && review.tools == self.tools.iter().map(reviewed).collect::<Vec<_>>()
    }

    /// The draft for machines.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let tools = self.tools.iter().map(|tool| {
            let bindings = tool.bindings.iter().map(|(kind, pointers)| {
                let pointers = pointers.iter().map(|pointer| Json::from(pointer.as_str())).collect::<Vec<_>>();
                (kind.as_str().to_owned(), Json::Array(pointers))
            });
            Json::from_members([
                ("name", tool.name.as_str().into()),
                ("effect", tool.effect.as_str().into()),
                ("decided", tool.basis.is_decided().into()),
                ("action", tool.action.as_str().into()),
                ("bindings", Json::Object(bindings.collect())),
                ("tool_digest", manifest::tool_digest(&tool.tool).b64u().into()),
                ("hidden", tool.hidden.iter().map(|at| Json::from(at.as_str())).collect::<Vec<_>>().into()),
            ])
        });
        let words = |words: Vec<&str>| Json::Array(words.into_iter().map(Json::from).collect());
        Json::from_members([
            ("raw_digest", self.manifest.digest().b64u().into()),
            ("era", self.era.as_str().into()),
            ("tools", Json::Array(tools.collect())),
            ("left_out", words(self.left_out.iter().map(String::as_str).collect())),
            ("allowed_effects", words(self.allowed_effects.iter().map(|effect| effect.as_str()).collect())),
        ])
    }
}

/// What runs without asking until a person says otherwise. Commit asks always.
const ALLOWED_AT_FIRST: &[Effect] = &[Effect::Observe, Effect::Prepare, Effect::Act];

fn propose_tool(name: &str, tool: &Json, reviewed: Option<&ReviewedTool>) -> DraftTool {
    let hinted = manifest::propose_effect(tool);
    let (effect, basis) = match reviewed {
        None => (hinted, Basis::Proposed(manifest::hint(tool))),
        Some(reviewed) if reviewed.tool_digest == manifest::tool_digest(tool) => (reviewed.effect, Basis::Kept),
        // What changed may be worse than what was decided, never better.
        Some(reviewed) => (reviewed.effect.max(raised(hinted)), Basis::Changed { before: reviewed.effect }),
    };
    DraftTool {
        name: name.to_owned(),
        tool: tool.clone(),
        effect,
        basis,
        action: reviewed.map_or_else(|| manifest::propose_action(name).to_owned(), |reviewed| reviewed.action.clone()),
        bindings: match (basis, reviewed) {
            (Basis::Kept, Some(reviewed)) => reviewed.bindings.clone(),
            _ => propose_bindings(tool),
        },
        hidden: hidden_texts(tool),
    }
}

/// A hint counts here only where it raises.
fn raised(hinted: Effect) -> Effect {
    if hinted == Effect::Restricted { hinted } else { Effect::Observe }
}

/// A tool that stood in the reviewed manifest, as it is now, and was not reviewed, was left out on purpose.
fn was_left_out(before: Before<'_>, name: &str, tool: &Json) -> bool {
    before.manifest.and_then(|manifest| manifest.find_tool(name)) == Some(tool)
}

fn reviewed(tool: &DraftTool) -> ReviewedTool {
    ReviewedTool {
        name: tool.name.clone(),
        tool_digest: manifest::tool_digest(&tool.tool),
        effect: tool.effect,
        action: tool.action.clone(),
        bindings: tool.bindings.clone(),
    }
}

/// Pointers to every text, key included, that holds a character which could hide or reorder.
#[must_use]
pub fn hidden_texts(json: &Json) -> Vec<String> {
    let mut found = Vec::new();
    walk(json, "", &mut found);
    found
}

fn walk(json: &Json, at: &str, found: &mut Vec<String>) {
    match json {
        Json::String(said) if is_suspect(said) => found.push(text::visible(at)),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
        Json::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| walk(item, &format!("{at}/{index}"), found))
        }
        Json::Object(members) => members.iter().for_each(|(key, item)| {
            let at = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
            if is_suspect(key) {
                found.push(text::visible(&at));
            }
            walk(item, &at, found);
        }),
    }
}

/// Line breaks and tabs are shown escaped too, but they are no trick.
fn is_suspect(said: &str) -> bool {
    text::has_hidden(&said.replace(['\n', '\r', '\t'], ""))
}

/// A digest as people compare it.
#[must_use]
pub fn short(digest: &Digest) -> String {
    digest.short()
}

#[cfg(test)]
mod tests;
