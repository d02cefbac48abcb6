//! A request before it goes out. Values that are secret are wiped from their own memory afterwards and never printed.

use crate::error::EgressError;
use bytes::Bytes;
use contract::limits;
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use std::time::Duration;
use zeroize::Zeroizing;

/// The limits of one exchange; what is above a named maximum is lowered to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// From the request's start to the answer's head, the time to connect aside.
    pub head: Duration,
    /// Silence in the middle of an answer.
    pub idle: Duration,
    /// From the request's start to the answer's last byte.
    pub total: Duration,
    /// Bytes of the answer's body.
    pub body_bytes: usize,
}

impl Limits {
    /// For requests to the service.
    pub const SERVICE: Self = Self {
        head: Duration::from_secs(limits::SERVICE_CALL_S_MAX),
        idle: Duration::from_secs(limits::SERVICE_CALL_S_MAX),
        total: Duration::from_secs(limits::SERVICE_CALL_S_MAX),
        body_bytes: limits::RESPONSE_BYTES_MAX,
    };

    /// For requests to a server that user input named, and the highest of all.
    pub const FOREIGN: Self = Self {
        head: Duration::from_secs(limits::UPSTREAM_CALL_S_MAX),
        idle: Duration::from_secs(limits::RESPONSE_IDLE_S_MAX),
        total: Duration::from_secs(limits::UPSTREAM_CALL_S_MAX),
        body_bytes: limits::UPSTREAM_BYTES_MAX,
    };

    fn capped(self) -> Self {
        Self {
            head: self.head.min(Self::FOREIGN.head),
            idle: self.idle.min(Self::FOREIGN.idle),
            total: self.total.min(Self::FOREIGN.total),
            body_bytes: self.body_bytes.min(Self::FOREIGN.body_bytes),
        }
    }
}

/// A request to a destination. It names a target, never a host.
pub struct Request {
    pub(crate) method: Method,
    pub(crate) target: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) limits: Limits,
}

/// Headers that belong to the connection or to this client (RFC 9110 7.6.1, 7.2; no cookie, no decompression).
const OWN_HEADERS: &[HeaderName] = &[
    header::ACCEPT_ENCODING,
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::COOKIE,
    header::EXPECT,
    header::HOST,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::RANGE,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

impl Request {
    /// A request for `target`, which is a path and perhaps a query, beginning with `/`.
    #[must_use]
    pub fn new(method: Method, target: impl Into<String>, limits: Limits) -> Self {
        Self { method, target: target.into(), headers: HeaderMap::new(), body: Bytes::new(), limits: limits.capped() }
    }

    /// Adds a header. Headers of the connection, cookies and encodings are refused.
    pub fn header(self, name: HeaderName, value: &str) -> Result<Self, EgressError> {
        let value = HeaderValue::from_str(value)
            .map_err(|_| EgressError::BadRequest { what: "a header value has a control character" })?;
        self.insert(name, value)
    }

    /// Adds a header whose value is secret: it is never printed, and its memory is wiped after use.
    pub fn secret_header(self, name: HeaderName, value: Zeroizing<Vec<u8>>) -> Result<Self, EgressError> {
        let mut value = HeaderValue::from_maybe_shared(Bytes::from_owner(value))
            .map_err(|_| EgressError::BadRequest { what: "a secret header value has a control character" })?;
        value.set_sensitive(true);
        self.insert(name, value)
    }

    /// Sets the body.
    #[must_use]
    pub fn body(mut self, bytes: impl Into<Bytes>) -> Self {
        self.body = bytes.into();
        self
    }

    /// Sets a body that holds a secret: its memory is wiped after use.
    #[must_use]
    pub fn secret_body(self, bytes: Zeroizing<Vec<u8>>) -> Self {
        self.body(Bytes::from_owner(bytes))
    }

    fn insert(mut self, name: HeaderName, value: HeaderValue) -> Result<Self, EgressError> {
        if OWN_HEADERS.contains(&name) {
            return Err(EgressError::BadRequest { what: "that header belongs to the connection" });
        }
        self.headers.insert(name, value);
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> Request {
        Request::new(Method::POST, "/", Limits::SERVICE)
    }

    #[test]
    fn headers_of_the_connection_and_broken_values_are_refused() {
        for name in OWN_HEADERS {
            assert!(matches!(request().header(name.clone(), "x"), Err(EgressError::BadRequest { .. })), "{name}");
        }
        for value in ["a\r\nb: c", "a\nb", "a\0b", "a\u{7f}"] {
            assert!(request().header(header::ACCEPT, value).is_err(), "{value:?}");
            assert!(
                request().secret_header(header::AUTHORIZATION, Zeroizing::new(value.as_bytes().to_vec())).is_err(),
                "{value:?}"
            );
        }
    }

    #[test]
    fn a_secret_header_is_never_printed() {
        let request = request()
            .secret_header(header::AUTHORIZATION, Zeroizing::new(b"Bearer canary".to_vec()))
            .expect("a fine value");
        assert!(!format!("{:?}", request.headers).contains("canary"));
    }

    #[test]
    fn limits_are_lowered_to_the_named_maxima() {
        let endless = Limits { head: Duration::MAX, idle: Duration::MAX, total: Duration::MAX, body_bytes: usize::MAX };
        assert_eq!(Request::new(Method::GET, "/", endless).limits, Limits::FOREIGN);
    }
}
