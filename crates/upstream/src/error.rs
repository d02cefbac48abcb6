//! What can go wrong with an MCP server, and whether a call can have been applied. Never holds a credential: what a server wrote is redacted before it gets in here.

use contract::manifest::ManifestError;
use contract::review::Era;
use egress::{EgressError, Sent};

/// Whether a tool call can have changed something at the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applied {
    /// Certainly not; it may be made again.
    No,
    /// Nobody here can know; it must not be made again without a look at the server.
    Unknown,
}

/// A tool call without a result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct CallError {
    /// Whether it can have been applied all the same.
    pub applied: Applied,
    /// What went wrong.
    #[source]
    pub error: UpstreamError,
}

/// What can go wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UpstreamError {
    /// The exchange did not come about.
    #[error(transparent)]
    Egress(#[from] EgressError),
    /// 401: the credential is missing, wrong or over.
    #[error("the server does not accept the credential")]
    Unauthorized {
        /// What `WWW-Authenticate` said, if it said anything.
        challenge: Option<String>,
    },
    /// 403: the credential may not do this.
    #[error("the server does not allow this with the credential")]
    Forbidden {
        /// What `WWW-Authenticate` said, if it said anything.
        challenge: Option<String>,
    },
    /// 429.
    #[error("the server asks to call less often")]
    RateLimited {
        /// Seconds to wait, if it said so.
        retry_after_s: Option<u64>,
    },
    /// Any other status that is no success, without a JSON-RPC error.
    #[error("the server answered with status {status}")]
    Status {
        /// The status.
        status: u16,
    },
    /// A JSON-RPC error.
    #[error("the server answered with error {code}: {}", contract::text::visible(message))]
    Rpc {
        /// The code.
        code: i64,
        /// The server's words, redacted and as sent.
        message: String,
        /// The status that it came with.
        status: u16,
    },
    /// The answer is no answer.
    #[error("the server's answer cannot be used: {what}")]
    Malformed {
        /// What is wrong with it.
        what: String,
    },
    /// The server speaks none of our protocol versions.
    #[error("the server speaks no protocol version that we do: {}", contract::text::visible(offered))]
    Unsupported {
        /// What it offered.
        offered: String,
    },
    /// The server no longer speaks the era that the review was made in.
    #[error("the server speaks MCP {} now, the review was made in {}", found.as_str(), expected.as_str())]
    EraChanged {
        /// The era of the review.
        expected: Era,
        /// The era of the server.
        found: Era,
    },
    /// The list of tools is no manifest.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// The list of tools does not end.
    #[error("the list of tools does not end: {what}")]
    EndlessList {
        /// How that was seen.
        what: &'static str,
    },
    /// The credential stands in the manifest. It is not stored, shown or digested.
    #[error("the server put the credential into its own manifest")]
    CredentialInManifest,
    /// The name of the header for the credential cannot be used.
    #[error("`{name}` cannot carry a credential: {what}")]
    BadHeaderName {
        /// The name.
        name: String,
        /// Why not.
        what: &'static str,
    },
    /// The credential cannot stand in a header.
    #[error("the credential is empty or holds characters that no header can carry")]
    BadCredential,
    /// The call cannot be made: a rule of the protocol or one of our limits.
    #[error("the call cannot be made: {what}")]
    BadCall {
        /// Why not.
        what: String,
    },
}

impl UpstreamError {
    pub(crate) fn malformed(what: impl Into<String>) -> Self {
        Self::Malformed { what: what.into() }
    }

    /// What this error, as the answer to a tool call that went out, says about the call.
    ///
    /// Only what an honest server answers before it acts counts as [`Applied::No`].
    pub(crate) fn applied(&self) -> Applied {
        let no = match self {
            Self::Egress(EgressError::Redirected { status, .. }) => matches!(status.as_u16(), 307 | 308),
            Self::Egress(error) => error.sent() == Sent::No,
            Self::Unauthorized { .. }
            | Self::Forbidden { .. }
            | Self::RateLimited { .. }
            | Self::BadCall { .. }
            | Self::BadHeaderName { .. }
            | Self::BadCredential
            | Self::EraChanged { .. } => true,
            Self::Rpc { code, status, .. } => refuses(*status) || (*status < 300 && BEFORE_ACTING.contains(code)),
            Self::Status { status } => refuses(*status),
            Self::Malformed { .. }
            | Self::Unsupported { .. }
            | Self::Manifest(_)
            | Self::EndlessList { .. }
            | Self::CredentialInManifest => false,
        };
        if no { Applied::No } else { Applied::Unknown }
    }
}

/// Parse error, invalid request, no such method, invalid parameters; header mismatch, missing capability, unsupported version; the person has to confirm at a URL first (2025-11-25).
const BEFORE_ACTING: &[i64] = &[-32700, -32600, -32601, -32602, -32020, -32021, -32022, -32042];

/// A status by which a server refuses to act. Not 408 and 499 (it gave up in the middle), 409 (perhaps because it has acted already), 424.
const fn refuses(status: u16) -> bool {
    matches!(status, 400..=407 | 410..=418 | 421..=423 | 425..=431 | 451)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_refusals_before_acting_leave_no_doubt() {
        let rpc = |code, status| UpstreamError::Rpc { code, message: String::new(), status };
        let status = |status| UpstreamError::Status { status };
        let redirected = |code: u16| {
            UpstreamError::Egress(EgressError::Redirected {
                host: "h".to_owned(),
                status: code.try_into().expect("a status"),
            })
        };
        for (error, applied) in [
            (status(400), Applied::No),
            (status(404), Applied::No),
            (status(408), Applied::Unknown),
            (status(409), Applied::Unknown),
            (status(499), Applied::Unknown),
            (status(500), Applied::Unknown),
            (status(502), Applied::Unknown),
            (status(503), Applied::Unknown),
            (rpc(-32602, 200), Applied::No),
            (rpc(-32603, 200), Applied::Unknown),
            (rpc(-32000, 200), Applied::Unknown),
            (rpc(-32603, 400), Applied::No),
            (rpc(-32602, 500), Applied::Unknown),
            (redirected(307), Applied::No),
            (redirected(303), Applied::Unknown),
            (UpstreamError::malformed("x"), Applied::Unknown),
        ] {
            assert_eq!(error.applied(), applied, "{error:?}");
        }
    }
}
