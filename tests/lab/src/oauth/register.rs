//! Dynamic registration (RFC 7591) and its management (RFC 7592). Never tells a registration to whoever has not its own token.

use super::client::Client;
use super::desk::{Answer, Asking, Desk, Work};
use super::form::Form;
use super::seen::Verdict;
use super::switches::{ClientAuth, Registration};
use super::{client, echo};
use crate::state::make_token;
use crate::wire::Peer;
use axum::body::Bytes;
use axum::extract::{ConnectInfo, OriginalUri, Path, State};
use axum::response::Response;
use http::header::AUTHORIZATION;
use http::{HeaderMap, Method, StatusCode};
use serde_json::{Value, json};

/// Registers a client.
pub(crate) async fn serve(
    State(desk): State<Desk>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let asking =
        Asking { peer: &peer, endpoint: "oauth/register", kind: None, path: "/oauth/register", headers: &headers };
    desk.answer(asking, |work| register(work, &headers, &body).unwrap_or_else(|refusal| refusal)).await
}

/// Shows, replaces or ends a registration.
pub(crate) async fn manage(
    State(desk): State<Desk>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    OriginalUri(uri): OriginalUri,
    Path(id): Path<String>,
    method: Method,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let kind = Some(method.as_str().to_owned());
    let asking = Asking { peer: &peer, endpoint: "oauth/register", kind, path: uri.path(), headers: &headers };
    desk.answer(asking, |work| managed(work, &id, &method, &headers, &body).unwrap_or_else(|refusal| refusal)).await
}

fn register(work: &mut Work<'_>, headers: &HeaderMap, body: &[u8]) -> Result<Answer, Answer> {
    match work.switches.registration {
        Registration::Open => {}
        Registration::Absent => return Err(Answer::not_found()),
        Registration::Refused => {
            return Err(Answer::error(StatusCode::FORBIDDEN, "access_denied", "registration is not open"));
        }
    }
    if let Some(refusal) = echo::refusal(work, headers, &Form::default()) {
        return Err(refusal);
    }
    if work.switches.registrations_max.is_some_and(|max| work.ledger.registrations >= max) || work.ledger.is_full() {
        return Err(Answer::error(StatusCode::TOO_MANY_REQUESTS, "slow_down", "too many registrations"));
    }
    let mut known = read(work, body)?;
    let client_id = format!("labclient-{}", make_token());
    known.management = Some(format!("labreg_{}", make_token()));
    if matches!(known.auth, ClientAuth::Basic | ClientAuth::Post) {
        known.secret = Some(format!("labsec_{}", make_token()));
    }
    work.ledger.registrations += 1;
    work.counts.registrations += 1;
    let shown = show(work, &client_id, &known);
    work.ledger.clients.insert(client_id.clone(), known);
    client::name(work, Some(&client_id));
    Ok(Answer::json(StatusCode::CREATED, shown))
}

fn read(work: &Work<'_>, body: &[u8]) -> Result<Client, Answer> {
    let bad = |text: &str| Answer::bad("invalid_client_metadata", text);
    let metadata: Value = serde_json::from_slice(body).map_err(|_| bad("not JSON"))?;
    let kind = metadata.get("token_endpoint_auth_method").and_then(Value::as_str).unwrap_or("client_secret_basic");
    let auth = ClientAuth::ALL.into_iter().find(|known| known.name() == kind);
    let auth = auth
        .filter(|auth| work.switches.client_auth.contains(auth))
        .ok_or_else(|| bad("this authentication is not taken"))?;
    let uris = metadata.get("redirect_uris").and_then(Value::as_array).filter(|uris| !uris.is_empty());
    let redirect_uris = uris
        .and_then(|uris| {
            uris.iter().map(|uri| uri.as_str().filter(|uri| is_redirect(uri)).map(str::to_owned)).collect()
        })
        .ok_or_else(|| Answer::bad("invalid_redirect_uri", "https, or http on loopback"))?;
    let jwks = metadata.get("jwks").cloned().unwrap_or_default();
    if auth == ClientAuth::Assertion && !jwks.is_object() {
        return Err(bad("private_key_jwt needs keys"));
    }
    Ok(Client { auth, secret: None, redirect_uris, jwks, management: None, metadata })
}

fn is_redirect(text: &str) -> bool {
    let Ok(url) = url::Url::parse(text) else { return false };
    let loopback = matches!(url.host_str(), Some("127.0.0.1" | "[::1]" | "localhost"));
    url.fragment().is_none() && (url.scheme() == "https" || url.scheme() == "http" && loopback)
}

fn show(work: &Work<'_>, client_id: &str, known: &Client) -> Value {
    let mut shown = known.metadata.clone();
    shown["client_id"] = json!(client_id);
    shown["token_endpoint_auth_method"] = json!(known.auth.name());
    shown["redirect_uris"] = json!(known.redirect_uris);
    shown["registration_access_token"] = json!(known.management);
    let base = work.issuer();
    let base = base.trim_end_matches('/').trim_end_matches("/tenant");
    shown["registration_client_uri"] = json!(format!("{base}/oauth/register/{client_id}"));
    if let Some(secret) = &known.secret {
        shown["client_secret"] = json!(secret);
        shown["client_secret_expires_at"] = json!(0);
    }
    shown
}

fn managed(work: &mut Work<'_>, id: &str, method: &Method, headers: &HeaderMap, body: &[u8]) -> Result<Answer, Answer> {
    client::name(work, Some(id));
    let given = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let known = work.ledger.clients.get(id).cloned();
    let known = known.filter(|known| known.management.as_ref().is_some_and(|token| given == format!("Bearer {token}")));
    let Some(known) = known else {
        work.entry.client_proof = Verdict::Wrong;
        return Err(Answer::error(StatusCode::UNAUTHORIZED, "invalid_token", "not this registration's token"));
    };
    work.entry.client_proof = Verdict::Right;
    match *method {
        Method::GET => Ok(Answer::json(StatusCode::OK, show(work, id, &known))),
        Method::DELETE => {
            work.ledger.clients.remove(id);
            Ok(Answer::text(StatusCode::NO_CONTENT, "text/plain", String::new()))
        }
        Method::PUT => {
            let new = read(work, body)?;
            let new = Client { secret: known.secret, management: known.management, ..new };
            let shown = show(work, id, &new);
            work.ledger.clients.insert(id.to_owned(), new);
            Ok(Answer::json(StatusCode::OK, shown))
        }
        _ => Err(Answer::error(StatusCode::METHOD_NOT_ALLOWED, "invalid_request", "GET, PUT or DELETE")),
    }
}
