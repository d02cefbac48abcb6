//! What a caller may be told, and what only the log may hold: two values with no path from the second into the first.

use super::answer::Answer;
use crate::door::RandomError;
use axum::response::{IntoResponse, Response};
use contract::{Code, Problem, cjson::JsonError};
use http::{HeaderValue, StatusCode, header::RETRY_AFTER};
use std::error::Error;
use store::StoreError;

/// A refusal or failure on its way to the caller: `{"error", "code", "field"}`, and the cause for the log alone.
#[derive(Debug)]
#[must_use = "an error that is not answered tells nobody"]
pub(crate) struct ApiError {
    code: Code,
    public: Problem,
    internal: Option<Box<dyn Error + Send + Sync>>,
    retry_after_s: Option<u64>,
}

impl ApiError {
    /// A refusal with one sentence for people.
    pub(crate) fn new(code: Code, sentence: impl Into<String>) -> Self {
        Self { code, public: Problem::new(code, sentence), internal: None, retry_after_s: None }
    }

    /// Names the field to blame.
    pub(crate) fn at(mut self, field: &str) -> Self {
        self.public = self.public.at(field);
        self
    }

    /// Our fault: the caller hears nothing of `cause`.
    pub(crate) fn internal(cause: impl Error + Send + Sync + 'static) -> Self {
        Self { internal: Some(Box::new(cause)), ..Self::new(Code::Internal, "the service failed; nothing was changed") }
    }

    /// Not there or not the caller's: one answer for both.
    pub(crate) fn not_found(noun: &str) -> Self {
        Self::new(Code::NotFound, format!("no such {noun}"))
    }

    /// A field with a value of another shape.
    pub(crate) fn field(field: &str, what: &str) -> Self {
        Self::new(Code::FieldInvalid, format!("field `{field}`: {what}")).at(field)
    }

    /// Says when to come again, at least one second from now.
    pub(crate) fn retry_after(mut self, seconds: u64) -> Self {
        self.retry_after_s = Some(seconds.max(1));
        self
    }

    /// The stable code.
    pub(crate) const fn code(&self) -> Code {
        self.code
    }

    /// The sentence for people.
    pub(crate) fn sentence(&self) -> &str {
        &self.public.error
    }

    /// Writes the cause to the log, once, at the edge.
    pub(crate) fn log(&self) {
        if let Some(cause) = &self.internal {
            let mut chain = cause.to_string();
            let mut next = cause.source();
            while let Some(error) = next {
                chain.push_str(": ");
                chain.push_str(&error.to_string());
                next = error.source();
            }
            tracing::error!(code = self.code.as_str(), cause = chain, "request failed");
        }
    }

    /// The status line's number.
    pub(crate) fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.code.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        self.log();
        let mut response = Answer::with_status(self.status(), &self.public)
            .map_or_else(|_| self.status().into_response(), IntoResponse::into_response);
        if let Some(seconds) = self.retry_after_s {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> Self {
        match &error {
            StoreError::NotVisible { what } => Self::not_found(what),
            StoreError::AlreadyThere { .. } => Self::new(Code::IdTaken, error.to_string()),
            StoreError::VersionMoved { .. } => Self::new(Code::StaleVersion, error.to_string()),
            StoreError::WrongState { .. } => Self::new(Code::IllegalTransition, error.to_string()),
            StoreError::Refreshing => Self::new(Code::ConnectionRefreshing, error.to_string()),
            StoreError::Full { .. } => Self::new(Code::LimitReached, error.to_string()),
            StoreError::Replayed { .. } => Self::new(Code::SignatureReplayed, error.to_string()),
            StoreError::Outranked => Self::new(Code::RoleForbidden, error.to_string()),
            StoreError::LastOwner => Self::new(Code::LastOwner, error.to_string()),
            StoreError::Nul => Self::new(Code::BodyInvalid, error.to_string()),
            StoreError::Contention { .. } | StoreError::TooSlow { .. } | StoreError::Engine(_) | StoreError::Closed => {
                let public =
                    Self::new(Code::Unavailable, "the service cannot answer now; nothing was changed").retry_after(1);
                Self { internal: Some(Box::new(error)), ..public }
            }
            StoreError::Fenced { .. }
            | StoreError::Unexplained { .. }
            | StoreError::Inconsistent { .. }
            | StoreError::Spoiled { .. }
            | StoreError::UnknownSchema { .. } => Self::internal(error),
        }
    }
}

impl From<RandomError> for ApiError {
    fn from(error: RandomError) -> Self {
        Self::internal(error)
    }
}

impl From<JsonError> for ApiError {
    fn from(error: JsonError) -> Self {
        let code = match &error {
            JsonError::TooLarge { .. } => Code::BodyTooLarge,
            JsonError::Shape { .. } | JsonError::NotSignable { .. } => Code::FieldInvalid,
            JsonError::Syntax { .. }
            | JsonError::TooDeep { .. }
            | JsonError::DuplicateKey { .. }
            | JsonError::NotUnicode { .. }
            | JsonError::NumberTooLong { .. } => Code::BodyInvalid,
        };
        let refusal = Self::new(code, error.to_string());
        match error.field() {
            Some(field) => refusal.at(field),
            None => refusal,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("row 7 of table `session` holds canary-5150")]
    struct Cause;

    #[test]
    fn the_cause_has_no_path_to_the_caller() {
        let error = ApiError::internal(Cause);
        assert!(!error.sentence().contains("canary"));
        assert_eq!(error.status(), StatusCode::INTERNAL_SERVER_ERROR);
    }

    #[test]
    fn a_wait_is_never_zero() {
        let response = ApiError::new(Code::RateLimited, "too many requests").retry_after(0).into_response();
        assert_eq!(response.headers()[RETRY_AFTER], "1");
        assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
    }
}
