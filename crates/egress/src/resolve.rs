//! From a host name to addresses. Never judges them: the connector checks each one and connects to a checked one only.

use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;

/// The answer of a [`Resolver`], on its way.
pub type Resolving = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// Turns a host name into addresses. IP literals never come here.
pub trait Resolver: Send + Sync {
    /// The addresses of `host`, in the order in which they are to be tried.
    fn resolve(&self, host: &str) -> Resolving;
}

/// The system's resolver.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

impl Resolver for SystemResolver {
    fn resolve(&self, host: &str) -> Resolving {
        let host = host.to_owned();
        Box::pin(
            async move { Ok(tokio::net::lookup_host((host.as_str(), 0)).await?.map(|address| address.ip()).collect()) },
        )
    }
}
