//! Starting, steering and stopping a lab. Never outlives the value that started it.

use crate::credential::Credential;
use crate::fault::FaultRule;
use crate::oauth::{self, Addresses, Desk, Site};
use crate::seen::{Counts, Seen};
use crate::state::{Behaviour, Command, CommandError, Shared, make_token};
use crate::switches::Switches;
use crate::wire::{Peer, Wire};
use crate::{control, limits, mcp};
use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{any, get, post};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// How a lab starts.
#[derive(Clone, Debug)]
pub struct LabConfig {
    /// Address of the MCP endpoint; port 0 takes a free one.
    pub listen: SocketAddr,
    /// What callers must present.
    pub credential: Credential,
    /// Behaviour at the start, and after [`Command::Reset`].
    pub switches: Switches,
}

impl Default for LabConfig {
    /// A free loopback port, no credential, no fault.
    fn default() -> LabConfig {
        LabConfig {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            credential: Credential::None,
            switches: Switches::default(),
        }
    }
}

/// A running lab; dropping it ends it and all its connections.
pub struct Lab {
    address: SocketAddr,
    shared: Arc<Shared>,
    all_cut: Arc<AtomicBool>,
    tasks: Vec<JoinHandle<()>>,
}

impl Lab {
    /// Starts a lab on the current runtime. It answers as soon as this returns.
    ///
    /// # Errors
    /// The address cannot be listened on.
    pub async fn start(config: LabConfig) -> io::Result<Lab> {
        let listener = TcpListener::bind(config.listen).await?;
        let other = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let other_url = format!("http://{}", other.local_addr()?);
        let is_oauth = matches!(config.credential, Credential::OAuth);
        let mut shared = Shared::new(config.credential, make_token(), other_url, config.switches);
        let mut servers = Vec::new();
        shared.addresses.resource = format!("http://{address}");
        if is_oauth {
            for site in [Site::First, Site::Second] {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
                let origin = format!("http://{}", listener.local_addr()?);
                match site {
                    Site::Second => shared.addresses.second = origin,
                    Site::First | Site::Resource => shared.addresses.first = origin,
                }
                servers.push((listener, site));
            }
        }
        let shared = Arc::new(shared);
        let all_cut = Arc::<AtomicBool>::default();
        let serve = |listener, routes: Router| {
            let wire = Wire { listener, all_cut: Arc::clone(&all_cut) };
            let service = routes.into_make_service_with_connect_info::<Peer>();
            tokio::spawn(async move {
                // Serving ends with the task; accepting errors are retried inside.
                let _ = axum::serve(wire, service).await;
            })
        };
        let desk = |site| Desk { shared: Arc::clone(&shared), site };
        let mut own = routes(&shared);
        if is_oauth {
            own = own.merge(oauth::routes(desk(Site::Resource)));
        }
        let mut tasks = vec![serve(listener, own), serve(other, other_routes(&shared))];
        for (listener, site) in servers {
            tasks.push(serve(listener, bounded(oauth::routes(desk(site)))));
        }
        Ok(Lab { address, shared, all_cut, tasks })
    }

    /// Address of the MCP endpoint.
    #[must_use]
    pub fn mcp_url(&self) -> String {
        self.url(mcp::PATH)
    }

    /// Address of the same endpoint as a second resource, with tokens of its own.
    #[must_use]
    pub fn mcp_b_url(&self) -> String {
        self.url(mcp::PATH_B)
    }

    /// Issuer of the first authorization server, as it is now; only with [`Credential::OAuth`].
    #[must_use]
    pub fn issuer(&self) -> String {
        self.shared.issuer(Site::First)
    }

    /// Issuer of the second authorization server, as it is now; only with [`Credential::OAuth`].
    #[must_use]
    pub fn second_issuer(&self) -> String {
        self.shared.issuer(Site::Second)
    }

    /// Origins of the authorization servers' own listeners, the first and the second; empty without OAuth.
    #[must_use]
    pub fn server_urls(&self) -> [&str; 2] {
        let Addresses { first, second, .. } = &self.shared.addresses;
        [first, second]
    }

    /// Address that takes commands.
    #[must_use]
    pub fn control_url(&self) -> String {
        self.url("/control")
    }

    /// Address that shows what was seen.
    #[must_use]
    pub fn seen_url(&self) -> String {
        self.url("/seen")
    }

    /// Address of the other host, which records whatever comes to it.
    #[must_use]
    pub fn other_url(&self) -> &str {
        &self.shared.other_url
    }

    /// The bearer token of the lab's own endpoints.
    #[must_use]
    pub fn control_token(&self) -> &str {
        &self.shared.control_token
    }

    /// Where the lab listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Follows one command.
    ///
    /// # Errors
    /// The command is not followed at all if a part of it is not valid.
    pub fn control(&self, command: Command) -> Result<Behaviour, CommandError> {
        self.shared.control(command)
    }

    /// Changes lasting behaviour.
    pub fn switch(&self, change: impl FnOnce(&mut Switches)) {
        self.shared.switch(change);
    }

    /// Arms a fault.
    ///
    /// # Errors
    /// The fault passes one of the lab's own maxima.
    pub fn fault(&self, rule: FaultRule) -> Result<(), CommandError> {
        self.shared.control(Command::Fault(rule)).map(drop)
    }

    /// How often things happened.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.shared.seen().counts
    }

    /// All that was seen.
    #[must_use]
    pub fn seen(&self) -> Seen {
        self.shared.seen()
    }

    /// Waits until what was seen satisfies `wanted`, without polling.
    pub async fn wait_until(&self, wanted: impl Fn(&Seen) -> bool) {
        self.shared.wait_until(wanted).await;
    }

    /// Ends the lab and waits until its port is free.
    pub async fn stop(mut self) {
        self.end();
        for task in self.tasks.drain(..) {
            // It was cancelled, which is what it reports.
            let _ = task.await;
        }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn end(&self) {
        self.all_cut.store(true, Ordering::SeqCst);
        for task in &self.tasks {
            task.abort();
        }
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        self.end();
    }
}

fn routes(shared: &Arc<Shared>) -> Router {
    Router::new()
        .route(mcp::PATH, any(mcp::serve))
        .route(mcp::PATH_B, any(mcp::serve))
        .route("/control", post(control::control))
        .route("/seen", get(control::seen))
        .fallback(control::same_host_stray)
        .layer(DefaultBodyLimit::max(limits::REQUEST_BYTES_MAX))
        .with_state(Arc::clone(shared))
}

fn bounded(routes: Router) -> Router {
    routes.layer(DefaultBodyLimit::max(limits::REQUEST_BYTES_MAX))
}

fn other_routes(shared: &Arc<Shared>) -> Router {
    Router::new()
        .fallback(control::other_host_stray)
        .layer(DefaultBodyLimit::max(limits::REQUEST_BYTES_MAX))
        .with_state(Arc::clone(shared))
}
