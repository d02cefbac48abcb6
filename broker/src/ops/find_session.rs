//! From an access token to the device that may use it. Says why a session is over, and nothing about tokens it does not know.

use crate::{
    app::App,
    http::{caller::Caller, error::ApiError},
};
use contract::{Code, device::SessionClass};
use sign::{PublicKey, token::TokenMac};
use store::{EndReason, Session, Standing};

/// A session that stands, with the key its requests are signed by. The request itself is not verified yet.
#[derive(Debug)]
pub(crate) struct LiveSession {
    pub(crate) caller: Caller,
    pub(crate) device_key: PublicKey,
    pub(crate) last_seen_at_ms: i64,
}

/// The live session of an access token's stored form.
pub(crate) async fn find_session(app: &App, access: &TokenMac, now_ms: i64) -> Result<LiveSession, ApiError> {
    let access = stored(access);
    let access = &access;
    let found: Option<Session> =
        app.store().read("find_session", |mut tx| async move { tx.find_session(access).await }).await?;
    live(found.ok_or_else(unknown)?, now_ms)
}

/// The session as its gate needs it, if it stands.
pub(crate) fn live(session: Session, now_ms: i64) -> Result<LiveSession, ApiError> {
    match session.standing(now_ms) {
        Standing::Live(_) => {}
        Standing::Expired => return Err(expired()),
        Standing::Ended(reason) => return Err(ended(reason)),
    }
    Ok(LiveSession {
        device_key: device_key(&session.device.public_key)?,
        last_seen_at_ms: session.device.last_seen_at_ms,
        caller: Caller {
            user_id: session.device.user_id,
            workspace_id: session.workspace_id,
            device_id: session.device.id,
            family_id: session.family_id,
            session_class: session.session_class,
        },
    })
}

/// A stored device key; one that is no key was not written by us.
pub(crate) fn device_key(bytes: &[u8; 32]) -> Result<PublicKey, ApiError> {
    PublicKey::from_bytes(bytes).map_err(ApiError::internal)
}

/// The store's form of a token's MAC.
pub(crate) fn stored(mac: &TokenMac) -> store::TokenMac {
    store::TokenMac::new(*mac.as_bytes())
}

/// No such token, or none of ours.
pub(crate) fn unknown() -> ApiError {
    ApiError::new(Code::SessionRequired, "sign in first: `collie online login`")
}

/// Its time is over.
pub(crate) fn expired() -> ApiError {
    ApiError::new(
        Code::SessionExpired,
        "the session has expired; a client that can refresh does so now, else sign in again: `collie online login`",
    )
}

/// It was ended.
pub(crate) fn ended(reason: EndReason) -> ApiError {
    let sentence = match reason {
        EndReason::DeviceRevoked => "this device was revoked",
        EndReason::MembershipEnded => {
            "the membership of this workspace has ended; select another workspace or sign in again"
        }
        EndReason::RefreshReused => {
            "the session was ended because a used refresh token came again; sign in again: `collie online login`"
        }
        EndReason::Replaced => {
            "newer sessions of this device took this one's place; sign in again: `collie online login`"
        }
    };
    ApiError::new(Code::SessionRevoked, sentence)
}

/// Whether sessions of this class move their end forward with use.
pub(crate) const fn slides(class: SessionClass) -> bool {
    match class {
        SessionClass::Sliding => true,
        SessionClass::Rotating => false,
    }
}
