//! The listener: accepts, limits and serves network connections, with a maximum for each wait and each count. Never serves plain http to anybody the settings do not name.

use crate::{
    client_address,
    config::Exposure,
    http::{Peer, failure},
};
use axum::{
    Router,
    body::{Body, Bytes},
    response::Response,
};
use contract::limits;
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use ipnet::IpNet;
use std::{
    collections::HashMap,
    convert::Infallible,
    io,
    net::{IpAddr, SocketAddr},
    pin::pin,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    sync::{Semaphore, watch},
    task::JoinSet,
};
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt as _;

/// How a listener treats those who connect.
pub(crate) struct Listening {
    pub(crate) listener: TcpListener,
    pub(crate) exposure: Exposure,
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) proxy_trusted: Vec<IpNet>,
    pub(crate) router: Router,
}

/// Serves until `ending` turns true, then lets running requests finish for at most [`limits::SHUTDOWN_S_MAX`].
pub(crate) async fn serve(listening: Listening, mut ending: watch::Receiver<bool>) {
    let room = Arc::new(Semaphore::new(limits::HTTP_CONNECTIONS_MAX));
    let peers = Arc::new(Peers::default());
    let Listening { listener, exposure, tls, proxy_trusted, router } = listening;
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { break };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = ending.wait_for(|ending| *ending) => break,
        };
        let Some((stream, peer)) = usable(accepted).await else { continue };
        let proxy = client_address::is_trusted(peer.ip(), &proxy_trusted);
        if exposure == Exposure::Proxied && !proxy {
            continue;
        }
        let seat = if proxy { None } else { Some(peers.seat(peer.ip())) };
        let Some(seat) = seat.map_or(Some(None), |seat| seat.map(Some)) else { continue };
        let (tls, router, ending) = (tls.clone(), router.clone(), ending.clone());
        connections.spawn(async move {
            let _held = (permit, seat);
            greet(stream, tls, Client { router, peer: Peer(peer.ip()), ending }).await;
        });
    }
    drop(listener);
    let all = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(Duration::from_secs(limits::SHUTDOWN_S_MAX), all).await;
    connections.shutdown().await;
}

/// An accept that fails concerns one peer, or means that descriptors ran out: then the next try waits for a moment.
async fn usable(accepted: io::Result<(TcpStream, SocketAddr)>) -> Option<(TcpStream, SocketAddr)> {
    match accepted {
        Ok((stream, peer)) => {
            let _ = stream.set_nodelay(true);
            Some((stream, peer))
        }
        Err(error) if matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset) => None,
        Err(error) => {
            tracing::warn!(code = "listener.accept", kind = %error.kind(), "cannot accept a connection");
            let pause = std::future::pending::<()>();
            let _ = tokio::time::timeout(Duration::from_millis(100), pause).await;
            None
        }
    }
}

/// One network connection's surroundings.
struct Client {
    router: Router,
    peer: Peer,
    ending: watch::Receiver<bool>,
}

async fn greet(stream: TcpStream, tls: Option<TlsAcceptor>, client: Client) {
    let Some(acceptor) = tls else { return converse(stream, client).await };
    let handshake = tokio::time::timeout(Duration::from_secs(limits::HANDSHAKE_S_MAX), acceptor.accept(stream));
    if let Ok(Ok(stream)) = handshake.await {
        converse(stream, client).await;
    }
}

async fn converse(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, client: Client) {
    let Client { router, peer, mut ending } = client;
    let service = service_fn(move |request| answer(router.clone(), peer, request));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_secs(limits::HEADER_READ_S_MAX))
        .max_buf_size(limits::HEADER_BYTES_MAX)
        .max_headers(limits::RESPONSE_HEADERS_MAX)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let life = Duration::from_secs(limits::HTTP_CONNECTION_S_MAX);
    let mut ended = pin!(tokio::time::timeout(life, ending.wait_for(|ending| *ending)));
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = ended.as_mut() => connection.as_mut().graceful_shutdown(),
    }
    // The running request may end; a peer that does not read its answer is left behind.
    let _ = tokio::time::timeout(Duration::from_secs(limits::SERVICE_CALL_S_MAX), connection).await;
}

/// Each request is a task of its own: a peer that hangs up does not stop half of an operation, and a panic is one answer with 500.
async fn answer<B>(router: Router, peer: Peer, request: hyper::Request<B>) -> Result<Response, Infallible>
where
    B: hyper::body::Body<Data = Bytes, Error: Into<axum::BoxError>> + Send + 'static,
{
    let mut request = request.map(Body::new);
    request.extensions_mut().insert(peer);
    match tokio::spawn(router.oneshot(request)).await {
        Ok(answered) => answered,
        Err(_) => Ok(failure()),
    }
}

/// How many connections each peer address has.
#[derive(Default)]
struct Peers(Mutex<HashMap<IpAddr, usize>>);

/// One counted connection.
struct Seat {
    peers: Arc<Peers>,
    address: IpAddr,
}

impl Peers {
    /// A seat for one more connection of `address`, unless it has [`limits::HTTP_CONNECTIONS_PER_PEER_MAX`].
    fn seat(self: &Arc<Self>, address: IpAddr) -> Option<Seat> {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(address).or_default();
        if *count >= limits::HTTP_CONNECTIONS_PER_PEER_MAX {
            return None;
        }
        *count += 1;
        Some(Seat { peers: Arc::clone(self), address })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut counts = self.peers.0.lock().unwrap_or_else(PoisonError::into_inner);
        match counts.get_mut(&self.address) {
            Some(count) if *count > 1 => *count -= 1,
            Some(_) | None => {
                counts.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
#[path = "listen_tests.rs"]
mod tests;
