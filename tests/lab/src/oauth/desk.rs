//! One server on one listener: who asks, what is answered, and the faults between. Never decides what a request may have.

use super::ledger::Ledger;
use super::seen::{OAuthCounts, SeenOAuth};
use super::switches::{Discovery, OAuthSwitches};
use crate::fault::{Fault, Malformation};
use crate::mcp;
use crate::script::{Script, Step};
use crate::seen::{self, add_one};
use crate::state::Shared;
use crate::wire::Peer;
use axum::response::Response;
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde_json::{Value, json};
use std::sync::Arc;

const HUGE: &str = "\u{f8f0}huge\u{f8f0}";
const DAMAGE: &str = "\u{f8f0}damage\u{f8f0}";
const DEEP: &str = "\u{f8f0}deep\u{f8f0}";

/// Origins of the listeners, without a slash at the end.
#[derive(Clone, Default)]
pub(crate) struct Addresses {
    pub(crate) resource: String,
    pub(crate) first: String,
    pub(crate) second: String,
}

/// A listener and the server it belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Site {
    /// The resource's own host; the first server answers here too.
    Resource,
    First,
    Second,
}

/// What every endpoint is given.
#[derive(Clone)]
pub(crate) struct Desk {
    pub(crate) shared: Arc<Shared>,
    pub(crate) site: Site,
}

/// One request at work, under the lab's one lock.
pub(crate) struct Work<'a> {
    pub(crate) ledger: &'a mut Ledger,
    pub(crate) other: &'a Ledger,
    pub(crate) switches: &'a OAuthSwitches,
    pub(crate) addresses: &'a Addresses,
    /// Origin of the other host, which records what comes.
    pub(crate) elsewhere: &'a str,
    pub(crate) site: Site,
    pub(crate) now_s: u64,
    pub(crate) counts: &'a mut OAuthCounts,
    pub(crate) entry: SeenOAuth,
}

/// An answer before faults.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) body: Body,
    /// The error code, where the body does not say it.
    pub(crate) refusal: Option<String>,
}

/// Its body.
pub(crate) enum Body {
    Json(Value),
    Text(&'static str, String),
}

impl Answer {
    pub(crate) fn json(status: StatusCode, value: Value) -> Answer {
        let headers = vec![(CACHE_CONTROL, HeaderValue::from_static("no-store"))];
        Answer { status, headers, body: Body::Json(value), refusal: None }
    }

    pub(crate) fn text(status: StatusCode, media_type: &'static str, text: String) -> Answer {
        Answer { status, headers: Vec::new(), body: Body::Text(media_type, text), refusal: None }
    }

    pub(crate) fn error(status: StatusCode, code: &str, description: &str) -> Answer {
        Answer::json(status, json!({"error": code, "error_description": description}))
    }

    pub(crate) fn bad(code: &str, description: &str) -> Answer {
        Answer::error(StatusCode::BAD_REQUEST, code, description)
    }

    pub(crate) fn not_found() -> Answer {
        Answer::text(StatusCode::NOT_FOUND, "text/plain", "not here\n".to_owned())
    }

    /// What is written down as its outcome.
    fn outcome(&self) -> String {
        if let Some(code) = &self.refusal {
            return code.clone();
        }
        if let Body::Json(value) = &self.body
            && let Some(code) = value.get("error").and_then(Value::as_str)
        {
            return code.to_owned();
        }
        if self.status.is_client_error() || self.status.is_server_error() {
            return format!("http_{}", self.status.as_u16());
        }
        "ok".to_owned()
    }
}

impl Work<'_> {
    /// The issuer of the server that is asked.
    pub(crate) fn issuer(&self) -> String {
        issuer(self.switches, self.addresses, self.site)
    }

    /// Another server's issuer, to lie with.
    pub(crate) fn other_issuer(&self) -> String {
        let site = if self.site == Site::Second { Site::First } else { Site::Second };
        issuer(self.switches, self.addresses, site)
    }

    /// Whether this is a resource that tokens are given for.
    pub(crate) fn is_resource(&self, resource: &str) -> bool {
        [mcp::PATH, mcp::PATH_B].iter().any(|path| resource == format!("{}{path}", self.addresses.resource))
    }
}

/// The issuer of the server at `site`.
pub(crate) fn issuer(switches: &OAuthSwitches, addresses: &Addresses, site: Site) -> String {
    let same = switches.discovery == Discovery::SameHost;
    let origin = match site {
        Site::Second => &addresses.second,
        Site::Resource | Site::First if same => &addresses.resource,
        Site::Resource | Site::First => &addresses.first,
    };
    let slash = if switches.issuer_slash { "/" } else { "" };
    format!("{origin}{}{slash}", issuer_path(switches))
}

/// The path of issuers.
pub(crate) fn issuer_path(switches: &OAuthSwitches) -> &'static str {
    match switches.discovery {
        Discovery::IssuerPath | Discovery::IssuerPathOidc => "/tenant",
        Discovery::OtherHost
        | Discovery::SameHost
        | Discovery::HeaderHint
        | Discovery::PathWellKnown
        | Discovery::RootWellKnown
        | Discovery::OidcOnly
        | Discovery::NoResourceMetadata
        | Discovery::Nothing => "",
    }
}

/// What a request is, for faults and for the log.
pub(crate) struct Asking<'a> {
    pub(crate) peer: &'a Peer,
    pub(crate) endpoint: &'static str,
    /// What `tool` of a fault names.
    pub(crate) kind: Option<String>,
    pub(crate) path: &'a str,
    pub(crate) headers: &'a HeaderMap,
}

impl Desk {
    /// Answers one request: faults before, the work, its record, faults after.
    pub(crate) async fn answer(&self, asking: Asking<'_>, work_on: impl FnOnce(&mut Work<'_>) -> Answer) -> Response {
        let fault = self.shared.strike(asking.endpoint, asking.kind.as_deref());
        match &fault {
            Some(Fault::HangBefore) => self.shared.hang().await,
            Some(Fault::DropBefore) => return mcp::cut(asking.peer),
            Some(Fault::Redirect { status, to }) => return mcp::redirect(&self.shared, *status, to).play(),
            Some(Fault::Status { code, retry_after_s }) => {
                return mcp::refuse_plainly(*code, *retry_after_s).play();
            }
            _ => {}
        }
        let entry = SeenOAuth {
            second: self.site == Site::Second,
            endpoint: asking.endpoint.to_owned(),
            path: asking.path.to_owned(),
            header_names: seen::header_names(asking.headers),
            ..SeenOAuth::default()
        };
        let answer = self.shared.with_oauth(self.site, entry, |work| {
            let answer = work_on(work);
            work.entry.outcome = answer.outcome();
            if work.entry.outcome != "ok" {
                add_one(&mut work.counts.refused, &work.entry.outcome);
            }
            answer
        });
        match &fault {
            Some(Fault::HangAfter) => self.shared.hang().await,
            Some(Fault::DropAfter) => return mcp::cut(asking.peer),
            _ => {}
        }
        write(answer, fault.as_ref()).play()
    }
}

/// Writes an answer, damaged as the fault says.
fn write(answer: Answer, fault: Option<&Fault>) -> Script {
    let mut headers = HeaderMap::from_iter(answer.headers);
    let (media_type, text) = match answer.body {
        Body::Text(media_type, text) => (media_type, text),
        Body::Json(mut value) => {
            mark(&mut value, fault);
            ("application/json", value.to_string())
        }
    };
    let media_type = match fault {
        Some(Fault::Malformed { how: Malformation::WrongMediaType }) => "text/html",
        _ => media_type,
    };
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    let mut script = Script { status: answer.status, headers, steps: vec![Step::Bytes(damage(fault, text))] };
    match fault {
        Some(Fault::Huge { bytes }) => script.replace(HUGE.as_bytes(), *bytes),
        Some(Fault::DropMidway) => script.cut_midway(),
        Some(Fault::Trickle { bytes, pause_ms }) => script.trickle(*bytes, *pause_ms),
        _ => {}
    }
    script
}

/// Puts the places into a document that damage is done to.
fn mark(value: &mut Value, fault: Option<&Fault>) {
    let Value::Object(members) = value else { return };
    match fault {
        Some(Fault::Huge { .. }) => drop(members.insert("x-padding".to_owned(), Value::from(HUGE))),
        Some(Fault::Deep { .. }) => drop(members.insert("x-deep".to_owned(), Value::from(DEEP))),
        Some(Fault::Malformed { how }) => match how {
            Malformation::NotUtf8 | Malformation::LoneSurrogate | Malformation::NotANumber => {
                members.insert("x-damage".to_owned(), Value::from(DAMAGE));
            }
            Malformation::NoResult => members.clear(),
            Malformation::ResultAndError => drop(members.insert("error".to_owned(), Value::from("server_error"))),
            // Every member's type changes: texts become numbers.
            Malformation::WrongId => members.values_mut().for_each(|member| *member = Value::from(7)),
            Malformation::NotJson
            | Malformation::Truncated
            | Malformation::Trailing
            | Malformation::DuplicateKey
            | Malformation::Batch
            | Malformation::WrongMediaType
            | Malformation::Empty => {}
        },
        _ => {}
    }
}

fn damage(fault: Option<&Fault>, text: String) -> Bytes {
    if let Some(Fault::Deep { depth }) = fault {
        let lists = format!("{}{}", "[".repeat(*depth), "]".repeat(*depth));
        return Bytes::from(text.replace(&format!("\"{DEEP}\""), &lists));
    }
    let Some(Fault::Malformed { how }) = fault else { return Bytes::from(text) };
    let marked = format!("\"{DAMAGE}\"");
    match how {
        Malformation::NotJson => Bytes::from_static(b"<html>Bad gateway, sorry</html>"),
        Malformation::Truncated => Bytes::from(text.chars().take(text.chars().count() / 2).collect::<String>()),
        Malformation::Trailing => Bytes::from(format!("{text}{text}")),
        Malformation::DuplicateKey => {
            // Whichever of these the document has comes twice, with another value the second time.
            let body = text.trim_end().strip_suffix('}').unwrap_or_default();
            let evil =
                r#""access_token":"labat_twice","issuer":"https://twice.invalid","resource":"https://twice.invalid""#;
            Bytes::from(format!("{body},{evil}}}"))
        }
        Malformation::Batch => Bytes::from(format!("[{text}]")),
        Malformation::NotANumber => Bytes::from(text.replace(&marked, "NaN")),
        Malformation::LoneSurrogate => Bytes::from(text.replace(&marked, "\"\\ud800\"")),
        Malformation::NotUtf8 => {
            let (before, after) = text.split_once(DAMAGE).unwrap_or((&text, ""));
            Bytes::from([before.as_bytes(), b"\xc3\x28\xff", after.as_bytes()].concat())
        }
        Malformation::Empty => Bytes::new(),
        Malformation::WrongId
        | Malformation::NoResult
        | Malformation::ResultAndError
        | Malformation::WrongMediaType => Bytes::from(text),
    }
}
