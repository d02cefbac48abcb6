//! Ending a connection: its consent ends at the provider too, and where that cannot be had the person is told.

use super::robot::scene;
use collie_lab::Revocation;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_consent_ends_at_the_provider_refresh_token_first() {
    let scene = scene(|_| ()).await;
    let laptop = scene.laptop("first").await;
    let id = laptop.shared_signing(&scene.lab).await;
    let outcome = laptop.run(&["connection-revoke", &id, "--yes"]).await.expect("revoked");
    assert_eq!(outcome.data.find_str("provider"), Some("revoked"), "{:?}", outcome.lines);
    let seen = scene.lab.seen().oauth;
    assert!(seen.counts.revocations >= 1, "{:?}", seen.counts);
    let order = seen.requests.iter().map(|seen| seen.endpoint.as_str()).filter(|endpoint| *endpoint == "oauth/revoke");
    assert_eq!(order.count(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_that_revokes_nothing_is_said_to() {
    let scene = scene(|switches| switches.revocation = Revocation::Absent).await;
    let laptop = scene.laptop("first").await;
    let id = laptop.shared_signing(&scene.lab).await;
    let outcome = laptop.run(&["connection-revoke", &id, "--yes"]).await.expect("revoked");
    assert_eq!(outcome.data.find_str("provider"), Some("not_supported"));
    let text = outcome.lines.join("\n");
    assert!(text.contains("end the consent there yourself") && text.contains("more minutes"), "{text}");
}
