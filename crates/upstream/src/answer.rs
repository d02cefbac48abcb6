//! Reading what an MCP server answers: one JSON message or a bounded stream of them, and refusals. Never hands on what it could not read whole.

use crate::error::UpstreamError;
use crate::redact::Redactor;
use crate::rpc::{Body, Message};
use crate::sse::Events;
use contract::{Json, cjson, limits};
use egress::{Response, StatusCode};
use std::collections::VecDeque;

/// A failure, and the server's own data about it.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) error: UpstreamError,
    /// `error.data`; for looking at, never for showing.
    pub(crate) data: Json,
    /// It came before the request that was to be made, which has not gone out.
    pub(crate) early: bool,
}

impl<E: Into<UpstreamError>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self { error: error.into(), data: Json::Null, early: false }
    }
}

/// The messages of one answer, one at a time.
pub(crate) struct Messages {
    response: Response,
    form: Form,
    bytes_max: usize,
    ready: VecDeque<Message>,
}

enum Form {
    /// One message.
    Json,
    /// A stream of messages.
    Stream(Events),
    /// Nothing more comes.
    Over,
}

impl Messages {
    /// Looks at the head of an answer. A refusal is read, bounded, and becomes the error.
    pub(crate) async fn of(response: Response, bytes_max: usize, redactor: &Redactor) -> Result<Self, Failure> {
        if !response.status().is_success() {
            return Err(refusal(response, redactor).await);
        }
        let form = match media_type(&response).as_deref() {
            Some("application/json") => Form::Json,
            Some("text/event-stream") => Form::Stream(Events::new(bytes_max, limits::UPSTREAM_EVENTS_MAX)),
            Some(_) | None => return Err(UpstreamError::malformed("neither JSON nor an event stream").into()),
        };
        Ok(Self { response, form, bytes_max, ready: VecDeque::new() })
    }

    /// The value of a header of the answer.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.response.header(name)
    }

    /// The next message; none when the answer is over.
    pub(crate) async fn next(&mut self) -> Result<Option<Message>, UpstreamError> {
        loop {
            if let Some(message) = self.ready.pop_front() {
                return Ok(Some(message));
            }
            match &mut self.form {
                Form::Over => return Ok(None),
                Form::Json => {
                    self.form = Form::Over;
                    let mut body = Vec::new();
                    while let Some(chunk) = self.response.chunk().await? {
                        body.extend_from_slice(&chunk);
                    }
                    self.ready.push_back(read(&body, self.bytes_max)?);
                }
                Form::Stream(events) => match self.response.chunk().await? {
                    None => self.form = Form::Over,
                    Some(chunk) => {
                        let data = events.feed(&chunk).map_err(|error| UpstreamError::malformed(error.to_string()))?;
                        // An event with empty data only carries an id to resume from.
                        for event in data.iter().filter(|event| !event.is_empty()) {
                            self.ready.push_back(read(event, self.bytes_max)?);
                        }
                    }
                },
            }
        }
    }
}

/// A JSON-RPC error as our error, redacted.
pub(crate) fn rpc_failure(code: i64, message: &str, data: Json, status: StatusCode, redactor: &Redactor) -> Failure {
    let message = message.chars().take(limits::UPSTREAM_MESSAGE_CHARS_MAX).collect::<String>();
    let message = redactor.text(&message).unwrap_or(message);
    Failure { error: UpstreamError::Rpc { code, message, status: status.as_u16() }, data, early: false }
}

fn read(bytes: &[u8], bytes_max: usize) -> Result<Message, UpstreamError> {
    Message::read(cjson::parse(bytes, bytes_max).map_err(|error| UpstreamError::malformed(error.to_string()))?)
}

fn media_type(response: &Response) -> Option<String> {
    let value = response.header("content-type")?;
    Some(value.split(';').next()?.trim().to_ascii_lowercase())
}

async fn refusal(response: Response, redactor: &Redactor) -> Failure {
    let status = response.status();
    let challenge = response.header("www-authenticate").map(|text| redacted(text, redactor));
    let retry_after_s = response.header("retry-after").and_then(|text| text.trim().parse().ok());
    match status.as_u16() {
        401 => return UpstreamError::Unauthorized { challenge }.into(),
        403 => return UpstreamError::Forbidden { challenge }.into(),
        429 => return UpstreamError::RateLimited { retry_after_s }.into(),
        _ => {}
    }
    match cjson::parse(&beginning(response).await, limits::UPSTREAM_REFUSAL_BYTES_MAX).ok().map(Message::read) {
        Some(Ok(Message::Answer { body: Body::Error { code, message, data }, .. })) => {
            rpc_failure(code, &message, data, status, redactor)
        }
        Some(_) | None => UpstreamError::Status { status: status.as_u16() }.into(),
    }
}

/// As much of a refusal's body as fits; a refusal that does not end or breaks is a refusal all the same.
async fn beginning(mut response: Response) -> Vec<u8> {
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        body.extend_from_slice(&chunk);
        if body.len() > limits::UPSTREAM_REFUSAL_BYTES_MAX {
            break;
        }
    }
    body
}

fn redacted(text: &str, redactor: &Redactor) -> String {
    let text = text.chars().take(limits::UPSTREAM_MESSAGE_CHARS_MAX).collect::<String>();
    redactor.text(&text).unwrap_or(text)
}
