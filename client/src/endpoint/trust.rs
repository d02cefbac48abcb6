//! From a held connection to a credential in memory and a review that is believed. A v2 review is believed because the person's key opens the credential under it; a v1 row only as far as its credential names it.

use super::held::Held;
use super::public_rows::PublicRows;
use crate::app::Service;
use crate::db::Db;
use crate::db::copy::HighWater;
use crate::error::CliError;
use crate::opening::{self, Tenancy};
use crate::reach;
use authority::{TrustedReview, UntrustedReview};
use contract::connection::{ConnectionRow, SealFormat};
use contract::credential::EnvelopeV1;
use contract::ids::DeviceId;
use contract::review::{Era, ReviewRecord};
use contract::{Code, Digest, Effect, limits};
use seal::device_direct::ChainHead;
use seal::v1::{self, V1Connection};
use seal::{Credential, OpenedCredential};
use upstream::Auth;

/// What effects are taken from.
#[derive(Debug)]
pub enum Trust {
    /// The signed review that the credential is sealed under.
    Review(TrustedReview),
    /// The public client's rows, as its credential names them.
    Rows(PublicRows),
}

impl Trust {
    /// The reviewed effect of a tool.
    #[must_use]
    pub fn effect_of(&self, tool: &str) -> Option<Effect> {
        match self {
            Self::Review(review) => review.record().find_tool(tool).map(|tool| tool.effect),
            Self::Rows(rows) => rows.effect_of(tool),
        }
    }

    /// The reviewed tools.
    #[must_use]
    pub fn tool_names(&self) -> Vec<String> {
        match self {
            Self::Review(review) => review.record().tools.iter().map(|tool| tool.name.clone()).collect(),
            Self::Rows(rows) => rows.tool_names(),
        }
    }

    /// The manifest that calls are pinned to; none before a public client's rows were first compared with the server.
    #[must_use]
    pub const fn pinned(&self) -> Option<(Digest, Era)> {
        match self {
            Self::Review(review) => Some((review.record().raw_digest, review.record().era)),
            Self::Rows(rows) => rows.pinned(),
        }
    }

    /// The era to speak.
    #[must_use]
    pub fn era(&self) -> Option<Era> {
        self.pinned().map(|(_, era)| era)
    }
}

/// A connection that opened.
pub struct Opened {
    /// What effects are taken from.
    pub trust: Trust,
    /// The credential, as its server is shown it.
    pub auth: Auth,
    /// The device that the service says made the review; nothing vouches for that.
    pub reviewed_by: Option<DeviceId>,
}

/// Opens the credential of a usable connection and accepts its review; an older one than this device has used is refused.
pub async fn open(service: &Service<'_>, db: &mut Db, held: &Held) -> Result<Opened, CliError> {
    match held.row.seal_format {
        SealFormat::V2 => {
            let (opened, marks) = open_v2(service, held, &held.row)?;
            let digest = *opened.credential.review_digest();
            let review = TrustedReview::accept(opened.review, digest, held.marks.review_seq)
                .map_err(|why| untrusted(&held.row, why))?;
            if !db.raise_high_water(&held.row.id, &marks).await? {
                return Err(untrusted(&held.row, UntrustedReview::RolledBack));
            }
            check_living(&held.row, opened.credential.credential(), service.door().now_s())?;
            let auth = reach::auth(opened.credential.credential())?;
            Ok(Opened { trust: Trust::Review(review), auth, reviewed_by: Some(opened.reviewed_by) })
        }
        SealFormat::V1 => {
            let rows = PublicRows::read(db, &held.row).await?;
            let credential = open_v1(service, held, &held.row).await?;
            let marks = HighWater {
                review_seq: held.row.review_seq,
                credential_version: held.row.credential_version,
                credential_commit: String::new(),
            };
            if !db.raise_high_water(&held.row.id, &marks).await? {
                return Err(untrusted(&held.row, UntrustedReview::RolledBack));
            }
            Ok(Opened { trust: Trust::Rows(rows), auth: reach::auth(credential.credential())?, reviewed_by: None })
        }
    }
}

/// An access token that is over is not sent: the provider is asked again, by the person.
fn check_living(row: &ConnectionRow, credential: &Credential, now_s: u64) -> Result<(), CliError> {
    match credential.grant() {
        Some(grant) if !grant.lives(now_s, limits::ACCESS_MARGIN_S) => Err(CliError::new(
            Code::CredentialRefused,
            format!("the access token of `{}` is over; nothing was sent", row.name),
        )
        .hint(format!("sign in again: collie online connection-review {} --sign-in", row.id))),
        Some(_) | None => Ok(()),
    }
}

/// What a new review starts from.
pub struct ForReview {
    /// The review that stood.
    pub review: Option<ReviewRecord>,
    /// The credential, to be sealed again.
    pub credential: OpenedForReview,
    /// The version of the credential that the next one follows; none for v1.
    pub head: Option<ChainHead>,
}

/// The opened credential of either format.
pub enum OpenedForReview {
    /// Sealed under a review.
    V2(OpenedCredential),
    /// Sealed by, or for, the public client.
    V1(v1::OpenedV1),
}

impl OpenedForReview {
    /// The credential.
    #[must_use]
    pub const fn credential(&self) -> &Credential {
        match self {
            Self::V2(opened) => opened.credential(),
            Self::V1(opened) => opened.credential(),
        }
    }
}

/// Opens the credential of a connection under the review that stood last, to seal it again under a new one. Allows no call.
pub async fn open_for_review(service: &Service<'_>, held: &Held) -> Result<ForReview, CliError> {
    match held.row.seal_format {
        SealFormat::V2 => {
            // After a drift the row shows no review, and the credential is still sealed under the one that stood.
            let review = held.row.review.clone().or_else(|| held.last_review.clone());
            let stood = ConnectionRow { review, ..held.row.clone() };
            let (opened, _) = open_v2(service, held, &stood).map_err(|error| without_review(error, &held.row))?;
            let head = opened.credential.head().clone();
            Ok(ForReview {
                review: Some(opened.review),
                credential: OpenedForReview::V2(opened.credential),
                head: Some(head),
            })
        }
        SealFormat::V1 => {
            let stood = ConnectionRow { reviewed_digest: held.row.manifest_digest.clone(), ..held.row.clone() };
            let credential = open_v1(service, held, &stood).await?;
            Ok(ForReview { review: None, credential: OpenedForReview::V1(credential), head: None })
        }
    }
}

fn without_review(error: CliError, row: &ConnectionRow) -> CliError {
    if error.code != Code::ReviewRequired {
        return error;
    }
    let what = format!("the review under which `{}` was sealed is not on this device", row.name);
    CliError::new(Code::ReviewRequired, what).hint(format!(
        "review it on the device that used it last, or give the credential again: collie online connection-review {} --bearer-stdin (or --header NAME)",
        row.id
    ))
}

fn open_v2(
    service: &Service<'_>,
    held: &Held,
    row: &ConnectionRow,
) -> Result<(opening::OpenedConnection, HighWater), CliError> {
    let usk = service.sealing_key()?;
    let tenancy = Tenancy { deployment: &service.profile.deployment_id, workspace: &held.workspace };
    let opened = opening::open_connection(&usk, tenancy, row, &held.credential()?.sealed, &held.directory)?;
    let head = opened.credential.head();
    if let Some(seen) = seen_head(&held.marks)? {
        head.check_follows(&seen).map_err(|error| refuse(&held.row, &error.to_string()))?;
    }
    let marks = HighWater {
        review_seq: opened.review.review_seq,
        credential_version: head.version,
        credential_commit: head.commitment.b64u(),
    };
    Ok((opened, marks))
}

async fn open_v1(service: &Service<'_>, held: &Held, row: &ConnectionRow) -> Result<v1::OpenedV1, CliError> {
    let key = service.find_v1_key().await?.ok_or_else(|| {
        CliError::new(
            Code::KeyRequired,
            format!("`{}` is sealed in the public client's format, and its key is not on this device", row.name),
        )
        .hint("run `collie online key-export --yes` of the public client, then `collie online key-import` here")
    })?;
    let connection = V1Connection::of(row, &held.workspace, &service.profile.user_id)
        .ok_or_else(|| refuse(row, "its row is not one that a credential can be bound to"))?;
    let envelope = EnvelopeV1::parse(&held.credential()?.sealed).map_err(|error| refuse(row, &error.to_string()))?;
    v1::open_v1(&key, &connection, &envelope).map_err(|_| {
        CliError::new(Code::WrongKey, format!("the credential of `{}` does not open with the public client's key and this row", row.name))
            .hint("either the key is another one, or the service changed the row; import the right key, or share the server again")
    })
}

fn seen_head(marks: &HighWater) -> Result<Option<ChainHead>, CliError> {
    if marks.credential_version == 0 {
        return Ok(None);
    }
    let commitment = Digest::parse(&marks.credential_commit).map_err(|_| {
        CliError::internal("the local database holds an impossible value in high_water.credential_commit")
    })?;
    Ok(Some(ChainHead { version: marks.credential_version, commitment, prev_commit: None }))
}

fn untrusted(row: &ConnectionRow, why: UntrustedReview) -> CliError {
    refuse(row, &why.to_string())
}

fn refuse(row: &ConnectionRow, why: &str) -> CliError {
    CliError::new(Code::SignatureInvalid, format!("`{}` is not used: {why}", row.name)).hint(format!(
        "nothing was sent; ask the service's operator, and if you trust what it shows, review it again: collie online connection-review {}",
        row.id
    ))
}
