//! The control and inspection endpoints from a socket.

use crate::support::{Request, call, lab, modern, send_note};
use collie_lab::{Lab, Presented};
use serde_json::{Value, json};

fn command(lab: &Lab, command: &Value) -> Request {
    let bearer = format!("Bearer {}", lab.control_token());
    Request::new("POST", &lab.control_url(), command.to_string()).header("authorization", &bearer)
}

#[tokio::test]
async fn commands_come_as_json() {
    let lab = lab(|_| ()).await;
    let set = command(&lab, &json!({"set": {"changes": ["description"], "answer": "sse"}})).send().await;
    assert_eq!(set.status, 200, "{}", set.text());
    assert_eq!(set.json()["switches"]["changes"], json!(["description"]));
    assert_eq!(modern(&lab, "tools/list", json!({})).send().await.header("content-type"), "text/event-stream");
    let armed = command(&lab, &json!({"fault": {"kind": {"status": {"code": 429, "retry_after_s": 5}}, "times": 1}}));
    assert_eq!(armed.send().await.json()["faults"][0]["kind"]["status"]["code"], 429);
    assert_eq!(send_note(&lab).send().await.status, 429);
    let echo = json!({"set": {"echo": {"place": "result", "form": "split_frames"}}});
    assert_eq!(command(&lab, &echo).send().await.status, 200);
    let reset = command(&lab, &json!("reset")).send().await.json();
    assert_eq!((&reset["switches"]["echo"], &reset["switches"]["changes"]), (&Value::Null, &json!([])));
    for plain in ["clear_faults", "release", "forget_sessions", "forget_seen"] {
        assert_eq!(command(&lab, &json!(plain)).send().await.status, 200, "{plain}");
    }
    assert_eq!(lab.counts(), collie_lab::Counts::default());
}

#[tokio::test]
async fn a_bad_command_changes_nothing() {
    let lab = lab(|_| ()).await;
    let before = command(&lab, &json!({"set": {}})).send().await.json();
    for bad in [
        json!("explode"),
        json!({"set": {"colour": "red"}}),
        json!({"set": {"answer": "xml", "ttl_ms": 1}}),
        json!({"fault": {"kind": "drop_after", "tol": "send_note"}}),
        json!({"fault": {"kind": {"huge": {"bytes": 1_u64 << 40}}}}),
        json!({"fault": {"kind": {"change": {"set": {"colour": "red"}}}}}),
    ] {
        assert_eq!(command(&lab, &bad).send().await.status, 400, "{bad}");
    }
    assert_eq!(command(&lab, &json!({"set": {}})).send().await.json(), before);
}

#[tokio::test]
async fn the_endpoints_need_their_own_token() {
    let lab = lab(|_| ()).await;
    let good = command(&lab, &json!("reset"));
    assert_eq!(good.clone().without("authorization").send().await.status, 401);
    let product = good.clone().without("authorization").header("authorization", "Bearer other");
    assert_eq!(product.send().await.status, 401);
    let seen = Request::new("GET", &lab.seen_url(), String::new());
    assert_eq!(seen.send().await.status, 401);
    let as_caller = send_note(&lab).without("authorization");
    let as_caller = as_caller.header("authorization", &format!("Bearer {}", lab.control_token()));
    assert_eq!(as_caller.send().await.status, 401, "the control token opens no tool");
}

#[tokio::test]
async fn what_was_seen_can_be_read() {
    let lab = lab(|_| ()).await;
    send_note(&lab).send().await;
    call(&lab, "save_note", json!({"name": "new"})).send().await;
    call(&lab, "no_such_tool", json!({})).send().await;
    let bearer = format!("Bearer {}", lab.control_token());
    let seen = Request::new("GET", &lab.seen_url(), String::new()).header("authorization", &bearer).send().await.json();
    assert_eq!(seen["counts"]["calls"], json!({"send_note": 1, "save_note": 1, "no_such_tool": 1}));
    assert_eq!(seen["counts"]["applied"], json!({"send_note": 1}), "the other two did nothing");
    assert_eq!(seen["requests"][0]["arguments"]["to"], "ann@example.invalid");
    assert_eq!(seen["requests"][0]["protocol_version"], "2026-07-28");
    assert_eq!(lab.seen().requests[0].credential, Presented::Right);
    call(&lab, "delete_everything", json!({})).send().await;
    assert!(lab.seen().notes.is_empty());
}
