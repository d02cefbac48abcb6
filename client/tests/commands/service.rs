//! A small service for tests of the command line: the routes of devices, sessions and connections, every signature verified. Remembers what it was asked.

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use contract::{Json, cjson};
use sign::PublicKey;
use sign::request::{
    BodyHasher, NONCE_HEADER, RequestHead, SIGNATURE_HEADER, SignatureHeaders, TIMESTAMP_HEADER, verify_request,
};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{SystemTime, UNIX_EPOCH};

pub(crate) const USER_CODE: &str = "ABCD-EFGH";
/// A path the service can also be reached under.
pub(crate) const PREFIX: &str = "/under/a/path";
pub(crate) const DEPLOYMENT: &str = "dep_00000000000000000000000000000001";
pub(crate) const USER: &str = "usr_00000000000000000000000000000001";
pub(crate) const WORKSPACE: &str = "ws_00000000000000000000000000000001";

/// What the service is and does; tests change it while it runs.
pub(crate) struct World {
    pub(crate) origin: String,
    /// Whether a person has approved the pairing that waits.
    pub(crate) approved: bool,
    /// Refusal of every signed request: status, code, text.
    pub(crate) refuse: Option<(u16, &'static str, &'static str)>,
    /// Life of access tokens, seconds.
    pub(crate) access_ttl_s: u64,
    pub(crate) deployment: &'static str,
    pub(crate) user: &'static str,
    pub(crate) device_names: BTreeMap<String, String>,
    pub(crate) connections: Vec<Json>,
    pub(crate) credentials: BTreeMap<String, Json>,
    /// Every request, as method and target.
    pub(crate) seen: Vec<String>,
    /// Every token that was ever issued.
    pub(crate) tokens: Vec<String>,
    pub(crate) revoked: Vec<String>,
    keys: BTreeMap<String, PublicKey>,
    waiting: Option<(String, String)>,
    access: BTreeMap<String, String>,
    refresh: BTreeMap<String, String>,
    issued: u64,
}

#[derive(Clone)]
pub(crate) struct Service(Arc<Mutex<World>>);

impl Service {
    pub(crate) async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let origin = format!("http://{}", listener.local_addr().expect("an address"));
        let service = Self(Arc::new(Mutex::new(World {
            origin,
            approved: true,
            refuse: None,
            access_ttl_s: 600,
            deployment: DEPLOYMENT,
            user: USER,
            device_names: BTreeMap::new(),
            connections: Vec::new(),
            credentials: BTreeMap::new(),
            seen: Vec::new(),
            tokens: Vec::new(),
            revoked: Vec::new(),
            keys: BTreeMap::new(),
            waiting: None,
            access: BTreeMap::new(),
            refresh: BTreeMap::new(),
            issued: 0,
        })));
        let router = Router::new().fallback(answer).with_state(service.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        service
    }

    pub(crate) fn world(&self) -> MutexGuard<'_, World> {
        self.0.lock().expect("no test panicked inside")
    }

    pub(crate) fn origin(&self) -> String {
        self.world().origin.clone()
    }

    /// How often a target was asked for.
    pub(crate) fn count(&self, request: &str) -> usize {
        self.world().seen.iter().filter(|seen| *seen == request).count()
    }
}

#[expect(clippy::disallowed_methods, reason = "the service's clock in tests")]
fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs()
}

async fn answer(State(service): State<Service>, method: Method, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let mut world = service.world();
    let target = uri.path_and_query().map(ToString::to_string).unwrap_or_default();
    // A reverse proxy takes its prefix away; signatures do not cover it.
    let target = target.strip_prefix(PREFIX).unwrap_or(&target).to_owned();
    world.seen.push(format!("{method} {target}"));
    let json = if body.is_empty() {
        Json::object()
    } else {
        cjson::parse(&body, body.len()).expect("canonical JSON from our client")
    };
    let (status, answer) = world.handle(&method, &target, &headers, &body, &json);
    let status = StatusCode::from_u16(status).expect("a status");
    (status, [(header::CONTENT_TYPE, "application/json")], answer.canonical()).into_response()
}

type Answer = (u16, Json);

impl World {
    fn handle(&mut self, method: &Method, target: &str, headers: &HeaderMap, body: &[u8], json: &Json) -> Answer {
        match (method.as_str(), target) {
            ("GET", "/version") => return (200, Json::object()),
            ("POST", "/v1/devices/start") => return self.start_pairing(json),
            ("POST", "/v1/devices/token") => return self.fetch_tokens(json),
            _ => {}
        }
        let refreshing = target == "/v1/auth/refresh";
        let device = if refreshing {
            json.find_str("refresh_token").and_then(|token| self.refresh.get(token)).cloned()
        } else {
            bearer(headers).and_then(|token| self.access.get(&token)).cloned()
        };
        let Some(device) = device else { return problem(401, "session.expired", "the access token is over") };
        if let Some((status, code, text)) = self.refuse {
            return problem(status, code, text);
        }
        if self.revoked.contains(&device) {
            return problem(401, "session.revoked", "this device was revoked");
        }
        if !self.verifies(&device, method, target, headers, body) {
            return problem(401, "signature.invalid", "the request signature does not verify");
        }
        if refreshing { (200, self.issue(&device)) } else { self.signed(&device, method, target, json) }
    }

    fn start_pairing(&mut self, json: &Json) -> Answer {
        assert_eq!(json.find("capabilities"), Some(&Json::Array(vec!["refresh".into()])));
        let device = format!("dev_{:032}", self.device_names.len() + 1);
        let key = PublicKey::parse(json.find_str("public_key").expect("a key")).expect("a usable key");
        self.keys.insert(device.clone(), key);
        self.device_names.insert(device.clone(), json.find_str("device_name").expect("a name").to_owned());
        self.waiting = Some((json.find_str("challenge").expect("a challenge").to_owned(), device));
        let uri = format!("{}/pair", self.origin);
        let answer = Json::from_members([
            ("device_code", "device-code-canary".into()),
            ("user_code", USER_CODE.into()),
            ("verification_uri", uri.into()),
            ("expires_in", 600.into()),
            ("interval", 2.into()),
        ]);
        (201, answer)
    }

    fn fetch_tokens(&mut self, json: &Json) -> Answer {
        let Some((challenge, device)) = self.waiting.clone() else {
            return problem(410, "pairing.expired", "no such pairing");
        };
        assert!(sign::pkce::is_answered(&challenge, json.find_str("verifier").expect("a verifier")));
        if !self.approved {
            return problem(428, "authorization_pending", "authorization_pending");
        }
        let Json::Object(mut members) = self.issue(&device) else { panic!("an object") };
        let name = self.device_names[&device].clone();
        for (field, value) in [
            ("user_id", self.user),
            ("workspace_id", WORKSPACE),
            ("device_id", &device),
            ("device_name", &name),
            ("deployment_id", self.deployment),
            ("session_class", "rotating"),
            ("origin", &self.origin),
        ] {
            members.insert(field.to_owned(), value.into());
        }
        (200, Json::Object(members))
    }

    fn issue(&mut self, device: &str) -> Json {
        self.issued += 1;
        let (access, refresh) =
            (format!("collie_at_canary{}", self.issued), format!("collie_rt_canary{}", self.issued));
        self.access.retain(|_, owner| owner != device);
        self.access.insert(access.clone(), device.to_owned());
        self.refresh.insert(refresh.clone(), device.to_owned());
        self.tokens.extend([access.clone(), refresh.clone()]);
        let end = |seconds: u64| Json::from(i64::try_from(now_s() + seconds).expect("fits"));
        Json::from_members([
            ("access_token", access.into()),
            ("refresh_token", refresh.into()),
            ("access_expires_at", end(self.access_ttl_s)),
            ("refresh_expires_at", end(86_400)),
        ])
    }

    fn verifies(&self, device: &str, method: &Method, target: &str, headers: &HeaderMap, body: &[u8]) -> bool {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
        let signature = SignatureHeaders {
            timestamp: text(TIMESTAMP_HEADER),
            nonce: text(NONCE_HEADER),
            signature: text(SIGNATURE_HEADER),
        };
        let mut hash = BodyHasher::new();
        hash.update(body);
        let head = RequestHead { method: method.as_str(), raw_target: target, body_sha256: hash.finish() };
        verify_request(&self.keys[device], &signature, &head, now_s()).is_ok()
    }

    fn signed(&mut self, device: &str, method: &Method, target: &str, json: &Json) -> Answer {
        match (method.as_str(), target) {
            ("GET", "/v1/whoami") => (200, self.whoami(device)),
            ("GET", "/v1/devices") => (200, Json::from_members([("devices", self.device_rows().into())])),
            ("POST", "/v1/devices/revoke") => {
                self.revoked.push(json.find_str("device_id").expect("an id").to_owned());
                (200, Json::object())
            }
            ("POST", "/v1/devices/pending") if json.find_str("user_code") == Some(USER_CODE) => (200, self.pending()),
            ("POST", "/v1/devices/pending") => problem(404, "not_found", "no such code"),
            ("POST", "/v1/devices/approve") => {
                self.approved = true;
                (200, Json::object())
            }
            ("GET", "/v1/connections") => (200, Json::from_members([("connections", self.connections.clone().into())])),
            ("GET", path) => match path
                .strip_prefix("/v1/connections/")
                .and_then(|rest| rest.strip_suffix("/credential"))
            {
                Some(id) if self.credentials.contains_key(id) => (
                    200,
                    Json::from_members([("sealed_credential", self.credentials[id].clone()), ("updated_at", 7.into())]),
                ),
                Some(_) | None => problem(404, "not_found", "not found"),
            },
            _ => problem(404, "not_found", "not found"),
        }
    }

    fn whoami(&self, device: &str) -> Json {
        Json::from_members([
            ("user_id", self.user.into()),
            ("display_name", "Ada".into()),
            ("workspace_id", WORKSPACE.into()),
            ("device_id", device.into()),
            ("device_name", self.device_names[device].as_str().into()),
            ("deployment_id", self.deployment.into()),
            ("session_class", "rotating".into()),
        ])
    }

    fn device_rows(&self) -> Vec<Json> {
        let row = |(device, name): (&String, &String)| {
            let mut row = Json::from_members([
                ("id", device.as_str().into()),
                ("name", name.as_str().into()),
                ("last_seen_at", 5.into()),
                ("public_key", self.keys[device].b64u().into()),
                ("fingerprint", self.keys[device].fingerprint().into()),
                ("session_class", "rotating".into()),
                ("created_at", 1.into()),
            ]);
            if let (true, Json::Object(members)) = (self.revoked.contains(device), &mut row) {
                members.insert("revoked_at".to_owned(), 9.into());
            }
            row
        };
        self.device_names.iter().map(row).collect()
    }

    fn pending(&self) -> Json {
        let device = &self.waiting.as_ref().expect("a pairing waits").1;
        Json::from_members([
            ("device_name", self.device_names[device].as_str().into()),
            ("fingerprint", self.keys[device].fingerprint().into()),
            ("session_class", "rotating".into()),
            ("origin", self.origin.as_str().into()),
            ("started_at", 1.into()),
        ])
    }
}

fn bearer(headers: &HeaderMap) -> Option<String> {
    Some(headers.get(header::AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ")?.to_owned())
}

fn problem(status: u16, code: &str, text: &str) -> Answer {
    (status, Json::from_members([("error", text.into()), ("code", code.into())]))
}
