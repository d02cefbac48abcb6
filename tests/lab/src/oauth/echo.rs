//! Refusals that send the caller's own secrets back, in each way servers have done it. Never changes anything.

use super::desk::{Answer, Work};
use super::form::{Form, with_query, write};
use super::switches::SecretEcho;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde_json::json;

const SECRETS: [&str; 8] = [
    "refresh_token",
    "code",
    "code_verifier",
    "client_secret",
    "client_assertion",
    "token",
    "device_code",
    "registration_access_token",
];

/// The refusal, if the switches want one.
pub(crate) fn refusal(work: &Work<'_>, headers: &HeaderMap, form: &Form) -> Option<Answer> {
    let how = work.switches.echo_secrets?;
    let mut pairs: Vec<(&str, String)> =
        SECRETS.iter().filter_map(|name| Some((*name, form.one(name)?.to_owned()))).collect();
    if let Some(header) = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()) {
        pairs.push(("authorization", header.to_owned()));
    }
    let told: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let told = told.join(" ");
    let bad = StatusCode::BAD_REQUEST;
    Some(match how {
        SecretEcho::Json => Answer::error(bad, "invalid_request", &format!("cannot read {told}")),
        SecretEcho::Form => {
            pairs.insert(0, ("error", "invalid_request".to_owned()));
            Answer::text(bad, "application/x-www-form-urlencoded", write(&pairs))
        }
        SecretEcho::Url => {
            let uri = with_query("https://help.invalid/error", &pairs);
            Answer::json(bad, json!({"error": "invalid_request", "error_uri": uri}))
        }
        SecretEcho::Text => Answer::text(StatusCode::INTERNAL_SERVER_ERROR, "text/plain", format!("panic: {told}\n")),
        SecretEcho::Header => {
            let mut answer = Answer::error(bad, "invalid_request", "see x-lab-echo");
            if let Ok(value) = HeaderValue::from_str(&told) {
                answer.headers.push((HeaderName::from_static("x-lab-echo"), value));
            }
            answer
        }
    })
}
