//! Sealed secrets of `cloud_proxy` connections and what their grants were reviewed for. One row for each kind of secret, each write one compare-and-set; nothing is opened here.

use super::{
    Viewer,
    connection::{Connection, NewReview, parse_json},
    refresh::{Attempt, Swap},
};
use crate::{
    engine::{ReadTx, Row, Tx, bind, statements},
    error::StoreError,
};
use contract::{
    Digest, Json,
    blob::SecretKind,
    connection::Profile,
    ids::{ConnectionId, DeploymentId, WorkspaceId},
    limits,
};

statements! {
    Read "boot_canary" FIND_CANARY = "SELECT deployment_id, dek, tmk_gen FROM boot_canary WHERE deployment_id = $1";
    Write "boot_canary" INSERT_CANARY =
        "INSERT INTO boot_canary (deployment_id, dek, tmk_gen, created_at_ms) VALUES ($1, $2, $3, $4)";
    Read "boot_canary" COUNT_VAULT_ROWS =
        "SELECT (SELECT COUNT(*) FROM vault_credential) + (SELECT COUNT(*) FROM oauth_txn) AS number";
    Read "connection_oauth" FIND_OAUTH =
        "SELECT connection_id, issuer, client_id, client_identity, client_auth, scopes, subject, revocation, reuse_safe FROM connection_oauth
         WHERE workspace_id = $1 AND connection_id = $2";
    Write "connection_oauth" PUT_OAUTH =
        "INSERT INTO connection_oauth (workspace_id, connection_id, issuer, client_id, client_identity, client_auth, scopes, subject, revocation,
         reuse_safe, updated_at_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
         ON CONFLICT (workspace_id, connection_id) DO UPDATE SET issuer = excluded.issuer, client_id = excluded.client_id,
         client_identity = excluded.client_identity, client_auth = excluded.client_auth, scopes = excluded.scopes, subject = excluded.subject,
         revocation = excluded.revocation, reuse_safe = excluded.reuse_safe, updated_at_ms = excluded.updated_at_ms";
    Write "connection_oauth" DELETE_OAUTH = "DELETE FROM connection_oauth WHERE workspace_id = $1 AND connection_id = $2";
    Read "vault_credential" FIND_VAULT_CREDENTIAL =
        "SELECT connection_id, secret_kind, version, dek, payload, commitment, tmk_gen, updated_at_ms FROM vault_credential
         WHERE workspace_id = $1 AND connection_id = $2 AND secret_kind = $3";
    Read "vault_credential" LIST_VAULT_CREDENTIALS =
        "SELECT connection_id, secret_kind, version, dek, payload, commitment, tmk_gen, updated_at_ms FROM vault_credential
         WHERE workspace_id = $1 AND connection_id = $2 ORDER BY secret_kind LIMIT $3";
    Write "vault_credential" INSERT_VAULT_CREDENTIAL =
        "INSERT INTO vault_credential (workspace_id, connection_id, secret_kind, version, dek, payload, commitment, tmk_gen, updated_at_ms)
         VALUES ($1, $2, $3, 1, $4, $5, $6, $7, $8)";
    Write "vault_credential" REPLACE_VAULT_CREDENTIAL =
        "UPDATE vault_credential SET version = version + 1, dek = $5, payload = $6, commitment = $7, tmk_gen = $8, updated_at_ms = $9
         WHERE workspace_id = $1 AND connection_id = $2 AND secret_kind = $3 AND version = $4";
    // A rotation of tenant keys replaces the wrap of exactly the data key it read.
    Write "vault_credential" REWRAP_VAULT_CREDENTIAL =
        "UPDATE vault_credential SET dek = $5, tmk_gen = $6
         WHERE workspace_id = $1 AND connection_id = $2 AND secret_kind = $3 AND dek = $4";
    Write "vault_credential" DELETE_VAULT_CREDENTIAL =
        "DELETE FROM vault_credential WHERE workspace_id = $1 AND connection_id = $2 AND secret_kind = $3";
    Write "vault_credential" SHRED_VAULT_CREDENTIALS = "DELETE FROM vault_credential WHERE workspace_id = $1 AND connection_id = $2";
}

/// Closed words of a column.
macro_rules! column_words {
    ($($(#[doc = $doc:literal])+ $name:ident { $($(#[doc = $vdoc:literal])+ $variant:ident = $word:literal,)+ })+) => {$(
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name {
            $($(#[doc = $vdoc])+ $variant,)+
        }

        impl $name {
            /// The word in the table.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            pub(crate) fn parse(word: &str) -> Option<Self> {
                [$(Self::$variant),+].into_iter().find(|value| value.as_str() == word)
            }
        }
    )+};
}
pub(super) use column_words;

column_words! {
    /// Where a client's identity at an authorization server comes from.
    ClientIdentityKind {
        /// A person registered it.
        Given = "given",
        /// Our own document describes it.
        Cimd = "cimd",
        /// We registered it (RFC 7591).
        Registered = "registered",
    }
    /// How a client shows itself at the token endpoint.
    ClientAuthMethod {
        /// Not at all: a public client.
        None = "none",
        /// In a header.
        ClientSecretBasic = "client_secret_basic",
        /// In the body.
        ClientSecretPost = "client_secret_post",
        /// By a signed assertion (RFC 7523).
        PrivateKeyJwt = "private_key_jwt",
    }
    /// What revoking a token ends at a provider (2.b.8 vii).
    RevocationReach {
        /// The token.
        Token = "token",
        /// All refresh tokens of its family.
        Family = "family",
        /// The whole grant.
        Grant = "grant",
    }
}

/// What a grant was reviewed for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionOAuth {
    /// Issuer, byte for byte.
    pub issuer: String,
    /// Client id.
    pub client_id: String,
    /// Where the client comes from.
    pub client_identity: ClientIdentityKind,
    /// How it shows itself.
    pub client_auth: ClientAuthMethod,
    /// The reviewed scopes.
    pub scopes: Vec<String>,
    /// Whom the issuer named; absent where it named nobody.
    pub subject: Option<String>,
    /// What revoking a token ends.
    pub revocation: RevocationReach,
    /// The provider lets a used refresh token be used again.
    pub reuse_safe: bool,
}

/// A sealed secret as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VaultCredential {
    /// Which of the connection's secrets.
    pub secret_kind: SecretKind,
    /// +1 with every write.
    pub version: u64,
    /// The wrapped data key (type 02).
    pub dek: Vec<u8>,
    /// The sealed payload (type 03).
    pub payload: Vec<u8>,
    /// The payload's commitment.
    pub commitment: Digest,
    /// Generation of the tenant key that the data key is wrapped under.
    pub tmk_gen: u32,
    /// Unix milliseconds.
    pub updated_at_ms: i64,
}

/// A sealed secret to store.
#[derive(Debug, Clone, Copy)]
pub struct NewVaultCredential<'a> {
    /// Which of the connection's secrets.
    pub secret_kind: SecretKind,
    /// The version it replaces; 0 where there is none yet. Both blobs are sealed for this + 1.
    pub expected_version: u64,
    /// The wrapped data key (type 02).
    pub dek: &'a [u8],
    /// The sealed payload (type 03).
    pub payload: &'a [u8],
    /// The payload's commitment.
    pub commitment: &'a Digest,
    /// Generation of the tenant key.
    pub tmk_gen: u32,
}

/// Everything that a signed review of a `cloud_proxy` connection seals: what is not in it does not exist afterwards.
#[derive(Debug, Clone, Copy)]
pub struct CloudCredentials<'a> {
    /// One for each kind of secret; a connection without a credential has one of kind `none`.
    pub secrets: &'a [NewVaultCredential<'a>],
    /// What the grant was reviewed for; absent for static credentials.
    pub oauth: Option<&'a ConnectionOAuth>,
}

/// The boot canary as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootCanary {
    /// The sealed content (type 02).
    pub dek: Vec<u8>,
    /// Generation of the installation's own key.
    pub tmk_gen: u32,
}

impl ReadTx {
    /// The canary of this installation.
    pub async fn find_boot_canary(&mut self, deployment: &DeploymentId) -> Result<Option<BootCanary>, StoreError> {
        let row = self.find(&FIND_CANARY, bind![deployment]).await?;
        row.map(|row| Ok(BootCanary { dek: row.bytes("dek")?, tmk_gen: generation(&row)? })).transpose()
    }

    /// How many sealed secrets there are in all workspaces; with none and no canary this is the vault's first start.
    pub async fn count_vault_rows(&mut self) -> Result<u64, StoreError> {
        self.count(&COUNT_VAULT_ROWS, bind![]).await
    }

    /// What the grant of a connection was reviewed for. The caller has found the connection by its viewer.
    pub async fn find_connection_oauth(
        &mut self,
        workspace: &WorkspaceId,
        id: &ConnectionId,
    ) -> Result<Option<ConnectionOAuth>, StoreError> {
        let row = self.find(&FIND_OAUTH, bind![workspace, id]).await?;
        row.map(|row| ConnectionOAuth::try_from(&row)).transpose()
    }

    /// One sealed secret of a connection. The caller has found the connection by its viewer.
    pub async fn find_vault_credential(
        &mut self,
        workspace: &WorkspaceId,
        id: &ConnectionId,
        kind: SecretKind,
    ) -> Result<Option<VaultCredential>, StoreError> {
        let row = self.find(&FIND_VAULT_CREDENTIAL, bind![workspace, id, kind.as_str()]).await?;
        row.map(|row| VaultCredential::try_from(&row)).transpose()
    }

    /// All sealed secrets of a connection. The caller has found the connection by its viewer.
    pub async fn list_vault_credentials(
        &mut self,
        workspace: &WorkspaceId,
        id: &ConnectionId,
    ) -> Result<Vec<VaultCredential>, StoreError> {
        let kinds = SecretKind::ALL.len() as u64;
        let rows = self.list(&LIST_VAULT_CREDENTIALS, bind![workspace, id, kinds]).await?;
        rows.iter().map(VaultCredential::try_from).collect()
    }
}

impl Tx {
    /// Writes the canary at the vault's first start.
    pub async fn insert_boot_canary(
        &mut self,
        deployment: &DeploymentId,
        canary: &BootCanary,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        let values = bind![deployment, &canary.dek[..], u64::from(canary.tmk_gen), now_ms];
        self.execute_one(&INSERT_CANARY, values).await
    }

    /// Writes what a grant was reviewed for. Together with the secrets sealed under it, or not at all.
    pub(crate) async fn put_connection_oauth(
        &mut self,
        viewer: &Viewer,
        id: &ConnectionId,
        oauth: &ConnectionOAuth,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        self.find_cloud_connection(viewer, id).await?;
        let values = bind![
            &viewer.workspace_id,
            id,
            &oauth.issuer,
            &oauth.client_id,
            oauth.client_identity.as_str(),
            oauth.client_auth.as_str(),
            scopes_text(&oauth.scopes),
            oauth.subject.as_deref(),
            oauth.revocation.as_str(),
            i64::from(oauth.reuse_safe),
            now_ms,
        ];
        self.execute_one(&PUT_OAUTH, values).await
    }

    /// Forgets what an earlier grant was reviewed for: the connection has a static credential or none now.
    pub(crate) async fn delete_connection_oauth(
        &mut self,
        viewer: &Viewer,
        id: &ConnectionId,
    ) -> Result<(), StoreError> {
        self.find_cloud_connection(viewer, id).await?;
        self.execute(&DELETE_OAUTH, bind![&viewer.workspace_id, id]).await.map(|_| ())
    }

    /// A signed review of a `cloud_proxy` connection with its raw manifest and its sealed secrets: all of it or nothing, on exactly the version the device saw.
    pub async fn review_cloud(
        &mut self,
        viewer: &Viewer,
        id: &ConnectionId,
        new: NewReview<'_, CloudCredentials<'_>>,
        now_ms: i64,
    ) -> Result<Connection, StoreError> {
        self.land_review(viewer, id, &new, now_ms).await?;
        self.replace_secrets(viewer, id, new.credential, now_ms).await?;
        self.delete_oauth_txns(&viewer.workspace_id, id).await?;
        self.find_own(viewer, id).await
    }

    /// Stores the refreshed grant and ends the intent that it belongs to (2.b.8 step 7). Says the grant's version.
    pub async fn store_refreshed_cloud(
        &mut self,
        viewer: &Viewer,
        connection: &Connection,
        attempt: Attempt<'_>,
        grant: NewVaultCredential<'_>,
        now_ms: i64,
    ) -> Result<Swap<u64>, StoreError> {
        if !self.settle_intent(viewer, connection, attempt).await? {
            return Ok(Swap::Lost);
        }
        self.bump_version(viewer, connection, now_ms).await?;
        self.write_vault_credential(viewer, &connection.id, grant, now_ms).await.map(Swap::Done)
    }

    /// Stores the secrets of a new consent under the next epoch, and the same review; every standing intent is void (2.b.8 ii).
    pub async fn store_consent_cloud(
        &mut self,
        viewer: &Viewer,
        connection: &Connection,
        grant_epoch: u64,
        credentials: CloudCredentials<'_>,
        now_ms: i64,
    ) -> Result<Swap<()>, StoreError> {
        if !self.begin_grant_epoch(viewer, connection, grant_epoch).await? {
            return Ok(Swap::Lost);
        }
        self.bump_version(viewer, connection, now_ms).await?;
        self.replace_secrets(viewer, &connection.id, credentials, now_ms).await?;
        self.delete_oauth_txns(&viewer.workspace_id, &connection.id).await?;
        Ok(Swap::Done(()))
    }

    /// Writes these secrets and deletes every other one of the connection.
    async fn replace_secrets(
        &mut self,
        viewer: &Viewer,
        id: &ConnectionId,
        credentials: CloudCredentials<'_>,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        let CloudCredentials { secrets, oauth } = credentials;
        for standing in self.list_vault_credentials(&viewer.workspace_id, id).await? {
            if !secrets.iter().any(|secret| secret.secret_kind == standing.secret_kind) {
                self.delete_vault_credential(viewer, id, standing.secret_kind).await?;
            }
        }
        for secret in secrets {
            self.write_vault_credential(viewer, id, *secret, now_ms).await?;
        }
        match oauth {
            Some(oauth) => self.put_connection_oauth(viewer, id, oauth, now_ms).await,
            None => self.delete_connection_oauth(viewer, id).await,
        }
    }

    /// Writes the next version of one secret, on exactly the version that its writer saw. Returns the version written.
    pub(crate) async fn write_vault_credential(
        &mut self,
        viewer: &Viewer,
        id: &ConnectionId,
        new: NewVaultCredential<'_>,
        now_ms: i64,
    ) -> Result<u64, StoreError> {
        self.find_cloud_connection(viewer, id).await?;
        let (workspace, kind) = (&viewer.workspace_id, new.secret_kind);
        let standing = self.find_vault_credential(workspace, id, kind).await?;
        let actual = standing.map_or(0, |standing| standing.version);
        if actual != new.expected_version {
            return Err(StoreError::VersionMoved { what: "credential", expected: new.expected_version, actual });
        }
        let tmk_gen = u64::from(new.tmk_gen);
        if actual == 0 {
            let values = bind![workspace, id, kind.as_str(), new.dek, new.payload, new.commitment, tmk_gen, now_ms];
            self.execute_one(&INSERT_VAULT_CREDENTIAL, values).await?;
        } else {
            let values =
                bind![workspace, id, kind.as_str(), actual, new.dek, new.payload, new.commitment, tmk_gen, now_ms];
            self.execute_one(&REPLACE_VAULT_CREDENTIAL, values).await?;
        }
        Ok(actual + 1)
    }

    /// Deletes one secret that the new credential does not have any more.
    pub(crate) async fn delete_vault_credential(
        &mut self,
        viewer: &Viewer,
        id: &ConnectionId,
        kind: SecretKind,
    ) -> Result<(), StoreError> {
        self.find_cloud_connection(viewer, id).await?;
        let values = bind![&viewer.workspace_id, id, kind.as_str()];
        self.execute(&DELETE_VAULT_CREDENTIAL, values).await.map(|_| ())
    }

    /// Replaces the wrap of a data key, if it is still the one that was read (2.a.5). `false`: somebody else was faster.
    pub async fn rewrap_vault_credential(
        &mut self,
        workspace: &WorkspaceId,
        id: &ConnectionId,
        rewrap: Rewrap<'_>,
    ) -> Result<bool, StoreError> {
        let (kind, tmk_gen) = (rewrap.secret_kind.as_str(), u64::from(rewrap.tmk_gen));
        let values = bind![workspace, id, kind, rewrap.old_dek, rewrap.dek, tmk_gen];
        Ok(self.execute(&REWRAP_VAULT_CREDENTIAL, values).await? == 1)
    }

    /// Deletes every sealed secret of a connection and everything about its grant (2.a.6). Part of its revocation; repeating it changes nothing.
    pub(super) async fn shred_vault(&mut self, workspace: &WorkspaceId, id: &ConnectionId) -> Result<(), StoreError> {
        self.execute(&SHRED_VAULT_CREDENTIALS, bind![workspace, id]).await?;
        self.execute(&DELETE_OAUTH, bind![workspace, id]).await?;
        self.delete_oauth_txns(workspace, id).await
    }

    /// A connection of the viewer's own, of this profile, that stands.
    async fn find_cloud_connection(&mut self, viewer: &Viewer, id: &ConnectionId) -> Result<(), StoreError> {
        let standing = self.find_open(viewer, id).await?;
        match standing.profile {
            Profile::CloudProxy => Ok(()),
            Profile::DeviceDirect => Err(StoreError::WrongState { what: "connection", state: "sealed on devices" }),
        }
    }
}

/// A new wrap of a data key.
#[derive(Debug, Clone, Copy)]
pub struct Rewrap<'a> {
    /// Which of the connection's secrets.
    pub secret_kind: SecretKind,
    /// The wrap that was read.
    pub old_dek: &'a [u8],
    /// The new one.
    pub dek: &'a [u8],
    /// Its generation.
    pub tmk_gen: u32,
}

impl TryFrom<&Row> for ConnectionOAuth {
    type Error = StoreError;

    fn try_from(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            issuer: row.text("issuer")?,
            client_id: row.text("client_id")?,
            client_identity: row.parsed("client_identity", ClientIdentityKind::parse)?,
            client_auth: row.parsed("client_auth", ClientAuthMethod::parse)?,
            scopes: row.parsed("scopes", parse_scopes)?,
            subject: row.optional_text("subject")?,
            revocation: row.parsed("revocation", RevocationReach::parse)?,
            reuse_safe: truth(row, "reuse_safe")?,
        })
    }
}

impl TryFrom<&Row> for VaultCredential {
    type Error = StoreError;

    fn try_from(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            secret_kind: row.parsed("secret_kind", SecretKind::parse)?,
            version: row.count("version")?,
            dek: row.bytes("dek")?,
            payload: row.bytes("payload")?,
            commitment: row.digest("commitment")?,
            tmk_gen: generation(row)?,
            updated_at_ms: row.int("updated_at_ms")?,
        })
    }
}

pub(super) fn generation(row: &Row) -> Result<u32, StoreError> {
    u32::try_from(row.int("tmk_gen")?).map_err(|_| row.inconsistent("tmk_gen"))
}

pub(super) fn truth(row: &Row, column: &'static str) -> Result<bool, StoreError> {
    match row.int(column)? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(row.inconsistent(column)),
    }
}

pub(super) fn scopes_text(scopes: &[String]) -> String {
    Json::Array(scopes.iter().map(|scope| Json::from(scope.as_str())).collect()).canonical_string()
}

pub(super) fn parse_scopes(text: &str) -> Option<Vec<String>> {
    let json = parse_json(text)?;
    let items = json.as_array()?;
    if items.len() > limits::OAUTH_SCOPES_MAX {
        return None;
    }
    items.iter().map(|item| item.as_str().map(str::to_owned)).collect()
}
