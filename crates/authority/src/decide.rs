//! The decision and what it yields: a permit that is used once, for one operation. A permit is made here and nowhere else.

use crate::{Operation, Pinned, arguments_digest};
use contract::{Code, Digest, Effect, Json, limits};

/// Why a call may not run. Each variant has one remedy, which the caller words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The tool is not in the review.
    #[error("the tool is not in the review of this connection")]
    ToolUnreviewed,
    /// The live manifest is not the reviewed one.
    #[error("the server's manifest is not the one that was reviewed")]
    ManifestChanged,
    /// The manifest must be read again first.
    #[error("the manifest must be read again: it may be {age_s_max} seconds old at most")]
    ManifestStale {
        /// Largest age for this effect, seconds.
        age_s_max: u64,
    },
    /// A person must say yes to exactly these arguments.
    #[error("this call leaves a mark that cannot be taken back and needs a yes for exactly these arguments")]
    Ask,
    /// The grant was for another operation.
    #[error("the yes was given for another operation")]
    OtherOperation,
    /// The grant's time is over.
    #[error("the yes has expired")]
    GrantExpired,
    /// Restricted: no plain yes suffices.
    #[error("this tool is restricted: it needs an approval bound to exactly this operation")]
    StepUp,
}

impl Refusal {
    /// The stable code.
    #[must_use]
    pub const fn code(self) -> Code {
        match self {
            Self::ToolUnreviewed => Code::ToolUnreviewed,
            Self::ManifestChanged => Code::ManifestChanged,
            Self::ManifestStale { .. } => Code::ReviewRequired,
            Self::Ask | Self::GrantExpired => Code::AuthorityAsk,
            Self::OtherOperation => Code::AuthorityDenied,
            Self::StepUp => Code::StepUpRequired,
        }
    }
}

/// A person's yes to exactly one operation, good once and for [`limits::ONE_USE_GRANT_TTL_S`]. Cannot be copied.
#[derive(Debug)]
#[must_use]
pub struct OneUseGrant {
    operation: Digest,
    expires_at_s: u64,
}

impl OneUseGrant {
    /// Mints the grant that a person's own `invoke --yes` is. `operation` is [`Operation::digest`]; `now_s` Unix seconds.
    pub const fn mint_from_own_yes(operation: Digest, now_s: u64) -> Self {
        Self { operation, expires_at_s: now_s.saturating_add(limits::ONE_USE_GRANT_TTL_S) }
    }
}

/// The right to run one operation once. Only [`decide`] makes one; spending takes it away.
///
/// ```
/// fn run(permit: collie_authority::Permit, arguments: &contract::Json) {
///     let _ = permit.spend(arguments);
/// }
/// ```
/// Not twice:
/// ```compile_fail
/// fn run(permit: collie_authority::Permit, arguments: &contract::Json) {
///     let _ = permit.spend(arguments);
///     let _ = permit.spend(arguments);
/// }
/// ```
/// Not copied:
/// ```compile_fail
/// fn run(permit: collie_authority::Permit, arguments: &contract::Json) {
///     let _ = permit.clone().spend(arguments);
/// }
/// ```
/// Not made outside this crate:
/// ```compile_fail
/// fn forge(operation: collie_authority::Operation) -> collie_authority::Permit {
///     collie_authority::Permit { operation, effect: contract::Effect::Observe }
/// }
/// ```
#[derive(Debug)]
#[must_use]
pub struct Permit {
    operation: Operation,
    effect: Effect,
}

impl Permit {
    /// What it allows.
    #[must_use]
    pub const fn operation(&self) -> &Operation {
        &self.operation
    }

    /// The effect it was decided for.
    #[must_use]
    pub const fn effect(&self) -> Effect {
        self.effect
    }

    /// Uses the permit for `arguments`; other arguments than the decided ones are refused, and the permit is gone either way.
    pub fn spend(self, arguments: &Json) -> Result<Spent, Refusal> {
        if arguments_digest(arguments) != self.operation.arguments() {
            return Err(Refusal::OtherOperation);
        }
        Ok(Spent { operation: self.operation })
    }
}

/// One call on its way: proof that a permit was spent on it.
#[derive(Debug)]
#[must_use]
pub struct Spent {
    operation: Operation,
}

impl Spent {
    /// What is being done.
    #[must_use]
    pub const fn operation(&self) -> &Operation {
        &self.operation
    }
}

/// Decides one pinned call: the largest demand of all rules, whatever their order.
pub fn decide(pinned: Pinned, grant: Option<OneUseGrant>, now_s: u64) -> Result<Permit, Refusal> {
    match pinned.effect {
        Effect::Restricted => return Err(Refusal::StepUp),
        Effect::Commit => check_grant(&pinned, grant, now_s)?,
        Effect::Observe | Effect::Prepare | Effect::Act => {
            if !pinned.within_review {
                check_grant(&pinned, grant, now_s)?;
            }
        }
    }
    Ok(Permit { operation: pinned.operation, effect: pinned.effect })
}

fn check_grant(pinned: &Pinned, grant: Option<OneUseGrant>, now_s: u64) -> Result<(), Refusal> {
    let grant = grant.ok_or(Refusal::Ask)?;
    if grant.operation != pinned.operation.digest() {
        return Err(Refusal::OtherOperation);
    }
    if now_s >= grant.expires_at_s {
        return Err(Refusal::GrantExpired);
    }
    Ok(())
}
