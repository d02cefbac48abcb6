//! Connections that can be cut without an answer. Never looks at the bytes.

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

/// A listener whose connections can be cut, one by one or all together.
pub(crate) struct Wire {
    pub(crate) listener: TcpListener,
    pub(crate) all_cut: Arc<AtomicBool>,
}

/// One connection.
pub(crate) struct Line {
    stream: TcpStream,
    cut: Arc<AtomicBool>,
    all_cut: Arc<AtomicBool>,
}

/// Who is at the other end of a connection, and the means to cut it.
#[derive(Clone)]
pub(crate) struct Peer {
    address: SocketAddr,
    cut: Arc<AtomicBool>,
}

impl Peer {
    pub(crate) fn new(address: SocketAddr, cut: Arc<AtomicBool>) -> Peer {
        Peer { address, cut }
    }

    /// Whether the other end is this very machine.
    pub(crate) fn is_loopback(&self) -> bool {
        self.address.ip().to_canonical().is_loopback()
    }

    /// From now on nothing is read from this connection or written to it; it ends.
    pub(crate) fn cut(&self) {
        self.cut.store(true, Ordering::SeqCst);
    }
}

impl Line {
    fn check(&self) -> io::Result<()> {
        if self.cut.load(Ordering::SeqCst) || self.all_cut.load(Ordering::SeqCst) {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        Ok(())
    }
}

impl Listener for Wire {
    type Io = Line;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Line, SocketAddr) {
        let (stream, address) = Listener::accept(&mut self.listener).await;
        // Pieces of an answer leave as they are written. Failing to say so only merges them.
        let _ = stream.set_nodelay(true);
        (Line { stream, cut: Arc::default(), all_cut: Arc::clone(&self.all_cut) }, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

impl Connected<IncomingStream<'_, Wire>> for Peer {
    fn connect_info(stream: IncomingStream<'_, Wire>) -> Peer {
        Peer::new(*stream.remote_addr(), Arc::clone(&stream.io().cut))
    }
}

impl AsyncRead for Line {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Line {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
