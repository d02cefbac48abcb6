//! Revision 2026-07-28: every request stands alone and its headers mirror its body. Never opens a session.

use crate::doc::Doc;
use crate::legacy;
use crate::rpc::{Message, Reply, code};
use crate::switches::Eras;
use crate::tools;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

/// The only version of this era that a lab speaks.
pub(crate) const VERSION: &str = "2026-07-28";

/// Whether a request is one of this era: it says so in its body, or in a header with a version of no other era.
pub(crate) fn claims(headers: &HeaderMap, message: &Message) -> bool {
    let header = headers.get("mcp-protocol-version").and_then(|value| value.to_str().ok());
    message.meta("protocolVersion").is_some() || header.is_some_and(|version| !legacy::KNOWN.contains(&version))
}

/// The versions a lab names when it refuses one.
pub(crate) fn supported(eras: Eras) -> Vec<&'static str> {
    match eras {
        Eras::Both => vec![VERSION, legacy::VERSION],
        Eras::Legacy => vec![legacy::VERSION],
        Eras::Modern => vec![VERSION],
    }
}

/// Refuses a version.
pub(crate) fn unsupported(eras: Eras, requested: &str) -> Reply {
    Reply::Error {
        status: StatusCode::BAD_REQUEST,
        code: code::UNSUPPORTED_VERSION,
        message: "Unsupported protocol version".to_owned(),
        data: Some(Doc::from(json!({"supported": supported(eras), "requested": requested}))),
    }
}

/// Checks that a message says what it must, and that its headers say the same.
pub(crate) fn admit(eras: Eras, headers: &HeaderMap, message: &Message) -> Result<(), Reply> {
    let version = message.meta("protocolVersion").and_then(Value::as_str).unwrap_or_default();
    mirror(headers, "mcp-protocol-version", Some(version), Form::Plain)?;
    if version != VERSION {
        return Err(unsupported(eras, version));
    }
    mirror(headers, "mcp-method", Some(&message.method), Form::Plain)?;
    let name = match message.method.as_str() {
        "tools/call" | "prompts/get" => message.params.get("name").and_then(Value::as_str),
        "resources/read" => message.params.get("uri").and_then(Value::as_str),
        _ => None,
    };
    mirror(headers, "mcp-name", name, Form::Encodable)?;
    if message.id.is_some() && message.meta("clientCapabilities").is_none_or(|value| !value.is_object()) {
        let text = "_meta needs io.modelcontextprotocol/clientCapabilities";
        return Err(Reply::error(StatusCode::BAD_REQUEST, code::INVALID_PARAMS, text));
    }
    let (tool, argument, header) = tools::MIRRORED;
    if message.tool() == Some(tool) {
        let arguments = message.arguments();
        mirror(headers, header, arguments.get(argument).and_then(Value::as_str), Form::Encodable)?;
    }
    Ok(())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Plain,
    Encodable,
}

fn mirror(headers: &HeaderMap, name: &str, body: Option<&str>, form: Form) -> Result<(), Reply> {
    let mut values = headers.get_all(name).iter();
    let header = values.next().map(|value| decode(value.as_bytes(), form));
    let same = match (&header, body) {
        (None, None) => true,
        (Some(Some(header)), Some(body)) => header == body,
        (None, Some(_)) | (Some(_), None) | (Some(None), Some(_)) => false,
    };
    if same && values.next().is_none() {
        return Ok(());
    }
    let text = format!("Header mismatch: {name} must be there once and say what the body says");
    Err(Reply::error(StatusCode::BAD_REQUEST, code::HEADER_MISMATCH, text))
}

/// A header's value as text; `None` if it is not well formed.
fn decode(value: &[u8], form: Form) -> Option<String> {
    let text = str::from_utf8(value).ok()?;
    let encoded = text.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?="));
    match encoded {
        Some(encoded) if form == Form::Encodable => String::from_utf8(STANDARD.decode(encoded).ok()?).ok(),
        _ => text.is_ascii().then(|| text.to_owned()),
    }
}
