//! What can go wrong on the way out, whose fault it is, and whether the peer can have seen the request. Never names a URL's query, a header's value or a body.

use crate::address::Reserved;
use crate::tls::Fingerprint;
use http::StatusCode;
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

/// Whether any byte of the request can have reached the peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// Certainly not: nothing can have happened there.
    No,
    /// It can have been seen and acted upon.
    Maybe,
}

/// Who has to do something about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Whoever wrote the URL, or the request.
    Caller,
    /// Nobody: the guard refused, as it should.
    Guard,
    /// The network in between.
    Network,
    /// The peer.
    Peer,
}

/// Where an exchange was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Resolving, connecting, TLS.
    Connect,
    /// Request sent, waiting for the answer's head.
    Head,
    /// Reading the answer's body.
    Body,
    /// The whole exchange.
    Whole,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connect => "connecting",
            Self::Head => "waiting for the answer",
            Self::Body => "reading the answer",
            Self::Whole => "the whole exchange",
        })
    }
}

/// Why an exchange did not come about.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EgressError {
    /// The text is no URL that may be called.
    #[error("not a URL that can be called: {what}")]
    BadUrl {
        /// What is wrong with it.
        what: &'static str,
    },
    /// The request breaks a rule of this client.
    #[error("not a request that can be sent: {what}")]
    BadRequest {
        /// What is wrong with it.
        what: &'static str,
    },
    /// The host has an address that may not be connected to; nothing was sent.
    #[error("`{host}` leads to {address}, {range}, which is refused")]
    Denied {
        /// The host as named.
        host: String,
        /// The address it leads to.
        address: IpAddr,
        /// What kind of address that is.
        range: Reserved,
    },
    /// The host name has no address.
    #[error("`{host}` has no address")]
    Unresolved {
        /// The host as named.
        host: String,
    },
    /// No TCP connection came about.
    #[error("no connection to `{host}`: {reason}")]
    Unreachable {
        /// The host as named.
        host: String,
        /// What the system said.
        reason: std::io::ErrorKind,
    },
    /// TLS failed for another reason than the certificate.
    #[error("no TLS connection to `{host}`: {reason}")]
    Tls {
        /// The host as named.
        host: String,
        /// What TLS said.
        reason: String,
    },
    /// The certificate is neither the pinned one nor trusted by the roots.
    #[error("`{host}` shows a certificate that is not trusted ({reason}); its fingerprint is {seen}")]
    Untrusted {
        /// The host as named.
        host: String,
        /// The fingerprint of the certificate it showed.
        seen: Fingerprint,
        /// Why it is not trusted.
        reason: String,
    },
    /// A time limit came.
    #[error("`{host}` took longer than {} ms: {phase}", max.as_millis())]
    TimedOut {
        /// The host as named.
        host: String,
        /// Where the exchange was.
        phase: Phase,
        /// The limit.
        max: Duration,
    },
    /// The connection broke.
    #[error("the connection to `{host}` broke: {phase}")]
    Broken {
        /// The host as named.
        host: String,
        /// Where the exchange was.
        phase: Phase,
    },
    /// The peer does not speak HTTP/1.1 within our limits.
    #[error("`{host}` gave no usable HTTP answer: {what}")]
    Malformed {
        /// The host as named.
        host: String,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The answer is larger than the caller's limit.
    #[error("`{host}` answered with more than {max} bytes")]
    TooLarge {
        /// The host as named.
        host: String,
        /// The limit.
        max: usize,
    },
    /// The peer redirects; redirects are never followed.
    #[error("`{host}` redirects ({status}), which is not followed")]
    Redirected {
        /// The host as named.
        host: String,
        /// The status.
        status: StatusCode,
    },
}

impl EgressError {
    /// Whether any byte of the request can have reached the peer.
    #[must_use]
    pub const fn sent(&self) -> Sent {
        match self {
            Self::BadUrl { .. }
            | Self::BadRequest { .. }
            | Self::Denied { .. }
            | Self::Unresolved { .. }
            | Self::Unreachable { .. }
            | Self::Tls { .. }
            | Self::Untrusted { .. }
            | Self::TimedOut { phase: Phase::Connect, .. }
            | Self::Broken { phase: Phase::Connect, .. } => Sent::No,
            Self::TimedOut { phase: Phase::Head | Phase::Body | Phase::Whole, .. }
            | Self::Broken { phase: Phase::Head | Phase::Body | Phase::Whole, .. }
            | Self::Malformed { .. }
            | Self::TooLarge { .. }
            | Self::Redirected { .. } => Sent::Maybe,
        }
    }

    /// Who has to do something about it.
    #[must_use]
    pub const fn fault(&self) -> Fault {
        match self {
            Self::BadUrl { .. } | Self::BadRequest { .. } => Fault::Caller,
            Self::Denied { .. } => Fault::Guard,
            Self::Unresolved { .. } | Self::Unreachable { .. } | Self::TimedOut { .. } | Self::Broken { .. } => {
                Fault::Network
            }
            Self::Tls { .. }
            | Self::Untrusted { .. }
            | Self::Malformed { .. }
            | Self::TooLarge { .. }
            | Self::Redirected { .. } => Fault::Peer,
        }
    }
}
