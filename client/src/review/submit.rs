//! Signs a review, seals the credential under it and sends both in one call: all of it stands, or nothing. Takes over into the device's copy only what the service gives back unchanged.

use super::{Draft, Subject};
use crate::api::{Api, segment};
use crate::app::Service;
use crate::db::Db;
use crate::db::copy::{HighWater, LiveCheck, StoredCredential};
use crate::error::CliError;
use contract::connection::{ConnectionAnswer, ConnectionRow, ReviewConnection, Scope, SealFormat, Status};
use contract::credential::SealedCredentialV2;
use contract::device::DeviceRow;
use contract::ids::WorkspaceId;
use contract::manifest;
use contract::review::ReviewRecord;
use contract::{Code, Json};
use seal::device_direct::{Author, CredentialPlace, CredentialRandom, VersionLink};
use seal::v1::{self, V1Connection};
use seal::{Credential, SealRandom, seal_device_direct};
use sign::{Secret, Signed};

/// What is decided and sealed.
pub struct NewReview<'a> {
    /// The row as it stands.
    pub row: &'a ConnectionRow,
    /// The decisions.
    pub draft: &'a Draft,
    /// The credential.
    pub credential: &'a Credential,
    /// The version of the credential that is sealed.
    pub link: VersionLink,
}

/// Signs, seals and sends. Returns the row as it stands after it.
pub async fn submit(
    service: &Service<'_>,
    api: &Api,
    db: &mut Db,
    new: NewReview<'_>,
) -> Result<ConnectionRow, CliError> {
    let subject = Subject {
        connection: new.row.id.clone(),
        project: match new.row.scope {
            Scope::Personal => None,
            Scope::Project => {
                Some(new.row.project_id.parse().map_err(|_| CliError::internal("the row names no project"))?)
            }
        },
        endpoint: new.row.endpoint.clone(),
        review_seq: new.row.review_seq + 1,
    };
    let record = new.draft.record(&subject)?;
    let sealed = match new.row.seal_format {
        SealFormat::V2 => seal_v2(service, api.workspace(), &record, &new)?,
        SealFormat::V1 => seal_v1(service, api.workspace(), &new).await?,
    };
    let signed =
        Signed::sign(&service.folder.device_key()?, &record).map_err(|error| CliError::internal(error.to_string()))?;
    let rows = new.draft.rows_v1();
    let body = ReviewConnection {
        digest: manifest::digest_v1(&rows).b64u(),
        allowed_effects: record.allowed_effects.clone(),
        manifest: Some(new.draft.manifest().to_json()),
        review: Some(signed.to_wire()),
        sealed_credential: Some(sealed.clone()),
        expected_version: Some(new.row.version),
    };
    let target = format!("/v1/connections/{}/review", segment(new.row.id.as_str()));
    let ConnectionAnswer { connection } = api.post(&target, &body).await?;
    check_answer(&connection, &record, &body)?;
    store(service, api.workspace(), db, &connection, &new, sealed).await?;
    Ok(connection)
}

fn seal_v2(
    service: &Service<'_>,
    workspace: &WorkspaceId,
    record: &ReviewRecord,
    new: &NewReview<'_>,
) -> Result<Json, CliError> {
    let door = service.door();
    let usk = service.sealing_key()?;
    let device_key = service.folder.device_key()?;
    let author = Author { usk: &usk, device: &service.profile.device_id, device_key: &device_key };
    let place = CredentialPlace::of_review(&service.profile.deployment_id, workspace, record)
        .map_err(|error| CliError::internal(error.to_string()))?;
    let random = CredentialRandom::new(
        Secret::new(door.random()),
        SealRandom::new(door.random()),
        SealRandom::new(door.random()),
    );
    let sealed = seal_device_direct(author, &place, new.link.clone(), new.credential, random);
    Ok(sealed.map_err(|error| CliError::internal(error.to_string()))?.to_json()?)
}

/// The public client binds a credential to the row as it stands after the review.
async fn seal_v1(service: &Service<'_>, workspace: &WorkspaceId, new: &NewReview<'_>) -> Result<Json, CliError> {
    let key = service.find_v1_key().await?.ok_or_else(|| CliError::internal("the public client's key is not here"))?;
    let rows = new.draft.rows_v1();
    let digest = manifest::digest_v1(&rows).b64u();
    let after =
        ConnectionRow { manifest: rows, manifest_digest: digest.clone(), reviewed_digest: digest, ..new.row.clone() };
    let place = V1Connection::of(&after, workspace, &service.profile.user_id)
        .ok_or_else(|| CliError::internal("this row cannot be bound in the public client's format"))?;
    let door = service.door();
    let sealed = v1::seal_v1(&key, &place, new.credential, door.now_s(), &door.random());
    Ok(sealed.map_err(|error| CliError::internal(error.to_string()))?.to_json()?)
}

/// The service must have stored what was sent.
fn check_answer(row: &ConnectionRow, record: &ReviewRecord, sent: &ReviewConnection) -> Result<(), CliError> {
    let agree = [
        ("id", row.id == record.connection),
        ("endpoint", row.endpoint == record.endpoint),
        ("status", row.status == Status::Active),
        ("raw_digest", row.raw_digest == record.raw_digest.b64u()),
        ("review_seq", row.review_seq == record.review_seq),
        ("review", row.review == sent.review),
        ("manifest_digest", row.manifest_digest == sent.digest && row.reviewed_digest == sent.digest),
    ];
    match agree.into_iter().find(|(_, same)| !same) {
        Some((field, _)) => Err(CliError::new(
            Code::SignatureInvalid,
            format!("the service answers with another `{field}` than was sent"),
        )
        .hint("do not use this connection; ask the service's operator")),
        None => Ok(()),
    }
}

async fn store(
    service: &Service<'_>,
    workspace: &WorkspaceId,
    db: &mut Db,
    row: &ConnectionRow,
    new: &NewReview<'_>,
    sealed: Json,
) -> Result<(), CliError> {
    let now_ms = service.door().now_ms();
    let raw_digest = new.draft.manifest().digest();
    let commitment = match row.seal_format {
        SealFormat::V2 => {
            let blobs = SealedCredentialV2::parse(&sealed).and_then(|sealed| sealed.blobs());
            blobs.map_err(|error| CliError::internal(error.to_string()))?.commitment.b64u()
        }
        SealFormat::V1 => String::new(),
    };
    let credential = StoredCredential {
        format: row.seal_format,
        version: row.credential_version,
        sealed,
        updated_at: service.door().now_s(),
    };
    let own = own_device(service)?;
    db.begin().await?;
    db.store_directory(&[own], now_ms).await?;
    db.store_connection(workspace, row, now_ms).await?;
    db.store_last_review(row).await?;
    db.store_credential(&row.id, &credential, now_ms).await?;
    db.store_manifest(&row.id, &raw_digest, &new.draft.manifest().to_json(), now_ms).await?;
    db.store_live_check(&row.id, &LiveCheck { era: new.draft.era(), raw_digest, checked_ms: now_ms }).await?;
    match row.seal_format {
        SealFormat::V2 => {}
        SealFormat::V1 => db.store_public_pin(row, &raw_digest, new.draft.era()).await?,
    }
    let marks = HighWater {
        review_seq: row.review_seq,
        credential_version: row.credential_version,
        credential_commit: commitment,
    };
    let raised = db.raise_high_water(&row.id, &marks).await?;
    if !raised {
        return Err(CliError::new(Code::SignatureInvalid, "the service counts reviews of this connection anew")
            .hint("if it was restored from a backup, ask its operator, and share the server again"));
    }
    db.commit().await
}

/// This device, so that its own signatures are known here without the service.
fn own_device(service: &Service<'_>) -> Result<DeviceRow, CliError> {
    let key = service.folder.device_key()?.public_key();
    let profile = &service.profile;
    Ok(DeviceRow {
        id: profile.device_id.clone(),
        name: profile.device_name.clone(),
        last_seen_at: 0,
        revoked_at: None,
        public_key: key.b64u(),
        fingerprint: key.fingerprint(),
        session_class: profile.session_class,
        created_at: profile.connected_at,
    })
}
