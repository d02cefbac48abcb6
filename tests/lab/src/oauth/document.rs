//! Documents that describe a client, read from where the test says that their host is. Never reads anything but loopback.

use super::client::Client;
use super::desk::Desk;
use super::switches::{ClientAuth, OAuthSwitches};
use crate::limits;
use serde_json::Value;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// How long a document may take, in seconds.
const PATIENCE_S: u64 = 5;

/// Reads the document behind a client id that is an address, and remembers the client if it is good.
pub(crate) async fn learn(desk: &Desk, client_id: Option<&str>) {
    let switches = desk.shared.switches().oauth;
    let Some(client_id) = client_id.filter(|id| switches.client_documents && id.starts_with("https://")) else {
        return;
    };
    let reading = tokio::time::timeout(Duration::from_secs(PATIENCE_S), read(&switches, client_id));
    let client = reading.await.ok().flatten().and_then(|bytes| understand(&bytes, client_id));
    desk.shared.put_client(desk.site, client_id, client);
}

async fn read(switches: &OAuthSwitches, client_id: &str) -> Option<Vec<u8>> {
    let url = url::Url::parse(client_id).ok()?;
    let route = switches.document_routes.get(&url.origin().ascii_serialization())?;
    let address: SocketAddr = route.parse().ok().filter(|address: &SocketAddr| address.ip().is_loopback())?;
    let host = &url[url::Position::BeforeHost..url::Position::AfterPort];
    let target = &url[url::Position::BeforePath..url::Position::AfterQuery];
    let head =
        format!("GET {target} HTTP/1.0\r\nhost: {host}\r\naccept: application/json\r\nconnection: close\r\n\r\n");
    let mut stream = TcpStream::connect(address).await.ok()?;
    stream.write_all(head.as_bytes()).await.ok()?;
    let mut raw = Vec::new();
    stream.take(limits::DOCUMENT_BYTES_MAX).read_to_end(&mut raw).await.ok()?;
    let end = raw.windows(4).position(|window| window == b"\r\n\r\n")?;
    let status = str::from_utf8(raw.get(..end)?).ok()?.split(' ').nth(1)?;
    (status == "200").then(|| raw.split_off(end + 4))
}

/// The client that a document describes; none if it is about another one.
fn understand(bytes: &[u8], client_id: &str) -> Option<Client> {
    let document: Value = serde_json::from_slice(bytes).ok()?;
    if document.get("client_id")?.as_str()? != client_id || document.get("client_secret").is_some() {
        return None;
    }
    let auth = match document.get("token_endpoint_auth_method").and_then(Value::as_str) {
        None | Some("none") => ClientAuth::None,
        Some("private_key_jwt") => ClientAuth::Assertion,
        Some(_) => return None,
    };
    let uris = document.get("redirect_uris")?.as_array()?;
    let redirect_uris = uris.iter().map(|uri| uri.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()?;
    let jwks = document.get("jwks").cloned().unwrap_or_default();
    Some(Client { auth, secret: None, redirect_uris, jwks, management: None, metadata: document })
}
