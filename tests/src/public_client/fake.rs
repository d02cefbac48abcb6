//! A small service of our own invention that answers the public client honestly, until a test tells it to lie in one place. It proves that the driver refuses; the product's service is never tested against it.

use super::{digest, pyjson::Py};
use std::sync::{Arc, Mutex};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

const REQUEST_BYTES_MAX: usize = 1024 * 1024;

/// One answer, before it is written out.
#[derive(Debug, Clone)]
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// More header lines.
    pub headers: Vec<(&'static str, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Reply {
    fn json(status: u16, value: &Py) -> Self {
        Self { status, headers: Vec::new(), body: value.dumps().into_bytes() }
    }

    /// The body as a value.
    #[must_use]
    pub fn value(&self) -> Py {
        Py::loads(&String::from_utf8_lossy(&self.body)).unwrap_or(Py::None)
    }

    /// Replaces the body.
    pub fn set(&mut self, value: &Py) {
        self.body = value.dumps().into_bytes();
    }

    /// Edits a member at a path of object keys; the first item of a list is meant by `0`.
    pub fn edit(&mut self, path: &[&str], value: Option<Py>) {
        let mut body = self.value();
        put(&mut body, path, value);
        self.set(&body);
    }
}

fn put(at: &mut Py, path: &[&str], value: Option<Py>) {
    let Some((first, rest)) = path.split_first() else { return };
    match at {
        Py::Dict(members) if rest.is_empty() => {
            match value {
                Some(value) => members.insert((*first).to_owned(), value),
                None => members.remove(*first),
            };
        }
        Py::Dict(members) => {
            if let Some(next) = members.get_mut(*first) {
                put(next, rest, value);
            }
        }
        Py::List(items) => {
            if let Some(next) = items.first_mut() {
                put(next, rest, value);
            }
        }
        Py::None | Py::Bool(_) | Py::Int(_) | Py::Float(_) | Py::Str(_) => {}
    }
}

/// Where and how the service lies: given `METHOD target`, it may change the honest reply.
pub type Lie = fn(&str, &mut Reply);

/// A running service.
pub struct Fake {
    /// Its base URL.
    pub base_url: String,
    seen: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Fake {
    /// Starts on a free loopback port.
    pub async fn start(lie: Lie) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free loopback port");
        let base_url = format!("http://{}", listener.local_addr().expect("bound"));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&seen);
        let task = tokio::spawn(async move {
            let mut state = State::default();
            while let Ok((stream, _)) = listener.accept().await {
                serve(stream, &mut state, lie, &log).await;
            }
        });
        Self { base_url, seen, task }
    }

    /// `METHOD target` of every request, in order.
    #[must_use]
    pub fn seen(&self) -> Vec<String> {
        self.seen.lock().expect("nobody panicked").clone()
    }
}

#[derive(Default)]
struct State {
    connection: Option<Py>,
    credential: Option<Py>,
}

async fn serve(mut stream: TcpStream, state: &mut State, lie: Lie, log: &Mutex<Vec<String>>) {
    let Some((call, body)) = read(&mut stream).await else { return };
    let mut reply = answer(state, &call, &body);
    lie(&call, &mut reply);
    log.lock().expect("nobody panicked").push(call);
    let mut head =
        format!("HTTP/1.1 {} x\r\nContent-Length: {}\r\nConnection: close\r\n", reply.status, reply.body.len());
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    // The client may have refused already.
    let _ = stream.write_all(head.as_bytes()).await;
    let _ = stream.write_all(&reply.body).await;
}

async fn read(stream: &mut TcpStream) -> Option<(String, Py)> {
    let mut bytes = Vec::new();
    loop {
        let mut piece = [0; 4096];
        let read = stream.read(&mut piece).await.ok()?;
        bytes.extend_from_slice(piece.get(..read)?);
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(bytes.get(..end)?).into_owned();
            let length =
                head.lines().find_map(|line| line.strip_prefix("Content-Length: ")?.parse::<usize>().ok()).unwrap_or(0);
            if bytes.len() >= end + 4 + length {
                let call = head.split(" HTTP/1.1").next()?.to_owned();
                let text = String::from_utf8_lossy(bytes.get(end + 4..)?).into_owned();
                return Some((call, Py::loads(&text).unwrap_or(Py::None)));
            }
        }
        if read == 0 || bytes.len() > REQUEST_BYTES_MAX {
            return None;
        }
    }
}

fn answer(state: &mut State, call: &str, body: &Py) -> Reply {
    match call {
        "POST /v1/devices/start" => Reply::json(
            201,
            &Py::dict([
                ("device_code", Py::from("code")),
                ("user_code", Py::from("ABCD-EFGH")),
                ("verification_uri", Py::from("http://127.0.0.1/pair")),
                ("expires_in", Py::from(600)),
                ("interval", Py::from(2)),
            ]),
        ),
        "POST /v1/devices/token" => Reply::json(
            200,
            &Py::dict([
                ("user_id", Py::from("u1")),
                ("workspace_id", Py::from("w1")),
                ("device_id", Py::from("dev-1")),
                ("access_token", Py::from("access")),
                ("refresh_token", Py::from("refresh")),
            ]),
        ),
        "POST /v1/connections" => {
            state.connection = Some(row(body));
            connection(state)
        }
        "GET /v1/connections" => {
            let rows = state.connection.iter().cloned().collect();
            Reply::json(200, &Py::dict([("connections", Py::List(rows))]))
        }
        "POST /v1/connections/conn-1/review" => {
            if let Some(row) = &mut state.connection {
                put(row, &["reviewed_digest"], body.find("digest").cloned());
                put(row, &["status"], Some(Py::from("active")));
            }
            connection(state)
        }
        "POST /v1/connections/conn-1/credential" => {
            state.credential = body.find("sealed_credential").cloned();
            Reply::json(200, &Py::dict([("updated_at", Py::from(1_790_000_000))]))
        }
        "GET /v1/connections/conn-1/credential" => credential(state),
        "GET /v1/devices" => Reply::json(
            200,
            &Py::dict([(
                "devices",
                Py::List(vec![Py::dict([
                    ("id", Py::from("dev-1")),
                    ("name", Py::from("Laptop")),
                    ("last_seen_at", Py::from(1)),
                ])]),
            )]),
        ),
        "GET /v1/workspaces" => Reply::json(
            200,
            &Py::dict([(
                "workspaces",
                Py::List(vec![Py::dict([
                    ("id", Py::from("w1")),
                    ("name", Py::from("Mine")),
                    ("kind", Py::from("personal")),
                    ("role", Py::from("owner")),
                ])]),
            )]),
        ),
        "POST /v1/workspaces/select" | "POST /v1/auth/refresh" => Reply::json(
            200,
            &Py::dict([
                ("workspace_id", Py::from("w1")),
                ("access_token", Py::from("access2")),
                ("refresh_token", Py::from("refresh2")),
                ("access_expires_at", Py::from(1_790_000_600)),
                ("refresh_expires_at", Py::from(1_790_086_400)),
            ]),
        ),
        "GET /v1/projects" => Reply::json(
            200,
            &Py::dict([(
                "projects",
                Py::List(vec![Py::dict([("id", Py::from("proj-1")), ("name", Py::from("Notes"))])]),
            )]),
        ),
        "GET /v1/nodes" => Reply::json(200, &Py::dict([("nodes", Py::List(Vec::new()))])),
        "GET /v1/missions" => Reply::json(200, &Py::dict([("missions", Py::List(Vec::new()))])),
        "GET /v1/schedules" => Reply::json(200, &Py::dict([("schedules", Py::List(Vec::new()))])),
        "POST /v1/sync/push" => {
            Reply::json(200, &Py::dict([("accepted", Py::List(Vec::new())), ("conflicts", Py::List(Vec::new()))]))
        }
        call if call.starts_with("GET /v1/sync/pull?") => {
            let cursor = call.split("cursor=").nth(1).and_then(|rest| rest.split('&').next()).unwrap_or("0");
            Reply::json(200, &Py::dict([("events", Py::List(Vec::new())), ("cursor", Py::Int(cursor.to_owned()))]))
        }
        _ => Reply::json(404, &Py::dict([("error", Py::from("no such object"))])),
    }
}

fn connection(state: &State) -> Reply {
    Reply::json(200, &Py::dict([("connection", state.connection.clone().unwrap_or(Py::None))]))
}

fn credential(state: &State) -> Reply {
    match &state.credential {
        Some(sealed) => Reply::json(
            200,
            &Py::dict([("sealed_credential", sealed.clone()), ("updated_at", Py::from(1_790_000_000))]),
        ),
        None => Reply::json(404, &Py::dict([("error", Py::from("no such credential"))])),
    }
}

fn row(body: &Py) -> Py {
    let member = |key: &str| body.find(key).cloned().unwrap_or(Py::None);
    Py::dict([
        ("id", Py::from("conn-1")),
        ("name", member("name")),
        ("scope", member("scope")),
        ("project_id", member("project_id")),
        ("transport", member("transport")),
        ("endpoint", member("endpoint")),
        ("manifest", member("manifest")),
        ("manifest_digest", Py::from(digest(member("manifest").dumps()))),
        ("reviewed_digest", Py::from("")),
        ("status", Py::from("review_required")),
        ("policy", Py::dict([("allowed_effects", Py::List(Vec::new()))])),
    ])
}
