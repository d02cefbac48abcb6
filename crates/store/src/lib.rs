//! Server-side storage: transactions that cannot commit without saying why, on SQLite and PostgreSQL with one text per statement. It sees ciphertext, HMACs and public keys, and has no way to open anything.
//!
//! # Use
//!
//! Open once, clone freely. A body takes the transaction by value and ends in a commit that names its event; `run` begins, commits and retries, and
//! releases the answer when the write is durable. The body may run again, so it captures references and does no network.
//!
//! ```
//! use contract::{AuditEvent, audit::{Actor, AuditLog}, ids::{DeploymentId, UserId, WorkspaceId}, workspace::WorkspaceKind};
//! use collie_store::{NewWorkspace, Store, StoreError};
//!
//! async fn make_owner(store: &Store, id: &DeploymentId, owner_id: &UserId, home: &WorkspaceId, now_ms: i64) -> Result<(), StoreError> {
//!     store
//!         .run("make_owner", |mut tx| async move {
//!             tx.insert_user(owner_id, "Owner", now_ms).await?;
//!             tx.insert_deployment(id, owner_id, now_ms).await?;
//!             let workspace = NewWorkspace { id: home, name: "Personal", kind: WorkspaceKind::Personal, owner_id };
//!             tx.insert_workspace(workspace, now_ms).await?;
//!             let event = AuditEvent::OwnerCreated { user_id: owner_id.clone(), workspace_id: home.clone() };
//!             tx.commit_with(event.entry(AuditLog::Deployment(id.clone()), Actor::Operator, now_ms), ()).await
//!         })
//!         .await
//! }
//!
//! async fn is_set_up(store: &Store) -> Result<bool, StoreError> {
//!     store.read("is_set_up", |mut tx| async move { Ok(tx.find_deployment().await?.is_some()) }).await
//! }
//! ```
//!
//! * [`Tx::commit_with`] writes the event; [`Tx::record`] adds a second one. [`Tx::commit_upkeep`] is for housekeeping ([`Upkeep`]) and refuses when
//!   anything else was written. [`Tx::commit_unchanged`] is for a repeated request: nothing was written.
//! * An error takes the whole body back. What must be written although the request fails (a counted try, a family that ends) is an answer, not an error.
//! * Everything with an id that a person may choose is asked for with a [`Viewer`]: the session's workspace and user.
//! * [`StoreError`] says whose fault it is; what it prints holds no value from any row but an id.
//!
//! A body that writes and does not commit does not compile:
//!
//! ```compile_fail
//! # use collie_store::{Store, StoreError}; use contract::ids::UserId;
//! # async fn f(store: &Store, id: &UserId) -> Result<(), StoreError> {
//! store.run("insert_user", |mut tx| async move { tx.insert_user(id, "Ada", 0).await }).await
//! # }
//! ```
//!
//! Its twin, with the event that explains it, does:
//!
//! ```
//! # use collie_store::{Store, StoreError}; use contract::{ids::UserId, audit::AuditEntry};
//! # async fn f(store: &Store, id: &UserId, entry: &AuditEntry) -> Result<(), StoreError> {
//! store.run("insert_user", |mut tx| async move { tx.insert_user(id, "Ada", 0).await?; tx.commit_with(entry.clone(), ()).await }).await
//! # }
//! ```
//!
//! Nothing is written in a body that reads:
//!
//! ```compile_fail
//! # use collie_store::{Store, StoreError}; use contract::ids::UserId;
//! # async fn f(store: &Store, id: &UserId) -> Result<(), StoreError> {
//! store.read("look", |mut tx| async move { tx.insert_user(id, "Ada", 0).await }).await
//! # }
//! ```
//!
//! ```
//! # use collie_store::{Store, StoreError, User}; use contract::ids::UserId;
//! # async fn f(store: &Store, id: &UserId) -> Result<Option<User>, StoreError> {
//! store.read("look", |mut tx| async move { tx.find_user(id).await }).await
//! # }
//! ```
//!
//! Nothing goes on after the commit:
//!
//! ```compile_fail
//! # use collie_store::{Store, StoreError}; use contract::{ids::UserId, audit::AuditEntry};
//! # async fn f(store: &Store, id: &UserId, entry: &AuditEntry) -> Result<(), StoreError> {
//! store.run("insert_user", |mut tx| async move { let done = tx.commit_with(entry.clone(), ()).await; tx.insert_user(id, "Ada", 0).await?; done }).await
//! # }
//! ```
//!
//! ```
//! # use collie_store::{Store, StoreError}; use contract::{ids::UserId, audit::AuditEntry};
//! # async fn f(store: &Store, id: &UserId, entry: &AuditEntry) -> Result<(), StoreError> {
//! store.run("insert_user", |mut tx| async move { tx.insert_user(id, "Ada", 0).await?; let done = tx.commit_with(entry.clone(), ()).await; done }).await
//! # }
//! ```

mod engine;
mod error;
mod key_store;
mod repository;
mod store;
#[cfg(test)]
mod tests;

pub use engine::{Committed, ReadTx, Tx, Upkeep};
pub use error::{EngineFault, StoreError};
pub use key_store::KeyStore;
pub use repository::{
    Inserted, TokenMac, Viewer,
    audit::AuditRecord,
    browser::BrowserSession,
    connection::{Connection, Drift, DriftSeen, NewConnection, NewReview, PublicReview, StoredReview},
    credential::{NewCredential, NewFormat, StoredCredential, StoredVersion},
    deployment::{Deployment, User},
    device::{Device, NewDevice, Revocation},
    draft::{Draft, NewDraft},
    invocation::{Begun, Invocation, InvocationKey, InvocationState, NewInvocation},
    loan::{Loan, NewLoan},
    oauth_txn::{OAuthTxn, OAuthTxnPurpose},
    pairing::{Guesser, NewPairing, Pairing, PairingState},
    project::{NewProject, Project},
    refresh::{Attempt, Intent, Lease, Refresh, Swap, VoidedIntent},
    session::{EndReason, NewFamily, Refreshed, Session, Standing},
    tenant_key::{TenantKey, TenantKeyState},
    vault::{
        BootCanary, ClientAuthMethod, ClientIdentityKind, CloudCredentials, ConnectionOAuth, NewVaultCredential,
        RevocationReach, Rewrap, VaultCredential,
    },
    workspace::{Member, MemberChange, NewWorkspace, Workspace},
};
pub use store::{Store, StoreConfig};
