//! Tokens in use: one that is over is not sent, and one that the server does not take is not kept.

use super::robot::{Robot, Way, holds, scene};
use super::scene::{DECISIONS, expect_refused};
use contract::Code;
use contract::problem::Exit;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_is_over_is_not_sent_and_signing_in_again_heals() {
    let scene = scene(|switches| switches.access_ttl_s = 60).await;
    let laptop = scene.laptop("first").await;
    let id = laptop.shared_signing(&scene.lab).await;
    let before = scene.lab.seen();
    let error = expect_refused(laptop.invoke(&id, "list_notes", &[]).await, Code::CredentialRefused, Exit::Refused);
    assert!(error.hint.expect("a hint").contains(&format!("connection-review {id} --sign-in")));
    let after = scene.lab.seen();
    assert_eq!(after.requests.len(), before.requests.len(), "nothing was sent");
    assert_eq!(after.oauth.counts.token_requests("refresh_token"), 0);
    scene.lab.switch(|switches| switches.oauth.access_ttl_s = 3600);
    laptop.sign_in_again(&id, &Robot::new(Way::Follows)).await.expect("signed in");
    laptop.invoke(&id, "list_notes", &[]).await.expect("reads");
    let second = scene.second(&laptop).await;
    second.invoke(&id, "list_notes", &[]).await.expect("reads");
    assert_eq!(scene.lab.seen().oauth.counts.registrations, 1, "the client of before is used again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_for_somebody_else_is_not_kept() {
    let scene = scene(|switches| switches.other_audience = true).await;
    let laptop = scene.laptop("first").await;
    let robot = Robot::new(Way::Follows);
    expect_refused(laptop.share_signing(&scene.lab, DECISIONS, &robot).await, Code::CredentialRefused, Exit::Refused);
    assert!(laptop.has_nothing().await);
    for bytes in laptop.kept().await {
        assert!(!holds(&bytes, "consent:"));
    }
    scene.lab.switch(|switches| switches.oauth.other_audience = false);
    let id = laptop.shared_signing(&scene.lab).await;
    laptop.invoke(&id, "list_notes", &[]).await.expect("reads");
}
