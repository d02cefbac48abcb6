//! Pinning: the reviewed row as one value, cross-checked with the signed review it carries, and the only source of what a credential is sealed and opened under.

use crate::PinError;
use contract::{
    Digest, b64u,
    blob::SecretKind,
    cjson,
    connection::{Profile, Scope, Status},
    ids::{ConnectionId, DeploymentId, ProjectId, WorkspaceId},
    limits,
    review::ReviewRecord,
};
use seal::context::CloudCredentialContext;
use sign::Verified;
use store::{Connection, ConnectionOAuth};

/// A `cloud_proxy` connection as it was reviewed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinnedRow {
    deployment: DeploymentId,
    workspace: WorkspaceId,
    project: Option<ProjectId>,
    connection: ConnectionId,
    endpoint: String,
    manifest_digest: Digest,
    review_digest: Digest,
    status: Status,
    grant: Option<Grant>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Grant {
    issuer: String,
    client_id: String,
    scopes: Vec<String>,
    subject: String,
}

impl PinnedRow {
    /// Pins a stored row under the review that it carries, standing or drifted. Where row and review disagree, somebody edited one of them.
    pub fn pin(
        deployment: &DeploymentId,
        workspace: &WorkspaceId,
        row: &Connection,
        oauth: Option<&ConnectionOAuth>,
    ) -> Result<Self, PinError> {
        let stored = row.review.as_ref().ok_or(PinError::NoReview)?;
        let payload = b64u::decode(&stored.wire.payload).map_err(|_| PinError::Mismatch { field: "review" })?;
        if Digest::of(&[&payload]) != stored.digest {
            return Err(PinError::Mismatch { field: "review_digest" });
        }
        let record = cjson::from_slice(&payload, limits::SIGNED_BODY_BYTES_MAX);
        let record: ReviewRecord = record.map_err(|_| PinError::Mismatch { field: "review" })?;
        if row.raw_digest != Some(record.raw_digest) {
            return Err(PinError::Mismatch { field: "raw_digest" });
        }
        Self::of_record(deployment, workspace, row, &record, stored.digest, oauth)
    }

    /// Pins a row under a new review that was verified and is about to be stored, to seal for it.
    pub fn pin_new_review(
        deployment: &DeploymentId,
        workspace: &WorkspaceId,
        row: &Connection,
        review: &Verified<ReviewRecord>,
        oauth: Option<&ConnectionOAuth>,
    ) -> Result<Self, PinError> {
        Self::of_record(deployment, workspace, row, review.body(), *review.digest(), oauth)
    }

    fn of_record(
        deployment: &DeploymentId,
        workspace: &WorkspaceId,
        row: &Connection,
        record: &ReviewRecord,
        review_digest: Digest,
        oauth: Option<&ConnectionOAuth>,
    ) -> Result<Self, PinError> {
        match row.profile {
            Profile::CloudProxy => {}
            Profile::DeviceDirect => return Err(PinError::Profile),
        }
        match row.status {
            Status::Active | Status::ReviewRequired => {}
            Status::Revoked => return Err(PinError::Revoked),
        }
        let scope_fits = (row.scope == Scope::Project) == row.project_id.is_some();
        let agree = [
            ("id", row.id == record.connection),
            ("scope", row.scope == record.scope && scope_fits),
            ("project_id", row.project_id == record.project),
            ("profile", row.profile == record.profile),
            ("endpoint", row.endpoint == record.endpoint),
        ];
        if let Some((field, _)) = agree.into_iter().find(|(_, same)| !same) {
            return Err(PinError::Mismatch { field });
        }
        Ok(Self {
            deployment: deployment.clone(),
            workspace: workspace.clone(),
            project: row.project_id.clone(),
            connection: row.id.clone(),
            endpoint: row.endpoint.clone(),
            manifest_digest: record.raw_digest,
            review_digest,
            status: row.status,
            grant: oauth.map(Grant::of_row),
        })
    }

    /// The tenant.
    #[must_use]
    pub const fn workspace(&self) -> &WorkspaceId {
        &self.workspace
    }

    /// The connection.
    #[must_use]
    pub const fn connection(&self) -> &ConnectionId {
        &self.connection
    }

    /// The canonical resource URI, as it was reviewed.
    #[must_use]
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Digest of the reviewed raw manifest.
    #[must_use]
    pub const fn manifest_digest(&self) -> &Digest {
        &self.manifest_digest
    }

    /// Digest of the review, CTX tag 16.
    #[must_use]
    pub const fn review_digest(&self) -> &Digest {
        &self.review_digest
    }

    /// One compare before anything is opened for a call: the review stands, and the live manifest is the reviewed one.
    pub(crate) fn check_live(&self, live: &Digest) -> Result<(), PinError> {
        match self.status {
            Status::Active => {}
            Status::ReviewRequired => return Err(PinError::ReviewRequired),
            Status::Revoked => return Err(PinError::Revoked),
        }
        if *live == self.manifest_digest { Ok(()) } else { Err(PinError::ManifestChanged) }
    }

    /// The context of one kind of secret. What belongs to a grant is empty for a credential without one.
    pub(crate) fn context(&self, kind: SecretKind) -> Result<CloudCredentialContext<'_>, PinError> {
        let grant = match kind {
            SecretKind::None | SecretKind::StaticBearer | SecretKind::StaticHeader => None,
            SecretKind::OAuth | SecretKind::ClientSecret | SecretKind::Dcr => {
                Some(self.grant.as_ref().ok_or(PinError::NoGrant)?)
            }
            SecretKind::Pkce => return Err(PinError::Mismatch { field: "secret_kind" }),
        };
        Ok(CloudCredentialContext {
            deployment: &self.deployment,
            workspace: &self.workspace,
            project: self.project.as_ref(),
            connection: &self.connection,
            endpoint: &self.endpoint,
            scopes: grant.map_or(&[], |grant| &grant.scopes),
            manifest_digest: &self.manifest_digest,
            issuer: grant.map_or("", |grant| &grant.issuer),
            client_id: grant.map_or("", |grant| &grant.client_id),
            secret_kind: kind,
            review_digest: &self.review_digest,
            subject: grant.map_or("", |grant| &grant.subject),
        })
    }
}

impl Grant {
    fn of_row(row: &ConnectionOAuth) -> Self {
        Self {
            issuer: row.issuer.clone(),
            client_id: row.client_id.clone(),
            scopes: row.scopes.clone(),
            // `iss ‖ 00 ‖ sub` (2.a.3 tag 17)
            subject: row.subject.as_ref().map_or_else(String::new, |sub| format!("{}\0{sub}", row.issuer)),
        }
    }
}
