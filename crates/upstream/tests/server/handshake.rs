//! Finding the era, and handshakes with servers that the lab is not: older versions, none of ours, and half of one.

use crate::common::{call, destination, send_note, token};
use crate::raw::{Raw, http, ok, result};
use collie_upstream::{Applied, Outcome, Upstream, UpstreamError};
use contract::review::Era;

const NOT_FOUND: &str = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}"#;

fn client(raw: &Raw, expected: Option<Era>) -> Upstream {
    Upstream::new(destination(&raw.url), token(), expected).expect("made")
}

fn initialized(id: i64, version: &str) -> [String; 2] {
    let result = result(id, &format!(r#"{{"protocolVersion":"{version}","capabilities":{{}},"instructions":null}}"#));
    [result, http("202 Accepted", "text/plain", "", "")]
}

#[tokio::test]
async fn a_stateless_server_is_asked_with_all_that_the_protocol_requires() {
    let discover =
        result(1, r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}"#);
    let list = result(2, r#"{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"private"}"#);
    let raw = Raw::start(vec![discover, list, result(3, r#"{"content":[]}"#)]).await;
    let mut client = client(&raw, None);
    client.fetch_manifest().await.expect("a manifest");
    send_note(&mut client).await.expect("a result");
    let seen = raw.seen();
    let methods = ["server/discover", "tools/list", "tools/call"];
    for (request, method) in seen.iter().zip(methods) {
        let lower = request.to_ascii_lowercase();
        for line in
            ["POST /mcp HTTP/1.1", "mcp-protocol-version: 2026-07-28", "accept: application/json, text/event-stream"]
        {
            assert!(lower.contains(&format!("{}\r\n", line.to_ascii_lowercase())), "{line} in {request}");
        }
        assert!(lower.contains(&format!("mcp-method: {method}\r\n")), "{request}");
        assert_eq!(lower.contains("mcp-name: send_note\r\n"), method == "tools/call");
        assert!(request.contains(r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#), "{request}");
        assert!(request.contains(r#""io.modelcontextprotocol/clientCapabilities":{}"#), "{request}");
        assert!(!lower.contains("mcp-session-id"), "{request}");
    }
    assert_eq!(seen.len(), 3);
}

#[tokio::test]
async fn older_versions_with_a_handshake_are_spoken_in_their_own_name() {
    for (refusal, version) in [
        (http("400 Bad Request", "text/plain", "", "what?"), "2025-11-25"),
        (http("404 Not Found", "application/json", "", NOT_FOUND), "2025-06-18"),
        (ok(NOT_FOUND), "2025-03-26"),
        (http("405 Method Not Allowed", "text/html", "", "<p>"), "2025-11-25"),
    ] {
        let [first, second] = initialized(2, version);
        let raw = Raw::start(vec![refusal, first, second, result(3, r#"{"tools":[]}"#)]).await;
        let fetched = client(&raw, None).fetch_manifest().await.expect("a manifest");
        assert_eq!(fetched.era, Era::Sessions);
        let seen = raw.seen();
        assert!(
            seen[1].contains(r#""method":"initialize""#)
                && !seen[1].to_ascii_lowercase().contains("mcp-protocol-version")
        );
        for request in &seen[2..] {
            assert!(
                request.to_ascii_lowercase().contains(&format!("mcp-protocol-version: {version}\r\n")),
                "{request}"
            );
        }
    }
}

#[tokio::test]
async fn a_refusal_in_the_words_of_the_new_era_does_not_lead_to_the_old_one() {
    let refused = |code: i64, data: &str| {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":{code},"message":"no","data":{data}}}}}"#);
        http("400 Bad Request", "application/json", "", &body)
    };
    for (answer, expected) in [
        (refused(-32022, r#"{"supported":["2027-01-01"],"requested":"2026-07-28"}"#), "2027-01-01"),
        (refused(-32020, "null"), "-32020"),
        (refused(-32021, "null"), "-32021"),
    ] {
        let raw = Raw::start(vec![answer]).await;
        let error = client(&raw, None).fetch_manifest().await.expect_err("refused");
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!(raw.seen().len(), 1);
    }
    // It says itself that it speaks the older one.
    let [first, second] = initialized(2, "2025-11-25");
    let legacy = refused(-32022, r#"{"supported":["2025-11-25"]}"#);
    let raw = Raw::start(vec![legacy, first, second, result(3, r#"{"tools":[]}"#)]).await;
    assert_eq!(client(&raw, None).fetch_manifest().await.expect("a manifest").era, Era::Sessions);
}

#[tokio::test]
async fn refused_credentials_and_broken_servers_end_the_search() {
    for (answer, expected) in [
        (http("401 Unauthorized", "text/plain", "www-authenticate: Bearer\r\n", ""), "credential"),
        (http("403 Forbidden", "text/plain", "", ""), "allow"),
        (http("429 Too Many Requests", "text/plain", "", ""), "less often"),
        (http("503 Service Unavailable", "text/plain", "", ""), "503"),
        (ok("nonsense"), "cannot be used"),
        (http("200 OK", "text/html", "", "<p>"), "cannot be used"),
    ] {
        let raw = Raw::start(vec![answer]).await;
        let error = client(&raw, None).fetch_manifest().await.expect_err("refused");
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!(raw.seen().len(), 1, "{error}");
    }
}

#[tokio::test]
async fn a_server_that_changed_from_sessions_to_stateless_is_found() {
    let no = http(
        "400 Bad Request",
        "application/json",
        "",
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"no header"}}"#,
    );
    let discover = result(2, r#"{"resultType":"complete","supportedVersions":["2026-07-28"]}"#);
    let raw = Raw::start(vec![no, discover, result(3, r#"{"tools":[]}"#)]).await;
    let mut client = client(&raw, Some(Era::Sessions));
    assert_eq!(client.fetch_manifest().await.expect("a manifest").era, Era::Stateless);
    let error = send_note(&mut client).await.expect_err("refused");
    assert_eq!(error.applied, Applied::No);
    assert_eq!(raw.seen().len(), 3, "the call did not go out");
}

#[tokio::test]
async fn unusable_greetings_are_refused() {
    let greetings = [
        r#"{"supportedVersions":["2026-07-28"],"resultType":"input_required"}"#,
        r#"{"supportedVersions":["2026-07-28"],"instructions":["not","text"]}"#,
    ];
    for greeting in greetings {
        let raw = Raw::start(vec![result(1, greeting)]).await;
        let error = client(&raw, None).fetch_manifest().await.expect_err("refused");
        assert!(matches!(error, UpstreamError::Malformed { .. }), "{greeting} {error:?}");
    }
    let raw = Raw::start(vec![
        result(1, r#"{"protocolVersion":"2024-11-05"}"#),
        http("400 Bad Request", "text/plain", "", ""),
    ])
    .await;
    let error = client(&raw, Some(Era::Sessions)).fetch_manifest().await.expect_err("refused");
    assert!(!matches!(error, UpstreamError::Malformed { .. }), "{error:?}");
    let spaced = http(
        "200 OK",
        "application/json",
        "mcp-session-id: a b\r\n",
        r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"}}"#,
    );
    let raw = Raw::start(vec![spaced]).await;
    let error = client(&raw, Some(Era::Sessions)).fetch_manifest().await.expect_err("refused");
    assert!(matches!(error, UpstreamError::Malformed { .. }), "{error:?}");
}

#[tokio::test]
async fn a_call_whose_handshake_fails_is_not_applied_even_on_errors_that_leave_doubt_elsewhere() {
    for answer in [http("500 Oops", "text/plain", "", ""), ok("nonsense"), String::new()] {
        let raw = Raw::start(vec![answer]).await;
        let error = send_note(&mut client(&raw, Some(Era::Sessions))).await.expect_err("no result");
        assert_eq!(error.applied, Applied::No, "{error:?}");
    }
}

#[tokio::test]
async fn a_refusal_to_the_declined_request_says_nothing_about_the_call() {
    let session = http(
        "200 OK",
        "application/json",
        "mcp-session-id: s1\r\n",
        r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"}}"#,
    );
    let asks = "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"sampling/createMessage\"}\n\n";
    let stream = http("200 OK", "text/event-stream", "", asks);
    let answers =
        vec![session, http("202 Accepted", "text/plain", "", ""), stream, http("404 Not Found", "text/plain", "", "")];
    let raw = Raw::start(answers).await;
    let error = send_note(&mut client(&raw, Some(Era::Sessions))).await.expect_err("no result");
    assert_eq!(error.applied, Applied::Unknown, "{error:?}");
    assert_eq!(raw.seen().iter().filter(|request| request.contains("tools/call")).count(), 1);
}

#[tokio::test]
async fn arguments_and_results_keep_every_byte_of_their_numbers_and_texts() {
    let arguments = r#"{"":null,"a":[1.50,1e5,12345678901234567890.123456789,-0.0],"z":"é\u0001"}"#;
    let given = r#"{"content":[],"isError":true,"structuredContent":[1.50,1E-9],"x":{"y":-0}}"#;
    let raw = Raw::start(vec![result(1, given)]).await;
    let answer = call(&mut client(&raw, Some(Era::Stateless)), "t", arguments).await.expect("a result");
    let Outcome::Complete(result) = &answer.outcome else { panic!("complete") };
    assert_eq!(result.canonical_string(), given);
    assert!(answer.is_error());
    let seen = raw.seen();
    assert!(seen[0].contains(&format!(r#""arguments":{arguments}"#)), "{}", seen[0]);
}

#[tokio::test]
async fn the_answer_to_another_request_is_no_answer() {
    for id in [0, 2, 99] {
        let raw = Raw::start(vec![result(id, r#"{"content":[]}"#)]).await;
        let error = send_note(&mut client(&raw, Some(Era::Stateless))).await.expect_err("no result");
        assert!(matches!(error.error, UpstreamError::Malformed { .. }), "{id} {error:?}");
        assert_eq!(error.applied, Applied::Unknown);
    }
}
