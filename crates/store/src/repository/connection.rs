//! Connections: who sees one, who may change one, and each change as one compare-and-set. A row never grants anything; the signed review does.

use super::{
    Viewer,
    credential::{NewCredential, StoredVersion},
    device::Revocation,
};
use crate::{
    engine::{ReadTx, Row, Tx, bind, statements},
    error::StoreError,
};
use contract::{
    Digest, Effect, Json, cjson,
    connection::{Profile, Scope, SealFormat, SignedWire, Status},
    ids::{ConnectionId, DeviceId, ProjectId, UserId},
    limits,
};

macro_rules! columns {
    () => {
        "SELECT c.id, c.user_id, c.name, c.scope, c.project_id, c.profile, c.endpoint, c.manifest, c.manifest_digest, c.reviewed_digest, c.status,
         c.allowed_effects, c.seal_format, c.version, c.raw_digest, c.reviewed_raw_digest, c.review, c.review_digest, c.review_seq, c.reviewed_by,
         c.created_by, c.created_at_ms, c.updated_at_ms, COALESCE(k.version,
         (SELECT v.version FROM vault_credential v WHERE v.workspace_id = c.workspace_id AND v.connection_id = c.id AND v.secret_kind = 'oauth'),
         (SELECT MAX(v.version) FROM vault_credential v WHERE v.workspace_id = c.workspace_id AND v.connection_id = c.id), 0) AS credential_version
         FROM connection c LEFT JOIN connection_credential k ON k.workspace_id = c.workspace_id AND k.connection_id = c.id "
    };
}

/// What a viewer ($1 workspace, $2 person) sees: their own personal connections and those of their projects.
macro_rules! visible {
    () => {
        "WHERE c.workspace_id = $1 AND ((c.scope = 'personal' AND c.user_id = $2) OR (c.scope = 'project' AND EXISTS (SELECT 1 FROM project_member p
         WHERE p.workspace_id = c.workspace_id AND p.project_id = c.project_id AND p.user_id = $2))) "
    };
}

statements! {
    Read "connection" FIND_CONNECTION = concat!(columns!(), visible!(), "AND c.id = $3");
    Read "connection" LIST_CONNECTIONS =
        concat!(columns!(), visible!(), "AND c.status <> 'revoked' ORDER BY c.created_at_ms, c.id LIMIT $3");
    Read "connection" FIND_RAW_MANIFEST = concat!("SELECT c.id, c.raw_manifest, c.raw_digest FROM connection c ", visible!(), "AND c.id = $3");
    Read "connection" COUNT_CONNECTIONS = "SELECT COUNT(*) AS number FROM connection WHERE workspace_id = $1 AND status <> 'revoked'";
    // What a row weighs in a list answer; 1200 bytes stand for its ids, digests and words.
    Read "connection" COUNT_ROW_BYTES =
        "SELECT COALESCE(CAST(SUM(OCTET_LENGTH(manifest) + OCTET_LENGTH(COALESCE(review, '')) + OCTET_LENGTH(name) + OCTET_LENGTH(endpoint) + 1200)
         AS BIGINT), 0) AS number FROM connection
         WHERE workspace_id = $1 AND status <> 'revoked' AND scope = $3 AND (scope = 'project' OR user_id = $2)";
    Read "connection" FIND_TAKEN = "SELECT id FROM connection WHERE workspace_id = $1 AND id = $2";
    Write "connection" INSERT_CONNECTION =
        "INSERT INTO connection (workspace_id, id, user_id, name, scope, project_id, profile, endpoint, manifest, manifest_digest, status, allowed_effects,
         seal_format, version, review_seq, created_by, created_at_ms, updated_at_ms)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'review_required', '[]', $11, 1, 0, $12, $13, $13)";
    Write "connection" REVIEW_PUBLIC =
        "UPDATE connection SET status = 'active', reviewed_digest = manifest_digest, allowed_effects = $4, reviewed_by = $5, updated_at_ms = $6,
         version = version + 1 WHERE workspace_id = $1 AND id = $2 AND version = $3 AND status <> 'revoked'";
    Write "connection" REVIEW_SIGNED =
        "UPDATE connection SET status = 'active', manifest = $4, manifest_digest = $5, reviewed_digest = $5, raw_manifest = $6, raw_digest = $7,
         reviewed_raw_digest = $7, review = $8, review_digest = $9, review_seq = $10, allowed_effects = $11, reviewed_by = $12, updated_at_ms = $13,
         version = version + 1 WHERE workspace_id = $1 AND id = $2 AND version = $3 AND review_seq = $10 - 1 AND status <> 'revoked'";
    Write "connection" LIFT_REVIEW =
        "UPDATE connection SET status = 'review_required', reviewed_digest = NULL, reviewed_raw_digest = NULL, updated_at_ms = $4,
         version = version + 1 WHERE workspace_id = $1 AND id = $2 AND version = $3 AND status = 'active'";
    Write "connection" REVOKE_CONNECTION =
        "UPDATE connection SET status = 'revoked', reviewed_digest = NULL, reviewed_raw_digest = NULL, updated_at_ms = $4,
         version = version + 1 WHERE workspace_id = $1 AND id = $2 AND version = $3 AND status <> 'revoked'";
    Write "connection" BUMP_VERSION =
        "UPDATE connection SET version = version + 1, updated_at_ms = $4 WHERE workspace_id = $1 AND id = $2 AND version = $3 AND status <> 'revoked'";
}

/// A connection as its viewer sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connection {
    /// Id, unique in its workspace.
    pub id: ConnectionId,
    /// Whose credential it uses: the person who made it.
    pub user_id: UserId,
    /// Name.
    pub name: String,
    /// Personal or project.
    pub scope: Scope,
    /// The project, exactly for project scope.
    pub project_id: Option<ProjectId>,
    /// Where its credential is opened.
    pub profile: Profile,
    /// Canonical resource URI.
    pub endpoint: String,
    /// The public client's tool rows.
    pub manifest: Vec<Json>,
    /// The public client's digest of them.
    pub manifest_digest: Digest,
    /// The same digest while a review stands.
    pub reviewed_digest: Option<Digest>,
    /// State.
    pub status: Status,
    /// What may run without asking, mildest first.
    pub allowed_effects: Vec<Effect>,
    /// Fixed at creation.
    pub seal_format: SealFormat,
    /// +1 with every change.
    pub version: u64,
    /// Digest of the stored raw manifest.
    pub raw_digest: Option<Digest>,
    /// The same digest while a signed review stands.
    pub reviewed_raw_digest: Option<Digest>,
    /// The newest signed review, standing or not.
    pub review: Option<StoredReview>,
    /// Its number; 0 when there is none.
    pub review_seq: u64,
    /// The device that reviewed last.
    pub reviewed_by: Option<DeviceId>,
    /// The device that made it.
    pub created_by: DeviceId,
    /// Unix milliseconds.
    pub created_at_ms: i64,
    /// Unix milliseconds.
    pub updated_at_ms: i64,
    /// Version of the stored credential, of its grant where the service keeps it; 0 when there is none.
    pub credential_version: u64,
}

/// A signed review as it was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredReview {
    /// The signed object.
    pub wire: SignedWire,
    /// Digest of the signed record, CTX tag 16.
    pub digest: Digest,
}

/// What a new connection begins with. It is in `review_required`.
#[derive(Debug, Clone, Copy)]
pub struct NewConnection<'a> {
    /// Its id.
    pub id: &'a ConnectionId,
    /// 1 to 200 characters.
    pub name: &'a str,
    /// Its project; personal without one.
    pub project_id: Option<&'a ProjectId>,
    /// Where its credential is opened.
    pub profile: Profile,
    /// Canonical resource URI.
    pub endpoint: &'a str,
    /// The public client's tool rows, sorted by name.
    pub manifest: &'a [Json],
    /// The public client's digest of them.
    pub manifest_digest: &'a Digest,
    /// Fixed from now on.
    pub seal_format: SealFormat,
    /// The device that makes it.
    pub device_id: &'a DeviceId,
}

/// A whole signed review: it lands with its credential or not at all.
#[derive(Debug, Clone, Copy)]
pub struct NewReview<'a, C = NewCredential<'a>> {
    /// The row version it replaces.
    pub expected_version: u64,
    /// The public client's rows of the reviewed tools.
    pub manifest: &'a [Json],
    /// The public client's digest of them.
    pub manifest_digest: &'a Digest,
    /// The raw manifest.
    pub raw_manifest: &'a Json,
    /// Its digest.
    pub raw_digest: &'a Digest,
    /// The signed record.
    pub review: &'a SignedWire,
    /// The record's digest.
    pub review_digest: &'a Digest,
    /// The standing number + 1.
    pub review_seq: u64,
    /// What may run without asking.
    pub allowed_effects: &'a [Effect],
    /// The device that signed.
    pub device_id: &'a DeviceId,
    /// The credential, sealed under this review.
    pub credential: C,
}

/// What a drift report did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drift {
    /// The review no longer stands.
    Lifted {
        /// Its number.
        review_seq: u64,
    },
    /// The report fits what stands, or is about a review that no longer does; nothing was written.
    NothingToDo,
}

impl ReadTx {
    /// A connection that the viewer sees, revoked ones included.
    pub async fn find_connection(
        &mut self,
        viewer: &Viewer,
        id: &ConnectionId,
    ) -> Result<Option<Connection>, StoreError> {
        let row = self.find(&FIND_CONNECTION, bind![&viewer.workspace_id, &viewer.user_id, id]).await?;
        row.map(|row| Connection::try_from(&row)).transpose()
    }

    /// Every connection that the viewer sees and that is not revoked, oldest first.
    pub async fn list_connections(&mut self, viewer: &Viewer) -> Result<Vec<Connection>, StoreError> {
        let values = bind![&viewer.workspace_id, &viewer.user_id, limits::CONNECTIONS_PER_WORKSPACE_MAX];
        self.list(&LIST_CONNECTIONS, values).await?.iter().map(Connection::try_from).collect()
    }

    /// The stored raw manifest of a connection with its digest, in canonical form.
    pub async fn find_raw_manifest(
        &mut self,
        viewer: &Viewer,
        id: &ConnectionId,
    ) -> Result<Option<(Json, Digest)>, StoreError> {
        let row = self.find(&FIND_RAW_MANIFEST, bind![&viewer.workspace_id, &viewer.user_id, id]).await?;
        let Some(row) = row else { return Ok(None) };
        let manifest = row.optional_parsed("raw_manifest", parse_json)?;
        Ok(manifest.zip(row.optional_digest("raw_digest")?))
    }

    /// Bytes that the rows of one scope take in a list answer: the viewer's own personal connections, or those of all projects of the workspace.
    pub async fn count_row_bytes(&mut self, viewer: &Viewer, scope: Scope) -> Result<u64, StoreError> {
        self.count(&COUNT_ROW_BYTES, bind![&viewer.workspace_id, &viewer.user_id, scope.as_str()]).await
    }
}

impl Tx {
    /// Makes a connection for the viewer, in `review_required`.
    pub async fn insert_connection(
        &mut self,
        viewer: &Viewer,
        new: NewConnection<'_>,
        now_ms: i64,
    ) -> Result<Connection, StoreError> {
        if let Some(project) = new.project_id {
            self.find_project(viewer, project).await?.ok_or(StoreError::NotVisible { what: "project" })?;
        }
        if self.count(&COUNT_CONNECTIONS, bind![&viewer.workspace_id]).await? >= limits::CONNECTIONS_PER_WORKSPACE_MAX {
            return Err(StoreError::Full { what: "connections", max: limits::CONNECTIONS_PER_WORKSPACE_MAX });
        }
        if self.find(&FIND_TAKEN, bind![&viewer.workspace_id, new.id]).await?.is_some() {
            return Err(StoreError::AlreadyThere { what: "connection" });
        }
        let scope = if new.project_id.is_some() { Scope::Project } else { Scope::Personal };
        let values = bind![
            &viewer.workspace_id,
            new.id,
            &viewer.user_id,
            new.name,
            scope.as_str(),
            new.project_id,
            new.profile.as_str(),
            new.endpoint,
            rows_text(new.manifest),
            new.manifest_digest,
            new.seal_format.as_str(),
            new.device_id,
            now_ms,
        ];
        self.execute_one(&INSERT_CONNECTION, values).await?;
        self.find_own(viewer, new.id).await
    }

    /// The public client's review: `digest` must be the digest that stands, and the connection must be sealed in v1.
    pub async fn review_public(
        &mut self,
        viewer: &Viewer,
        id: &ConnectionId,
        review: PublicReview<'_>,
        now_ms: i64,
    ) -> Result<Connection, StoreError> {
        let standing = self.find_open(viewer, id).await?;
        if standing.seal_format != SealFormat::V1 {
            return Err(StoreError::WrongState { what: "connection", state: "sealed in v2" });
        }
        if standing.manifest_digest != *review.digest {
            return Err(StoreError::WrongState { what: "connection", state: "another manifest" });
        }
        let effects = effects_text(review.allowed_effects);
        let values = bind![&viewer.workspace_id, id, standing.version, effects, review.device_id, now_ms];
        self.execute_one(&REVIEW_PUBLIC, values).await?;
        self.find_own(viewer, id).await
    }

    /// A signed review with its raw manifest and its credential: all of it or nothing, on exactly the version the device saw.
    pub async fn review_signed(
        &mut self,
        viewer: &Viewer,
        id: &ConnectionId,
        new: NewReview<'_>,
        now_ms: i64,
    ) -> Result<(Connection, StoredVersion), StoreError> {
        let standing = self.land_review(viewer, id, &new, now_ms).await?;
        let written = self.write_credential(viewer, &standing, new.credential, now_ms).await?;
        Ok((self.find_own(viewer, id).await?, written))
    }

    /// The row's half of a signed review. Says what stood before.
    pub(super) async fn land_review<C: Sync>(
        &mut self,
        viewer: &Viewer,
        id: &ConnectionId,
        new: &NewReview<'_, C>,
        now_ms: i64,
    ) -> Result<Connection, StoreError> {
        let standing = self.find_open_at(viewer, id, new.expected_version).await?;
        if new.review_seq != standing.review_seq + 1 {
            return Err(StoreError::VersionMoved {
                what: "review",
                expected: new.review_seq.saturating_sub(1),
                actual: standing.review_seq,
            });
        }
        self.check_not_refreshing(viewer, &standing).await?;
        let signed = cjson::to_canonical(new.review).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let values = bind![
            &viewer.workspace_id,
            id,
            standing.version,
            rows_text(new.manifest),
            new.manifest_digest,
            new.raw_manifest.canonical_string(),
            new.raw_digest,
            signed.as_deref(),
            new.review_digest,
            new.review_seq,
            effects_text(new.allowed_effects),
            new.device_id,
            now_ms,
        ];
        self.execute_one(&REVIEW_SIGNED, values).await?;
        Ok(standing)
    }

    /// Replaces the sealed credential under the standing review. `expected_version` is absent for the public client, which does not know it.
    pub async fn seal_credential(
        &mut self,
        viewer: &Viewer,
        id: &ConnectionId,
        expected_version: Option<u64>,
        credential: NewCredential<'_>,
        now_ms: i64,
    ) -> Result<(Connection, StoredVersion), StoreError> {
        let standing = match expected_version {
            Some(version) => self.find_open_at(viewer, id, version).await?,
            None => self.find_open(viewer, id).await?,
        };
        self.check_not_refreshing(viewer, &standing).await?;
        self.bump_version(viewer, &standing, now_ms).await?;
        let written = self.write_credential(viewer, &standing, credential, now_ms).await?;
        Ok((self.find_own(viewer, id).await?, written))
    }

    /// A device of any viewer read `raw_digest` where `review_digest` stands. It can only narrow.
    pub async fn report_drift(
        &mut self,
        viewer: &Viewer,
        id: &ConnectionId,
        seen: DriftSeen<'_>,
        now_ms: i64,
    ) -> Result<Drift, StoreError> {
        let standing = self.find_connection(viewer, id).await?.ok_or(StoreError::NotVisible { what: "connection" })?;
        // A review of the public client has no digest of its own; its digest of the rows names it.
        let about_standing = match (&standing.reviewed_raw_digest, &standing.review) {
            (Some(_), Some(review)) => review.digest == *seen.review_digest,
            (Some(_) | None, _) => standing.reviewed_digest.as_ref() == Some(seen.review_digest),
        };
        if standing.status != Status::Active
            || !about_standing
            || standing.reviewed_raw_digest.as_ref() == Some(seen.raw_digest)
        {
            return Ok(Drift::NothingToDo);
        }
        self.execute_one(&LIFT_REVIEW, bind![&viewer.workspace_id, id, standing.version, now_ms]).await?;
        Ok(Drift::Lifted { review_seq: standing.review_seq })
    }

    /// Ends a connection for good and deletes its sealed credential. Repeating it changes nothing.
    pub async fn revoke_connection(
        &mut self,
        viewer: &Viewer,
        id: &ConnectionId,
        now_ms: i64,
    ) -> Result<Revocation, StoreError> {
        let standing = self.find_own(viewer, id).await?;
        if standing.status == Status::Revoked {
            return Ok(Revocation::Before);
        }
        self.execute_one(&REVOKE_CONNECTION, bind![&viewer.workspace_id, id, standing.version, now_ms]).await?;
        self.delete_credential(viewer, id).await?;
        self.shred_vault(&viewer.workspace_id, id).await?;
        self.end_loans(&viewer.workspace_id, id, now_ms).await?;
        self.delete_refresh(viewer, id).await?;
        Ok(Revocation::Now { families: 0 })
    }

    /// Moves the version for a write that changes nothing else in the row.
    pub(super) async fn bump_version(
        &mut self,
        viewer: &Viewer,
        standing: &Connection,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        let values = bind![&viewer.workspace_id, &standing.id, standing.version, now_ms];
        self.execute_one(&BUMP_VERSION, values).await
    }

    /// A connection that the viewer sees and may change: until project keys exist, only the person whose credential it uses.
    pub(super) async fn find_own(&mut self, viewer: &Viewer, id: &ConnectionId) -> Result<Connection, StoreError> {
        let standing = self.find_connection(viewer, id).await?.ok_or(StoreError::NotVisible { what: "connection" })?;
        if standing.user_id == viewer.user_id { Ok(standing) } else { Err(StoreError::Outranked) }
    }

    pub(super) async fn find_open(&mut self, viewer: &Viewer, id: &ConnectionId) -> Result<Connection, StoreError> {
        let standing = self.find_own(viewer, id).await?;
        match standing.status {
            Status::ReviewRequired | Status::Active => Ok(standing),
            Status::Revoked => Err(StoreError::WrongState { what: "connection", state: Status::Revoked.as_str() }),
        }
    }

    async fn find_open_at(
        &mut self,
        viewer: &Viewer,
        id: &ConnectionId,
        expected: u64,
    ) -> Result<Connection, StoreError> {
        let standing = self.find_open(viewer, id).await?;
        if standing.version == expected {
            return Ok(standing);
        }
        Err(StoreError::VersionMoved { what: "connection", expected, actual: standing.version })
    }
}

/// What a device saw when it compared.
#[derive(Debug, Clone, Copy)]
pub struct DriftSeen<'a> {
    /// Digest of the manifest that was read.
    pub raw_digest: &'a Digest,
    /// The review it was compared with.
    pub review_digest: &'a Digest,
}

/// The public client's review.
#[derive(Debug, Clone, Copy)]
pub struct PublicReview<'a> {
    /// The digest it reviewed.
    pub digest: &'a Digest,
    /// What may run without asking.
    pub allowed_effects: &'a [Effect],
    /// The device that reviewed.
    pub device_id: &'a DeviceId,
}

impl TryFrom<&Row> for Connection {
    type Error = StoreError;

    fn try_from(row: &Row) -> Result<Self, StoreError> {
        let wire =
            row.optional_parsed("review", |text| cjson::from_slice::<SignedWire>(text.as_bytes(), text.len()).ok())?;
        let review =
            wire.zip(row.optional_digest("review_digest")?).map(|(wire, digest)| StoredReview { wire, digest });
        Ok(Self {
            id: row.id("id")?,
            user_id: row.id("user_id")?,
            name: row.text("name")?,
            scope: row.parsed("scope", Scope::parse)?,
            project_id: row.optional_id("project_id")?,
            profile: row.parsed("profile", Profile::parse)?,
            endpoint: row.text("endpoint")?,
            manifest: row
                .parsed("manifest", |text| parse_json(text).and_then(|json| json.as_array().map(<[Json]>::to_vec)))?,
            manifest_digest: row.digest("manifest_digest")?,
            reviewed_digest: row.optional_digest("reviewed_digest")?,
            status: row.parsed("status", Status::parse)?,
            allowed_effects: row.parsed("allowed_effects", parse_effects)?,
            seal_format: row.parsed("seal_format", SealFormat::parse)?,
            version: row.count("version")?,
            raw_digest: row.optional_digest("raw_digest")?,
            reviewed_raw_digest: row.optional_digest("reviewed_raw_digest")?,
            review,
            review_seq: row.count("review_seq")?,
            reviewed_by: row.optional_id("reviewed_by")?,
            created_by: row.id("created_by")?,
            created_at_ms: row.int("created_at_ms")?,
            updated_at_ms: row.int("updated_at_ms")?,
            credential_version: row.count("credential_version")?,
        })
    }
}

/// Reads a document this store wrote; other bytes than the canonical ones are an impossible row.
pub(super) fn parse_json(text: &str) -> Option<Json> {
    let json = cjson::parse(text.as_bytes(), text.len()).ok()?;
    (json.canonical_string() == text).then_some(json)
}

fn rows_text(rows: &[Json]) -> String {
    Json::Array(rows.to_vec()).canonical_string()
}

fn effects_text(effects: &[Effect]) -> String {
    Json::Array(effects.iter().map(|effect| Json::from(effect.as_str())).collect()).canonical_string()
}

fn parse_effects(text: &str) -> Option<Vec<Effect>> {
    parse_json(text)?.as_array()?.iter().map(|word| Effect::parse(word.as_str()?)).collect()
}
