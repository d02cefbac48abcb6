//! Where metadata is, what it says, and each lie in it.

use super::support::{first, get, lab};
use crate::support::Request;
use collie_lab::{Discovery, Lab, MetadataLie};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const RESOURCE: &str = "/.well-known/oauth-protected-resource";
const SERVER: &str = "/.well-known/oauth-authorization-server";
const OIDC: &str = "/.well-known/openid-configuration";

async fn challenge(lab: &Lab) -> String {
    let answer = Request::new("POST", &lab.mcp_url(), "{}".to_owned()).send().await;
    assert_eq!(answer.status, 401);
    answer.header("www-authenticate").to_owned()
}

async fn resource(lab: &Lab) -> Value {
    get(&lab.mcp_url().replace("/mcp", &format!("{RESOURCE}/mcp"))).await.json()
}

async fn server(lab: &Lab) -> Value {
    get(&first(lab, SERVER)).await.json()
}

/// Which of the places answer: hint, inserted, root, then RFC 8414, OIDC, both with and without the path.
async fn places(lab: &Lab) -> (String, String) {
    let mut resource = String::new();
    if challenge(lab).await.contains("resource_metadata=") {
        resource.push('h');
    }
    let own = |path: &str| lab.mcp_url().replace("/mcp", path);
    for (letter, path) in [('p', format!("{RESOURCE}/mcp")), ('r', RESOURCE.to_owned())] {
        if get(&own(&path)).await.status == 200 {
            resource.push(letter);
        }
    }
    let mut server = String::new();
    for base in [own(""), first(lab, "")] {
        for (letter, path) in [
            ('s', SERVER.to_owned()),
            ('o', OIDC.to_owned()),
            ('S', format!("{SERVER}/tenant")),
            ('O', format!("/tenant{OIDC}")),
            ('i', format!("{OIDC}/tenant")),
        ] {
            if get(&format!("{base}{path}")).await.status == 200 {
                server.push(letter);
            }
        }
        server.push('|');
    }
    (resource, server)
}

#[tokio::test]
async fn each_shape_is_found_where_it_says_and_nowhere_else() {
    for (shape, resource, server) in [
        (Discovery::OtherHost, "hpr", "|so|"),
        (Discovery::SameHost, "hpr", "so||"),
        (Discovery::HeaderHint, "h", "|so|"),
        (Discovery::PathWellKnown, "p", "|so|"),
        (Discovery::RootWellKnown, "r", "|so|"),
        (Discovery::OidcOnly, "hpr", "|o|"),
        (Discovery::IssuerPath, "hpr", "|S|"),
        (Discovery::NoResourceMetadata, "", "|so|"),
        (Discovery::IssuerPathOidc, "hpr", "|O|"),
        (Discovery::Nothing, "", "||"),
    ] {
        let lab = lab(|oauth| oauth.discovery = shape).await;
        let found = places(&lab).await;
        assert_eq!((found.0.as_str(), found.1.as_str()), (resource, server), "{shape:?}");
    }
}

#[tokio::test]
async fn documents_are_true_and_name_each_other() {
    for shape in Discovery::EIGHT {
        let lab = lab(|oauth| oauth.discovery = shape).await;
        let hinted = challenge(&lab).await;
        assert!(hinted.contains(r#"scope="notes:read""#), "{hinted}");
        if let Some((_, rest)) = hinted.split_once("resource_metadata=\"") {
            let (url, _) = rest.split_once('"').expect("quoted");
            let document = get(url).await.json();
            assert_eq!(document["resource"], json!(lab.mcp_url()));
            assert_eq!(document["authorization_servers"], json!([lab.issuer()]));
        }
        for (path, seen) in [(SERVER, 1_u64), ("/nowhere", 0)] {
            get(&first(&lab, path)).await;
            assert_eq!(lab.seen().oauth.counts.metadata.get(path).copied().unwrap_or(0), seen);
        }
    }
    let lab = lab(|_| ()).await;
    let document = server(&lab).await;
    assert_eq!(document["issuer"], json!(lab.issuer()));
    assert_eq!(document["code_challenge_methods_supported"], json!(["S256"]));
    assert_eq!(document["authorization_response_iss_parameter_supported"], json!(true));
    assert_eq!(document["device_authorization_endpoint"], Value::Null);
    let hidden = get(&lab.mcp_url().replace("/mcp", "/oauth/described/here")).await;
    assert_eq!(hidden.status, 404, "only where the hint is the only way");
}

#[tokio::test]
async fn every_lie_is_told_and_nothing_else_changes() {
    let lab = lab(|_| ()).await;
    let (plain_resource, plain_server) = (resource(&lab).await, server(&lab).await);
    let (own, second, other) = (lab.mcp_url(), lab.second_issuer(), lab.other_url().to_owned());
    let slash = format!("{}/", lab.issuer());
    for lie in MetadataLie::ALL {
        lab.switch(|switches| switches.oauth.lies = BTreeSet::from([lie]));
        let (now_resource, now_server) = (resource(&lab).await, server(&lab).await);
        let (member, value) = match lie {
            MetadataLie::WrongIssuer => ("issuer", json!(second)),
            MetadataLie::SlashIssuer => ("issuer", json!(slash)),
            MetadataLie::NoPkceMethods => ("code_challenge_methods_supported", Value::Null),
            MetadataLie::PlainPkceOnly => ("code_challenge_methods_supported", json!(["plain"])),
            MetadataLie::SlashResource => ("resource", json!(format!("{own}/"))),
            MetadataLie::WrongResource => ("resource", json!(format!("{second}/mcp"))),
            MetadataLie::ScriptAuthorize => ("authorization_endpoint", json!("javascript:alert(document.domain)")),
            MetadataLie::FileAuthorize => ("authorization_endpoint", json!("file:///etc/passwd")),
            MetadataLie::PrivateToken => ("token_endpoint", json!("http://169.254.169.254/oauth/token")),
            MetadataLie::PrivateRegistration => ("registration_endpoint", json!("http://10.0.0.1/oauth/register")),
            MetadataLie::PrivateServer => ("authorization_servers", json!(["http://10.0.0.1"])),
            MetadataLie::EndpointsElsewhere => ("token_endpoint", json!(format!("{other}/token"))),
            MetadataLie::NoServers => ("authorization_servers", json!([])),
            MetadataLie::TwoServers => ("authorization_servers", json!([second, lab.issuer()])),
        };
        let told = if plain_resource.get(member).is_some() { &now_resource } else { &now_server };
        assert_eq!(told[member], value, "{lie:?}");
        let changes = |before: &Value, now: &Value| {
            let names: BTreeSet<&String> =
                [before, now].iter().flat_map(|map| map.as_object().expect("an object").keys()).collect();
            names.into_iter().filter(|name| before.get(*name) != now.get(*name)).count()
        };
        let changed = changes(&plain_resource, &now_resource) + changes(&plain_server, &now_server);
        assert_eq!(changed, if lie == MetadataLie::EndpointsElsewhere { 3 } else { 1 }, "{lie:?}");
    }
}

#[tokio::test]
async fn members_and_the_hint_can_be_put_word_for_word() {
    let lab = lab(|oauth| {
        oauth.server_metadata =
            serde_json::from_value(json!({"issuer": 7, "token_endpoint": null})).expect("an object");
        oauth.resource_metadata = serde_json::from_value(json!({"resource": ["x"]})).expect("an object");
        oauth.challenge_metadata = Some("javascript:alert(1)".to_owned());
        oauth.challenge_scope = String::new();
    })
    .await;
    assert_eq!((&server(&lab).await["issuer"], &server(&lab).await["token_endpoint"]), (&json!(7), &Value::Null));
    assert_eq!(resource(&lab).await["resource"], json!(["x"]));
    let challenge = challenge(&lab).await;
    assert!(challenge.contains(r#"resource_metadata="javascript:alert(1)""#) && !challenge.contains("scope="));
}

#[tokio::test]
async fn an_issuer_with_a_slash_has_it_everywhere() {
    let lab = lab(|oauth| oauth.issuer_slash = true).await;
    assert!(lab.issuer().ends_with('/'));
    assert_eq!(server(&lab).await["issuer"], json!(lab.issuer()));
    assert_eq!(resource(&lab).await["authorization_servers"], json!([lab.issuer()]));
}

#[tokio::test]
async fn a_lab_without_oauth_has_no_metadata() {
    let lab = crate::support::lab(|_| ()).await;
    assert_eq!(lab.server_urls(), ["", ""]);
    get(&lab.mcp_url().replace("/mcp", RESOURCE)).await;
    assert_eq!(lab.seen().strays.len(), 1, "it is a stray as any other");
}
