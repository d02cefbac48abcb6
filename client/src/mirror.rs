//! The device's copy of its connections, brought up to date from the service: rows, sealed credentials, reviewed manifests and the keys of the account's devices. Opens nothing, and never takes an older review or credential than it has seen.

use crate::api::{Api, segment};
use crate::db::Db;
use crate::db::copy::StoredCredential;
use crate::error::CliError;
use contract::connection::{ConnectionList, ConnectionRow, ManifestAnswer, Profile, SealFormat, SignedWire, Status};
use contract::credential::{CredentialAnswer, SealedCredentialV2};
use contract::device::DeviceList;
use contract::ids::ConnectionId;
use contract::manifest::RawManifest;
use contract::problem::Exit;
use contract::{Code, Digest, cjson};
use sqlx::Row as _;

/// Whether the copy is what the service has now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Freshness {
    /// The service answered.
    Fresh,
    /// It did not; the copy is as old as it is.
    Stale {
        /// Why, in words.
        why: String,
    },
}

impl Freshness {
    /// What to tell a person.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        match self {
            Self::Fresh => None,
            Self::Stale { why } => {
                Some(format!("the service does not answer ({why}); this is the copy on this device"))
            }
        }
    }
}

/// Seconds that commands which can do without the service wait for it.
pub const SHORT_WAIT_S: u64 = 3;

/// Brings the copy of every connection up to date, where the service answers.
pub async fn refresh_all(api: &Api, db: &mut Db, now_ms: u64) -> Result<Freshness, CliError> {
    tolerate(pull(api, db, None, now_ms).await)
}

/// Brings the copy of one connection up to date, where the service answers.
pub async fn refresh_one(api: &Api, db: &mut Db, id: &ConnectionId, now_ms: u64) -> Result<Freshness, CliError> {
    tolerate(pull(api, db, Some(id), now_ms).await)
}

/// Brings the copy of one connection up to date; the service must answer.
pub async fn require_one(api: &Api, db: &mut Db, id: &ConnectionId, now_ms: u64) -> Result<ConnectionRow, CliError> {
    pull(api, db, Some(id), now_ms).await?;
    db.find_connection(id).await?.ok_or_else(|| not_found(id))
}

/// There is no such connection here.
#[must_use]
pub fn not_found(id: &ConnectionId) -> CliError {
    CliError::new(Code::NotFound, format!("this device has no connection `{id}`"))
        .hint("`collie online connections` lists them")
}

/// A service that cannot be reached, or cannot answer now, is no reason to stop. Anything it does say is.
fn tolerate(pulled: Result<(), CliError>) -> Result<Freshness, CliError> {
    match pulled {
        Ok(()) => Ok(Freshness::Fresh),
        Err(error) if error.code.exit() == Exit::Network || error.code == Code::RateLimited => {
            Ok(Freshness::Stale { why: error.message })
        }
        Err(error) => Err(error),
    }
}

async fn pull(api: &Api, db: &mut Db, only: Option<&ConnectionId>, now_ms: u64) -> Result<(), CliError> {
    let list: ConnectionList = api.get("/v1/connections").await?;
    let devices: DeviceList = api.get("/v1/devices").await?;
    db.store_directory(&devices.devices, now_ms).await?;
    for held in db.list_connections(api.workspace()).await? {
        let wanted = only.is_none_or(|id| *id == held.id);
        if wanted && !list.connections.iter().any(|row| row.id == held.id) {
            db.remove_connection(&held.id).await?;
        }
    }
    for row in &list.connections {
        if only.is_none_or(|id| *id == row.id) {
            pull_row(api, db, row, now_ms).await?;
        }
    }
    Ok(())
}

/// Everything is fetched first and stored together, so that the copy never mixes two reviews.
async fn pull_row(api: &Api, db: &mut Db, row: &ConnectionRow, now_ms: u64) -> Result<(), CliError> {
    let seen = db.find_high_water(&row.id).await?;
    if row.review_seq < seen.review_seq || row.credential_version < seen.credential_version {
        return Err(rolled_back(row, seen.review_seq, seen.credential_version));
    }
    let opened_here = row.transport == Profile::DeviceDirect && row.status != Status::Revoked;
    let (credential, manifest) = if opened_here {
        let Some(credential) = fetch_credential(api, db, row).await? else { return Ok(()) };
        (credential, fetch_manifest(api, db, row).await?)
    } else {
        (Fetched::AsHeld, None)
    };
    db.begin().await?;
    db.store_connection(api.workspace(), row, now_ms).await?;
    db.store_last_review(row).await?;
    if let Fetched::New(credential) = credential {
        db.store_credential(&row.id, &credential, now_ms).await?;
    }
    if let Some(manifest) = manifest {
        db.store_manifest(&row.id, &manifest.digest(), &manifest.to_json(), now_ms).await?;
    }
    db.commit().await
}

enum Fetched {
    AsHeld,
    New(StoredCredential),
}

/// The credential of this row; none where the row has moved on meanwhile, and the next refresh will see it.
async fn fetch_credential(api: &Api, db: &mut Db, row: &ConnectionRow) -> Result<Option<Fetched>, CliError> {
    let held = db.find_credential(&row.id).await?.map_or(0, |held| held.version);
    if row.credential_version == held || row.credential_version == 0 {
        return Ok(Some(Fetched::AsHeld));
    }
    let answer: Result<CredentialAnswer, _> =
        api.get(&format!("/v1/connections/{}/credential", segment(row.id.as_str()))).await;
    let answer = match answer {
        // Somebody else's connection in a shared project: seen, and not opened here.
        Err(error) if error.code == Code::NotFound => return Ok(Some(Fetched::AsHeld)),
        other => other?,
    };
    if row.seal_format == SealFormat::V2 {
        let sealed = SealedCredentialV2::parse(&answer.sealed_credential);
        let sealed = sealed.map_err(|error| {
            CliError::new(Code::SignatureInvalid, format!("the service serves no credential: {error}"))
        })?;
        if sealed.version != row.credential_version {
            return Ok(None);
        }
    }
    Ok(Some(Fetched::New(StoredCredential {
        format: row.seal_format,
        version: row.credential_version,
        sealed: answer.sealed_credential,
        updated_at: answer.updated_at,
    })))
}

/// The reviewed manifest, where this device does not have it. Another one than the row names is not kept.
async fn fetch_manifest(api: &Api, db: &mut Db, row: &ConnectionRow) -> Result<Option<RawManifest>, CliError> {
    let Ok(wanted) = Digest::parse(&row.raw_digest) else { return Ok(None) };
    if find_manifest(db, &row.id, &wanted).await?.is_some() {
        return Ok(None);
    }
    let answer: ManifestAnswer = api.get(&format!("/v1/connections/{}/manifest", segment(row.id.as_str()))).await?;
    let read = RawManifest::from_json(&answer.manifest).ok().filter(|manifest| manifest.digest() == wanted);
    let manifest = read.ok_or_else(|| {
        CliError::new(Code::SignatureInvalid, "the service sends another manifest than the row names")
            .hint("ask the service's operator")
    })?;
    Ok(Some(manifest))
}

/// The stored manifest, if it is the one with this digest.
pub async fn find_manifest(db: &mut Db, id: &ConnectionId, wanted: &Digest) -> Result<Option<RawManifest>, CliError> {
    let stored = db.find_manifest(id).await?;
    Ok(stored.and_then(|json| RawManifest::from_json(&json).ok()).filter(|manifest| manifest.digest() == *wanted))
}

impl Db {
    /// Keeps the review of a row, where one stands.
    pub async fn store_last_review(&mut self, row: &ConnectionRow) -> Result<(), CliError> {
        let Some(review) = &row.review else { return Ok(()) };
        sqlx::query(
            "INSERT INTO last_review (connection_id, review) VALUES ($1, $2)
             ON CONFLICT (connection_id) DO UPDATE SET review = excluded.review",
        )
        .bind(row.id.as_str())
        .bind(cjson::to_json(review)?.canonical_string())
        .execute(&mut self.connection)
        .await?;
        Ok(())
    }

    /// The newest review that stood, as far as this device saw.
    pub async fn find_last_review(&mut self, id: &ConnectionId) -> Result<Option<SignedWire>, CliError> {
        let row = sqlx::query("SELECT review FROM last_review WHERE connection_id = $1")
            .bind(id.as_str())
            .fetch_optional(&mut self.connection)
            .await?;
        let Some(row) = row else { return Ok(None) };
        let text: &str = row.try_get(0)?;
        let read = cjson::from_slice(text.as_bytes(), text.len());
        read.map(Some)
            .map_err(|_| CliError::internal("the local database holds an impossible value in last_review.review"))
    }
}

fn rolled_back(row: &ConnectionRow, review_seq: u64, credential_version: u64) -> CliError {
    let served = format!("review {} and credential version {}", row.review_seq, row.credential_version);
    let seen = format!("review {review_seq} and credential version {credential_version}");
    CliError::new(Code::SignatureInvalid, format!("the service serves {served} of `{}`, this device has seen {seen}", row.name))
        .hint("nothing was opened or sent; if the service was restored from a backup, ask its operator, and share the server again")
}
