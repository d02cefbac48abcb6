//! One consent at one authorization server, as a device keeps it: the tokens, who we are there, and what it belongs to. Never printed, never serialized; read back in its one spelling only.

use crate::cloud_secret::{AccessToken, Reader, RegistrationAccess, Writer, read, write};
use contract::{credential::GrantFacts, limits};
use sign::Secret;

/// How a client shows itself at the token endpoint.
pub enum ClientProof {
    /// Not at all: a public client.
    None,
    /// `client_secret_basic`.
    Basic(Secret<String>),
    /// `client_secret_post`.
    Post(Secret<String>),
}

impl ClientProof {
    /// Its registered name (RFC 7591 2).
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Basic(_) => "client_secret_basic",
            Self::Post(_) => "client_secret_post",
        }
    }
}

/// A client at one issuer, and how it came to be.
pub struct GrantClient {
    /// What it shows.
    pub proof: ClientProof,
    /// The redirect address it signs people in with; empty for a sign-in without one.
    pub redirect_uri: String,
    /// How it can be removed again, where we registered it.
    pub management: Option<RegistrationAccess>,
}

/// A consent. Without tokens it is a client that waits for one.
///
/// ```
/// fn scopes(grant: &collie_seal::DeviceGrant) -> String { format!("{:?}", grant.facts) }
/// ```
/// ```compile_fail
/// fn scopes(grant: &collie_seal::DeviceGrant) -> String { format!("{:?}", grant) }
/// ```
pub struct DeviceGrant {
    /// What it belongs to.
    pub facts: GrantFacts,
    /// The resource, byte for byte as at the authorization (RFC 8707).
    pub resource: String,
    /// Who we are.
    pub client: GrantClient,
    /// For calls.
    pub access: Option<AccessToken>,
    /// For the next refresh; a server may give none.
    pub refresh_token: Option<Secret<String>>,
}

impl DeviceGrant {
    /// Whether it holds an access token: what can be sealed as a connection's credential.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.access.is_some()
    }

    /// Whether the access token lives longer than `margin_s`. One whose end the server did not say counts as living.
    #[must_use]
    pub fn lives(&self, now_s: u64, margin_s: u64) -> bool {
        self.access
            .as_ref()
            .is_some_and(|access| access.expires_at_s.is_none_or(|end| end > now_s.saturating_add(margin_s)))
    }

    /// The plaintext: canonical JSON. `None` where a part is empty, too long, or has characters that no part of a request can have.
    pub(crate) fn to_plaintext(&self) -> Option<Secret<Vec<u8>>> {
        let mut written = None;
        let plaintext = Secret::init(|out| written = write(out, |members| write_members(self, members)));
        written.map(|()| plaintext)
    }

    /// The inverse, for the one spelling.
    pub(crate) fn from_plaintext(plaintext: &Secret<Vec<u8>>) -> Option<Self> {
        let grant = read(plaintext, read_members)?;
        grant.to_plaintext()?.is_same(plaintext).then_some(grant)
    }
}

fn write_members(grant: &DeviceGrant, members: &mut Writer<'_>) -> Option<()> {
    if let Some(access) = &grant.access {
        if let Some(expires_at_s) = access.expires_at_s {
            members.number("access_expires_at", expires_at_s)?;
        }
        members.secret("access_token", &access.token)?;
    }
    members.text("auth", grant.client.proof.as_str());
    members.plain("client_id", &grant.facts.client_id)?;
    match &grant.client.proof {
        ClientProof::None => {}
        ClientProof::Basic(secret) | ClientProof::Post(secret) => members.secret("client_secret", secret)?,
    }
    members.plain("issuer", &grant.facts.issuer)?;
    members.plain("redirect_uri", &grant.client.redirect_uri)?;
    if let Some(token) = &grant.refresh_token {
        members.secret("refresh_token", token)?;
    }
    if let Some(management) = &grant.client.management {
        members.secret("registration_token", &management.token)?;
        members.plain("registration_uri", &management.uri)?;
    }
    members.plain("resource", &grant.resource)?;
    let one_word = |scope: &String| !scope.is_empty() && scope.bytes().all(|byte| byte.is_ascii_graphic());
    if grant.facts.scopes.len() > limits::OAUTH_SCOPES_MAX || !grant.facts.scopes.iter().all(one_word) {
        return None;
    }
    members.plain("scope", &grant.facts.scopes.join(" "))?;
    members.plain("subject", &grant.facts.subject)
}

fn read_members(members: &mut Reader<'_>) -> Option<DeviceGrant> {
    let expires_at_s = members.number("access_expires_at");
    let access = members.secret("access_token").map(|token| AccessToken { token, expires_at_s });
    let auth = members.text("auth")?.to_owned();
    let client_id = members.plain("client_id")?;
    let proof = match (auth.as_str(), members.secret("client_secret")) {
        ("none", None) => ClientProof::None,
        ("client_secret_basic", Some(secret)) => ClientProof::Basic(secret),
        ("client_secret_post", Some(secret)) => ClientProof::Post(secret),
        _ => return None,
    };
    let issuer = members.plain("issuer")?;
    let redirect_uri = members.plain("redirect_uri")?;
    let refresh_token = members.secret("refresh_token");
    let management = match members.secret("registration_token") {
        Some(token) => Some(RegistrationAccess { uri: members.plain("registration_uri")?, token }),
        None => None,
    };
    let resource = members.plain("resource")?;
    let scopes = members.plain("scope")?.split(' ').filter(|scope| !scope.is_empty()).map(str::to_owned).collect();
    let subject = members.plain("subject")?;
    Some(DeviceGrant {
        facts: GrantFacts { issuer, client_id, scopes, subject },
        resource,
        client: GrantClient { proof, redirect_uri, management },
        access,
        refresh_token,
    })
}

#[cfg(test)]
#[path = "grant_tests.rs"]
pub(crate) mod tests;
