//! Faults: what goes wrong, on which request, how often. Never lasting behaviour, that is in `switches`.

use crate::limits;
use serde::{Deserialize, Serialize};

/// A fault and the requests it strikes.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultRule {
    /// What goes wrong.
    pub kind: Fault,
    /// Strikes only this method; without one, any MCP method. `oauth/token` and its like name endpoints of the
    /// authorization servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Strikes only calls of this tool; at an authorization server, only this kind of request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Lets this many matching requests pass first.
    #[serde(default)]
    pub skip: u32,
    /// Strikes this many requests, then is gone; without a number it stays until cleared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
}

impl FaultRule {
    /// This fault on every request until cleared.
    #[must_use]
    pub fn new(kind: Fault) -> FaultRule {
        FaultRule { kind, method: None, tool: None, skip: 0, times: None }
    }

    /// Only for this method.
    #[must_use]
    pub fn on_method(mut self, method: &str) -> FaultRule {
        self.method = Some(method.to_owned());
        self
    }

    /// Only for calls of this tool.
    #[must_use]
    pub fn on_tool(mut self, tool: &str) -> FaultRule {
        self.tool = Some(tool.to_owned());
        self
    }

    /// After this many matching requests have passed.
    #[must_use]
    pub fn after(mut self, skip: u32) -> FaultRule {
        self.skip = skip;
        self
    }

    /// At most this many times.
    #[must_use]
    pub fn times(mut self, times: u32) -> FaultRule {
        self.times = Some(times);
        self
    }

    /// Whether the rule stays within the lab's own maxima.
    pub(crate) fn is_bounded(&self) -> bool {
        match &self.kind {
            Fault::Huge { bytes } => *bytes <= limits::HUGE_BYTES_MAX,
            Fault::Deep { depth } => *depth <= limits::DEPTH_MAX,
            Fault::Trickle { bytes, pause_ms } => *bytes > 0 && (1..=limits::TRICKLE_MS_MAX).contains(pause_ms),
            Fault::Status { code, .. } => (200..=599).contains(code),
            Fault::Redirect { status, .. } => (300..=399).contains(status),
            Fault::HangBefore
            | Fault::HangAfter
            | Fault::DropBefore
            | Fault::DropAfter
            | Fault::DropMidway
            | Fault::Malformed { .. }
            | Fault::NoAnswer
            | Fault::EndlessEvents
            | Fault::ServerRequest
            | Fault::InputRequired
            | Fault::Change { .. } => true,
        }
    }

    fn matches(&self, method: &str, tool: Option<&str>) -> bool {
        self.method.as_deref().map_or(!method.starts_with("oauth/"), |wanted| wanted == method)
            && self.tool.as_deref().is_none_or(|wanted| Some(wanted) == tool)
    }
}

/// What goes wrong.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Fault {
    /// No answer, and no effect, until released.
    HangBefore,
    /// The effect happens; no answer until released.
    HangAfter,
    /// The connection ends before anything happens.
    DropBefore,
    /// The effect happens, then the connection ends without a byte.
    DropAfter,
    /// The effect happens, then the connection ends in the middle of the answer.
    DropMidway,
    /// A redirect instead of an answer; nothing happens.
    Redirect {
        /// The HTTP status, 300 to 399.
        #[serde(default = "temporary_redirect")]
        status: u16,
        /// Where it points.
        to: RedirectTarget,
    },
    /// This HTTP status instead of an answer; nothing happens.
    Status {
        /// The HTTP status, 200 to 599.
        code: u16,
        /// Value of `Retry-After`, in seconds.
        #[serde(default)]
        retry_after_s: Option<u32>,
    },
    /// The result carries this many bytes of filling.
    Huge {
        /// Length of the filling, in bytes.
        bytes: u64,
    },
    /// The result carries a list nested this deep.
    Deep {
        /// Number of nested lists.
        depth: usize,
    },
    /// The answer is not what its headers promise.
    Malformed {
        /// In which way.
        how: Malformation,
    },
    /// The answer comes in small pieces with pauses between.
    Trickle {
        /// Bytes in one piece.
        bytes: usize,
        /// Pause between two pieces, in milliseconds.
        pause_ms: u64,
    },
    /// An event stream that ends without an answer; the effect happened.
    NoAnswer,
    /// An event stream of notifications that never ends and never answers; the effect happened.
    EndlessEvents,
    /// An event stream on which the server sends a request of its own before the answer.
    ServerRequest,
    /// The server wants the person's input first; nothing happens until the request comes back with it.
    InputRequired,
    /// Not a fault itself: these switches change just before the request is answered.
    Change {
        /// Fields of [`Switches`](crate::Switches) and their new values.
        set: serde_json::Map<String, serde_json::Value>,
    },
}

fn temporary_redirect() -> u16 {
    307
}

/// Where a redirect points.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RedirectTarget {
    /// Another path of the same host, which records what arrives.
    Path,
    /// Another port, which records what arrives.
    Host,
    /// Any address, word for word.
    Url(String),
}

/// How an answer breaks its promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Malformation {
    /// Not JSON at all.
    NotJson,
    /// JSON that stops in the middle.
    Truncated,
    /// A second document after the first.
    Trailing,
    /// The member `result` twice, with different values.
    DuplicateKey,
    /// A byte that is not UTF-8 inside a string.
    NotUtf8,
    /// Half of a surrogate pair inside a string.
    LoneSurrogate,
    /// A number that is none (`NaN`).
    NotANumber,
    /// The answer to another request.
    WrongId,
    /// Neither result nor error.
    NoResult,
    /// Both result and error.
    ResultAndError,
    /// A list of answers.
    Batch,
    /// A good answer under `text/html`.
    WrongMediaType,
    /// An empty body.
    Empty,
}

impl Malformation {
    /// Every malformation there is.
    pub const ALL: [Malformation; 13] = [
        Malformation::NotJson,
        Malformation::Truncated,
        Malformation::Trailing,
        Malformation::DuplicateKey,
        Malformation::NotUtf8,
        Malformation::LoneSurrogate,
        Malformation::NotANumber,
        Malformation::WrongId,
        Malformation::NoResult,
        Malformation::ResultAndError,
        Malformation::Batch,
        Malformation::WrongMediaType,
        Malformation::Empty,
    ];
}

/// Takes the first armed fault that strikes this request.
pub(crate) fn take(rules: &mut Vec<FaultRule>, method: &str, tool: Option<&str>) -> Option<Fault> {
    let mut struck = None;
    for (at, rule) in rules.iter_mut().enumerate() {
        if !rule.matches(method, tool) {
            continue;
        }
        if rule.skip > 0 {
            rule.skip -= 1;
            continue;
        }
        if let Some(times) = &mut rule.times {
            *times = times.saturating_sub(1);
        }
        struck = Some((at, rule.kind.clone(), rule.times == Some(0)));
        break;
    }
    let (at, kind, spent) = struck?;
    if spent {
        rules.remove(at);
    }
    Some(kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_skips_strikes_and_is_gone() {
        let mut rules = vec![FaultRule::new(Fault::DropAfter).on_tool("send_note").after(1).times(2)];
        assert!(take(&mut rules, "tools/call", Some("read_note")).is_none());
        assert!(take(&mut rules, "tools/call", Some("send_note")).is_none(), "the first is skipped");
        assert!(take(&mut rules, "tools/call", Some("send_note")).is_some());
        assert!(take(&mut rules, "tools/list", None).is_none());
        assert!(take(&mut rules, "tools/call", Some("send_note")).is_some());
        assert!(rules.is_empty());
    }

    #[test]
    fn a_rule_reads_from_json_and_a_slip_is_refused() {
        let read = serde_json::from_str::<FaultRule>;
        let rule = read(r#"{"kind":{"redirect":{"to":"host"}},"method":"tools/call","times":1}"#).expect("a rule");
        assert!(matches!(rule.kind, Fault::Redirect { status: 307, to: RedirectTarget::Host }));
        assert_eq!(rule.times, Some(1));
        assert!(matches!(read(r#"{"kind":"drop_after"}"#).expect("a rule").kind, Fault::DropAfter));
        read(r#"{"kind":"drop_after","tol":"send_note"}"#).expect_err("a misspelt filter would strike every request");
        read(r#"{"kind":{"huge":{"bites":1}}}"#).expect_err("a misspelt parameter");
    }
}
