//! The documents that lead a client from the resource to its authorization server (RFC 9728, RFC 8414, OpenID Connect). Never changes anything.

use super::desk::{Addresses, Answer, Asking, Desk, Site, Work, issuer, issuer_path};
use super::scope;
use super::switches::{DeviceGrant, Discovery, MetadataLie, OAuthSwitches, Offline, Registration, Revocation};
use crate::mcp;
use crate::seen::add_one;
use crate::wire::Peer;
use axum::extract::{ConnectInfo, OriginalUri, State};
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use serde_json::{Map, Value, json};

/// Where the resource's metadata is if only the challenge says so.
pub(crate) const HIDDEN: &str = "/oauth/described/here";
/// The same for the second resource.
pub(crate) const HIDDEN_B: &str = "/oauth/described/here-b";
const RESOURCE: &str = "/.well-known/oauth-protected-resource";
const SERVER: &str = "/.well-known/oauth-authorization-server";
const OIDC: &str = "/.well-known/openid-configuration";
/// A private address that lies point to.
const PRIVATE: &str = "http://10.0.0.1";

/// Answers a request for metadata.
pub(crate) async fn serve(
    State(desk): State<Desk>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    OriginalUri(uri): OriginalUri,
    headers: HeaderMap,
) -> Response {
    let path = uri.path().to_owned();
    let is_resource = path.starts_with(RESOURCE) || path == HIDDEN || path == HIDDEN_B;
    let kind = if is_resource { "resource" } else { "server" };
    let asking =
        Asking { peer: &peer, endpoint: "oauth/metadata", kind: Some(kind.to_owned()), path: &path, headers: &headers };
    desk.answer(asking, |work| {
        add_one(&mut work.counts.metadata, &path);
        let found = if is_resource { resource(work, &path) } else { server(work, &path) };
        found.map_or_else(Answer::not_found, |document| Answer::json(StatusCode::OK, document))
    })
    .await
}

/// `resource_metadata` of a challenge for the resource at `path`; none if a client has to look itself.
pub(crate) fn hint(switches: &OAuthSwitches, addresses: &Addresses, path: &str) -> Option<String> {
    if let Some(told) = &switches.challenge_metadata {
        return Some(told.clone());
    }
    let place = match switches.discovery {
        Discovery::HeaderHint if path == mcp::PATH_B => HIDDEN_B.to_owned(),
        Discovery::HeaderHint => HIDDEN.to_owned(),
        Discovery::PathWellKnown | Discovery::RootWellKnown | Discovery::NoResourceMetadata | Discovery::Nothing => {
            return None;
        }
        Discovery::OtherHost
        | Discovery::SameHost
        | Discovery::OidcOnly
        | Discovery::IssuerPath
        | Discovery::IssuerPathOidc => format!("{RESOURCE}{path}"),
    };
    Some(format!("{}{place}", addresses.resource))
}

/// The resource's document, if it is at `path`.
fn resource(work: &Work<'_>, path: &str) -> Option<Value> {
    if work.site != Site::Resource {
        return None;
    }
    let of = |resource: &str| format!("{RESOURCE}{resource}");
    let inserted = || {
        let resources = [mcp::PATH, mcp::PATH_B];
        resources.into_iter().find(|resource| path == of(resource))
    };
    let root = || (path == RESOURCE).then_some(mcp::PATH);
    let found = match work.switches.discovery {
        Discovery::HeaderHint if path == HIDDEN => Some(mcp::PATH),
        Discovery::HeaderHint if path == HIDDEN_B => Some(mcp::PATH_B),
        Discovery::HeaderHint | Discovery::NoResourceMetadata | Discovery::Nothing => None,
        Discovery::PathWellKnown => inserted(),
        Discovery::RootWellKnown => root(),
        Discovery::OtherHost
        | Discovery::SameHost
        | Discovery::OidcOnly
        | Discovery::IssuerPath
        | Discovery::IssuerPathOidc => inserted().or_else(root),
    }?;
    Some(describe_resource(work, found))
}

fn describe_resource(work: &Work<'_>, path: &str) -> Value {
    let lies = |lie| work.switches.lies.contains(&lie);
    let mut name = format!("{}{path}", work.addresses.resource);
    if lies(MetadataLie::SlashResource) {
        name.push('/');
    }
    if lies(MetadataLie::WrongResource) {
        name = format!("{}{path}", work.addresses.second);
    }
    let (first, second) =
        (issuer(work.switches, work.addresses, Site::First), issuer(work.switches, work.addresses, Site::Second));
    let servers = if lies(MetadataLie::NoServers) {
        json!([])
    } else if lies(MetadataLie::PrivateServer) {
        json!([PRIVATE])
    } else if lies(MetadataLie::TwoServers) {
        json!([second, first])
    } else if work.switches.moved {
        json!([second])
    } else {
        json!([first])
    };
    let mut document = Map::from_iter([
        ("resource".to_owned(), Value::from(name)),
        ("authorization_servers".to_owned(), servers),
        ("scopes_supported".to_owned(), json!(scope::WORKING)),
        ("bearer_methods_supported".to_owned(), json!(["header"])),
        ("resource_name".to_owned(), json!("Collie Lab")),
    ]);
    put(&mut document, &work.switches.resource_metadata);
    Value::Object(document)
}

/// The server's document, if it is at `path`.
fn server(work: &Work<'_>, path: &str) -> Option<Value> {
    let inside = issuer_path(work.switches);
    let home = match (work.site, work.switches.discovery == Discovery::SameHost) {
        (Site::Second, _) | (Site::Resource, true) | (Site::First, false) => true,
        (Site::Resource, false) | (Site::First, true) => false,
    };
    let (inserted, oidc) = (format!("{SERVER}{inside}"), format!("{inside}{OIDC}"));
    let is_there = match work.switches.discovery {
        Discovery::Nothing => false,
        Discovery::OidcOnly | Discovery::IssuerPathOidc => path == oidc,
        Discovery::IssuerPath => path == inserted,
        Discovery::OtherHost
        | Discovery::SameHost
        | Discovery::HeaderHint
        | Discovery::PathWellKnown
        | Discovery::RootWellKnown
        | Discovery::NoResourceMetadata => path == inserted || path == oidc,
    };
    (home && is_there).then(|| describe_server(work, path.ends_with(OIDC)))
}

fn describe_server(work: &Work<'_>, is_oidc: bool) -> Value {
    let switches = work.switches;
    let base = match (work.site, switches.discovery == Discovery::SameHost) {
        (Site::Second, _) => &work.addresses.second,
        (Site::Resource | Site::First, true) => &work.addresses.resource,
        (Site::Resource | Site::First, false) => &work.addresses.first,
    };
    let mut scopes = scope::WORKING.to_vec();
    if switches.offline != Offline::Unknown {
        scopes.push(scope::OFFLINE);
    }
    let auth: Vec<&str> = switches.client_auth.iter().map(|kind| kind.name()).collect();
    let mut grants = vec!["authorization_code", "refresh_token"];
    let mut document = Map::new();
    let mut set = |name: &str, value: Value| drop(document.insert(name.to_owned(), value));
    if switches.device != DeviceGrant::Off {
        grants.push("urn:ietf:params:oauth:grant-type:device_code");
        set("device_authorization_endpoint", json!(format!("{base}/oauth/device")));
    }
    if switches.registration != Registration::Absent {
        set("registration_endpoint", json!(format!("{base}/oauth/register")));
    }
    if switches.revocation != Revocation::Absent {
        set("revocation_endpoint", json!(format!("{base}/oauth/revoke")));
        set("revocation_endpoint_auth_methods_supported", json!(auth));
    }
    if switches.client_documents {
        set("client_id_metadata_document_supported", json!(true));
    }
    if is_oidc {
        set("jwks_uri", json!(format!("{base}/oauth/jwks")));
        set("subject_types_supported", json!(["public"]));
        set("id_token_signing_alg_values_supported", json!(["RS256"]));
    }
    set("issuer", json!(work.issuer()));
    set("authorization_endpoint", json!(format!("{base}/oauth/authorize")));
    set("token_endpoint", json!(format!("{base}/oauth/token")));
    set("response_types_supported", json!(["code"]));
    set("grant_types_supported", json!(grants));
    set("code_challenge_methods_supported", json!(["S256"]));
    set("token_endpoint_auth_methods_supported", json!(auth));
    set("token_endpoint_auth_signing_alg_values_supported", json!(["ES256", "EdDSA", "RS256"]));
    set("scopes_supported", json!(scopes));
    if switches.iss_advertised {
        set("authorization_response_iss_parameter_supported", json!(true));
    }
    for lie in &switches.lies {
        tell(work, *lie, &mut document);
    }
    put(&mut document, &switches.server_metadata);
    Value::Object(document)
}

fn tell(work: &Work<'_>, lie: MetadataLie, document: &mut Map<String, Value>) {
    let mut set = |name: &str, value: Value| drop(document.insert(name.to_owned(), value));
    match lie {
        MetadataLie::WrongIssuer => set("issuer", json!(work.other_issuer())),
        MetadataLie::SlashIssuer => {
            let issuer = work.issuer();
            let other = issuer.strip_suffix('/').map_or_else(|| format!("{issuer}/"), str::to_owned);
            set("issuer", json!(other));
        }
        MetadataLie::NoPkceMethods => drop(document.remove("code_challenge_methods_supported")),
        MetadataLie::PlainPkceOnly => set("code_challenge_methods_supported", json!(["plain"])),
        MetadataLie::ScriptAuthorize => set("authorization_endpoint", json!("javascript:alert(document.domain)")),
        MetadataLie::FileAuthorize => set("authorization_endpoint", json!("file:///etc/passwd")),
        MetadataLie::PrivateToken => set("token_endpoint", json!("http://169.254.169.254/oauth/token")),
        MetadataLie::PrivateRegistration => set("registration_endpoint", json!(format!("{PRIVATE}/oauth/register"))),
        MetadataLie::EndpointsElsewhere => {
            for name in ["token", "registration", "revocation"] {
                set(&format!("{name}_endpoint"), json!(format!("{}/{name}", work.elsewhere)));
            }
        }
        MetadataLie::SlashResource
        | MetadataLie::WrongResource
        | MetadataLie::PrivateServer
        | MetadataLie::NoServers
        | MetadataLie::TwoServers => {}
    }
}

fn put(document: &mut Map<String, Value>, members: &Map<String, Value>) {
    for (name, value) in members {
        if value.is_null() {
            document.remove(name);
        } else {
            document.insert(name.clone(), value.clone());
        }
    }
}
