//! A refresh token and the device's signature for the next pair of tokens (2.e). A lost answer is given again; a token that was used before its successor was ends the whole family. A stranger's key changes nothing.

use super::{
    find_session::{self, device_key},
    issue_tokens::{Life, make_fresh, tokens},
    note_seen::spend_nonce,
};
use crate::{
    app::App,
    http::{error::ApiError, gate::Claimed},
};
use contract::{
    AuditEvent,
    audit::{Actor, AuditLog},
    session::{RefreshTokens, Tokens},
};
use sign::token::{RefreshClaim, TokenKind};
use store::{Committed, EndReason, Refreshed, Session, Standing, Tx, Upkeep};

/// How the token was received.
enum Outcome {
    Issued { n: u64, life: Life },
    Reused,
}

/// Rotates the session that the token belongs to.
pub(crate) async fn refresh_session(app: &App, request: &RefreshTokens, claimed: &Claimed) -> Result<Tokens, ApiError> {
    let claim = &app.token_key().parse_refresh(&request.refresh_token).map_err(|_| find_session::unknown())?;
    let session: Option<Session> =
        app.store().read("find_family", |mut tx| async move { tx.find_family(&claim.family).await }).await?;
    let session = session.ok_or_else(find_session::unknown)?;
    // Nothing is written before the device's key has signed this request.
    let verified = claimed.verify(&device_key(&session.device.public_key)?, app.now_ms())?;
    check_standing(&session, app.now_ms())?;
    spend_nonce(app, &session.device.id, &verified).await?;

    let (access, now_ms) = (make_fresh(app.token_key(), TokenKind::Access)?, app.now_ms());
    let stored = &access.stored;
    let outcome = app.store().run("refresh_session", |tx| present(tx, claim, stored, now_ms)).await?;
    match outcome {
        Outcome::Issued { n, life } => Ok(tokens(app, &access, &claim.family, n, life)),
        Outcome::Reused => Err(find_session::ended(EndReason::RefreshReused)),
    }
}

async fn present(
    mut tx: Tx,
    claim: &RefreshClaim,
    access: &store::TokenMac,
    now_ms: i64,
) -> Result<Committed<Outcome>, ApiError> {
    let session = tx.find_family(&claim.family).await?.ok_or_else(find_session::unknown)?;
    check_standing(&session, now_ms)?;
    let life = Life::of(session.session_class, session.device.created_at_ms, now_ms);
    match tx.refresh_family(&claim.family, claim.n, now_ms).await? {
        Refreshed::Advanced { issued } => {
            tx.insert_access_token(access, &claim.family, now_ms, life.access_ends_at_ms).await?;
            tx.slide_family(&claim.family, life.family_expires_at_ms).await?;
            Ok(tx.commit_upkeep(Upkeep::Session, Outcome::Issued { n: issued, life })?)
        }
        Refreshed::Repeated { issued } => {
            tx.insert_access_token(access, &claim.family, now_ms, life.access_ends_at_ms).await?;
            let life = Life { family_expires_at_ms: session.expires_at_ms, ..life };
            Ok(tx.commit_upkeep(Upkeep::Session, Outcome::Issued { n: issued, life })?)
        }
        Refreshed::Reused { issued } => {
            let event = AuditEvent::SessionFamilyRevoked {
                family_id: claim.family.clone(),
                device_id: session.device.id.clone(),
                presented: claim.n,
                current: issued,
            };
            let entry =
                event.entry(AuditLog::Workspace(session.workspace_id), Actor::Device(session.device.id), now_ms);
            Ok(tx.commit_with(entry, Outcome::Reused).await?)
        }
    }
}

fn check_standing(session: &Session, now_ms: i64) -> Result<(), ApiError> {
    match session.standing(now_ms) {
        Standing::Live(_) => Ok(()),
        Standing::Expired => Err(find_session::expired()),
        Standing::Ended(reason) => Err(find_session::ended(reason)),
    }
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
