//! Tool calls against a hostile server: every failure says whether the call can have been applied, and none is made twice.

use crate::common::{TOKEN, call, client, destination, hasty, json, lab, lab_in, send_note, token};
use collie_lab::{AnswerForm, Command, Echo, EchoForm, EchoPlace, Fault, FaultRule, Malformation, RedirectTarget};
use collie_upstream::{Applied, MARKER, Outcome, ToolCall, Upstream, UpstreamError};
use contract::Json;
use contract::review::Era;
use egress::{EgressError, Phase};

#[tokio::test]
async fn a_call_gives_the_result_as_sent_in_both_eras_and_forms() {
    for era in Era::ALL {
        let lab = lab_in(era).await;
        for form in [AnswerForm::Json, AnswerForm::Sse] {
            lab.switch(|switches| {
                switches.answer = form;
                switches.sse_noise = true;
            });
            let mut client = client(&lab, Some(era));
            let answer = call(&mut client, "weigh_note", "{}").await.expect("a result");
            let Outcome::Complete(result) = &answer.outcome else { panic!("complete") };
            assert!(!answer.redacted && !answer.is_error());
            assert!(result.find("content").is_some(), "{era:?} {result:?}");
            let weighed = result.find("structuredContent").expect("structured").canonical_string();
            assert!(weighed.contains("12345678901234567890.123456789"), "{weighed}");
            client.close().await;
        }
        assert_eq!(lab.seen().sessions, 0, "sessions are ended");
    }
}

#[tokio::test]
async fn arguments_go_out_word_for_word() {
    for era in Era::ALL {
        let lab = lab_in(era).await;
        let arguments = r#"{"label":"α","n":[1.50,1e5,12345678901234567890.123456789,-0.0],"":null}"#;
        call(&mut client(&lab, Some(era)), "label_note", arguments).await.expect("a result");
        let seen = lab.seen();
        let request = seen.requests.iter().find(|request| request.method == "tools/call").expect("seen");
        let given = request.arguments.as_ref().expect("arguments");
        assert_eq!(given["label"], "α");
        assert_eq!(given[""], serde_json::Value::Null);
        assert_eq!(request.protocol_version.as_deref(), Some(era.as_str()));
        assert_eq!(request.session, era == Era::Sessions);
    }
}

#[tokio::test]
async fn an_argument_that_the_tool_wants_in_a_header_is_mirrored() {
    let lab = lab_in(Era::Stateless).await;
    let mut client = client(&lab, None);
    let manifest = client.fetch_manifest().await.expect("a manifest").manifest;
    let arguments = json(r#"{"region":"Zürich ","to":"a@example.com","text":"x"}"#);
    let tool = manifest.find_tool("route_note").expect("listed");
    client.call_tool(ToolCall { tool, arguments: &arguments }).await.expect("a result");
    assert_eq!(lab.counts().applied("route_note"), 1);
    // Without its definition the header is missing, which the server refuses: the mirroring did it.
    let bare = Json::from_members([("name", "route_note".into())]);
    let error = client.call_tool(ToolCall { tool: &bare, arguments: &arguments }).await.expect_err("refused");
    assert!(matches!(error.error, UpstreamError::Rpc { code: -32020, status: 400, .. }), "{error:?}");
    assert_eq!(error.applied, Applied::No);
}

#[tokio::test]
async fn a_broken_call_is_unknown_and_made_once() {
    for era in Era::ALL {
        for (fault, applied) in [
            (Fault::DropAfter, 1),
            (Fault::DropMidway, 1),
            (Fault::DropBefore, 0),
            (Fault::NoAnswer, 1),
            (Fault::Status { code: 500, retry_after_s: None }, 0),
            (Fault::Status { code: 503, retry_after_s: None }, 0),
            (Fault::Status { code: 202, retry_after_s: None }, 0),
        ] {
            let lab = lab_in(era).await;
            lab.fault(FaultRule::new(fault.clone()).on_method("tools/call")).expect("armed");
            let error = send_note(&mut client(&lab, Some(era))).await.expect_err("no result");
            assert_eq!(error.applied, Applied::Unknown, "{era:?} {fault:?} {error:?}");
            assert_eq!(lab.counts().calls("send_note"), 1, "{era:?} {fault:?}: made once");
            assert_eq!(lab.counts().applied("send_note"), applied, "{era:?} {fault:?}");
        }
    }
}

#[tokio::test]
async fn an_unusable_answer_is_unknown() {
    for era in Era::ALL {
        for how in Malformation::ALL {
            for form in [AnswerForm::Json, AnswerForm::Sse] {
                let lab = lab_in(era).await;
                lab.switch(|switches| switches.answer = form);
                lab.fault(FaultRule::new(Fault::Malformed { how }).on_method("tools/call")).expect("armed");
                let error = send_note(&mut client(&lab, Some(era))).await.expect_err("no result");
                assert_eq!(error.applied, Applied::Unknown, "{era:?} {how:?} {error:?}");
                assert!(matches!(error.error, UpstreamError::Malformed { .. }), "{era:?} {how:?} {form:?} {error:?}");
                assert_eq!(lab.counts().calls("send_note"), 1);
            }
        }
    }
}

#[tokio::test]
async fn a_server_that_hangs_ends_at_the_limit() {
    for era in Era::ALL {
        for fault in
            [Fault::HangBefore, Fault::HangAfter, Fault::EndlessEvents, Fault::Trickle { bytes: 1, pause_ms: 150 }]
        {
            let lab = lab_in(era).await;
            lab.fault(FaultRule::new(fault.clone()).on_method("tools/call")).expect("armed");
            let error = send_note(&mut hasty(&lab.mcp_url(), Some(era))).await.expect_err("no result");
            assert_eq!(error.applied, Applied::Unknown);
            let ended = matches!(&error.error, UpstreamError::Egress(EgressError::TimedOut { phase, .. }) if *phase != Phase::Connect)
                || matches!(
                    &error.error,
                    UpstreamError::Malformed { .. } | UpstreamError::Egress(EgressError::TooLarge { .. })
                );
            assert!(ended, "{fault:?} {error:?}");
        }
    }
}

#[tokio::test]
async fn refusals_before_the_act_are_no_and_typed() {
    for era in Era::ALL {
        for code in [401, 403, 404, 429, 422] {
            let lab = lab_in(era).await;
            // Each of a forgotten session's two tries meets it.
            lab.fault(FaultRule::new(Fault::Status { code, retry_after_s: Some(7) }).on_method("tools/call"))
                .expect("armed");
            let error = send_note(&mut client(&lab, Some(era))).await.expect_err("no result");
            assert_eq!(error.applied, Applied::No, "{code}");
            let typed = match code {
                401 => matches!(error.error, UpstreamError::Unauthorized { .. }),
                403 => matches!(error.error, UpstreamError::Forbidden { .. }),
                429 => error.error == UpstreamError::RateLimited { retry_after_s: Some(7) },
                status => error.error == UpstreamError::Status { status },
            };
            assert!(typed, "{code} {:?}", error.error);
            assert_eq!(lab.counts().applied("send_note"), 0);
        }
    }
}

#[tokio::test]
async fn redirects_are_not_followed_and_carry_nothing_away() {
    for era in Era::ALL {
        for to in [RedirectTarget::Path, RedirectTarget::Host] {
            for status in [301, 302, 303, 307, 308] {
                let lab = lab_in(era).await;
                lab.fault(FaultRule::new(Fault::Redirect { status, to: to.clone() }).on_method("tools/call"))
                    .expect("armed");
                let error = send_note(&mut client(&lab, Some(era))).await.expect_err("no result");
                assert!(matches!(error.error, UpstreamError::Egress(EgressError::Redirected { .. })), "{error:?}");
                assert!(lab.seen().strays.is_empty(), "{to:?} {status}");
            }
        }
    }
}

#[tokio::test]
async fn a_forgotten_session_is_made_anew_once() {
    let lab = lab_in(Era::Sessions).await;
    let mut client = client(&lab, Some(Era::Sessions));
    send_note(&mut client).await.expect("a result");
    lab.control(Command::ForgetSessions).expect("followed");
    send_note(&mut client).await.expect("a result in a new session");
    assert_eq!(lab.counts().applied("send_note"), 2);
    assert_eq!(lab.counts().requests("initialize"), 2);
    // A server that forgets at every call is not asked for ever.
    lab.fault(FaultRule::new(Fault::Status { code: 404, retry_after_s: None }).on_method("tools/call")).expect("armed");
    let error = send_note(&mut client).await.expect_err("no result");
    assert_eq!((error.applied, error.error), (Applied::No, UpstreamError::Status { status: 404 }));
    assert_eq!(lab.counts().requests("initialize"), 3);
}

#[tokio::test]
async fn input_that_is_wanted_is_an_outcome_and_nothing_happens() {
    let lab = lab_in(Era::Stateless).await;
    lab.fault(FaultRule::new(Fault::InputRequired).on_method("tools/call")).expect("armed");
    let answer = send_note(&mut client(&lab, Some(Era::Stateless))).await.expect("an outcome");
    let Outcome::InputRequired(wanted) = answer.outcome else { panic!("input required") };
    assert!(wanted.find("requestState").is_some());
    assert_eq!(wanted.pointer("/inputRequests/confirm/method").and_then(Json::as_str), Some("elicitation/create"));
    assert_eq!(lab.counts().applied("send_note"), 0);

    let lab = lab_in(Era::Sessions).await;
    lab.fault(FaultRule::new(Fault::InputRequired).on_method("tools/call")).expect("armed");
    let error = send_note(&mut client(&lab, Some(Era::Sessions))).await.expect_err("an error in that era");
    assert!(matches!(error.error, UpstreamError::Rpc { code: -32042, .. }), "{error:?}");
    assert_eq!(error.applied, Applied::No);
}

#[tokio::test]
async fn a_request_of_the_servers_own_is_declined_in_a_session_and_an_error_elsewhere() {
    let lab = lab_in(Era::Sessions).await;
    lab.fault(FaultRule::new(Fault::ServerRequest).on_method("tools/call")).expect("armed");
    send_note(&mut client(&lab, Some(Era::Sessions))).await.expect("a result");

    let lab = lab_in(Era::Stateless).await;
    lab.fault(FaultRule::new(Fault::ServerRequest).on_method("tools/call")).expect("armed");
    let error = send_note(&mut client(&lab, Some(Era::Stateless))).await.expect_err("no result");
    assert!(matches!(error.error, UpstreamError::Malformed { .. }), "{error:?}");
    assert_eq!(error.applied, Applied::Unknown);
}

#[tokio::test]
async fn the_credential_never_comes_back() {
    let forms = [
        EchoForm::Raw,
        EchoForm::Base64,
        EchoForm::Base64Url,
        EchoForm::Hex,
        EchoForm::UrlEncoded,
        EchoForm::JsonEscaped,
        EchoForm::SplitFrames,
    ];
    for era in Era::ALL {
        let lab = lab_in(era).await;
        for form in forms {
            for place in [EchoPlace::Result, EchoPlace::Key] {
                for answer_form in [AnswerForm::Json, AnswerForm::Sse] {
                    lab.switch(|switches| {
                        switches.answer = answer_form;
                        switches.echo = Some(Echo { place, form });
                    });
                    let mut client = client(&lab, Some(era));
                    let answer = send_note(&mut client).await.expect("a result");
                    assert!(answer.redacted, "{place:?} {form:?}");
                    let shown = format!("{answer:?}");
                    assert!(shown.contains(MARKER) && !holds_token(&shown), "{place:?} {form:?} {shown}");
                    client.close().await;
                }
            }
        }
    }
}

#[tokio::test]
async fn the_credential_stays_out_of_errors_and_events() {
    let lab = lab(|_| {}).await;
    for form in [EchoForm::Raw, EchoForm::Base64, EchoForm::Hex, EchoForm::UrlEncoded, EchoForm::SplitEvents] {
        for place in [EchoPlace::Error, EchoPlace::Refusal, EchoPlace::Header, EchoPlace::Event] {
            lab.switch(|switches| switches.echo = Some(Echo { place, form }));
            let shown = match send_note(&mut client(&lab, Some(Era::Stateless))).await {
                Ok(answer) => format!("{answer:?}"),
                Err(error) => format!("{error:?} {error}"),
            };
            assert!(!holds_token(&shown), "{place:?} {form:?} {shown}");
            assert_eq!(
                place == EchoPlace::Error || place == EchoPlace::Refusal,
                shown.contains(MARKER),
                "{place:?} {form:?} {shown}"
            );
        }
    }
}

/// The forms a lab writes, looked for by other means than the product's.
fn holds_token(text: &str) -> bool {
    let hex = TOKEN.bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
    let percent = TOKEN.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
    // base64 of the token's first twelve bytes.
    [TOKEN, &hex, &percent, "dG9rX1ptOXYuWW1G"].iter().any(|form| text.contains(form))
}

#[tokio::test]
async fn an_era_other_than_the_reviews_is_never_called_in() {
    let lab = lab(|switches| switches.era = crate::common::eras(Era::Sessions)).await;
    let mut client = client(&lab, Some(Era::Stateless));
    assert_eq!(client.fetch_manifest().await.expect("a manifest").era, Era::Sessions);
    let error = send_note(&mut client).await.expect_err("refused");
    let changed = UpstreamError::EraChanged { expected: Era::Stateless, found: Era::Sessions };
    assert_eq!((error.applied, error.error), (Applied::No, changed));
    assert_eq!(lab.counts().calls("send_note"), 0);
    // Not even without a look at the manifest first.
    let error = send_note(&mut crate::common::client(&lab, Some(Era::Stateless))).await.expect_err("refused");
    assert_eq!(error.applied, Applied::No);
    assert_eq!(lab.counts().applied("send_note"), 0);
}

#[tokio::test]
async fn nothing_listens_means_nothing_happened() {
    let lab = lab(|_| {}).await;
    let url = lab.mcp_url();
    lab.stop().await;
    for era in Era::ALL {
        let mut client = Upstream::new(destination(&url), token(), Some(era)).expect("made");
        let error = send_note(&mut client).await.expect_err("no result");
        assert_eq!(error.applied, Applied::No);
        assert!(matches!(error.error, UpstreamError::Egress(EgressError::Unreachable { .. })));
    }
}

#[tokio::test]
async fn what_is_no_call_is_not_sent() {
    let lab = lab(|_| {}).await;
    let mut client = client(&lab, Some(Era::Stateless));
    let huge = format!(r#"{{"x":"{}"}}"#, "x".repeat(1024 * 1024));
    for arguments in ["[]", "null", &huge] {
        let tool = Json::from_members([("name", "send_note".into())]);
        let arguments = contract::cjson::parse(arguments.as_bytes(), 2 << 20).expect("JSON");
        let error = client.call_tool(ToolCall { tool: &tool, arguments: &arguments }).await.expect_err("refused");
        assert!(matches!((error.applied, error.error), (Applied::No, UpstreamError::BadCall { .. })));
    }
    assert!(lab.seen().requests.is_empty());
}
