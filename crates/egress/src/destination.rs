//! Where requests go: one origin, with a pool of its own. A destination can never lead to another origin than the one it was made for.

use crate::address::{AllowHost, Development, Guard, Reach};
use crate::connect::{Connector, Route};
use crate::deadline::Deadline;
use crate::error::{EgressError, Phase};
use crate::request::Request;
use crate::resolve::{Resolver, SystemResolver};
use crate::response::Response;
use crate::tls::{Fingerprint, pinned_config, roots_config};
use bytes::Bytes;
use contract::limits;
use http::{HeaderValue, Uri, header};
use http_body_util::Full;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::capture_connection;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::ClientConfig;
use rustls::pki_types::CertificateDer;
use std::error::Error as _;
use std::fmt;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::time::timeout;
use url::{Host, Position, Url};

/// How the certificate of a service is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// By the roots of the system.
    Roots,
    /// By the fingerprint of its leaf certificate.
    Pinned(Fingerprint),
}

/// What an operator or a person set for everything that goes out.
#[derive(Clone)]
pub struct Settings {
    /// Private networks that foreign destinations may lie in.
    pub allow_hosts: Vec<AllowHost>,
    /// Loopback, for development and demonstrations.
    pub development: Development,
    /// Certificate authorities believed beside the system's.
    pub extra_roots: Vec<CertificateDer<'static>>,
    /// Where names become addresses.
    pub resolver: Arc<dyn Resolver>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            allow_hosts: Vec::new(),
            development: Development::Off,
            extra_roots: Vec::new(),
            resolver: Arc::new(SystemResolver),
        }
    }
}

/// The client. Cheap to clone; destinations made from clones share nothing but settings.
#[derive(Clone)]
pub struct Egress(Arc<Shared>);

struct Shared {
    settings: Settings,
    roots: OnceLock<Result<Arc<ClientConfig>, rustls::Error>>,
}

impl Egress {
    /// A client with these settings. Reads no proxy from the environment; the system's roots can be named there (`SSL_CERT_FILE`, `SSL_CERT_DIR`).
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self(Arc::new(Shared { settings, roots: OnceLock::new() }))
    }

    /// The service at `base`, the origin that a person pinned at login: any address; https, or http on this machine.
    pub fn service(&self, base: &str, trust: Trust) -> Result<Destination, EgressError> {
        let url = parse(base)?;
        if url.scheme() == "http" {
            return match trust {
                Trust::Roots if is_loopback_name(&url) => self.destination(&url, Reach::LoopbackOnly, None),
                Trust::Roots => {
                    Err(EgressError::BadUrl { what: "http is for this machine only (127.0.0.1, [::1], localhost)" })
                }
                Trust::Pinned(_) => Err(EgressError::BadUrl { what: "http has no certificate to pin" }),
            };
        }
        let tls = match trust {
            Trust::Roots => self.roots()?,
            Trust::Pinned(pin) => Arc::new(pinned_config(pin).map_err(|error| tls_setup(&url, &error))?),
        };
        self.destination(&url, Reach::Anywhere, Some(tls))
    }

    /// A server that user input named: https and public addresses, unless the settings allow more. A literal address is checked here, a name when it is connected to.
    pub fn foreign(&self, url: &str) -> Result<Destination, EgressError> {
        let url = parse(url)?;
        if url.scheme() == "http" {
            return match self.0.settings.development {
                Development::AllowLoopback if is_loopback_name(&url) => {
                    self.destination(&url, Reach::LoopbackOnly, None)
                }
                Development::AllowLoopback | Development::Off => {
                    Err(EgressError::BadUrl { what: "it must begin with https://" })
                }
            };
        }
        self.destination(&url, Reach::Guarded, Some(self.roots()?))
    }

    fn destination(&self, url: &Url, reach: Reach, tls: Option<Arc<ClientConfig>>) -> Result<Destination, EgressError> {
        let settings = &self.0.settings;
        let host = url.host().ok_or(EgressError::BadUrl { what: "it has no host" })?.to_owned();
        let guard = Guard { allow_hosts: settings.allow_hosts.clone(), development: settings.development };
        let literal = match &host {
            Host::Ipv4(address) => Some(IpAddr::V4(*address)),
            Host::Ipv6(address) => Some(IpAddr::V6(*address)),
            Host::Domain(_) => None,
        };
        if let Some(address) = literal {
            guard.check(reach, address).map_err(|range| EgressError::Denied {
                host: host.to_string(),
                address,
                range,
            })?;
        }
        let port = url
            .port_or_known_default()
            .filter(|port| *port != 0)
            .ok_or(EgressError::BadUrl { what: "it has no port" })?;
        let route = Arc::new(Route { host, port, reach, guard, resolver: Arc::clone(&settings.resolver), tls });
        let pool = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(Duration::from_secs(limits::POOL_IDLE_S_MAX))
            .pool_max_idle_per_host(limits::POOL_IDLE_MAX)
            .http1_max_buf_size(limits::HEADER_BYTES_MAX)
            .http1_max_headers(limits::RESPONSE_HEADERS_MAX)
            .build(Connector(Arc::clone(&route)));
        Ok(Destination(Arc::new(Inner {
            origin: url.origin().ascii_serialization(),
            target: url[Position::BeforePath..Position::AfterQuery].to_owned(),
            route,
            pool,
        })))
    }

    fn roots(&self) -> Result<Arc<ClientConfig>, EgressError> {
        let made = self.0.roots.get_or_init(|| roots_config(&self.0.settings.extra_roots).map(Arc::new));
        made.clone().map_err(|error| EgressError::Tls { host: "any host".to_owned(), reason: error.to_string() })
    }
}

/// One origin, and the connections to it. Cheap to clone; clones share the connections.
#[derive(Clone)]
pub struct Destination(Arc<Inner>);

struct Inner {
    origin: String,
    target: String,
    route: Arc<Route>,
    pool: Client<Connector, Full<Bytes>>,
}

impl fmt::Debug for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Destination").field(&self.0.origin).finish()
    }
}

impl Destination {
    /// Scheme, host and port.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.0.origin
    }

    /// Path and query of the URL that this destination was made from; the query can be secret.
    #[must_use]
    pub fn target(&self) -> &str {
        &self.0.target
    }

    /// Resolves the host and checks every address, without a connection: for a review, before anything is sent. The check is made again at each connect.
    pub async fn check(&self) -> Result<Vec<IpAddr>, EgressError> {
        self.0.route.vetted().await
    }

    /// Sends `request` and reads the head of the answer. Redirects, encodings and protocol upgrades are refused.
    pub async fn send(&self, request: Request) -> Result<Response, EgressError> {
        let limits = request.limits;
        let mut request = self.assemble(request)?;
        let mut deadline = Deadline::after(limits.total);
        let mut connecting = capture_connection(&mut request);
        let mut phase = Phase::Connect;
        let exchange = async {
            let mut answering = pin!(self.0.pool.request(request));
            tokio::select! {
                biased;
                answer = &mut answering => return Some(answer),
                _ = connecting.wait_for_connection_metadata() => phase = Phase::Head,
            }
            timeout(limits.head, answering).await.ok()
        };
        let answer = deadline.race(exchange).await;
        let late = |phase, max| EgressError::TimedOut { host: self.host(), phase, max };
        // Without a connection nothing can have been sent, whichever limit came first.
        let whole = if phase == Phase::Connect { Phase::Connect } else { Phase::Whole };
        let answer = answer.ok_or_else(|| late(whole, limits.total))?.ok_or_else(|| late(Phase::Head, limits.head))?;
        let answer = answer.map_err(|error| self.failure(&error))?;
        self.refuse_detours(&answer)?;
        Ok(Response::new(self.host(), answer, limits, deadline))
    }

    fn assemble(&self, request: Request) -> Result<http::Request<Full<Bytes>>, EgressError> {
        let target_fits = request.target.starts_with('/')
            && request.target.len() <= limits::TARGET_BYTES_MAX
            && request.target.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#');
        if !target_fits {
            return Err(EgressError::BadRequest { what: "the target is no path" });
        }
        let uri = format!("{}{}", self.0.origin, request.target)
            .parse::<Uri>()
            .map_err(|_| EgressError::BadRequest { what: "the target is no path" })?;
        let mut assembled = http::Request::new(Full::new(request.body));
        *assembled.method_mut() = request.method;
        *assembled.uri_mut() = uri;
        *assembled.headers_mut() = request.headers;
        assembled.headers_mut().insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        assembled.headers_mut().entry(header::USER_AGENT).or_insert(HeaderValue::from_static(USER_AGENT));
        Ok(assembled)
    }

    fn refuse_detours<B>(&self, answer: &http::Response<B>) -> Result<(), EgressError> {
        let status = answer.status();
        if status.is_redirection() {
            return Err(EgressError::Redirected { host: self.host(), status });
        }
        // hyper bounds what it buffers; a head that comes in one piece can be longer than that.
        let head_bytes: usize = answer.headers().iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
        if head_bytes > limits::HEADER_BYTES_MAX {
            return Err(EgressError::Malformed { host: self.host(), what: "its headers are larger than the limit" });
        }
        if status.is_informational() {
            return Err(EgressError::Malformed { host: self.host(), what: "it switches protocols" });
        }
        let encoded = answer.headers().get_all(header::CONTENT_ENCODING).iter().any(|value| value != "identity");
        if encoded {
            return Err(EgressError::Malformed {
                host: self.host(),
                what: "it encodes its answer, which was not asked for",
            });
        }
        Ok(())
    }

    fn failure(&self, error: &hyper_util::client::legacy::Error) -> EgressError {
        let source = error.source();
        if let Some(own) = source.and_then(|source| source.downcast_ref::<EgressError>()) {
            return own.clone();
        }
        let phase = if error.is_connect() { Phase::Connect } else { Phase::Head };
        match source.and_then(|source| source.downcast_ref::<hyper::Error>()) {
            Some(error) if error.is_parse_too_large() => {
                EgressError::Malformed { host: self.host(), what: "its headers are larger than the limit" }
            }
            Some(error) if error.is_parse() => EgressError::Malformed { host: self.host(), what: "not HTTP/1.1" },
            Some(_) | None => EgressError::Broken { host: self.host(), phase },
        }
    }

    fn host(&self) -> String {
        self.0.route.name()
    }
}

/// What we say we are.
const USER_AGENT: &str = concat!("collie-online/", env!("CARGO_PKG_VERSION"));

fn parse(text: &str) -> Result<Url, EgressError> {
    let bad = |what| EgressError::BadUrl { what };
    if text.len() > limits::ENDPOINT_BYTES_MAX {
        return Err(bad("it is too long"));
    }
    // The URL standard drops these silently; what a person reviews and what is called must be one text.
    if text.chars().any(|c| c.is_control() || c.is_whitespace() || c == '\\') {
        return Err(bad("it has white space, a control character or a backslash"));
    }
    let after_scheme =
        text.split_once("://").filter(|(scheme, _)| ["https", "http"].contains(&&*scheme.to_ascii_lowercase()));
    if after_scheme.is_none_or(|(_, rest)| rest.starts_with('/')) {
        return Err(bad("it must begin with https://"));
    }
    let url = Url::parse(text).map_err(|_| bad("it cannot be read"))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(bad("it holds a user name or password"));
    }
    if url.fragment().is_some() {
        return Err(bad("it has a fragment"));
    }
    match url.host() {
        Some(Host::Domain("")) | None => Err(bad("it has no host")),
        Some(_) => Ok(url),
    }
}

fn is_loopback_name(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

fn tls_setup(url: &Url, error: &rustls::Error) -> EgressError {
    EgressError::Tls { host: url.host_str().unwrap_or_default().to_owned(), reason: error.to_string() }
}
