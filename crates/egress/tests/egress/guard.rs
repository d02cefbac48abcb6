//! What a foreign destination may be: every spelling of a forbidden address is refused with nothing sent.

use crate::server::{Manner, OK, SOON, Scripted, Server, allow, certified, developing, egress, local, roots};
use collie_egress::{Development, EgressError, Fault, HeaderName, Limits, Method, Request, Reserved, Sent, Trust};
use std::sync::Arc;
use std::sync::atomic::Ordering;

fn get() -> Request {
    Request::new(Method::GET, "/mcp", Limits::FOREIGN)
}

#[test]
fn every_spelling_of_a_forbidden_address_is_refused() {
    for (url, range) in [
        ("https://127.0.0.1/", Reserved::Loopback),
        ("https://127.1/", Reserved::Loopback),
        ("https://127.0.0.1./", Reserved::Loopback),
        ("https://2130706433/", Reserved::Loopback),
        ("https://0x7f000001/", Reserved::Loopback),
        ("https://0x7f.0.0.1/", Reserved::Loopback),
        ("https://0177.0.0.1/", Reserved::Loopback),
        ("https://017700000001/", Reserved::Loopback),
        ("https://%31%32%37.0.0.1/", Reserved::Loopback),
        ("https://１２７.０.０.１/", Reserved::Loopback),
        ("https://127。0。0。1/", Reserved::Loopback),
        ("https://[::1]/", Reserved::Loopback),
        ("https://[0:0:0:0:0:0:0:1]/", Reserved::Loopback),
        ("https://[::ffff:127.0.0.1]/", Reserved::Embedded),
        ("https://[::ffff:7f00:1]/", Reserved::Embedded),
        ("https://[::127.0.0.1]/", Reserved::Embedded),
        ("https://[64:ff9b::127.0.0.1]/", Reserved::Embedded),
        ("https://[2002:7f00:1::]/", Reserved::Embedded),
        ("https://[2001:0:7f00:1::]/", Reserved::Embedded),
        ("https://169.254.169.254/latest/meta-data", Reserved::LinkLocal),
        ("https://2852039166/", Reserved::LinkLocal),
        ("https://0xa9fea9fe/", Reserved::LinkLocal),
        ("https://[fe80::1]/", Reserved::LinkLocal),
        ("https://10.0.0.1/", Reserved::Private),
        ("https://192.168.1.1:8443/x?y", Reserved::Private),
        ("https://172.16.0.1/", Reserved::Private),
        ("https://100.64.0.1/", Reserved::CarrierGrade),
        ("https://[fd00::1]/", Reserved::UniqueLocal),
        ("https://0.0.0.0/", Reserved::ThisNetwork),
        ("https://0/", Reserved::ThisNetwork),
        ("https://[::]/", Reserved::ThisNetwork),
        ("https://255.255.255.255/", Reserved::Broadcast),
        ("https://224.0.0.1/", Reserved::Multicast),
    ] {
        let error = egress(|_| {}).foreign(url).expect_err(url);
        assert!(matches!(&error, EgressError::Denied { range: found, .. } if *found == range), "{url} {error:?}");
        assert_eq!((error.sent(), error.fault()), (Sent::No, Fault::Guard));
    }
}

#[test]
fn what_is_no_https_url_is_refused() {
    let long = format!("https://example.com/{}", "x".repeat(3000));
    for url in [
        "",
        "example.com",
        "http://example.com/",
        "http://127.0.0.1/",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "ftp://example.com/",
        "data:text/plain,x",
        "-o/tmp/x",
        "$(id)",
        "https:example.com",
        "https:/example.com",
        "https:///example.com",
        "https://",
        "https://user@example.com/",
        "https://user:secret@example.com/",
        "https://:secret@example.com/",
        "https://example.com/#fragment",
        "https://example.com\\@127.0.0.1/",
        " https://example.com/",
        "https://exa\tmple.com/",
        "https://example.com/\r\nhost: x",
        "https://example.com:99999/",
        "https://example.com:0/",
        "https://[fe80::1%25eth0]/",
        "https://1.2.3.4.5/",
        "https://256.1.1.1/",
        &long,
    ] {
        let error = egress(|_| {}).foreign(url).expect_err(url);
        assert!(matches!(error, EgressError::BadUrl { .. }), "{url} {error:?}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}

#[test]
fn development_opens_loopback_by_name_and_nothing_else() {
    for url in ["http://127.0.0.1:1/", "http://localhost:1/", "http://[::1]:1/", "https://localhost/"] {
        assert!(developing().foreign(url).is_ok(), "{url}");
    }
    for url in [
        "http://example.com/",
        "http://10.0.0.1/",
        "http://localhost.example.com/",
        "http://[::ffff:127.0.0.1]/",
        "https://10.0.0.1/",
    ] {
        assert!(developing().foreign(url).is_err(), "{url}");
    }
}

#[test]
fn a_service_may_have_any_address_over_https_and_loopback_over_http() {
    for url in [
        "https://10.0.0.1/",
        "https://localhost:8443/prefix",
        "http://127.0.0.1:1/",
        "http://localhost:1",
        "http://[::1]:1",
    ] {
        assert!(egress(|_| {}).service(url, Trust::Roots).is_ok(), "{url}");
    }
    for url in
        ["http://10.0.0.1/", "http://example.com/", "http://127.0.0.1.example.com/", "file:///x", "https://u:p@h/"]
    {
        assert!(egress(|_| {}).service(url, Trust::Roots).is_err(), "{url}");
    }
    let pin = collie_egress::Fingerprint::of(b"x");
    assert!(egress(|_| {}).service("http://127.0.0.1:1/", Trust::Pinned(pin)).is_err());
}

#[tokio::test]
async fn a_name_that_leads_to_a_forbidden_address_is_refused_and_nothing_is_sent() {
    let certified = certified(&["mcp.example"]);
    let server = Server::start_tls(Manner::Answer(OK.to_owned()), &certified).await;
    let url = format!("https://mcp.example:{}/mcp", server.address.port());
    for answers in [&["127.0.0.1"][..], &["::1"], &["::ffff:127.0.0.1"], &["10.0.0.1"], &["169.254.169.254"]] {
        let guarded = egress(|settings| {
            settings.resolver = Scripted::new(&[answers]);
            settings.extra_roots = roots(&certified);
        });
        let error = guarded.foreign(&url).expect("a name").send(get()).await.expect_err("refused");
        assert!(matches!(error, EgressError::Denied { .. }), "{answers:?} {error:?}");
        assert_eq!(error.sent(), Sent::No);
    }
    assert_eq!(server.connections(), 0);
    // Control: the same name and server answer when loopback is allowed, so the guard alone made the difference.
    let open = egress(|settings| {
        settings.resolver = Scripted::new(&[&["127.0.0.1"]]);
        settings.extra_roots = roots(&certified);
        settings.development = Development::AllowLoopback;
    });
    open.foreign(&url).expect("a name").send(get()).await.expect("an answer");
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_name_that_turns_private_between_check_and_use_is_refused() {
    let server = Server::start(Manner::Answer(OK.to_owned())).await;
    let resolver = Scripted::new(&[&["8.8.8.8"], &["127.0.0.1"]]);
    let guarded = egress(|settings| settings.resolver = Arc::<Scripted>::clone(&resolver));
    let destination = guarded.foreign(&format!("https://mcp.example:{}/mcp", server.address.port())).expect("a name");
    assert_eq!(
        destination.check().await,
        Ok(vec!["8.8.8.8".parse().expect("an address")]),
        "the check sees a public address"
    );
    let error = destination.send(get()).await.expect_err("refused");
    assert!(matches!(error, EgressError::Denied { range: Reserved::Loopback, .. }), "{error:?}");
    assert_eq!(server.connections(), 0);
    assert_eq!(resolver.asked.load(Ordering::SeqCst), 2, "once for the check and once for the connection, never again");
}

#[tokio::test]
async fn one_connection_resolves_once_and_goes_where_that_led() {
    let server = Server::start(Manner::Answer(OK.to_owned())).await;
    // A second look would lead to a port that nobody listens on.
    let resolver = Scripted::new(&[&["127.0.0.1"], &["127.0.0.2"]]);
    let open = egress(|settings| {
        settings.resolver = Arc::<Scripted>::clone(&resolver);
        settings.development = Development::AllowLoopback;
    });
    let destination = open.foreign(&format!("http://localhost:{}/mcp", server.address.port())).expect("loopback");
    for _ in 0..3 {
        destination.send(get()).await.expect("an answer").bytes().await.expect("a body");
    }
    assert_eq!((resolver.asked.load(Ordering::SeqCst), server.connections()), (1, 1), "the connection is kept");
}

#[tokio::test]
async fn one_forbidden_address_among_public_ones_refuses_the_name() {
    let guarded = egress(|settings| settings.resolver = Scripted::new(&[&["8.8.8.8", "10.0.0.1"], &["8.8.8.8"]]));
    let destination = guarded.foreign("https://mcp.example/").expect("a name");
    assert!(matches!(destination.check().await, Err(EgressError::Denied { range: Reserved::Private, .. })));
    assert!(destination.check().await.is_ok());
}

#[tokio::test]
async fn localhost_that_leads_elsewhere_is_refused_for_plain_http() {
    let open = egress(|settings| {
        settings.resolver = Scripted::new(&[&["8.8.8.8"]]);
        settings.development = Development::AllowLoopback;
    });
    for destination in [open.foreign("http://localhost:1/"), open.service("http://localhost:1/", Trust::Roots)] {
        let error = destination.expect("loopback by name").check().await.expect_err("refused");
        assert!(matches!(error, EgressError::Denied { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn an_allowed_network_is_reachable_and_its_neighbour_is_not() {
    let allowed = egress(|settings| settings.allow_hosts = allow("10.9.0.0/16"));
    let inside = allowed.foreign("https://10.9.1.1/").expect("allowed");
    assert!(inside.check().await.is_ok());
    assert!(matches!(allowed.foreign("https://10.8.1.1/"), Err(EgressError::Denied { range: Reserved::Private, .. })));
}

#[tokio::test]
async fn a_name_without_an_address_is_unresolved() {
    let empty = egress(|settings| settings.resolver = Scripted::new(&[&[]]));
    let error = empty.foreign("https://mcp.example/").expect("a name").send(get()).await.expect_err("no address");
    assert_eq!(error, EgressError::Unresolved { host: "mcp.example".to_owned() });
}

#[tokio::test]
async fn a_redirect_is_refused_and_the_credential_stays() {
    let target = Server::start(Manner::Answer(OK.to_owned())).await;
    for status in ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"] {
        let answer = format!("HTTP/1.1 {status}\r\nlocation: {}\r\ncontent-length: 0\r\n\r\n", target.url());
        let server = Server::start(Manner::Answer(answer)).await;
        let request = get()
            .secret_header(HeaderName::from_static("authorization"), b"Bearer canary".to_vec().into())
            .expect("a fine value");
        let error = local(&server).send(request).await.expect_err("refused");
        assert!(matches!(error, EgressError::Redirected { .. }), "{status} {error:?}");
        assert!(server.requests()[0].contains("Bearer canary"), "the first server did get it");
    }
    assert_eq!(target.connections(), 0);
}

#[tokio::test]
async fn a_request_cannot_leave_its_origin() {
    let server = Server::start(Manner::Answer(OK.to_owned())).await;
    for target in ["", "x", "http://10.0.0.1/", "@10.0.0.1/", "/a b", "/a\r\nhost: x", "/é", "/#x", &"/x".repeat(3000)]
    {
        let error = local(&server).send(Request::new(Method::GET, target, SOON)).await.expect_err(target);
        assert!(matches!(error, EgressError::BadRequest { .. }), "{target} {error:?}");
    }
    assert_eq!(server.connections(), 0);
    local(&server).send(Request::new(Method::GET, "//10.0.0.1/x", SOON)).await.expect("a path like any other");
    assert!(server.requests()[0].starts_with("GET //10.0.0.1/x HTTP/1.1\r\n"));
}

#[tokio::test]
async fn nothing_is_asked_for_that_is_not_wanted() {
    let server = Server::start(Manner::Answer(OK.to_owned())).await;
    local(&server).send(get()).await.expect("an answer");
    let request = server.requests()[0].to_ascii_lowercase();
    assert!(request.contains("accept-encoding: identity\r\n"), "{request}");
    assert!(request.contains(&format!("host: {}\r\n", server.address)), "{request}");
    for absent in ["cookie", "proxy", "referer", "upgrade", "expect:"] {
        assert!(!request.contains(absent), "{absent} in {request}");
    }
}

/// The proxy is read, if at all, from the environment of a process, so this runs in a child that has one.
#[test]
fn a_proxy_in_the_environment_is_not_used() {
    const CHILD: &str = "COLLIE_EGRESS_TEST_PROXY_CHILD";
    let work = async {
        let proxy = Server::start(Manner::Answer(OK.to_owned())).await;
        let server = Server::start(Manner::Answer(OK.to_owned())).await;
        let output = tokio::process::Command::new(std::env::current_exe().expect("this test"))
            .args(["--exact", "guard::the_child_of_the_proxy_test", "--nocapture"])
            .env(CHILD, server.url())
            .envs(
                ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
                    .map(|name| (name, proxy.url())),
            )
            .env_remove("no_proxy")
            .env_remove("NO_PROXY")
            .output()
            .await
            .expect("the child runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!((proxy.connections(), server.requests().len()), (0, 1));
    };
    tokio::runtime::Runtime::new().expect("a runtime").block_on(work);
}

#[tokio::test]
async fn the_child_of_the_proxy_test() {
    let Ok(url) = std::env::var("COLLIE_EGRESS_TEST_PROXY_CHILD") else { return };
    developing().foreign(&url).expect("loopback").send(get()).await.expect("an answer");
}
