//! The lab's own endpoints: control, inspection, and the places where redirects lead. Never reachable without the control token or from afar.

use crate::limits;
use crate::seen::{self, Seen, Stray};
use crate::state::{Command, Shared};
use crate::wire::Peer;
use axum::Json;
use axum::body::Bytes;
use axum::extract::{ConnectInfo, OriginalUri, State};
use axum::response::{IntoResponse, Response};
use http::header::AUTHORIZATION;
use http::{HeaderMap, Method, StatusCode};
use serde_json::json;
use std::sync::Arc;

/// Takes one [`Command`] as JSON, answers with the behaviour it leads to.
pub(crate) async fn control(
    State(shared): State<Arc<Shared>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    if let Err(refused) = guard(&shared, &peer, &headers) {
        return refused.into_response();
    }
    let refuse = |reason: String| (StatusCode::BAD_REQUEST, Json(json!({"error": reason}))).into_response();
    match serde_json::from_slice::<Command>(&body) {
        Err(error) => refuse(error.to_string()),
        Ok(command) => match shared.control(command) {
            Ok(behaviour) => Json(behaviour).into_response(),
            Err(error) => refuse(error.to_string()),
        },
    }
}

/// Shows what the lab has seen.
pub(crate) async fn seen(
    State(shared): State<Arc<Shared>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    headers: HeaderMap,
) -> Result<Json<Seen>, StatusCode> {
    guard(&shared, &peer, &headers)?;
    Ok(Json(shared.seen()))
}

/// Records whatever comes to another path of the lab's own host.
pub(crate) async fn same_host_stray(
    State(shared): State<Arc<Shared>>,
    method: Method,
    OriginalUri(uri): OriginalUri,
    headers: HeaderMap,
    body: Bytes,
) -> StatusCode {
    record(&shared, false, &method, uri.to_string(), &headers, &body);
    StatusCode::OK
}

/// Records whatever comes to the lab's other host.
pub(crate) async fn other_host_stray(
    State(shared): State<Arc<Shared>>,
    method: Method,
    OriginalUri(uri): OriginalUri,
    headers: HeaderMap,
    body: Bytes,
) -> StatusCode {
    record(&shared, true, &method, uri.to_string(), &headers, &body);
    StatusCode::OK
}

fn guard(shared: &Shared, peer: &Peer, headers: &HeaderMap) -> Result<(), StatusCode> {
    if !peer.is_loopback() {
        return Err(StatusCode::NOT_FOUND);
    }
    let wanted = format!("Bearer {}", shared.control_token);
    if headers.get(AUTHORIZATION).is_none_or(|value| value.as_bytes() != wanted.as_bytes()) {
        return Err(StatusCode::UNAUTHORIZED);
    }
    Ok(())
}

fn record(shared: &Shared, other_host: bool, method: &Method, target: String, headers: &HeaderMap, body: &[u8]) {
    let text = format!("{target}\n{}", String::from_utf8_lossy(body));
    let (credential, carries_secret) = shared.judge_stray(headers, &text);
    let body_bytes = body.len();
    // A target that carries a secret is not remembered.
    let target = if shared.judge_stray(headers, &target).1 { "(a secret)".to_owned() } else { target };
    let target = target.chars().take(limits::STRAY_TARGET_CHARS_MAX).collect();
    let header_names = seen::header_names(headers);
    let http_method = method.to_string();
    shared.record_stray(Stray {
        other_host,
        http_method,
        target,
        credential,
        header_names,
        body_bytes,
        carries_secret,
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credential::Credential;
    use crate::switches::Switches;
    use std::net::SocketAddr;

    #[test]
    fn the_right_token_from_afar_finds_nothing() {
        let shared = Shared::new(Credential::None, "t".to_owned(), String::new(), Switches::default());
        let headers = HeaderMap::from_iter([(AUTHORIZATION, "Bearer t".parse().expect("a header value"))]);
        let from = |address: &str| {
            let address: SocketAddr = address.parse().expect("an address");
            guard(&shared, &Peer::new(address, Arc::default()), &headers)
        };
        for near in ["127.0.0.1:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
            from(near).expect("this machine");
        }
        for far in ["192.0.2.7:1", "[2001:db8::1]:1", "[::ffff:192.0.2.7]:1"] {
            assert_eq!(from(far), Err(StatusCode::NOT_FOUND), "{far}");
        }
    }
}
