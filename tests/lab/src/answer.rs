//! From a reply to the bytes of an answer, honest or damaged. Never runs a tool and never chooses the damage.

use crate::credential;
use crate::doc::{Doc, Style};
use crate::fault::{Fault, Malformation};
use crate::rpc::Reply;
use crate::script::{Script, Step};
use crate::switches::{AnswerForm, Arrangement, Echo, EchoForm, EchoPlace, Switches};
use crate::{rpc, sse};
use bytes::Bytes;
use http::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::{Value, json};

/// Opens and closes the places that are filled in after a document is written.
pub(crate) const MARK: char = '\u{f8f0}';
/// Where the caller's credential is filled in.
pub(crate) const ECHO: &str = "\u{f8f0}echo\u{f8f0}";
const DEEP: &str = "\u{f8f0}deep\u{f8f0}";
const HUGE: &str = "\u{f8f0}huge\u{f8f0}";
const DAMAGE: &str = "\u{f8f0}damage\u{f8f0}";

/// What an answer is made from.
pub(crate) struct Making<'a> {
    pub(crate) switches: &'a Switches,
    pub(crate) fault: Option<&'a Fault>,
    /// The request's id; absent if it had none or could not be read.
    pub(crate) id: Option<&'a Value>,
    /// Whether the request was a tool's call.
    pub(crate) is_call: bool,
    /// The credential as the caller sent it.
    pub(crate) given: Option<&'a str>,
}

/// Makes the answer to one request.
pub(crate) fn make(making: &Making<'_>, mut reply: Reply) -> Script {
    let echo = making.switches.echo.filter(|_| making.is_call && making.given.is_some());
    if let Some(echo) = echo {
        if echo.place == EchoPlace::Refusal {
            return refuse_with_echo(making, echo.form);
        }
        echo_into(&mut reply, echo.place);
    }
    let mut headers = HeaderMap::new();
    if let Some(Echo { place: EchoPlace::Header, form }) = echo {
        let value = credential::echoed(making.given.unwrap_or_default(), form);
        headers.insert("x-lab-echo", HeaderValue::from_str(&value).expect("it came out of a header"));
    }
    let (status, document) = envelope(making, reply);
    let Some(document) = document else { return Script { status, headers, steps: Vec::new() } };
    let script = write(making, echo, Script { status, headers, steps: Vec::new() }, &document);
    deliver(making, echo, script)
}

fn envelope(making: &Making<'_>, reply: Reply) -> (StatusCode, Option<Doc>) {
    let mut document = Doc::map([("jsonrpc", Doc::from("2.0"))]);
    if let Some(id) = making.id {
        document.set(&["id"], Doc::from(id.clone()));
    }
    let status = match reply {
        Reply::Accepted => return (StatusCode::ACCEPTED, None),
        Reply::Result(result) => {
            document.set(&["result"], result);
            StatusCode::OK
        }
        Reply::Error { status, code, message, data } => {
            let code = Doc::Number(code.to_string());
            document.set(&["error"], Doc::map([("code", code), ("message", Doc::from(message))]));
            if let Some(data) = data {
                document.set(&["error", "data"], data);
            }
            status
        }
    };
    damage_document(making.fault, &mut document);
    (status, Some(document))
}

fn damage_document(fault: Option<&Fault>, document: &mut Doc) {
    match fault {
        Some(Fault::Huge { .. }) => document.set(&["result", "x-padding"], Doc::from(HUGE)),
        Some(Fault::Deep { .. }) => document.set(&["result", "x-deep"], Doc::from(DEEP)),
        Some(Fault::Malformed { how }) => match how {
            Malformation::NotUtf8 | Malformation::LoneSurrogate | Malformation::NotANumber => {
                document.set(&["result", "x-damage"], Doc::from(DAMAGE));
            }
            Malformation::WrongId => document.set(&["id"], Doc::from("somebody-else")),
            Malformation::NoResult => remove(document, "result"),
            Malformation::ResultAndError => {
                document.set(&["error"], Doc::from(json!({"code": rpc::code::SERVER, "message": "and yet"})));
            }
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

fn remove(document: &mut Doc, name: &str) {
    if let Doc::Map(members) = document {
        members.retain(|(known, _)| known != name);
    }
}

fn write(making: &Making<'_>, echo: Option<Echo>, mut script: Script, document: &Doc) -> Script {
    let switches = making.switches;
    let is_stream = wants_stream(making, echo, script.status);
    let noisy = is_stream && switches.sse_noise;
    let style = Style {
        spaced: noisy || switches.arrange.contains(&Arrangement::Whitespace),
        reversed_keys: switches.arrange.contains(&Arrangement::Keys),
        escaped: switches.arrange.contains(&Arrangement::Escapes),
    };
    let text = fill_in(making, document.render(style));
    let bytes = damage_bytes(making.fault, text);
    let media_type = match making.fault {
        Some(Fault::Malformed { how: Malformation::WrongMediaType }) => "text/html",
        _ if is_stream => "text/event-stream",
        _ => "application/json",
    };
    script.headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    script.steps = if is_stream {
        let answer =
            if matches!(making.fault, Some(Fault::NoAnswer | Fault::EndlessEvents)) { None } else { Some(bytes) };
        let id = making.id.map(Value::to_string).unwrap_or_default();
        let (notes, endless) = (event_notes(making, echo), is_endless(making.fault));
        sse::stream(&sse::Stream { id: &id, notes, answer, noisy, endless })
    } else {
        vec![Step::Bytes(bytes)]
    };
    script
}

fn wants_stream(making: &Making<'_>, echo: Option<Echo>, status: StatusCode) -> bool {
    let fault = matches!(making.fault, Some(Fault::NoAnswer | Fault::EndlessEvents | Fault::ServerRequest));
    let echo = echo.is_some_and(|echo| echo.place == EchoPlace::Event);
    status == StatusCode::OK && (making.switches.answer == AnswerForm::Sse || fault || echo)
}

fn is_endless(fault: Option<&Fault>) -> bool {
    matches!(fault, Some(Fault::EndlessEvents))
}

/// Notifications and requests that come before the answer on a stream.
fn event_notes(making: &Making<'_>, echo: Option<Echo>) -> Vec<String> {
    let mut notes = Vec::new();
    let note = |data: &str| {
        let params = json!({"level": "info", "data": data});
        json!({"jsonrpc": "2.0", "method": "notifications/message", "params": params}).to_string()
    };
    if let Some(Echo { place: EchoPlace::Event, form }) = echo {
        let given = making.given.unwrap_or_default();
        if form == EchoForm::SplitEvents {
            let (first, second) = halves(given);
            notes.push(note(first));
            notes.push(note(second));
        } else {
            notes.push(fill_in(making, note(&format!("token {ECHO}"))));
        }
    }
    if matches!(making.fault, Some(Fault::ServerRequest)) {
        let params = json!({"messages": [], "maxTokens": 1});
        let request =
            json!({"jsonrpc": "2.0", "id": "from-server", "method": "sampling/createMessage", "params": params});
        notes.push(request.to_string());
    }
    notes
}

fn fill_in(making: &Making<'_>, text: String) -> String {
    let mut text = text;
    if text.contains(ECHO) {
        let form = making.switches.echo.map(|echo| echo.form).unwrap_or_default();
        text = text.replace(ECHO, &credential::echoed_in_json(making.given.unwrap_or_default(), form));
    }
    if let Some(Fault::Deep { depth }) = making.fault {
        let lists = format!("{}{}", "[".repeat(*depth), "]".repeat(*depth));
        text = text.replace(&format!("\"{DEEP}\""), &lists);
    }
    text
}

fn damage_bytes(fault: Option<&Fault>, text: String) -> Bytes {
    let Some(Fault::Malformed { how }) = fault else { return Bytes::from(text) };
    let marked = format!("\"{DAMAGE}\"");
    match how {
        Malformation::NotJson => Bytes::from_static(b"<html>Bad gateway, sorry</html>"),
        Malformation::Truncated => Bytes::from(halves(&text).0.to_owned()),
        Malformation::Trailing => Bytes::from(format!("{text}{text}")),
        Malformation::DuplicateKey => {
            let body = text.trim_end().strip_suffix('}').unwrap_or_default();
            Bytes::from(format!("{body},\"result\":{{\"content\":[],\"tools\":[]}}}}"))
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

/// Turns the written answer into the steps in which it leaves.
fn deliver(making: &Making<'_>, echo: Option<Echo>, mut script: Script) -> Script {
    match making.fault {
        Some(Fault::Huge { bytes }) => script.replace(HUGE.as_bytes(), *bytes),
        Some(Fault::DropMidway) => script.cut_midway(),
        Some(Fault::Trickle { bytes, pause_ms }) => script.trickle(*bytes, *pause_ms),
        _ => {}
    }
    if let (Some(Echo { form: EchoForm::SplitFrames, .. }), Some(given)) = (echo, making.given) {
        script.split_inside(given.as_bytes());
    }
    script
}

fn echo_into(reply: &mut Reply, place: EchoPlace) {
    match (place, reply) {
        (EchoPlace::Result, Reply::Result(result)) => {
            let text = format!("Called with {ECHO}, thank you");
            result.push_at(&["content"], Doc::map([("type", Doc::from("text")), ("text", Doc::from(text))]));
        }
        (EchoPlace::Key, Reply::Result(result)) => result.set(&["structuredContent", ECHO], Doc::Bool(true)),
        (EchoPlace::Error, reply) => {
            *reply = Reply::Error {
                status: StatusCode::OK,
                code: rpc::code::SERVER,
                message: format!("upstream said no to {ECHO}"),
                data: Some(Doc::map([("token", Doc::from(ECHO))])),
            };
        }
        _ => {}
    }
}

fn refuse_with_echo(making: &Making<'_>, form: EchoForm) -> Script {
    let given = credential::echoed(making.given.unwrap_or_default(), form);
    let mut headers = HeaderMap::new();
    let challenge = format!("Bearer error=\"insufficient_scope\", error_description=\"no: {given}\"");
    headers.insert(WWW_AUTHENTICATE, HeaderValue::from_str(&challenge).expect("it came out of a header"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    let body = Bytes::from(format!("{given} may not do this"));
    Script { status: StatusCode::FORBIDDEN, headers, steps: vec![Step::Bytes(body)] }
}

fn halves(text: &str) -> (&str, &str) {
    text.split_at(text.floor_char_boundary(text.len() / 2))
}
