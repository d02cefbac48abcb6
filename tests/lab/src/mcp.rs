//! The MCP endpoint: every request to it passes here, in one visible order. Never acts for a caller without the credential.

use crate::answer::{self, Making};
use crate::credential::{Credential, Presented};
use crate::fault::{Fault, RedirectTarget};
use crate::methods::{self, Era};
use crate::rpc::{Message, Reply, code};
use crate::script::{Script, Step};
use crate::seen::{self, SeenRequest};
use crate::state::{Shared, make_token};
use crate::switches::{Eras, Switches};
use crate::wire::Peer;
use crate::{legacy, modern, oauth};
use axum::body::Bytes;
use axum::extract::{ConnectInfo, OriginalUri, State};
use axum::response::Response;
use http::header::{ACCEPT, ALLOW, CONTENT_TYPE, HOST, LOCATION, ORIGIN, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use std::sync::Arc;

/// Path of the MCP endpoint.
pub(crate) const PATH: &str = "/mcp";
/// Path of the same endpoint as another resource, for tokens that belong to the first.
pub(crate) const PATH_B: &str = "/mcp-b";
/// Path on the same host that redirects may point to.
pub(crate) const STRAY_PATH: &str = "/elsewhere";

/// Answers one request to the MCP endpoint.
pub(crate) async fn serve(
    State(shared): State<Arc<Shared>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    OriginalUri(uri): OriginalUri,
    method: Method,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let message = if method == Method::POST { Message::read(&body) } else { Err(Reply::Accepted) };
    let judged = shared.judge_token(&headers, uri.path(), message.as_ref().ok().and_then(Message::tool));
    let presented = judged.as_ref().map_or_else(|| shared.credential.judge(&headers), oauth::Judged::presented);
    let token = judged.as_ref().map(|judged| judged.token.clone());
    shared.record_request(describe(&method, &headers, presented, token, message.as_ref().ok()));
    if !shared.credential.admits(presented) {
        shared.count_refused();
        return challenge(&shared, uri.path(), presented).play();
    }
    if let Some(missing) = judged.and_then(|judged| judged.missing) {
        shared.count_refused();
        return challenge_scope(&shared, uri.path(), missing).play();
    }
    if let Some(script) = refuse_form(&shared, &method, &headers) {
        shared.count_invalid();
        return script.play();
    }
    if method == Method::DELETE {
        return close_session(&shared, &headers).play();
    }
    let switches = shared.switches();
    let given = shared.credential.given(&headers);
    let plain = Making { switches: &switches, fault: None, id: None, is_call: false, given: given.as_deref() };
    let message = match message {
        Ok(message) => message,
        Err(reply) => {
            shared.count_invalid();
            return answer::make(&plain, reply).play();
        }
    };
    let making = Making { id: message.id.as_ref(), ..plain };
    match admit(&shared, &switches, &headers, &message) {
        Ok(admitted) => answer_admitted(&shared, &peer, uri.path(), admitted, &message, given.as_deref()).await,
        Err(reply) => {
            shared.count_invalid();
            answer::make(&making, reply).play()
        }
    }
}

/// The era of an admitted message, and the session it opened.
struct Admitted {
    era: Era,
    new_session: Option<String>,
}

fn admit(shared: &Shared, switches: &Switches, headers: &HeaderMap, message: &Message) -> Result<Admitted, Reply> {
    let is_modern = modern::claims(headers, message);
    match switches.era {
        // A server of the older era knows nothing of the newer one, not even how to refuse it.
        Eras::Legacy if is_modern => {
            Err(Reply::error(StatusCode::BAD_REQUEST, code::SERVER, "Bad Request: no valid session"))
        }
        Eras::Modern if !is_modern => {
            let requested = message.params.get("protocolVersion").and_then(serde_json::Value::as_str);
            Err(modern::unsupported(switches.era, requested.unwrap_or_default()))
        }
        Eras::Both | Eras::Modern if is_modern => {
            modern::admit(switches.era, headers, message)?;
            Ok(Admitted { era: Era::Modern, new_session: None })
        }
        Eras::Both | Eras::Legacy | Eras::Modern => {
            let new_session = legacy::admit(shared, headers, message)?;
            Ok(Admitted { era: Era::Legacy, new_session })
        }
    }
}

async fn answer_admitted(
    shared: &Shared,
    peer: &Peer,
    path: &str,
    admitted: Admitted,
    message: &Message,
    given: Option<&str>,
) -> Response {
    let fault = shared.admit(&message.method, message.tool());
    // Read again: the fault may have been a change of the switches.
    let switches = shared.switches();
    let mut reply = None;
    match &fault {
        Some(Fault::HangBefore) => shared.hang().await,
        Some(Fault::DropBefore) => return cut(peer),
        Some(Fault::Redirect { status, to }) => return redirect(shared, *status, to).play(),
        Some(Fault::Status { code, retry_after_s }) => return refuse(shared, path, *code, *retry_after_s).play(),
        Some(Fault::InputRequired) => {
            let page = format!("{}/confirm", shared.other_url);
            reply = Some(methods::input_required(admitted.era, shared.make_request_state(), &page));
        }
        _ => {}
    }
    let reply = reply.unwrap_or_else(|| methods::answer(shared, &switches, admitted.era, message));
    match &fault {
        Some(Fault::HangAfter) => shared.hang().await,
        Some(Fault::DropAfter) => return cut(peer),
        _ => {}
    }
    let making = Making {
        switches: &switches,
        fault: fault.as_ref(),
        id: message.id.as_ref(),
        is_call: message.tool().is_some(),
        given,
    };
    let mut script = answer::make(&making, reply);
    if let Some(session) = admitted.new_session {
        let value = HeaderValue::from_str(&session).expect("a session name is hexadecimal");
        script.headers.insert(legacy::SESSION, value);
    }
    script.play()
}

fn describe(
    method: &Method,
    headers: &HeaderMap,
    credential: Presented,
    token: Option<oauth::SeenToken>,
    message: Option<&Message>,
) -> SeenRequest {
    let version = headers.get("mcp-protocol-version").and_then(|value| value.to_str().ok());
    let tool = message.and_then(Message::tool);
    SeenRequest {
        http_method: method.to_string(),
        method: message.map(|message| message.method.clone()).unwrap_or_default(),
        tool: tool.map(str::to_owned),
        arguments: tool.and(message).map(Message::arguments),
        protocol_version: version.map(str::to_owned),
        session: headers.contains_key(legacy::SESSION),
        credential,
        token,
        header_names: seen::header_names(headers),
    }
}

/// The refusal of a request that is not what every request must be, whatever its era.
fn refuse_form(shared: &Shared, method: &Method, headers: &HeaderMap) -> Option<Script> {
    if *method == Method::DELETE && shared.switches().era != Eras::Modern {
        return None;
    }
    if *method != Method::POST {
        let mut script = Script::plain(StatusCode::METHOD_NOT_ALLOWED, "POST only\n");
        script.headers.insert(ALLOW, HeaderValue::from_static("POST"));
        return Some(script);
    }
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    // DNS rebinding: a browser names the page that sent it, and that must be this very host.
    if headers.contains_key(ORIGIN) && text(ORIGIN) != format!("http://{}", text(HOST)) {
        return Some(Script::plain(StatusCode::FORBIDDEN, "foreign origin\n"));
    }
    if text(CONTENT_TYPE).split(';').next().map(str::trim) != Some("application/json") {
        return Some(Script::plain(StatusCode::UNSUPPORTED_MEDIA_TYPE, "application/json only\n"));
    }
    let accepts = text(ACCEPT);
    if !accepts.contains("application/json") || !accepts.contains("text/event-stream") {
        return Some(Script::plain(StatusCode::NOT_ACCEPTABLE, "must accept JSON and event streams\n"));
    }
    None
}

fn close_session(shared: &Shared, headers: &HeaderMap) -> Script {
    match legacy::session_of(headers) {
        None => Script::plain(StatusCode::BAD_REQUEST, "no session named\n"),
        Some(id) if shared.close_session(id) => Script::plain(StatusCode::OK, ""),
        Some(_) => Script::plain(StatusCode::NOT_FOUND, "no such session\n"),
    }
}

fn challenge(shared: &Shared, path: &str, presented: Presented) -> Script {
    let mut script = Script::plain(StatusCode::UNAUTHORIZED, "credential needed\n");
    put_challenge(&mut script, &challenge_text(shared, path, presented));
    script
}

/// The refusal of a token whose scope is too narrow.
fn challenge_scope(shared: &Shared, path: &str, missing: &str) -> Script {
    let mut script = Script::plain(StatusCode::FORBIDDEN, "a wider scope is needed\n");
    let switches = shared.switches().oauth;
    put_challenge(&mut script, &oauth::insufficient(&switches, &shared.addresses, path, missing));
    script
}

fn challenge_text(shared: &Shared, path: &str, presented: Presented) -> String {
    match shared.credential {
        Credential::OAuth => oauth::challenge(&shared.switches().oauth, &shared.addresses, path, presented),
        Credential::None | Credential::Bearer(_) | Credential::Header { .. } => shared.credential.challenge(presented),
    }
}

fn put_challenge(script: &mut Script, text: &str) {
    // What a switch puts there word for word may be no header value at all; then there is no challenge.
    if let Ok(value) = HeaderValue::from_str(text) {
        script.headers.insert(WWW_AUTHENTICATE, value);
    }
}

/// Ends the connection. The response is for the server alone: nothing of it can be written any more.
pub(crate) fn cut(peer: &Peer) -> Response {
    peer.cut();
    Script { status: StatusCode::OK, headers: HeaderMap::new(), steps: vec![Step::Cut] }.play()
}

pub(crate) fn redirect(shared: &Shared, status: u16, to: &RedirectTarget) -> Script {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::TEMPORARY_REDIRECT);
    let target = match to {
        RedirectTarget::Path => STRAY_PATH.to_owned(),
        RedirectTarget::Host => format!("{}{PATH}", shared.other_url),
        RedirectTarget::Url(url) => url.clone(),
    };
    let mut script = Script::plain(status, "elsewhere\n");
    if let Ok(value) = HeaderValue::from_str(&target) {
        script.headers.insert(LOCATION, value);
    }
    script
}

fn refuse(shared: &Shared, path: &str, code: u16, retry_after_s: Option<u32>) -> Script {
    let mut script = refuse_plainly(code, retry_after_s);
    let challenge = match script.status {
        StatusCode::UNAUTHORIZED => Some(challenge_text(shared, path, Presented::Wrong)),
        StatusCode::FORBIDDEN => {
            Some(format!(r#"Bearer error="insufficient_scope", scope="notes:all", nonce="{}""#, make_token()))
        }
        _ => None,
    };
    if let Some(challenge) = challenge {
        put_challenge(&mut script, &challenge);
    }
    script
}

/// An HTTP status and nothing else.
pub(crate) fn refuse_plainly(code: u16, retry_after_s: Option<u32>) -> Script {
    let status = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut script = Script::plain(status, "not now\n");
    if let Some(seconds) = retry_after_s {
        script.headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    script
}
