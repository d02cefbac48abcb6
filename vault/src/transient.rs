//! Secrets of a sign-in in progress and credentials that wait for their review (type 04): sealed for one session, opened by that session, taken once. A waiting credential reads the manifest and becomes a reviewed one; it makes no call.

use crate::{
    ClientAuth, Opened, PinError, PinnedRow, ReadManifest, Revoke, SealedSecret, SignIn, UnlockedTenant, Vault,
    VaultError,
    opened::{About, Purpose},
    vault::check_tenant,
};
use contract::{
    Digest,
    ids::{ConnectionId, FamilyId, WorkspaceId},
    labels,
};
use seal::{CloudSecret, context::OAuthTransientContext, vault_keys::VaultBlobs};
use store::{OAuthTxn, OAuthTxnPurpose};

/// The session that a transient secret belongs to (CTX tag 19). It comes from who asks, never from the row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionBinding(Digest);

impl SessionBinding {
    /// A device's session.
    #[must_use]
    pub fn of_family(family: &FamilyId) -> Self {
        Self::of("family", family.as_str().as_bytes())
    }

    /// A browser's session, by what its cookie is stored as.
    #[must_use]
    pub fn of_browser(session: &[u8; 32]) -> Self {
        Self::of("browser", session)
    }

    /// Nobody's session: what still has to be revoked at the provider of a connection that has ended.
    #[must_use]
    pub fn of_revocation(connection: &ConnectionId) -> Self {
        Self::of("revocation", connection.as_str().as_bytes())
    }

    /// `SHA-256("collie.session-binding.v2\0" ‖ kind ‖ 00 ‖ session)`
    fn of(kind: &str, session: &[u8]) -> Self {
        Self(Digest::of(&[labels::SESSION_BINDING, kind.as_bytes(), &[0], session]))
    }
}

/// What a transient secret belongs to, as the caller knows it from its own session, draft and connection.
#[derive(Debug, Clone, Copy)]
pub struct TransientPlace<'a> {
    /// The session's workspace.
    pub workspace: &'a WorkspaceId,
    /// The draft's or connection's id.
    pub connection: &'a ConnectionId,
    /// Canonical resource URI of the draft or connection.
    pub endpoint: &'a str,
    /// The issuer; empty for a static credential.
    pub issuer: &'a str,
    /// The client; empty for a static credential.
    pub client_id: &'a str,
    /// The session.
    pub binding: SessionBinding,
}

/// A sealed transient secret, for the row of its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedTransient {
    /// The wrapped data key.
    pub dek: Vec<u8>,
    /// The sealed payload.
    pub payload: Vec<u8>,
    /// Generation of the tenant key.
    pub tmk_gen: u32,
}

impl Vault {
    /// Seals a transient secret for the row `id` of `oauth_txn`.
    pub fn seal_transient(
        &self,
        tenant: &UnlockedTenant,
        place: TransientPlace<'_>,
        id: &str,
        secret: &CloudSecret,
    ) -> Result<SealedTransient, VaultError> {
        self.check_open()?;
        check_tenant(tenant, place.workspace)?;
        let context = self.transient_context(&place, secret.kind());
        let random = self.keys.make_credential_random()?;
        let blobs = tenant.key.seal_transient(&context, id, secret, random).map_err(|_| VaultError::Seal)?;
        Ok(SealedTransient { dek: blobs.dek, payload: blobs.payload, tmk_gen: tenant.key.generation() })
    }

    /// Opens an authorization that was taken, to exchange its code.
    pub async fn open_for_sign_in(
        &self,
        place: TransientPlace<'_>,
        taken: &OAuthTxn,
        now_ms: i64,
    ) -> Result<Opened<SignIn>, VaultError> {
        self.open_transient(place, taken, OAuthTxnPurpose::Authorization, now_ms).await
    }

    /// Opens a credential that waits for its review, for tools/list.
    pub async fn open_waiting_for_manifest(
        &self,
        place: TransientPlace<'_>,
        waiting: &OAuthTxn,
        now_ms: i64,
    ) -> Result<Opened<ReadManifest>, VaultError> {
        self.open_transient(place, waiting, OAuthTxnPurpose::WaitingCredential, now_ms).await
    }

    /// Opens the secret of a client that is not reviewed yet, to show the client at its issuer's endpoints.
    pub async fn open_waiting_for_client_auth(
        &self,
        place: TransientPlace<'_>,
        waiting: &OAuthTxn,
        now_ms: i64,
    ) -> Result<Opened<ClientAuth>, VaultError> {
        self.open_transient(place, waiting, OAuthTxnPurpose::WaitingCredential, now_ms).await
    }

    /// Opens what still has to be revoked at its provider.
    pub async fn open_waiting_for_revoke(
        &self,
        place: TransientPlace<'_>,
        waiting: &OAuthTxn,
        now_ms: i64,
    ) -> Result<Opened<Revoke>, VaultError> {
        self.open_transient(place, waiting, OAuthTxnPurpose::Revocation, now_ms).await
    }

    /// Seals a credential that waited for its review under that review. The secret does not leave the vault.
    pub async fn reseal_waiting(
        &self,
        place: TransientPlace<'_>,
        waiting: &OAuthTxn,
        to: &PinnedRow,
        expected_version: u64,
        now_ms: i64,
    ) -> Result<SealedSecret, VaultError> {
        if (place.workspace, place.connection, place.endpoint) != (to.workspace(), to.connection(), to.endpoint()) {
            return Err(VaultError::Pin(PinError::Mismatch { field: "connection" }));
        }
        let old = self.unlock_transient(&place, waiting, OAuthTxnPurpose::WaitingCredential, now_ms).await?;
        let new = self.unlock(place.workspace, now_ms).await?;
        let secret = self.open_blobs(&old, &place, waiting)?;
        let context = to.context(secret.kind())?;
        if (context.issuer, context.client_id) != (place.issuer, place.client_id) {
            return Err(VaultError::Pin(PinError::Mismatch { field: "issuer" }));
        }
        self.seal_credential(&new, to, expected_version, &secret)
    }

    async fn open_transient<P: Purpose>(
        &self,
        place: TransientPlace<'_>,
        row: &OAuthTxn,
        purpose: OAuthTxnPurpose,
        now_ms: i64,
    ) -> Result<Opened<P>, VaultError> {
        let tenant = self.unlock_transient(&place, row, purpose, now_ms).await?;
        let secret = self.open_blobs(&tenant, &place, row)?;
        Ok(Opened::new(secret, About { connection: place.connection.clone(), review_digest: None, version: 1 }))
    }

    /// The tenant's key for a row that stands where the caller is.
    async fn unlock_transient(
        &self,
        place: &TransientPlace<'_>,
        row: &OAuthTxn,
        purpose: OAuthTxnPurpose,
        now_ms: i64,
    ) -> Result<UnlockedTenant, VaultError> {
        let agree = [
            ("purpose", row.purpose == purpose),
            ("workspace_id", row.workspace_id == *place.workspace),
            ("connection_id", row.connection_id == *place.connection),
            ("endpoint", row.endpoint == place.endpoint),
            ("issuer", row.issuer == place.issuer),
            ("client_id", row.client_id == place.client_id),
            ("expires_at_ms", now_ms < row.expires_at_ms),
        ];
        if let Some((field, _)) = agree.into_iter().find(|(_, same)| !same) {
            return Err(VaultError::Pin(PinError::Mismatch { field }));
        }
        self.unlock_generation(place.workspace, row.tmk_gen, now_ms).await
    }

    fn open_blobs(
        &self,
        tenant: &UnlockedTenant,
        place: &TransientPlace<'_>,
        row: &OAuthTxn,
    ) -> Result<CloudSecret, VaultError> {
        let context = self.transient_context(place, row.secret_kind);
        let blobs = VaultBlobs { dek: row.dek.clone(), payload: row.payload.clone() };
        tenant.key.open_transient(&context, &row.id, &blobs).map_err(|_| VaultError::Open)
    }

    const fn transient_context<'a>(
        &'a self,
        place: &'a TransientPlace<'a>,
        secret_kind: contract::blob::SecretKind,
    ) -> OAuthTransientContext<'a> {
        OAuthTransientContext {
            deployment: &self.keys.deployment,
            workspace: place.workspace,
            connection: place.connection,
            endpoint: place.endpoint,
            issuer: place.issuer,
            client_id: place.client_id,
            secret_kind,
            session_binding: &place.binding.0,
        }
    }
}
