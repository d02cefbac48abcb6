//! The credential a lab asks for, how it is checked and how it is sent back. Never printed, logged or kept in what was seen.

use crate::switches::EchoForm;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName};
use serde::Serialize;
use std::fmt;

/// What a caller must present.
#[derive(Clone, Default)]
pub enum Credential {
    /// Nothing; anyone may call.
    #[default]
    None,
    /// This token in `Authorization: Bearer`.
    Bearer(String),
    /// This value in a header of this name.
    Header {
        /// Name of the header.
        name: HeaderName,
        /// Its only right value.
        value: String,
    },
    /// An access token of the lab's own authorization server, for this resource.
    OAuth,
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Credential::None => "None",
            Credential::Bearer(_) => "Bearer(..)",
            Credential::Header { .. } => "Header(..)",
            Credential::OAuth => "OAuth",
        })
    }
}

/// What a request presented.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Presented {
    /// No credential.
    Absent,
    /// The right one.
    Right,
    /// Another one.
    Wrong,
    /// One, although the lab asks for none.
    Unasked,
}

impl Credential {
    /// Judges a request's headers. Access tokens are judged where they are known, not here.
    pub(crate) fn judge(&self, headers: &HeaderMap) -> Presented {
        let Some(given) = self.given(headers) else { return Presented::Absent };
        match self {
            Credential::None => Presented::Unasked,
            Credential::Bearer(token) if *token == given => Presented::Right,
            Credential::Header { value, .. } if *value == given => Presented::Right,
            Credential::Bearer(_) | Credential::Header { .. } | Credential::OAuth => Presented::Wrong,
        }
    }

    /// Whether a request so judged may go on.
    pub(crate) fn admits(&self, presented: Presented) -> bool {
        presented == Presented::Right || matches!(self, Credential::None)
    }

    /// The credential itself as the caller sent it, for echoing.
    pub(crate) fn given(&self, headers: &HeaderMap) -> Option<String> {
        let (name, scheme) = match self {
            Credential::None | Credential::Bearer(_) | Credential::OAuth => (&AUTHORIZATION, "Bearer "),
            Credential::Header { name, .. } => (name, ""),
        };
        let mut values = headers.get_all(name).iter();
        let value = values.next()?.to_str().ok()?;
        // Two credentials are none: nobody can say which one was meant.
        if values.next().is_some() {
            return Some(String::new());
        }
        Some(value.strip_prefix(scheme).unwrap_or(value).to_owned())
    }

    /// The challenge of a 401.
    pub(crate) fn challenge(&self, presented: Presented) -> String {
        let scheme = match self {
            Credential::None | Credential::Bearer(_) | Credential::OAuth => "Bearer",
            Credential::Header { .. } => "ApiKey",
        };
        let reason = if presented == Presented::Wrong { r#", error="invalid_token""# } else { "" };
        format!(r#"{scheme} realm="collie-lab"{reason}"#)
    }
}

/// The credential in one of the forms it may come back in, ready to stand inside a JSON string.
pub(crate) fn echoed_in_json(given: &str, form: EchoForm) -> String {
    if form == EchoForm::JsonEscaped {
        return given.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
    }
    let quoted = serde_json::Value::from(echoed(given, form)).to_string();
    let inside = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inside.unwrap_or_default().to_owned()
}

/// The credential in one of the forms it may come back in.
pub(crate) fn echoed(given: &str, form: EchoForm) -> String {
    match form {
        EchoForm::Raw | EchoForm::JsonEscaped | EchoForm::SplitEvents | EchoForm::SplitFrames => given.to_owned(),
        EchoForm::Base64 => STANDARD.encode(given),
        EchoForm::Base64Url => URL_SAFE_NO_PAD.encode(given),
        EchoForm::Hex => given.bytes().map(|byte| format!("{byte:02x}")).collect(),
        EchoForm::UrlEncoded => given.bytes().map(|byte| format!("%{byte:02X}")).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_never_shows_the_credential() {
        let shown = format!("{:?}", Credential::Bearer("open-sesame".to_owned()));
        assert!(!shown.contains("sesame"), "{shown}");
    }

    #[test]
    fn two_credentials_are_never_right() {
        let asked = Credential::Bearer("a".to_owned());
        let mut headers = HeaderMap::new();
        headers.append(AUTHORIZATION, "Bearer a".parse().expect("a header value"));
        assert_eq!(asked.judge(&headers), Presented::Right);
        headers.append(AUTHORIZATION, "Bearer b".parse().expect("a header value"));
        assert_eq!(asked.judge(&headers), Presented::Wrong);
    }
}
