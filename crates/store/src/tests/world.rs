//! People, workspaces and devices that tests begin with. Ids are numbered, times are given.

use crate::{NewConnection, NewDevice, NewFamily, NewWorkspace, Store, StoreError, TokenMac, Viewer};
use contract::{
    AuditEvent, Digest, Json,
    audit::{Actor, AuditEntry, AuditLog},
    cjson,
    connection::{Profile, SealFormat},
    device::SessionClass,
    ids::{ConnectionId, DeploymentId, DeviceId, FamilyId, ProjectId, UserId, WorkspaceId},
    workspace::WorkspaceKind,
};

pub(super) const NOW: i64 = 1_800_000_000_000;

pub(super) fn user(n: u8) -> UserId {
    UserId::from_random([n; 16])
}

pub(super) fn workspace(n: u8) -> WorkspaceId {
    WorkspaceId::from_random([n; 16])
}

pub(super) fn device(n: u8) -> DeviceId {
    DeviceId::from_random([n; 16])
}

pub(super) fn family(n: u8) -> FamilyId {
    FamilyId::from_random([n; 16])
}

pub(super) fn project(n: u8) -> ProjectId {
    ProjectId::from_random([n; 16])
}

pub(super) fn connection(n: u8) -> ConnectionId {
    ConnectionId::from_random([n; 16])
}

pub(super) fn mac(n: u8) -> TokenMac {
    TokenMac::new([n; 32])
}

pub(super) fn viewer(workspace_n: u8, user_n: u8) -> Viewer {
    Viewer { workspace_id: workspace(workspace_n), user_id: user(user_n) }
}

pub(super) fn json(text: &str) -> Json {
    cjson::parse(text.as_bytes(), text.len()).expect("JSON")
}

pub(super) fn digest(text: &str) -> Digest {
    Digest::of(&[text.as_bytes()])
}

/// An event for tests that are not about events.
pub(super) fn entry(n: u8) -> AuditEntry {
    let event = AuditEvent::ConnectionRevoked { connection_id: connection(n) };
    event.entry(AuditLog::Workspace(workspace(n)), Actor::Operator, NOW)
}

/// Person `n` with their personal workspace `n`.
pub(super) async fn make_person(store: &Store, n: u8) {
    let (owner_id, id) = (&user(n), &workspace(n));
    store
        .run("make_person", |mut tx| async move {
            tx.insert_user(owner_id, "Person", NOW).await?;
            tx.insert_workspace(NewWorkspace { id, name: "Personal", kind: WorkspaceKind::Personal, owner_id }, NOW)
                .await?;
            tx.commit_with(entry(n), ()).await
        })
        .await
        .unwrap_or_else(|error: StoreError| panic!("person {n}: {error}"));
}

/// Device `n` of person `n`, enrolled in workspace `n` with family `n` and access token `n`.
pub(super) async fn make_device(store: &Store, n: u8, session_class: SessionClass) {
    make_device_of(store, n, n, session_class).await;
}

/// Device, family and access token `n` of person `user_n` in their own workspace.
pub(super) async fn make_device_of(store: &Store, n: u8, user_n: u8, session_class: SessionClass) {
    let new = NewDevice { id: &device(n), user_id: &user(user_n), name: "Laptop", public_key: &[n; 32], session_class };
    let first = NewFamily {
        id: &family(n),
        workspace_id: &workspace(user_n),
        user_id: &user(user_n),
        device_id: &device(n),
        session_class,
        expires_at_ms: NOW + 1_000_000,
        ends_at_ms: NOW + 10_000_000,
    };
    store
        .run("make_device", |mut tx| async move {
            tx.insert_device(new, NOW).await?;
            tx.insert_family(first, NOW).await?;
            tx.insert_access_token(&mac(n), first.id, NOW, NOW + 600_000).await?;
            tx.commit_with(entry(n), ()).await
        })
        .await
        .unwrap_or_else(|error: StoreError| panic!("device {n}: {error}"));
}

/// Personal connection `n` of person `n`, made by device `n`.
pub(super) async fn make_connection(store: &Store, n: u8, seal_format: SealFormat) {
    let rows = [json(r#"{"action":"read","effect":"observe","name":"look"}"#)];
    let new = NewConnection {
        id: &connection(n),
        name: "Notes",
        project_id: None,
        profile: Profile::DeviceDirect,
        endpoint: "https://mcp.example.test/mcp",
        manifest: &rows,
        manifest_digest: &digest("rows"),
        seal_format,
        device_id: &device(n),
    };
    store
        .run("make_connection", |mut tx| async move {
            tx.insert_connection(&viewer(n, n), new, NOW).await?;
            tx.commit_with(entry(n), ()).await
        })
        .await
        .unwrap_or_else(|error: StoreError| panic!("connection {n}: {error}"));
}

pub(super) fn deployment() -> DeploymentId {
    DeploymentId::from_random([9; 16])
}
