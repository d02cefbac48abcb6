//! How the MCP endpoint judges an access token: known, alive, for this resource, wide enough. Never takes a token for anybody else.

use super::desk::Addresses;
use super::ledger::Ledger;
use super::metadata;
use super::scope;
use super::seen::{SeenToken, TokenVerdict};
use super::switches::OAuthSwitches;
use crate::credential::Presented;

/// What a token is worth for one request.
#[derive(Default)]
pub(crate) struct Judged {
    pub(crate) token: SeenToken,
    /// The scope that is missing.
    pub(crate) missing: Option<&'static str>,
}

impl Judged {
    pub(crate) fn presented(&self) -> Presented {
        match self.token.verdict {
            TokenVerdict::Absent => Presented::Absent,
            TokenVerdict::Right | TokenVerdict::Narrow => Presented::Right,
            TokenVerdict::Unknown
            | TokenVerdict::Expired
            | TokenVerdict::Reused
            | TokenVerdict::Revoked
            | TokenVerdict::OtherAudience
            | TokenVerdict::OtherServers
            | TokenVerdict::OtherClients => Presented::Wrong,
        }
    }
}

/// The two servers' ledgers and the time, for judging.
pub(crate) struct Bench<'a> {
    pub(crate) first: &'a Ledger,
    pub(crate) second: &'a Ledger,
    pub(crate) switches: &'a OAuthSwitches,
    pub(crate) now_s: u64,
}

/// Judges a token for a call of `tool` at `resource`.
pub(crate) fn judge(bench: &Bench<'_>, given: Option<&str>, resource: &str, tool: Option<&str>) -> Judged {
    let verdict = |verdict, grant| Judged { token: SeenToken { verdict, grant }, missing: None };
    let Some(given) = given else { return Judged::default() };
    // The resource trusts the server it names, and no other.
    let (own, other) = if bench.switches.moved { (bench.second, bench.first) } else { (bench.first, bench.second) };
    let Some(access) = own.access.get(given) else {
        let foreign = other.access.get(given);
        let grant = foreign.and_then(|access| other.name_of(access.family));
        return verdict(if foreign.is_some() { TokenVerdict::OtherServers } else { TokenVerdict::Unknown }, grant);
    };
    let grant = own.name_of(access.family);
    if access.revoked || own.family(access.family).is_none_or(|family| family.access_ended) {
        return verdict(TokenVerdict::Revoked, grant);
    }
    if access.expires_at_s <= bench.now_s {
        return verdict(TokenVerdict::Expired, grant);
    }
    if access.audience != resource {
        return verdict(TokenVerdict::OtherAudience, grant);
    }
    let needed = if bench.switches.step_up { scope::needed(tool) } else { scope::READ };
    let never = bench.switches.never_enough && tool.is_some();
    if never || !access.scope.iter().any(|word| word == needed) {
        let token = SeenToken { verdict: TokenVerdict::Narrow, grant };
        return Judged { token, missing: Some(if never { scope::ADMIN } else { needed }) };
    }
    verdict(TokenVerdict::Right, grant)
}

/// The challenge of a 401.
pub(crate) fn challenge(switches: &OAuthSwitches, addresses: &Addresses, path: &str, presented: Presented) -> String {
    let mut parts = vec![r#"realm="collie-lab""#.to_owned()];
    if presented == Presented::Wrong {
        parts.push(r#"error="invalid_token""#.to_owned());
    }
    if let Some(hint) = metadata::hint(switches, addresses, path) {
        parts.push(format!(r#"resource_metadata="{hint}""#));
    }
    if !switches.challenge_scope.is_empty() {
        parts.push(format!(r#"scope="{}""#, switches.challenge_scope));
    }
    format!("Bearer {}", parts.join(", "))
}

/// The challenge of a 403 for a scope that is missing.
pub(crate) fn insufficient(switches: &OAuthSwitches, addresses: &Addresses, path: &str, missing: &str) -> String {
    let hint = metadata::hint(switches, addresses, path);
    let hint = hint.map(|hint| format!(r#", resource_metadata="{hint}""#)).unwrap_or_default();
    format!(r#"Bearer error="insufficient_scope", scope="{missing}"{hint}"#)
}
