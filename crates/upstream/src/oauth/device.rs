//! Sign-in without a browser on this device (RFC 8628). Never polls by itself: the caller keeps the time.

use super::client_auth::{Moment, authenticated_post};
use super::error::{ErrorCode, Fault, StepError};
use super::fields::{Fields, is_token_text};
use super::form::Form;
use super::http::exchange;
use super::identity::Client;
use super::metadata::AuthorizationServer;
use super::token::{Asked, send};
use super::token_answer::{Expected, SignIn, Tokens};
use contract::{Json, limits};
use egress::{Destination, Egress, Request};
use sign::Secret;

/// The grant's registered name.
pub(crate) const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// What the person is shown, and what the device waits with.
pub struct DeviceStart {
    /// What the person types.
    pub user_code: String,
    /// Where they type it; an address that may be opened.
    pub verification_uri: String,
    /// The same with the code in it.
    pub verification_uri_complete: Option<String>,
    /// What the device waits with.
    pub wait: DeviceWait,
}

/// A device code and its pace.
pub struct DeviceWait {
    device_code: Secret<String>,
    issuer: String,
    client_id: String,
    interval_s: u64,
    ends_at_s: u64,
}

/// What a poll gave.
pub enum Poll {
    /// Not yet; the next poll is [`DeviceWait::interval_s`] away.
    Pending,
    /// The person consented.
    Done(Box<Tokens>),
    /// The person refused.
    Denied,
    /// The code is over.
    Expired,
}

impl DeviceWait {
    /// Seconds to wait before the next poll.
    #[must_use]
    pub const fn interval_s(&self) -> u64 {
        self.interval_s
    }

    /// When the code is over, Unix seconds.
    #[must_use]
    pub const fn ends_at_s(&self) -> u64 {
        self.ends_at_s
    }
}

/// Asks for a code.
pub async fn start_device(
    egress: &Egress,
    server: &AuthorizationServer,
    client: &Client,
    asked: Asked<'_>,
    moment: Moment,
) -> Result<DeviceStart, StepError> {
    let endpoint = server.device_endpoint().ok_or(Fault::NotOffered { what: "sign-in without a browser" })?;
    let (destination, request) = start_request(egress, server, client, endpoint, asked, moment)?;
    let answer = exchange(&destination, request, limits::OAUTH_ANSWER_BYTES_MAX).await?;
    let fields = answer.success()?;
    Ok(read_start(egress, server, client, fields, moment.now_s)?)
}

/// Asks once whether the person is done.
pub async fn poll_device(
    egress: &Egress,
    server: &AuthorizationServer,
    client: &Client,
    wait: &mut DeviceWait,
    asked: Asked<'_>,
    moment: Moment,
) -> Result<Poll, StepError> {
    if moment.now_s >= wait.ends_at_s {
        return Ok(Poll::Expired);
    }
    let (destination, request) = poll_request(egress, server, client, wait, asked, moment)?;
    let expected = Expected {
        scopes: asked.expected(),
        issuer: server.issuer(),
        client_id: client.client_id(),
        sign_in: SignIn::New,
    };
    let error = match send(&destination, request, expected).await {
        Ok(tokens) => return Ok(Poll::Done(Box::new(tokens))),
        Err(error) => error,
    };
    let Fault::Refused { code, .. } = error.fault else { return Err(error) };
    if code == ErrorCode::SlowDown {
        wait.interval_s = (wait.interval_s + 5).min(limits::OAUTH_DEVICE_INTERVAL_S_MAX);
    }
    let polls = [
        (ErrorCode::AuthorizationPending, Poll::Pending),
        (ErrorCode::SlowDown, Poll::Pending),
        (ErrorCode::AccessDenied, Poll::Denied),
        (ErrorCode::ExpiredToken, Poll::Expired),
    ];
    polls.into_iter().find(|(named, _)| *named == code).map(|(_, poll)| poll).ok_or(error)
}

fn start_request(
    egress: &Egress,
    server: &AuthorizationServer,
    client: &Client,
    endpoint: &str,
    asked: Asked<'_>,
    moment: Moment,
) -> Result<(Destination, Request), Fault> {
    let mut form = Form::new();
    if !asked.expected().is_empty() {
        form.push("scope", &asked.expected().join(" "))?;
    }
    form.push("resource", asked.resource)?;
    authenticated_post(egress, server, client, endpoint, form, moment)
}

fn poll_request(
    egress: &Egress,
    server: &AuthorizationServer,
    client: &Client,
    wait: &DeviceWait,
    asked: Asked<'_>,
    moment: Moment,
) -> Result<(Destination, Request), Fault> {
    if wait.issuer != server.issuer() {
        return Err(Fault::OtherIssuer);
    }
    if wait.client_id != client.client_id() {
        return Err(Fault::BadRequest { what: "the device code was given to another client" });
    }
    let mut form = Form::new();
    form.push("grant_type", GRANT)?;
    // EXPOSE: to the token endpoint of the issuer that gave it.
    wait.device_code.with(|code| form.push("device_code", code))?;
    form.push("resource", asked.resource)?;
    authenticated_post(egress, server, client, server.token_endpoint(), form, moment)
}

fn read_start(
    egress: &Egress,
    server: &AuthorizationServer,
    client: &Client,
    mut fields: Fields,
    now_s: u64,
) -> Result<DeviceStart, Fault> {
    let bad = |field, what| Fault::Malformed { field, what };
    let device_code = fields.take_secret("device_code").ok_or(bad("device_code", "is missing"))?;
    // EXPOSE: to a look at its characters.
    if !device_code.with(|code| is_token_text(code)) {
        return Err(bad("device_code", "is empty, too long or has characters that a code cannot have"));
    }
    let user_code = fields.text("user_code").ok_or(bad("user_code", "is missing"))?;
    // It is printed to a terminal and typed by a person.
    if !(1..=64).contains(&user_code.len()) || !user_code.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) {
        return Err(bad("user_code", "cannot be typed"));
    }
    let address = |field: &'static str| match fields.text(field) {
        None => Ok(None),
        Some(text) if egress.foreign(text).is_ok() && text.is_ascii() => Ok(Some(text.to_owned())),
        Some(_) => Err(bad(field, "is no address that may be opened")),
    };
    let seconds = |name| fields.find(name).and_then(Json::as_i64).and_then(|s| u64::try_from(s).ok());
    let expires = seconds("expires_in").filter(|s| *s > 0).ok_or(bad("expires_in", "is no number of seconds"))?;
    let interval = seconds("interval").filter(|s| *s > 0).unwrap_or(limits::OAUTH_DEVICE_INTERVAL_S);
    Ok(DeviceStart {
        user_code: user_code.to_owned(),
        verification_uri: address("verification_uri")?.ok_or(bad("verification_uri", "is missing"))?,
        verification_uri_complete: address("verification_uri_complete")?,
        wait: DeviceWait {
            device_code,
            issuer: server.issuer().to_owned(),
            client_id: client.client_id().to_owned(),
            interval_s: interval.min(limits::OAUTH_DEVICE_INTERVAL_S_MAX),
            ends_at_s: now_s.saturating_add(expires.min(limits::OAUTH_DEVICE_TTL_S_MAX)),
        },
    })
}
