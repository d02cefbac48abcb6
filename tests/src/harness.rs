//! A whole service in this process: its own directory, its own database on either engine, a free loopback port, and the people and devices a test needs. Ends everything it began.

mod browser;
mod clock;
mod database;
mod device;
pub mod raw;
pub mod sealing;

pub use browser::Browser;
pub use clock::TestClock;
pub use database::{Database, Engine};
pub use device::{Answer, Device, Request};

use crate::public_client::PublicClient;
use broker::{Config, Service};
use contract::{
    AuditEvent,
    audit::{Actor, AuditLog},
    device::SessionClass,
    ids::{UserId, WorkspaceId},
    workspace::WorkspaceKind,
};
use sign::{Secret, TokenKey, token::TokenKind};
use std::{path::Path, sync::Arc};
use store::{NewWorkspace, Store, StoreError, TokenMac};
use tempfile::TempDir;

/// A running service and everything around it.
pub struct World {
    service: Service,
    /// The service's clock, which a test may move.
    pub clock: Arc<TestClock>,
    /// Its database, seen from outside.
    pub database: Database,
    state: TempDir,
}

/// Somebody who has an account.
#[derive(Debug, Clone)]
pub struct Person {
    /// Their id.
    pub user_id: UserId,
    /// Their personal workspace.
    pub workspace_id: WorkspaceId,
}

impl World {
    /// Starts a service on a free loopback port; `None` where this machine has no server of that engine.
    pub async fn start(engine: Engine) -> Option<Self> {
        let state = tempfile::tempdir().expect("a directory");
        let database = Database::make(engine, state.path()).await?;
        let config = Config { database: database.config(), ..Config::in_directory(state.path()) };
        let clock = Arc::new(TestClock::default());
        let service = Service::start(config, Arc::<TestClock>::clone(&clock)).await.expect("the service starts");
        Some(Self { service, clock, database, state })
    }

    /// `http://127.0.0.1:port`
    #[must_use]
    pub fn base_url(&self) -> &str {
        self.service.origin()
    }

    /// `127.0.0.1:port`
    #[must_use]
    pub fn authority(&self) -> &str {
        self.base_url().trim_start_matches("http://")
    }

    /// The service's own store.
    #[must_use]
    pub fn store(&self) -> &Store {
        self.service.store()
    }

    /// The running service.
    #[must_use]
    pub const fn service(&self) -> &Service {
        &self.service
    }

    /// Its state directory.
    #[must_use]
    pub fn state_dir(&self) -> &Path {
        self.state.path()
    }

    /// Ends the service. The directory and the database stay until the returned guards are dropped.
    pub async fn stop(self) -> (TempDir, Database) {
        self.service.shutdown().await;
        (self.state, self.database)
    }

    /// Signs a browser in as the owner, by the owner link, as a person does.
    pub async fn sign_in_owner(&self) -> Browser {
        let path = {
            let link = self.service.make_owner_link();
            // EXPOSE: to the browser that follows it.
            link.await.expect("an owner link").with(|url| url.trim_start_matches(self.base_url()).to_owned())
        };
        let mut browser = Browser::new(self.base_url());
        browser.follow_owner_link(&path).await;
        browser
    }

    /// The owner.
    pub async fn owner(&self) -> Person {
        let found: Result<_, StoreError> = self
            .store()
            .read("find_owner", |mut tx| async move {
                let owner_id = tx.find_deployment().await?.expect("made at the first start").owner_id;
                let workspaces = tx.list_workspaces(&owner_id).await?;
                Ok(Person {
                    workspace_id: workspaces.first().expect("a personal workspace").id.clone(),
                    user_id: owner_id,
                })
            })
            .await;
        found.expect("the owner is there")
    }

    /// Makes another person with a personal workspace. The product has no way to do this yet.
    pub async fn make_person(&self, number: u8) -> Person {
        let person = &Person {
            user_id: UserId::from_random([number; 16]),
            workspace_id: WorkspaceId::from_random([number; 16]),
        };
        let (name, now_ms) = (&format!("Person {number}"), self.clock.now());
        let made: Result<(), StoreError> = self
            .store()
            .run("make_person", |mut tx| async move {
                let Person { user_id, workspace_id } = person.clone();
                tx.insert_user(&user_id, name, now_ms).await?;
                let home = NewWorkspace {
                    id: &workspace_id,
                    name: "Personal",
                    kind: WorkspaceKind::Personal,
                    owner_id: &user_id,
                };
                tx.insert_workspace(home, now_ms).await?;
                let event = AuditEvent::WorkspaceCreated {
                    workspace_id: workspace_id.clone(),
                    workspace_kind: WorkspaceKind::Personal,
                    user_id,
                };
                tx.commit_with(event.entry(AuditLog::Workspace(workspace_id), Actor::Operator, now_ms), ()).await
            })
            .await;
        made.expect("a person");
        person.clone()
    }

    /// Signs a browser in as anybody, by a session of the store. Only the owner has a link.
    pub async fn sign_in_as(&self, person: &Person) -> Browser {
        let cookie = format!(
            "{}{}",
            TokenKind::BrowserSession.prefix(),
            crate::public_client::b64u(crate::public_client::random::<32>())
        );
        let mac = &TokenMac::new(*self.token_key().mac(TokenKind::BrowserSession, &cookie).as_bytes());
        let (user_id, now_ms) = (&person.user_id, self.clock.now());
        let opened: Result<(), StoreError> = self
            .store()
            .run("sign_in_as", |mut tx| async move {
                let expires_at_ms = tx.insert_browser_session(mac, user_id, now_ms).await?;
                let log = AuditLog::Deployment(tx.find_deployment().await?.expect("made at the first start").id);
                let event = AuditEvent::BrowserSessionOpened { user_id: user_id.clone(), expires_at_ms };
                tx.commit_with(event.entry(log, Actor::Operator, now_ms), ()).await
            })
            .await;
        opened.expect("a browser session");
        Browser::with_cookie(self.base_url(), &cookie)
    }

    /// Pairs one of our devices: rotating tokens.
    pub async fn pair_device(&self, browser: &Browser, name: &str) -> Device {
        Device::pair(self, browser, name, SessionClass::Rotating).await
    }

    /// Pairs a device of the public client's class that knows more than the public client does.
    pub async fn pair_sliding(&self, browser: &Browser, name: &str) -> Device {
        Device::pair(self, browser, name, SessionClass::Sliding).await
    }

    /// Pairs the public client: a sliding session.
    pub async fn pair_public(&self, browser: &Browser, client: &mut PublicClient, name: &str) {
        let pairing = client.start_login(name).await.expect("the pairing starts");
        browser.approve(&pairing.user_code).await;
        client.poll_login(&pairing).await.expect("approved");
    }

    /// The service's key for stored tokens, from its own file: what the service has and a thief of the database has not.
    fn token_key(&self) -> TokenKey {
        let bytes = std::fs::read(self.state_dir().join("keys").join("token.key")).expect("the key file");
        TokenKey::new(Secret::new(bytes.try_into().expect("32 bytes")))
    }
}

/// Writes one test for each engine: `name::sqlite` and `name::postgres`. The body gets a [`World`].
#[macro_export]
macro_rules! on_both_engines {
    ($(async fn $name:ident($world:ident: World) $body:block)+) => {$(
        mod $name {
            use super::*;

            async fn test($world: $crate::harness::World) $body

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn sqlite() {
                let world = $crate::harness::World::start($crate::harness::Engine::Sqlite).await.expect("SQLite is always there");
                test(world).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn postgres() {
                let Some(world) = $crate::harness::World::start($crate::harness::Engine::Postgres).await else { return };
                test(world).await;
            }
        }
    )+};
}
