//! One MCP server and the era it speaks: finding out, and keeping a session where the era has one. Never hides that the era is another than expected.

use crate::answer::{Failure, Messages, rpc_failure};
use crate::auth::Auth;
use crate::error::UpstreamError;
use crate::exchange::{Heading, Link, SESSION};
use crate::rpc::{self, Body, Message};
use contract::review::Era;
use contract::{Json, limits};
use egress::{Destination, Limits, StatusCode};

/// A server with one credential. Made for one invocation; [`Upstream::close`] ends its session.
pub struct Upstream {
    pub(crate) link: Link,
    /// The era of the review, if there is one.
    pub(crate) expected: Option<Era>,
    pub(crate) found: Option<Era>,
    session: Option<Session>,
    last_id: i64,
}

/// A handshake of the era with sessions.
struct Session {
    id: Option<String>,
    version: &'static str,
}

/// What a server says about itself before it is asked for anything.
pub(crate) struct Greeting {
    pub(crate) era: Era,
    pub(crate) instructions: String,
}

/// Versions with a handshake; all carry tools alike.
const SESSION_VERSIONS: &[&str] = &["2025-11-25", "2025-06-18", "2025-03-26"];
const HEADER_MISMATCH: i64 = -32020;
const MISSING_CAPABILITY: i64 = -32021;
const UNSUPPORTED_VERSION: i64 = -32022;

impl Upstream {
    /// A client for the server at `destination`. `expected` is the era of the review that stands, if one does.
    pub fn new(destination: Destination, auth: Auth, expected: Option<Era>) -> Result<Self, UpstreamError> {
        Self::with_limits(destination, auth, expected, Limits::FOREIGN)
    }

    /// As [`Upstream::new`], with lower limits for each exchange.
    pub fn with_limits(
        destination: Destination,
        auth: Auth,
        expected: Option<Era>,
        limits: Limits,
    ) -> Result<Self, UpstreamError> {
        auth.check()?;
        let redactor = auth.redactor();
        Ok(Self {
            link: Link { destination, auth, redactor, limits },
            expected,
            found: None,
            session: None,
            last_id: 0,
        })
    }

    /// The era that the server was found to speak, once it was asked.
    #[must_use]
    pub const fn era(&self) -> Option<Era> {
        self.found
    }

    /// Ends the session, if there is one. A server that does not care for it changes nothing.
    pub async fn close(mut self) {
        self.end_session().await;
    }

    /// Asks the server who it is, in the expected era first. Nothing but the handshake is sent.
    pub(crate) async fn greet(&mut self) -> Result<Greeting, UpstreamError> {
        let first = self.expected.unwrap_or(Era::Stateless);
        let failure = match self.greet_in(first).await {
            Ok(greeting) => return Ok(self.keep(greeting)),
            Err(failure) => failure,
        };
        if !may_speak_the_other(first, &failure) {
            return Err(self.unsupported(failure));
        }
        let other = match first {
            Era::Stateless => Era::Sessions,
            Era::Sessions => Era::Stateless,
        };
        match self.greet_in(other).await {
            Ok(greeting) => Ok(self.keep(greeting)),
            Err(failure) => Err(self.unsupported(failure)),
        }
    }

    /// A session, if the era has them.
    pub(crate) async fn ensure_session(&mut self) -> Result<(), UpstreamError> {
        if self.session.is_none() {
            self.initialize().await.map_err(|failure| self.unsupported(failure))?;
        }
        Ok(())
    }

    /// Sends a request in the given era and reads its result; a session has a heading of its own. A session that the server has forgotten (404, so nothing happened) is made anew, once.
    pub(crate) async fn ask(
        &mut self,
        era: Era,
        method: &str,
        params: Json,
        heading: Heading<'_>,
    ) -> Result<Json, Failure> {
        match era {
            Era::Stateless => self.ask_stateless(&heading, method, params).await,
            Era::Sessions => {
                let first = self.ask_in_session(method, params.clone()).await;
                match first {
                    Err(failure) if self.has_forgotten(&failure) => {
                        self.session = None;
                        self.initialize().await.map_err(|failure| Failure { early: true, ..failure })?;
                        self.ask_in_session(method, params).await
                    }
                    answer => answer,
                }
            }
        }
    }

    fn keep(&mut self, greeting: Greeting) -> Greeting {
        self.found = Some(greeting.era);
        greeting
    }

    async fn greet_in(&mut self, era: Era) -> Result<Greeting, Failure> {
        match era {
            Era::Stateless => self.discover().await,
            Era::Sessions => {
                self.end_session().await;
                self.initialize().await
            }
        }
    }

    async fn discover(&mut self) -> Result<Greeting, Failure> {
        let method = "server/discover";
        let params = Json::from_members([("_meta", rpc::stateless_meta())]);
        let result = self.ask_stateless(&Heading::stateless(method, None), method, params).await?;
        if !matches!(result.find("resultType").map(Json::as_str), None | Some(Some("complete"))) {
            return Err(UpstreamError::malformed("server/discover without a complete result").into());
        }
        let versions = result.find("supportedVersions").and_then(Json::as_array).unwrap_or_default();
        if !versions.iter().any(|version| version.as_str() == Some(Era::Stateless.as_str())) {
            let data = Json::from_members([("supported", Json::Array(versions.to_vec()))]);
            let error = UpstreamError::Rpc { code: UNSUPPORTED_VERSION, message: String::new(), status: 200 };
            return Err(Failure { error, data, early: true });
        }
        Ok(Greeting { era: Era::Stateless, instructions: instructions(&result)? })
    }

    async fn initialize(&mut self) -> Result<Greeting, Failure> {
        let params = Json::from_members([
            ("protocolVersion", Era::Sessions.as_str().into()),
            ("capabilities", Json::object()),
            ("clientInfo", rpc::client_info()),
        ]);
        let id = self.next_id();
        let mut messages = self.link.post(&Heading::default(), &rpc::request(id, "initialize", params)).await?;
        let session = session_id(&messages)?;
        let result = self.answer(&mut messages, id, None).await?;
        let offered = result.find_str("protocolVersion").unwrap_or_default();
        let Some(version) = SESSION_VERSIONS.iter().find(|version| **version == offered) else {
            let data = Json::from_members([("supported", Json::Array(vec![offered.into()]))]);
            let error = UpstreamError::Rpc { code: UNSUPPORTED_VERSION, message: String::new(), status: 200 };
            return Err(Failure { error, data, early: true });
        };
        let greeting = Greeting { era: Era::Sessions, instructions: instructions(&result)? };
        let opened = Session { id: session, version };
        self.link.notify(&opened.heading(), &rpc::initialized()).await?;
        self.session = Some(opened);
        Ok(greeting)
    }

    async fn end_session(&mut self) {
        if let Some(session) = self.session.take().filter(|session| session.id.is_some()) {
            // 405 says that the server ends sessions by itself; any other answer changes nothing for us.
            let _ = self.link.delete(&session.heading()).await;
        }
    }

    fn has_forgotten(&self, failure: &Failure) -> bool {
        let had_one = self.session.as_ref().is_some_and(|session| session.id.is_some());
        had_one
            && matches!(failure.error, UpstreamError::Status { status: 404 } | UpstreamError::Rpc { status: 404, .. })
    }

    async fn ask_in_session(&mut self, method: &str, params: Json) -> Result<Json, Failure> {
        let id = self.next_id();
        let Some(session) = &self.session else {
            return Err(UpstreamError::BadCall { what: "there is no session".to_owned() }.into());
        };
        let mut messages = self.link.post(&session.heading(), &rpc::request(id, method, params)).await?;
        self.answer(&mut messages, id, Some(session)).await
    }

    async fn ask_stateless(&mut self, heading: &Heading<'_>, method: &str, params: Json) -> Result<Json, Failure> {
        let id = self.next_id();
        let mut messages = self.link.post(heading, &rpc::request(id, method, params)).await?;
        self.answer(&mut messages, id, None).await
    }

    /// Reads messages until the answer to `id` comes. Notifications are passed over; requests of the server's own are declined in a session and are an error elsewhere.
    async fn answer(&self, messages: &mut Messages, id: i64, session: Option<&Session>) -> Result<Json, Failure> {
        let mut declined = 0;
        while let Some(message) = messages.next().await? {
            match (message, session) {
                (Message::Notification, _) => {}
                (Message::Answer { id: Some(other), .. }, _) if other != id => {
                    return Err(UpstreamError::malformed("the answer to another request").into());
                }
                (Message::Answer { body: Body::Result(result), .. }, _) => return Ok(result),
                (Message::Answer { body: Body::Error { code, message, data }, .. }, _) => {
                    return Err(rpc_failure(code, &message, data, StatusCode::OK, &self.link.redactor));
                }
                (Message::Request { id, method }, Some(session)) if declined < limits::UPSTREAM_REQUESTS_MAX => {
                    declined += 1;
                    // Whether the server hears it or not, its answer to our request is still to come.
                    let _ = self.link.notify(&session.heading(), &rpc::answer_to_server(id, &method)).await;
                }
                (Message::Request { .. }, _) => {
                    return Err(UpstreamError::malformed("a request of the server's own").into());
                }
            }
        }
        Err(UpstreamError::malformed("it ends without the answer").into())
    }

    fn next_id(&mut self) -> i64 {
        self.last_id += 1;
        self.last_id
    }

    /// Turns "I do not speak that version" into what it means after both eras were tried.
    fn unsupported(&self, failure: Failure) -> UpstreamError {
        if !matches!(failure.error, UpstreamError::Rpc { code: UNSUPPORTED_VERSION, .. }) {
            return failure.error;
        }
        let offered = supported(&failure.data).collect::<Vec<_>>().join(", ");
        let offered = offered.chars().take(limits::UPSTREAM_MESSAGE_CHARS_MAX).collect::<String>();
        UpstreamError::Unsupported { offered: self.link.redactor.text(&offered).unwrap_or(offered) }
    }
}

impl Session {
    fn heading(&self) -> Heading<'_> {
        Heading { version: Some(self.version), session: self.id.as_deref(), mirrored: Vec::new() }
    }
}

/// Whether it is worth to try the other era: a refusal that is no word of the era that was tried.
fn may_speak_the_other(tried: Era, failure: &Failure) -> bool {
    match &failure.error {
        UpstreamError::Rpc { code: UNSUPPORTED_VERSION, .. } => {
            supported(&failure.data).any(|version| match tried {
                Era::Stateless => SESSION_VERSIONS.contains(&version),
                Era::Sessions => version == Era::Stateless.as_str(),
            }) || tried == Era::Sessions
        }
        UpstreamError::Rpc { code: HEADER_MISMATCH | MISSING_CAPABILITY, .. } => tried == Era::Sessions,
        UpstreamError::Rpc { .. } => true,
        // Some servers of the older era answer what they do not know with 500 or 501.
        UpstreamError::Status { status } => matches!(status, 400..=501),
        UpstreamError::Egress(_)
        | UpstreamError::Unauthorized { .. }
        | UpstreamError::Forbidden { .. }
        | UpstreamError::RateLimited { .. }
        | UpstreamError::Malformed { .. }
        | UpstreamError::Unsupported { .. }
        | UpstreamError::EraChanged { .. }
        | UpstreamError::Manifest(_)
        | UpstreamError::EndlessList { .. }
        | UpstreamError::CredentialInManifest
        | UpstreamError::BadHeaderName { .. }
        | UpstreamError::BadCredential
        | UpstreamError::BadCall { .. } => false,
    }
}

fn supported(data: &Json) -> impl Iterator<Item = &str> {
    data.find("supported").and_then(Json::as_array).unwrap_or_default().iter().filter_map(Json::as_str)
}

fn instructions(result: &Json) -> Result<String, UpstreamError> {
    match result.find("instructions") {
        None | Some(Json::Null) => Ok(String::new()),
        Some(Json::String(text)) => Ok(text.clone()),
        Some(_) => Err(UpstreamError::malformed("instructions that are no text")),
    }
}

fn session_id(messages: &Messages) -> Result<Option<String>, UpstreamError> {
    let Some(id) = messages.header(SESSION.as_str()) else { return Ok(None) };
    let usable = (1..=limits::UPSTREAM_SESSION_ID_BYTES_MAX).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_graphic());
    if usable { Ok(Some(id.to_owned())) } else { Err(UpstreamError::malformed("an unusable session id")) }
}
