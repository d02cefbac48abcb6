//! An answer, read in pieces under the exchange's limits. Never buffers more than the caller's maximum and never decompresses.

use crate::deadline::Deadline;
use crate::error::{EgressError, Phase};
use crate::request::Limits;
use bytes::Bytes;
use contract::limits;
use http::{HeaderMap, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use std::fmt;
use tokio::time::timeout;

/// The head of an answer, and its body still on the way.
pub struct Response {
    host: String,
    status: StatusCode,
    headers: HeaderMap,
    body: Incoming,
    limits: Limits,
    deadline: Deadline,
    /// A part of a frame that was too long to be handed on at one time.
    rest: Bytes,
    taken: usize,
}

impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response").field("host", &self.host).field("status", &self.status).finish_non_exhaustive()
    }
}

impl Response {
    pub(crate) fn new(host: String, answer: http::Response<Incoming>, limits: Limits, deadline: Deadline) -> Self {
        let (head, body) = answer.into_parts();
        Self { host, status: head.status, headers: head.headers, body, limits, deadline, rest: Bytes::new(), taken: 0 }
    }

    /// The status.
    #[must_use]
    pub const fn status(&self) -> StatusCode {
        self.status
    }

    /// The first value of a header, when it is visible ASCII.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// All headers.
    #[must_use]
    pub const fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The next piece of the body, at most [`limits::RESPONSE_CHUNK_BYTES_MAX`] bytes; none at its end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, EgressError> {
        while self.rest.is_empty() {
            match self.frame().await? {
                Some(bytes) => self.rest = bytes,
                None => return Ok(None),
            }
        }
        Ok(Some(self.rest.split_to(self.rest.len().min(limits::RESPONSE_CHUNK_BYTES_MAX))))
    }

    /// The rest of the body.
    pub async fn bytes(mut self) -> Result<Vec<u8>, EgressError> {
        let mut all = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            all.extend_from_slice(&chunk);
        }
        Ok(all)
    }

    async fn frame(&mut self) -> Result<Option<Bytes>, EgressError> {
        let late = |phase, max| EgressError::TimedOut { host: self.host.clone(), phase, max };
        let next = self.deadline.race(timeout(self.limits.idle, self.body.frame())).await;
        let frame = next
            .ok_or_else(|| late(Phase::Whole, self.limits.total))?
            .map_err(|_| late(Phase::Body, self.limits.idle))?;
        let Some(frame) = frame else { return Ok(None) };
        let frame = frame.map_err(|_| EgressError::Broken { host: self.host.clone(), phase: Phase::Body })?;
        // Trailers are not used by any peer of ours.
        let data = frame.into_data().unwrap_or_default();
        self.taken = self.taken.saturating_add(data.len());
        if self.taken > self.limits.body_bytes {
            return Err(EgressError::TooLarge { host: self.host.clone(), max: self.limits.body_bytes });
        }
        Ok(Some(data))
    }
}
