//! An answer as a list of steps, and playing them to a connection. Never makes up content.

use crate::limits;
use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, StatusCode};
use http_body_util::channel::{Channel, Sender};
use std::io;
use std::time::Duration;

/// Filling is written in pieces of this many bytes.
const FILLING_BYTES: usize = 16 * 1024;
/// Pause around a frame that must arrive alone, in milliseconds.
const FRAME_PAUSE_MS: u64 = 20;

/// One answer.
pub(crate) struct Script {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) steps: Vec<Step>,
}

/// One step of an answer's body.
#[derive(Clone)]
pub(crate) enum Step {
    /// These bytes, in a frame of their own.
    Bytes(Bytes),
    /// So many letters `x`.
    Filling(u64),
    /// Nothing for so many milliseconds.
    PauseMs(u64),
    /// These bytes again and again until the reader goes away.
    Repeat(Bytes),
    /// The connection ends here, in the middle of the body.
    Cut,
}

impl Script {
    /// A short text under a status.
    pub(crate) fn plain(status: StatusCode, text: &'static str) -> Script {
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("text/plain"))]);
        Script { status, headers, steps: vec![Step::Bytes(Bytes::from_static(text.as_bytes()))] }
    }

    /// Puts `bytes` of filling where `mark` stands.
    pub(crate) fn replace(&mut self, mark: &[u8], bytes: u64) {
        self.split_at(mark, |before, after| {
            vec![Step::Bytes(before), Step::Filling(bytes), Step::Bytes(after.slice(mark.len()..))]
        });
    }

    /// Ends a frame in the middle of `inside`.
    pub(crate) fn split_inside(&mut self, inside: &[u8]) {
        self.split_at(inside, |before, after| {
            let mut after = after;
            let half = after.split_to(inside.len() / 2);
            let pause = || Step::PauseMs(FRAME_PAUSE_MS);
            vec![Step::Bytes(before), Step::Bytes(half), pause(), Step::Bytes(after), pause()]
        });
    }

    /// Ends the connection in the middle of the body.
    pub(crate) fn cut_midway(&mut self) {
        let whole = self.joined();
        self.steps = vec![Step::Bytes(whole.slice(..whole.len() / 2)), Step::PauseMs(FRAME_PAUSE_MS), Step::Cut];
    }

    /// Lets the body go out in pieces of `bytes` with a pause after each.
    pub(crate) fn trickle(&mut self, bytes: usize, pause_ms: u64) {
        let whole = self.joined();
        self.steps = whole
            .chunks(bytes.max(1))
            .flat_map(|piece| [Step::Bytes(whole.slice_ref(piece)), Step::PauseMs(pause_ms)])
            .collect();
    }

    /// Plays the script; a body that is known whole is sent with its length.
    pub(crate) fn play(self) -> Response {
        let is_whole = self.steps.iter().all(|step| matches!(step, Step::Bytes(_))) && self.steps.len() < 2;
        let body = if is_whole {
            Body::from(self.joined())
        } else {
            let (sender, body) = Channel::<Bytes, io::Error>::new(limits::FRAMES_WAITING_MAX);
            tokio::spawn(send(self.steps, sender));
            Body::new(body)
        };
        let mut response = Response::new(body);
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }

    fn joined(&self) -> Bytes {
        let mut whole = Vec::new();
        for step in &self.steps {
            if let Step::Bytes(bytes) = step {
                whole.extend_from_slice(bytes);
            }
        }
        Bytes::from(whole)
    }

    /// Replaces the first step that holds `mark` by what `split` makes of its two parts, the second beginning with the mark.
    fn split_at(&mut self, mark: &[u8], split: impl FnOnce(Bytes, Bytes) -> Vec<Step>) {
        for (at, step) in self.steps.iter().enumerate() {
            let Step::Bytes(bytes) = step else { continue };
            let Some(start) = bytes.windows(mark.len().max(1)).position(|window| window == mark) else { continue };
            let steps = split(bytes.slice(..start), bytes.slice(start..));
            self.steps.splice(at..=at, steps);
            return;
        }
    }
}

async fn send(steps: Vec<Step>, mut sender: Sender<Bytes, io::Error>) {
    for step in steps {
        match step {
            Step::Bytes(bytes) => {
                if sender.send_data(bytes).await.is_err() {
                    return;
                }
            }
            Step::Filling(bytes) => {
                if !fill(&mut sender, bytes).await {
                    return;
                }
            }
            Step::PauseMs(ms) => pause(ms).await,
            Step::Repeat(bytes) => while sender.send_data(bytes.clone()).await.is_ok() {},
            Step::Cut => {
                sender.abort(io::ErrorKind::ConnectionAborted.into());
                return;
            }
        }
    }
}

async fn fill(sender: &mut Sender<Bytes, io::Error>, bytes: u64) -> bool {
    let piece = Bytes::from(vec![b'x'; FILLING_BYTES]);
    let mut left = bytes;
    while left > 0 {
        let length = usize::try_from(left).unwrap_or(usize::MAX).min(FILLING_BYTES);
        if sender.send_data(piece.slice(..length)).await.is_err() {
            return false;
        }
        left -= length as u64;
    }
    true
}

async fn pause(ms: u64) {
    let mut ticks = tokio::time::interval(Duration::from_millis(ms.max(1)));
    ticks.tick().await;
    ticks.tick().await;
}
