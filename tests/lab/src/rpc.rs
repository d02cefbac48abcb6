//! JSON-RPC messages as a lab reads and answers them. Never knows HTTP headers or eras.

use crate::doc::Doc;
use http::StatusCode;
use serde_json::{Map, Value};

/// Error codes of JSON-RPC and of the MCP revisions.
pub(crate) mod code {
    pub(crate) const PARSE: i64 = -32700;
    pub(crate) const INVALID_REQUEST: i64 = -32600;
    pub(crate) const METHOD_NOT_FOUND: i64 = -32601;
    pub(crate) const INVALID_PARAMS: i64 = -32602;
    /// A server's own error, as servers of the older era use it for HTTP refusals.
    pub(crate) const SERVER: i64 = -32000;
    /// 2026-07-28: headers and body disagree.
    pub(crate) const HEADER_MISMATCH: i64 = -32020;
    /// 2026-07-28: the version is not spoken.
    pub(crate) const UNSUPPORTED_VERSION: i64 = -32022;
    /// 2025-11-25: the person must open an address first.
    pub(crate) const URL_ELICITATION: i64 = -32042;
}

/// One message from a client.
pub(crate) struct Message {
    /// Absent for a notification.
    pub(crate) id: Option<Value>,
    pub(crate) method: String,
    pub(crate) params: Map<String, Value>,
}

impl Message {
    /// Reads one message. A batch, an answer, or a message with another `jsonrpc` is none.
    pub(crate) fn read(body: &[u8]) -> Result<Message, Reply> {
        let refuse = |code, message| Reply::error(StatusCode::BAD_REQUEST, code, message);
        let value: Value = serde_json::from_slice(body).map_err(|_| refuse(code::PARSE, "not JSON"))?;
        let invalid = || refuse(code::INVALID_REQUEST, "not one JSON-RPC request");
        let Value::Object(mut members) = value else { return Err(invalid()) };
        if members.remove("jsonrpc") != Some(Value::from("2.0")) {
            return Err(invalid());
        }
        let id = members.remove("id");
        if !matches!(id, None | Some(Value::String(_) | Value::Number(_))) {
            return Err(invalid());
        }
        let Some(Value::String(method)) = members.remove("method") else { return Err(invalid()) };
        let params = match members.remove("params") {
            None => Map::new(),
            Some(Value::Object(params)) => params,
            Some(_) => return Err(invalid()),
        };
        Ok(Message { id, method, params })
    }

    /// The tool that a `tools/call` names.
    pub(crate) fn tool(&self) -> Option<&str> {
        if self.method == "tools/call" { self.params.get("name").and_then(Value::as_str) } else { None }
    }

    /// The arguments of a `tools/call`; none are an empty object.
    pub(crate) fn arguments(&self) -> Value {
        self.params.get("arguments").cloned().unwrap_or_else(|| Value::Object(Map::new()))
    }

    /// A member of `_meta` with the protocol's own prefix.
    pub(crate) fn meta(&self, name: &str) -> Option<&Value> {
        self.params.get("_meta")?.get(format!("io.modelcontextprotocol/{name}"))
    }
}

/// What a message is answered with.
pub(crate) enum Reply {
    /// A result, always under status 200.
    Result(Doc),
    /// An error.
    Error { status: StatusCode, code: i64, message: String, data: Option<Doc> },
    /// A notification was taken.
    Accepted,
}

impl Reply {
    pub(crate) fn error(status: StatusCode, code: i64, message: impl Into<String>) -> Reply {
        Reply::Error { status, code, message: message.into(), data: None }
    }
}
