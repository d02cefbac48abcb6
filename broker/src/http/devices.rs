//! Enrolment and devices over HTTP. Parses, calls one operation, answers.

use super::{answer::Answer, body::JsonBody, caller::Caller, error::ApiError};
use crate::{
    app::App,
    ops::{
        approve_pairing::{self, Approver, Decision},
        claim_pairing, list_devices, revoke_device, start_pairing, who_am_i,
    },
};
use axum::extract::State;
use contract::{
    Json,
    device::{ApproveDevice, DeviceList, FetchTokens, FindPending, RevokeDevice, StartPairing},
};

/// POST /v1/devices/start
pub(super) async fn start(
    State(app): State<App>,
    JsonBody(request): JsonBody<StartPairing>,
) -> Result<Answer, ApiError> {
    Answer::created(&start_pairing::start_pairing(&app, &request).await?)
}

/// POST /v1/devices/token
pub(super) async fn token(
    State(app): State<App>,
    JsonBody(request): JsonBody<FetchTokens>,
) -> Result<Answer, ApiError> {
    Answer::ok(&claim_pairing::claim_pairing(&app, &request).await?)
}

/// GET /v1/whoami
pub(super) async fn whoami(State(app): State<App>, caller: Caller) -> Result<Answer, ApiError> {
    Answer::ok(&who_am_i::who_am_i(&app, caller).await?)
}

/// GET /v1/devices
pub(super) async fn list(State(app): State<App>, caller: Caller) -> Result<Answer, ApiError> {
    Answer::ok(&DeviceList { devices: list_devices::list_devices(&app, &caller.user_id).await? })
}

/// POST /v1/devices/pending
pub(super) async fn pending(
    State(app): State<App>,
    caller: Caller,
    JsonBody(request): JsonBody<FindPending>,
) -> Result<Answer, ApiError> {
    Answer::ok(&approve_pairing::find_pending(&app, &approver(caller), &request.user_code).await?)
}

/// POST /v1/devices/approve
pub(super) async fn approve(
    State(app): State<App>,
    caller: Caller,
    JsonBody(request): JsonBody<ApproveDevice>,
) -> Result<Answer, ApiError> {
    let decision = Decision { user_code: &request.user_code, fingerprint: &request.fingerprint };
    Answer::ok(&approve_pairing::approve_pairing(&app, &approver(caller), decision).await?)
}

/// POST /v1/devices/revoke
pub(super) async fn revoke(
    State(app): State<App>,
    caller: Caller,
    JsonBody(request): JsonBody<RevokeDevice>,
) -> Result<Answer, ApiError> {
    revoke_device::revoke_device(&app, &caller, &request.device_id).await?;
    Answer::ok(&Json::from_members([("device_id", request.device_id.as_str().into()), ("revoked", true.into())]))
}

fn approver(caller: Caller) -> Approver {
    Approver::Device { user_id: caller.user_id, device_id: caller.device_id }
}
