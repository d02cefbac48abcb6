//! The service's vault: `cloud_proxy` credentials at rest, pinned against the stored row before they open. Never opens a credential of the `device_direct` profile, and no secret leaves it but through [`Opened::expose_for_upstream_request`].
//!
//! # Use
//!
//! ```text
//! PinnedRow::pin(row)           what the reviewed row says, cross-checked with the review it carries
//!   └─ vault.open_for_*(…)      opens under exactly that; a call and a loan also compare the live manifest first
//!        └─ Opened<P>           says nothing, prints nothing; P is what it was opened for
//!             └─ expose_for_upstream_request(proof)    the one way out, for a call with the spent permit, for a loan with its row
//! ```
//!
//! Keys are unwrapped before a writing transaction ([`Vault::unlock`]) and secrets are used after its commit. Sealing is synchronous, so that no
//! key material waits: `unlock` first, then `seal_*`, then write what it gave in one transaction.

mod boot;
mod cache;
mod error;
mod opened;
mod pin;
mod tenant_keys;
#[cfg(test)]
mod tests;
mod transient;
mod vault;

pub use boot::{SealedReason, VaultState};
pub use error::{NoRandomness, PinError, VaultError};
pub use opened::{
    Call, CallCredential, ClientAuth, Loan, Opened, ProofError, Purpose, ReadManifest, Refresh, Revoke, SignIn,
};
pub use pin::PinnedRow;
pub use tenant_keys::{Fill, UnlockedTenant};
pub use transient::{SealedTransient, SessionBinding, TransientPlace};
pub use vault::{SealedSecret, Vault, VaultParts};

/// What the vault keeps and gives, for those who may not name the room that seals it.
pub use seal::{
    CloudSecret, Credential,
    cloud_secret::{AccessToken, ClientRegistration, OAuthGrant, RegistrationAccess},
};
