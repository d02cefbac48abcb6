//! The service's routes as data: who may call, how large a body may be, how often. The broker mounts from this table and a test holds that nothing else is mounted.

use crate::limits;

/// HTTP method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    /// Reads.
    Get,
    /// Writes.
    Post,
}

impl Method {
    /// The word on the request line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
        }
    }
}

/// What a caller must prove before a handler runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Nothing; always limited per network address.
    Public,
    /// A refresh token in the body and the device's signature over the request (wire-collie-v1 2.2).
    Refresh,
    /// A live session's bearer token and the device's signature over the request (wire-collie-v1 1.3).
    Device,
    /// A one-time owner link in the path.
    OwnerLink,
    /// A browser's cookie session.
    Browser,
}

/// One route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// Method.
    pub method: Method,
    /// Path; `{id}` stands for one percent-encoded segment.
    pub path: &'static str,
    /// Who may call.
    pub access: Access,
    /// Largest body, bytes; 0 for none.
    pub body_max: usize,
    /// What it is for.
    pub about: &'static str,
}

const fn get(path: &'static str, access: Access, about: &'static str) -> Route {
    Route { method: Method::Get, path, access, body_max: 0, about }
}

const fn post(path: &'static str, access: Access, about: &'static str) -> Route {
    let body_max = match access {
        Device => limits::BODY_BYTES_MAX,
        Public | Refresh | OwnerLink | Browser => limits::PUBLIC_BODY_BYTES_MAX,
    };
    Route { method: Method::Post, path, access, body_max, about }
}

use Access::{Browser, Device, OwnerLink, Public, Refresh};

/// Every route of the service.
pub const ROUTES: &[Route] = &[
    get("/healthz", Public, "the process runs"),
    get("/readyz", Public, "the service can work; with reasons where it cannot"),
    get("/version", Public, "product and contract version"),
    get("/", Browser, "devices of the signed-in person"),
    get("/owner/{token}", OwnerLink, "asks before the owner link is used"),
    post("/owner/{token}", OwnerLink, "uses the owner link and opens a browser session"),
    get("/pair", Browser, "asks for the code that the new device shows"),
    post("/pair", Browser, "shows which device the code belongs to"),
    post("/pair/approve", Browser, "binds the device"),
    post("/pair/refuse", Browser, "refuses the device"),
    post("/sign-out", Browser, "ends the browser session"),
    post("/v1/devices/start", Public, "starts a pairing"),
    post("/v1/devices/token", Public, "fetches the tokens of an approved pairing"),
    post("/v1/auth/refresh", Refresh, "rotates the session's tokens"),
    get("/v1/whoami", Device, "user, workspace and device of the session"),
    get("/v1/devices", Device, "the user's devices"),
    post("/v1/devices/pending", Device, "shows a waiting pairing to a bound device"),
    post("/v1/devices/approve", Device, "binds a waiting device from a bound one"),
    post("/v1/devices/revoke", Device, "revokes a device"),
    get("/v1/workspaces", Device, "the user's workspaces"),
    post("/v1/workspaces", Device, "makes a team workspace"),
    post("/v1/workspaces/select", Device, "tokens for another workspace"),
    get("/v1/workspaces/{id}/members", Device, "members of a workspace"),
    post("/v1/workspaces/{id}/members", Device, "adds a member or changes a role"),
    get("/v1/projects", Device, "the user's projects in this workspace"),
    post("/v1/projects", Device, "makes a project"),
    get("/v1/projects/{id}/members", Device, "members of a project"),
    post("/v1/projects/{id}/members", Device, "adds a member or changes a role"),
    get("/v1/sync/pull", Device, "events after a cursor"),
    Route {
        method: Method::Post,
        path: "/v1/sync/push",
        access: Device,
        body_max: limits::PUSH_BODY_BYTES_MAX,
        about: "takes operations; what it does not answer stays queued",
    },
    get("/v1/nodes", Device, "nodes of the workspace"),
    get("/v1/missions", Device, "missions of the workspace"),
    get("/v1/schedules", Device, "schedules of the workspace"),
    get("/v1/connections", Device, "connections the device may see"),
    post("/v1/connections", Device, "makes a connection, not yet reviewed"),
    post("/v1/connections/drafts", Device, "gives a connection its id before there is a manifest"),
    get("/v1/connections/{id}/manifest", Device, "the raw manifest of the newest signed review"),
    post("/v1/connections/{id}/review", Device, "reviews; with our clients seals in the same call"),
    get("/v1/connections/{id}/credential", Device, "the sealed credential"),
    post("/v1/connections/{id}/credential", Device, "replaces the sealed credential under the standing review"),
    get("/v1/connections/{id}/refresh", Device, "who refreshes the grant, and its state"),
    post("/v1/connections/{id}/refresh/lease", Device, "takes the lease under which an intent may be placed"),
    post("/v1/connections/{id}/refresh/intent", Device, "places the intent to refresh one version"),
    post("/v1/connections/{id}/refresh/withdraw", Device, "takes back an intent from which nothing was sent"),
    post("/v1/connections/{id}/refresh/upload", Device, "stores the refreshed credential and ends the intent"),
    post("/v1/connections/{id}/refresh/uncertain", Device, "says that nobody knows whether the token was used"),
    post("/v1/connections/{id}/refresh/dead", Device, "says that the provider refused the stored version"),
    post("/v1/connections/{id}/refresh/reconsent", Device, "stores a new consent; standing intents are void"),
    post("/v1/connections/{id}/drift", Device, "reports another manifest than the reviewed one; only narrows"),
    post("/v1/connections/{id}/revoke", Device, "ends a connection"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_are_unique_and_bounded() {
        let mut seen = std::collections::BTreeSet::new();
        for route in ROUTES {
            assert!(seen.insert((route.method, route.path)), "{}", route.path);
            assert_eq!(route.method == Method::Get, route.body_max == 0, "{}", route.path);
            assert!(route.access == Device || route.body_max <= limits::PUBLIC_BODY_BYTES_MAX, "{}", route.path);
        }
    }
}
