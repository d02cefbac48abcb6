//! Revision 2025-11-25: sessions opened by `initialize`. Never speaks a later revision.

use crate::rpc::{Message, Reply, code};
use crate::state::{Session, Shared};
use http::{HeaderMap, StatusCode};

/// The only version of this era that a lab speaks.
pub(crate) const VERSION: &str = "2025-11-25";
/// Versions that clients of this era may name.
pub(crate) const KNOWN: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", VERSION];
/// The header that names a session.
pub(crate) const SESSION: &str = "mcp-session-id";

/// Checks a message against its session; `initialize` opens one and returns its name.
pub(crate) fn admit(shared: &Shared, headers: &HeaderMap, message: &Message) -> Result<Option<String>, Reply> {
    if message.method == "initialize" {
        return initialize(shared, headers, message).map(Some);
    }
    let bad = |text: &str| Reply::error(StatusCode::BAD_REQUEST, code::SERVER, text);
    let Some(id) = session_of(headers) else { return Err(bad("no session: initialize first")) };
    let session = shared.find_session(id);
    if session == Session::Unknown {
        return Err(Reply::error(StatusCode::NOT_FOUND, code::SERVER, "session not found"));
    }
    if headers.get("mcp-protocol-version").is_none_or(|version| version != VERSION) {
        return Err(bad("MCP-Protocol-Version must name the negotiated version"));
    }
    if message.method == "notifications/initialized" {
        shared.confirm_session(id);
    } else if session == Session::Opening && message.method != "ping" {
        return Err(bad("notifications/initialized comes first"));
    }
    Ok(None)
}

/// The session a request names.
pub(crate) fn session_of(headers: &HeaderMap) -> Option<&str> {
    headers.get(SESSION)?.to_str().ok()
}

fn initialize(shared: &Shared, headers: &HeaderMap, message: &Message) -> Result<String, Reply> {
    let bad = |text: &str| Reply::error(StatusCode::BAD_REQUEST, code::INVALID_PARAMS, text);
    if session_of(headers).is_some() {
        return Err(bad("initialize belongs to no session"));
    }
    if message.id.is_none() {
        return Err(bad("initialize is a request"));
    }
    let complete = message.params.get("protocolVersion").is_some_and(serde_json::Value::is_string)
        && message.params.get("capabilities").is_some_and(serde_json::Value::is_object)
        && message.params.get("clientInfo").is_some_and(serde_json::Value::is_object);
    if !complete {
        return Err(bad("initialize needs protocolVersion, capabilities and clientInfo"));
    }
    let full = || Reply::error(StatusCode::SERVICE_UNAVAILABLE, code::SERVER, "too many sessions");
    shared.open_session().ok_or_else(full)
}
