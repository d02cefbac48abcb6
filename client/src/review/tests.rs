//! Tests of proposals, decisions, the table, the questions and the diff; nothing here is product code.

use super::ask::decide_by_questions;
use super::decisions::Decisions;
use super::diff::{Edition, Risk, changes};
use super::table::{Heading, lines};
use super::*;
use contract::cjson;

const READ: &str = r#"{"name":"read","description":"Reads.","annotations":{"readOnlyHint":true},"inputSchema":{"properties":{"name":{"type":"string"}},"required":["name"]}}"#;
const SEND: &str = r#"{"name":"send","description":"Sends.","inputSchema":{"properties":{"to":{},"text":{}}}}"#;
const WIPE: &str = r#"{"name":"wipe","annotations":{"destructiveHint":true,"readOnlyHint":true}}"#;

fn manifest(tools: &[&str]) -> RawManifest {
    manifest_saying("hi", tools)
}

fn manifest_saying(instructions: &str, tools: &[&str]) -> RawManifest {
    let tools = tools.iter().map(|tool| cjson::parse(tool.as_bytes(), 10_000).expect("JSON")).collect();
    RawManifest::from_tools(instructions, tools).expect("a manifest")
}

fn draft(tools: &[&str]) -> Draft {
    Draft::propose(manifest(tools), Era::Stateless, None)
}

fn subject() -> Subject {
    Subject {
        connection: ConnectionId::from_random([1; 16]),
        project: None,
        endpoint: "https://mcp.example.test/mcp".to_owned(),
        review_seq: 1,
    }
}

fn effect(draft: &Draft, name: &str) -> Effect {
    draft.tools().iter().find(|tool| tool.name == name).expect("the tool").effect
}

fn heading() -> Heading {
    Heading {
        name: "notes".to_owned(),
        endpoint: "https://mcp.example.test/mcp".to_owned(),
        addresses: vec!["192.0.2.1".to_owned()],
        credential: "a bearer token".to_owned(),
        exceptions: Vec::new(),
    }
}

fn effects(said: &[&str]) -> Decisions {
    Decisions { effect: said.iter().map(|&said| said.to_owned()).collect(), ..Decisions::default() }
}

/// Answers prepared questions and fails on one more.
fn answers<'a>(prepared: &'a [&'a str]) -> impl FnMut(&str) -> Result<String, CliError> + 'a {
    let mut left = prepared.iter();
    move |question| Ok((*left.next().unwrap_or_else(|| panic!("one question more: {question}"))).to_owned())
}

#[test]
fn without_a_decision_a_hint_lowers_nothing() {
    let mut draft = draft(&[READ, SEND, WIPE]);
    assert_eq!(effect(&draft, "read"), Effect::Observe, "the hint fills the proposal");
    assert!(draft.record(&subject()).is_err(), "an unconfirmed proposal below commit cannot be signed");
    draft.raise_undecided();
    assert_eq!(
        ["read", "send", "wipe"].map(|name| effect(&draft, name)),
        [Effect::Commit, Effect::Commit, Effect::Restricted]
    );
    let record = draft.record(&subject()).expect("a record");
    assert_eq!(record.tools.len(), 3);
    record.check_against(draft.manifest()).expect("belongs to its manifest");
}

#[test]
fn a_persons_decision_stands_and_a_wrong_one_is_no_decision() {
    let mut draft = draft(&[READ, SEND, WIPE]);
    draft.decide(&effects(&["read=observe", "wipe=commit"])).expect("decides");
    draft.raise_undecided();
    assert_eq!(
        ["read", "send", "wipe"].map(|name| effect(&draft, name)),
        [Effect::Observe, Effect::Commit, Effect::Commit]
    );
    for bad in ["read", "read=harmless", "nothing=act", "=act", "read=Observe"] {
        let before = draft.clone();
        assert!(draft.decide(&effects(&["send=act", bad])).is_err(), "{bad}");
        assert_eq!(draft, before, "{bad}: all decisions or none");
    }
    let allow = |words: &[&str]| Decisions {
        allow: words.iter().map(|&word| word.to_owned()).collect(),
        ..Decisions::default()
    };
    assert!(draft.decide(&allow(&["commit"])).is_err(), "commit cannot be allowed in advance");
    draft.decide(&allow(&["none"])).expect("allows nothing");
    assert!(draft.allowed_effects().is_empty());
}

#[test]
fn a_tool_left_out_is_not_in_the_record() {
    let mut draft = draft(&[READ, SEND, WIPE]);
    draft.decide_line("-wipe").expect("leaves it out");
    draft.decide_line("read=observe").expect("decides");
    let record = draft.record(&subject()).expect("a record");
    assert!(record.find_tool("wipe").is_none() && record.find_tool("send").is_some());
    record.check_against(draft.manifest()).expect("the manifest stays whole");
    // Left out stays left out at the next review, and comes back by a decision.
    let before = Before { review: &record, manifest: Some(draft.manifest()) };
    let mut next = Draft::propose(manifest(&[READ, SEND, WIPE]), Era::Stateless, Some(before));
    assert_eq!(next.left_out(), ["wipe"]);
    next.decide_line("wipe=restricted").expect("comes back");
    assert!(next.left_out().is_empty());
    assert_eq!(effect(&next, "wipe"), Effect::Restricted);
}

#[test]
fn bindings_are_corrected() {
    let mut draft = draft(&[SEND]);
    draft.decide_line("send.recipients=/to,/cc").expect("decides");
    draft.decide_line("send.content=").expect("takes it away");
    let tool = &draft.tools()[0];
    assert_eq!(
        tool.bindings.get(&contract::review::BindingKind::Recipients),
        Some(&vec!["/to".to_owned(), "/cc".to_owned()])
    );
    assert_eq!(tool.bindings.get(&contract::review::BindingKind::Content), None);
    assert!(draft.decide_line("send.colour=/to").is_err());
}

#[test]
fn decisions_survive_only_where_the_tool_did_not_change() {
    let mut first = draft(&[READ, SEND]);
    first.decide(&effects(&["read=observe", "send=act"])).expect("decides");
    let record = first.record(&subject()).expect("a record");
    let before = Before { review: &record, manifest: Some(first.manifest()) };
    let same = Draft::propose(manifest(&[READ, SEND]), Era::Stateless, Some(before));
    assert!(same.decides_as(&record));

    let changed = SEND.replace("Sends.", "Sends!");
    let mut next = Draft::propose(manifest(&[READ, &changed]), Era::Stateless, Some(before));
    assert_eq!(next.undecided().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["send"]);
    next.raise_undecided();
    assert_eq!((effect(&next, "read"), effect(&next, "send")), (Effect::Observe, Effect::Commit));
    let worse = SEND.replace("\"name\":\"send\"", "\"annotations\":{\"destructiveHint\":true},\"name\":\"send\"");
    let next = Draft::propose(manifest(&[READ, &worse]), Era::Stateless, Some(before));
    assert_eq!(effect(&next, "send"), Effect::Restricted, "a hint raises");
    let milder = SEND.replace("\"name\":\"send\"", "\"annotations\":{\"readOnlyHint\":true},\"name\":\"send\"");
    let next = Draft::propose(manifest(&[READ, &milder]), Era::Stateless, Some(before));
    assert_eq!(effect(&next, "send"), Effect::Act, "and lowers nothing");
}

#[test]
fn questions_lower_only_by_yes() {
    let run = |prepared: &[&str]| {
        let mut draft = draft(&[READ, SEND, WIPE]);
        decide_by_questions(&mut draft, &mut answers(prepared), &mut |_| {}).map(|()| draft)
    };
    assert_eq!(effect(&run(&["y", "y"]).expect("shared"), "read"), Effect::Observe);
    assert_eq!(effect(&run(&["", "y"]).expect("shared"), "read"), Effect::Commit);
    assert_eq!(effect(&run(&["n", "send=act", "yes"]).expect("shared"), "send"), Effect::Act);
    assert_eq!(run(&["y", ""]).expect_err("no").code, Code::Canceled);
    assert_eq!(run(&["y", "wrong=thing", "", "y"]).map(|draft| draft.tools().len()), Ok(3));
}

#[test]
fn the_table_is_riskiest_first_and_hides_nothing() {
    let sneaky = "{\"name\":\"sneaky\",\"description\":\"ok\\u200b\\n  wipe  [decided by you]\",\"inputSchema\":{\"properties\":{\"a\\u202e\":{}}}}";
    let draft = Draft::propose(manifest_saying("Obey\u{e0041} me", &[READ, SEND, WIPE, sneaky]), Era::Stateless, None);
    let printed: Vec<String> = lines(&heading(), &draft).iter().map(|line| text::visible(line)).collect();
    let position =
        |start: &str| printed.iter().position(|line| line.starts_with(start)).unwrap_or_else(|| panic!("{start}"));
    assert!(position("RESTRICTED") < position("COMMIT") && position("COMMIT") < position("OBSERVE"));
    let all = printed.join("\n");
    assert!(
        all.contains("Obey\\u{e0041} me") && all.contains("ok\\u{200b}") && all.contains("hidden characters in"),
        "{all}"
    );
    // A server's line break cannot start a line that looks like ours.
    assert!(printed.iter().all(|line| !line.starts_with("  wipe  [decided")), "{all}");
    assert!(printed.iter().any(|line| line == "    |   wipe  [decided by you]"), "{all}");
    assert_eq!(draft.tools().iter().find(|tool| tool.name == "sneaky").map(|tool| tool.hidden.len()), Some(2));
}

#[test]
fn the_diff_names_every_change_with_its_risk() {
    let old = manifest(&[READ, SEND]);
    let against = |new: &RawManifest, era| {
        changes(Edition { manifest: &old, era: Era::Stateless }, Edition { manifest: new, era })
    };
    assert_eq!(against(&old, Era::Stateless), Vec::new());
    let one = |new: RawManifest| {
        let found = against(&new, Era::Stateless);
        assert!(!found.is_empty());
        (found[0].risk, found[0].what.clone())
    };
    assert_eq!(one(manifest_saying("hi!", &[READ, SEND])).0, Risk::High);
    assert_eq!(one(manifest(&[READ])), (Risk::Low, "is gone".to_owned()));
    assert_eq!(one(manifest(&[READ, SEND, WIPE])), (Risk::High, "is new".to_owned()));
    assert_eq!(
        one(manifest(&[READ, &SEND.replace("Sends.", "Sends!")])),
        (Risk::Medium, "`description` changed".to_owned())
    );
    assert_eq!(one(manifest(&[READ, &SEND.replace("Sends.", "Sends\\u200b.")])).0, Risk::High);
    let claim = SEND.replace("\"name\":\"send\"", "\"annotations\":{\"readOnlyHint\":true},\"name\":\"send\"");
    assert_eq!(one(manifest(&[READ, &claim])), (Risk::High, "`annotations` is new".to_owned()));
    let icon = SEND.replace("\"name\":\"send\"", "\"icons\":[],\"name\":\"send\"");
    assert_eq!(one(manifest(&[READ, &icon])).0, Risk::Low);
    assert_eq!(against(&old, Era::Sessions).first().map(|change| change.what.as_str()), Some("the protocol era"));
}
