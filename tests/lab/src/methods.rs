//! What each MCP method answers, in both eras. Never checks credentials, headers or sessions.

use crate::doc::Doc;
use crate::rpc::{Message, Reply, code};
use crate::state::Shared;
use crate::switches::{CacheScope, Switches};
use crate::{legacy, modern, tools};
use http::StatusCode;
use serde_json::{Value, json};

/// The era of one admitted message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    Legacy,
    Modern,
}

/// Answers an admitted message; the effect of a tool happens here and nowhere else.
pub(crate) fn answer(shared: &Shared, switches: &Switches, era: Era, message: &Message) -> Reply {
    if message.id.is_none() {
        return Reply::Accepted;
    }
    match (era, message.method.as_str()) {
        (Era::Legacy, "initialize") => Reply::Result(initialize(switches)),
        (Era::Legacy, "ping") => Reply::Result(Doc::Map(Vec::new())),
        (Era::Modern, "server/discover") => Reply::Result(discover(switches)),
        (_, "tools/list") => list(switches, era, message),
        (_, "tools/call") => call(shared, switches, era, message),
        (Era::Legacy, _) => Reply::error(StatusCode::OK, code::METHOD_NOT_FOUND, "Method not found"),
        (Era::Modern, _) => Reply::error(StatusCode::NOT_FOUND, code::METHOD_NOT_FOUND, "Method not found"),
    }
}

fn server_info() -> Value {
    json!({"name": "collie-lab", "title": "Collie Lab", "version": env!("CARGO_PKG_VERSION")})
}

fn initialize(switches: &Switches) -> Doc {
    let mut result = Doc::from(json!({
        "protocolVersion": legacy::VERSION,
        "capabilities": {"tools": {"listChanged": true}},
        "serverInfo": server_info(),
    }));
    result.set(&["instructions"], Doc::from(tools::instructions(switches)));
    result
}

fn discover(switches: &Switches) -> Doc {
    let mut result = Doc::from(json!({
        "supportedVersions": modern::supported(switches.era),
        "capabilities": {"tools": {}},
        "_meta": {"io.modelcontextprotocol/serverInfo": server_info()},
    }));
    result.set(&["instructions"], Doc::from(tools::instructions(switches)));
    finish_cacheable(switches, &mut result);
    result
}

fn list(switches: &Switches, era: Era, message: &Message) -> Reply {
    let cursor = match message.params.get("cursor") {
        None => None,
        Some(Value::String(cursor)) => Some(cursor.as_str()),
        Some(_) => return Reply::error(StatusCode::OK, code::INVALID_PARAMS, "cursor must be a text"),
    };
    let Some(page) = tools::page(switches, cursor) else {
        return Reply::error(StatusCode::OK, code::INVALID_PARAMS, "unknown cursor");
    };
    let mut result = Doc::map([("tools", Doc::List(page.tools))]);
    if let Some(next) = page.next {
        result.set(&["nextCursor"], Doc::from(next));
    }
    if era == Era::Modern {
        finish_cacheable(switches, &mut result);
    }
    Reply::Result(result)
}

fn finish_cacheable(switches: &Switches, result: &mut Doc) {
    let scope = match switches.cache_scope {
        CacheScope::Private => "private",
        CacheScope::Public => "public",
    };
    result.set(&["resultType"], Doc::from("complete"));
    result.set(&["ttlMs"], Doc::Number(switches.ttl_ms.to_string()));
    result.set(&["cacheScope"], Doc::from(scope));
}

fn call(shared: &Shared, switches: &Switches, era: Era, message: &Message) -> Reply {
    let invalid = |text: &str| Reply::error(StatusCode::OK, code::INVALID_PARAMS, text);
    let Some(tool) = message.tool() else { return invalid("no tool named") };
    if !tools::is_listed(switches, tool) {
        return invalid("Unknown tool");
    }
    let arguments = message.arguments();
    if !arguments.is_object() {
        return invalid("arguments must be an object");
    }
    if let Some(state) = message.params.get("requestState")
        && !state.as_str().is_some_and(|state| shared.redeem_request_state(state))
    {
        return invalid("requestState is unknown or was used before");
    }
    let ran = shared.run(tool, &arguments);
    let content = Doc::map([("type", Doc::from("text")), ("text", Doc::from(ran.text))]);
    let mut result = Doc::map([("content", Doc::List(vec![content])), ("isError", Doc::Bool(ran.is_error))]);
    if let Some(structured) = ran.structured {
        result.set(&["structuredContent"], structured);
    }
    if era == Era::Modern {
        result.set(&["resultType"], Doc::from("complete"));
    }
    Reply::Result(result)
}

/// The answer that asks for the person's input instead of running the tool.
pub(crate) fn input_required(era: Era, request_state: String, page: &str) -> Reply {
    let message = "Please confirm in the browser.";
    match era {
        Era::Modern => Reply::Result(Doc::from(json!({
            "resultType": "input_required",
            "inputRequests": {"confirm": {"method": "elicitation/create",
                "params": {"mode": "url", "message": message, "url": page}}},
            "requestState": request_state,
        }))),
        Era::Legacy => Reply::Error {
            status: StatusCode::OK,
            code: code::URL_ELICITATION,
            message: "The person must confirm first".to_owned(),
            data: Some(Doc::from(json!({"elicitations": [
                {"mode": "url", "message": message, "url": page, "elicitationId": request_state}]}))),
        },
    }
}
