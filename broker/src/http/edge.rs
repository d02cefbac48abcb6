//! What happens to every request before it is routed and to every answer before it leaves: target form, client address, request id, one log line. Logs ids, the route's pattern and numbers; never the target itself, which may hold an owner link.

use super::{error::ApiError, target};
use crate::{
    app::App,
    client_address::{self, Network},
    door,
};
use axum::{
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use contract::{Code, b64u, routes::Route};
use http::{HeaderName, HeaderValue, Method, header};
use std::net::IpAddr;
use tracing::Instrument as _;

/// The address at the other end of the network connection, put in by the listener.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) IpAddr);

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

pub(super) async fn pass(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let started_ms = app.now_ms();
    let request_id = door::make_random::<9>().map(b64u::encode).unwrap_or_default();
    let method = if matches!(*request.method(), Method::GET | Method::POST) {
        request.method().to_string()
    } else {
        String::from("-")
    };
    let span = tracing::info_span!("request", request_id = %request_id);
    let answered = async {
        match check(&app, &mut request) {
            Ok(()) => next.run(request).await,
            Err(refusal) => refusal.into_response(),
        }
    };
    let mut response = answered.instrument(span).await;
    let route = response.extensions().get::<&'static Route>().map_or("-", |route| route.path);
    let took_ms = app.now_ms() - started_ms;
    tracing::info!(request_id = %request_id, method = %method, route, status = response.status().as_u16(), took_ms, "answered");
    harden(response.headers_mut(), app.origin().is_https());
    if let Ok(value) = HeaderValue::from_str(&request_id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    response
}

fn check(app: &App, request: &mut Request) -> Result<(), ApiError> {
    target::check(request.uri()).map_err(|error| ApiError::new(Code::TargetInvalid, error.to_string()))?;
    if !matches!(*request.method(), Method::GET | Method::POST) {
        return Err(ApiError::new(Code::MethodNotAllowed, "only GET and POST are answered"));
    }
    if !matches!(request.uri().path(), "/healthz" | "/readyz") && app.sealed().is_some() {
        return Err(ApiError::new(Code::Unavailable, "the service is sealed; `/readyz` tells its operator why"));
    }
    let peer = request.extensions().get::<Peer>().copied().ok_or_else(|| ApiError::internal(NoPeer))?;
    let client = client_address::find(peer.0, request.headers(), &app.config().proxy_trusted);
    request.extensions_mut().insert(Network::of(client));
    Ok(())
}

/// The listener hands every request its peer.
#[derive(Debug, thiserror::Error)]
#[error("a request came without its peer's address")]
struct NoPeer;

fn harden(headers: &mut http::HeaderMap, https: bool) {
    let mut set = |name: HeaderName, value: &'static str| {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    };
    set(header::CACHE_CONTROL, "no-store");
    set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    if https {
        set(header::STRICT_TRANSPORT_SECURITY, "max-age=31536000");
    }
}
