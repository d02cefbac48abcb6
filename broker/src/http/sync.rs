//! The sync calls as far as they exist: truthfully empty streams, so that the public client's whole sync passes. Takes no operation and loses none.

use super::{answer::Answer, body::JsonBody, caller::Caller, error::ApiError};
use crate::ops;
use axum::extract::RawQuery;
use contract::sync::{MissionList, NodeList, PushOperations, ScheduleList};

/// POST /v1/sync/push
pub(super) async fn push(_: Caller, JsonBody(request): JsonBody<PushOperations>) -> Result<Answer, ApiError> {
    Answer::ok(&ops::sync_push::sync_push(&request)?)
}

/// GET /v1/sync/pull
pub(super) async fn pull(_: Caller, RawQuery(query): RawQuery) -> Result<Answer, ApiError> {
    Answer::ok(&ops::sync_pull::sync_pull(query.as_deref().unwrap_or_default())?)
}

/// GET /v1/nodes: no node has announced itself, because none can yet.
pub(super) async fn list_nodes(_: Caller) -> Result<Answer, ApiError> {
    Answer::ok(&NodeList::default())
}

/// GET /v1/missions: there are none.
pub(super) async fn list_missions(_: Caller) -> Result<Answer, ApiError> {
    Answer::ok(&MissionList::default())
}

/// GET /v1/schedules: there are none.
pub(super) async fn list_schedules(_: Caller) -> Result<Answer, ApiError> {
    Answer::ok(&ScheduleList::default())
}
