//! Our own driver of the public client's side of the wire: its requests, in its order, and its refusals. It shares no code with the product beyond nothing at all, so that agreement means something.

mod connections;
mod enrolment;
pub mod fake;
mod http;
mod keys;
mod pyjson;
mod refusal;
mod sync;
mod team;

pub use connections::{Connection, Shared, credential_scope};
pub use enrolment::Pairing;
pub use http::{BODY_BYTES_MAX, ENROLMENT_BYTES_MAX};
pub use keys::{DeviceKey, SealKey, b64u, digest, now, random};
pub use pyjson::Py;
pub use refusal::Refusal;
pub use sync::{Event, SyncReport};

use http::{Incoming, Outgoing};
use std::collections::BTreeMap;

/// What a login stores.
#[derive(Debug, Clone)]
pub struct Profile {
    /// The person.
    pub user_id: String,
    /// The session's workspace.
    pub workspace_id: String,
    /// This device.
    pub device_id: String,
    access_token: String,
    refresh_token: String,
}

/// One installation of the public client, with its files in memory.
pub struct PublicClient {
    authority: String,
    prefix: String,
    device: DeviceKey,
    seal: SealKey,
    profile: Option<Profile>,
    /// Cursor of each workspace.
    cursors: BTreeMap<String, i64>,
    /// The newest server version of each sync object.
    objects: BTreeMap<String, Event>,
    outbox: Vec<Py>,
    /// Rows and credentials of the last sync.
    connections: Vec<Connection>,
    credentials: BTreeMap<String, (Py, i64)>,
}

impl PublicClient {
    /// An installation that speaks to `http://host:port[/prefix]`, with keys of its own.
    #[must_use]
    pub fn new(base_url: &str) -> Self {
        Self::with_keys(base_url, &random(), random())
    }

    /// As [`PublicClient::new`], with given keys: a second device of a person imports the first one's sealing key.
    #[must_use]
    pub fn with_keys(base_url: &str, device_seed: &[u8; 32], seal_key: [u8; 32]) -> Self {
        let rest =
            base_url.trim_end_matches('/').strip_prefix("http://").expect("the driver speaks plain http on loopback");
        let (authority, prefix) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        Self {
            authority: authority.to_owned(),
            prefix: prefix.to_owned(),
            device: DeviceKey::from_seed(device_seed),
            seal: SealKey::from_bytes(seal_key),
            profile: None,
            cursors: BTreeMap::new(),
            objects: BTreeMap::new(),
            outbox: Vec::new(),
            connections: Vec::new(),
            credentials: BTreeMap::new(),
        }
    }

    /// What the login stored.
    pub fn profile(&self) -> Result<&Profile, Refusal> {
        self.profile.as_ref().ok_or(Refusal::NotConnected)
    }

    /// The device's public key, b64u.
    #[must_use]
    pub fn public_key(&self) -> String {
        self.device.public()
    }

    /// Takes a profile that a test made up, for a conversation with a fake service.
    pub fn adopt(&mut self, user_id: &str, workspace_id: &str, device_id: &str) {
        self.profile = Some(Profile {
            user_id: user_id.to_owned(),
            workspace_id: workspace_id.to_owned(),
            device_id: device_id.to_owned(),
            access_token: "access".to_owned(),
            refresh_token: "refresh".to_owned(),
        });
    }

    /// A signed call with the bearer token; the answer is an object.
    pub async fn call(&self, method: &str, target: &str, body: Option<&Py>) -> Result<Py, Refusal> {
        let token = &self.profile()?.access_token;
        self.signed(method, target, body, Some(token)).await
    }

    /// A signed call without bearer, as the refresh is.
    async fn signed(&self, method: &str, target: &str, body: Option<&Py>, token: Option<&str>) -> Result<Py, Refusal> {
        let text = body.map(Py::dumps);
        let bytes = text.as_deref().unwrap_or_default().as_bytes();
        let (timestamp, nonce) = (now(), b64u(random::<18>()));
        let mut headers = base_headers(text.is_some());
        headers.extend(token.map(|token| ("Authorization", format!("Bearer {token}"))));
        headers.push(("X-collie-device-signature", self.device.sign(method, target, bytes, timestamp, &nonce)));
        headers.push(("X-collie-device-nonce", nonce));
        headers.push(("X-collie-device-timestamp", timestamp.to_string()));
        let incoming = self.send(method, target, headers, text.as_deref(), BODY_BYTES_MAX).await?;
        object(incoming)
    }

    /// An enrolment call: neither bearer nor signature. The status is the caller's to judge.
    async fn unsigned(&self, target: &str, body: &Py) -> Result<Incoming, Refusal> {
        let text = body.dumps();
        self.send("POST", target, base_headers(true), Some(&text), ENROLMENT_BYTES_MAX).await
    }

    async fn send(
        &self,
        method: &str,
        target: &str,
        headers: Vec<(&str, String)>,
        body: Option<&str>,
        body_max: usize,
    ) -> Result<Incoming, Refusal> {
        let on_the_line = format!("{}{target}", self.prefix);
        let request = Outgoing { method, target: &on_the_line, headers, body: body.map(str::as_bytes) };
        http::exchange(&self.authority, request, body_max).await
    }
}

fn base_headers(with_body: bool) -> Vec<(&'static str, String)> {
    let mut headers = vec![("Accept", "application/json".to_owned()), ("User-agent", "collie-online/1".to_owned())];
    if with_body {
        headers.push(("Content-type", "application/json".to_owned()));
    }
    headers
}

/// 2xx with an object, or nothing at all, which counts as `{}`; everything else is a refusal.
fn object(incoming: Incoming) -> Result<Py, Refusal> {
    if !(200..300).contains(&incoming.status) {
        return Err(failure(&incoming));
    }
    if incoming.body.is_empty() {
        return Ok(Py::dict([]));
    }
    let text = std::str::from_utf8(&incoming.body).map_err(|_| Refusal::Unavailable("not JSON"))?;
    let value = Py::loads(text).ok_or(Refusal::Unavailable("not JSON"))?;
    value.as_dict().is_some().then_some(value).ok_or(Refusal::NotAnObject)
}

/// What the public client shows for a status outside 2xx: the body's `error`, of which it reads 64 KiB.
fn failure(incoming: &Incoming) -> Refusal {
    let read = incoming.body.get(..64 * 1024).unwrap_or(&incoming.body);
    let error = std::str::from_utf8(read)
        .ok()
        .and_then(Py::loads)
        .and_then(|body| body.find_str("error").map(str::to_owned))
        .unwrap_or_else(|| format!("Collie Online HTTP {}", incoming.status));
    if incoming.status == 401 {
        Refusal::AuthenticationRequired(error)
    } else {
        Refusal::Service { status: incoming.status, error }
    }
}

/// A key the client indexes.
fn index<'a>(value: &'a Py, key: &'static str) -> Result<&'a Py, Refusal> {
    value.find(key).ok_or(Refusal::MissingKey(key))
}

/// A string the client indexes and then slices, joins or prints.
fn text(value: &Py, key: &'static str) -> Result<String, Refusal> {
    index(value, key)?.as_str().map(str::to_owned).ok_or(Refusal::NotAString(key))
}

/// A string that may be missing, but not null.
fn text_or(value: &Py, key: &'static str, default: &str) -> Result<String, Refusal> {
    match value.find(key) {
        None => Ok(default.to_owned()),
        Some(found) => found.as_str().map(str::to_owned).ok_or(Refusal::NotAString(key)),
    }
}

/// A list of rows under `key`.
fn rows<'a>(value: &'a Py, key: &'static str) -> Result<&'a [Py], Refusal> {
    index(value, key)?.as_list().ok_or(Refusal::NotAList(key))
}

/// `urllib.parse.quote(id, safe="")`
fn quote(id: &str) -> String {
    id.bytes().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-' | b'~') {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
        out
    })
}

fn is_id(text: &str) -> bool {
    (1..=200).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b':' | b'-'))
}
