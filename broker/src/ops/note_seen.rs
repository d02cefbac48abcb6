//! Upkeep of a verified request, in one commit: its nonce is spent, and at most once a minute its device and its sliding session are noted as seen. Decides nothing about the request.

use super::find_session::{LiveSession, slides};
use crate::{app::App, door::ms, http::error::ApiError};
use contract::{Code, b64u, ids::DeviceId, limits};
use sign::request::VerifiedRequest;
use store::{StoreError, Upkeep};

/// Spends the nonce of a session's verified request and notes that it came.
pub(crate) async fn note_seen(app: &App, session: &LiveSession, verified: &VerifiedRequest) -> Result<(), ApiError> {
    let (nonce, now_ms, caller) = (&b64u::encode(verified.nonce()), app.now_ms(), &session.caller);
    let due = now_ms - session.last_seen_at_ms >= ms(limits::LAST_SEEN_S_MIN);
    app.store()
        .run("note_seen", |mut tx| async move {
            tx.insert_request_nonce(&caller.device_id, nonce, now_ms).await?;
            if due {
                tx.see_device(&caller.device_id, now_ms).await?;
            }
            if due && slides(caller.session_class) {
                tx.slide_family(&caller.family_id, now_ms + ms(limits::SLIDING_SESSION_TTL_S)).await?;
            }
            tx.commit_upkeep(Upkeep::Nonce, ())
        })
        .await
        .map_err(refusal)
}

/// Spends the nonce of a verified request that has no session yet.
pub(crate) async fn spend_nonce(app: &App, device_id: &DeviceId, verified: &VerifiedRequest) -> Result<(), ApiError> {
    let (nonce, now_ms) = (&b64u::encode(verified.nonce()), app.now_ms());
    app.store()
        .run("spend_nonce", |mut tx| async move {
            tx.insert_request_nonce(device_id, nonce, now_ms).await?;
            tx.commit_upkeep(Upkeep::Nonce, ())
        })
        .await
        .map_err(refusal)
}

/// A second use is refused, and so is everything while the device's window is full.
fn refusal(error: StoreError) -> ApiError {
    if let StoreError::Replayed { .. } = error {
        return ApiError::new(Code::SignatureReplayed, "this request was sent before; sign each request anew");
    }
    if let StoreError::Full { .. } = error {
        let wait_s = limits::REQUEST_SKEW_S_MAX / 5;
        return ApiError::new(Code::NoncesFull, "this device sent too many requests; wait a few minutes")
            .retry_after(wait_s);
    }
    error.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::response::IntoResponse as _;

    /// That a full window forgets nothing is the store's test; here the device learns that waiting helps.
    #[test]
    fn a_full_window_says_wait_and_a_replay_says_sign_anew() {
        let full = refusal(StoreError::Full { what: "nonces", max: limits::REQUEST_NONCES_PER_DEVICE_MAX });
        assert_eq!(full.code(), Code::NoncesFull);
        let response = full.into_response();
        assert_eq!(
            (response.status().as_u16(), &response.headers()["retry-after"]),
            (429, &"60".parse().expect("header"))
        );
        assert_eq!(refusal(StoreError::Replayed { what: "nonce" }).status().as_u16(), 401);
    }
}
