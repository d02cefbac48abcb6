//! Tiny servers and resolvers for the tests: they answer with prepared bytes and count what reaches them.

use collie_egress::{
    AllowHost, CertificateDer, Destination, Development, Egress, Limits, Resolver, Resolving, Settings,
};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::{ServerConfig, SupportedProtocolVersion, sign as rustls_sign, version};

pub(crate) const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";

/// What a server does once it has a request.
#[derive(Clone)]
pub(crate) enum Manner {
    /// Answers with these bytes and waits for the next request on the same connection.
    Answer(String),
    /// Answers with these bytes and closes.
    AnswerAndClose(String),
    /// Answers with these bytes and then says nothing for ever.
    AnswerAndHang(String),
    /// Repeats the second bytes for ever after the first.
    Endless(String, String),
}

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    connections: Arc<AtomicUsize>,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub(crate) async fn start(manner: Manner) -> Self {
        Self::serve(manner, None).await
    }

    pub(crate) async fn start_tls(manner: Manner, certified: &CertifiedKey<rcgen::KeyPair>) -> Self {
        Self::start_impostor(manner, certified, certified, &[&version::TLS13, &version::TLS12]).await
    }

    /// Shows the certificate of one and signs with the key of another.
    pub(crate) async fn start_impostor(
        manner: Manner,
        shown: &CertifiedKey<rcgen::KeyPair>,
        held: &CertifiedKey<rcgen::KeyPair>,
        versions: &[&'static SupportedProtocolVersion],
    ) -> Self {
        let key = PrivateKeyDer::try_from(held.signing_key.serialize_der()).expect("a key");
        let key = aws_lc_rs::sign::any_supported_type(&key).expect("a usable key");
        let certified = rustls_sign::CertifiedKey::new(vec![shown.cert.der().clone()], key);
        let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_protocol_versions(versions)
            .expect("versions")
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(rustls_sign::SingleCertAndKey::from(certified)));
        Self::serve(manner, Some(TlsAcceptor::from(Arc::new(config)))).await
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().expect("not poisoned").clone()
    }

    async fn serve(manner: Manner, tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let (connections, requests) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Vec::new())));
        let server = Self { address, connections: Arc::clone(&connections), requests: Arc::clone(&requests) };
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                connections.fetch_add(1, Ordering::SeqCst);
                let (manner, requests, tls) = (manner.clone(), Arc::clone(&requests), tls.clone());
                tokio::spawn(async move {
                    match tls {
                        None => talk(stream, manner, &requests).await,
                        // A client that refuses the certificate ends the handshake.
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                talk(stream, manner, &requests).await;
                            }
                        }
                    }
                });
            }
        });
        server
    }
}

/// Errors end the conversation: the client has gone.
async fn talk(mut stream: impl AsyncRead + AsyncWrite + Unpin, manner: Manner, requests: &Mutex<Vec<String>>) {
    while let Some(request) = read_request(&mut stream).await {
        requests.lock().expect("not poisoned").push(request);
        let (Manner::Answer(first)
        | Manner::AnswerAndClose(first)
        | Manner::AnswerAndHang(first)
        | Manner::Endless(first, _)) = &manner;
        if stream.write_all(first.as_bytes()).await.is_err() || stream.flush().await.is_err() {
            return;
        }
        match &manner {
            Manner::Answer(_) => {}
            Manner::AnswerAndClose(_) => return,
            Manner::AnswerAndHang(_) => std::future::pending::<()>().await,
            Manner::Endless(_, more) => while stream.write_all(more.as_bytes()).await.is_ok() {},
        }
    }
}

/// Requests of the tests have no body or a short one that comes at once.
async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> Option<String> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse::<usize>().ok());
            if body.len() >= length.unwrap_or(0) {
                return Some(text);
            }
        }
        match stream.read(&mut buffer).await {
            Ok(read) if read > 0 => bytes.extend_from_slice(&buffer[..read]),
            Ok(_) | Err(_) => return None,
        }
    }
}

/// Gives the first answer, then the second and so on; the last one for ever.
pub(crate) struct Scripted {
    answers: Mutex<VecDeque<Vec<IpAddr>>>,
    pub(crate) asked: AtomicUsize,
}

impl Scripted {
    pub(crate) fn new(answers: &[&[&str]]) -> Arc<Self> {
        let parse = |answer: &&[&str]| answer.iter().map(|text| text.parse().expect("an address")).collect();
        Arc::new(Self { answers: Mutex::new(answers.iter().map(parse).collect()), asked: AtomicUsize::new(0) })
    }
}

impl Resolver for Scripted {
    fn resolve(&self, _host: &str) -> Resolving {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let mut answers = self.answers.lock().expect("not poisoned");
        let answer = if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() };
        Box::pin(async move { Ok(answer.unwrap_or_default()) })
    }
}

pub(crate) fn certified(names: &[&str]) -> CertifiedKey<rcgen::KeyPair> {
    generate_simple_self_signed(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).expect("a certificate")
}

pub(crate) fn egress(change: impl FnOnce(&mut Settings)) -> Egress {
    let mut settings = Settings::default();
    change(&mut settings);
    Egress::new(settings)
}

pub(crate) fn developing() -> Egress {
    egress(|settings| settings.development = Development::AllowLoopback)
}

pub(crate) fn local(server: &Server) -> Destination {
    developing().foreign(&server.url()).expect("a loopback URL")
}

pub(crate) fn allow(text: &str) -> Vec<AllowHost> {
    vec![text.parse().expect("a private network")]
}

pub(crate) fn roots(certified: &CertifiedKey<rcgen::KeyPair>) -> Vec<CertificateDer<'static>> {
    vec![certified.cert.der().clone()]
}

pub(crate) const SOON: Limits = Limits {
    head: Duration::from_millis(100),
    idle: Duration::from_millis(100),
    total: Duration::from_millis(400),
    body_bytes: 1000,
};
