//! The connector of one destination: resolve, check every address, connect to a checked one, check the connected peer, then TLS. Never connects to an address that it did not check itself.

use crate::address::{Guard, Reach};
use crate::error::{EgressError, Phase};
use crate::resolve::Resolver;
use crate::tls::Refused;
use contract::limits;
use http::Uri;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use url::Host;

/// What one destination's connections need to know.
pub(crate) struct Route {
    pub(crate) host: Host<String>,
    pub(crate) port: u16,
    pub(crate) reach: Reach,
    pub(crate) guard: Guard,
    pub(crate) resolver: Arc<dyn Resolver>,
    /// None for plain http, which reaches loopback only.
    pub(crate) tls: Option<Arc<ClientConfig>>,
}

impl Route {
    /// The host as a person named it.
    pub(crate) fn name(&self) -> String {
        self.host.to_string()
    }

    /// Resolves and checks; every address must pass, or none is used.
    pub(crate) async fn vetted(&self) -> Result<Vec<IpAddr>, EgressError> {
        let found = match &self.host {
            Host::Ipv4(address) => vec![IpAddr::V4(*address)],
            Host::Ipv6(address) => vec![IpAddr::V6(*address)],
            Host::Domain(name) => {
                let found =
                    self.resolver.resolve(name).await.map_err(|_| EgressError::Unresolved { host: self.name() })?;
                found.into_iter().take(limits::RESOLVED_ADDRESSES_MAX).collect()
            }
        };
        if found.is_empty() {
            return Err(EgressError::Unresolved { host: self.name() });
        }
        found.iter().try_for_each(|address| self.check(*address))?;
        Ok(found)
    }

    fn check(&self, address: IpAddr) -> Result<(), EgressError> {
        self.guard.check(self.reach, address).map_err(|range| EgressError::Denied { host: self.name(), address, range })
    }

    async fn connect(&self) -> Result<Stream, EgressError> {
        let max = Duration::from_secs(limits::CONNECT_S_MAX);
        let late = |_| EgressError::TimedOut { host: self.name(), phase: Phase::Connect, max };
        timeout(max, self.connect_unbounded()).await.map_err(late)?
    }

    async fn connect_unbounded(&self) -> Result<Stream, EgressError> {
        let addresses = self.vetted().await?;
        let tcp = self.connect_first(&addresses).await?;
        let Some(config) = &self.tls else { return Ok(Stream::Plain(tcp)) };
        let name = self.server_name()?;
        let tls =
            TlsConnector::from(Arc::clone(config)).connect(name, tcp).await.map_err(|error| self.tls_error(&error))?;
        Ok(Stream::Tls(Box::new(tls)))
    }

    async fn connect_first(&self, addresses: &[IpAddr]) -> Result<TcpStream, EgressError> {
        let share =
            Duration::from_secs(limits::CONNECT_S_MAX) / u32::try_from(addresses.len().clamp(1, 4)).unwrap_or(4);
        let mut reason = io::ErrorKind::AddrNotAvailable;
        for address in addresses {
            let vetted = SocketAddr::new(*address, self.port);
            match timeout(share, TcpStream::connect(vetted)).await {
                Ok(Ok(stream)) => {
                    self.check_peer(vetted, stream.peer_addr())?;
                    // Latency only; a failure changes nothing.
                    let _ = stream.set_nodelay(true);
                    return Ok(stream);
                }
                Ok(Err(error)) => reason = error.kind(),
                Err(_) => reason = io::ErrorKind::TimedOut,
            }
        }
        Err(EgressError::Unreachable { host: self.name(), reason })
    }

    /// The address that counts is the one at the other end of the connection.
    fn check_peer(&self, vetted: SocketAddr, peer: io::Result<SocketAddr>) -> Result<(), EgressError> {
        match peer {
            Ok(peer) if peer == vetted => self.check(peer.ip()),
            Ok(_) | Err(_) => {
                Err(EgressError::Unreachable { host: self.name(), reason: io::ErrorKind::AddrNotAvailable })
            }
        }
    }

    fn server_name(&self) -> Result<ServerName<'static>, EgressError> {
        match &self.host {
            Host::Ipv4(address) => Ok(IpAddr::V4(*address).into()),
            Host::Ipv6(address) => Ok(IpAddr::V6(*address).into()),
            Host::Domain(name) => ServerName::try_from(name.trim_end_matches('.').to_owned())
                .map_err(|_| EgressError::BadUrl { what: "its host is no DNS name" }),
        }
    }

    fn tls_error(&self, error: &io::Error) -> EgressError {
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        match (inner.and_then(Refused::find), inner) {
            (Some(refused), _) => {
                EgressError::Untrusted { host: self.name(), seen: refused.seen, reason: refused.reason.clone() }
            }
            (None, Some(tls)) => EgressError::Tls { host: self.name(), reason: tls.to_string() },
            (None, None) => EgressError::Tls { host: self.name(), reason: error.kind().to_string() },
        }
    }
}

/// The connector that the pool calls when it has no connection left.
#[derive(Clone)]
pub(crate) struct Connector(pub(crate) Arc<Route>);

impl tower::Service<Uri> for Connector {
    type Response = TokioIo<Stream>;
    type Error = EgressError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, EgressError>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), EgressError>> {
        Poll::Ready(Ok(()))
    }

    /// The URI is not looked at: a connector leads to its own destination and nowhere else.
    fn call(&mut self, _uri: Uri) -> Self::Future {
        let route = Arc::clone(&self.0);
        Box::pin(async move { route.connect().await.map(TokioIo::new) })
    }
}

/// A connection, with TLS unless it leads to loopback by plain http.
pub(crate) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(context),
            Self::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::Reserved;
    use crate::resolve::SystemResolver;

    #[test]
    fn a_peer_other_than_the_checked_address_is_refused() {
        let route = Route {
            host: Host::Domain("mcp.example".to_owned()),
            port: 443,
            reach: Reach::Guarded,
            guard: Guard::default(),
            resolver: Arc::new(SystemResolver),
            tls: None,
        };
        let [public, other, private] =
            ["8.8.8.8:443", "8.8.4.4:443", "10.0.0.1:443"].map(|text| text.parse().expect("an address"));
        assert_eq!(route.check_peer(public, Ok(public)), Ok(()));
        assert!(matches!(route.check_peer(public, Ok(other)), Err(EgressError::Unreachable { .. })));
        assert!(matches!(route.check_peer(public, Ok(private)), Err(EgressError::Unreachable { .. })));
        assert!(matches!(
            route.check_peer(private, Ok(private)),
            Err(EgressError::Denied { range: Reserved::Private, .. })
        ));
    }
}
