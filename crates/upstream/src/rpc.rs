//! JSON-RPC messages as raw JSON: what goes out, and what a message that came in is. Never drops a member of a result.

use crate::error::UpstreamError;
use contract::Json;
use contract::review::Era;

/// A message from the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Message {
    /// The answer with this id. An error whose request could not be read has none.
    Answer { id: Option<i64>, body: Body },
    /// A request of the server's own.
    Request { id: Json, method: String },
    /// A notification.
    Notification,
}

/// Result or error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Body {
    Result(Json),
    Error { code: i64, message: String, data: Json },
}

impl Message {
    /// Reads one message; a batch, and what is neither of the three, is refused.
    pub(crate) fn read(json: Json) -> Result<Self, UpstreamError> {
        let malformed = |what| Err(UpstreamError::malformed(what));
        let Json::Object(mut members) = json else { return malformed("not one JSON-RPC message") };
        if members.get("jsonrpc").and_then(Json::as_str) != Some("2.0") {
            return malformed("not a JSON-RPC 2.0 message");
        }
        let id = members.remove("id");
        match (members.remove("method"), members.remove("result"), members.remove("error")) {
            (Some(Json::String(method)), None, None) => match id {
                Some(id @ (Json::String(_) | Json::Number(_))) => Ok(Self::Request { id, method }),
                None => Ok(Self::Notification),
                Some(_) => malformed("a request with an unusable id"),
            },
            (None, Some(result @ Json::Object(_)), None) => match id.as_ref().and_then(Json::as_i64) {
                Some(id) => Ok(Self::Answer { id: Some(id), body: Body::Result(result) }),
                None => malformed("a result for a request that was not made"),
            },
            (None, None, Some(error)) => match id {
                None | Some(Json::Null) => Ok(Self::Answer { id: None, body: read_error(&error)? }),
                Some(id) => match id.as_i64() {
                    Some(id) => Ok(Self::Answer { id: Some(id), body: read_error(&error)? }),
                    None => malformed("an error for a request that was not made"),
                },
            },
            _ => malformed("a message that is neither request, notification, result nor error"),
        }
    }
}

fn read_error(error: &Json) -> Result<Body, UpstreamError> {
    let code =
        error.find("code").and_then(Json::as_i64).ok_or_else(|| UpstreamError::malformed("an error without a code"))?;
    let message = error.find_str("message").unwrap_or_default().to_owned();
    Ok(Body::Error { code, message, data: error.find("data").cloned().unwrap_or(Json::Null) })
}

/// A request.
pub(crate) fn request(id: i64, method: &str, params: Json) -> Json {
    Json::from_members([("jsonrpc", "2.0".into()), ("id", id.into()), ("method", method.into()), ("params", params)])
}

/// The notification that ends a handshake.
pub(crate) fn initialized() -> Json {
    Json::from_members([("jsonrpc", "2.0".into()), ("method", "notifications/initialized".into())])
}

/// The answer to a request of the server's own: `ping` is answered, nothing else is offered.
pub(crate) fn answer_to_server(id: Json, method: &str) -> Json {
    let (member, value) = if method == "ping" {
        ("result", Json::object())
    } else {
        ("error", Json::from_members([("code", (-32601_i64).into()), ("message", "not offered by this client".into())]))
    };
    Json::from_members([("jsonrpc", "2.0".into()), ("id", id), (member, value)])
}

/// Who we say we are.
pub(crate) fn client_info() -> Json {
    Json::from_members([("name", "collie-online".into()), ("version", env!("CARGO_PKG_VERSION").into())])
}

/// The `_meta` that every request of 2026-07-28 carries. No capability is offered.
pub(crate) fn stateless_meta() -> Json {
    Json::from_members([
        ("io.modelcontextprotocol/protocolVersion", Era::Stateless.as_str().into()),
        ("io.modelcontextprotocol/clientInfo", client_info()),
        ("io.modelcontextprotocol/clientCapabilities", Json::object()),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::cjson;

    fn read(text: &str) -> Result<Message, UpstreamError> {
        Message::read(cjson::parse(text.as_bytes(), 1000).expect("JSON"))
    }

    #[test]
    fn messages_are_told_apart() {
        assert!(matches!(read(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#), Ok(Message::Answer { id: Some(1), .. })));
        assert!(matches!(
            read(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"m"}}"#),
            Ok(Message::Answer { id: None, body: Body::Error { code: -1, .. } })
        ));
        assert!(matches!(read(r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#), Ok(Message::Request { .. })));
        assert_eq!(read(r#"{"jsonrpc":"2.0","method":"notifications/message"}"#), Ok(Message::Notification));
    }

    #[test]
    fn what_is_two_things_or_none_is_refused() {
        for text in [
            "[]",
            "{}",
            r#"[{"jsonrpc":"2.0","id":1,"result":{}}]"#,
            r#"{"id":1,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"m","result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":[]}"#,
            r#"{"jsonrpc":"2.0","id":"1","result":{}}"#,
            r#"{"jsonrpc":"2.0","result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{"message":"no code"}}"#,
            r#"{"jsonrpc":"2.0","id":{},"method":"m"}"#,
        ] {
            assert!(matches!(read(text), Err(UpstreamError::Malformed { .. })), "{text}");
        }
    }
}
