//! A service, a lab that asks for a token, and laptops that share and call. Command lines go through the client's own grammar.

use client::app::App;
use client::cli::{self, Command, Invocation, Online};
use client::commands::{self, connection_review, share_mcp};
use client::error::CliError;
use client::output::Outcome;
use client::sign_in::Person;
use collie_lab::{Credential as LabCredential, Lab, LabConfig, Switches};
use collie_tests::harness::{Browser, Engine, World};
use contract::Json;
use contract::problem::Exit;
use seal::Credential;
use sign::Secret;
use std::ffi::OsString;
use tempfile::TempDir;

/// The token that the lab asks for.
pub(crate) const TOKEN: &str = "s3cr3t/with+odd=chars~and-length";

pub(crate) struct Scene {
    pub(crate) world: World,
    pub(crate) browser: Browser,
    pub(crate) lab: Lab,
}

impl Scene {
    pub(crate) async fn start() -> Self {
        let world = World::start(Engine::Sqlite).await.expect("SQLite is always there");
        let browser = world.sign_in_owner().await;
        Self { browser, lab: lab(Switches::default()).await, world }
    }

    /// A laptop of the owner.
    pub(crate) async fn laptop(&self, name: &str) -> Laptop {
        let laptop = Laptop { root: tempfile::tempdir().expect("a folder"), server: self.world.base_url().to_owned() };
        let waiting =
            laptop.run(&["login", "--no-browser", "--no-wait", "--device-name", name]).await.expect_err("waits");
        let code = waiting.details.find_str("user_code").expect("a code").to_owned();
        self.browser.approve(&code).await;
        laptop.run(&["login", "--no-browser"]).await.expect("connected");
        laptop
    }

    /// A second laptop that has the first one's sealing key.
    pub(crate) async fn second(&self, first: &Laptop) -> Laptop {
        let second = self.laptop("second").await;
        let key = first.folder().find_sealing_key().expect("reads").expect("a key");
        let _ = second.folder().store_sealing_key(&key).expect("stores");
        second
    }
}

pub(crate) async fn lab(switches: Switches) -> Lab {
    let credential = LabCredential::Bearer(TOKEN.to_owned());
    Lab::start(LabConfig { credential, switches, ..LabConfig::default() }).await.expect("a lab")
}

pub(crate) struct Laptop {
    pub(crate) root: TempDir,
    server: String,
}

impl Laptop {
    pub(crate) fn online(&self, arguments: &[&str]) -> Online {
        let root = self.root.path().to_str().expect("a plain path");
        let global = ["--state-dir", root, "--server", self.server.as_str(), "--json", "--development-allow-loopback"];
        let line = ["collie", "online"].iter().chain(&global).chain(arguments).map(OsString::from).collect::<Vec<_>>();
        match cli::parse(&line) {
            Invocation::Run(online) => *online,
            Invocation::Print(text) => panic!("{text}"),
            Invocation::Refuse { error, .. } => panic!("{error}"),
        }
    }

    pub(crate) fn app(&self) -> App {
        App::new(self.online(&["connections"]).global).expect("a context")
    }

    pub(crate) fn folder(&self) -> client::state::ServiceDir {
        self.app().state.service(&self.server)
    }

    /// Runs `collie online <arguments>`.
    pub(crate) async fn run(&self, arguments: &[&str]) -> Result<Outcome, CliError> {
        Box::pin(commands::run(self.online(arguments))).await
    }

    /// Shares a server with the lab's token, as `--bearer-stdin` reads it.
    pub(crate) async fn share(&self, name: &str, url: &str, flags: &[&str]) -> Result<Outcome, CliError> {
        self.share_with(name, url, flags, TOKEN).await
    }

    pub(crate) async fn share_with(
        &self,
        name: &str,
        url: &str,
        flags: &[&str],
        token: &str,
    ) -> Result<Outcome, CliError> {
        let line = [&["share-mcp", name, "--url", url, "--bearer-stdin"], flags].concat();
        let online = self.online(&line);
        let Some(Command::ShareMcp(args)) = online.command else { panic!("another command") };
        let app = App::new(online.global).expect("a context");
        Box::pin(share_mcp::share(&app, &args, || Ok(bearer(token)), &Person)).await
    }

    /// Reviews again, with another token where one is given.
    pub(crate) async fn review(&self, id: &str, flags: &[&str], token: Option<&str>) -> Result<Outcome, CliError> {
        let secret: &[&str] = if token.is_some() { &["--bearer-stdin"] } else { &[] };
        let online = self.online(&[&["connection-review", id], secret, flags].concat());
        let Some(Command::ConnectionReview(args)) = online.command else { panic!("another command") };
        let app = App::new(online.global).expect("a context");
        Box::pin(connection_review::review(&app, &args, || Ok(bearer(token.unwrap_or_default())), &Person)).await
    }

    /// Shares the lab with decisions for its reading tools, and returns the connection's id.
    pub(crate) async fn shared(&self, lab: &Lab) -> String {
        let outcome = self.share("notes", &lab.mcp_url(), DECISIONS).await.expect("shared");
        outcome.data.pointer("/connection/id").and_then(Json::as_str).expect("an id").to_owned()
    }

    pub(crate) async fn invoke(&self, id: &str, tool: &str, flags: &[&str]) -> Result<Outcome, CliError> {
        self.run(&[&["invoke", id, tool], flags].concat()).await
    }

    pub(crate) async fn db(&self) -> client::db::Db {
        client::db::Db::open(&self.folder().database()).await.expect("a database")
    }
}

/// What a person decides about the lab's tools: reading reads, saving can be undone, the rest asks.
pub(crate) const DECISIONS: &[&str] =
    &["--effect", "list_notes=observe", "--effect", "read_note=observe", "--effect", "save_note=act", "--yes"];

/// A call that leaves a mark.
pub(crate) const SEND: &[&str] = &["--arg", "to=ada@example.test", "--arg", "text=hello"];

pub(crate) fn send(more: &[&'static str]) -> Vec<&'static str> {
    [SEND, more].concat()
}

fn bearer(token: &str) -> Credential {
    Credential::static_bearer(&Secret::new(token.to_owned())).expect("a token")
}

/// Checks a refusal: its code, its exit, and that it says what to do.
pub(crate) fn expect_refused(result: Result<Outcome, CliError>, code: contract::Code, exit: Exit) -> CliError {
    let error = result.expect_err("refused");
    assert_eq!((error.code, error.code.exit()), (code, exit), "{error:?}");
    assert!(error.hint.as_ref().is_some_and(|hint| !hint.is_empty()), "what to do is missing: {error:?}");
    error
}
