//! Discovery: the eight shapes, every lie, and addresses that may not be called.

use crate::common::{NOW, REDIRECT, challenge, egress, found, lab, resource};
use crate::raw::{Raw, http, ok};
use collie_lab::{Discovery, MetadataLie};
use collie_upstream::oauth::{
    AuthorizationRequest, AuthorizationServer, AuthorizeError, Challenge, Consent, DiscoveryError, Document, Fit,
    Offline, ProtectedResource, Seeds, begin_authorization, find_resource, find_server,
};
use contract::cjson;
use egress::{Egress, EgressError, Settings};
use sign::Secret;

#[tokio::test]
async fn eight_shapes_connect_or_say_why_not() {
    for shape in Discovery::EIGHT {
        let lab = lab(|oauth| oauth.discovery = shape).await;
        let told = challenge(&lab).await;
        let resource = find_resource(&egress(), &lab.mcp_url(), Some(&told)).await;
        let resource = if shape == Discovery::NoResourceMetadata {
            let error = resource.expect_err("no metadata");
            assert!(matches!(error, DiscoveryError::NotFound { document: Document::ProtectedResource, .. }), "{error}");
            ProtectedResource::configured(&egress(), &lab.mcp_url(), &lab.issuer()).expect("named by a person")
        } else {
            resource.unwrap_or_else(|error| panic!("{shape:?}: {error}"))
        };
        assert_eq!(resource.resource(), lab.mcp_url());
        let issuer = &resource.issuers()[0];
        let server = find_server(&egress(), issuer).await.unwrap_or_else(|error| panic!("{shape:?}: {error}"));
        assert_eq!(server.issuer(), issuer);
        assert!(server.has_s256() && server.offers_codes(), "{shape:?}");
    }
    let lab = lab(|oauth| oauth.discovery = Discovery::IssuerPathOidc).await;
    let resource = resource(&lab).await;
    assert_eq!(resource.fit(), Fit::Exact);
    find_server(&egress(), &resource.issuers()[0]).await.expect("the appended spelling");
}

#[tokio::test]
async fn nothing_found_is_said_with_every_place_and_no_endpoint_is_guessed() {
    let lab = lab(|oauth| oauth.discovery = Discovery::Nothing).await;
    let error = find_resource(&egress(), &lab.mcp_url(), None).await.expect_err("nothing");
    let DiscoveryError::NotFound { tried, .. } = error else { panic!("{error}") };
    assert_eq!(tried.len(), 2);
    let error = find_server(&egress(), &lab.issuer()).await.expect_err("nothing");
    assert!(matches!(error, DiscoveryError::NotFound { document: Document::AuthorizationServer, .. }), "{error}");
    let counts = lab.seen().oauth.counts;
    assert!(counts.token_requests.is_empty() && counts.registrations == 0 && counts.authorizations == 0);
}

#[tokio::test]
async fn a_document_keeps_its_meaning_when_it_is_kept() {
    let lab = lab(|_| {}).await;
    let server = found(&lab).await.server;
    let kept = AuthorizationServer::from_document(&egress(), server.issuer(), server.to_document());
    assert_eq!(kept.as_ref(), Ok(&server));
    let other = AuthorizationServer::from_document(&egress(), "http://127.0.0.1:1", server.to_document());
    assert!(matches!(other, Err(DiscoveryError::OtherIssuer { .. })));
}

#[tokio::test]
async fn each_lie_is_a_named_refusal() {
    for lie in MetadataLie::ALL {
        let lab = lab(|oauth| oauth.lies = [lie].into()).await;
        let told = challenge(&lab).await;
        let outcome = match find_resource(&egress(), &lab.mcp_url(), Some(&told)).await {
            Err(error) => Err(error),
            Ok(resource) => find_server(&egress(), &resource.issuers()[0]).await.map(|server| (resource, server)),
        };
        let field = |outcome| match outcome {
            Err(DiscoveryError::Field { field, .. }) => field,
            other => panic!("{lie:?}: {other:?}"),
        };
        match lie {
            MetadataLie::WrongIssuer | MetadataLie::SlashIssuer => {
                assert!(matches!(outcome, Err(DiscoveryError::OtherIssuer { .. })), "{lie:?}");
            }
            MetadataLie::SlashResource | MetadataLie::WrongResource => {
                assert!(matches!(outcome, Err(DiscoveryError::OtherResource { .. })), "{lie:?}");
            }
            MetadataLie::NoPkceMethods | MetadataLie::PlainPkceOnly => {
                let (resource, server) = outcome.expect("readable");
                refuses_without_s256(&lab, resource, server).await;
            }
            MetadataLie::ScriptAuthorize | MetadataLie::FileAuthorize => {
                assert_eq!(field(outcome), "authorization_endpoint");
            }
            MetadataLie::PrivateToken => assert_eq!(field(outcome), "token_endpoint"),
            MetadataLie::PrivateRegistration => assert_eq!(field(outcome), "registration_endpoint"),
            MetadataLie::PrivateServer | MetadataLie::NoServers => assert_eq!(field(outcome), "authorization_servers"),
            MetadataLie::EndpointsElsewhere => {
                let (_, server) = outcome.expect("allowed, and shown");
                assert!(!server.foreign_origins().is_empty());
            }
            MetadataLie::TwoServers => assert_eq!(outcome.expect("both named").0.issuers().len(), 2),
        }
        assert_eq!(lab.seen().strays.len(), 0, "{lie:?}: nothing goes where a lie points");
    }
}

async fn refuses_without_s256(lab: &collie_lab::Lab, resource: ProtectedResource, server: AuthorizationServer) {
    let found = found(lab).await;
    let asked = AuthorizationRequest {
        redirect_uri: REDIRECT,
        scopes: &[],
        offline: Offline::Without,
        consent: Consent::AsServerDecides,
    };
    let seeds = Seeds { state: Secret::new([1; 32]), verifier: Secret::new([2; 32]) };
    let refused = begin_authorization(&server, &resource, &found.client, asked, seeds, NOW);
    assert!(matches!(refused, Err(AuthorizeError::NoPkce)));
}

#[tokio::test]
async fn addresses_inside_are_refused_wherever_they_stand() {
    // Without the development setting loopback is as private as any.
    let strict = Egress::new(Settings::default());
    for inside in [
        "https://127.0.0.1/x",
        "https://169.254.169.254/x",
        "https://[fd00::1]/x",
        "https://2130706433/x",
        "http://as.example/x",
        "javascript:alert(1)",
        "file:///etc/passwd",
    ] {
        let hint = Challenge { resource_metadata: Some(inside.to_owned()), ..Challenge::default() };
        let error = find_resource(&strict, "https://mcp.example/mcp", Some(&hint)).await.expect_err("refused");
        assert!(
            matches!(
                &error,
                DiscoveryError::Unreachable { source: EgressError::Denied { .. } | EgressError::BadUrl { .. }, .. }
            ),
            "{inside}: {error:?}"
        );
        let error = find_server(&strict, inside).await.expect_err("refused");
        assert!(matches!(&error, DiscoveryError::Field { field: "authorization_servers", .. }), "{inside}: {error:?}");
        for name in ["authorization_endpoint", "token_endpoint", "revocation_endpoint", "device_authorization_endpoint"]
        {
            let mut members = vec![
                ("issuer", "https://as.example".to_owned()),
                ("token_endpoint", "https://as.example/t".to_owned()),
            ];
            members.push((name, inside.to_owned()));
            let document = contract::Json::Object(members.into_iter().map(|(n, v)| (n.to_owned(), v.into())).collect());
            let error =
                AuthorizationServer::from_document(&strict, "https://as.example", document).expect_err("refused");
            assert!(matches!(&error, DiscoveryError::Field { field, .. } if *field == name), "{inside}: {error:?}");
        }
    }
}

#[tokio::test]
async fn broken_documents_are_named_and_redirects_are_not_followed() {
    let large = format!(r#"{{"issuer":"{}"}}"#, "x".repeat(300_000));
    for (answer, named) in [
        (ok("[]"), "Field"),
        (ok(r#"{"issuer":1}"#), "OtherIssuer"),
        (ok(r#"{"issuer":"a","issuer":"b"}"#), "Field"),
        (ok(&large), "Unreachable"),
        (http("302 Found", "text/plain", "location: https://evil.example/\r\n", ""), "Unreachable"),
        (http("500 Internal Server Error", "application/json", "", "{}"), "Status"),
    ] {
        let raw = Raw::start(vec![answer]).await;
        let issuer = raw.url.trim_end_matches("/mcp").to_owned();
        let error = find_server(&egress(), &issuer).await.expect_err("refused");
        assert!(format!("{error:?}").starts_with(named), "{named}: {error:?}");
        assert_eq!(raw.seen().len(), 1, "the search ends there");
    }
    // A page in the place of a document is "not there".
    let page = || http("200 OK", "text/html", "", "<html>");
    let raw = Raw::start(vec![page(), page()]).await;
    let issuer = raw.url.trim_end_matches("/mcp").to_owned();
    assert!(matches!(find_server(&egress(), &issuer).await, Err(DiscoveryError::NotFound { .. })));
}

#[test]
fn malformed_members_are_named() {
    let strict = Egress::new(Settings::default());
    for (member, name) in [
        (r#""token_endpoint":null"#, "token_endpoint"),
        (r#""token_endpoint":7"#, "token_endpoint"),
        (r#""token_endpoint":"https://as.example/t","scopes_supported":"a""#, "scopes_supported"),
        (r#""token_endpoint":"https://as.example/t","scopes_supported":["a b"]"#, "scopes_supported"),
        (
            r#""token_endpoint":"https://as.example/t","code_challenge_methods_supported":[1]"#,
            "code_challenge_methods_supported",
        ),
        (
            r#""token_endpoint":"https://as.example/t","authorization_response_iss_parameter_supported":"true""#,
            "authorization_response_iss_parameter_supported",
        ),
    ] {
        let text = format!(r#"{{"issuer":"https://as.example",{member}}}"#);
        let document = cjson::parse(text.as_bytes(), 10_000).expect("JSON");
        let error = AuthorizationServer::from_document(&strict, "https://as.example", document).expect_err("refused");
        assert!(matches!(&error, DiscoveryError::Field { field, .. } if *field == name), "{member}: {error:?}");
    }
}
