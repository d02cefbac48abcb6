//! The device authorization grant (RFC 8628), let in without a person after some polls. Never gives a code twice.

use super::authorize::{check_resource, default_resource, grantable};
use super::desk::{Answer, Asking, Desk, Work};
use super::form::Form;
use super::ledger::Device;
use super::seen::{TokenVerdict, Verdict};
use super::switches::DeviceGrant;
use super::{client, token};
use crate::state::make_token;
use crate::wire::Peer;
use axum::body::Bytes;
use axum::extract::{ConnectInfo, State};
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use serde_json::json;

/// Life of a device code, in seconds.
const CODE_TTL_S: u64 = 600;

/// Begins a device flow.
pub(crate) async fn serve(
    State(desk): State<Desk>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let form = Form::read(&body);
    let asking = Asking { peer: &peer, endpoint: "oauth/device", kind: None, path: "/oauth/device", headers: &headers };
    desk.answer(asking, |work| begin(work, &headers, &form).unwrap_or_else(|refusal| refusal)).await
}

fn begin(work: &mut Work<'_>, headers: &HeaderMap, form: &Form) -> Result<Answer, Answer> {
    if work.switches.device == DeviceGrant::Off {
        return Err(Answer::not_found());
    }
    let client_id = client::authenticate(work, headers, form)?;
    work.entry.scope = form.words("scope");
    check_resource(work, form);
    if work.switches.resource_checked && work.entry.resource != Verdict::Right {
        return Err(Answer::bad("invalid_target", "resource is missing or not this one"));
    }
    if work.ledger.is_full() {
        return Err(Answer::error(StatusCode::SERVICE_UNAVAILABLE, "temporarily_unavailable", "the lab is full"));
    }
    let granted = grantable(work, &work.entry.scope);
    let Some((scope, offline)) = granted else {
        return Err(Answer::bad("invalid_scope", "a scope is unknown or not given"));
    };
    let resource = form.one("resource").map_or_else(|| default_resource(work), str::to_owned);
    let device_code = format!("labdev_{}", make_token());
    let expires_at_s = work.now_s + CODE_TTL_S;
    let device = Device { client_id, resource, scope, offline, expires_at_s, polls: 0, family: None };
    work.ledger.devices.insert(device_code.clone(), device);
    work.counts.devices += 1;
    let user_code = make_token().to_ascii_uppercase();
    let user_code = format!("{}-{}", user_code.get(..4).unwrap_or_default(), user_code.get(4..8).unwrap_or_default());
    let page = format!("{}/oauth/device-page", work.issuer().trim_end_matches('/'));
    Ok(Answer::json(
        StatusCode::OK,
        json!({
            "device_code": device_code,
            "user_code": user_code,
            "verification_uri": page,
            "verification_uri_complete": format!("{page}?user_code={user_code}"),
            "expires_in": CODE_TTL_S,
            "interval": work.switches.device_interval_s,
        }),
    ))
}

/// Answers one poll at the token endpoint.
pub(crate) fn poll(work: &mut Work<'_>, client_id: &str, form: &Form) -> Result<Answer, Answer> {
    let Some(given) = form.one("device_code") else { return Err(Answer::bad("invalid_request", "no device code")) };
    let now_s = work.now_s;
    let Some(device) = work.ledger.devices.get_mut(given) else {
        let foreign = work.other.devices.contains_key(given);
        work.entry.token = if foreign { TokenVerdict::OtherServers } else { TokenVerdict::Unknown };
        return Err(Answer::bad("invalid_grant", "no such device code"));
    };
    device.polls += 1;
    work.entry.token = if device.client_id != client_id {
        TokenVerdict::OtherClients
    } else if device.family.is_some() {
        TokenVerdict::Reused
    } else if device.expires_at_s <= now_s {
        TokenVerdict::Expired
    } else {
        TokenVerdict::Right
    };
    if work.entry.token == TokenVerdict::Expired {
        return Err(Answer::bad("expired_token", "this device code is too old"));
    }
    if work.entry.token != TokenVerdict::Right {
        return Err(Answer::bad("invalid_grant", "this device code is not good"));
    }
    match work.switches.device {
        DeviceGrant::Auto if device.polls > work.switches.device_pending => {}
        DeviceGrant::Auto | DeviceGrant::Pending => return Err(Answer::bad("authorization_pending", "not yet")),
        DeviceGrant::SlowDown => return Err(Answer::bad("slow_down", "not so fast")),
        DeviceGrant::Deny => return Err(Answer::bad("access_denied", "the person said no")),
        DeviceGrant::Expired => return Err(Answer::bad("expired_token", "this device code is too old")),
        DeviceGrant::Off => return Err(Answer::bad("unsupported_grant_type", "not this one")),
    }
    let (resource, scope, offline) = (device.resource.clone(), device.scope.clone(), device.offline);
    let family = work.ledger.begin(client_id, &resource, &scope, offline);
    if let Some(device) = work.ledger.devices.get_mut(given) {
        device.family = Some(family);
    }
    let form = work.switches.first_refresh_token;
    Ok(token::issue(work, family, &scope, form, None))
}
