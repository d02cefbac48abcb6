//! Attacks on sessions: reused and stolen refresh tokens, sessions that outlive their time, revoked devices, other people's workspaces.

use crate::testing::{TestDevice, World, key};
use contract::{
    AuditEvent,
    audit::{Actor, AuditLog},
    ids::{DeviceId, UserId, WorkspaceId},
    limits,
    workspace::WorkspaceKind,
};
use store::{NewWorkspace, StoreError};

const DAY_S: u64 = 86_400;

async fn works(world: &World, device: &TestDevice, access: &str) -> u16 {
    let signature = world.sign(&device.key, "GET", "/v1/whoami", b"");
    world.send_signed(access, &signature, "GET", "/v1/whoami", b"").await.status
}

#[tokio::test]
async fn a_lost_refresh_answer_is_given_again_until_its_successor_is_used() {
    let world = World::start().await;
    let device = world.pair(1, "[\"refresh\"]").await;
    let second = world.refresh(&device.key, &device.refresh).await;
    let repeated = world.refresh(&device.key, &device.refresh).await;
    assert_eq!((second.status, repeated.status), (200, 200));
    assert_eq!(repeated.str("refresh_token"), second.str("refresh_token"), "the same successor");
    assert_eq!(works(&world, &device, &second.str("access_token")).await, 200);
    assert_eq!(works(&world, &device, &repeated.str("access_token")).await, 200);
    let third = world.refresh(&device.key, &second.str("refresh_token")).await;
    assert_ne!(third.str("refresh_token"), second.str("refresh_token"));
}

#[tokio::test]
async fn a_used_refresh_token_ends_the_family_and_flags_the_device() {
    let world = World::start().await;
    let device = world.pair(1, "[\"refresh\"]").await;
    let second = world.refresh(&device.key, &device.refresh).await;
    let third = world.refresh(&device.key, &second.str("refresh_token")).await;
    assert_eq!(works(&world, &device, &third.str("access_token")).await, 200, "control");

    let reused = world.refresh(&device.key, &device.refresh).await;
    assert_eq!((reused.status, reused.code().as_str()), (401, "session.revoked"));
    assert_eq!(works(&world, &device, &third.str("access_token")).await, 401, "also the newest token");
    assert_eq!(world.refresh(&device.key, &third.str("refresh_token")).await.code(), "session.revoked");

    let (log, user_id) =
        (&AuditLog::Workspace(WorkspaceId::parse(&device.workspace_id).expect("id")), &owner(&world).await);
    let device_id = &DeviceId::parse(&device.device_id).expect("id");
    let (events, row) = world
        .service
        .store()
        .read("look", |mut tx| async move {
            let events = tx.list_audit_events(log, 0).await?;
            Ok::<_, StoreError>((events, tx.find_device(user_id, device_id).await?))
        })
        .await
        .expect("read");
    assert!(
        events
            .iter()
            .any(|record| matches!(record.event, AuditEvent::SessionFamilyRevoked { presented: 1, current: 3, .. }))
    );
    assert!(row.expect("the device").flagged_at_ms.is_some());
}

#[tokio::test]
async fn a_stolen_refresh_token_without_the_key_changes_nothing() {
    let world = World::start().await;
    let device = world.pair(1, "[\"refresh\"]").await;
    let second = world.refresh(&device.key, &device.refresh).await;
    world.refresh(&device.key, &second.str("refresh_token")).await;
    // An old token would end the family, if the thief could sign.
    for stolen in [&device.refresh, &second.str("refresh_token")] {
        let reply = world.refresh(&key(9), stolen).await;
        assert_eq!((reply.status, reply.code().as_str()), (401, "signature.invalid"));
    }
    assert_eq!(works(&world, &device, &second.str("access_token")).await, 200, "the family stands");
    let body = format!("{{\"refresh_token\":\"{}\"}}", device.refresh);
    assert_eq!(world.post("/v1/auth/refresh", &body).await.code(), "signature.invalid", "unsigned");
    let forged = device.refresh.replace(".1.", ".2.");
    assert_eq!(world.refresh(&device.key, &forged).await.code(), "session.required");
}

#[tokio::test]
async fn a_rotating_access_token_ends_after_ten_minutes() {
    let world = World::start().await;
    let device = world.pair(1, "[\"refresh\"]").await;
    world.clock.advance_s(limits::ACCESS_TOKEN_TTL_S - 1);
    assert_eq!(works(&world, &device, &device.access).await, 200);
    world.clock.advance_s(1);
    let expired = world.call(&device, "GET", "/v1/whoami", "").await;
    assert_eq!((expired.status, expired.code().as_str()), (401, "session.expired"));
    assert_eq!(world.refresh(&device.key, &device.refresh).await.status, 200, "which is what refresh is for");
    world.clock.advance_s(limits::REFRESH_TOKEN_TTL_S);
    assert_eq!(world.refresh(&device.key, &device.refresh).await.code(), "session.expired");
}

#[tokio::test]
async fn a_sliding_session_lives_by_use_and_ends_after_a_year() {
    let world = World::start().await;
    let device = world.pair(1, "[]").await;
    for _ in 0..12 {
        world.clock.advance_s(29 * DAY_S);
        assert_eq!(works(&world, &device, &device.access).await, 200);
    }
    // 348 days have passed; the sliding end would be later than the absolute one.
    world.clock.advance_s(17 * DAY_S - 1);
    assert_eq!(works(&world, &device, &device.access).await, 200);
    world.clock.advance_s(1);
    assert_eq!(world.call(&device, "GET", "/v1/whoami", "").await.code(), "session.expired");

    let idle = world.pair(2, "[]").await;
    world.clock.advance_s(30 * DAY_S);
    assert_eq!(world.call(&idle, "GET", "/v1/whoami", "").await.code(), "session.expired", "30 days without use");
}

#[tokio::test]
async fn a_revoked_device_is_out_at_once_and_revoking_again_changes_nothing() {
    let world = World::start().await;
    let (one, two) = (world.pair(1, "[\"refresh\"]").await, world.pair(2, "[]").await);
    let body = format!("{{\"device_id\":\"{}\"}}", two.device_id);
    assert_eq!(works(&world, &two, &two.access).await, 200);
    assert_eq!(world.call(&one, "POST", "/v1/devices/revoke", &body).await.status, 200);
    let refused = world.call(&two, "GET", "/v1/whoami", "").await;
    assert_eq!((refused.status, refused.code().as_str()), (401, "session.revoked"));
    assert_eq!(world.refresh(&two.key, &two.refresh).await.code(), "session.revoked");
    assert_eq!(world.call(&one, "POST", "/v1/devices/revoke", &body).await.status, 200, "idempotent");
    let listed = world.call(&one, "GET", "/v1/devices", "").await.json();
    let rows = listed.find("devices").and_then(contract::Json::as_array).expect("rows");
    let revoked: Vec<_> =
        rows.iter().map(|row| (row.find_str("id") == Some(&two.device_id), row.find("revoked_at").is_some())).collect();
    assert_eq!(revoked.len(), 2);
    assert!(revoked.iter().all(|(is_two, is_revoked)| is_two == is_revoked));
    let own = format!("{{\"device_id\":\"{}\"}}", one.device_id);
    assert_eq!(world.call(&one, "POST", "/v1/devices/revoke", &own).await.status, 200, "signing out");
    assert_eq!(world.call(&one, "GET", "/v1/whoami", "").await.code(), "session.revoked");
}

#[tokio::test]
async fn another_workspace_is_selected_by_its_members_alone_and_the_old_session_stays() {
    let world = World::start().await;
    let device = world.pair(1, "[\"refresh\"]").await;
    let (mine, other) = (WorkspaceId::from_random([7; 16]), WorkspaceId::from_random([8; 16]));
    make_workspace(&world, &mine, &owner(&world).await).await;
    let stranger = UserId::from_random([9; 16]);
    make_user(&world, &stranger).await;
    make_workspace(&world, &other, &stranger).await;

    let absent = world
        .call(
            &device,
            "POST",
            "/v1/workspaces/select",
            &format!("{{\"workspace_id\":\"{}\"}}", WorkspaceId::from_random([1; 16])),
        )
        .await;
    let foreign =
        world.call(&device, "POST", "/v1/workspaces/select", &format!("{{\"workspace_id\":\"{other}\"}}")).await;
    assert_eq!((foreign.status, foreign.text()), (404, absent.text()), "not yours and not there are one answer");

    let selected =
        world.call(&device, "POST", "/v1/workspaces/select", &format!("{{\"workspace_id\":\"{mine}\"}}")).await;
    assert_eq!(selected.str("workspace_id"), mine.as_str());
    let there = TestDevice { access: selected.str("access_token"), ..device };
    assert_eq!(world.call(&there, "GET", "/v1/whoami", "").await.str("workspace_id"), mine.as_str());
    assert_eq!(works(&world, &there, &device.access).await, 200, "the session that asked");
}

#[tokio::test]
async fn a_session_is_noted_as_seen_once_a_minute() {
    let world = World::start().await;
    let device = world.pair(1, "[\"refresh\"]").await;
    let seen = || async {
        let listed = world.call(&device, "GET", "/v1/devices", "").await.json();
        listed.pointer("/devices/0/last_seen_at").and_then(contract::Json::as_i64).expect("seconds")
    };
    world.call(&device, "GET", "/v1/whoami", "").await;
    let first = seen().await;
    assert!(first > 0);
    world.clock.advance_s(limits::LAST_SEEN_S_MIN - 1);
    assert_eq!(seen().await, first);
    world.clock.advance_s(1);
    seen().await;
    assert_eq!(seen().await, first + 60);
}

async fn owner(world: &World) -> UserId {
    let deployment = world.service.store().read("owner", |mut tx| async move { tx.find_deployment().await }).await;
    deployment.expect("read").expect("an installation").owner_id
}

async fn make_user(world: &World, id: &UserId) {
    let event = AuditEvent::OwnerCreated { user_id: id.clone(), workspace_id: WorkspaceId::from_random([0; 16]) };
    let entry = &event.entry(AuditLog::Workspace(WorkspaceId::from_random([0; 16])), Actor::Operator, 0);
    let made: Result<(), StoreError> = world
        .service
        .store()
        .run("make_user", |mut tx| async move {
            tx.insert_user(id, "Somebody", 0).await?;
            tx.commit_with(entry.clone(), ()).await
        })
        .await;
    made.expect("made");
}

async fn make_workspace(world: &World, id: &WorkspaceId, owner_id: &UserId) {
    let event = AuditEvent::WorkspaceCreated {
        workspace_id: id.clone(),
        workspace_kind: WorkspaceKind::Team,
        user_id: owner_id.clone(),
    };
    let entry = &event.entry(AuditLog::Workspace(id.clone()), Actor::Operator, 0);
    let made: Result<(), StoreError> = world
        .service
        .store()
        .run("make_workspace", |mut tx| async move {
            tx.insert_workspace(NewWorkspace { id, name: "Team", kind: WorkspaceKind::Team, owner_id }, 0).await?;
            tx.commit_with(entry.clone(), ()).await
        })
        .await;
    made.expect("made");
}
