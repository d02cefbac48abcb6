//! A person's browser that consents at once, and a lab that asks for it. Never sees more than an address.

use super::scene::{DECISIONS, Laptop, Scene};
use client::app::App;
use client::cli::Command;
use client::commands::{connection_review, share_mcp};
use client::error::CliError;
use client::output::Outcome;
use client::sign_in::{HandOff, Open};
use collie_lab::{Credential as LabCredential, Lab, LabConfig, OAuthSwitches};
use contract::Json;
use seal::Credential;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Mutex;

pub(crate) async fn oauth_lab(switches: impl FnOnce(&mut OAuthSwitches)) -> Lab {
    let mut config = LabConfig { credential: LabCredential::OAuth, ..LabConfig::default() };
    switches(&mut config.switches.oauth);
    Lab::start(config).await.expect("a lab")
}

/// What a browser does with the address that it ends at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Goes there.
    Follows,
    /// Shows it to the person, who pastes it.
    Shows,
    /// Nobody touches it.
    Nobody,
}

pub(crate) struct Robot {
    way: Way,
    ended_at: Mutex<Option<String>>,
    shown: Mutex<Vec<String>>,
}

impl Robot {
    pub(crate) fn new(way: Way) -> Self {
        Self { way, ended_at: Mutex::default(), shown: Mutex::default() }
    }

    pub(crate) fn shown(&self) -> Vec<String> {
        self.shown.lock().expect("no panic").clone()
    }
}

impl HandOff for Robot {
    fn hand_over(&self, _: &App, url: &str, open: Open) -> Result<(), CliError> {
        self.shown.lock().expect("no panic").push(url.to_owned());
        let url = url.to_owned();
        match (self.way, open) {
            (Way::Nobody, _) => {}
            (Way::Follows, _) => {
                std::thread::spawn(move || {
                    if let Some(back) = location(&get(&url)) {
                        get(&back);
                    }
                });
            }
            (Way::Shows, _) => *self.ended_at.lock().expect("no panic") = location(&get(&url)),
        }
        Ok(())
    }

    fn pasted(&self) -> Result<String, CliError> {
        Ok(self.ended_at.lock().expect("no panic").clone().unwrap_or_default())
    }
}

fn get(url: &str) -> String {
    let rest = url.strip_prefix("http://").expect("loopback");
    let (host, path) = rest.split_at(rest.find('/').expect("a path"));
    let mut stream = TcpStream::connect(host).expect("a server");
    stream
        .write_all(format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").as_bytes())
        .expect("sent");
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    answer
}

fn location(answer: &str) -> Option<String> {
    answer.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("location").then(|| value.trim().to_owned())
    })
}

impl Laptop {
    /// `share-mcp` without a secret.
    pub(crate) async fn share_signing(&self, lab: &Lab, flags: &[&str], robot: &Robot) -> Result<Outcome, CliError> {
        let url = lab.mcp_url();
        let online = self.online(&[&["share-mcp", "notes", "--url", url.as_str()], flags].concat());
        let Some(Command::ShareMcp(args)) = online.command else { panic!("another command") };
        let app = App::new(online.global).expect("a context");
        Box::pin(share_mcp::share(&app, &args, || Ok(Credential::none()), robot)).await
    }

    /// `connection-review ID --sign-in`.
    pub(crate) async fn sign_in_again(&self, id: &str, robot: &Robot) -> Result<Outcome, CliError> {
        let online = self.online(&["connection-review", id, "--sign-in", "--yes"]);
        let Some(Command::ConnectionReview(args)) = online.command else { panic!("another command") };
        let app = App::new(online.global).expect("a context");
        Box::pin(connection_review::review(&app, &args, || Ok(Credential::none()), robot)).await
    }

    pub(crate) async fn shared_signing(&self, lab: &Lab) -> String {
        id_of(&self.share_signing(lab, DECISIONS, &Robot::new(Way::Follows)).await.expect("shared"))
    }

    /// Whether the connection list of the service is empty.
    pub(crate) async fn has_nothing(&self) -> bool {
        self.run(&["connections"]).await.expect("lists").data.pointer("/connections/0").is_none()
    }

    /// Names of what is kept on this device.
    pub(crate) async fn kept(&self) -> Vec<Vec<u8>> {
        std::fs::read(self.folder().database()).map(|bytes| vec![bytes]).unwrap_or_default()
    }
}

pub(crate) fn id_of(outcome: &Outcome) -> String {
    outcome.data.pointer("/connection/id").and_then(Json::as_str).expect("an id").to_owned()
}

/// A scene with a lab that asks people to sign in.
pub(crate) async fn scene(switches: impl FnOnce(&mut OAuthSwitches)) -> Scene {
    let mut scene = Scene::start().await;
    scene.lab = oauth_lab(switches).await;
    scene
}

/// Whether bytes hold a text.
pub(crate) fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}
