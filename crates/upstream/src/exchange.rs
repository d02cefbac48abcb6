//! One POST to an MCP server: headers, credential, body. Shows the credential to the server that it belongs to and to nobody else.

use crate::answer::{Failure, Messages};
use crate::auth::Auth;
use crate::error::UpstreamError;
use crate::redact::Redactor;
use contract::Json;
use contract::review::Era;
use egress::{Destination, HeaderName, Limits, Method, Request, Response};

/// A server, the credential for it, and how long it may take.
pub(crate) struct Link {
    pub(crate) destination: Destination,
    pub(crate) auth: Auth,
    pub(crate) redactor: Redactor,
    pub(crate) limits: Limits,
}

/// What a request says in headers beside its body.
#[derive(Default)]
pub(crate) struct Heading<'a> {
    pub(crate) version: Option<&'a str>,
    pub(crate) session: Option<&'a str>,
    pub(crate) mirrored: Vec<(HeaderName, String)>,
}

pub(crate) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const ACCEPT: HeaderName = HeaderName::from_static("accept");
const CONTENT_TYPE: HeaderName = HeaderName::from_static("content-type");

impl Heading<'_> {
    /// The headers that 2026-07-28 requires on every request.
    pub(crate) fn stateless(method: &str, name: Option<String>) -> Self {
        let mut mirrored = vec![(METHOD, method.to_owned())];
        mirrored.extend(name.map(|name| (NAME, name)));
        Self { version: Some(Era::Stateless.as_str()), session: None, mirrored }
    }
}

impl Link {
    /// Sends one message and looks at the head of the answer.
    pub(crate) async fn post(&self, heading: &Heading<'_>, message: &Json) -> Result<Messages, Failure> {
        let response = self.send(Method::POST, heading, Some(message)).await?;
        Messages::of(response, self.limits.body_bytes, &self.redactor).await
    }

    /// Sends a notification or an answer, for which the server has only a status.
    pub(crate) async fn notify(&self, heading: &Heading<'_>, message: &Json) -> Result<(), Failure> {
        let response = self.send(Method::POST, heading, Some(message)).await?;
        if response.status().is_success() {
            return Ok(());
        }
        Messages::of(response, self.limits.body_bytes, &self.redactor).await.map(|_| ())
    }

    /// Ends a session.
    pub(crate) async fn delete(&self, heading: &Heading<'_>) -> Result<Response, UpstreamError> {
        self.send(Method::DELETE, heading, None).await
    }

    async fn send(
        &self,
        method: Method,
        heading: &Heading<'_>,
        message: Option<&Json>,
    ) -> Result<Response, UpstreamError> {
        let mut request = Request::new(method, self.destination.target(), self.limits)
            .header(ACCEPT, "application/json, text/event-stream")?;
        if let Some(version) = heading.version {
            request = request.header(VERSION, version)?;
        }
        if let Some(session) = heading.session {
            request = request.header(SESSION, session)?;
        }
        for (name, value) in &heading.mirrored {
            request = request.header(name.clone(), value)?;
        }
        if let Some(message) = message {
            request = request.header(CONTENT_TYPE, "application/json")?.body(message.canonical());
        }
        let request = self.auth.present(request)?;
        Ok(self.destination.send(request).await?)
    }
}
