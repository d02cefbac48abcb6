//! The first start makes the installation, its owner and the owner's workspace, once. Later starts find them; nothing here signs anybody in.

use crate::door::{self, RandomError};
use contract::{
    AuditEvent,
    audit::{Actor, AuditLog},
    ids::{DeploymentId, UserId, WorkspaceId},
    workspace::WorkspaceKind,
};
use store::{Deployment, NewWorkspace, Store, StoreError};

/// Why there is no installation.
#[derive(Debug, thiserror::Error)]
pub enum FirstStartError {
    /// The store refused.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No randomness.
    #[error(transparent)]
    Random(#[from] RandomError),
}

/// The installation of this database, made when there is none.
pub(crate) async fn ensure_deployment(store: &Store, now_ms: i64) -> Result<Deployment, FirstStartError> {
    if let Some(deployment) = find_deployment(store).await? {
        return Ok(deployment);
    }
    let id = &DeploymentId::from_random(door::make_random()?);
    let user_id = &UserId::from_random(door::make_random()?);
    let workspace_id = &WorkspaceId::from_random(door::make_random()?);
    let event = AuditEvent::OwnerCreated { user_id: user_id.clone(), workspace_id: workspace_id.clone() };
    let entry = &event.entry(AuditLog::Deployment(id.clone()), Actor::Operator, now_ms);
    let made: Result<(), StoreError> = store
        .run("first_start", |mut tx| async move {
            tx.insert_user(user_id, "Owner", now_ms).await?;
            tx.insert_deployment(id, user_id, now_ms).await?;
            let home =
                NewWorkspace { id: workspace_id, name: "Personal", kind: WorkspaceKind::Personal, owner_id: user_id };
            tx.insert_workspace(home, now_ms).await?;
            tx.commit_with(entry.clone(), ()).await
        })
        .await;
    match made {
        // Another process may have been first; its installation is the one.
        Ok(()) | Err(StoreError::AlreadyThere { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    find_deployment(store).await?.ok_or(FirstStartError::Store(StoreError::NotVisible { what: "deployment" }))
}

/// The installation, if the first start was.
pub(crate) async fn find_deployment(store: &Store) -> Result<Option<Deployment>, StoreError> {
    store.read("find_deployment", |mut tx| async move { tx.find_deployment().await }).await
}

/// Whether an owner link was ever used: then nobody needs another one at start.
pub(crate) async fn was_signed_in(store: &Store, deployment: &Deployment) -> Result<bool, StoreError> {
    let log = &AuditLog::Deployment(deployment.id.clone());
    store.read("was_signed_in", |mut tx| async move { tx.has_audit_event(log, "owner_link.used").await }).await
}
