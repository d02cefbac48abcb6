//! Effects: what asks, what refuses, and that nothing happens twice.

use super::scene::{Scene, expect_refused, send};
use collie_lab::{Fault, FaultRule, RedirectTarget};
use contract::problem::Exit;
use contract::{Code, Json};

#[tokio::test]
async fn commit_needs_a_yes_for_exactly_this_and_restricted_has_none() {
    let scene = Scene::start().await;
    let laptop = scene.laptop("first").await;
    let id = laptop.shared(&scene.lab).await;
    let asked = expect_refused(laptop.invoke(&id, "send_note", &send(&[])).await, Code::AuthorityAsk, Exit::NeedsYou);
    let hint = asked.hint.expect("a hint");
    assert!(
        hint.contains(&format!("collie online invoke {id} send_note"))
            && hint.contains("--yes")
            && hint.contains("ada@example.test"),
        "{hint}"
    );
    for flags in [&[][..], &["--yes"]] {
        let refused = laptop.invoke(&id, "delete_everything", flags).await;
        let error = expect_refused(refused, Code::StepUpRequired, Exit::NeedsYou);
        assert!(error.hint.expect("a hint").contains("connection-review"));
    }
    let unknown = expect_refused(laptop.invoke(&id, "no_such", &["--yes"]).await, Code::ToolUnreviewed, Exit::Refused);
    assert!(unknown.hint.expect("a hint").contains("connection-review"));
    assert_eq!((scene.lab.counts().calls("send_note"), scene.lab.counts().calls("delete_everything")), (0, 0));
    laptop.invoke(&id, "send_note", &send(&["--yes"])).await.expect("sends");
    laptop.invoke(&id, "save_note", &["--arg", "name=n", "--arg", "text=t"]).await.expect("an act runs");
    assert_eq!((scene.lab.counts().applied("send_note"), scene.lab.counts().applied("save_note")), (1, 1));
}

#[tokio::test]
async fn an_effect_above_what_is_allowed_in_advance_asks() {
    let scene = Scene::start().await;
    let laptop = scene.laptop("first").await;
    let flags = [super::scene::DECISIONS, &["--allow", "observe"]].concat();
    let shared = laptop.share("notes", &scene.lab.mcp_url(), &flags).await.expect("shared");
    let id = shared.data.pointer("/connection/id").and_then(Json::as_str).expect("an id").to_owned();
    let save = ["--arg", "name=n", "--arg", "text=t"];
    expect_refused(laptop.invoke(&id, "save_note", &save).await, Code::AuthorityAsk, Exit::NeedsYou);
    laptop.invoke(&id, "save_note", &[&save[..], &["--yes"]].concat()).await.expect("with a yes");
    laptop.invoke(&id, "list_notes", &[]).await.expect("observe is allowed");
}

#[tokio::test]
async fn a_call_that_was_applied_and_lost_is_uncertain_and_happens_once() {
    let scene = Scene::start().await;
    let laptop = scene.laptop("first").await;
    let id = laptop.shared(&scene.lab).await;
    scene.lab.fault(FaultRule::new(Fault::DropAfter).on_tool("send_note").times(1)).expect("armed");
    let keyed = send(&["--yes", "--idempotency-key", "k"]);
    for _ in 0..3 {
        let error =
            expect_refused(laptop.invoke(&id, "send_note", &keyed).await, Code::EffectUncertain, Exit::Uncertain);
        assert!(error.hint.expect("a hint").contains("--settle-uncertain"));
        assert_eq!((scene.lab.counts().applied("send_note"), scene.lab.counts().calls("send_note")), (1, 1));
    }
    let shown = laptop.run(&["connection-show", &id]).await.expect("shows");
    assert_eq!(shown.data.pointer("/open_calls/0/idempotency_key").and_then(Json::as_str), Some("k"));
    let settle = ["--idempotency-key", "k", "--settle-uncertain", "happened"];
    laptop.invoke(&id, "send_note", &settle).await.expect("settles");
    let answer = laptop.invoke(&id, "send_note", &keyed).await.expect("answers from the ledger");
    assert_eq!(answer.data.find_str("origin"), Some("recorded"));
    assert_eq!(scene.lab.counts().calls("send_note"), 1);
    expect_refused(laptop.invoke(&id, "send_note", &settle).await, Code::IllegalTransition, Exit::Conflict);
}

#[tokio::test]
async fn what_did_not_happen_by_a_persons_word_may_be_called_again() {
    let scene = Scene::start().await;
    let laptop = scene.laptop("first").await;
    let id = laptop.shared(&scene.lab).await;
    let keyed = send(&["--yes", "--idempotency-key", "k"]);
    scene.lab.fault(FaultRule::new(Fault::DropBefore).on_tool("send_note").times(1)).expect("armed");
    expect_refused(laptop.invoke(&id, "send_note", &keyed).await, Code::EffectUncertain, Exit::Uncertain);
    assert_eq!(scene.lab.counts().applied("send_note"), 0, "a lost connection says nothing, whatever happened");
    laptop
        .invoke(&id, "send_note", &["--idempotency-key", "k", "--settle-uncertain", "not-happened"])
        .await
        .expect("settles");
    laptop.invoke(&id, "send_note", &keyed).await.expect("sends");
    assert_eq!(scene.lab.counts().applied("send_note"), 1);
}

#[tokio::test]
async fn what_certainly_did_not_happen_leaves_the_key_free() {
    let scene = Scene::start().await;
    let laptop = scene.laptop("first").await;
    let id = laptop.shared(&scene.lab).await;
    let keyed = send(&["--yes", "--idempotency-key", "k"]);
    let refusals = [
        Fault::Status { code: 403, retry_after_s: None },
        Fault::Status { code: 429, retry_after_s: Some(1) },
        Fault::Redirect { status: 307, to: RedirectTarget::Host },
        Fault::InputRequired,
    ];
    for fault in refusals {
        scene.lab.fault(FaultRule::new(fault.clone()).on_tool("send_note").times(1)).expect("armed");
        let error = laptop.invoke(&id, "send_note", &keyed).await.expect_err("refused");
        assert_ne!(error.code, Code::EffectUncertain, "{fault:?}: {error:?}");
        assert!(error.hint.is_some(), "{fault:?}: {error:?}");
    }
    assert_eq!(scene.lab.counts().applied("send_note"), 0);
    assert!(scene.lab.seen().strays.is_empty(), "no redirect is followed, with or without the token");
    laptop.invoke(&id, "send_note", &keyed).await.expect("the key is free");
    assert_eq!(scene.lab.counts().applied("send_note"), 1);
}

#[tokio::test]
async fn a_key_names_one_call() {
    let scene = Scene::start().await;
    let laptop = scene.laptop("first").await;
    let id = laptop.shared(&scene.lab).await;
    let call =
        |arguments: &'static str, key: &'static str| ["--arguments", arguments, "--yes", "--idempotency-key", key];
    let first = laptop.invoke(&id, "send_note", &call(r#"{"to":"a@x.test","text":"5"}"#, "k")).await.expect("sends");
    assert_eq!(first.data.find_str("origin"), Some("called"));
    let same = laptop
        .invoke(&id, "send_note", &call(r#"{"text":"5", "to":"a@x.test"}"#, "k"))
        .await
        .expect("the order of keys is no difference");
    assert_eq!((same.data.find_str("origin"), same.data.find("result")), (Some("recorded"), first.data.find("result")));
    for other in
        [r#"{"to":"a@x.test","text":5}"#, r#"{"to":"a@x.test","text":"5 "}"#, r#"{"to":"b@x.test","text":"5"}"#]
    {
        let refused = laptop.invoke(&id, "send_note", &call(other, "k")).await;
        expect_refused(refused, Code::IdempotencyMismatch, Exit::Conflict);
    }
    let other_tool = laptop.invoke(&id, "save_note", &call(r#"{"to":"a@x.test","text":"5"}"#, "k")).await;
    expect_refused(other_tool, Code::IdempotencyMismatch, Exit::Conflict);
    assert_eq!(scene.lab.counts().calls("send_note"), 1);
    // A key of one connection says nothing about another.
    let second = laptop.share("other", &scene.lab.mcp_url(), super::scene::DECISIONS).await.expect("shared");
    let other_id = second.data.pointer("/connection/id").and_then(Json::as_str).expect("an id").to_owned();
    let sent =
        laptop.invoke(&other_id, "send_note", &call(r#"{"to":"a@x.test","text":"5"}"#, "k")).await.expect("sends");
    assert_eq!(sent.data.find_str("origin"), Some("called"));
}
