//! Connections that the public client reviewed: the rows its credential names, pinned to a raw manifest at the first reading that fits them. Their effects are the public client's, and who trusts them trusts the service.

use super::live::Reading;
use crate::db::Db;
use crate::error::CliError;
use authority::TrustedReview;
use contract::connection::ConnectionRow;
use contract::manifest::{self, RawManifest};
use contract::review::{Bindings, Era, ReviewRecord, ReviewedTool};
use contract::{Code, Digest, Effect, Json};
use sqlx::Row as _;

/// The rows of one connection, as its credential names them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicRows {
    row: ConnectionRow,
    pinned: Option<(Digest, Era)>,
}

impl PublicRows {
    /// Reads the rows. They must have the digest that the row says, because that is what the credential is bound to.
    pub async fn read(db: &mut Db, row: &ConnectionRow) -> Result<Self, CliError> {
        let sound = manifest::check_v1(&row.manifest).is_ok()
            && manifest::digest_v1(&row.manifest).b64u() == row.manifest_digest;
        if !sound {
            return Err(CliError::new(
                Code::SignatureInvalid,
                format!("the tools of `{}` are not those its digest names", row.name),
            )
            .hint("nothing was opened or sent; ask the service's operator"));
        }
        let pinned = db.find_public_pin(row).await?;
        Ok(Self { row: row.clone(), pinned })
    }

    /// The effect that the public client wrote.
    #[must_use]
    pub fn effect_of(&self, tool: &str) -> Option<Effect> {
        let row = self.row.manifest.iter().find(|row| row.find_str("name") == Some(tool))?;
        row.find_str("effect").and_then(Effect::parse)
    }

    /// The tools it wrote.
    #[must_use]
    pub fn tool_names(&self) -> Vec<String> {
        self.row.manifest.iter().filter_map(|row| row.find_str("name")).map(str::to_owned).collect()
    }

    /// The raw manifest they are pinned to.
    #[must_use]
    pub const fn pinned(&self) -> Option<(Digest, Era)> {
        self.pinned
    }

    /// The review that these rows amount to on the manifest that was read; none where the server offers something else than the rows say. Pins the manifest at the first time.
    pub async fn review_of(
        self,
        db: &mut Db,
        reading: &Reading,
        now_ms: u64,
    ) -> Result<Option<TrustedReview>, CliError> {
        let (found, era) = (reading.live.raw_digest, reading.live.era);
        if !self.agrees_with(&reading.manifest, era) {
            return Ok(None);
        }
        match self.pinned {
            Some(_) => {}
            None => {
                db.store_manifest(&self.row.id, &found, &reading.manifest.to_json(), now_ms).await?;
                db.store_public_pin(&self.row, &found, era).await?;
            }
        }
        let record = self.record(&reading.manifest, era);
        // No key vouches for this record but the one that the rows' credential opened with; 2.h says so of v1.
        let digest = record.digest()?;
        let review = TrustedReview::accept(record, digest, 0);
        review.map(Some).map_err(|error| CliError::internal(error.to_string()))
    }

    /// Whether the server offers what the rows say: the pinned manifest, or before the first pin one that projects to them.
    #[must_use]
    pub fn agrees_with(&self, manifest: &RawManifest, era: Era) -> bool {
        self.pinned.map_or_else(|| self.fits(manifest), |pinned| pinned == (manifest.digest(), era))
    }

    /// Whether the rows are what this manifest projects to. Where one of our devices reviewed for the public client, the row names the raw manifest too.
    fn fits(&self, manifest: &RawManifest) -> bool {
        let projected = |row: &Json| {
            let name = row.find_str("name")?;
            let effect = row.find_str("effect").and_then(Effect::parse)?;
            Some(manifest::project_v1(name, manifest.find_tool(name)?, effect, row.find_str("action")?))
        };
        let rows_fit = self.row.manifest.iter().all(|row| projected(row).as_ref() == Some(row));
        let whole = match Digest::parse(&self.row.raw_digest) {
            Ok(reviewed) => reviewed == manifest.digest(),
            Err(_) => manifest.tools().len() == self.row.manifest.len(),
        };
        rows_fit && whole
    }

    /// The review that the rows amount to on this manifest.
    #[must_use]
    pub fn record(&self, manifest: &RawManifest, era: Era) -> ReviewRecord {
        let mut tools: Vec<ReviewedTool> = self.row.manifest.iter().filter_map(|row| reviewed(row, manifest)).collect();
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        // The row's policy is bound by nothing: it may keep effects from running, never add one that asks.
        let mut allowed_effects: Vec<Effect> =
            self.row.policy.allowed_effects.iter().copied().filter(|effect| *effect < Effect::Commit).collect();
        allowed_effects.sort();
        allowed_effects.dedup();
        ReviewRecord {
            connection: self.row.id.clone(),
            scope: self.row.scope,
            project: self.row.project_id.parse().ok(),
            profile: self.row.transport,
            endpoint: self.row.endpoint.clone(),
            era,
            raw_digest: manifest.digest(),
            instructions_digest: manifest.instructions_digest(),
            tools,
            allowed_effects,
            review_seq: self.row.review_seq,
        }
    }
}

fn reviewed(row: &Json, manifest: &RawManifest) -> Option<ReviewedTool> {
    let name = row.find_str("name")?;
    Some(ReviewedTool {
        name: name.to_owned(),
        tool_digest: manifest::tool_digest(manifest.find_tool(name)?),
        effect: row.find_str("effect").and_then(Effect::parse)?,
        action: row.find_str("action").unwrap_or_default().to_owned(),
        bindings: Bindings::new(),
    })
}

impl Db {
    async fn find_public_pin(&mut self, row: &ConnectionRow) -> Result<Option<(Digest, Era)>, CliError> {
        let pin =
            sqlx::query("SELECT raw_digest, era FROM public_pin WHERE connection_id = $1 AND manifest_digest = $2")
                .bind(row.id.as_str())
                .bind(&row.manifest_digest)
                .fetch_optional(&mut self.connection)
                .await?;
        let Some(pin) = pin else { return Ok(None) };
        let impossible =
            |column| CliError::internal(format!("the local database holds an impossible value in public_pin.{column}"));
        let digest = Digest::parse(pin.try_get(0)?).map_err(|_| impossible("raw_digest"))?;
        let era = Era::parse(pin.try_get(1)?).ok_or_else(|| impossible("era"))?;
        Ok(Some((digest, era)))
    }

    /// Pins the raw manifest of a public client's rows; another pin stands only for other rows.
    pub async fn store_public_pin(
        &mut self,
        row: &ConnectionRow,
        raw_digest: &Digest,
        era: Era,
    ) -> Result<(), CliError> {
        sqlx::query(
            "INSERT INTO public_pin (connection_id, manifest_digest, raw_digest, era) VALUES ($1, $2, $3, $4)
             ON CONFLICT (connection_id) DO UPDATE SET
               manifest_digest = excluded.manifest_digest, raw_digest = excluded.raw_digest, era = excluded.era",
        )
        .bind(row.id.as_str())
        .bind(&row.manifest_digest)
        .bind(raw_digest.b64u())
        .bind(era.as_str())
        .execute(&mut self.connection)
        .await?;
        Ok(())
    }
}
