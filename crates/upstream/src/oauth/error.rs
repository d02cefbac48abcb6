//! What can go wrong in a step of OAuth, and whether the request can have had an effect. Never holds a secret: of an answer to a request that carried one, only a registered error code is kept.

use contract::text::visible;
use egress::{EgressError, Sent};

/// A document of discovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Document {
    /// The resource's own description (RFC 9728).
    ProtectedResource,
    /// The authorization server's description (RFC 8414, OpenID Connect Discovery).
    AuthorizationServer,
}

impl std::fmt::Display for Document {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::ProtectedResource => "protected resource metadata",
            Self::AuthorizationServer => "authorization server metadata",
        })
    }
}

/// Why discovery ended without an authorization server. Texts from documents are shortened and shown with their hidden characters visible.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DiscoveryError {
    /// None of the places that the standards name has the document.
    #[error("no {document} at any of: {}", tried.join(", "))]
    NotFound {
        /// What was looked for.
        document: Document,
        /// Where, in order.
        tried: Vec<String>,
    },
    /// A place could not be asked, or may not be.
    #[error("{document} at `{}` cannot be read", visible(url))]
    Unreachable {
        /// What was looked for.
        document: Document,
        /// Where.
        url: String,
        /// Why not.
        #[source]
        source: EgressError,
    },
    /// A place answered with a status that means neither yes nor no.
    #[error("{document} at `{}` was answered with status {status}", visible(url))]
    Status {
        /// What was looked for.
        document: Document,
        /// Where.
        url: String,
        /// The status.
        status: u16,
    },
    /// The document is not JSON, or one of its members cannot be used.
    #[error("{document}: `{field}` {}", visible(what))]
    Field {
        /// The document.
        document: Document,
        /// The member to blame, `.` for the whole.
        field: &'static str,
        /// What is wrong with it.
        what: String,
    },
    /// The document is about another issuer than the one that was asked for (RFC 8414 3.3).
    #[error("authorization server metadata: `issuer` is `{}`, not `{}`", visible(found), visible(expected))]
    OtherIssuer {
        /// What was asked for.
        expected: String,
        /// What the document says, shortened.
        found: String,
    },
    /// The document is about another resource than the endpoint (RFC 9728 3.3).
    #[error("protected resource metadata: `resource` is `{}`, which is not `{}`", visible(found), visible(endpoint))]
    OtherResource {
        /// The endpoint.
        endpoint: String,
        /// What the document says, shortened.
        found: String,
    },
}

impl DiscoveryError {
    pub(crate) fn field(document: Document, field: &'static str, what: impl Into<String>) -> Self {
        Self::Field { document, field, what: what.into() }
    }
}

/// The head of a text from elsewhere, for an error.
pub(crate) fn shortened(text: &str) -> String {
    text.chars().take(200).collect()
}

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)+) => {
        /// An error code of OAuth, from the registry; any other text is [`ErrorCode::Other`] and is not kept.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ErrorCode {
            $($(#[$doc])* $name,)+
            /// No registered code.
            Other,
        }

        impl ErrorCode {
            /// The code that `text` is.
            #[must_use]
            pub fn parse(text: &str) -> Self {
                match text { $($text => Self::$name,)+ _ => Self::Other }
            }

            /// Its registered text.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)+ Self::Other => "an unregistered error" }
            }
        }
    };
}

codes! {
    /// RFC 6749 4.1.2.1.
    AccessDenied = "access_denied",
    /// RFC 8628 3.5.
    AuthorizationPending = "authorization_pending",
    /// OpenID Connect Core 3.1.2.6.
    ConsentRequired = "consent_required",
    /// RFC 8628 3.5.
    ExpiredToken = "expired_token",
    /// RFC 6750 3.1.
    InsufficientScope = "insufficient_scope",
    /// OpenID Connect Core 3.1.2.6.
    InteractionRequired = "interaction_required",
    /// RFC 6749 5.2.
    InvalidClient = "invalid_client",
    /// RFC 7591 3.2.2.
    InvalidClientMetadata = "invalid_client_metadata",
    /// RFC 6749 5.2.
    InvalidGrant = "invalid_grant",
    /// RFC 7591 3.2.2.
    InvalidRedirectUri = "invalid_redirect_uri",
    /// RFC 6749 5.2.
    InvalidRequest = "invalid_request",
    /// RFC 6749 5.2.
    InvalidScope = "invalid_scope",
    /// RFC 8707 2.
    InvalidTarget = "invalid_target",
    /// RFC 6750 3.1.
    InvalidToken = "invalid_token",
    /// OpenID Connect Core 3.1.2.6.
    LoginRequired = "login_required",
    /// RFC 6749 4.1.2.1.
    ServerError = "server_error",
    /// RFC 8628 3.5.
    SlowDown = "slow_down",
    /// RFC 6749 4.1.2.1.
    TemporarilyUnavailable = "temporarily_unavailable",
    /// RFC 6749 5.2.
    UnauthorizedClient = "unauthorized_client",
    /// RFC 6749 5.2.
    UnsupportedGrantType = "unsupported_grant_type",
    /// RFC 6749 4.1.2.1.
    UnsupportedResponseType = "unsupported_response_type",
    /// RFC 7009 2.2.1.
    UnsupportedTokenType = "unsupported_token_type",
    /// RFC 9449 8.
    UseDpopNonce = "use_dpop_nonce",
}

impl std::fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What went wrong with one request to an authorization server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The exchange did not come about.
    #[error(transparent)]
    Egress(#[from] EgressError),
    /// The server does not have, or does not advertise, what the step needs.
    #[error("the authorization server does not offer {what}")]
    NotOffered {
        /// What it lacks.
        what: &'static str,
    },
    /// The client belongs to another issuer (client credentials never leave the issuer they are for).
    #[error("this client is registered at another issuer")]
    OtherIssuer,
    /// The request cannot be made.
    #[error("the request cannot be made: {what}")]
    BadRequest {
        /// Why not.
        what: &'static str,
    },
    /// The server refused, in the words of OAuth.
    #[error("the authorization server refused: {code} (status {status})")]
    Refused {
        /// Its code.
        code: ErrorCode,
        /// The status.
        status: u16,
    },
    /// Any other status that is no success.
    #[error("the authorization server answered with status {status}")]
    Status {
        /// The status.
        status: u16,
    },
    /// A success that cannot be used.
    #[error("the authorization server's answer cannot be used: `{field}` {what}")]
    Malformed {
        /// The member to blame, `.` for the whole.
        field: &'static str,
        /// What is wrong with it.
        what: &'static str,
    },
}

/// A step without a result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{fault}")]
pub struct StepError {
    /// Whether the server can have acted on the request: a code or a refresh token can be used up.
    pub sent: Sent,
    /// What went wrong.
    #[source]
    pub fault: Fault,
}

impl From<Fault> for StepError {
    fn from(fault: Fault) -> Self {
        Self { sent: fault.sent(), fault }
    }
}

impl From<EgressError> for StepError {
    fn from(error: EgressError) -> Self {
        Fault::Egress(error).into()
    }
}

impl Fault {
    /// Whether the server can have acted: an honest refusal is [`Sent::No`], silence and a broken server are [`Sent::Maybe`].
    #[must_use]
    pub fn sent(&self) -> Sent {
        match self {
            Self::Egress(error) => error.sent(),
            Self::NotOffered { .. } | Self::OtherIssuer | Self::BadRequest { .. } => Sent::No,
            Self::Refused { code, status } => match status {
                500.. if *code != ErrorCode::TemporarilyUnavailable => Sent::Maybe,
                _ => Sent::No,
            },
            // Not 408 and 499 (it gave up in the middle), 409 (perhaps because it has acted already), 424.
            Self::Status { status } => match status {
                400..=407 | 410..=418 | 421..=423 | 425..=431 | 451 => Sent::No,
                _ => Sent::Maybe,
            },
            Self::Malformed { .. } => Sent::Maybe,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_honest_refusals_leave_no_doubt() {
        for (fault, sent) in [
            (Fault::Status { status: 400 }, Sent::No),
            (Fault::Status { status: 429 }, Sent::No),
            (Fault::Status { status: 408 }, Sent::Maybe),
            (Fault::Status { status: 409 }, Sent::Maybe),
            (Fault::Status { status: 500 }, Sent::Maybe),
            (Fault::Status { status: 503 }, Sent::Maybe),
            (Fault::Refused { code: ErrorCode::InvalidGrant, status: 400 }, Sent::No),
            (Fault::Refused { code: ErrorCode::ServerError, status: 500 }, Sent::Maybe),
            (Fault::Refused { code: ErrorCode::TemporarilyUnavailable, status: 503 }, Sent::No),
            (Fault::Malformed { field: ".", what: "is no JSON" }, Sent::Maybe),
            (Fault::OtherIssuer, Sent::No),
        ] {
            assert_eq!(fault.sent(), sent, "{fault:?}");
        }
    }

    #[test]
    fn a_foreign_code_is_not_kept() {
        assert_eq!(ErrorCode::parse("invalid_grant"), ErrorCode::InvalidGrant);
        for text in ["", "INVALID_GRANT", "invalid_grant ", "canary"] {
            assert_eq!(ErrorCode::parse(text), ErrorCode::Other);
            assert!(!ErrorCode::parse(text).to_string().contains("canary"));
        }
    }
}
