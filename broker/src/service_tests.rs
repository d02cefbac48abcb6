//! First and later starts, what is left in the state directory, and whether the service says truthfully that it can work.

use super::*;
use crate::{SystemClock, testing::World};

async fn start(directory: &std::path::Path) -> Result<Service, StartError> {
    Service::start(Config::in_directory(directory), Arc::new(SystemClock)).await
}

#[tokio::test]
async fn the_first_start_makes_one_owner_and_a_later_one_finds_them() {
    let directory = tempfile::tempdir().expect("directory");
    let mut first = start(directory.path()).await.expect("starts");
    assert!(first.take_owner_link().is_some());
    assert!(first.take_owner_link().is_none(), "handed out once");
    let deployment = first.deployment.clone();
    first.shutdown().await;

    let mut second = start(directory.path()).await.expect("starts again");
    assert_eq!(second.deployment, deployment);
    assert!(second.take_owner_link().is_some(), "nobody was ever signed in");
    second.shutdown().await;
}

#[tokio::test]
async fn once_somebody_was_signed_in_a_start_makes_no_link() {
    let world = World::start().await;
    world.sign_in().await;
    let state = world.directory.path().join("state");
    world.service.shutdown().await;
    let mut later = start(&state).await.expect("starts");
    assert!(later.take_owner_link().is_none());
    assert!(later.make_owner_link().await.is_ok(), "the operator can always make one");
    later.shutdown().await;
}

#[tokio::test]
async fn a_damaged_token_key_stops_the_start() {
    let directory = tempfile::tempdir().expect("directory");
    start(directory.path()).await.expect("starts").shutdown().await;
    private_files::put(&keys::path(directory.path()), b"damaged").expect("damaged");
    assert!(matches!(start(directory.path()).await.err(), Some(StartError::Key(KeyFileError::Corrupt { .. }))));
}

#[tokio::test]
async fn readiness_has_reasons() {
    let world = World::start().await;
    assert_eq!(world.send("GET", "/readyz", &[], b"").await.text(), r#"{"reasons":[],"status":"ready"}"#);
    std::fs::remove_file(keys::path(&world.directory.path().join("state"))).expect("removed");
    let reply = world.send("GET", "/readyz", &[], b"").await;
    assert_eq!((reply.status, reply.text().contains("keys:")), (503, true));
    world.service.app.begin_draining();
    assert!(world.send("GET", "/readyz", &[], b"").await.text().contains("shutting_down"));
    world.service.store().close().await;
    assert!(world.send("GET", "/readyz", &[], b"").await.text().contains("database:"));
    assert_eq!(world.send("GET", "/healthz", &[], b"").await.status, 200, "alive, but not ready");
    let refused = world.post("/v1/devices/token", r#"{"device_code":"a","verifier":"b"}"#).await;
    assert_eq!((refused.status, refused.code().as_str()), (503, "unavailable"));
}

#[tokio::test]
async fn housekeeping_forgets_what_has_expired_and_nothing_else() {
    let world = World::start().await;
    let device = world.pair(1, "[]").await;
    let waiting = world.start_pairing(2, "[]").await;
    world.service.sweep().await.expect("swept");
    assert_eq!(world.poll(&waiting).await.status, 428, "still waits");
    assert_eq!(world.call(&device, "GET", "/v1/whoami", "").await.status, 200);
    world.clock.advance_s(contract::limits::PAIRING_TTL_S + contract::limits::PAIRING_REPEAT_S);
    world.service.sweep().await.expect("swept");
    assert_eq!(world.poll(&waiting).await.code(), "pairing.expired");
    assert_eq!(world.call(&device, "GET", "/v1/whoami", "").await.status, 200);
}
