//! Connections that are being made: an id before there is a manifest. A draft is one person's, in no list, and swept when nobody finishes it.

use super::Viewer;
use crate::{
    engine::{ReadTx, Row, Tx, bind, statements},
    error::StoreError,
};
use contract::{
    connection::{Profile, Scope, SealFormat},
    ids::{ConnectionId, DeviceId, ProjectId},
    limits,
};

statements! {
    Read "connection_draft" FIND_DRAFT =
        "SELECT id, name, scope, project_id, profile, endpoint, seal_format, created_by, created_at_ms, expires_at_ms FROM connection_draft
         WHERE workspace_id = $1 AND user_id = $2 AND id = $3 AND expires_at_ms > $4";
    Read "connection_draft" COUNT_DRAFTS =
        "SELECT COUNT(*) AS number FROM connection_draft WHERE workspace_id = $1 AND user_id = $2 AND expires_at_ms > $3";
    Write "connection_draft" INSERT_DRAFT =
        "INSERT INTO connection_draft (workspace_id, id, user_id, name, scope, project_id, profile, endpoint, seal_format, created_by, created_at_ms,
         expires_at_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
    Write "connection_draft" DELETE_DRAFT =
        "DELETE FROM connection_draft WHERE workspace_id = $1 AND user_id = $2 AND id = $3 AND expires_at_ms > $4";
    Upkeep(Session) "connection_draft" SWEEP_DRAFTS = "DELETE FROM connection_draft WHERE expires_at_ms <= $1";
}

/// A connection that is being made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// The id that the connection will have.
    pub id: ConnectionId,
    /// Name.
    pub name: String,
    /// Personal or project.
    pub scope: Scope,
    /// The project, exactly for project scope.
    pub project_id: Option<ProjectId>,
    /// Where its credential will be opened.
    pub profile: Profile,
    /// Canonical resource URI.
    pub endpoint: String,
    /// Format of its credential.
    pub seal_format: SealFormat,
    /// The device that made it.
    pub created_by: DeviceId,
    /// Unix milliseconds.
    pub created_at_ms: i64,
    /// Unix milliseconds; from then on it is not there.
    pub expires_at_ms: i64,
}

/// What a draft begins with.
#[derive(Debug, Clone, Copy)]
pub struct NewDraft<'a> {
    /// A fresh id.
    pub id: &'a ConnectionId,
    /// 1 to 200 characters.
    pub name: &'a str,
    /// Its project; personal without one.
    pub project_id: Option<&'a ProjectId>,
    /// Where its credential will be opened.
    pub profile: Profile,
    /// Canonical resource URI.
    pub endpoint: &'a str,
    /// Format of its credential.
    pub seal_format: SealFormat,
    /// The device that makes it.
    pub device_id: &'a DeviceId,
}

impl ReadTx {
    /// A draft of this person that has not expired.
    pub async fn find_draft(
        &mut self,
        viewer: &Viewer,
        id: &ConnectionId,
        now_ms: i64,
    ) -> Result<Option<Draft>, StoreError> {
        let row = self.find(&FIND_DRAFT, bind![&viewer.workspace_id, &viewer.user_id, id, now_ms]).await?;
        row.map(|row| Draft::try_from(&row)).transpose()
    }
}

impl Tx {
    /// Makes a draft for the viewer. [`StoreError::Full`] beyond [`limits::CONNECTION_DRAFTS_PER_USER_MAX`] of them.
    pub async fn insert_draft(&mut self, viewer: &Viewer, new: NewDraft<'_>, now_ms: i64) -> Result<Draft, StoreError> {
        if let Some(project) = new.project_id {
            self.find_project(viewer, project).await?.ok_or(StoreError::NotVisible { what: "project" })?;
        }
        let standing = self.count(&COUNT_DRAFTS, bind![&viewer.workspace_id, &viewer.user_id, now_ms]).await?;
        if standing >= limits::CONNECTION_DRAFTS_PER_USER_MAX {
            return Err(StoreError::Full { what: "connection drafts", max: limits::CONNECTION_DRAFTS_PER_USER_MAX });
        }
        let scope = if new.project_id.is_some() { Scope::Project } else { Scope::Personal };
        let ttl_ms = i64::try_from(limits::CONNECTION_DRAFT_TTL_S_MAX * 1000).unwrap_or_default();
        let values = bind![
            &viewer.workspace_id,
            new.id,
            &viewer.user_id,
            new.name,
            scope.as_str(),
            new.project_id,
            new.profile.as_str(),
            new.endpoint,
            new.seal_format.as_str(),
            new.device_id,
            now_ms,
            now_ms.saturating_add(ttl_ms),
        ];
        self.execute_one(&INSERT_DRAFT, values).await?;
        self.find_draft(viewer, new.id, now_ms).await?.ok_or(StoreError::NotVisible { what: "draft" })
    }

    /// Uses a draft up, in the transaction that makes its connection.
    pub async fn use_draft(&mut self, viewer: &Viewer, id: &ConnectionId, now_ms: i64) -> Result<(), StoreError> {
        match self.execute(&DELETE_DRAFT, bind![&viewer.workspace_id, &viewer.user_id, id, now_ms]).await? {
            1 => Ok(()),
            _ => Err(StoreError::NotVisible { what: "draft" }),
        }
    }

    /// Deletes drafts that nobody finished. Upkeep.
    pub async fn sweep_drafts(&mut self, now_ms: i64) -> Result<u64, StoreError> {
        self.execute(&SWEEP_DRAFTS, bind![now_ms]).await
    }
}

impl TryFrom<&Row> for Draft {
    type Error = StoreError;

    fn try_from(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.id("id")?,
            name: row.text("name")?,
            scope: row.parsed("scope", Scope::parse)?,
            project_id: row.optional_id("project_id")?,
            profile: row.parsed("profile", Profile::parse)?,
            endpoint: row.text("endpoint")?,
            seal_format: row.parsed("seal_format", SealFormat::parse)?,
            created_by: row.id("created_by")?,
            created_at_ms: row.int("created_at_ms")?,
            expires_at_ms: row.int("expires_at_ms")?,
        })
    }
}
