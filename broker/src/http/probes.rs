//! Whether the process runs, whether it can work, and what it is. Tells nobody anything about people or devices.

use super::{answer::Answer, error::ApiError};
use crate::{app::App, keys};
use axum::extract::State;
use contract::{Json, routes::ROUTES};
use http::StatusCode;
use store::Store;

/// GET /healthz
pub(super) async fn healthz() -> Result<Answer, ApiError> {
    Answer::ok(&Json::from_members([("status", "ok".into())]))
}

/// GET /readyz: 503 with the reasons where something is missing.
pub(super) async fn readyz(State(app): State<App>) -> Result<Answer, ApiError> {
    let reasons = find_reasons(&app).await;
    let (status, word) =
        if reasons.is_empty() { (StatusCode::OK, "ready") } else { (StatusCode::SERVICE_UNAVAILABLE, "not_ready") };
    let reasons: Vec<Json> = reasons.into_iter().map(Json::from).collect();
    Answer::with_status(status, &Json::from_members([("status", word.into()), ("reasons", reasons.into())]))
}

/// GET /version
pub(super) async fn version(State(app): State<App>) -> Result<Answer, ApiError> {
    let routes = i64::try_from(ROUTES.len()).unwrap_or_default();
    Answer::ok(&Json::from_members([
        ("product", "collie-broker".into()),
        ("version", env!("CARGO_PKG_VERSION").into()),
        ("contract", "v1".into()),
        ("deployment_id", app.deployment_id().as_str().into()),
        ("database", app.store().engine_name().into()),
        ("schema", Store::schema_version().into()),
        ("routes", routes.into()),
    ]))
}

async fn find_reasons(app: &App) -> Vec<String> {
    let mut reasons = Vec::new();
    if let Some(reason) = app.sealed() {
        reasons.push(format!("vault: sealed: {reason}"));
    }
    if app.is_draining() {
        reasons.push("shutting_down".to_owned());
    }
    if app.store().ping().await.is_err() {
        reasons.push("database: does not answer".to_owned());
    } else if app
        .store()
        .read("ready", |mut tx| async move { tx.find_deployment().await })
        .await
        .ok()
        .flatten()
        .is_none()
    {
        reasons.push("schema: the installation's row is missing".to_owned());
    }
    if keys::open(&app.config().state_dir).is_err() {
        reasons.push("keys: the token key cannot be read".to_owned());
    }
    reasons
}
