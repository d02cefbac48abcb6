//! The credential comes back in every place and form, and nowhere unless switched.

use crate::support::{TOKEN, canonical_manifest, lab, modern, read_answer, send_note};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use collie_lab::{Echo, EchoForm, EchoPlace};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;

fn hex(prefix: &str) -> String {
    TOKEN.bytes().map(|byte| format!("{prefix}{byte:02x}")).collect()
}

#[tokio::test]
async fn every_form_stands_in_the_result() {
    let lab = lab(|_| ()).await;
    assert!(!send_note(&lab).send().await.text().contains(TOKEN), "the control: no echo unless switched");
    let forms = [
        (EchoForm::Raw, TOKEN.to_owned()),
        (EchoForm::Base64, STANDARD.encode(TOKEN)),
        (EchoForm::Base64Url, URL_SAFE_NO_PAD.encode(TOKEN)),
        (EchoForm::Hex, hex("")),
        (EchoForm::UrlEncoded, hex("%").to_uppercase()),
        (EchoForm::JsonEscaped, hex("\\u00")),
        (EchoForm::SplitFrames, TOKEN.to_owned()),
    ];
    for (form, wanted) in forms {
        lab.switch(|switches| switches.echo = Some(Echo { place: EchoPlace::Result, form }));
        let answer = send_note(&lab).send().await;
        assert!(answer.text().contains(&wanted), "{form:?}: {}", answer.text());
        if form == EchoForm::JsonEscaped {
            assert!(!answer.text().contains(TOKEN), "only escaped");
            let said = answer.json()["result"]["content"][1]["text"].as_str().expect("a text").to_owned();
            assert!(said.contains(TOKEN), "a JSON reader gets it back");
        }
    }
}

#[tokio::test]
async fn every_place_holds_it() {
    let lab = lab(|_| ()).await;
    let at = |place| lab.switch(|switches| switches.echo = Some(Echo { place, form: EchoForm::Raw }));
    at(EchoPlace::Key);
    assert_eq!(send_note(&lab).send().await.json()["result"]["structuredContent"][TOKEN], true);
    at(EchoPlace::Error);
    let error = send_note(&lab).send().await.json();
    assert!(error["error"]["message"].as_str().expect("a text").contains(TOKEN));
    assert_eq!(error["error"]["data"]["token"], TOKEN);
    at(EchoPlace::Header);
    assert_eq!(send_note(&lab).send().await.header("x-lab-echo"), TOKEN);
    at(EchoPlace::Refusal);
    let refusal = send_note(&lab).send().await;
    assert_eq!(refusal.status, 403);
    assert!(refusal.text().contains(TOKEN) && refusal.header("www-authenticate").contains(TOKEN));
    at(EchoPlace::Event);
    let events = send_note(&lab).send().await.events();
    assert_eq!(events.len(), 2);
    assert!(events[0].1.contains(TOKEN) && !events[1].1.contains(TOKEN));
    at(EchoPlace::Manifest);
    assert_eq!(canonical_manifest(&lab).await.matches(TOKEN).count(), 2);
    assert_eq!(lab.counts().applied("send_note"), 5, "an echo hides no effect");
}

#[tokio::test]
async fn halves_come_in_two_events() {
    let lab = lab(|switches| {
        switches.echo = Some(Echo { place: EchoPlace::Event, form: EchoForm::SplitEvents });
    })
    .await;
    let answer = send_note(&lab).send().await;
    assert!(!answer.text().contains(TOKEN), "never whole");
    let notes: Vec<Value> =
        answer.events()[..2].iter().map(|(_, data)| serde_json::from_str(data).expect("a message")).collect();
    let half = |note: &Value| note["params"]["data"].as_str().expect("a text").to_owned();
    assert_eq!(half(&notes[0]) + &half(&notes[1]), TOKEN);
}

#[tokio::test]
async fn a_frame_can_end_inside_it() {
    let lab = lab(|switches| {
        switches.echo = Some(Echo { place: EchoPlace::Result, form: EchoForm::SplitFrames });
    })
    .await;
    let mut stream = send_note(&lab).open().await;
    let mut all = Vec::new();
    stream.read_to_end(&mut all).await.expect("it ends well");
    let text = String::from_utf8(all.clone()).expect("text");
    assert!(!text.contains(TOKEN), "a chunk's border stands inside it: {text}");
    assert!(read_answer(&all).expect("whole").text().contains(TOKEN));
    let listed = modern(&lab, "tools/list", json!({})).send().await;
    assert!(!listed.text().contains(TOKEN), "only calls echo");
}
