//! What this device holds of one connection, and whether it may be used at all. Opens nothing.

use crate::db::Db;
use crate::db::copy::{HighWater, StoredCredential};
use crate::error::CliError;
use crate::mirror;
use crate::opening::Directory;
use contract::Code;
use contract::connection::{ConnectionRow, Profile, Scope, SignedWire, Status};
use contract::ids::{ConnectionId, WorkspaceId};

/// One connection, as this device holds it.
#[derive(Debug, Clone)]
pub struct Held {
    /// The workspace it is in.
    pub workspace: WorkspaceId,
    /// The row as last served.
    pub row: ConnectionRow,
    /// The signed review that stood last; while the row shows one, the same.
    pub last_review: Option<SignedWire>,
    /// The sealed credential.
    pub credential: Option<StoredCredential>,
    /// The highest review and credential this device ever accepted.
    pub marks: HighWater,
    /// Keys of the account's devices.
    pub directory: Directory,
}

impl Held {
    /// Reads it from the copy.
    pub async fn find(db: &mut Db, workspace: &WorkspaceId, id: &ConnectionId) -> Result<Self, CliError> {
        let rows = db.list_connections(workspace).await?;
        let row = rows.into_iter().find(|row| row.id == *id).ok_or_else(|| mirror::not_found(id))?;
        Ok(Self {
            workspace: workspace.clone(),
            last_review: db.find_last_review(id).await?,
            credential: db.find_credential(id).await?,
            marks: db.find_high_water(id).await?,
            directory: db.find_directory().await?,
            row,
        })
    }

    /// Whether its tools may be called: opened on devices, reviewed, not over.
    pub fn check_usable(&self) -> Result<(), CliError> {
        let Self { row, .. } = self;
        match row.transport {
            Profile::DeviceDirect => {}
            Profile::CloudProxy => {
                return Err(CliError::new(
                    Code::Unsupported,
                    format!("`{}` is of the cloud_proxy profile, which this version does not call", row.name),
                )
                .hint("share the server again with `--transport device_direct`"));
            }
        }
        match row.status {
            Status::Active => Ok(()),
            Status::Revoked => Err(CliError::new(Code::ConnectionRevoked, format!("`{}` was revoked", row.name))
                .hint(format!("share the server again: collie online share-mcp NAME --url {}", row.endpoint))),
            Status::ReviewRequired => Err(CliError::new(
                Code::ReviewRequired,
                format!("nobody has reviewed what the server of `{}` offers now; its tools cannot be called", row.name),
            )
            .hint(who_can_lift(row))),
        }
    }

    /// The sealed credential, which a usable connection has.
    pub fn credential(&self) -> Result<&StoredCredential, CliError> {
        self.credential.as_ref().ok_or_else(|| {
            CliError::new(
                Code::NotFound,
                format!("the sealed credential of `{}` is not on this device yet", self.row.name),
            )
            .hint("run `collie online connections` while the service answers")
        })
    }
}

/// Who can lift a block, and the command.
#[must_use]
pub(super) fn who_can_lift(row: &ConnectionRow) -> String {
    let who = match row.scope {
        Scope::Personal => "you, on any of your devices",
        Scope::Project => "the person who shared it, on any of their devices",
    };
    format!(
        "{who}: look by `collie online connection-review {} --diff`, decide by `collie online connection-review {}`",
        row.id, row.id
    )
}
