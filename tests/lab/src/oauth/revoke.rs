//! The revocation endpoint (RFC 7009). Never says whether a token existed.

use super::desk::{Answer, Asking, Desk, Work};
use super::form::Form;
use super::ledger::Reach;
use super::seen::TokenVerdict;
use super::switches::Revocation;
use super::{client, document, echo};
use crate::wire::Peer;
use axum::body::Bytes;
use axum::extract::{ConnectInfo, State};
use axum::response::Response;
use http::{HeaderMap, StatusCode};

/// Revokes one token and what the switches say with it.
pub(crate) async fn serve(
    State(desk): State<Desk>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let form = Form::read(&body);
    document::learn(&desk, form.one("client_id")).await;
    let kind = form.one("token_type_hint").map(str::to_owned);
    let asking = Asking { peer: &peer, endpoint: "oauth/revoke", kind, path: "/oauth/revoke", headers: &headers };
    desk.answer(asking, |work| revoke(work, &headers, &form).unwrap_or_else(|refusal| refusal)).await
}

fn revoke(work: &mut Work<'_>, headers: &HeaderMap, form: &Form) -> Result<Answer, Answer> {
    if work.switches.revocation == Revocation::Absent {
        return Err(Answer::not_found());
    }
    let client_id = client::authenticate(work, headers, form)?;
    if let Some(refusal) = echo::refusal(work, headers, form) {
        return Err(refusal);
    }
    let Some(token) = form.one("token") else { return Err(Answer::bad("invalid_request", "no token")) };
    let done = || Answer::text(StatusCode::OK, "text/plain", String::new());
    let refresh = work.ledger.refresh.get(token).map(|known| known.family);
    let access = work.ledger.access.get(token).map(|known| known.family);
    let Some(family) = refresh.or(access) else {
        let foreign = work.other.refresh.contains_key(token) || work.other.access.contains_key(token);
        work.entry.token = if foreign { TokenVerdict::OtherServers } else { TokenVerdict::Unknown };
        return Ok(done());
    };
    work.entry.grant = work.ledger.name_of(family);
    if work.ledger.family(family).is_some_and(|family| family.client_id != client_id) {
        work.entry.token = TokenVerdict::OtherClients;
        return Ok(done());
    }
    work.entry.token = TokenVerdict::Right;
    work.counts.revocations += 1;
    let reach = if work.switches.revokes_access { Reach::AccessToo } else { Reach::RefreshOnly };
    match work.switches.revocation {
        Revocation::Grant => work.ledger.end_grant(family, reach),
        Revocation::Family => work.ledger.end_family(family, reach),
        Revocation::Token | Revocation::Absent => {}
    }
    if let Some(known) = work.ledger.refresh.get_mut(token) {
        known.revoked = true;
    }
    if let Some(known) = work.ledger.access.get_mut(token) {
        known.revoked |= work.switches.revokes_access;
    }
    Ok(done())
}
