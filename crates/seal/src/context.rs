//! The rows of the table of required tags (2.a.3) as types: a blob type without a row, or a row without one of its tags, does not compile.

use crate::ctx::{ContextError, Ctx, CtxBuilder};
use contract::{
    Digest,
    blob::{BlobType, CONTEXT_ROWS, SecretKind, Tag},
    connection::Profile,
    ids::{ConnectionId, DeploymentId, DeviceId, ProjectId, WorkspaceId},
};

mod vault;

pub use vault::{
    CloudCredentialContext, KekName, OAuthTransientContext, Tenant, TenantKeyRow, TenantMasterKeyContext,
    VaultKeyContext, VaultRow, WrappingKeyContext,
};

mod sealed {
    use crate::ctx::{ContextError, CtxBuilder};

    /// Only this file says what a context is.
    pub trait Sealed {
        fn collect(&self, empty: CtxBuilder) -> Result<CtxBuilder, ContextError>;
    }
}

/// What a blob of one type belongs to. Implemented by the rows of the table and by nothing else.
///
/// ```
/// use collie_seal::context::{BlobContext, CredentialKeyContext};
/// fn seals<C: BlobContext>() {}
/// seals::<CredentialKeyContext<'_>>();
/// ```
/// ```compile_fail
/// use collie_seal::context::{BlobContext, CredentialKeyContext};
/// fn seals<C: BlobContext>() {}
/// seals::<Vec<u8>>();
/// ```
///
/// A row of somebody's own cannot be added from outside:
///
/// ```
/// use collie_seal::context::BlobContext;
/// struct Mine;
/// fn uses(_: impl BlobContext) {}
/// # let _ = Mine;
/// ```
/// ```compile_fail
/// use collie_seal::context::BlobContext;
/// struct Mine;
/// impl BlobContext for Mine { const BLOB: contract::blob::BlobType = contract::blob::BlobType::DeviceLocal; }
/// fn uses(_: impl BlobContext) {}
/// # let _ = Mine;
/// ```
pub trait BlobContext: sealed::Sealed {
    /// The type of blob that this row is for.
    const BLOB: BlobType;

    /// Encodes the row.
    fn ctx(&self) -> Result<Ctx, ContextError> {
        self.collect(CtxBuilder::new(domain(Self::BLOB)))?.build()
    }
}

/// The row of `cred.device_direct`: everything a sealed credential belongs to.
///
/// ```
/// use contract::{Digest, blob::SecretKind, ids::*};
/// # let (dep, ws, conn, dev) = (DeploymentId::from_random([1; 16]), WorkspaceId::from_random([2; 16]), ConnectionId::from_random([3; 16]), DeviceId::from_random([4; 16]));
/// # let digest = Digest::of(&[b"x"]);
/// let row = collie_seal::context::CredentialRow {
///     deployment: &dep, workspace: &ws, project: None, connection: &conn, endpoint: "https://mcp.example.test/mcp",
///     scopes: &[], manifest_digest: &digest, issuer: "", client_id: "", secret_kind: SecretKind::None,
///     prev_commit: None, author_device: &dev, usk_gen: 1, review_digest: &digest, subject: "",
/// };
/// # let _ = row;
/// ```
/// The same without its review does not compile:
/// ```compile_fail
/// use contract::{Digest, blob::SecretKind, ids::*};
/// # let (dep, ws, conn, dev) = (DeploymentId::from_random([1; 16]), WorkspaceId::from_random([2; 16]), ConnectionId::from_random([3; 16]), DeviceId::from_random([4; 16]));
/// # let digest = Digest::of(&[b"x"]);
/// let row = collie_seal::context::CredentialRow {
///     deployment: &dep, workspace: &ws, project: None, connection: &conn, endpoint: "https://mcp.example.test/mcp",
///     scopes: &[], manifest_digest: &digest, issuer: "", client_id: "", secret_kind: SecretKind::None,
///     prev_commit: None, author_device: &dev, usk_gen: 1, subject: "",
/// };
/// # let _ = row;
/// ```
#[derive(Clone, Copy)]
pub struct CredentialRow<'a> {
    /// 01
    pub deployment: &'a DeploymentId,
    /// 02
    pub workspace: &'a WorkspaceId,
    /// 03, empty for a personal connection
    pub project: Option<&'a ProjectId>,
    /// 04
    pub connection: &'a ConnectionId,
    /// 05, the canonical resource URI
    pub endpoint: &'a str,
    /// 07, what was reviewed; empty for static credentials
    pub scopes: &'a [String],
    /// 08
    pub manifest_digest: &'a Digest,
    /// 09, empty for static credentials
    pub issuer: &'a str,
    /// 0a, empty for static credentials
    pub client_id: &'a str,
    /// 0b
    pub secret_kind: SecretKind,
    /// 12, empty at version 1
    pub prev_commit: Option<&'a Digest>,
    /// 13
    pub author_device: &'a DeviceId,
    /// 14
    pub usk_gen: u32,
    /// 16
    pub review_digest: &'a Digest,
    /// 17, empty for static credentials
    pub subject: &'a str,
}

impl CredentialRow<'_> {
    fn collect(&self, empty: CtxBuilder) -> Result<CtxBuilder, ContextError> {
        Ok(empty
            .text(Tag::Deployment, self.deployment.as_str())?
            .text(Tag::Workspace, self.workspace.as_str())?
            .text(Tag::Project, self.project.map_or("", ProjectId::as_str))?
            .text(Tag::Connection, self.connection.as_str())?
            .text(Tag::Endpoint, self.endpoint)?
            .text(Tag::Profile, Profile::DeviceDirect.as_str())?
            .list(Tag::Scopes, self.scopes)?
            .bytes(Tag::ManifestDigest, self.manifest_digest.as_bytes())
            .text(Tag::Issuer, self.issuer)?
            .text(Tag::ClientId, self.client_id)?
            .text(Tag::SecretKind, self.secret_kind.as_str())?
            .bytes(Tag::PrevCommit, self.prev_commit.map_or(&[], |commit| commit.as_bytes()))
            .text(Tag::AuthorDevice, self.author_device.as_str())?
            .u32(Tag::UskGen, self.usk_gen)
            .bytes(Tag::ReviewDigest, self.review_digest.as_bytes())
            .bytes(Tag::Subject, self.subject.as_bytes()))
    }
}

/// Context of the payload of a sealed credential (type 10).
#[derive(Clone, Copy)]
pub struct SealedCredentialContext<'a>(pub CredentialRow<'a>);

impl sealed::Sealed for SealedCredentialContext<'_> {
    fn collect(&self, empty: CtxBuilder) -> Result<CtxBuilder, ContextError> {
        self.0.collect(empty)
    }
}

impl BlobContext for SealedCredentialContext<'_> {
    const BLOB: BlobType = BlobType::SealedCredential;
}

/// Context of the data key of a sealed credential (type 11).
#[derive(Clone, Copy)]
pub struct CredentialKeyContext<'a>(pub CredentialRow<'a>);

impl sealed::Sealed for CredentialKeyContext<'_> {
    fn collect(&self, empty: CtxBuilder) -> Result<CtxBuilder, ContextError> {
        self.0.collect(empty)
    }
}

impl BlobContext for CredentialKeyContext<'_> {
    const BLOB: BlobType = BlobType::CredentialKey;
}

/// The row of `device.local` (type 15): a secret that never leaves the device.
#[derive(Clone, Copy)]
pub struct DeviceLocalContext<'a> {
    /// 01
    pub deployment: &'a DeploymentId,
    /// 02
    pub workspace: &'a WorkspaceId,
    /// 04, empty where the secret belongs to no connection
    pub connection: Option<&'a ConnectionId>,
    /// 05, empty where there is none
    pub endpoint: &'a str,
    /// 09, empty for static credentials
    pub issuer: &'a str,
    /// 0a, empty for static credentials
    pub client_id: &'a str,
    /// 0b
    pub secret_kind: SecretKind,
    /// 0e, what the secret is for
    pub row_id: &'a str,
    /// 13, this device
    pub author_device: &'a DeviceId,
    /// 14
    pub usk_gen: u32,
}

impl sealed::Sealed for DeviceLocalContext<'_> {
    fn collect(&self, empty: CtxBuilder) -> Result<CtxBuilder, ContextError> {
        Ok(empty
            .text(Tag::Deployment, self.deployment.as_str())?
            .text(Tag::Workspace, self.workspace.as_str())?
            .text(Tag::Connection, self.connection.map_or("", ConnectionId::as_str))?
            .text(Tag::Endpoint, self.endpoint)?
            .text(Tag::Issuer, self.issuer)?
            .text(Tag::ClientId, self.client_id)?
            .text(Tag::SecretKind, self.secret_kind.as_str())?
            .text(Tag::RowId, self.row_id)?
            .text(Tag::AuthorDevice, self.author_device.as_str())?
            .u32(Tag::UskGen, self.usk_gen))
    }
}

impl BlobContext for DeviceLocalContext<'_> {
    const BLOB: BlobType = BlobType::DeviceLocal;
}

/// The domain word of a blob type. Every type has exactly one row; a test of `contract` holds that.
fn domain(blob: BlobType) -> &'static str {
    CONTEXT_ROWS.iter().find(|row| row.blob == blob).map_or("", |row| row.domain)
}

#[cfg(test)]
#[path = "context_tests.rs"]
mod tests;
