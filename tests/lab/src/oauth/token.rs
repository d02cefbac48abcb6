//! The token endpoint: codes, refresh tokens and device codes for access tokens. Never answers before its own count is made.

use super::authorize::{check_resource, verdict};
use super::desk::{Answer, Asking, Desk, Work};
use super::form::Form;
use super::ledger::{Access, Reach};
use super::seen::{TokenVerdict, Verdict};
use super::switches::{ExpiresIn, RefreshForm, ScopeForm};
use super::{client, device, document, echo, scope};
use crate::seen::add_one;
use crate::wire::Peer;
use aws_lc_rs::digest::{SHA256, digest};
use axum::body::Bytes;
use axum::extract::{ConnectInfo, State};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};
use serde_json::{Map, Value, json};

/// The grant type of the device authorization grant.
pub(crate) const DEVICE: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// Answers a token request.
pub(crate) async fn serve(
    State(desk): State<Desk>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let form = Form::read(&body);
    document::learn(&desk, form.one("client_id")).await;
    let kind = form.one("grant_type").map(str::to_owned);
    let asking =
        Asking { peer: &peer, endpoint: "oauth/token", kind: kind.clone(), path: "/oauth/token", headers: &headers };
    desk.answer(asking, |work| {
        let kind = kind.as_deref().unwrap_or("(none)");
        add_one(&mut work.counts.token_requests, kind);
        work.entry.grant_type = Some(kind.to_owned());
        work.entry.scope = form.words("scope");
        check_resource(work, &form);
        match grant(work, &headers, &form, kind) {
            Ok(answer) => {
                add_one(&mut work.counts.granted, kind);
                answer
            }
            Err(refusal) => refusal,
        }
    })
    .await
}

fn grant(work: &mut Work<'_>, headers: &HeaderMap, form: &Form, kind: &str) -> Result<Answer, Answer> {
    let is_form =
        headers.get(CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(b"application/x-www-form-"));
    if !is_form || form.repeats() {
        return Err(Answer::bad("invalid_request", "a form with each parameter once"));
    }
    let client_id = client::authenticate(work, headers, form)?;
    if let Some(refusal) = echo::refusal(work, headers, form) {
        return Err(refusal);
    }
    if work.ledger.is_full() {
        return Err(Answer::error(StatusCode::SERVICE_UNAVAILABLE, "temporarily_unavailable", "the lab is full"));
    }
    match kind {
        "authorization_code" => from_code(work, &client_id, form),
        "refresh_token" => from_refresh(work, &client_id, form),
        DEVICE => device::poll(work, &client_id, form),
        _ => Err(Answer::bad("unsupported_grant_type", "not this one")),
    }
}

fn from_code(work: &mut Work<'_>, client_id: &str, form: &Form) -> Result<Answer, Answer> {
    let refuse = |work: &mut Work<'_>, verdict, text| {
        work.entry.token = verdict;
        Err(Answer::bad("invalid_grant", text))
    };
    let Some(given) = form.one("code") else { return Err(Answer::bad("invalid_request", "no code")) };
    let Some(code) = work.ledger.codes.get(given) else {
        let foreign = work.other.codes.contains_key(given);
        let verdict = if foreign { TokenVerdict::OtherServers } else { TokenVerdict::Unknown };
        return refuse(work, verdict, "no such code");
    };
    let (asked, family, expires_at_s) = (code.asked.clone(), code.family, code.expires_at_s);
    if asked.client_id != client_id {
        return refuse(work, TokenVerdict::OtherClients, "not this client's code");
    }
    if let Some(family) = family {
        work.counts.reuse_detected += 1;
        work.entry.grant = work.ledger.name_of(family);
        work.ledger.end_family(family, Reach::AccessToo);
        return refuse(work, TokenVerdict::Reused, "this code was used");
    }
    if expires_at_s <= work.now_s {
        return refuse(work, TokenVerdict::Expired, "this code is too old");
    }
    work.entry.token = TokenVerdict::Right;
    work.entry.redirect = verdict(form, "redirect_uri", form.one("redirect_uri") == Some(&asked.redirect_uri));
    let proven = form.one("code_verifier").is_some_and(|verifier| challenge_of(verifier) == asked.challenge);
    work.entry.pkce = verdict(form, "code_verifier", proven);
    if !proven || work.entry.redirect != Verdict::Right {
        return Err(Answer::bad("invalid_grant", "code_verifier or redirect_uri is not that of the code"));
    }
    hold_resource(work, form, &asked.resource)?;
    let family = work.ledger.begin(client_id, &asked.resource, &asked.scope, asked.offline);
    if let Some(code) = work.ledger.codes.get_mut(given) {
        code.family = Some(family);
    }
    let form = work.switches.first_refresh_token;
    Ok(issue(work, family, &asked.scope, form, None))
}

fn from_refresh(work: &mut Work<'_>, client_id: &str, form: &Form) -> Result<Answer, Answer> {
    let refuse = |work: &mut Work<'_>, verdict| {
        work.entry.token = verdict;
        Err(Answer::bad("invalid_grant", "this refresh token is not good"))
    };
    let Some(given) = form.one("refresh_token") else { return Err(Answer::bad("invalid_request", "no refresh token")) };
    let Some(known) = work.ledger.refresh.get(given) else {
        let foreign = work.other.refresh.contains_key(given);
        return refuse(work, if foreign { TokenVerdict::OtherServers } else { TokenVerdict::Unknown });
    };
    let (number, used, revoked) = (known.family, known.used, known.revoked);
    work.entry.grant = work.ledger.name_of(number);
    let Some(family) = work.ledger.family(number) else { return refuse(work, TokenVerdict::Unknown) };
    let (resource, allowed, ended) = (family.resource.clone(), family.scope.clone(), family.ended);
    if family.client_id != client_id {
        return refuse(work, TokenVerdict::OtherClients);
    }
    if used {
        work.counts.reuse_detected += 1;
        if work.switches.reuse_detector {
            work.ledger.end_grant(number, Reach::AccessToo);
        }
        return refuse(work, TokenVerdict::Reused);
    }
    if revoked || ended {
        return refuse(work, TokenVerdict::Revoked);
    }
    work.entry.token = TokenVerdict::Right;
    hold_resource(work, form, &resource)?;
    let asked: Vec<String> = form.words("scope").into_iter().filter(|word| word != scope::OFFLINE).collect();
    if asked.iter().any(|word| !allowed.contains(word)) {
        return Err(Answer::bad("invalid_scope", "wider than the grant"));
    }
    let asked = if asked.is_empty() { allowed } else { asked };
    if let Some(name) = work.entry.grant.clone() {
        add_one(&mut work.counts.refreshes, &name);
    }
    let form = work.switches.next_refresh_token;
    Ok(issue(work, number, &asked, form, Some(given)))
}

/// Holds `resource` to the one of the grant, byte for byte.
fn hold_resource(work: &mut Work<'_>, form: &Form, granted: &str) -> Result<(), Answer> {
    work.entry.resource = verdict(form, "resource", form.one("resource") == Some(granted));
    if work.switches.resource_checked && work.entry.resource != Verdict::Right {
        return Err(Answer::bad("invalid_target", "resource is missing or not the granted one"));
    }
    Ok(())
}

/// Makes the tokens of one answer. `used` is the refresh token they are for.
pub(crate) fn issue(
    work: &mut Work<'_>,
    number: usize,
    asked: &[String],
    form: RefreshForm,
    used: Option<&str>,
) -> Answer {
    let switches = work.switches;
    let Some(family) = work.ledger.family(number) else { return Answer::not_found() };
    let (name, offline, resource) = (family.name.clone(), family.offline, family.resource.clone());
    work.entry.grant = Some(name);
    let given: Vec<String> = match switches.scope {
        ScopeForm::Same | ScopeForm::Absent => asked.to_vec(),
        ScopeForm::Wider => scope::WORKING.iter().map(|word| (*word).to_owned()).collect(),
        ScopeForm::Narrower => asked.iter().take(1).cloned().collect(),
    };
    let audience = if switches.other_audience { format!("{}/mcp", work.addresses.second) } else { resource };
    let access = work.ledger.make_access(Access {
        family: number,
        audience,
        scope: given.clone(),
        expires_at_s: work.now_s.saturating_add(switches.access_ttl_s),
        revoked: false,
    });
    let mut members = Map::from_iter([
        ("access_token".to_owned(), Value::from(access)),
        ("token_type".to_owned(), Value::from(switches.token_type.as_str())),
    ]);
    if switches.scope != ScopeForm::Absent {
        members.insert("scope".to_owned(), Value::from(given.join(" ")));
    }
    if let Some(expires_in) = expires_in(switches.expires_in, switches.access_ttl_s) {
        members.insert("expires_in".to_owned(), expires_in);
    }
    if offline {
        match form {
            RefreshForm::Given => drop(members.insert("refresh_token".to_owned(), next(work, number, used))),
            RefreshForm::Omitted => {}
            RefreshForm::Empty => drop(members.insert("refresh_token".to_owned(), Value::from(""))),
            RefreshForm::Null => drop(members.insert("refresh_token".to_owned(), Value::Null)),
        }
    }
    Answer::json(StatusCode::OK, Value::Object(members))
}

/// The refresh token of the answer; with rotation it ends the one that was used.
fn next(work: &mut Work<'_>, family: usize, used: Option<&str>) -> Value {
    if let Some(used) = used {
        if !work.switches.rotation {
            return Value::from(used);
        }
        if let Some(known) = work.ledger.refresh.get_mut(used) {
            known.used = true;
        }
    }
    Value::from(work.ledger.make_refresh(family))
}

fn expires_in(form: ExpiresIn, ttl_s: u64) -> Option<Value> {
    Some(match form {
        ExpiresIn::True => json!(ttl_s),
        ExpiresIn::Absent => return None,
        ExpiresIn::Zero => json!(0),
        ExpiresIn::Negative => json!(-1),
        ExpiresIn::Nonsense => json!("soon"),
        ExpiresIn::Text => json!(ttl_s.to_string()),
        ExpiresIn::Fraction => serde_json::from_str(&format!("{ttl_s}.5")).unwrap_or(Value::Null),
        ExpiresIn::Huge => json!(1_u64 << 63),
        ExpiresIn::Null => Value::Null,
    })
}

fn challenge_of(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_challenge_is_that_of_rfc_7636() {
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        assert_eq!(challenge_of(verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }
}
