//! The authorization endpoint: who asks for what, the person's word, and the way back. Never sends anybody to an address that is not registered.

use super::desk::{Answer, Asking, Desk, Site, Work};
use super::form::{Form, with_query};
use super::ledger::Asked;
use super::seen::Verdict;
use super::switches::{Consent, IssForm, Offline, StateForm};
use super::{client, document, scope};
use crate::state::make_token;
use crate::wire::Peer;
use axum::body::Bytes;
use axum::extract::{ConnectInfo, OriginalUri, State};
use axum::response::Response;
use http::header::LOCATION;
use http::{HeaderMap, HeaderValue, StatusCode};

/// Life of a code, in seconds.
const CODE_TTL_S: u64 = 60;

/// Answers an authorization request.
pub(crate) async fn serve(
    State(desk): State<Desk>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    OriginalUri(uri): OriginalUri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let query = uri.query().unwrap_or_default().to_owned();
    let form = Form::read(if body.is_empty() { query.as_bytes() } else { &body });
    document::learn(&desk, form.one("client_id")).await;
    let asking = Asking { peer: &peer, endpoint: "oauth/authorize", kind: None, path: uri.path(), headers: &headers };
    desk.answer(asking, |work| {
        work.counts.authorizations += 1;
        if let Some(address) = work.switches.forward_authorize_to.clone().filter(|_| work.site != Site::Second) {
            let joint = if address.contains('?') { '&' } else { '?' };
            return go(&format!("{address}{joint}{query}"));
        }
        match understand(work, &form) {
            Ok(asked) => answer(work, asked),
            Err(refusal) => refusal,
        }
    })
    .await
}

/// Takes the person's word from the page.
pub(crate) async fn decide(
    State(desk): State<Desk>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let form = Form::read(&body);
    let asking =
        Asking { peer: &peer, endpoint: "oauth/consent", kind: None, path: "/oauth/consent", headers: &headers };
    desk.answer(asking, |work| match form.one("page").and_then(|page| work.ledger.pages.remove(page)) {
        None => Answer::text(StatusCode::BAD_REQUEST, "text/plain", "this page was used or never shown\n".to_owned()),
        Some(asked) if form.one("decision") == Some("allow") => consent(work, asked),
        Some(asked) => back(work, &asked.redirect_uri, asked.state.clone(), &[("error", "access_denied".to_owned())]),
    })
    .await
}

fn answer(work: &mut Work<'_>, asked: Asked) -> Answer {
    match work.switches.consent {
        Consent::Auto => consent(work, asked),
        Consent::Deny => {
            let why = ("error_description", "the person said no".to_owned());
            back(work, &asked.redirect_uri, asked.state.clone(), &[("error", "access_denied".to_owned()), why])
        }
        Consent::Page => {
            let page = make_token();
            let text = format!(
                "<!doctype html><title>Collie Lab</title><form method=post action=/oauth/consent>\
                 <input type=hidden name=page value={page}>\
                 <button name=decision value=allow>Allow</button><button name=decision value=deny>Deny</button></form>\n"
            );
            work.ledger.pages.insert(page, asked);
            Answer::text(StatusCode::OK, "text/html; charset=utf-8", text)
        }
    }
}

fn consent(work: &mut Work<'_>, asked: Asked) -> Answer {
    let (redirect_uri, state) = (asked.redirect_uri.clone(), asked.state.clone());
    let code = work.ledger.make_code(asked, work.now_s + CODE_TTL_S);
    work.counts.consents += 1;
    back(work, &redirect_uri, state, &[("code", code)])
}

/// Reads a request; a refusal goes back to the client only if the way back is known to be its own.
fn understand(work: &mut Work<'_>, form: &Form) -> Result<Asked, Answer> {
    let stay = |text: &str| Answer::text(StatusCode::BAD_REQUEST, "text/plain", format!("{text}\n"));
    client::name(work, form.one("client_id"));
    let Some(client_id) = form.one("client_id") else { return Err(stay("no client named")) };
    let Some(known) = work.ledger.clients.get(client_id).cloned() else { return Err(stay("no such client")) };
    let redirect_uri = form.one("redirect_uri").filter(|uri| known.redirects_to(uri));
    work.entry.redirect = verdict(form, "redirect_uri", redirect_uri.is_some());
    let Some(redirect_uri) = redirect_uri else { return Err(stay("this redirect is not registered")) };
    let state = form.one("state").map(str::to_owned);
    let refuse = |work: &Work<'_>, code: &str, text: &str| {
        let pairs = [("error", code.to_owned()), ("error_description", text.to_owned())];
        Err(back(work, redirect_uri, state.clone(), &pairs))
    };
    let challenge = form.one("code_challenge").filter(|challenge| is_challenge(challenge));
    let is_s256 = challenge.is_some() && form.one("code_challenge_method") == Some("S256");
    work.entry.pkce = verdict(form, "code_challenge", is_s256);
    check_resource(work, form);
    work.entry.scope = form.words("scope");
    if form.repeats() {
        return refuse(work, "invalid_request", "a parameter came twice");
    }
    if form.one("response_type") != Some("code") {
        return refuse(work, "unsupported_response_type", "only code");
    }
    let (Some(challenge), true) = (challenge, is_s256) else {
        return refuse(work, "invalid_request", "PKCE with S256 is needed");
    };
    if work.switches.resource_checked && work.entry.resource != Verdict::Right {
        return refuse(work, "invalid_target", "resource is missing or not this one");
    }
    if work.ledger.is_full() {
        return refuse(work, "temporarily_unavailable", "the lab is full");
    }
    let Some((scope, offline)) = grantable(work, &work.entry.scope) else {
        return refuse(work, "invalid_scope", "a scope is unknown or not given");
    };
    let resource = form.one("resource").map_or_else(|| default_resource(work), str::to_owned);
    let (client_id, redirect_uri, challenge) = (client_id.to_owned(), redirect_uri.to_owned(), challenge.to_owned());
    Ok(Asked { client_id, redirect_uri, state, challenge, resource, scope, offline })
}

/// Notes whether `resource` is one of this lab's, byte for byte.
pub(crate) fn check_resource(work: &mut Work<'_>, form: &Form) {
    work.entry.resource = match form.all("resource") {
        [] => Verdict::Absent,
        [only] if work.is_resource(only) => Verdict::Right,
        [_] => Verdict::Wrong,
        _ => Verdict::Several,
    };
}

/// The resource of a request that names none, where that is not checked.
pub(crate) fn default_resource(work: &Work<'_>) -> String {
    format!("{}{}", work.addresses.resource, crate::mcp::PATH)
}

/// What of the asked scope is given, and whether a refresh token comes with it; `None` if it is refused.
pub(crate) fn grantable(work: &Work<'_>, asked: &[String]) -> Option<(Vec<String>, bool)> {
    let asks_offline = asked.iter().any(|word| word == scope::OFFLINE);
    let mut working: Vec<String> = asked.iter().filter(|word| *word != scope::OFFLINE).cloned().collect();
    if working.iter().any(|word| !scope::WORKING.contains(&word.as_str())) {
        return None;
    }
    if working.is_empty() {
        working.push(scope::READ.to_owned());
    }
    match work.switches.offline {
        Offline::Offered => Some((working, true)),
        Offline::Needed => Some((working, asks_offline)),
        Offline::Refused => (!asks_offline).then_some((working, false)),
        Offline::Unknown => (!asks_offline).then_some((working, true)),
    }
}

/// Notes of a parameter whether it was there and right.
pub(crate) fn verdict(form: &Form, name: &str, is_right: bool) -> Verdict {
    match form.all(name) {
        [] => Verdict::Absent,
        [_] if is_right => Verdict::Right,
        [_] => Verdict::Wrong,
        _ => Verdict::Several,
    }
}

fn is_challenge(text: &str) -> bool {
    text.len() == 43 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

/// The way back to the client, with `state` and `iss` as the switches say (RFC 9207: also on errors).
fn back(work: &Work<'_>, redirect_uri: &str, state: Option<String>, pairs: &[(&str, String)]) -> Answer {
    let mut pairs = pairs.to_vec();
    match (work.switches.state, state) {
        (StateForm::Right, Some(state)) => pairs.push(("state", state)),
        (StateForm::Wrong, _) => pairs.push(("state", make_token())),
        (StateForm::Right, None) | (StateForm::Absent, _) => {}
    }
    let issuer = work.issuer();
    match work.switches.iss {
        IssForm::Right => pairs.push(("iss", issuer)),
        IssForm::Absent => {}
        IssForm::Wrong => pairs.push(("iss", work.other_issuer())),
        IssForm::Slash => pairs.push(("iss", format!("{issuer}/"))),
        IssForm::Case => pairs.push(("iss", issuer.replacen("http", "HTTP", 1))),
        IssForm::Twice => pairs.extend([("iss", issuer.clone()), ("iss", issuer)]),
    }
    let mut answer = go(&with_query(redirect_uri, &pairs));
    // Written down as the refusal it is.
    if let Some((_, code)) = pairs.iter().find(|(name, _)| *name == "error") {
        answer.refusal = Some(code.clone());
    }
    answer
}

fn go(address: &str) -> Answer {
    let mut answer = Answer::text(StatusCode::FOUND, "text/plain", String::new());
    if let Ok(value) = HeaderValue::from_str(address) {
        answer.headers.push((LOCATION, value));
    }
    answer
}
