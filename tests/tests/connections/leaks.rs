//! A server that sends the credential back: in every place and form it is taken out, whatever is printed, recorded or stored.

use super::scene::{DECISIONS, Scene, TOKEN, expect_refused, lab, send};
use collie_lab::{AnswerForm, Echo, EchoForm, EchoPlace, Switches};
use contract::problem::Exit;
use contract::{Code, Json, b64u, digest};

const PLACES: [EchoPlace; 6] =
    [EchoPlace::Result, EchoPlace::Key, EchoPlace::Error, EchoPlace::Refusal, EchoPlace::Header, EchoPlace::Event];
const FORMS: [EchoForm; 8] = [
    EchoForm::Raw,
    EchoForm::Base64,
    EchoForm::Base64Url,
    EchoForm::Hex,
    EchoForm::UrlEncoded,
    EchoForm::JsonEscaped,
    EchoForm::SplitEvents,
    EchoForm::SplitFrames,
];

/// The token as somebody might find it.
fn traces() -> Vec<String> {
    let encoded: String = TOKEN.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let unpadded = b64u::encode(TOKEN);
    let standard = unpadded.replace('-', "+").replace('_', "/");
    vec![TOKEN.to_owned(), unpadded, standard, digest::hex(TOKEN.as_bytes()), encoded.clone(), encoded.to_lowercase()]
}

fn expect_clean(text: &str, what: &str) {
    for trace in traces() {
        assert!(!text.contains(&trace), "{what}: {text}");
    }
}

#[tokio::test]
async fn an_echoed_credential_is_in_no_answer_and_on_no_disk() {
    let scene = Scene::start().await;
    let laptop = scene.laptop("first").await;
    let id = laptop.shared(&scene.lab).await;
    let mut seen_marker = 0;
    for place in PLACES {
        for form in FORMS {
            scene.lab.switch(|switches| {
                switches.echo = Some(Echo { place, form });
                switches.answer = if place == EchoPlace::Event { AnswerForm::Sse } else { AnswerForm::Json };
            });
            let what = format!("{place:?} {form:?}");
            match laptop.invoke(&id, "send_note", &send(&["--yes"])).await {
                Ok(outcome) => {
                    let text = format!(
                        "{}{}{}",
                        outcome.data.canonical_string(),
                        outcome.lines.join("\n"),
                        outcome.warnings.join("\n")
                    );
                    expect_clean(&text, &what);
                    if outcome.data.find("redacted") == Some(&Json::Bool(true)) {
                        seen_marker += 1;
                        assert!(
                            outcome.warnings.iter().any(|warning| warning.contains("credential")),
                            "{what}: it is said"
                        );
                    }
                }
                Err(error) => {
                    assert!(matches!(place, EchoPlace::Error | EchoPlace::Refusal), "{what}: {error:?}");
                    expect_clean(&format!("{error:?} {} {:?}", error.details.canonical_string(), error.lines), &what);
                }
            }
        }
    }
    // The control: results did hold it, so the search finds what it looks for.
    assert!(seen_marker >= 10, "{seen_marker}");
    laptop.db().await.checkpoint().await.expect("checkpoints");
    for entry in std::fs::read_dir(laptop.folder().path()).expect("lists") {
        let path = entry.expect("an entry").path();
        if path.is_file() {
            let bytes = std::fs::read(&path).expect("reads");
            expect_clean(&String::from_utf8_lossy(&bytes), &path.display().to_string());
        }
    }
}

#[tokio::test]
async fn a_manifest_that_holds_the_credential_is_neither_shown_nor_stored() {
    let scene = Scene::start().await;
    let laptop = scene.laptop("first").await;
    let bad =
        lab(Switches { echo: Some(Echo { place: EchoPlace::Manifest, form: EchoForm::Raw }), ..Switches::default() })
            .await;
    let error =
        expect_refused(laptop.share("bad", &bad.mcp_url(), DECISIONS).await, Code::ManifestInvalid, Exit::Refused);
    expect_clean(&format!("{error:?}"), "the refusal");
    assert!(laptop.run(&["connections"]).await.expect("lists").data.pointer("/connections/0").is_none());
}
