//! Answers as canonical JSON of at most 4 MiB, never compressed and never redirected; control characters leave the strings that the public client prints.

use super::error::ApiError;
use axum::response::{IntoResponse, Response};
use contract::{Json, cjson, limits, text};
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;

/// Members whose strings the public client prints raw (wire-collie-v1 0.1, 20).
const PRINTED: &[&str] = &["device_name", "display_name", "error", "name", "title"];
/// Members that are compared byte for byte or authenticated, so that nothing below them may change.
const VERBATIM: &[&str] = &["manifest", "raw_manifest", "review", "sealed_credential", "statement"];

/// A JSON answer, ready to be sent.
#[must_use = "an answer that is not returned is lost"]
pub(crate) struct Answer {
    status: StatusCode,
    body: Vec<u8>,
}

/// The answer's canonical form is larger than any client reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an answer of {bytes} bytes is over the maximum")]
struct AnswerTooLarge {
    bytes: usize,
}

impl Answer {
    /// 200.
    pub(crate) fn ok<T: Serialize>(value: &T) -> Result<Self, ApiError> {
        Self::with_status(StatusCode::OK, value)
    }

    /// 201.
    pub(crate) fn created<T: Serialize>(value: &T) -> Result<Self, ApiError> {
        Self::with_status(StatusCode::CREATED, value)
    }

    pub(super) fn with_status<T: Serialize>(status: StatusCode, value: &T) -> Result<Self, ApiError> {
        let body = printable(cjson::to_json(value).map_err(ApiError::internal)?).canonical();
        if body.len() > limits::RESPONSE_BYTES_MAX {
            return Err(ApiError::internal(AnswerTooLarge { bytes: body.len() }));
        }
        Ok(Self { status, body })
    }
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let headers = [
            (header::CONTENT_TYPE, HeaderValue::from_static("application/json")),
            (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
            (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        ];
        (self.status, headers, self.body).into_response()
    }
}

fn printable(value: Json) -> Json {
    match value {
        Json::Object(members) => Json::Object(
            members
                .into_iter()
                .map(|(key, value)| {
                    let value = if VERBATIM.contains(&key.as_str()) {
                        value
                    } else if let (Json::String(text), true) = (&value, PRINTED.contains(&key.as_str())) {
                        Json::String(text::without_controls(text))
                    } else {
                        printable(value)
                    };
                    (key, value)
                })
                .collect(),
        ),
        Json::Array(items) => Json::Array(items.into_iter().map(printable).collect()),
        scalar @ (Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_)) => scalar,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_strings_lose_controls_and_compared_ones_keep_them() {
        let value = Json::from_members([
            ("name", "a\u{1b}[31mb\n".into()),
            ("manifest", Json::Array(vec![Json::from_members([("name", "x\ny".into())])])),
        ]);
        let answer = Answer::ok(&value).unwrap_or_else(|_| panic!("small"));
        assert_eq!(answer.body, br#"{"manifest":[{"name":"x\ny"}],"name":"a[31mb"}"#);
    }

    #[test]
    fn an_answer_no_client_would_read_is_our_fault() {
        let error = Answer::ok(&"x".repeat(limits::RESPONSE_BYTES_MAX)).err().expect("too large");
        assert_eq!(error.code(), contract::Code::Internal);
    }
}
