//! One service, pinned: requests to it and its answers, without any identity.

use super::date;
use crate::app::{App, trust};
use crate::error::CliError;
use contract::{Code, Problem, cjson, limits};
use egress::{Destination, EgressError, HeaderName, Limits, Method, Request};
use serde::Serialize;
use std::time::Duration;
use zeroize::Zeroizing;

/// The way to one service. Its certificate is the pinned one, or one that the system trusts; plain http stays on this machine.
#[derive(Clone)]
pub struct Way {
    destination: Destination,
    prefix: String,
    limits: Limits,
}

impl Way {
    /// The way to the service at `base`, pinned to `fingerprint` unless that is empty. Sends nothing.
    pub fn new(app: &App, base: &str, fingerprint: &str) -> Result<Self, CliError> {
        let destination =
            app.egress(Vec::new()).service(base, trust(fingerprint)?).map_err(|error| refuse(base, error))?;
        let prefix = destination.target().trim_end_matches('/').to_owned();
        let seconds = Duration::from_secs(app.global.timeout);
        Ok(Self {
            destination,
            prefix,
            limits: Limits { head: seconds, idle: seconds, total: seconds, ..Limits::SERVICE },
        })
    }

    /// The same way with less patience: every answer within `seconds`.
    #[must_use]
    pub fn within(mut self, seconds: u64) -> Self {
        let short = Duration::from_secs(seconds).min(self.limits.total);
        self.limits = Limits { head: short, idle: short, total: short, ..self.limits };
        self
    }

    /// A request to a target of the service.
    pub fn request(&self, method: &Method, target: &str, has_body: bool) -> Result<Request, CliError> {
        let request = Request::new(method.clone(), format!("{}{target}", self.prefix), self.limits)
            .header(HeaderName::from_static("accept"), "application/json")?;
        if has_body {
            return Ok(request.header(HeaderName::from_static("content-type"), "application/json")?);
        }
        Ok(request)
    }

    /// Sends a request and reads its whole answer.
    pub async fn exchange(&self, request: Request) -> Result<Answer, CliError> {
        let response = self.destination.send(request).await?;
        let status = response.status().as_u16();
        let date_s = response.header("date").and_then(date::parse);
        let body = Zeroizing::new(response.bytes().await?);
        Ok(Answer { status, date_s, body })
    }

    /// Reads from a public route.
    pub async fn get_public(&self, target: &str) -> Result<Answer, CliError> {
        self.exchange(self.request(&Method::GET, target, false)?).await
    }

    /// Writes to a public route.
    pub async fn post_public<B: Serialize>(&self, target: &str, body: &B) -> Result<Answer, CliError> {
        let body = Zeroizing::new(cjson::to_canonical(body)?);
        self.exchange(self.request(&Method::POST, target, true)?.secret_body(body)).await
    }
}

fn refuse(base: &str, error: EgressError) -> CliError {
    if let (EgressError::BadUrl { what }, true) = (&error, base.starts_with("http://")) {
        return CliError::new(Code::EgressDenied, format!("`{base}` is refused: {what}"))
            .hint("give the service a certificate (its own, or a self-made one that is pinned by `--server-fingerprint`) and use https://");
    }
    error.into()
}

/// An answer of the service. Its body can hold tokens, so it is wiped.
pub struct Answer {
    status: u16,
    date_s: Option<u64>,
    body: Zeroizing<Vec<u8>>,
}

impl Answer {
    /// The HTTP status.
    #[must_use]
    pub const fn status(&self) -> u16 {
        self.status
    }

    /// Whether the service did what was asked.
    #[must_use]
    pub const fn is_success(&self) -> bool {
        matches!(self.status, 200..=299)
    }

    /// The bytes of the body.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        &self.body
    }

    /// The service's clock, Unix seconds, where it says so.
    #[must_use]
    pub const fn date_s(&self) -> Option<u64> {
        self.date_s
    }

    /// This device's clock less the service's.
    #[must_use]
    pub fn clock_difference_s(&self, now_s: u64) -> Option<i64> {
        let service_s = i64::try_from(self.date_s?).ok()?;
        Some(i64::try_from(now_s).ok()? - service_s)
    }

    /// The code of a refusal.
    #[must_use]
    pub fn code(&self) -> Option<Code> {
        (!self.is_success()).then(|| self.to_error().code)
    }

    /// The refusal as an error.
    #[must_use]
    pub fn to_error(&self) -> CliError {
        match cjson::from_slice::<Problem>(&self.body, limits::PUBLIC_BODY_BYTES_MAX) {
            Ok(problem) => CliError::from_problem(self.status, &problem),
            Err(_) => CliError::from_problem(
                self.status,
                &Problem {
                    error: format!("the service answered HTTP {}", self.status),
                    code: String::new(),
                    field: None,
                },
            ),
        }
    }
}
