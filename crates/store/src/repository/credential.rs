//! Sealed credentials as they were sent: one current version per connection, never older than acknowledged, never opened here.

use super::{
    Viewer,
    connection::{Connection, parse_json},
};
use crate::{
    engine::{ReadTx, Row, Tx, bind, statements},
    error::StoreError,
};
use contract::{
    Digest, Json,
    connection::SealFormat,
    ids::{ConnectionId, DeviceId},
};

statements! {
    // The person's own credential: their devices alone can open it.
    Read "connection_credential" FIND_CREDENTIAL =
        "SELECT k.connection_id, k.version, k.sealed, k.commitment, k.author_device, k.updated_at_s, c.seal_format FROM connection_credential k
         JOIN connection c ON c.workspace_id = k.workspace_id AND c.id = k.connection_id
         WHERE k.workspace_id = $1 AND c.user_id = $2 AND k.connection_id = $3 AND c.status <> 'revoked'";
    Write "connection_credential" WRITE_CREDENTIAL =
        "INSERT INTO connection_credential (workspace_id, connection_id, version, sealed, commitment, author_device, updated_at_s)
         VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (workspace_id, connection_id) DO UPDATE SET
         version = excluded.version, sealed = excluded.sealed, commitment = excluded.commitment, author_device = excluded.author_device,
         updated_at_s = CASE WHEN excluded.updated_at_s > connection_credential.updated_at_s
                        THEN excluded.updated_at_s ELSE connection_credential.updated_at_s END
         WHERE connection_credential.version = excluded.version - 1 RETURNING connection_id, version, updated_at_s";
    Write "connection_credential" DELETE_CREDENTIAL = "DELETE FROM connection_credential WHERE workspace_id = $1 AND connection_id = $2";
}

/// A stored credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredCredential {
    /// +1 with every write.
    pub version: u64,
    /// As it was sent, in canonical form.
    pub sealed: Json,
    /// Digest over its sealed form.
    pub commitment: Digest,
    /// The device that sealed it.
    pub author_device: DeviceId,
    /// Unix seconds, above 0, never lower than before.
    pub updated_at_s: u64,
    /// The connection's format.
    pub seal_format: SealFormat,
}

/// A sealed credential to store.
#[derive(Debug, Clone, Copy)]
pub struct NewCredential<'a> {
    /// The sealed form.
    pub sealed: &'a Json,
    /// Digest over it.
    pub commitment: &'a Digest,
    /// The device that sealed it.
    pub author_device: &'a DeviceId,
    /// What its format proves about itself.
    pub format: NewFormat<'a>,
}

/// What each format brings along.
#[derive(Debug, Clone, Copy)]
pub enum NewFormat<'a> {
    /// The public client's envelope. Its nonce may never come again for this person (2.b.9).
    V1 {
        /// The envelope's nonce.
        nonce: &'a [u8; 12],
    },
    /// CLV2. Its own version must be the next one.
    V2 {
        /// As in both blobs' headers.
        version: u64,
    },
}

/// Where a write landed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredVersion {
    /// Version of the credential now.
    pub version: u64,
    /// Unix seconds, above 0, never lower than before.
    pub updated_at_s: u64,
}

impl ReadTx {
    /// The sealed credential of a connection of this person. The broker decides which session class may have it.
    pub async fn find_credential(
        &mut self,
        viewer: &Viewer,
        id: &ConnectionId,
    ) -> Result<Option<StoredCredential>, StoreError> {
        let row = self.find(&FIND_CREDENTIAL, bind![&viewer.workspace_id, &viewer.user_id, id]).await?;
        row.map(|row| StoredCredential::try_from(&row)).transpose()
    }
}

impl Tx {
    /// Writes the next version. The caller has checked the connection and moved its version in this transaction.
    pub(super) async fn write_credential(
        &mut self,
        viewer: &Viewer,
        connection: &Connection,
        new: NewCredential<'_>,
        now_ms: i64,
    ) -> Result<StoredVersion, StoreError> {
        let next = connection.credential_version + 1;
        match (connection.seal_format, new.format) {
            (SealFormat::V1, NewFormat::V1 { nonce }) => self.insert_v1_nonce(&viewer.user_id, nonce).await?,
            (SealFormat::V2, NewFormat::V2 { version }) if version == next => {}
            (SealFormat::V2, NewFormat::V2 { version }) => {
                return Err(StoreError::VersionMoved {
                    what: "credential",
                    expected: version.saturating_sub(1),
                    actual: connection.credential_version,
                });
            }
            (SealFormat::V1, NewFormat::V2 { .. }) => {
                return Err(StoreError::WrongState { what: "connection", state: "sealed in v1" });
            }
            (SealFormat::V2, NewFormat::V1 { .. }) => {
                return Err(StoreError::WrongState { what: "connection", state: "sealed in v2" });
            }
        }
        let now_s = (now_ms / 1000).max(1);
        let values = bind![
            &viewer.workspace_id,
            &connection.id,
            next,
            new.sealed.canonical_string(),
            new.commitment,
            new.author_device,
            now_s,
        ];
        let row = self.returning(&WRITE_CREDENTIAL, values).await?;
        let row = row.ok_or(StoreError::Fenced { statement: "WRITE_CREDENTIAL", expected: 1, actual: 0 })?;
        Ok(StoredVersion { version: row.count("version")?, updated_at_s: row.count("updated_at_s")? })
    }

    pub(super) async fn delete_credential(&mut self, viewer: &Viewer, id: &ConnectionId) -> Result<(), StoreError> {
        self.execute(&DELETE_CREDENTIAL, bind![&viewer.workspace_id, id]).await.map(|_| ())
    }
}

impl TryFrom<&Row> for StoredCredential {
    type Error = StoreError;

    fn try_from(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            version: row.count("version")?,
            sealed: row.parsed("sealed", parse_json)?,
            commitment: row.digest("commitment")?,
            author_device: row.id("author_device")?,
            updated_at_s: row.count("updated_at_s")?,
            seal_format: row.parsed("seal_format", SealFormat::parse)?,
        })
    }
}
