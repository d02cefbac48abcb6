//! One running service: opened from its settings, serving until it is told to end. Prints nothing and reads neither arguments nor environment; that is the command's part.

use crate::{
    app::{App, Parts},
    config::{Config, ConfigError},
    door::Clock,
    http::{Limiters, router},
    jobs, keys,
    keys::KeyFileError,
    listen::{self, Listening},
    ops::{
        first_start::{self, FirstStartError},
        owner_link::{self, OwnerLinkError},
    },
    origin::Origin,
    private_files,
    tls::{self, Fingerprint, TlsError},
    vault_start::{self, VaultStartError},
};
use sign::Secret;
use std::{io, net::SocketAddr, path::PathBuf, sync::Arc};
use store::{Deployment, KeyStore, Store, StoreError};
use tokio::{net::TcpListener, sync::watch, task::JoinHandle};
use tokio_rustls::TlsAcceptor;

/// Why the service did not start. Each sentence says what to do where something can be done.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The settings do not fit together.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The state directory cannot be made or written.
    #[error("cannot use the state directory `{path}`: {source}; set `state_dir`")]
    StateDir {
        /// Its path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The token key.
    #[error(transparent)]
    Key(#[from] KeyFileError),
    /// The certificate.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The database.
    #[error("the database cannot be used: {0}")]
    Store(#[from] StoreError),
    /// The installation could not be made.
    #[error(transparent)]
    FirstStart(#[from] FirstStartError),
    /// The owner link could not be made.
    #[error(transparent)]
    OwnerLink(#[from] OwnerLinkError),
    /// The vault.
    #[error("the vault cannot be opened: {0}")]
    Vault(#[from] VaultStartError),
    /// The address is taken or not ours.
    #[error("cannot listen on {listen}: {source}; set `listen`")]
    Listen {
        /// The address.
        listen: SocketAddr,
        /// Why.
        source: io::Error,
    },
}

/// Where a service that answers can be found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ready {
    /// The origin that people and devices use.
    pub origin: Origin,
    /// The address it listens on.
    pub listen: SocketAddr,
    /// Of its own certificate, when the service speaks TLS itself.
    pub fingerprint: Option<Fingerprint>,
}

/// A running service.
pub struct Service {
    app: App,
    ready: Ready,
    deployment: Deployment,
    owner_link: Option<Secret<String>>,
    key_store: Option<KeyStore>,
    ending: watch::Sender<bool>,
    listening: JoinHandle<()>,
    housekeeping: JoinHandle<()>,
}

/// What every command that touches the state opens first.
pub(crate) struct State {
    pub(crate) store: Store,
    pub(crate) token_key: sign::TokenKey,
    pub(crate) deployment: Deployment,
}

/// Opens state directory, key and database, and makes what the first start makes.
pub(crate) async fn open_state(config: &Config, clock: &dyn Clock) -> Result<State, StartError> {
    private_files::make_directory(&config.state_dir)
        .map_err(|source| StartError::StateDir { path: config.state_dir.clone(), source })?;
    let token_key = keys::open_or_make(&config.state_dir)?;
    let store = Store::open(config.database.clone()).await?;
    let deployment = first_start::ensure_deployment(&store, clock.now_ms()).await?;
    Ok(State { store, token_key, deployment })
}

impl Service {
    /// Starts a service. Must be called inside a tokio runtime. When nobody was ever signed in, it has an owner link.
    pub async fn start(config: Config, clock: Arc<dyn Clock>) -> Result<Self, StartError> {
        let exposure = config.exposure()?;
        let State { store, token_key, deployment } = open_state(&config, &*clock).await?;
        let vault = match &config.vault {
            Some(settings) => {
                Some(vault_start::start(settings, &config.database, &store, &deployment.id, clock.now_ms()).await?)
            }
            None => None,
        };
        let (vault, key_store) = vault.map(|started| (started.vault, started.key_store)).unzip();
        let failed = |source| StartError::Listen { listen: config.listen, source };
        let listener = TcpListener::bind(config.listen).await.map_err(failed)?;
        let listen = listener.local_addr().map_err(failed)?;
        let origin = config.origin(listen)?;
        remember_origin(&config, &origin)?;
        let own_tls = tls::open(&config.tls, &config.state_dir, &origin)?;
        let ready = Ready { origin: origin.clone(), listen, fingerprint: own_tls.as_ref().map(|own| own.fingerprint) };

        let proxy_trusted = config.proxy_trusted.clone();
        let deployment_id = deployment.id.clone();
        let app = App::new(Parts { store, clock, token_key, config, origin, deployment_id, vault });
        if let Some(reason) = app.sealed() {
            tracing::error!(code = "vault.sealed", cause = %reason, "the service is sealed");
        }
        let owner_link = if first_start::was_signed_in(app.store(), &deployment).await? {
            None
        } else {
            Some(make_owner_link(&app, &deployment).await?)
        };
        let limiters = Limiters::new();
        let (ending, ended) = watch::channel(false);
        let tls = own_tls.map(|own| TlsAcceptor::from(own.config));
        let router = router(&app, &limiters);
        let listening =
            tokio::spawn(listen::serve(Listening { listener, exposure, tls, proxy_trusted, router }, ended.clone()));
        let housekeeping = tokio::spawn(jobs::run(app.clone(), limiters, ended));
        Ok(Self { app, ready, deployment, owner_link, key_store, ending, listening, housekeeping })
    }

    /// Where it can be found.
    #[must_use]
    pub const fn ready(&self) -> &Ready {
        &self.ready
    }

    /// The origin that people and devices use.
    #[must_use]
    pub fn origin(&self) -> &str {
        self.ready.origin.as_str()
    }

    /// The database, for the test harness and for whoever runs the service in process.
    #[must_use]
    pub fn store(&self) -> &Store {
        self.app.store()
    }

    /// The owner link of this start, once; none when somebody was signed in before.
    pub fn take_owner_link(&mut self) -> Option<Secret<String>> {
        self.owner_link.take()
    }

    /// Another owner link; an earlier one is void from now on.
    pub async fn make_owner_link(&self) -> Result<Secret<String>, OwnerLinkError> {
        make_owner_link(&self.app, &self.deployment).await
    }

    /// Forgets what has expired, now instead of at the next round.
    pub async fn sweep(&self) -> Result<(), StoreError> {
        jobs::sweep(&self.app).await
    }

    /// Ends: no new connections, running requests finish within their maximum, the database is closed.
    pub async fn shutdown(self) {
        self.app.begin_draining();
        let _ = self.ending.send(true);
        // A task that panicked has nothing more to finish.
        let _ = self.listening.await;
        let _ = self.housekeeping.await;
        self.app.seal();
        if let Some(key_store) = &self.key_store {
            key_store.close().await;
        }
        self.app.store().close().await;
    }
}

async fn make_owner_link(app: &App, deployment: &Deployment) -> Result<Secret<String>, OwnerLinkError> {
    let token = owner_link::issue_owner_link(app.store(), app.token_key(), deployment, app.now_ms()).await?;
    Ok(owner_url(app.origin(), &token))
}

/// The link of a token.
pub(crate) fn owner_url(origin: &Origin, token: &Secret<String>) -> Secret<String> {
    // EXPOSE: to the link's text, which is a secret itself.
    token.with(|token| Secret::new(format!("{origin}/owner/{token}")))
}

/// `admin owner-link` runs beside the service and must know where it is, also on a free port.
fn remember_origin(config: &Config, origin: &Origin) -> Result<(), StartError> {
    let path = origin_path(config);
    private_files::put(&path, origin.as_str().as_bytes()).map_err(|source| StartError::StateDir { path, source })
}

/// Where the origin of the last start is remembered.
pub(crate) fn origin_path(config: &Config) -> PathBuf {
    config.state_dir.join("origin")
}

#[cfg(test)]
#[path = "service_tests.rs"]
mod tests;
