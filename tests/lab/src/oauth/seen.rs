//! What the authorization server has seen, as verdicts and counts. Never a code, token, secret, verifier or assertion.

use super::switches::ClientAuth;
use crate::limits;
use crate::seen::push_bounded;
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};

/// How often things happened at both servers since the start, or since the last `forget_seen`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OAuthCounts {
    /// Documents asked for, by path, whether they were there or not.
    pub metadata: BTreeMap<String, u64>,
    /// Clients that registered.
    pub registrations: u64,
    /// Requests to the authorization endpoint.
    pub authorizations: u64,
    /// Codes handed out.
    pub consents: u64,
    /// Requests to the token endpoint, by grant type.
    pub token_requests: BTreeMap<String, u64>,
    /// Requests to the token endpoint that were granted, by grant type; counted before the answer.
    pub granted: BTreeMap<String, u64>,
    /// Refreshes that were granted, by grant.
    pub refreshes: BTreeMap<String, u64>,
    /// Refresh tokens and codes that came a second time.
    pub reuse_detected: u64,
    /// Revocations that ended something.
    pub revocations: u64,
    /// Device flows that began.
    pub devices: u64,
    /// Refusals, by error code.
    pub refused: BTreeMap<String, u64>,
}

impl OAuthCounts {
    /// Requests to the token endpoint of one grant type.
    #[must_use]
    pub fn token_requests(&self, grant_type: &str) -> u64 {
        self.token_requests.get(grant_type).copied().unwrap_or(0)
    }

    /// Granted requests of one grant type.
    #[must_use]
    pub fn granted(&self, grant_type: &str) -> u64 {
        self.granted.get(grant_type).copied().unwrap_or(0)
    }
}

/// Whether a value was there and right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Not there.
    #[default]
    Absent,
    /// Byte for byte right.
    Right,
    /// Another value.
    Wrong,
    /// More than one.
    Several,
}

/// Who the client said it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientVerdict {
    /// Nobody.
    #[default]
    Absent,
    /// A client of this server.
    Known,
    /// Nobody's client.
    Unknown,
    /// A client of the other server.
    OtherServers,
}

/// What a code, refresh token, device code or access token was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenVerdict {
    /// Not there.
    #[default]
    Absent,
    /// Good.
    Right,
    /// Never handed out.
    Unknown,
    /// Too old.
    Expired,
    /// Used before, and good for one use.
    Reused,
    /// Revoked, or of an ended grant.
    Revoked,
    /// For another resource.
    OtherAudience,
    /// Of the other server.
    OtherServers,
    /// Of another client.
    OtherClients,
    /// Good, but its scope is too narrow for this request.
    Narrow,
}

/// The token that a request to the MCP endpoint presented.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SeenToken {
    /// What it was.
    pub verdict: TokenVerdict,
    /// The grant it came from, as the lab numbers them.
    pub grant: Option<String>,
}

/// One request to an authorization server.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SeenOAuth {
    /// Whether it came to the second server.
    pub second: bool,
    /// The endpoint, as faults name it.
    pub endpoint: String,
    /// The path.
    pub path: String,
    /// The grant type at the token endpoint.
    pub grant_type: Option<String>,
    /// Who the client said it is.
    pub client: ClientVerdict,
    /// Its id.
    pub client_id: Option<String>,
    /// The authentication it used.
    pub client_auth: Option<ClientAuth>,
    /// Whether that authentication was right.
    pub client_proof: Verdict,
    /// `resource`, compared byte for byte.
    pub resource: Verdict,
    /// `code_challenge` (S256 and well formed) or `code_verifier`.
    pub pkce: Verdict,
    /// `redirect_uri`.
    pub redirect: Verdict,
    /// The code, refresh token, device code or token to revoke.
    pub token: TokenVerdict,
    /// The scope asked for.
    pub scope: Vec<String>,
    /// The grant it was about, as the lab numbers them.
    pub grant: Option<String>,
    /// `ok`, or the error code.
    pub outcome: String,
    /// Names of all its headers, sorted, in lower case.
    pub header_names: Vec<String>,
}

/// All that the authorization servers have seen.
#[derive(Clone, Debug, Default, Serialize)]
pub struct OAuthSeen {
    /// How often things happened.
    pub counts: OAuthCounts,
    /// The last requests, oldest first.
    pub requests: VecDeque<SeenOAuth>,
}

impl OAuthSeen {
    pub(crate) fn push(&mut self, request: SeenOAuth) {
        push_bounded(&mut self.requests, request, limits::SEEN_MAX);
    }
}
