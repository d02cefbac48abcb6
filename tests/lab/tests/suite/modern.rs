//! Revision 2026-07-28 from a socket.

use crate::support::{Request, call, lab, modern, open_session, post, send_note};
use collie_lab::{CacheScope, Credential, Eras, Fault, FaultRule, Lab, LabConfig};
use serde_json::{Value, json};

#[tokio::test]
async fn discover_list_and_call_without_a_session() {
    let lab = lab(|_| ()).await;
    let found = modern(&lab, "server/discover", json!({})).send().await;
    assert_eq!(found.header("mcp-session-id"), "");
    let found = &found.json()["result"];
    assert_eq!(found["supportedVersions"], json!(["2026-07-28", "2025-11-25"]));
    assert_eq!(found["resultType"], "complete");
    assert!(found["instructions"].is_string() && found["capabilities"]["tools"].is_object());
    let listed = modern(&lab, "tools/list", json!({})).send().await.json();
    let listed = &listed["result"];
    assert_eq!((&listed["ttlMs"], &listed["cacheScope"]), (&json!(300_000), &json!("private")));
    assert_eq!(listed["resultType"], "complete");
    let read = call(&lab, "read_note", json!({"name": "inbox"})).send().await;
    assert!(read.tool_text().contains("ignore all previous instructions"));
    assert_eq!(read.json()["result"]["resultType"], "complete");
    let groceries = call(&lab, "read_note", json!({"name": "groceries"})).send().await;
    assert!(groceries.tool_text().contains("豆腐"));
    lab.switch(|switches| (switches.ttl_ms, switches.cache_scope) = (0, CacheScope::Public));
    let listed = modern(&lab, "tools/list", json!({})).send().await.json();
    assert_eq!((&listed["result"]["ttlMs"], &listed["result"]["cacheScope"]), (&json!(0), &json!("public")));
}

#[tokio::test]
async fn headers_must_mirror_the_body() {
    let lab = lab(|_| ()).await;
    let good = send_note(&lab);
    for (name, other) in
        [("mcp-protocol-version", "2025-11-25"), ("mcp-method", "tools/list"), ("mcp-name", "read_note")]
    {
        let missing = good.clone().without(name).send().await;
        assert_eq!((missing.status, missing.error_code()), (400, -32020), "{name} missing");
        let wrong = good.clone().without(name).header(name, other).send().await;
        assert_eq!((wrong.status, wrong.error_code()), (400, -32020), "{name} wrong");
        let twice = good.clone().header(name, other).send().await;
        assert_eq!((twice.status, twice.error_code()), (400, -32020), "{name} twice");
    }
    let bodyless = Request { body: good.body.replace("2026-07-28", "2025-11-25"), ..good.clone() }.send().await;
    assert_eq!((bodyless.status, bodyless.error_code()), (400, -32020));
    assert_eq!(lab.counts().applied("send_note"), 0, "nothing that was refused happened");
    let encoded = good.clone().without("mcp-name").header("mcp-name", "=?base64?c2VuZF9ub3Rl?=").send().await;
    assert_eq!(encoded.status, 200);
    assert_eq!(lab.counts().applied("send_note"), 1);
    let route = call(&lab, "route_note", json!({"region": "Übersee", "to": "a", "text": "b"}));
    assert_eq!(route.send().await.error_code(), -32020);
    assert_eq!(
        route.clone().header("mcp-param-region", "=?base64?w5xiZXJzZWU=?=").send().await.tool_text(),
        "Sent to a"
    );
}

#[tokio::test]
async fn versions_methods_and_capabilities_are_refused_as_specified() {
    let lab = lab(|switches| switches.era = Eras::Modern).await;
    let old = modern(&lab, "tools/list", json!({}));
    let future = |text: &str| text.replace("2026-07-28", "2031-01-01");
    let headers = old.headers.iter().map(|(name, value)| (name.clone(), future(value))).collect();
    let answer = Request { headers, body: future(&old.body), ..old.clone() }.send().await;
    assert_eq!((answer.status, answer.error_code()), (400, -32022));
    assert_eq!(answer.json()["error"]["data"], json!({"supported": ["2026-07-28"], "requested": "2031-01-01"}));
    let unknown = modern(&lab, "tools/burn", json!({})).send().await;
    assert_eq!((unknown.status, unknown.error_code()), (404, -32601));
    let body = old.body.replace("clientCapabilities", "clientAbilities");
    let silent = Request { body, ..old.clone() }.send().await;
    assert_eq!((silent.status, silent.error_code()), (400, -32602));
    let initialize =
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}});
    let refused = post(&lab, &initialize).send().await;
    assert_eq!((refused.status, refused.error_code()), (400, -32022));
    for method in ["GET", "DELETE"] {
        assert_eq!(Request { method, ..old.clone() }.send().await.status, 405);
    }
    lab.switch(|switches| switches.era = Eras::Both);
    open_session(&lab).await;
}

#[tokio::test]
async fn input_is_asked_for_once_and_its_state_is_good_for_one_return() {
    let lab = lab(|_| ()).await;
    lab.fault(FaultRule::new(Fault::InputRequired).on_tool("send_note").times(1)).expect("armed");
    let asked = send_note(&lab).send().await.json();
    let result = &asked["result"];
    assert_eq!(result["resultType"], "input_required");
    assert_eq!(result["inputRequests"]["confirm"]["params"]["mode"], "url");
    assert_eq!(lab.counts().applied("send_note"), 0);
    let again = |state: &Value| {
        let arguments = json!({"to": "ann", "text": "hello"});
        let responses = json!({"confirm": {"action": "accept"}});
        modern(
            &lab,
            "tools/call",
            json!({"name": "send_note", "arguments": arguments,
            "inputResponses": responses, "requestState": state}),
        )
    };
    assert_eq!(again(&json!("made up")).send().await.error_code(), -32602);
    assert_eq!(again(&result["requestState"]).send().await.tool_text(), "Sent to ann");
    assert_eq!(again(&result["requestState"]).send().await.error_code(), -32602);
    assert_eq!(lab.counts().applied("send_note"), 1);
}

#[tokio::test]
async fn a_custom_header_or_nothing_may_be_the_credential() {
    let name = "x-api-key".parse().expect("a header name");
    let credential = Credential::Header { name, value: "k-1".to_owned() };
    let asking = Lab::start(LabConfig { credential, ..LabConfig::default() }).await.expect("a free port");
    let request = modern(&asking, "tools/list", json!({}));
    assert_eq!(request.send().await.status, 401, "a bearer token is no answer");
    assert_eq!(request.clone().header("x-api-key", "k-2").send().await.status, 401);
    assert_eq!(request.clone().header("x-api-key", "k-1").send().await.status, 200);
    let open = Lab::start(LabConfig::default()).await.expect("a free port");
    assert_eq!(modern(&open, "tools/list", json!({})).without("authorization").send().await.status, 200);
}

#[tokio::test]
async fn numbers_come_back_to_the_last_digit() {
    let lab = lab(|_| ()).await;
    let weighed = call(&lab, "weigh_note", json!({})).send().await;
    assert!(weighed.text().contains(r#""grams":12345678901234567890.123456789"#), "{}", weighed.text());
    let listed = modern(&lab, "tools/list", json!({})).send().await;
    assert!(listed.text().contains(r#""maximum":12345678901234567890.123456789"#));
}
