//! The one gate in front of every handler. The order is fixed (2.e): route, bearer, session, device, header shape, announced size, body, signature, nonce. Nothing is remembered and nothing large is read before the step that allows it.

use super::{
    body::{self, RawBody},
    caller::Caller,
    error::ApiError,
};
use crate::{
    app::App,
    door::wire_seconds,
    ops::{find_session::find_session, note_seen::note_seen},
};
use axum::{
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use contract::{
    Code, Digest, limits,
    routes::{Access, Route},
};
use http::{HeaderMap, HeaderName, header::AUTHORIZATION};
use sign::{
    PublicKey,
    request::{self, RequestError, RequestHead, SignatureHeaders, VerifiedRequest},
    token::{self, TokenKind},
};

/// What a request claims about its device, in the right shape and not yet verified. A refresh is verified by its own operation, because the device follows from the token in the body.
#[derive(Clone)]
pub(crate) struct Claimed {
    method: &'static str,
    raw_target: String,
    headers: SignatureHeaders,
    body_sha256: Digest,
}

impl Claimed {
    /// Verifies the claim against the device's key. The caller spends the nonce next.
    pub(crate) fn verify(&self, key: &PublicKey, now_ms: i64) -> Result<VerifiedRequest, ApiError> {
        let head = RequestHead { method: self.method, raw_target: &self.raw_target, body_sha256: self.body_sha256 };
        request::verify_request(key, &self.headers, &head, wire_seconds(now_ms)).map_err(|error| refusal(&error))
    }
}

/// Runs in front of one route's handler.
pub(super) async fn pass(State((app, route)): State<(App, &'static Route)>, request: Request, next: Next) -> Response {
    let passed = match route.access {
        Access::Public | Access::OwnerLink | Access::Browser => pass_unsigned(app, route, request, next).await,
        Access::Refresh => pass_refresh(app, route, request, next).await,
        Access::Device => pass_device(app, route, request, next).await,
    };
    let mut response = passed.into_response();
    // For the log line at the edge, which must not show the target itself.
    response.extensions_mut().insert(route);
    response
}

async fn pass_unsigned(app: App, route: &'static Route, request: Request, next: Next) -> Result<Response, ApiError> {
    body::check_announced(route, request.headers())?;
    let (_room, request) = buffered(&app, route, request).await?;
    Ok(next.run(request).await)
}

async fn pass_refresh(app: App, route: &'static Route, request: Request, next: Next) -> Result<Response, ApiError> {
    let headers = signature_headers(request.headers())?;
    body::check_announced(route, request.headers())?;
    let (_room, mut request) = buffered(&app, route, request).await?;
    let claimed = claimed(route, &request, headers);
    request.extensions_mut().insert(claimed);
    Ok(next.run(request).await)
}

async fn pass_device(app: App, route: &'static Route, request: Request, next: Next) -> Result<Response, ApiError> {
    let now_ms = app.now_ms();
    let mac = app.token_key().mac(TokenKind::Access, bearer(request.headers())?);
    let session = find_session(&app, &mac, now_ms).await?;
    let headers = signature_headers(request.headers())?;
    body::check_announced(route, request.headers())?;
    let (_room, mut request) = buffered(&app, route, request).await?;
    let verified = claimed(route, &request, headers).verify(&session.device_key, app.now_ms())?;
    note_seen(&app, &session, &verified).await?;
    request.extensions_mut().insert::<Caller>(session.caller);
    Ok(next.run(request).await)
}

/// Room for a body that is being buffered; given back when the answer is there.
type Room = Option<tokio::sync::OwnedSemaphorePermit>;

/// Reads the body into the request. Large ones wait for room, so that all of them together stay within [`limits::BODIES_BYTES_MAX`].
async fn buffered(app: &App, route: &'static Route, request: Request) -> Result<(Room, Request), ApiError> {
    let (mut parts, stream) = request.into_parts();
    let room = app.body_room(announced(route, &parts.headers)).await;
    let bytes = if route.body_max == 0 { axum::body::Bytes::new() } else { body::read(route, stream).await? };
    parts.extensions.insert(route);
    parts.extensions.insert(RawBody(bytes));
    Ok((room, Request::from_parts(parts, axum::body::Body::empty())))
}

/// Bytes that the body may take: what it announces, else all that the route allows.
fn announced(route: &Route, headers: &HeaderMap) -> usize {
    let stated = headers
        .get(http::header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok())
        .and_then(|text| text.parse().ok());
    stated.unwrap_or(route.body_max).min(route.body_max)
}

fn claimed(route: &Route, request: &Request, headers: SignatureHeaders) -> Claimed {
    let body = request.extensions().get::<RawBody>();
    Claimed {
        method: route.method.as_str(),
        raw_target: request.uri().path_and_query().map_or_else(String::new, ToString::to_string),
        headers,
        body_sha256: Digest::of(&[body.map_or(&[][..], |RawBody(bytes)| bytes.as_ref())]),
    }
}

fn bearer(headers: &HeaderMap) -> Result<&str, ApiError> {
    let required = || ApiError::new(Code::SessionRequired, "sign in first: `collie online login`");
    let value = single(headers, &AUTHORIZATION).ok_or_else(required)?;
    let (scheme, token) = value.split_once(' ').ok_or_else(required)?;
    if scheme.eq_ignore_ascii_case("bearer") && token::is_token(TokenKind::Access, token) {
        Ok(token)
    } else {
        Err(required())
    }
}

fn signature_headers(headers: &HeaderMap) -> Result<SignatureHeaders, ApiError> {
    let read = |name: &'static str| {
        single(headers, &HeaderName::from_static(name))
            .filter(|value| value.len() <= limits::SIGNATURE_HEADER_CHARS_MAX)
            .map(str::to_owned)
            .ok_or_else(|| refusal(&RequestError::Malformed { header: name }))
    };
    Ok(SignatureHeaders {
        timestamp: read(request::TIMESTAMP_HEADER)?,
        nonce: read(request::NONCE_HEADER)?,
        signature: read(request::SIGNATURE_HEADER)?,
    })
}

/// A header that stands exactly once: two of them could be read as either.
fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    if values.next().is_some() { None } else { Some(value) }
}

fn refusal(error: &RequestError) -> ApiError {
    let code = match error {
        RequestError::Malformed { .. } | RequestError::Signature => Code::SignatureInvalid,
        RequestError::ClockSkew { .. } => Code::SignatureSkew,
        RequestError::Target => Code::TargetInvalid,
        RequestError::BodyOnGet => Code::BodyInvalid,
    };
    ApiError::new(code, error.to_string())
}

#[cfg(test)]
#[path = "gate_tests.rs"]
mod tests;
