//! A device asks to be paired: it gets a code to poll with and a code for the person. Nothing about it is believed yet.

use super::{
    find_session::stored,
    issue_tokens::{FreshToken, make_fresh},
};
use crate::{app::App, door, http::error::ApiError};
use contract::{
    AuditEvent, Code, Digest,
    audit::{Actor, AuditLog},
    b64u,
    device::{PairingStarted, SessionClass, StartPairing},
    ids::PairingId,
    limits, text,
};
use sign::{
    PublicKey,
    token::{TokenKind, UserCode},
};
use store::{NewPairing, StoreError};

/// The capability that fixes the device's session class to rotating.
const CAPABILITY_REFRESH: &str = "refresh";
/// Capabilities one request may name; unknown ones mean nothing.
const CAPABILITIES_MAX: usize = 16;
/// New codes that are tried when one collides.
const ATTEMPTS_MAX: u32 = 3;

/// Registers a waiting pairing.
pub(crate) async fn start_pairing(app: &App, request: &StartPairing) -> Result<PairingStarted, ApiError> {
    let device_name = check_name(&request.device_name)?;
    let key =
        PublicKey::parse(&request.public_key).map_err(|error| ApiError::field("public_key", &error.to_string()))?;
    if b64u::decode_array::<32>(&request.challenge).is_err() {
        return Err(ApiError::field("challenge", "the url-safe base64 of a SHA-256 was expected"));
    }
    if request.capabilities.len() > CAPABILITIES_MAX {
        return Err(ApiError::field("capabilities", "too many"));
    }
    let rotates = request.capabilities.iter().any(|capability| capability == CAPABILITY_REFRESH);
    let session_class = if rotates { SessionClass::Rotating } else { SessionClass::Sliding };
    for _ in 0..ATTEMPTS_MAX {
        let codes = make_codes(app)?;
        match insert(app, request, New { device_name: &device_name, key: &key, session_class, codes: &codes }).await {
            Err(StoreError::AlreadyThere { .. }) => {}
            Err(error @ StoreError::Full { .. }) => return Err(ApiError::new(Code::LimitReached, error.to_string())),
            Err(error) => return Err(error.into()),
            Ok(()) => return Ok(answer(app, &codes)),
        }
    }
    Err(ApiError::internal(StoreError::AlreadyThere { what: "pairing" }))
}

/// A pairing about to be stored.
#[derive(Clone, Copy)]
struct New<'a> {
    device_name: &'a str,
    key: &'a PublicKey,
    session_class: SessionClass,
    codes: &'a Codes,
}

async fn insert(app: &App, request: &StartPairing, new: New<'_>) -> Result<(), StoreError> {
    let (now_ms, session_class) = (app.now_ms(), new.session_class);
    let key_digest = Digest::of(&[new.key.as_bytes()]);
    let event = AuditEvent::PairingStarted { pairing_id: new.codes.pairing_id.clone(), key_digest, session_class };
    let entry = &event.entry(AuditLog::Deployment(app.deployment_id().clone()), Actor::Anonymous, now_ms);
    app.store()
        .run("start_pairing", |mut tx| async move {
            let row = NewPairing {
                id: &new.codes.pairing_id,
                device_code: &new.codes.device_code.stored,
                user_code: &new.codes.user_code_stored,
                challenge: &request.challenge,
                public_key: new.key.as_bytes(),
                device_name: new.device_name,
                session_class,
                origin: app.origin().as_str(),
            };
            tx.insert_pairing(row, now_ms).await?;
            tx.commit_with(entry.clone(), ()).await
        })
        .await
}

fn answer(app: &App, codes: &Codes) -> PairingStarted {
    PairingStarted {
        // EXPOSE: to the device that asked, in the one answer that issues it.
        device_code: codes.device_code.text.with(String::clone),
        user_code: codes.user_code.to_string(),
        verification_uri: format!("{}/pair", app.origin()),
        expires_in: limits::PAIRING_TTL_S,
        interval: limits::PAIRING_INTERVAL_S,
    }
}

struct Codes {
    pairing_id: PairingId,
    device_code: FreshToken,
    user_code: UserCode,
    user_code_stored: store::TokenMac,
}

fn make_codes(app: &App) -> Result<Codes, door::RandomError> {
    let user_code = UserCode::from_random(door::make_random()?);
    Ok(Codes {
        pairing_id: PairingId::from_random(door::make_random()?),
        device_code: make_fresh(app.token_key(), TokenKind::DeviceCode)?,
        user_code_stored: stored(&app.token_key().mac_user_code(&user_code)),
        user_code,
    })
}

/// The name without control characters; the public client and the page print it.
fn check_name(name: &str) -> Result<String, ApiError> {
    let length = name.chars().count();
    let printable = text::without_controls(name).trim().to_owned();
    if length > limits::DEVICE_NAME_CHARS_MAX || printable.is_empty() {
        return Err(ApiError::field(
            "device_name",
            &format!("1 to {} characters were expected", limits::DEVICE_NAME_CHARS_MAX),
        ));
    }
    Ok(printable)
}
