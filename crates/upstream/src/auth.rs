//! The credential for an MCP server and the one place where it is shown to it. Never printed, and never put into a header that means something else.

use crate::error::UpstreamError;
use crate::redact::Redactor;
use contract::limits;
use egress::{HeaderName, Request};
use sign::Secret;
use zeroize::Zeroizing;

/// How a server is shown who calls.
pub enum Auth {
    /// It does not ask.
    None,
    /// `Authorization: Bearer …` (RFC 6750).
    Bearer(Secret<String>),
    /// A header of the server's own.
    Header {
        /// Its name; headers that the protocol or the connection uses are refused.
        name: String,
        /// Its value.
        value: Secret<String>,
    },
}

const AUTHORIZATION: HeaderName = HeaderName::from_static("authorization");

/// Beginnings of names that are not free: this protocol's, browsers' and proxies' own.
const TAKEN_PREFIXES: &[&str] =
    &["accept", "access-control-", "content-", "if-", "mcp-", "proxy-", "sec-", "x-forwarded-"];

/// Names that already mean something (RFC 9110, RFC 7239, RFC 6265, RFC 9111).
const TAKEN: &[&str] = &[
    "age",
    "alt-svc",
    "cache-control",
    "connection",
    "cookie",
    "cookie2",
    "date",
    "expect",
    "forwarded",
    "from",
    "host",
    "http2-settings",
    "keep-alive",
    "last-event-id",
    "location",
    "max-forwards",
    "origin",
    "pragma",
    "range",
    "referer",
    "set-cookie",
    "te",
    "traceparent",
    "tracestate",
    "baggage",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "vary",
    "via",
    "warning",
    "www-authenticate",
    "x-http-method-override",
    "x-method-override",
    "x-real-ip",
];

impl Auth {
    /// Checks that a name can carry a credential, before anybody is asked for one.
    pub fn check_header_name(name: &str) -> Result<(), UpstreamError> {
        header_name(name).map(|_| ())
    }

    /// Checks the name and that the value can stand in a header.
    pub(crate) fn check(&self) -> Result<(), UpstreamError> {
        if let Self::Header { name, .. } = self {
            Self::check_header_name(name)?;
        }
        // EXPOSE: to a look at its characters.
        let usable = self.with_value(|value| {
            let fits = (1..=limits::CREDENTIAL_SECRET_BYTES_MAX).contains(&value.len());
            fits && value.trim() == value && value.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic())
        });
        if usable == Some(false) { Err(UpstreamError::BadCredential) } else { Ok(()) }
    }

    /// What takes this credential out of answers.
    pub(crate) fn redactor(&self) -> Redactor {
        // EXPOSE: to the redactor, which keeps it to look for it, in memory that is wiped.
        self.with_value(|value| Redactor::new(value.as_bytes())).unwrap_or_else(|| Redactor::new(b""))
    }

    /// Puts the credential into a request.
    pub(crate) fn present(&self, request: Request) -> Result<Request, UpstreamError> {
        let (name, scheme) = match self {
            Self::None => return Ok(request),
            Self::Bearer(_) => (AUTHORIZATION, "Bearer "),
            Self::Header { name, .. } => (header_name(name)?, ""),
        };
        // EXPOSE: to the server that the credential is for, in the one header it is meant for.
        let value = self.with_value(|value| {
            let mut bytes = Zeroizing::new(Vec::with_capacity(scheme.len() + value.len()));
            bytes.extend_from_slice(scheme.as_bytes());
            bytes.extend_from_slice(value.as_bytes());
            bytes
        });
        match value {
            Some(value) => Ok(request.secret_header(name, value)?),
            None => Ok(request),
        }
    }

    fn with_value<R>(&self, look: impl FnOnce(&str) -> R) -> Option<R> {
        match self {
            Self::None => None,
            // EXPOSE: to the three uses above.
            Self::Bearer(value) | Self::Header { value, .. } => Some(value.with(|value| look(value))),
        }
    }
}

fn header_name(name: &str) -> Result<HeaderName, UpstreamError> {
    let bad =
        |what| UpstreamError::BadHeaderName { name: contract::text::visible(name).chars().take(80).collect(), what };
    let lower = name.to_ascii_lowercase();
    if TAKEN.contains(&lower.as_str()) || TAKEN_PREFIXES.iter().any(|prefix| lower.starts_with(prefix)) {
        return Err(bad("that header already means something else"));
    }
    if lower.len() > limits::CREDENTIAL_HEADER_NAME_CHARS_MAX {
        return Err(bad("it is too long"));
    }
    HeaderName::from_bytes(lower.as_bytes()).map_err(|_| bad("it is no header name"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_mean_something_else_are_refused() {
        for name in [
            "Host",
            "connection",
            "Transfer-Encoding",
            "Content-Length",
            "content-type",
            "Accept",
            "Cookie",
            "Mcp-Session-Id",
            "MCP-Protocol-Version",
            "mcp-anything",
            "Proxy-Authorization",
            "X-Forwarded-For",
            "Sec-Fetch-Site",
            "Origin",
            "",
            "a b",
            "a:b",
            "a\r\nb",
            "é",
            "Last-Event-ID",
            "X-HTTP-Method-Override",
        ] {
            assert!(matches!(Auth::check_header_name(name), Err(UpstreamError::BadHeaderName { .. })), "{name}");
        }
        for name in ["X-Api-Key", "Authorization", "api_key", "Private-Token"] {
            assert_eq!(Auth::check_header_name(name), Ok(()), "{name}");
        }
    }

    #[test]
    fn a_value_that_no_header_can_carry_is_refused_without_being_named() {
        for value in ["", " a", "a ", "a\r\nb", "a\0", "é", "a\u{7f}"] {
            let auth = Auth::Bearer(Secret::new(value.to_owned()));
            assert_eq!(auth.check(), Err(UpstreamError::BadCredential), "{value:?}");
        }
        assert_eq!(
            Auth::Header { name: "X-Key".to_owned(), value: Secret::new("Token a b".to_owned()) }.check(),
            Ok(())
        );
        assert_eq!(Auth::None.check(), Ok(()));
    }
}
