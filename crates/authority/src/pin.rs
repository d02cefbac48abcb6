//! Proofs on the way to a decision: a review that the person's key vouches for, and a tool pinned to it and to the live manifest. No effect is read from anywhere else.

use crate::{Operation, Refusal};
use contract::{
    Digest, Effect, Json, limits,
    review::{Era, ReviewRecord},
};

/// Why a review is not trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UntrustedReview {
    /// Its digest is not the one that the opened credential is sealed under (CTX tag 16).
    #[error("the review is not the one the credential was sealed under")]
    OtherDigest,
    /// An older review than one this device has seen.
    #[error("the review is older than one this device has already used")]
    RolledBack,
    /// It has no canonical form.
    #[error("the review cannot be digested")]
    Malformed,
}

/// A review record whose digest an opened credential carries in its authenticated context (2.h).
#[derive(Debug)]
#[must_use]
pub struct TrustedReview {
    record: ReviewRecord,
    digest: Digest,
}

impl TrustedReview {
    /// Accepts `record` if its digest is `sealed_under`, what the credential opened with, and it is not older than `review_seq_seen`, this device's high-water.
    pub fn accept(record: ReviewRecord, sealed_under: Digest, review_seq_seen: u64) -> Result<Self, UntrustedReview> {
        let digest = record.digest().map_err(|_| UntrustedReview::Malformed)?;
        if digest != sealed_under {
            return Err(UntrustedReview::OtherDigest);
        }
        if record.review_seq < review_seq_seen {
            return Err(UntrustedReview::RolledBack);
        }
        Ok(Self { record, digest })
    }

    /// The record.
    #[must_use]
    pub const fn record(&self) -> &ReviewRecord {
        &self.record
    }

    /// Its digest.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.digest
    }
}

/// What this device last read from the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiveManifest {
    /// Digest of the raw manifest.
    pub raw_digest: Digest,
    /// Era it was read in.
    pub era: Era,
    /// Seconds since it was read; 0 means for this very call.
    pub age_s: u64,
}

/// A tool that is in the trusted review, under a live manifest that is the reviewed one, with the arguments it would run on.
#[derive(Debug)]
#[must_use]
pub struct Pinned {
    pub(crate) operation: Operation,
    pub(crate) effect: Effect,
    pub(crate) within_review: bool,
}

impl Pinned {
    /// Pins one call. Commit and above need a manifest read for this very call, the rest one of at most [`limits::MANIFEST_AGE_S_MAX`].
    pub fn pin(review: &TrustedReview, live: LiveManifest, tool: &str, arguments: &Json) -> Result<Self, Refusal> {
        let record = review.record();
        let reviewed = record.find_tool(tool).ok_or(Refusal::ToolUnreviewed)?;
        if live.raw_digest != record.raw_digest || live.era != record.era {
            return Err(Refusal::ManifestChanged);
        }
        let age_s_max = if reviewed.effect >= Effect::Commit { 0 } else { limits::MANIFEST_AGE_S_MAX };
        if live.age_s > age_s_max {
            return Err(Refusal::ManifestStale { age_s_max });
        }
        Ok(Self {
            operation: Operation::new(record.connection.clone(), review.digest(), tool, arguments),
            effect: reviewed.effect,
            within_review: record.allowed_effects.contains(&reviewed.effect),
        })
    }

    /// What would be done.
    #[must_use]
    pub const fn operation(&self) -> &Operation {
        &self.operation
    }

    /// The effect the person decided on.
    #[must_use]
    pub const fn effect(&self) -> Effect {
        self.effect
    }
}
