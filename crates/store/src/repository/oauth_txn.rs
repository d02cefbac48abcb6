//! Sign-ins in progress, credentials that wait for their review, and tokens that wait to be revoked at their provider. Each row is taken once; none outlives its end.

use super::{
    Viewer,
    vault::{ClientAuthMethod, ClientIdentityKind, column_words, generation, parse_scopes, scopes_text},
};
use crate::{
    engine::{ReadTx, Row, Tx, bind, statements},
    error::StoreError,
};
use contract::{
    blob::SecretKind,
    ids::{ConnectionId, DeviceId, UserId, WorkspaceId},
    limits,
};

macro_rules! columns {
    () => {
        "id, workspace_id, connection_id, user_id, device_id, purpose, secret_kind, endpoint, issuer, client_id, client_identity, client_auth,
         scopes, subject, dek, payload, tmk_gen, created_at_ms, expires_at_ms"
    };
}

statements! {
    Read "oauth_txn" COUNT_OAUTH_TXNS = "SELECT COUNT(*) AS number FROM oauth_txn WHERE workspace_id = $1 AND expires_at_ms > $2";
    Read "oauth_txn" FIND_OAUTH_TXN =
        concat!("SELECT ", columns!(), " FROM oauth_txn WHERE id = $1 AND purpose = $2 AND expires_at_ms > $3");
    Read "oauth_txn" LIST_WAITING =
        concat!("SELECT ", columns!(), " FROM oauth_txn WHERE workspace_id = $1 AND user_id = $2 AND connection_id = $3
         AND purpose = 'waiting_credential' AND expires_at_ms > $4 ORDER BY created_at_ms, id LIMIT $5");
    Read "oauth_txn" LIST_REVOCATIONS = concat!("SELECT ", columns!(), " FROM oauth_txn WHERE purpose = 'revocation' AND expires_at_ms > $1
         ORDER BY created_at_ms, id LIMIT $2");
    Upkeep(SignIn) "oauth_txn" INSERT_OAUTH_TXN = concat!("INSERT INTO oauth_txn (", columns!(), ")
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)");
    // One statement finds and removes, so that of two callers one gets the row.
    Upkeep(SignIn) "oauth_txn" TAKE_OAUTH_TXN =
        concat!("DELETE FROM oauth_txn WHERE id = $1 AND purpose = $2 AND expires_at_ms > $3 RETURNING ", columns!());
    Upkeep(SignIn) "oauth_txn" DELETE_OAUTH_TXNS = "DELETE FROM oauth_txn WHERE workspace_id = $1 AND connection_id = $2";
    Upkeep(SignIn) "oauth_txn" SWEEP_OAUTH_TXNS = "DELETE FROM oauth_txn WHERE expires_at_ms <= $1";
}

column_words! {
    /// What a transient secret waits for.
    OAuthTxnPurpose {
        /// The answer of an authorization server. Its id is the digest of the state.
        Authorization = "authorization",
        /// A review. Opens for tools/list and for the re-seal.
        WaitingCredential = "waiting_credential",
        /// Its revocation at the provider, after the connection has ended here.
        Revocation = "revocation",
    }
}

/// A transient secret with what it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OAuthTxn {
    /// Its id: the digest of the state for an authorization, else any.
    pub id: String,
    /// The tenant.
    pub workspace_id: WorkspaceId,
    /// A draft's or a connection's id.
    pub connection_id: ConnectionId,
    /// Whose sign-in.
    pub user_id: UserId,
    /// The device that asked for it.
    pub device_id: DeviceId,
    /// What it waits for.
    pub purpose: OAuthTxnPurpose,
    /// What kind of secret it is.
    pub secret_kind: SecretKind,
    /// Canonical resource URI.
    pub endpoint: String,
    /// The issuer; empty for a static credential.
    pub issuer: String,
    /// The client at that issuer; empty for a static credential.
    pub client_id: String,
    /// Where the client comes from and how it shows itself; absent for a static credential.
    pub client: Option<(ClientIdentityKind, ClientAuthMethod)>,
    /// The scopes that were asked for, or granted.
    pub scopes: Vec<String>,
    /// Whom the issuer named.
    pub subject: Option<String>,
    /// The wrapped data key (type 02).
    pub dek: Vec<u8>,
    /// The sealed payload (type 04).
    pub payload: Vec<u8>,
    /// Generation of the tenant key.
    pub tmk_gen: u32,
    /// Unix milliseconds.
    pub created_at_ms: i64,
    /// Unix milliseconds.
    pub expires_at_ms: i64,
}

impl ReadTx {
    /// A row that stands, without taking it. Its secret still opens only in the session that it was sealed for.
    pub async fn find_oauth_txn(
        &mut self,
        id: &str,
        purpose: OAuthTxnPurpose,
        now_ms: i64,
    ) -> Result<Option<OAuthTxn>, StoreError> {
        let row = self.find(&FIND_OAUTH_TXN, bind![id, purpose.as_str(), now_ms]).await?;
        row.map(|row| OAuthTxn::try_from(&row)).transpose()
    }

    /// The credentials of this person that wait for the review of one connection, oldest first: one row for each kind of secret.
    pub async fn list_waiting_credentials(
        &mut self,
        viewer: &Viewer,
        id: &ConnectionId,
        now_ms: i64,
    ) -> Result<Vec<OAuthTxn>, StoreError> {
        let max = limits::OAUTH_TXNS_PER_WORKSPACE_MAX;
        let values = bind![&viewer.workspace_id, &viewer.user_id, id, now_ms, max];
        self.list(&LIST_WAITING, values).await?.iter().map(OAuthTxn::try_from).collect()
    }

    /// Tokens that still wait to be revoked at their providers, oldest first.
    pub async fn list_revocations(&mut self, now_ms: i64) -> Result<Vec<OAuthTxn>, StoreError> {
        let max = limits::OAUTH_TXNS_PER_WORKSPACE_MAX;
        self.list(&LIST_REVOCATIONS, bind![now_ms, max]).await?.iter().map(OAuthTxn::try_from).collect()
    }
}

impl Tx {
    /// Keeps a transient secret until its end. Upkeep. A full workspace refuses the next one.
    pub async fn insert_oauth_txn(&mut self, new: &OAuthTxn) -> Result<(), StoreError> {
        let standing = self.count(&COUNT_OAUTH_TXNS, bind![&new.workspace_id, new.created_at_ms]).await?;
        let max = limits::OAUTH_TXNS_PER_WORKSPACE_MAX;
        // A revocation must not fail because sign-ins fill the table.
        if standing >= max && new.purpose != OAuthTxnPurpose::Revocation {
            return Err(StoreError::Full { what: "sign-ins in progress", max });
        }
        let values = bind![
            &new.id,
            &new.workspace_id,
            &new.connection_id,
            &new.user_id,
            &new.device_id,
            new.purpose.as_str(),
            new.secret_kind.as_str(),
            &new.endpoint,
            &new.issuer,
            &new.client_id,
            new.client.map(|(identity, _)| identity.as_str()),
            new.client.map(|(_, auth)| auth.as_str()),
            scopes_text(&new.scopes),
            new.subject.as_deref(),
            &new.dek[..],
            &new.payload[..],
            u64::from(new.tmk_gen),
            new.created_at_ms,
            new.expires_at_ms,
        ];
        self.execute_one(&INSERT_OAUTH_TXN, values).await
    }

    /// Takes a row that stands: of all callers, ever, one gets it. Upkeep.
    pub async fn take_oauth_txn(
        &mut self,
        id: &str,
        purpose: OAuthTxnPurpose,
        now_ms: i64,
    ) -> Result<Option<OAuthTxn>, StoreError> {
        let row = self.returning(&TAKE_OAUTH_TXN, bind![id, purpose.as_str(), now_ms]).await?;
        row.map(|row| OAuthTxn::try_from(&row)).transpose()
    }

    /// Forgets what is in progress for a connection. Upkeep.
    pub async fn delete_oauth_txns(&mut self, workspace: &WorkspaceId, id: &ConnectionId) -> Result<(), StoreError> {
        self.execute(&DELETE_OAUTH_TXNS, bind![workspace, id]).await.map(|_| ())
    }

    /// Deletes what is over. Upkeep.
    pub async fn sweep_oauth_txns(&mut self, now_ms: i64) -> Result<u64, StoreError> {
        self.execute(&SWEEP_OAUTH_TXNS, bind![now_ms]).await
    }
}

impl TryFrom<&Row> for OAuthTxn {
    type Error = StoreError;

    fn try_from(row: &Row) -> Result<Self, StoreError> {
        let identity = row.optional_parsed("client_identity", ClientIdentityKind::parse)?;
        let auth = row.optional_parsed("client_auth", ClientAuthMethod::parse)?;
        Ok(Self {
            id: row.text("id")?,
            workspace_id: row.id("workspace_id")?,
            connection_id: row.id("connection_id")?,
            user_id: row.id("user_id")?,
            device_id: row.id("device_id")?,
            purpose: row.parsed("purpose", OAuthTxnPurpose::parse)?,
            secret_kind: row.parsed("secret_kind", SecretKind::parse)?,
            endpoint: row.text("endpoint")?,
            issuer: row.text("issuer")?,
            client_id: row.text("client_id")?,
            client: identity.zip(auth),
            scopes: row.parsed("scopes", parse_scopes)?,
            subject: row.optional_text("subject")?,
            dek: row.bytes("dek")?,
            payload: row.bytes("payload")?,
            tmk_gen: generation(row)?,
            created_at_ms: row.int("created_at_ms")?,
            expires_at_ms: row.int("expires_at_ms")?,
        })
    }
}
