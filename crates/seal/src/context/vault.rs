//! The rows of the service's vault (2.a.3): wrapping keys, tenant master keys, data keys, credentials and transient secrets. Only what the opener may read from its own reviewed row goes in.

use super::{BlobContext, sealed};
use crate::ctx::{ContextError, CtxBuilder};
use contract::{
    Digest,
    blob::{BlobType, SecretKind, Tag},
    connection::Profile,
    ids::{ConnectionId, DeploymentId, ProjectId, WorkspaceId},
};

/// Whose keys these are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tenant<'a> {
    /// A workspace.
    Workspace(&'a WorkspaceId),
    /// The installation itself, for its boot canary alone; tag 02 is empty.
    Deployment,
}

impl<'a> Tenant<'a> {
    /// The workspace's id, or the empty text.
    #[must_use]
    pub fn as_str(self) -> &'a str {
        match self {
            Self::Workspace(id) => id.as_str(),
            Self::Deployment => "",
        }
    }
}

/// A key encryption key by its full name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KekName<'a> {
    /// 0f, the kind of provider.
    pub provider: &'a str,
    /// 10, the key's full name at that provider.
    pub kek_id: &'a str,
    /// 11, empty for providers that rotate versions themselves.
    pub version: &'a str,
}

/// One generation of a tenant's keys: the row of `vault_tmk` that holds both wraps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TenantKeyRow<'a> {
    /// 01
    pub deployment: &'a DeploymentId,
    /// 02
    pub tenant: Tenant<'a>,
    /// 0e, in decimal
    pub generation: u32,
    /// 0f, 10, 11
    pub kek: KekName<'a>,
}

impl TenantKeyRow<'_> {
    fn collect(&self, empty: CtxBuilder, column: &str) -> Result<CtxBuilder, ContextError> {
        empty
            .text(Tag::Deployment, self.deployment.as_str())?
            .text(Tag::Workspace, self.tenant.as_str())?
            .text(Tag::Table, "vault_tmk")?
            .text(Tag::Column, column)?
            .text(Tag::RowId, &self.generation.to_string())?
            .text(Tag::KekProvider, self.kek.provider)?
            .text(Tag::KekId, self.kek.kek_id)?
            .text(Tag::KekVersion, self.kek.version)
    }
}

/// Context of a wrapping key under its KEK (type 05 for a key file; the hash of it for a provider's own call).
#[derive(Clone, Copy)]
pub struct WrappingKeyContext<'a>(pub TenantKeyRow<'a>);

impl sealed::Sealed for WrappingKeyContext<'_> {
    fn collect(&self, empty: CtxBuilder) -> Result<CtxBuilder, ContextError> {
        self.0.collect(empty, "wk")
    }
}

impl BlobContext for WrappingKeyContext<'_> {
    const BLOB: BlobType = BlobType::WrappingKey;
}

/// Context of a tenant master key under its wrapping key (type 01).
#[derive(Clone, Copy)]
pub struct TenantMasterKeyContext<'a>(pub TenantKeyRow<'a>);

impl sealed::Sealed for TenantMasterKeyContext<'_> {
    fn collect(&self, empty: CtxBuilder) -> Result<CtxBuilder, ContextError> {
        self.0.collect(empty, "tmk")
    }
}

impl BlobContext for TenantMasterKeyContext<'_> {
    const BLOB: BlobType = BlobType::TenantMasterKey;
}

/// The row that a data key stands in. Its table is one of three and its column is always `dek`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VaultRow<'a> {
    /// The one row of `boot_canary`.
    BootCanary,
    /// A row of `oauth_txn`, by its id.
    OAuthTxn {
        /// 0e
        id: &'a str,
    },
    /// The row of `vault_credential` of a connection and a kind of secret.
    VaultCredential,
}

/// Context of a data key under a tenant master key (type 02).
#[derive(Clone, Copy)]
pub struct VaultKeyContext<'a> {
    /// 01
    pub deployment: &'a DeploymentId,
    /// 02
    pub tenant: Tenant<'a>,
    /// 04, empty for the boot canary
    pub connection: Option<&'a ConnectionId>,
    /// 0b
    pub secret_kind: SecretKind,
    /// 0c, 0d, 0e
    pub row: VaultRow<'a>,
}

impl VaultKeyContext<'_> {
    /// The row's id: of a credential `connection/kind`, so that two kinds of one connection are two rows.
    #[must_use]
    pub fn row_id(&self) -> String {
        match self.row {
            VaultRow::BootCanary => "boot_canary".to_owned(),
            VaultRow::OAuthTxn { id } => id.to_owned(),
            VaultRow::VaultCredential => credential_row_id(self.connection, self.secret_kind),
        }
    }
}

impl sealed::Sealed for VaultKeyContext<'_> {
    fn collect(&self, empty: CtxBuilder) -> Result<CtxBuilder, ContextError> {
        let table = match self.row {
            VaultRow::BootCanary => "boot_canary",
            VaultRow::OAuthTxn { .. } => "oauth_txn",
            VaultRow::VaultCredential => "vault_credential",
        };
        empty
            .text(Tag::Deployment, self.deployment.as_str())?
            .text(Tag::Workspace, self.tenant.as_str())?
            .text(Tag::Connection, self.connection.map_or("", ConnectionId::as_str))?
            .text(Tag::SecretKind, self.secret_kind.as_str())?
            .text(Tag::Table, table)?
            .text(Tag::Column, "dek")?
            .text(Tag::RowId, &self.row_id())
    }
}

impl BlobContext for VaultKeyContext<'_> {
    const BLOB: BlobType = BlobType::VaultKey;
}

/// Context of a credential in the vault (type 03), taken from the reviewed row.
///
/// ```
/// use contract::{Digest, blob::SecretKind, ids::*};
/// # let (dep, ws, conn) = (DeploymentId::from_random([1; 16]), WorkspaceId::from_random([2; 16]), ConnectionId::from_random([3; 16]));
/// # let digest = Digest::of(&[b"x"]);
/// let row = collie_seal::context::CloudCredentialContext {
///     deployment: &dep, workspace: &ws, project: None, connection: &conn, endpoint: "https://mcp.example.test/mcp", scopes: &[],
///     manifest_digest: &digest, issuer: "", client_id: "", secret_kind: SecretKind::None, review_digest: &digest, subject: "",
/// };
/// # let _ = row;
/// ```
/// The same without its review does not compile:
/// ```compile_fail
/// use contract::{Digest, blob::SecretKind, ids::*};
/// # let (dep, ws, conn) = (DeploymentId::from_random([1; 16]), WorkspaceId::from_random([2; 16]), ConnectionId::from_random([3; 16]));
/// # let digest = Digest::of(&[b"x"]);
/// let row = collie_seal::context::CloudCredentialContext {
///     deployment: &dep, workspace: &ws, project: None, connection: &conn, endpoint: "https://mcp.example.test/mcp", scopes: &[],
///     manifest_digest: &digest, issuer: "", client_id: "", secret_kind: SecretKind::None, subject: "",
/// };
/// # let _ = row;
/// ```
#[derive(Clone, Copy)]
pub struct CloudCredentialContext<'a> {
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
    /// 16
    pub review_digest: &'a Digest,
    /// 17, empty for static credentials
    pub subject: &'a str,
}

impl CloudCredentialContext<'_> {
    /// 0e: `connection/kind`.
    #[must_use]
    pub fn row_id(&self) -> String {
        credential_row_id(Some(self.connection), self.secret_kind)
    }

    /// The row of its data key.
    #[must_use]
    pub const fn key_context(&self) -> VaultKeyContext<'_> {
        VaultKeyContext {
            deployment: self.deployment,
            tenant: Tenant::Workspace(self.workspace),
            connection: Some(self.connection),
            secret_kind: self.secret_kind,
            row: VaultRow::VaultCredential,
        }
    }
}

impl sealed::Sealed for CloudCredentialContext<'_> {
    fn collect(&self, empty: CtxBuilder) -> Result<CtxBuilder, ContextError> {
        Ok(empty
            .text(Tag::Deployment, self.deployment.as_str())?
            .text(Tag::Workspace, self.workspace.as_str())?
            .text(Tag::Project, self.project.map_or("", ProjectId::as_str))?
            .text(Tag::Connection, self.connection.as_str())?
            .text(Tag::Endpoint, self.endpoint)?
            .text(Tag::Profile, Profile::CloudProxy.as_str())?
            .list(Tag::Scopes, self.scopes)?
            .bytes(Tag::ManifestDigest, self.manifest_digest.as_bytes())
            .text(Tag::Issuer, self.issuer)?
            .text(Tag::ClientId, self.client_id)?
            .text(Tag::SecretKind, self.secret_kind.as_str())?
            .text(Tag::RowId, &self.row_id())?
            .bytes(Tag::ReviewDigest, self.review_digest.as_bytes())
            .bytes(Tag::Subject, self.subject.as_bytes()))
    }
}

impl BlobContext for CloudCredentialContext<'_> {
    const BLOB: BlobType = BlobType::CloudCredential;
}

/// Context of a sign-in in progress, or of a credential that waits for its review (type 04).
#[derive(Clone, Copy)]
pub struct OAuthTransientContext<'a> {
    /// 01
    pub deployment: &'a DeploymentId,
    /// 02
    pub workspace: &'a WorkspaceId,
    /// 04
    pub connection: &'a ConnectionId,
    /// 05
    pub endpoint: &'a str,
    /// 09, empty for static credentials
    pub issuer: &'a str,
    /// 0a, empty for static credentials
    pub client_id: &'a str,
    /// 0b
    pub secret_kind: SecretKind,
    /// 19, the session that may open it
    pub session_binding: &'a Digest,
}

impl<'a> OAuthTransientContext<'a> {
    /// The row of its data key.
    #[must_use]
    pub const fn key_context(&self, id: &'a str) -> VaultKeyContext<'a> {
        VaultKeyContext {
            deployment: self.deployment,
            tenant: Tenant::Workspace(self.workspace),
            connection: Some(self.connection),
            secret_kind: self.secret_kind,
            row: VaultRow::OAuthTxn { id },
        }
    }
}

impl sealed::Sealed for OAuthTransientContext<'_> {
    fn collect(&self, empty: CtxBuilder) -> Result<CtxBuilder, ContextError> {
        Ok(empty
            .text(Tag::Deployment, self.deployment.as_str())?
            .text(Tag::Workspace, self.workspace.as_str())?
            .text(Tag::Connection, self.connection.as_str())?
            .text(Tag::Endpoint, self.endpoint)?
            .text(Tag::Issuer, self.issuer)?
            .text(Tag::ClientId, self.client_id)?
            .text(Tag::SecretKind, self.secret_kind.as_str())?
            .bytes(Tag::SessionBinding, self.session_binding.as_bytes()))
    }
}

impl BlobContext for OAuthTransientContext<'_> {
    const BLOB: BlobType = BlobType::OAuthTransient;
}

fn credential_row_id(connection: Option<&ConnectionId>, kind: SecretKind) -> String {
    format!("{}/{kind}", connection.map_or("", ConnectionId::as_str))
}
