//! The rule as a table, and the promises that hold for every input.

use super::*;
use contract::{
    Digest, Effect, Json, cjson,
    connection::{Profile, Scope},
    ids::ConnectionId,
    limits,
    review::{Bindings, Era, ReviewRecord, ReviewedTool},
};
use proptest::prelude::*;

const NOW_S: u64 = 1_790_000_000;

fn record(effect: Effect, allowed_effects: &[Effect]) -> ReviewRecord {
    ReviewRecord {
        connection: ConnectionId::from_random([1; 16]),
        scope: Scope::Personal,
        project: None,
        profile: Profile::DeviceDirect,
        endpoint: "https://mcp.example.test/mcp".to_owned(),
        era: Era::Stateless,
        raw_digest: Digest::of(&[b"manifest"]),
        instructions_digest: Digest::of(&[b"instructions"]),
        tools: vec![ReviewedTool {
            name: "tool".to_owned(),
            tool_digest: Digest::of(&[b"tool"]),
            effect,
            action: "external_change".to_owned(),
            bindings: Bindings::new(),
        }],
        allowed_effects: allowed_effects.to_vec(),
        review_seq: 3,
    }
}

fn trusted(effect: Effect) -> TrustedReview {
    let record = record(effect, &[Effect::Observe, Effect::Prepare, Effect::Act]);
    let digest = record.digest().expect("canonical");
    TrustedReview::accept(record, digest, 3).expect("trusted")
}

fn live(age_s: u64) -> LiveManifest {
    LiveManifest { raw_digest: Digest::of(&[b"manifest"]), era: Era::Stateless, age_s }
}

fn arguments(text: &str) -> Json {
    cjson::parse(text.as_bytes(), 1000).expect("JSON")
}

fn pinned(effect: Effect, text: &str) -> Pinned {
    Pinned::pin(&trusted(effect), live(0), "tool", &arguments(text)).expect("pinned")
}

fn yes_for(effect: Effect, text: &str) -> OneUseGrant {
    OneUseGrant::mint_from_own_yes(pinned(effect, text).operation().digest(), NOW_S)
}

#[test]
fn the_rule_is_this_table() {
    use Effect::{Act, Commit, Observe, Prepare, Restricted};
    for (effect, alone, with_yes) in [
        (Observe, None, None),
        (Prepare, None, None),
        (Act, None, None),
        (Commit, Some(Refusal::Ask), None),
        (Restricted, Some(Refusal::StepUp), Some(Refusal::StepUp)),
    ] {
        assert_eq!(decide(pinned(effect, "{}"), None, NOW_S).err(), alone, "{effect} alone");
        let yes = yes_for(effect, "{}");
        assert_eq!(decide(pinned(effect, "{}"), Some(yes), NOW_S).err(), with_yes, "{effect} with a yes");
    }
}

#[test]
fn an_effect_outside_the_review_asks() {
    let record = record(Effect::Act, &[Effect::Observe]);
    let digest = record.digest().expect("canonical");
    let review = TrustedReview::accept(record, digest, 0).expect("trusted");
    let pinned = Pinned::pin(&review, live(0), "tool", &Json::object()).expect("pinned");
    assert_eq!(decide(pinned, None, NOW_S).err(), Some(Refusal::Ask));
}

#[test]
fn a_yes_is_for_exactly_these_arguments_and_not_for_ever() {
    let sent = r#"{"to":"a@example.com","n":5}"#;
    for other in [
        r#"{"to":"b@example.com","n":5}"#,
        r#"{"to":"a@example.com","n":"5"}"#,
        r#"{"to":"a@example.com","n":5.0}"#,
        "{}",
    ] {
        let refused = decide(pinned(Effect::Commit, other), Some(yes_for(Effect::Commit, sent)), NOW_S);
        assert_eq!(refused.err(), Some(Refusal::OtherOperation), "{other}");
    }
    let reordered = r#"{"n":5,"to":"a@example.com"}"#;
    assert!(decide(pinned(Effect::Commit, reordered), Some(yes_for(Effect::Commit, sent)), NOW_S).is_ok());

    let last = NOW_S + limits::ONE_USE_GRANT_TTL_S;
    assert!(decide(pinned(Effect::Commit, sent), Some(yes_for(Effect::Commit, sent)), last - 1).is_ok());
    assert_eq!(
        decide(pinned(Effect::Commit, sent), Some(yes_for(Effect::Commit, sent)), last).err(),
        Some(Refusal::GrantExpired)
    );
}

#[test]
fn arguments_changed_after_the_decision_are_refused() {
    let permit = decide(pinned(Effect::Observe, r#"{"a":1}"#), None, NOW_S).expect("permit");
    assert_eq!(permit.spend(&arguments(r#"{"a":2}"#)).err(), Some(Refusal::OtherOperation));
    let permit = decide(pinned(Effect::Observe, r#"{"a":1}"#), None, NOW_S).expect("permit");
    assert!(permit.spend(&arguments(r#"{ "a": 1 }"#)).is_ok());
}

#[test]
fn only_the_live_reviewed_manifest_pins() {
    let pin = |effect, live, tool: &str| Pinned::pin(&trusted(effect), live, tool, &Json::object()).err();
    let other = LiveManifest { raw_digest: Digest::of(&[b"changed"]), ..live(0) };
    assert_eq!(pin(Effect::Observe, other, "tool"), Some(Refusal::ManifestChanged));
    let other = LiveManifest { era: Era::Sessions, ..live(0) };
    assert_eq!(pin(Effect::Observe, other, "tool"), Some(Refusal::ManifestChanged));
    assert_eq!(pin(Effect::Observe, live(0), "other"), Some(Refusal::ToolUnreviewed));
    assert_eq!(pin(Effect::Act, live(limits::MANIFEST_AGE_S_MAX), "tool"), None);
    assert_eq!(
        pin(Effect::Act, live(limits::MANIFEST_AGE_S_MAX + 1), "tool"),
        Some(Refusal::ManifestStale { age_s_max: limits::MANIFEST_AGE_S_MAX })
    );
    assert_eq!(pin(Effect::Commit, live(1), "tool"), Some(Refusal::ManifestStale { age_s_max: 0 }));
}

#[test]
fn a_review_is_trusted_by_the_credential_and_never_rolls_back() {
    let record = record(Effect::Observe, &[Effect::Observe]);
    let digest = record.digest().expect("canonical");
    assert_eq!(TrustedReview::accept(record.clone(), Digest::of(&[b"x"]), 0).err(), Some(UntrustedReview::OtherDigest));
    assert_eq!(TrustedReview::accept(record.clone(), digest, 4).err(), Some(UntrustedReview::RolledBack));
    let mut lowered = record.clone();
    lowered.tools.iter_mut().for_each(|tool| tool.effect = Effect::Observe);
    lowered.allowed_effects = Effect::ALL.to_vec();
    assert_eq!(TrustedReview::accept(lowered, digest, 0).err(), Some(UntrustedReview::OtherDigest));
    assert!(TrustedReview::accept(record, digest, 3).is_ok());
}

fn any_effect() -> impl Strategy<Value = Effect> {
    prop::sample::select(Effect::ALL.to_vec())
}

/// What was demanded, as a number: more is stricter.
fn demand(outcome: &Result<Permit, Refusal>) -> u8 {
    match outcome {
        Ok(_) => 0,
        Err(Refusal::Ask | Refusal::GrantExpired | Refusal::OtherOperation) => 1,
        Err(Refusal::StepUp) => 2,
        Err(Refusal::ToolUnreviewed | Refusal::ManifestChanged | Refusal::ManifestStale { .. }) => 3,
    }
}

proptest! {
    /// Invariant 3: raising the effect never lowers the demand. Invariant 5: a yes never raises it.
    #[test]
    fn monotone_in_effect_and_in_coverage(low in any_effect(), high in any_effect(), with_yes: bool, text in "[a-z]{0,8}") {
        let (low, high) = if low <= high { (low, high) } else { (high, low) };
        let text = format!("{{\"text\":\"{text}\"}}");
        let outcome = |effect, yes: bool| decide(pinned(effect, &text), yes.then(|| yes_for(effect, &text)), NOW_S);
        prop_assert!(demand(&outcome(low, with_yes)) <= demand(&outcome(high, with_yes)));
        prop_assert!(demand(&outcome(high, true)) <= demand(&outcome(high, false)));
    }

    /// Invariant 1: total, for arbitrary text in every string field.
    #[test]
    fn total_for_arbitrary_text(tool in any::<String>(), text in any::<String>(), age_s: u64, now_s: u64) {
        let arguments = Json::from_members([("text", text.into())]);
        for effect in Effect::ALL {
            if let Ok(pinned) = Pinned::pin(&trusted(effect), live(age_s), &tool, &arguments) {
                let digest = pinned.operation().digest();
                let _ = decide(pinned, Some(OneUseGrant::mint_from_own_yes(digest, now_s)), now_s);
            }
        }
    }
}
