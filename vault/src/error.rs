//! Why the vault refused or failed, by whose fault. A blob that does not open has one error without a reason.

use crate::SealedReason;
use kms::KekError;
use store::StoreError;

/// The source of randomness failed; nothing may be sealed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the system's random source failed")]
pub struct NoRandomness;

/// Everything a call into the vault can end with besides an answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VaultError {
    /// The vault is sealed: it opens and seals nothing until it is started again.
    #[error("the vault is sealed: {0}")]
    Sealed(SealedReason),
    /// The KEK provider does not answer, and the tenant's key is not in memory. Trying later helps; nothing else is tried.
    #[error("the key of this workspace cannot be had now")]
    KekUnavailable(#[source] KekError),
    /// The tenant's key is refused: its record names a key that is not listed, or it does not open.
    #[error("the key of this workspace is refused")]
    KekRefused(#[source] KekError),
    /// The generation of the tenant's key is gone: what was sealed under it was shredded.
    #[error("generation {generation} of this workspace's key is gone")]
    KeyGone {
        /// The generation.
        generation: u32,
    },
    /// The row is not one that this may be opened for; no key was used.
    #[error(transparent)]
    Pin(#[from] PinError),
    /// It does not open.
    #[error("the stored credential does not open")]
    Open,
    /// It cannot be sealed.
    #[error("the credential cannot be sealed")]
    Seal,
    /// No randomness.
    #[error(transparent)]
    Random(#[from] NoRandomness),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl VaultError {
    /// Whether the same call may succeed later without anybody changing anything.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        match self {
            Self::KekUnavailable(_) => true,
            Self::Store(error) => error.is_transient(),
            Self::Sealed(_)
            | Self::KekRefused(_)
            | Self::KeyGone { .. }
            | Self::Pin(_)
            | Self::Open
            | Self::Seal
            | Self::Random(_) => false,
        }
    }
}

impl From<KekError> for VaultError {
    fn from(error: KekError) -> Self {
        if error.is_transient() { Self::KekUnavailable(error) } else { Self::KekRefused(error) }
    }
}

/// Why a stored row may not be opened, or not for this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PinError {
    /// Its credential is sealed on devices; the vault has nothing of it.
    #[error("the connection is not of the cloud_proxy profile")]
    Profile,
    /// It ended.
    #[error("the connection was revoked")]
    Revoked,
    /// Nobody has reviewed it yet.
    #[error("the connection has no signed review")]
    NoReview,
    /// The review no longer stands; drift opens for reading the manifest, for refresh and for revoking only.
    #[error("the connection must be reviewed again")]
    ReviewRequired,
    /// The live manifest is not the reviewed one.
    #[error("the server's manifest is not the one that was reviewed")]
    ManifestChanged,
    /// A credential of this kind needs a reviewed grant, and there is none.
    #[error("the connection has no reviewed grant")]
    NoGrant,
    /// Row and review disagree, or the secret stands in another row.
    #[error("the stored `{field}` does not belong here")]
    Mismatch {
        /// What disagrees.
        field: &'static str,
    },
}
