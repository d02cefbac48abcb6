//! Ids in paths. A text that is no id names nothing, so it gets the answer of an id that is not there.

use super::error::ApiError;
use axum::extract::{FromRequestParts, Path};
use http::request::Parts;
use std::str::FromStr;

/// The `{id}` of the route.
pub(crate) struct PathId<T>(pub(crate) T);

impl<T: FromStr, S: Send + Sync> FromRequestParts<S> for PathId<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let absent = || ApiError::not_found("object");
        let Path(text) = Path::<String>::from_request_parts(parts, state).await.map_err(|_| absent())?;
        text.parse().map(PathId).map_err(|_| absent())
    }
}
