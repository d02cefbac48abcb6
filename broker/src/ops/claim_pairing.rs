//! An approved device fetches its tokens, once; the same answer can be fetched again for two minutes when it was lost. Says the same to a wrong verifier as to a code that never was.

use super::{
    find_session::stored,
    issue_tokens::{FreshToken, Life, make_fresh, tokens},
};
use crate::{
    app::App,
    door::{self, ms},
    http::error::ApiError,
};
use contract::{
    AuditEvent, Code, Digest,
    audit::{Actor, AuditLog},
    device::{Enrolled, FetchTokens},
    ids::{DeviceId, FamilyId, UserId, WorkspaceId},
    limits,
};
use sign::{pkce, token::TokenKind};
use store::{Committed, NewDevice, NewFamily, Pairing, PairingState, Standing, Tx, Upkeep};

/// What a claim would make, random and decided before the transaction.
struct Fresh {
    device_id: DeviceId,
    family_id: FamilyId,
    access: FreshToken,
}

/// What a claim did.
struct Claimed {
    pairing: Pairing,
    user_id: UserId,
    workspace_id: WorkspaceId,
    device_id: DeviceId,
    family_id: FamilyId,
    life: Life,
}

/// Answers a poll: pending, refused, over, or the tokens.
pub(crate) async fn claim_pairing(app: &App, request: &FetchTokens) -> Result<Enrolled, ApiError> {
    let device_code = &stored(&app.token_key().mac(TokenKind::DeviceCode, &request.device_code));
    let fresh = &Fresh {
        device_id: DeviceId::from_random(door::make_random()?),
        family_id: FamilyId::from_random(door::make_random()?),
        access: make_fresh(app.token_key(), TokenKind::Access)?,
    };
    let now_ms = app.now_ms();
    // Most polls find nothing to do; they read, and take no turn of the writer.
    let seen = app
        .store()
        .read("poll_pairing", |mut tx| async move { tx.find_pairing_by_device_code(device_code).await })
        .await?;
    check(seen.as_ref(), request, now_ms)?;
    let claimed = app
        .store()
        .run("claim_pairing", |mut tx| async move {
            let pairing = tx.find_pairing_by_device_code(device_code).await?;
            check(pairing.as_ref(), request, now_ms)?;
            step(tx, pairing.ok_or_else(over)?, fresh, now_ms).await
        })
        .await?;
    Ok(Enrolled {
        tokens: tokens(app, &fresh.access, &claimed.family_id, 1, claimed.life),
        user_id: claimed.user_id,
        workspace_id: claimed.workspace_id,
        device_id: claimed.device_id,
        device_name: claimed.pairing.device_name,
        deployment_id: app.deployment_id().clone(),
        session_class: claimed.pairing.session_class,
        origin: claimed.pairing.origin,
    })
}

/// Whether this poll may claim, or claim again, now.
fn check(pairing: Option<&Pairing>, request: &FetchTokens, now_ms: i64) -> Result<(), ApiError> {
    let pairing =
        pairing.filter(|pairing| pkce::is_answered(&pairing.challenge, &request.verifier)).ok_or_else(over)?;
    let waits = now_ms < pairing.expires_at_ms;
    match &pairing.state {
        // The public client knows this exact word.
        PairingState::Waiting if waits => Err(ApiError::new(Code::PairingPending, "authorization_pending")),
        PairingState::Approved { .. } if waits => Ok(()),
        PairingState::Claimed { at_ms, .. } if now_ms < at_ms + ms(limits::PAIRING_REPEAT_S) => Ok(()),
        PairingState::Refused if waits => Err(ApiError::new(Code::PairingRefused, "the person refused this device")),
        PairingState::Waiting
        | PairingState::Approved { .. }
        | PairingState::Refused
        | PairingState::Claimed { .. } => Err(over()),
    }
}

async fn step(tx: Tx, pairing: Pairing, fresh: &Fresh, now_ms: i64) -> Result<Committed<Claimed>, ApiError> {
    match pairing.state.clone() {
        PairingState::Approved { user_id, workspace_id } => {
            claim(tx, Approved { pairing, user_id, workspace_id }, fresh, now_ms).await
        }
        PairingState::Claimed { user_id, workspace_id, device_id, family_id, .. } => {
            let life = Life::of(pairing.session_class, now_ms, now_ms);
            repeat(tx, Claimed { pairing, user_id, workspace_id, device_id, family_id, life }, fresh, now_ms).await
        }
        PairingState::Waiting | PairingState::Refused => Err(over()),
    }
}

struct Approved {
    pairing: Pairing,
    user_id: UserId,
    workspace_id: WorkspaceId,
}

/// The device, its first session and its first token, in one commit.
async fn claim(mut tx: Tx, approved: Approved, fresh: &Fresh, now_ms: i64) -> Result<Committed<Claimed>, ApiError> {
    let Approved { pairing, user_id, workspace_id } = approved;
    super::approve_pairing::check_unbound(&mut tx, &user_id, &pairing.public_key).await?;
    let session_class = pairing.session_class;
    let life = Life::of(session_class, now_ms, now_ms);
    let (device_id, family_id) = (&fresh.device_id, &fresh.family_id);
    let device = NewDevice {
        id: device_id,
        user_id: &user_id,
        name: &pairing.device_name,
        public_key: &pairing.public_key,
        session_class,
    };
    tx.insert_device(device, now_ms).await?;
    let family = NewFamily {
        id: family_id,
        workspace_id: &workspace_id,
        user_id: &user_id,
        device_id,
        session_class,
        expires_at_ms: life.family_expires_at_ms,
        ends_at_ms: life.family_ends_at_ms,
    };
    tx.insert_family(family, now_ms).await?;
    tx.insert_access_token(&fresh.access.stored, family_id, now_ms, life.access_ends_at_ms).await?;
    tx.claim_pairing(&pairing.id, device_id, family_id, now_ms).await?;
    let enrolled = AuditEvent::DeviceEnrolled {
        device_id: device_id.clone(),
        user_id: user_id.clone(),
        key_digest: Digest::of(&[&pairing.public_key]),
        session_class,
    };
    let taken = AuditEvent::PairingClaimed { pairing_id: pairing.id.clone(), device_id: device_id.clone() };
    let log = || AuditLog::Workspace(workspace_id.clone());
    let actor = || Actor::Device(device_id.clone());
    tx.record(taken.entry(log(), actor(), now_ms)).await?;
    let entry = enrolled.entry(log(), actor(), now_ms);
    let claimed =
        Claimed { pairing, device_id: device_id.clone(), family_id: family_id.clone(), life, user_id, workspace_id };
    Ok(tx.commit_with(entry, claimed).await?)
}

/// The answer was lost: the same session again with another access token, unless the device has gone on meanwhile.
async fn repeat(mut tx: Tx, claimed: Claimed, fresh: &Fresh, now_ms: i64) -> Result<Committed<Claimed>, ApiError> {
    let session = tx.find_family(&claimed.family_id).await?.ok_or_else(over)?;
    if session.refresh_issued != 1 || !matches!(session.standing(now_ms), Standing::Live(_)) {
        return Err(over());
    }
    let life = Life {
        family_expires_at_ms: session.expires_at_ms,
        ..Life::of(session.session_class, session.device.created_at_ms, now_ms)
    };
    tx.insert_access_token(&fresh.access.stored, &claimed.family_id, now_ms, life.access_ends_at_ms).await?;
    Ok(tx.commit_upkeep(Upkeep::Session, Claimed { life, ..claimed })?)
}

/// Expired, used, of another verifier, or never there: one answer.
fn over() -> ApiError {
    ApiError::new(Code::PairingExpired, "this pairing is over; start again: `collie online login`")
}

#[cfg(test)]
#[path = "pairing_tests.rs"]
mod tests;
