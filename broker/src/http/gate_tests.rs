//! Attacks on the gate: stolen tokens, altered and repeated requests, ambiguous targets, hostile bodies. Each refusal has its honest twin beside it.

use crate::testing::{World, key};
use contract::{Digest, limits};
use sign::request::{self, RequestHead, SignatureHeaders};

const SECONDS_SKEW: u64 = limits::REQUEST_SKEW_S_MAX;

#[tokio::test]
async fn a_stolen_access_token_without_the_key_opens_nothing() {
    let world = World::start().await;
    let device = world.pair(1, "[\"refresh\"]").await;
    assert_eq!(world.call(&device, "GET", "/v1/whoami", "").await.status, 200, "control: the device itself");

    let bearer = format!("Bearer {}", device.access);
    let bare = world.send("GET", "/v1/whoami", &[("authorization", &bearer)], b"").await;
    assert_eq!((bare.status, bare.code().as_str()), (401, "signature.invalid"));
    let foreign = world.sign(&key(2), "GET", "/v1/whoami", b"");
    let reply = world.send_signed(&device.access, &foreign, "GET", "/v1/whoami", b"").await;
    assert_eq!((reply.status, reply.code().as_str()), (401, "signature.invalid"));
}

#[tokio::test]
async fn every_part_of_a_signed_request_is_covered() {
    let world = World::start().await;
    let device = world.pair(1, "[\"refresh\"]").await;
    let (target, body) = ("/v1/devices/pending", br#"{"user_code":"ABCD-EFGH"}"#.as_slice());
    let honest = || world.sign(&device.key, "POST", target, body);
    assert_eq!(
        world.send_signed(&device.access, &honest(), "POST", target, body).await.code(),
        "pairing.expired",
        "control: it passes the gate"
    );

    let changed_time = SignatureHeaders { timestamp: (world.clock.now_s() + 1).to_string(), ..honest() };
    let changed_nonce = SignatureHeaders { nonce: contract::b64u::encode([9; 18]), ..honest() };
    let mut bytes: [u8; 64] = contract::b64u::decode_array(&honest().signature).expect("64 bytes");
    bytes[10] ^= 1;
    let changed_signature = SignatureHeaders { signature: contract::b64u::encode(bytes), ..honest() };
    let padded = SignatureHeaders { signature: format!("{}==", honest().signature), ..honest() };
    for (what, signature) in
        [("time", changed_time), ("nonce", changed_nonce), ("signature", changed_signature), ("padding", padded)]
    {
        let reply = world.send_signed(&device.access, &signature, "POST", target, body).await;
        assert_eq!((reply.status, reply.code().as_str()), (401, "signature.invalid"), "{what}");
    }
    let other_body = br#"{"user_code":"ABCD-EFGJ"}"#;
    assert_eq!(
        world.send_signed(&device.access, &honest(), "POST", target, other_body).await.code(),
        "signature.invalid"
    );
    assert_eq!(
        world.send_signed(&device.access, &honest(), "POST", "/v1/devices/approve", body).await.code(),
        "signature.invalid"
    );
    let query = world.sign(&device.key, "GET", "/v1/sync/pull?cursor=0", b"");
    assert_eq!(
        world.send_signed(&device.access, &query, "GET", "/v1/sync/pull?cursor=1", b"").await.code(),
        "signature.invalid"
    );
    let get = world.sign(&device.key, "GET", "/v1/devices", b"");
    assert_eq!(world.send_signed(&device.access, &get, "POST", "/v1/devices", b"").await.status, 405);
}

#[tokio::test]
async fn another_server_of_the_same_person_gets_nothing_from_a_request() {
    let (one, two) = (World::start().await, World::start().await);
    let here = one.pair(1, "[\"refresh\"]").await;
    let there = two.pair(2, "[\"refresh\"]").await;
    let signature = one.sign(&here.key, "GET", "/v1/whoami", b"");
    assert_eq!(one.send_signed(&here.access, &signature, "GET", "/v1/whoami", b"").await.status, 200, "control");
    assert_eq!(two.send_signed(&here.access, &signature, "GET", "/v1/whoami", b"").await.code(), "session.required");
    assert_eq!(two.send_signed(&there.access, &signature, "GET", "/v1/whoami", b"").await.code(), "signature.invalid");
}

#[tokio::test]
async fn a_request_is_answered_once() {
    let world = World::start().await;
    let device = world.pair(1, "[\"refresh\"]").await;
    let signature = world.sign(&device.key, "GET", "/v1/whoami", b"");
    assert_eq!(world.send_signed(&device.access, &signature, "GET", "/v1/whoami", b"").await.status, 200);
    assert_eq!(
        world.send_signed(&device.access, &signature, "GET", "/v1/whoami", b"").await.code(),
        "signature.replayed"
    );
    // At the far end of the skew the signature would still verify; the nonce must still be known.
    world.clock.advance_s(SECONDS_SKEW);
    assert_eq!(
        world.send_signed(&device.access, &signature, "GET", "/v1/whoami", b"").await.code(),
        "signature.replayed"
    );
    world.clock.advance_s(1);
    assert_eq!(world.send_signed(&device.access, &signature, "GET", "/v1/whoami", b"").await.code(), "signature.skew");
}

#[tokio::test]
async fn a_refused_request_does_not_spend_its_nonce() {
    let world = World::start().await;
    let device = world.pair(1, "[\"refresh\"]").await;
    let signature = world.sign(&device.key, "GET", "/v1/whoami", b"");
    let forged = SignatureHeaders { signature: contract::b64u::encode([1; 64]), ..signature.clone() };
    assert_eq!(world.send_signed(&device.access, &forged, "GET", "/v1/whoami", b"").await.code(), "signature.invalid");
    assert_eq!(
        world.send_signed(&device.access, &signature, "GET", "/v1/whoami", b"").await.status,
        200,
        "nobody can burn it for the device"
    );
}

#[tokio::test]
async fn clocks_may_differ_by_five_minutes_and_the_refusal_says_how_much() {
    let world = World::start().await;
    let device = world.pair(1, "[\"refresh\"]").await;
    let head = RequestHead { method: "GET", raw_target: "/v1/whoami", body_sha256: Digest::of(&[]) };
    let now_s = world.clock.now_s();
    let at = |time_s: u64, nonce: u8| request::sign_request(&device.key, &head, time_s, &[nonce; 18]).expect("plain");
    for (time_s, nonce) in [(now_s - SECONDS_SKEW, 1), (now_s + SECONDS_SKEW, 2)] {
        assert_eq!(world.send_signed(&device.access, &at(time_s, nonce), "GET", "/v1/whoami", b"").await.status, 200);
    }
    let late = world.send_signed(&device.access, &at(now_s - SECONDS_SKEW - 1, 3), "GET", "/v1/whoami", b"").await;
    assert_eq!((late.status, late.code().as_str()), (401, "signature.skew"));
    assert_eq!(late.str("error"), "device clock differs by -301 s");
    assert_eq!(
        world.send_signed(&device.access, &at(now_s + SECONDS_SKEW + 1, 4), "GET", "/v1/whoami", b"").await.code(),
        "signature.skew"
    );
}

#[tokio::test]
async fn ambiguous_targets_never_reach_a_route() {
    let world = World::start().await;
    let device = world.pair(1, "[\"refresh\"]").await;
    let long = format!("/v1/whoami?{}", "x".repeat(limits::TARGET_BYTES_MAX));
    for target in [
        "//v1/whoami",
        "/v1//whoami",
        "/v1/../v1/whoami",
        "/v1/%2e%2e/whoami",
        "/v1%2fwhoami",
        "/v1\\whoami",
        "http://127.0.0.1/v1/whoami",
        long.as_str(),
    ] {
        let honest = world.sign(&device.key, "GET", "/v1/whoami", b"");
        let reply = world.send_signed(&device.access, &honest, "GET", target, b"").await;
        assert_eq!((reply.status, reply.code().as_str()), (400, "request.target"), "{target}");
    }
    for method in ["HEAD", "OPTIONS", "PUT", "DELETE", "TRACE"] {
        assert_eq!(world.send(method, "/v1/whoami", &[], b"").await.status, 405, "{method}");
    }
    assert_eq!(world.send("GET", "/v1/shell", &[], b"").await.code(), "not_found");
}

#[tokio::test]
async fn hostile_bodies_are_refused_by_kind() {
    let world = World::start().await;
    let deep = format!("{}1{}", "[".repeat(65), "]".repeat(65));
    for (body, status, code) in [
        (r#"{"device_code":"a","device_code":"b","verifier":"c"}"#.as_bytes().to_vec(), 400, "request.json"),
        (r#"{"device_code":"a","verifier":NaN}"#.into(), 400, "request.json"),
        (r#"{"device_code":"\ud800","verifier":"c"}"#.into(), 400, "request.json"),
        (b"{\"device_code\":\"\xff\",\"verifier\":\"c\"}".to_vec(), 400, "request.json"),
        (deep.into_bytes(), 400, "request.json"),
        (format!("{{\"device_code\":{},\"verifier\":\"c\"}}", "1".repeat(65)).into_bytes(), 400, "request.json"),
        (br#"{"device_code":"a","verifier":"c""#.to_vec(), 400, "request.json"),
        (b"".to_vec(), 400, "request.json"),
        (br#"{"device_code":"a"}"#.to_vec(), 400, "request.field"),
        (br#"{"device_code":"a","verifier":"c","admin":true}"#.to_vec(), 400, "request.field"),
        (br#"{"device_code":1e16,"verifier":"c"}"#.to_vec(), 400, "request.field"),
        (vec![b' '; limits::PUBLIC_BODY_BYTES_MAX + 1], 413, "request.body_too_large"),
        (br#"{"device_code":"a","verifier":"c"}"#.to_vec(), 410, "pairing.expired"),
    ] {
        let reply = world.send("POST", "/v1/devices/token", &[("content-type", "application/json")], &body).await;
        assert_eq!((reply.status, reply.code().as_str()), (status, code), "{}", String::from_utf8_lossy(&body));
    }
    let missing = world.post("/v1/devices/token", r#"{"device_code":"a"}"#).await;
    assert_eq!(missing.str("field"), "verifier");
    let body = br#"{"device_code":"a","verifier":"c"}"#;
    for kind in
        ["text/plain", "application/json; charset=utf-16", "application/jsonx", "application/x-www-form-urlencoded"]
    {
        let reply = world.send("POST", "/v1/devices/token", &[("content-type", kind)], body).await;
        assert_eq!((reply.status, reply.code().as_str()), (415, "request.media_type"), "{kind}");
    }
    let packed = [("content-type", "application/json"), ("content-encoding", "gzip")];
    assert_eq!(world.send("POST", "/v1/devices/token", &packed, body).await.status, 415);
}

#[tokio::test]
async fn a_get_has_no_body_however_it_is_framed() {
    let world = World::start().await;
    assert_eq!(world.send("GET", "/healthz", &[], b"").await.status, 200);
    assert_eq!(world.send("GET", "/healthz", &[], b"{}").await.code(), "request.json");
    let chunked =
        b"GET /healthz HTTP/1.1\r\nhost: h\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n";
    assert_eq!(world.raw(chunked).await.code(), "request.json");
}

#[tokio::test]
async fn a_large_body_is_not_read_before_the_session_is_known() {
    let world = World::start().await;
    // Only the head is sent: an answer means that nobody waited for the body.
    let head = "POST /v1/sync/push HTTP/1.1\r\nhost: h\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: 16777216\r\n";
    let reply = world.raw(format!("{head}\r\n").as_bytes()).await;
    assert_eq!(reply.code(), "session.required");
    let stranger = format!("{head}authorization: Bearer collie_at_{}\r\n\r\n", contract::b64u::encode([3; 32]));
    assert_eq!(world.raw(stranger.as_bytes()).await.code(), "session.required");

    let device = world.pair(1, "[\"refresh\"]").await;
    let unsigned = format!("{head}authorization: Bearer {}\r\n\r\n", device.access);
    assert_eq!(world.raw(unsigned.as_bytes()).await.code(), "signature.invalid");
    let signature = world.sign(&device.key, "POST", "/v1/sync/push", b"");
    let larger = format!(
        "{}authorization: Bearer {}\r\n{}: {}\r\n{}: {}\r\n{}: {}\r\n\r\n",
        head.replace("16777216", "16777217"),
        device.access,
        request::TIMESTAMP_HEADER,
        signature.timestamp,
        request::NONCE_HEADER,
        signature.nonce,
        request::SIGNATURE_HEADER,
        signature.signature
    );
    assert_eq!(world.raw(larger.as_bytes()).await.code(), "request.body_too_large");
}
