//! What happens when a server offers something else than was reviewed: the call is blocked, the copy narrows, the service is told where it answers. Can only narrow.

use super::held::{Held, who_can_lift};
use super::live::Reading;
use crate::api::{Api, segment};
use crate::db::Db;
use crate::error::CliError;
use contract::connection::{ConnectionAnswer, ConnectionRow, DriftReport, Status};
use contract::{Code, Digest, Json, b64u};

/// Blocks the connection and says who can lift that.
pub(super) async fn block(api: &Api, db: &mut Db, held: &Held, reading: &Reading, now_ms: u64) -> CliError {
    let narrowed = ConnectionRow { status: Status::ReviewRequired, reviewed_digest: String::new(), ..held.row.clone() };
    let stored = db.store_connection(&held.workspace, &narrowed, now_ms).await;
    let told = report(api, held, reading).await;
    let mut message =
        format!("the server of `{}` offers something else than was reviewed; nothing was called", held.row.name);
    if let Err(error) = &told {
        message.push_str(&format!(" (the service could not be told: {error})"));
    }
    if let Err(error) = stored {
        message.push_str(&format!(" (the copy on this device could not be narrowed: {error})"));
    }
    CliError::new(Code::ManifestChanged, message).hint(who_can_lift(&held.row)).details(Json::from_members([
        ("reviewed", held.row.raw_digest.as_str().into()),
        ("found", reading.live.raw_digest.b64u().into()),
        ("era", reading.live.era.as_str().into()),
        ("reported", told.is_ok().into()),
    ]))
}

async fn report(api: &Api, held: &Held, reading: &Reading) -> Result<(), CliError> {
    let Some(review_digest) = review_digest(&held.row) else { return Ok(()) };
    let body = DriftReport { raw_digest: reading.live.raw_digest, review_digest };
    let target = format!("/v1/connections/{}/drift", segment(held.row.id.as_str()));
    api.post::<_, ConnectionAnswer>(&target, &body).await.map(|_| ())
}

/// The digest of the signed review; of the public client's rows where there is none.
fn review_digest(row: &ConnectionRow) -> Option<Digest> {
    match &row.review {
        Some(wire) => b64u::decode(&wire.payload).ok().map(|payload| Digest::of(&[&payload])),
        None => Digest::parse(&row.reviewed_digest).ok(),
    }
}
