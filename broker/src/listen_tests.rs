//! Attacks on the listener: peers that are slow, silent, many, or that pretend to be somebody else. Time is the runtime's, and it is paused: a wait that has no end hangs its test.

use super::*;
use crate::{
    StartError, Tls,
    config::ConfigError,
    testing::{World, parse_reply},
};
use contract::Digest;
use rustls::{
    ClientConfig, DigitallySignedStruct, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::aws_lc_rs,
};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

const PROBE: &[u8] = b"GET /healthz HTTP/1.1\r\nhost: h\r\n\r\n";

/// As [`drain`], on the paused clock: the service gives up when its own maximum has passed, not when the connection's life ends.
async fn drain_within(seconds_max: u64, stream: &mut (impl AsyncRead + Unpin)) -> Vec<u8> {
    tokio::time::timeout(Duration::from_secs(seconds_max + 1), drain(stream)).await.expect("given up in time")
}

/// Everything the service still says on a connection, up to its end.
async fn drain(stream: &mut (impl AsyncRead + Unpin)) -> Vec<u8> {
    let mut bytes = Vec::new();
    // A reset is an end too.
    let _ = stream.read_to_end(&mut bytes).await;
    bytes
}

#[test]
fn seats_are_counted_by_address_and_given_back() {
    let peers = Arc::new(Peers::default());
    let address = IpAddr::from([192, 0, 2, 1]);
    let mut seats: Vec<_> =
        (0..limits::HTTP_CONNECTIONS_PER_PEER_MAX).map(|_| peers.seat(address).expect("room")).collect();
    assert!(peers.seat(address).is_none());
    assert!(peers.seat(IpAddr::from([192, 0, 2, 2])).is_some(), "somebody else is not concerned");
    seats.pop();
    assert!(peers.seat(address).is_some());
    drop(seats);
    assert!(peers.0.lock().expect("whole").is_empty(), "nothing is remembered of those who left");
}

#[tokio::test]
async fn a_head_that_never_ends_is_given_up() {
    let world = World::start().await;
    let mut stream = TcpStream::connect(world.address).await.expect("connected");
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: h\r\nx-slow:").await.expect("written");
    tokio::time::pause();
    let answer = drain_within(limits::HEADER_READ_S_MAX, &mut stream).await;
    assert!(answer.is_empty() || parse_reply(&answer).status == 408);
}

#[tokio::test]
async fn a_silent_connection_is_given_up() {
    let world = World::start().await;
    let mut silent = TcpStream::connect(world.address).await.expect("connected");
    let mut idle = TcpStream::connect(world.address).await.expect("connected");
    idle.write_all(PROBE).await.expect("written");
    let mut first = [0; 15];
    idle.read_exact(&mut first).await.expect("answered, and kept open");
    tokio::time::pause();
    let ends = tokio::join!(
        drain_within(limits::HEADER_READ_S_MAX, &mut silent),
        drain_within(limits::HEADER_READ_S_MAX, &mut idle)
    );
    assert!(ends.0.is_empty() && ends.1.ends_with(b"{\"status\":\"ok\"}"));
}

#[tokio::test]
async fn a_body_that_never_ends_is_given_up() {
    let world = World::start().await;
    let mut stream = TcpStream::connect(world.address).await.expect("connected");
    let head = "POST /v1/devices/start HTTP/1.1\r\nhost: h\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{";
    stream.write_all(head.as_bytes()).await.expect("written");
    tokio::time::pause();
    let reply = parse_reply(&drain_within(limits::BODY_READ_S_MAX, &mut stream).await);
    assert_eq!((reply.status, reply.code().as_str()), (400, "request.json"));
}

#[tokio::test]
async fn too_large_a_head_is_refused() {
    let world = World::start().await;
    let huge = format!("GET /healthz HTTP/1.1\r\nhost: h\r\nx: {}\r\n\r\n", "x".repeat(2 * limits::HEADER_BYTES_MAX));
    assert_eq!(world.raw(huge.as_bytes()).await.status, 431);
    let many =
        format!("GET /healthz HTTP/1.1\r\nhost: h\r\n{}\r\n", "x: y\r\n".repeat(limits::RESPONSE_HEADERS_MAX + 1));
    assert_eq!(world.raw(many.as_bytes()).await.status, 431);
}

#[tokio::test]
async fn the_end_lets_a_running_request_finish_and_takes_no_new_one() {
    let world = World::start().await;
    let mut running = TcpStream::connect(world.address).await.expect("connected");
    let body = "{\"device_code\":\"a\",\"verifier\":\"b\"}";
    let head = format!(
        "POST /v1/devices/token HTTP/1.1\r\nhost: h\r\nexpect: 100-continue\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    running.write_all(head.as_bytes()).await.expect("written");
    let mut hundred = [0; 25];
    running.read_exact(&mut hundred).await.expect("the request runs: its body is wanted");
    let World { service, address, .. } = world;
    let (ended, reply) = tokio::join!(service.shutdown(), async {
        running.write_all(body.as_bytes()).await.expect("written");
        parse_reply(&drain(&mut running).await)
    });
    let () = ended;
    assert_eq!(reply.status, 410);
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn the_end_does_not_wait_for_a_peer_that_says_nothing() {
    let world = World::start().await;
    let mut stuck = TcpStream::connect(world.address).await.expect("connected");
    stuck.write_all(b"POST /v1/devices/token HTTP/1.1\r\nhost: h\r\nexpect: 100-continue\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n").await.expect("written");
    let mut hundred = [0; 25];
    stuck.read_exact(&mut hundred).await.expect("the request runs");
    tokio::time::pause();
    world.service.shutdown().await;
}

#[tokio::test]
async fn a_panic_is_one_answer_and_not_the_end() {
    async fn panics() {
        panic!("on purpose");
    }
    let router = Router::new().route("/", axum::routing::get(panics));
    let peer = Peer(IpAddr::from([127, 0, 0, 1]));
    let request = hyper::Request::new(Body::empty());
    let Ok(response) = answer(router, peer, request).await;
    assert_eq!(response.status(), 500);
}

#[tokio::test]
async fn plain_http_for_others_does_not_start() {
    let directory = tempfile::tempdir().expect("directory");
    let mut config = crate::Config::in_directory(directory.path());
    config.listen = "0.0.0.0:0".parse().expect("address");
    config.public_url = Some(crate::Origin::parse("https://collie.test").expect("origin"));
    let refused = crate::Service::start(config, Arc::new(crate::SystemClock)).await.err().expect("refused");
    assert!(matches!(refused, StartError::Config(ConfigError::PlainHttp { .. })));
    assert!(refused.to_string().contains("tls = \"self-made\""), "the remedy: {refused}");
}

#[tokio::test]
async fn the_own_certificate_is_the_one_whose_fingerprint_is_shown() {
    let world = World::start_with(|config| config.tls = Tls::SelfMade).await;
    let shown = world.service.ready().fingerprint.expect("TLS").to_string();
    assert!(world.service.origin().starts_with("https://"));
    let mut stream = connect_tls(&world, &shown).await.expect("the pinned certificate");
    let path = world.owner_path().await;
    let (origin, host) = (world.service.origin(), world.address);
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: {host}\r\norigin: {origin}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.expect("written");
    let reply = parse_reply(&drain(&mut stream).await);
    let cookie = reply.header("set-cookie").expect("a cookie");
    assert!(cookie.starts_with("__Host-collie=") && cookie.ends_with("; Secure"));
    assert!(reply.header("strict-transport-security").is_some());

    let other = format!("sha256:{}", Digest::of(&[b"another certificate"]).hex());
    assert!(connect_tls(&world, &other).await.is_err(), "control: the pin decides");
}

#[tokio::test]
async fn a_handshake_that_never_ends_is_given_up_and_plain_http_gets_nothing() {
    let world = World::start_with(|config| config.tls = Tls::SelfMade).await;
    let mut plain = TcpStream::connect(world.address).await.expect("connected");
    plain.write_all(PROBE).await.expect("written");
    assert!(!drain(&mut plain).await.starts_with(b"HTTP/"));
    let mut silent = TcpStream::connect(world.address).await.expect("connected");
    tokio::time::pause();
    assert!(drain_within(limits::HANDSHAKE_S_MAX, &mut silent).await.is_empty());
}

#[tokio::test]
async fn a_network_that_asks_too_often_waits_and_a_header_does_not_change_who_it_is() {
    let world = World::start().await;
    let last = knock(&world, true).await;
    assert_eq!((last.status, last.code().as_str()), (429, "rate.limited"));
    let wait: u64 = last.header("retry-after").and_then(|wait| wait.parse().ok()).expect("seconds");
    assert!(wait >= 1);
    assert_eq!(world.send("GET", "/healthz", &[], b"").await.status, 200, "another kind of request is another count");
}

#[tokio::test]
async fn behind_the_declared_proxy_every_client_is_counted_apart() {
    let world = World::start_with(|config| {
        config.proxy_trusted = vec!["127.0.0.0/8".parse().expect("CIDR")];
        config.public_url = Some(crate::Origin::parse("https://collie.test").expect("origin"));
    })
    .await;
    assert_eq!(knock(&world, true).await.status, 400, "many clients");
    assert_eq!(knock(&world, false).await.status, 429, "one client");
}

/// Starts more pairings than one network may, all malformed so that nothing is stored; with a header that names another client each time, or always the same.
async fn knock(world: &World, change: bool) -> crate::testing::Reply {
    let mut last = world.post("/v1/devices/start", "{}").await;
    for n in 0..limits::RATE_PAIRING_BURST + 5 {
        let client = format!("1.2.3.4, 198.51.100.{}", if change { n } else { 200 });
        let headers = [("content-type", "application/json"), ("x-forwarded-for", client.as_str())];
        last = world.send("POST", "/v1/devices/start", &headers, b"{}").await;
    }
    last
}

async fn connect_tls(world: &World, fingerprint: &str) -> io::Result<tokio_rustls::client::TlsStream<TcpStream>> {
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Pin(fingerprint.to_owned())))
        .with_no_client_auth();
    let stream = TcpStream::connect(world.address).await.expect("connected");
    let name = ServerName::try_from("127.0.0.1").expect("a name");
    tokio_rustls::TlsConnector::from(Arc::new(config)).connect(name, stream).await
}

/// What a device with a pinned fingerprint does.
#[derive(Debug)]
struct Pin(String);

impl ServerCertVerifier for Pin {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let seen = format!("sha256:{}", Digest::of(&[leaf]).hex());
        if seen == self.0 {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(rustls::Error::General("another certificate".to_owned()))
        }
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        aws_lc_rs::default_provider().signature_verification_algorithms.supported_schemes()
    }
}
