//! What a lab has seen: requests, counts, effects and strays, as ids, names and verdicts. Never a credential or a header's secret value.

use crate::credential::Presented;
use crate::limits;
use crate::oauth::{OAuthSeen, SeenToken};
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};

/// How often things happened since the start, or since the last `forget_seen`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Admitted requests and notifications by JSON-RPC method.
    pub requests: BTreeMap<String, u64>,
    /// Admitted `tools/call` requests by tool.
    pub calls: BTreeMap<String, u64>,
    /// Effects that happened, by tool; a call that failed or hung first is not here.
    pub applied: BTreeMap<String, u64>,
    /// Requests refused for their credential.
    pub refused: u64,
    /// Requests refused for their form, headers, session or version.
    pub invalid: u64,
}

impl Counts {
    /// Admitted requests of one method.
    #[must_use]
    pub fn requests(&self, method: &str) -> u64 {
        self.requests.get(method).copied().unwrap_or(0)
    }

    /// Admitted calls of one tool.
    #[must_use]
    pub fn calls(&self, tool: &str) -> u64 {
        self.calls.get(tool).copied().unwrap_or(0)
    }

    /// Effects of one tool.
    #[must_use]
    pub fn applied(&self, tool: &str) -> u64 {
        self.applied.get(tool).copied().unwrap_or(0)
    }
}

/// One request to the MCP endpoint.
#[derive(Clone, Debug, Serialize)]
pub struct SeenRequest {
    /// HTTP method.
    pub http_method: String,
    /// JSON-RPC method, empty if there was none.
    pub method: String,
    /// The tool of a `tools/call`.
    pub tool: Option<String>,
    /// The arguments of a `tools/call`, word for word.
    pub arguments: Option<Value>,
    /// Value of `MCP-Protocol-Version`.
    pub protocol_version: Option<String>,
    /// Whether the request named a session.
    pub session: bool,
    /// What it presented as its credential.
    pub credential: Presented,
    /// What its access token was, where the lab asks for one.
    pub token: Option<SeenToken>,
    /// Names of all its headers, sorted, in lower case.
    pub header_names: Vec<String>,
}

/// One request that arrived where a redirect pointed.
#[derive(Clone, Debug, Serialize)]
pub struct Stray {
    /// Whether it came to another path of the same host, or to the other port.
    pub other_host: bool,
    /// HTTP method.
    pub http_method: String,
    /// Path and query.
    pub target: String,
    /// What it presented as its credential.
    pub credential: Presented,
    /// Names of all its headers, sorted, in lower case.
    pub header_names: Vec<String>,
    /// Length of its body, in bytes.
    pub body_bytes: usize,
    /// Whether its address or body carried a code, token or secret of an authorization server.
    pub carries_secret: bool,
}

/// One message that left through `send_note`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sent {
    /// Recipient.
    pub to: String,
    /// Text.
    pub text: String,
}

/// All that a lab has seen.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Seen {
    /// How often things happened.
    pub counts: Counts,
    /// The last requests to the MCP endpoint, oldest first.
    pub requests: VecDeque<SeenRequest>,
    /// The last requests that followed a redirect, oldest first.
    pub strays: VecDeque<Stray>,
    /// The last messages sent, oldest first.
    pub sent: VecDeque<Sent>,
    /// Titles of the notes that exist.
    pub notes: Vec<String>,
    /// Sessions that are open (2025-11-25).
    pub sessions: usize,
    /// Requests that hang at this moment.
    pub hanging: usize,
    /// What the authorization servers have seen.
    pub oauth: OAuthSeen,
}

impl Seen {
    pub(crate) fn push_request(&mut self, request: SeenRequest) {
        push_bounded(&mut self.requests, request, limits::SEEN_MAX);
    }

    pub(crate) fn push_stray(&mut self, stray: Stray) {
        push_bounded(&mut self.strays, stray, limits::STRAYS_MAX);
    }

    pub(crate) fn push_sent(&mut self, sent: Sent) {
        push_bounded(&mut self.sent, sent, limits::NOTES_MAX);
    }
}

pub(crate) fn add_one(counts: &mut BTreeMap<String, u64>, name: &str) {
    // Names come from callers: beyond the bound they are counted together.
    let name = if counts.len() < limits::SEEN_MAX || counts.contains_key(name) { name } else { "(others)" };
    *counts.entry(name.to_owned()).or_insert(0) += 1;
}

pub(crate) fn header_names(headers: &http::HeaderMap) -> Vec<String> {
    let mut names: Vec<String> = headers.keys().map(|name| name.as_str().to_owned()).collect();
    names.sort();
    names
}

pub(crate) fn push_bounded<T>(queue: &mut VecDeque<T>, item: T, max: usize) {
    if queue.len() >= max {
        queue.pop_front();
    }
    queue.push_back(item);
}
