//! Request bodies: read once up to the route's maximum, then decoded strictly. Nothing is decoded before the route's access is proved.

use super::error::ApiError;
use axum::{
    body::{Body, Bytes},
    extract::FromRequest,
};
use contract::{Code, cjson, limits, routes::Route};
use http::{
    HeaderMap, Request,
    header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING},
    request::Parts,
};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::de::DeserializeOwned;
use std::time::Duration;

/// The body as it arrived, for signatures and for [`JsonBody`].
#[derive(Clone)]
pub(crate) struct RawBody(pub(crate) Bytes);

/// A strictly decoded JSON body (wire-collie-v1 0): canonical rules of depth, numbers and keys, unknown fields refused by the type.
pub(crate) struct JsonBody<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request<Body>, _: &S) -> Result<Self, ApiError> {
        let (parts, _) = request.into_parts();
        check_json_type(&parts.headers)?;
        let (route, body) = read_parts(&parts)?;
        let decoded = cjson::from_slice(body, route.body_max);
        // The decoder would also take a list of the fields in their order; a body has one spelling of its shape.
        match (decoded, body.trim_ascii_start().starts_with(b"{")) {
            (Ok(value), true) => Ok(Self(value)),
            (Ok(_), false) => Err(ApiError::field(".", "an object was expected")),
            (Err(error), _) => Err(error.into()),
        }
    }
}

fn read_parts(parts: &Parts) -> Result<(&'static Route, &[u8]), ApiError> {
    let route = parts.extensions.get::<&'static Route>().copied();
    let body = parts.extensions.get::<RawBody>();
    route.zip(body).map(|(route, RawBody(body))| (route, body.as_ref())).ok_or_else(|| ApiError::internal(Unread))
}

/// A handler asked for a body on a route whose gate did not read one.
#[derive(Debug, thiserror::Error)]
#[error("the route's gate read no body")]
struct Unread;

/// Refuses what announces more than `route` takes, before a byte of it is buffered.
pub(crate) fn check_announced(route: &Route, headers: &HeaderMap) -> Result<(), ApiError> {
    if headers.contains_key(CONTENT_ENCODING) {
        return Err(ApiError::new(Code::MediaType, "compressed bodies are not read"));
    }
    let announced = match headers.get(CONTENT_LENGTH) {
        Some(length) => length.to_str().ok().and_then(|length| length.parse::<u64>().ok()).unwrap_or(u64::MAX),
        None => 0,
    };
    if route.body_max == 0 && (announced > 0 || headers.contains_key(TRANSFER_ENCODING)) {
        return Err(ApiError::new(Code::BodyInvalid, "this request takes no body"));
    }
    if announced > route.body_max as u64 {
        return Err(too_large(route));
    }
    Ok(())
}

/// Reads the whole body, at most `route.body_max` bytes, within the time a body may take.
pub(crate) async fn read(route: &Route, body: Body) -> Result<Bytes, ApiError> {
    let reading = Limited::new(body, route.body_max).collect();
    let Ok(read) = tokio::time::timeout(Duration::from_secs(limits::BODY_READ_S_MAX), reading).await else {
        return Err(ApiError::new(Code::BodyInvalid, "the body took too long to arrive"));
    };
    match read {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large(route)),
        Err(_) => Err(ApiError::new(Code::BodyInvalid, "the body ended early")),
    }
}

fn too_large(route: &Route) -> ApiError {
    ApiError::new(Code::BodyTooLarge, format!("the body is larger than {} bytes", route.body_max))
}

fn check_json_type(headers: &HeaderMap) -> Result<(), ApiError> {
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    let stated = types.next().and_then(|value| value.to_str().ok()).unwrap_or("");
    let (essence, parameter) = stated.split_once(';').unwrap_or((stated, ""));
    let parameter = parameter.trim().to_ascii_lowercase();
    let plain = essence.trim().eq_ignore_ascii_case("application/json")
        && matches!(parameter.as_str(), "" | "charset=utf-8" | "charset=\"utf-8\"");
    if plain && types.next().is_none() {
        return Ok(());
    }
    Err(ApiError::new(Code::MediaType, "the body must be `application/json` in UTF-8"))
}
