//! The pages over HTTP: who is signed in, where the request came from, and what may be answered. No page is shown or posted under another host or origin.

pub(super) mod form;
pub(super) mod home;
pub(super) mod owner;
pub(super) mod pair;

use super::error::ApiError;
use crate::{
    app::App,
    console,
    ops::{find_session::stored, owner_link::cookie_mac},
};
use axum::{
    extract::FromRequestParts,
    response::{Html, IntoResponse, Response},
};
use contract::{Code, ids::UserId};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header, request::Parts};

/// A page, with the headers every page has.
#[must_use = "a page that is not returned is lost"]
pub(super) struct Page {
    status: StatusCode,
    html: String,
    cookie: Option<HeaderValue>,
}

impl Page {
    pub(super) fn ok(html: String) -> Self {
        Self { status: StatusCode::OK, html, cookie: None }
    }

    /// Sets or clears the session's cookie.
    pub(super) fn with_cookie(mut self, cookie: HeaderValue) -> Self {
        self.cookie = Some(cookie);
        self
    }
}

impl IntoResponse for Page {
    fn into_response(self) -> Response {
        let fixed = [
            (header::CONTENT_SECURITY_POLICY, console::policy()),
            // Under `no-referrer` a browser would send `Origin: null` with our own forms.
            (header::REFERRER_POLICY, HeaderValue::from_static("same-origin")),
            (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
            (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
            (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
        ];
        let mut response = (self.status, fixed, Html(self.html)).into_response();
        if let Some(cookie) = self.cookie {
            response.headers_mut().insert(header::SET_COOKIE, cookie);
        }
        response
    }
}

/// A refusal as a page, for people.
pub(super) struct Refusal(ApiError);

impl<E: Into<ApiError>> From<E> for Refusal {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        self.0.log();
        let title = if self.0.code() == Code::SessionRequired { "Not signed in" } else { "That did not work" };
        Page { status: self.0.status(), html: console::message(title, self.0.sentence()), cookie: None }.into_response()
    }
}

/// A person in a signed-in browser.
pub(super) struct Person {
    pub(super) user_id: UserId,
    /// Stored form of the session's cookie.
    pub(super) session: store::TokenMac,
    /// What every form of this session carries.
    form_token: String,
}

impl Person {
    /// For the forms of a page that this person gets.
    pub(super) fn form_token(&self) -> &str {
        &self.form_token
    }
}

impl FromRequestParts<App> for Person {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Refusal> {
        check_host(&parts.headers, app)?;
        let cookie = find_cookie(&parts.headers, cookie_name(app)).ok_or_else(not_signed_in)?;
        let session = cookie_mac(app, cookie).map(|mac| stored(&mac)).ok_or_else(not_signed_in)?;
        let (mac, now_ms) = (&session, app.now_ms());
        let found: Option<store::BrowserSession> = app
            .store()
            .read("find_browser_session", |mut tx| async move { tx.find_browser_session(mac, now_ms).await })
            .await?;
        let user_id = found.ok_or_else(not_signed_in)?.user_id;
        // EXPOSE: to the session's own pages.
        let form_token = app.token_key().derive_form_token(cookie).with(String::clone);
        Ok(Self { user_id, session, form_token })
    }
}

fn not_signed_in() -> ApiError {
    ApiError::new(
        Code::SessionRequired,
        "this browser is not signed in; on the service's machine `collie-broker admin owner-link` makes a link that does it",
    )
}

/// `__Host-` binds the cookie to this host and to https; browsers refuse it on plain loopback http.
fn cookie_name(app: &App) -> &'static str {
    if app.origin().is_https() { "__Host-collie" } else { "collie" }
}

/// The cookie with this value, or one that ends it for `None`.
pub(super) fn cookie(app: &App, value: Option<&sign::Secret<String>>) -> Result<HeaderValue, ApiError> {
    let secure = if app.origin().is_https() { "; Secure" } else { "" };
    let (value, age) = match value {
        // EXPOSE: to the browser that used the owner link.
        Some(value) => (value.with(String::clone), contract::limits::BROWSER_SESSION_TTL_S),
        None => (String::new(), 0),
    };
    let text = format!("{}={value}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict{secure}", cookie_name(app));
    let mut header = HeaderValue::from_str(&text).map_err(ApiError::internal)?;
    header.set_sensitive(true);
    Ok(header)
}

/// The cookie of this name, if there is exactly one.
fn find_cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut values = lines
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .filter(|(key, _)| *key == name);
    let (_, value) = values.next()?;
    if values.next().is_some() { None } else { Some(value) }
}

/// A page under a name that is not ours would be somebody else's page (DNS rebinding).
pub(super) fn check_host(headers: &HeaderMap, app: &App) -> Result<(), ApiError> {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    if host.is_some_and(|host| host.eq_ignore_ascii_case(app.origin().authority())) {
        return Ok(());
    }
    Err(ApiError::new(Code::TargetInvalid, format!("this page is at {}", app.origin())))
}

/// A form may come from our own pages alone: the browser says so in `Origin` and, where it knows it, `Sec-Fetch-Site`.
pub(super) fn check_same_origin(headers: &HeaderMap, app: &App) -> Result<(), ApiError> {
    check_host(headers, app)?;
    let read = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let origin = read(header::ORIGIN) == Some(app.origin().as_str());
    let site = matches!(headers.get("sec-fetch-site").map(HeaderValue::as_bytes), None | Some(b"same-origin"));
    if origin && site {
        return Ok(());
    }
    Err(ApiError::new(Code::RoleForbidden, "this form did not come from a page of this service"))
}

#[cfg(test)]
#[path = "pages_tests.rs"]
mod tests;
