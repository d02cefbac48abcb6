//! A lab, a client for it, and a person who consents. Never a server of its own kind.

use collie_lab::{Credential, Lab, LabConfig, OAuthSwitches};
use collie_upstream::oauth::{
    Application, AuthorizationRequest, AuthorizationServer, Callback, Challenge, Client, Consent, GrantedCode, Moment,
    Offline, ProtectedResource, RegistrationRequest, Seeds, Tokens, Transaction, begin_authorization, exchange_code,
    find_resource, find_server, register,
};
use collie_upstream::{Auth, Upstream, UpstreamError};
use egress::{Development, Egress, Settings};
use sign::Secret;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

pub(crate) const REDIRECT: &str = "http://127.0.0.1:53682/callback";
pub(crate) const NOW: u64 = 1_800_000_000;

pub(crate) async fn lab(switches: impl FnOnce(&mut OAuthSwitches)) -> Lab {
    let mut config = LabConfig { credential: Credential::OAuth, ..LabConfig::default() };
    switches(&mut config.switches.oauth);
    Lab::start(config).await.expect("a free loopback port")
}

pub(crate) fn egress() -> Egress {
    Egress::new(Settings { development: Development::AllowLoopback, ..Settings::default() })
}

pub(crate) fn moment() -> Moment {
    Moment { now_s: NOW, random: [9; 16] }
}

pub(crate) fn scopes(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

/// What the resource says to a stranger.
pub(crate) async fn challenge(lab: &Lab) -> Challenge {
    let destination = egress().foreign(&lab.mcp_url()).expect("a loopback URL");
    let mut upstream = Upstream::new(destination, Auth::None, None).expect("no credential");
    match upstream.fetch_manifest().await {
        Err(UpstreamError::Unauthorized { challenge: Some(text) }) => {
            Challenge::parse(&text).expect("readable").expect("a Bearer challenge")
        }
        other => panic!("no challenge: {:?}", other.err()),
    }
}

pub(crate) async fn resource(lab: &Lab) -> ProtectedResource {
    find_resource(&egress(), &lab.mcp_url(), Some(&challenge(lab).await)).await.expect("a resource")
}

/// Everything that a sign-in needs.
pub(crate) struct Found {
    pub(crate) resource: ProtectedResource,
    pub(crate) server: AuthorizationServer,
    pub(crate) client: Client,
}

pub(crate) async fn found(lab: &Lab) -> Found {
    let resource = resource(lab).await;
    let server = find_server(&egress(), &resource.issuers()[0]).await.expect("a server");
    let asked = RegistrationRequest {
        client_name: "Collie",
        redirect_uri: REDIRECT,
        application: Application::Native,
        scopes: &[],
    };
    let client = register(&egress(), &server, asked).await.map(|made| made.client).expect("a client");
    Found { resource, server, client }
}

impl Found {
    pub(crate) fn begin(&self, wanted: &[String], seed: u8) -> (String, Transaction) {
        let asked = AuthorizationRequest {
            redirect_uri: REDIRECT,
            scopes: wanted,
            offline: Offline::WhereOffered,
            consent: Consent::AsServerDecides,
        };
        let seeds = Seeds { state: Secret::new([seed; 32]), verifier: Secret::new([seed ^ 0xff; 32]) };
        begin_authorization(&self.server, &self.resource, &self.client, asked, seeds, NOW).expect("a request")
    }

    pub(crate) async fn code(&self) -> GrantedCode {
        let (url, transaction) = self.begin(&scopes(collie_lab::SCOPE_READ), 1);
        let callback = Callback::parse(&visit(&url).await).expect("readable");
        transaction.accept(callback, NOW + 1).expect("a code")
    }

    pub(crate) async fn sign_in(&self) -> Tokens {
        exchange_code(&egress(), &self.server, &self.client, self.code().await, moment()).await.expect("tokens")
    }
}

/// A browser that follows nothing; gives the query that it would bring back.
pub(crate) async fn visit(url: &str) -> String {
    let rest = url.strip_prefix("http://").expect("loopback");
    let (host, path) = rest.split_at(rest.find('/').expect("a path"));
    let mut stream = TcpStream::connect(host).await.expect("a server");
    let request = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("sent");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.expect("read");
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let location = answer.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("location").then(|| value.trim().to_owned())
    });
    let location = location.unwrap_or_else(|| panic!("no redirect: {answer}"));
    location.split_once('?').expect("a query").1.to_owned()
}
