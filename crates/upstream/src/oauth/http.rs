//! One exchange with an authorization server: bounded, no redirect, the answer's body wiped after use. Never keeps a connection between two servers.

use super::error::{ErrorCode, Fault};
use super::fields::Fields;
use contract::{cjson, limits};
use egress::{Destination, Egress, EgressError, HeaderName, Limits, Method, Request, Response};
use std::time::Duration;
use zeroize::Zeroize;

pub(crate) const ACCEPT: HeaderName = HeaderName::from_static("accept");
pub(crate) const AUTHORIZATION: HeaderName = HeaderName::from_static("authorization");
pub(crate) const CONTENT_TYPE: HeaderName = HeaderName::from_static("content-type");

/// An answer whose body can hold secrets.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) is_json: bool,
    body: Body,
}

/// Bytes in one allocation that never moves, wiped on drop.
struct Body(Vec<u8>);

impl Drop for Body {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

pub(crate) fn limits_for(body_bytes: usize) -> Limits {
    let call = Duration::from_secs(limits::OAUTH_CALL_S_MAX);
    Limits { head: call, idle: call, total: call, body_bytes }
}

/// A request that asks for JSON.
pub(crate) fn request(method: Method, target: &str, body_bytes: usize) -> Result<Request, EgressError> {
    Request::new(method, target, limits_for(body_bytes)).header(ACCEPT, "application/json")
}

/// Sends it and reads the whole answer.
pub(crate) async fn exchange(destination: &Destination, request: Request, max: usize) -> Result<Answer, EgressError> {
    let mut response = destination.send(request).await?;
    let mut body = Body(Vec::with_capacity(max));
    while let Some(chunk) = response.chunk().await? {
        // `egress` refuses an answer above the request's own limit, which is this capacity.
        if body.0.len() + chunk.len() > max {
            return Err(EgressError::BadRequest { what: "the answer's limit is not the request's" });
        }
        body.0.extend_from_slice(&chunk);
    }
    Ok(Answer { status: response.status().as_u16(), is_json: is_json(&response), body })
}

/// Reads a JSON document that holds no secret.
pub(crate) async fn fetch(egress: &Egress, url: &str) -> Result<Answer, EgressError> {
    let destination = egress.foreign(url)?;
    let request = request(Method::GET, destination.target(), limits::OAUTH_DOCUMENT_BYTES_MAX)?;
    exchange(&destination, request, limits::OAUTH_DOCUMENT_BYTES_MAX).await
}

fn is_json(response: &Response) -> bool {
    let media_type = response.header("content-type").unwrap_or("application/json");
    let media_type = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    media_type == "application/json" || (media_type.starts_with("application/") && media_type.ends_with("+json"))
}

impl Answer {
    /// The members of a JSON object, each of them wiped on drop.
    pub(crate) fn fields(&self) -> Option<Fields> {
        let json = cjson::parse(&self.body.0, self.body.0.len().max(1)).ok()?;
        Fields::new(json)
    }

    /// What this answer refuses with, if it is no success.
    pub(crate) fn refusal(&self) -> Option<Fault> {
        if (200..300).contains(&self.status) {
            return None;
        }
        let status = self.status;
        let code = self.fields().and_then(|fields| fields.text("error").map(ErrorCode::parse));
        Some(code.map_or(Fault::Status { status }, |code| Fault::Refused { code, status }))
    }

    /// The members of a successful answer.
    pub(crate) fn success(&self) -> Result<Fields, Fault> {
        match self.refusal() {
            Some(fault) => Err(fault),
            None => self.fields().ok_or(Fault::Malformed { field: ".", what: "is no JSON object" }),
        }
    }
}
