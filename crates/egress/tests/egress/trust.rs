//! Which certificate is believed: roots or exactly one fingerprint, and never anything by mistake.

use crate::server::{Manner, OK, Scripted, Server, certified, egress, roots};
use collie_egress::{Development, EgressError, Fingerprint, HeaderName, Limits, Method, Request, Sent, Trust};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_rustls::rustls::version;

fn get() -> Request {
    Request::new(Method::GET, "/", Limits::SERVICE)
        .secret_header(HeaderName::from_static("authorization"), b"Bearer canary".to_vec().into())
        .expect("a fine value")
}

#[tokio::test]
async fn a_pinned_service_is_believed_by_its_fingerprint_alone() {
    // The name in the certificate is not the one that is called, and nobody vouches for it.
    let certified = certified(&["somewhere.else"]);
    let pin = Fingerprint::of(certified.cert.der());
    let server = Server::start_tls(Manner::Answer(OK.to_owned()), &certified).await;
    let destination =
        egress(|_| {}).service(&format!("https://{}", server.address), Trust::Pinned(pin)).expect("a URL");
    assert_eq!(destination.send(get()).await.expect("an answer").bytes().await.as_deref(), Ok(b"hi".as_slice()));
}

#[tokio::test]
async fn another_certificate_than_the_pinned_one_is_refused_before_anything_is_sent() {
    let (shown, expected) = (certified(&["localhost"]), certified(&["localhost"]));
    let server = Server::start_tls(Manner::Answer(OK.to_owned()), &shown).await;
    // Even when the system's roots would believe it.
    let client = egress(|settings| settings.extra_roots = roots(&shown));
    let pin = Trust::Pinned(Fingerprint::of(expected.cert.der()));
    let destination = client.service(&format!("https://localhost:{}", server.address.port()), pin).expect("a URL");
    let error = destination.send(get()).await.expect_err("refused");
    let seen = Fingerprint::of(shown.cert.der());
    assert!(matches!(&error, EgressError::Untrusted { seen: found, .. } if *found == seen), "{error:?}");
    assert!(error.to_string().contains(&seen.to_string()), "a person can compare it");
    assert_eq!(error.sent(), Sent::No);
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn a_pinned_certificate_without_its_key_is_refused() {
    let (copied, own) = (certified(&["localhost"]), certified(&["localhost"]));
    let pin = Fingerprint::of(copied.cert.der());
    for version in [&version::TLS13, &version::TLS12] {
        let server = Server::start_impostor(Manner::Answer(OK.to_owned()), &copied, &own, &[version]).await;
        for (settings_roots, trust) in [(Vec::new(), Trust::Pinned(pin)), (roots(&copied), Trust::Roots)] {
            let client = egress(|settings| settings.extra_roots = settings_roots);
            let destination = client.service(&format!("https://localhost:{}", server.address.port()), trust);
            let error = destination.expect("a URL").send(get()).await.expect_err("refused");
            assert!(matches!(error, EgressError::Tls { .. }), "{error:?}");
            assert_eq!(error.sent(), Sent::No);
        }
        assert!(server.requests().is_empty());
    }
}

#[tokio::test]
async fn roots_believe_a_known_issuer_for_its_name_only() {
    let known = certified(&["mcp.example"]);
    let server = Server::start_tls(Manner::Answer(OK.to_owned()), &known).await;
    let client = |with_root: bool| {
        egress(|settings| {
            settings.resolver = Scripted::new(&[&["127.0.0.1"]]);
            settings.development = Development::AllowLoopback;
            if with_root {
                settings.extra_roots = roots(&known);
            }
        })
    };
    for (with_root, name, reason) in [
        (true, "mcp.example", None),
        (true, "other.example", Some("made for another name")),
        (false, "mcp.example", Some("unknown issuer")),
    ] {
        let url = format!("https://{name}:{}/", server.address.port());
        for destination in [client(with_root).foreign(&url), client(with_root).service(&url, Trust::Roots)] {
            let answer = destination.expect("a URL").send(get()).await;
            match (answer, reason) {
                (Ok(_), None) => {}
                (Err(EgressError::Untrusted { reason: found, .. }), Some(reason)) => assert_eq!(found, reason),
                (answer, _) => panic!("{name} {answer:?}"),
            }
        }
    }
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn two_pins_for_one_origin_have_two_pools() {
    let certified = certified(&["localhost"]);
    let server = Server::start_tls(Manner::Answer(OK.to_owned()), &certified).await;
    let url = format!("https://{}", server.address);
    let client = egress(|_| {});
    let right = client.service(&url, Trust::Pinned(Fingerprint::of(certified.cert.der()))).expect("a URL");
    right.send(get()).await.expect("an answer").bytes().await.expect("a body");
    // The connection that is open and idle must not serve a destination with another pin.
    let wrong = client.service(&url, Trust::Pinned(Fingerprint::of(b"another"))).expect("a URL");
    assert!(matches!(wrong.send(get()).await, Err(EgressError::Untrusted { .. })));
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn what_speaks_no_tls_gets_no_request() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("https://{}", listener.local_addr().expect("bound"));
    let heard = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        // What the client says first is a TLS handshake; it gets plain HTTP for it.
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.expect("written");
        let mut heard = Vec::new();
        // The client may end the connection hard.
        let _ = stream.read_to_end(&mut heard).await;
        heard
    });
    let destination = egress(|_| {}).service(&url, Trust::Roots).expect("a URL");
    let error = destination.send(get()).await.expect_err("refused");
    assert!(matches!(error, EgressError::Tls { .. }), "{error:?}");
    assert_eq!(error.sent(), Sent::No);
    let heard = heard.await.expect("ended");
    assert!(!heard.windows(6).any(|window| window == b"canary"));
}
