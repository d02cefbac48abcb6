//! The manifest as the server has it now: read for this very call where the effect asks for it, else one that was read minutes ago. Opens nothing and decides nothing.

use super::held::Held;
use crate::db::Db;
use crate::db::copy::LiveCheck;
use crate::door::Door;
use crate::error::CliError;
use crate::mirror;
use crate::reach::{self, Server};
use authority::LiveManifest;
use contract::manifest::RawManifest;
use contract::review::Era;
use contract::{Digest, Effect, limits};
use upstream::Upstream;

/// One reading of a live manifest.
#[derive(Debug, Clone)]
pub struct Reading {
    /// Digest, era and age.
    pub live: LiveManifest,
    /// The manifest.
    pub manifest: RawManifest,
}

/// The live manifest for a call with this effect.
pub(super) async fn read(
    db: &mut Db,
    upstream: &mut Upstream,
    held: &Held,
    pinned: Option<(Digest, Era)>,
    effect: Effect,
    door: Door,
) -> Result<Reading, CliError> {
    if effect < Effect::Commit
        && let Some(pinned) = pinned
        && let Some(reading) = recent(db, held, pinned, door.now_ms()).await?
    {
        return Ok(reading);
    }
    let fetched = upstream.fetch_manifest().await.map_err(|error| reach::explain(error, &Server::of(&held.row)))?;
    let raw_digest = fetched.manifest.digest();
    let check = LiveCheck { era: fetched.era, raw_digest, checked_ms: door.now_ms() };
    db.store_live_check(&held.row.id, &check).await?;
    Ok(Reading { live: LiveManifest { raw_digest, era: fetched.era, age_s: 0 }, manifest: fetched.manifest })
}

/// A reading of the pinned manifest that is young enough, with the manifest itself from the copy.
async fn recent(db: &mut Db, held: &Held, pinned: (Digest, Era), now_ms: u64) -> Result<Option<Reading>, CliError> {
    let Some(check) = db.find_live_check(&held.row.id).await? else { return Ok(None) };
    // A clock that went back makes a reading of any age young; then it is read again.
    let Some(age_ms) = now_ms.checked_sub(check.checked_ms) else { return Ok(None) };
    let age_s = age_ms.div_ceil(1000);
    if age_s > limits::MANIFEST_AGE_S_MAX || (check.raw_digest, check.era) != pinned {
        return Ok(None);
    }
    let Some(manifest) = mirror::find_manifest(db, &held.row.id, &pinned.0).await? else { return Ok(None) };
    Ok(Some(Reading { live: LiveManifest { raw_digest: check.raw_digest, era: check.era, age_s }, manifest }))
}
