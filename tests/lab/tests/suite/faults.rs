//! Every fault from a socket, with the effect it leaves behind.

use crate::support::{TOKEN, lab, modern, read_answer, send_note};
use collie_lab::{Command, Fault, FaultRule, Lab, Malformation, Presented, RedirectTarget};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;

async fn struck(kind: Fault) -> Lab {
    let lab = lab(|_| ()).await;
    lab.fault(FaultRule::new(kind).on_tool("send_note").times(1)).expect("armed");
    lab
}

async fn assert_recovered(lab: &Lab) {
    assert_eq!(send_note(lab).send().await.tool_text(), "Sent to ann@example.invalid", "the fault struck once");
}

fn sent(lab: &Lab) -> u64 {
    lab.counts().applied("send_note")
}

#[tokio::test]
async fn hanging_before_and_after_the_effect() {
    for (kind, effects) in [(Fault::HangBefore, 0), (Fault::HangAfter, 1)] {
        let lab = struck(kind).await;
        let hung = send_note(&lab).open().await;
        lab.wait_until(|seen| seen.hanging == 1).await;
        assert_eq!((lab.counts().calls("send_note"), sent(&lab)), (1, effects));
        lab.control(Command::Release).expect("followed");
        let mut stream = hung;
        let mut all = Vec::new();
        stream.read_to_end(&mut all).await.expect("it ends well");
        assert_eq!(read_answer(&all).expect("whole").tool_text(), "Sent to ann@example.invalid");
        assert_eq!((sent(&lab), lab.seen().hanging), (1, 0));
        assert_recovered(&lab).await;
    }
}

#[tokio::test]
async fn a_caller_that_goes_away_hangs_no_longer() {
    let lab = struck(Fault::HangAfter).await;
    let hung = send_note(&lab).open().await;
    lab.wait_until(|seen| seen.hanging == 1).await;
    drop(hung);
    lab.wait_until(|seen| seen.hanging == 0).await;
    assert_eq!(sent(&lab), 1);
}

#[tokio::test]
async fn dropping_before_after_and_midway() {
    for (kind, effects) in [(Fault::DropBefore, 0), (Fault::DropAfter, 1), (Fault::DropMidway, 1)] {
        let midway = matches!(kind, Fault::DropMidway);
        let lab = struck(kind).await;
        let mut got = Vec::new();
        // The end may be an orderly or a hard one; what counts is that no whole answer came.
        let _ = send_note(&lab).open().await.read_to_end(&mut got).await;
        assert_eq!(got.is_empty(), !midway, "{}", String::from_utf8_lossy(&got));
        assert!(read_answer(&got).is_none());
        assert_eq!((lab.counts().calls("send_note"), sent(&lab)), (1, effects));
        assert_recovered(&lab).await;
    }
}

#[tokio::test]
async fn redirects_lead_to_places_that_remember() {
    let lab = struck(Fault::Redirect { status: 307, to: RedirectTarget::Path }).await;
    let request = send_note(&lab);
    let answer = request.send().await;
    assert_eq!((answer.status, answer.header("location")), (307, "/elsewhere"));
    let host = RedirectTarget::Host;
    lab.fault(FaultRule::new(Fault::Redirect { status: 308, to: host }).times(1)).expect("armed");
    let away = send_note(&lab).send().await;
    assert_eq!((away.status, away.header("location")), (308, format!("{}/mcp", lab.other_url()).as_str()));
    assert_eq!((sent(&lab), lab.seen().strays.len()), (0, 0), "nothing happened and nobody followed");

    let mut foolish = request.clone();
    foolish.url = away.header("location").to_owned();
    assert_eq!(foolish.send().await.status, 200);
    foolish.url = lab.mcp_url().replace("/mcp", "/elsewhere?x=1");
    assert_eq!(foolish.without("authorization").send().await.status, 200);
    let strays = lab.seen().strays;
    assert_eq!((strays[0].other_host, strays[0].credential), (true, Presented::Right));
    assert_eq!((strays[1].other_host, strays[1].credential), (false, Presented::Absent));
    assert_eq!(strays[1].target, "/elsewhere?x=1");
    assert!(strays[0].header_names.contains(&"authorization".to_owned()));
    assert!(!serde_json::to_string(&strays).expect("strays").contains(TOKEN));

    let url = RedirectTarget::Url("http://169.254.169.254/latest".to_owned());
    lab.fault(FaultRule::new(Fault::Redirect { status: 302, to: url }).times(1)).expect("armed");
    assert_eq!(send_note(&lab).send().await.header("location"), "http://169.254.169.254/latest");
    assert_recovered(&lab).await;
}

#[tokio::test]
async fn error_statuses_come_with_their_headers() {
    for code in [401, 403, 404, 429, 500, 503] {
        let lab = struck(Fault::Status { code, retry_after_s: (code == 429).then_some(30) }).await;
        let answer = send_note(&lab).send().await;
        assert_eq!(answer.status, code);
        match code {
            401 => assert!(answer.header("www-authenticate").contains("invalid_token")),
            403 => assert!(answer.header("www-authenticate").contains("insufficient_scope")),
            429 => assert_eq!(answer.header("retry-after"), "30"),
            _ => {}
        }
        assert_eq!(sent(&lab), 0);
        assert_recovered(&lab).await;
    }
}

#[tokio::test]
async fn huge_deep_and_slow_answers_are_good_json_still() {
    let lab = struck(Fault::Huge { bytes: 3_000_000 }).await;
    let huge = send_note(&lab).send().await;
    assert_eq!(huge.json()["result"]["x-padding"].as_str().map(str::len), Some(3_000_000));
    lab.fault(FaultRule::new(Fault::Deep { depth: 50_000 }).times(1)).expect("armed");
    let deep = send_note(&lab).send().await;
    assert_eq!((deep.text().matches('[').count(), deep.text().matches(']').count()), (50_001, 50_001));
    lab.fault(FaultRule::new(Fault::Trickle { bytes: 16, pause_ms: 1 }).times(1)).expect("armed");
    let slow = send_note(&lab).raw().await.expect("it ends well");
    assert!(String::from_utf8_lossy(&slow).contains("\r\n10\r\n"), "chunks of sixteen bytes");
    assert_eq!(read_answer(&slow).expect("whole").tool_text(), "Sent to ann@example.invalid");
    assert_eq!(sent(&lab), 3);
    assert_recovered(&lab).await;
}

#[tokio::test]
async fn every_malformation_is_one() {
    let lab = lab(|_| ()).await;
    let good = send_note(&lab).send().await;
    for how in Malformation::ALL {
        lab.fault(FaultRule::new(Fault::Malformed { how }).times(1)).expect("armed");
        let before = sent(&lab);
        let answer = send_note(&lab).send().await;
        let is_json = serde_json::from_slice::<Value>(&answer.body);
        match how {
            Malformation::WrongMediaType => assert_eq!(answer.header("content-type"), "text/html"),
            Malformation::WrongId => assert_eq!(answer.json()["id"], "somebody-else"),
            Malformation::NoResult => assert_eq!(answer.json(), json!({"jsonrpc": "2.0", "id": 7})),
            Malformation::ResultAndError => {
                assert!(answer.json()["error"].is_object() && answer.json()["result"].is_object());
            }
            Malformation::Batch => assert_eq!(answer.json(), json!([good.json()])),
            Malformation::DuplicateKey => {
                assert_eq!(answer.text().matches(r#""result":"#).count(), 2);
                answer.json();
            }
            Malformation::NotUtf8 => assert!(str::from_utf8(&answer.body).is_err()),
            Malformation::NotJson
            | Malformation::Truncated
            | Malformation::Trailing
            | Malformation::LoneSurrogate
            | Malformation::NotANumber
            | Malformation::Empty => assert!(is_json.is_err(), "{how:?}: {}", answer.text()),
        }
        assert_eq!(sent(&lab), before + 1, "{how:?} hides no effect");
    }
    assert_recovered(&lab).await;
}

#[tokio::test]
async fn streams_without_an_answer_and_with_a_request() {
    let lab = struck(Fault::NoAnswer).await;
    let silent = send_note(&lab).send().await;
    assert_eq!((silent.status, silent.events().len(), sent(&lab)), (200, 0, 1));

    lab.fault(FaultRule::new(Fault::ServerRequest).times(1)).expect("armed");
    let events = send_note(&lab).send().await.events();
    let asked: Value = serde_json::from_str(&events[0].1).expect("a message");
    assert_eq!((asked["method"].as_str(), events.len()), (Some("sampling/createMessage"), 2));

    lab.fault(FaultRule::new(Fault::EndlessEvents).times(1)).expect("armed");
    let mut stream = send_note(&lab).open().await;
    let mut much = vec![0; 2_000_000];
    stream.read_exact(&mut much).await.expect("it goes on");
    drop(stream);
    assert_recovered(&lab).await;
}

#[tokio::test]
async fn rules_choose_by_method_and_tool() {
    let lab = lab(|_| ()).await;
    let no = || Fault::Status { code: 500, retry_after_s: None };
    lab.fault(FaultRule::new(no()).on_method("tools/list")).expect("armed");
    assert_recovered(&lab).await;
    for _ in 0..3 {
        assert_eq!(modern(&lab, "tools/list", json!({})).send().await.status, 500, "without a number it stays");
    }
    lab.control(Command::ClearFaults).expect("followed");
    assert_eq!(modern(&lab, "tools/list", json!({})).send().await.status, 200);
}

#[tokio::test]
async fn an_ended_lab_ends_its_connections() {
    let lab = struck(Fault::HangBefore).await;
    let address = lab.address();
    let mut hung = send_note(&lab).open().await;
    lab.wait_until(|seen| seen.hanging == 1).await;
    lab.stop().await;
    let mut rest = Vec::new();
    let _ = hung.read_to_end(&mut rest).await;
    assert!(rest.is_empty());
    tokio::net::TcpStream::connect(address).await.expect_err("nobody listens any more");
}
