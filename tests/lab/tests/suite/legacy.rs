//! Revision 2025-11-25 from a socket.

use crate::support::{Request, TOKEN, lab, legacy, modern, open_session, post};
use collie_lab::{AnswerForm, Command, Eras};
use serde_json::{Value, json};

fn list(params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": "a", "method": "tools/list", "params": params})
}

#[tokio::test]
async fn a_session_lists_pages_calls_and_closes() {
    let lab = lab(|switches| switches.era = Eras::Legacy).await;
    let session = open_session(&lab).await;
    let (mut params, mut names) = (json!({}), Vec::new());
    loop {
        let answer = legacy(&lab, &session, &list(params)).send().await;
        let answer = answer.json();
        assert_eq!(answer["id"], "a");
        let result = &answer["result"];
        assert!(result.get("ttlMs").is_none() && result.get("resultType").is_none(), "those are of the later era");
        let tools = result["tools"].as_array().expect("a list").clone();
        names.extend(tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()));
        let Some(next) = result["nextCursor"].as_str() else { break };
        params = json!({"cursor": next});
    }
    let plain = ["list_notes", "read_note", "draft_note", "save_note", "send_note", "delete_everything"];
    assert_eq!(names[..6], plain);
    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": {"name": "send_note", "arguments": {"to": "ann", "text": "hi"}}});
    assert_eq!(legacy(&lab, &session, &call).send().await.tool_text(), "Sent to ann");
    assert_eq!((lab.counts().calls("send_note"), lab.counts().applied("send_note")), (1, 1));
    assert_eq!(lab.seen().sent[0].text, "hi");

    let ping = json!({"jsonrpc": "2.0", "id": 3, "method": "ping"});
    assert_eq!(legacy(&lab, &session, &ping).send().await.json()["result"], json!({}));
    let unknown = json!({"jsonrpc": "2.0", "id": 4, "method": "tools/burn"});
    let answer = legacy(&lab, &session, &unknown).send().await;
    assert_eq!((answer.status, answer.error_code()), (200, -32601));

    let close = || Request { method: "DELETE", ..legacy(&lab, &session, &ping) };
    assert_eq!(close().send().await.status, 200);
    assert_eq!(close().send().await.status, 404);
    assert_eq!(legacy(&lab, &session, &ping).send().await.status, 404);
    lab.stop().await;
}

#[tokio::test]
async fn a_session_is_required_known_and_initialized() {
    let lab = lab(|_| ()).await;
    let ping = json!({"jsonrpc": "2.0", "id": 3, "method": "ping"});
    assert_eq!(post(&lab, &list(json!({}))).send().await.status, 400);
    assert_eq!(legacy(&lab, "0123", &ping).send().await.status, 404);
    let session = open_session(&lab).await;
    let no_version = legacy(&lab, &session, &ping).without("mcp-protocol-version");
    assert_eq!(no_version.send().await.status, 400);

    let params =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}});
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    let opening = post(&lab, &initialize).send().await;
    assert_eq!(opening.json()["result"]["protocolVersion"], "2025-11-25");
    assert!(opening.json()["result"]["instructions"].is_string());
    let opening = opening.header("mcp-session-id").to_owned();
    assert_eq!(legacy(&lab, &opening, &list(json!({}))).send().await.status, 400, "not initialized yet");
    assert_eq!(legacy(&lab, &opening, &ping).send().await.status, 200);

    assert_eq!(legacy(&lab, &session, &ping).send().await.status, 200);
    lab.control(Command::ForgetSessions).expect("followed");
    assert_eq!(legacy(&lab, &session, &ping).send().await.status, 404);
}

#[tokio::test]
async fn bad_messages_and_bad_headers_are_refused() {
    let lab = lab(|_| ()).await;
    let session = open_session(&lab).await;
    let good = legacy(&lab, &session, &json!({"jsonrpc": "2.0", "id": 3, "method": "ping"}));
    assert_eq!(good.send().await.status, 200);
    for (body, code) in [("{", -32700), ("[]", -32600), (r#"{"id":1,"method":"ping"}"#, -32600)] {
        let answer = Request { body: body.to_owned(), ..good.clone() }.send().await;
        assert_eq!((answer.status, answer.error_code()), (400, code), "{body}");
    }
    assert_eq!(good.clone().without("accept").send().await.status, 406);
    assert_eq!(good.clone().without("content-type").send().await.status, 415);
    assert_eq!(good.clone().header("origin", "http://evil.example").send().await.status, 403);
    assert_eq!(Request { method: "GET", ..good.clone() }.send().await.status, 405);
}

#[tokio::test]
async fn the_older_era_alone_refuses_the_newer_without_its_words() {
    let lab = lab(|switches| switches.era = Eras::Legacy).await;
    let answer = modern(&lab, "server/discover", json!({})).send().await;
    assert_eq!((answer.status, answer.error_code()), (400, -32000));
}

#[tokio::test]
async fn answers_come_as_event_streams_when_switched() {
    let lab = lab(|switches| switches.answer = AnswerForm::Sse).await;
    let session = open_session(&lab).await;
    let answer = legacy(&lab, &session, &list(json!({}))).send().await;
    let events = answer.events();
    assert_eq!(events.len(), 1);
    let message: Value = serde_json::from_str(&events[0].1).expect("a message");
    assert_eq!(message["result"]["tools"][0]["name"], "list_notes");
}

#[tokio::test]
async fn a_noisy_stream_still_says_the_same() {
    let lab = lab(|_| ()).await;
    let session = open_session(&lab).await;
    let plain = legacy(&lab, &session, &list(json!({}))).send().await.json();
    lab.switch(|switches| (switches.answer, switches.sse_noise) = (AnswerForm::Sse, true));
    let answer = legacy(&lab, &session, &list(json!({}))).send().await;
    for noise in [": good morning", "retry: 3000", "id: lab-0", "event: weather", "\r\n", "nonsense"] {
        assert!(answer.text().contains(noise), "{noise}");
    }
    let events = answer.events();
    let messages: Vec<&String> = events.iter().filter(|(kind, _)| kind == "message").map(|(_, data)| data).collect();
    assert_eq!(messages.len(), 1);
    for lookalike in ["sunny", "late"] {
        assert!(answer.text().contains(&format!(r#""id":"a","result":{{"{lookalike}":true}}"#)), "{lookalike}");
    }
    assert!(messages[0].lines().count() > 50, "data on many lines");
    assert_eq!(serde_json::from_str::<Value>(messages[0]).expect("a message"), plain);
}

#[tokio::test]
async fn the_credential_is_required_and_judged() {
    let lab = lab(|_| ()).await;
    let good = post(&lab, &list(json!({})));
    let absent = good.clone().without("authorization").send().await;
    assert_eq!((absent.status, absent.header("www-authenticate")), (401, r#"Bearer realm="collie-lab""#));
    let wrong = good.clone().without("authorization").header("authorization", "Bearer nope").send().await;
    assert_eq!(wrong.status, 401);
    assert!(wrong.header("www-authenticate").contains("invalid_token"));
    assert_eq!(lab.counts().refused, 2);
    let shown = serde_json::to_string(&lab.seen()).expect("what was seen");
    assert!(shown.contains(r#""credential":"absent""#) && shown.contains(r#""credential":"wrong""#));
    let _ = good.send().await;
    let shown = serde_json::to_string(&lab.seen()).expect("what was seen");
    assert!(shown.contains(r#""credential":"right""#) && !shown.contains(TOKEN) && !shown.contains("nope"));
}
