//! Who calls: made by the gate alone, after session, device and signature were verified. A handler that takes a [`Caller`] cannot be reached without.

use super::error::ApiError;
use axum::extract::FromRequestParts;
use contract::{
    audit::Actor,
    device::SessionClass,
    ids::{DeviceId, FamilyId, UserId, WorkspaceId},
};
use http::request::Parts;
use store::Viewer;

/// An authenticated device with its session. Made by the gate alone. It carries no role: an operation reads that in the transaction that relies on it.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    /// The person.
    pub(crate) user_id: UserId,
    /// The session's workspace.
    pub(crate) workspace_id: WorkspaceId,
    /// The device whose key signed the request.
    pub(crate) device_id: DeviceId,
    /// The session's family.
    pub(crate) family_id: FamilyId,
    /// How the device's sessions live; fixed at enrolment.
    pub(crate) session_class: SessionClass,
}

impl Caller {
    /// The author of what this request changes.
    pub(crate) fn actor(&self) -> Actor {
        Actor::Device(self.device_id.clone())
    }

    /// The tenant and the person of every question to the store, from the session alone.
    pub(crate) fn viewer(&self) -> Viewer {
        Viewer { workspace_id: self.workspace_id.clone(), user_id: self.user_id.clone() }
    }
}

/// A route without a session gave its handler to a caller.
#[derive(Debug, thiserror::Error)]
#[error("the route's gate authenticated nobody")]
struct Unauthenticated;

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        parts.extensions.get::<Self>().cloned().ok_or_else(|| ApiError::internal(Unauthenticated))
    }
}
