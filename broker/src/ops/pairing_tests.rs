//! Attacks on pairing: guessed codes, second claims, late claims, lost answers, other people's verifiers, keys that are none.

use crate::testing::{Waiting, World, key};
use contract::{Code, limits};

#[tokio::test]
async fn a_device_is_bound_by_code_and_fingerprint_and_signs_from_then_on() {
    let world = World::start().await;
    let browser = world.sign_in().await;
    let waiting = world.start_pairing(1, "[\"refresh\"]").await;
    let pending = world.poll(&waiting).await;
    assert_eq!(
        (pending.status, pending.str("error").as_str()),
        (428, "authorization_pending"),
        "the public client's exact word"
    );

    let page = world.submit(&browser, "/pair", &[("user_code", &waiting.user_code)]).await;
    let fingerprint = waiting.key.public_key().fingerprint();
    for fact in ["device 1", &fingerprint, "rotate", world.service.origin()] {
        assert!(page.text().contains(fact), "{fact}");
    }
    assert_eq!(world.poll(&waiting).await.status, 428, "looking binds nothing");
    assert_eq!(world.approve(&browser, &waiting).await.status, 200);

    let enrolled = world.poll(&waiting).await;
    assert_eq!(enrolled.status, 200);
    assert_eq!(enrolled.str("session_class"), "rotating");
    assert_eq!(enrolled.str("origin"), world.service.origin());
    assert!(enrolled.str("deployment_id").starts_with("dep_"));
    let seconds = enrolled.json().find("access_expires_at").and_then(contract::Json::as_i64).expect("seconds");
    assert_eq!(u64::try_from(seconds).expect("after 1970") - world.clock.now_s(), limits::ACCESS_TOKEN_TTL_S);
}

#[tokio::test]
async fn the_session_class_follows_from_the_capability_alone() {
    let world = World::start().await;
    let sliding = world.pair(1, "[]").await;
    let unknown = world.pair(2, "[\"other\"]").await;
    let rotating = world.pair(3, "[\"other\",\"refresh\"]").await;
    for (device, class) in [(sliding, "sliding"), (unknown, "sliding"), (rotating, "rotating")] {
        assert_eq!(world.call(&device, "GET", "/v1/whoami", "").await.str("session_class"), class);
    }
}

#[tokio::test]
async fn the_sixth_wrong_code_locks_even_the_right_one_until_the_time_has_passed() {
    let world = World::start().await;
    let browser = world.sign_in().await;
    let waiting = world.start_pairing(1, "[\"refresh\"]").await;
    for left in (0..limits::PAIRING_TRIES_MAX).rev() {
        let wrong = world.submit(&browser, "/pair", &[("user_code", "0000-0000")]).await;
        assert_eq!(wrong.status, 410);
        assert!(
            wrong.text().contains("left") && (left != 1 || wrong.text().contains("1 try is left")),
            "{}",
            wrong.text()
        );
    }
    let locked = world.submit(&browser, "/pair", &[("user_code", &waiting.user_code)]).await;
    assert_eq!(locked.status, Code::PairingTries.http_status());
    assert_eq!(world.approve(&browser, &waiting).await.status, 429, "approving is a lookup too");
    assert_eq!(world.poll(&waiting).await.status, 428, "nothing was bound");

    let other = world.sign_in().await;
    assert_eq!(
        world.submit(&other, "/pair", &[("user_code", &waiting.user_code)]).await.status,
        200,
        "each session is counted apart"
    );
    world.clock.advance_s(limits::PAIRING_TTL_S);
    let fresh = world.start_pairing(2, "[\"refresh\"]").await;
    assert_eq!(world.submit(&browser, "/pair", &[("user_code", &fresh.user_code)]).await.status, 200);
}

#[tokio::test]
async fn a_right_code_buys_no_further_guesses() {
    let world = World::start().await;
    let device = world.pair(1, "[\"refresh\"]").await;
    let own = world.start_pairing(2, "[\"refresh\"]").await;
    let right = format!("{{\"user_code\":\"{}\"}}", own.user_code);
    for _ in 0..limits::PAIRING_TRIES_MAX {
        assert_eq!(world.call(&device, "POST", "/v1/devices/pending", &right).await.status, 200);
        let wrong = world.call(&device, "POST", "/v1/devices/pending", r#"{"user_code":"0000-0000"}"#).await;
        assert_eq!(wrong.code(), "pairing.expired");
    }
    assert_eq!(world.call(&device, "POST", "/v1/devices/pending", &right).await.code(), "pairing.tries");
}

#[tokio::test]
async fn a_code_is_claimed_once_and_its_answer_can_be_fetched_again_for_two_minutes() {
    let world = World::start().await;
    let browser = world.sign_in().await;
    let waiting = world.start_pairing(1, "[\"refresh\"]").await;
    assert_eq!(world.approve(&browser, &waiting).await.status, 200);
    let first = world.poll(&waiting).await;
    world.clock.advance_s(limits::PAIRING_REPEAT_S - 1);
    let again = world.poll(&waiting).await;
    assert_eq!(again.str("device_id"), first.str("device_id"), "the lost answer, not a second device");
    assert_eq!(again.str("refresh_token"), first.str("refresh_token"));
    assert_ne!(
        again.str("access_token"),
        first.str("access_token"),
        "no token is stored, so the access token is another one"
    );
    world.clock.advance_s(1);
    assert_eq!(world.poll(&waiting).await.code(), "pairing.expired");
    assert_eq!(world.approve(&browser, &waiting).await.status, 410, "a second approval finds nothing");
}

#[tokio::test]
async fn a_device_that_went_on_cannot_be_claimed_again() {
    let world = World::start().await;
    let browser = world.sign_in().await;
    let waiting = world.start_pairing(1, "[\"refresh\"]").await;
    assert_eq!(world.approve(&browser, &waiting).await.status, 200);
    let first = world.poll(&waiting).await;
    assert_eq!(world.refresh(&waiting.key, &first.str("refresh_token")).await.status, 200);
    assert_eq!(world.poll(&waiting).await.code(), "pairing.expired");
}

#[tokio::test]
async fn the_device_code_without_its_verifier_is_worth_nothing() {
    let world = World::start().await;
    let browser = world.sign_in().await;
    let waiting = world.start_pairing(1, "[\"refresh\"]").await;
    let thief = Waiting {
        key: key(9),
        verifier: contract::b64u::encode([9; 32]),
        device_code: waiting.device_code.clone(),
        user_code: waiting.user_code.clone(),
    };
    assert_eq!(world.poll(&thief).await.code(), "pairing.expired", "the same answer as for a code that never was");
    assert_eq!(world.approve(&browser, &waiting).await.status, 200);
    assert_eq!(world.poll(&thief).await.code(), "pairing.expired");
    assert_eq!(world.poll(&waiting).await.status, 200, "control: the verifier opens it");
}

#[tokio::test]
async fn time_ends_a_pairing_at_every_step() {
    let world = World::start().await;
    let browser = world.sign_in().await;
    let waiting = world.start_pairing(1, "[\"refresh\"]").await;
    let approved = world.start_pairing(2, "[\"refresh\"]").await;
    assert_eq!(world.approve(&browser, &approved).await.status, 200);
    world.clock.advance_s(limits::PAIRING_TTL_S);
    assert_eq!(world.poll(&waiting).await.code(), "pairing.expired");
    assert_eq!(world.submit(&browser, "/pair", &[("user_code", &waiting.user_code)]).await.status, 410);
    assert_eq!(world.poll(&approved).await.code(), "pairing.expired", "approved and not fetched in time");
}

#[tokio::test]
async fn another_fingerprint_than_the_waiting_one_binds_nothing() {
    let world = World::start().await;
    let browser = world.sign_in().await;
    let waiting = world.start_pairing(1, "[\"refresh\"]").await;
    let shown = key(2).public_key().fingerprint();
    let reply =
        world.submit(&browser, "/pair/approve", &[("user_code", &waiting.user_code), ("fingerprint", &shown)]).await;
    assert_eq!(reply.status, 409);
    assert_eq!(world.poll(&waiting).await.status, 428);
}

#[tokio::test]
async fn a_refused_device_learns_it() {
    let world = World::start().await;
    let browser = world.sign_in().await;
    let waiting = world.start_pairing(1, "[\"refresh\"]").await;
    let fingerprint = waiting.key.public_key().fingerprint();
    let refused = world
        .submit(&browser, "/pair/refuse", &[("user_code", &waiting.user_code), ("fingerprint", &fingerprint)])
        .await;
    assert_eq!(refused.status, 200);
    assert_eq!(world.poll(&waiting).await.code(), "pairing.refused");
    assert_eq!(world.approve(&browser, &waiting).await.status, 410);
}

#[tokio::test]
async fn a_bound_device_binds_another_one_and_the_same_key_only_once() {
    let world = World::start().await;
    let device = world.pair(1, "[\"refresh\"]").await;
    let waiting = world.start_pairing(2, "[\"refresh\"]").await;
    let pending = world
        .call(
            &device,
            "POST",
            "/v1/devices/pending",
            &format!("{{\"user_code\":\"{}\"}}", waiting.user_code.to_lowercase()),
        )
        .await;
    assert_eq!(pending.str("fingerprint"), waiting.key.public_key().fingerprint());
    let body =
        format!("{{\"fingerprint\":\"{}\",\"user_code\":\"{}\"}}", pending.str("fingerprint"), waiting.user_code);
    assert_eq!(world.call(&device, "POST", "/v1/devices/approve", &body).await.status, 200);
    assert_eq!(world.poll(&waiting).await.status, 200);

    let browser = world.sign_in().await;
    let twin = world.start_pairing(2, "[\"refresh\"]").await;
    let again = world.approve(&browser, &twin).await;
    assert_eq!(again.status, 409);
    assert!(again.text().contains("this device already"));
}

#[tokio::test]
async fn what_is_no_key_no_name_or_no_challenge_is_not_registered() {
    let world = World::start().await;
    let good_key = key(1).public_key().b64u();
    let challenge = sign::pkce::challenge(&contract::b64u::encode([1; 32]));
    let identity_point = contract::b64u::encode([1_u8, 0].into_iter().chain([0; 30]).collect::<Vec<_>>());
    let long_name = "n".repeat(limits::DEVICE_NAME_CHARS_MAX + 1);
    for (field, name, challenge, public_key) in [
        ("public_key", "n", challenge.as_str(), ""),
        ("public_key", "n", challenge.as_str(), identity_point.as_str()),
        ("public_key", "n", challenge.as_str(), "AAAA"),
        ("challenge", "n", "short", good_key.as_str()),
        ("device_name", "", challenge.as_str(), good_key.as_str()),
        ("device_name", "\\u0007", challenge.as_str(), good_key.as_str()),
        ("device_name", long_name.as_str(), challenge.as_str(), good_key.as_str()),
    ] {
        let body =
            format!("{{\"challenge\":\"{challenge}\",\"device_name\":\"{name}\",\"public_key\":\"{public_key}\"}}");
        let reply = world.post("/v1/devices/start", &body).await;
        assert_eq!((reply.code().as_str(), reply.str("field").as_str()), ("request.field", field), "{body}");
    }
}
