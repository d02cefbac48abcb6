//! A whole service in a temporary directory for the tests of this crate: a clock that is set by hand, requests as raw bytes, devices and browsers that behave. Stands in for nothing.

use crate::{Clock, Config, Service};
use contract::{Digest, Json, cjson};
use sign::{
    DeviceKey, Secret,
    request::{self, RequestHead, SignatureHeaders},
};
use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

/// A clock that stands until a test moves it.
pub(crate) struct ManualClock(AtomicI64);

impl Clock for ManualClock {
    fn now_ms(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

impl ManualClock {
    pub(crate) fn advance_s(&self, seconds: u64) {
        self.0.fetch_add(i64::try_from(seconds).expect("small") * 1000, Ordering::SeqCst);
    }

    pub(crate) fn now_s(&self) -> u64 {
        u64::try_from(self.now_ms() / 1000).expect("after 1970")
    }
}

/// One service with its surroundings.
pub(crate) struct World {
    pub(crate) service: Service,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) directory: tempfile::TempDir,
    pub(crate) address: SocketAddr,
}

/// An answer as it came.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn json(&self) -> Json {
        cjson::parse(&self.body, self.body.len()).expect("a JSON answer")
    }

    /// The stable code of a refusal, or the status of an answer that is none.
    pub(crate) fn code(&self) -> String {
        let code =
            cjson::parse(&self.body, self.body.len()).ok().and_then(|json| json.find_str("code").map(str::to_owned));
        code.unwrap_or_else(|| self.status.to_string())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).expect("UTF-8")
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    pub(crate) fn str(&self, member: &str) -> String {
        self.json().find_str(member).unwrap_or_else(|| panic!("`{member}` in {}", self.text())).to_owned()
    }
}

/// A device with its key and its tokens.
pub(crate) struct TestDevice {
    pub(crate) key: DeviceKey,
    pub(crate) device_id: String,
    pub(crate) workspace_id: String,
    pub(crate) access: String,
    pub(crate) refresh: String,
}

/// A browser with its cookie.
pub(crate) struct Browser {
    pub(crate) cookie: String,
}

/// A device that waits to be bound.
pub(crate) struct Waiting {
    pub(crate) key: DeviceKey,
    pub(crate) verifier: String,
    pub(crate) device_code: String,
    pub(crate) user_code: String,
}

pub(crate) fn key(seed: u8) -> DeviceKey {
    DeviceKey::from_seed(&Secret::new([seed; 32]))
}

/// 18 bytes that no request of this process had before.
fn next_nonce() -> [u8; 18] {
    static NUMBER: AtomicU64 = AtomicU64::new(1);
    let mut nonce = [0; 18];
    nonce[..8].copy_from_slice(&NUMBER.fetch_add(1, Ordering::SeqCst).to_be_bytes());
    nonce
}

impl World {
    pub(crate) async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    pub(crate) async fn start_with(change: impl FnOnce(&mut Config)) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let clock = Arc::new(ManualClock(AtomicI64::new(1_800_000_000_000)));
        let mut config = Config::in_directory(&directory.path().join("state"));
        change(&mut config);
        let service = Service::start(config, clock.clone()).await.expect("the service starts");
        let address = service.ready().listen;
        Self { service, clock, directory, address }
    }

    /// The same installation with other settings.
    pub(crate) async fn restart(self, change: impl FnOnce(&mut Config)) -> Self {
        let Self { service, clock, directory, .. } = self;
        service.shutdown().await;
        let mut config = Config::in_directory(&directory.path().join("state"));
        change(&mut config);
        let service = Service::start(config, clock.clone()).await.expect("the service starts again");
        let address = service.ready().listen;
        Self { service, clock, directory, address }
    }

    /// Sends bytes on a connection of its own and reads one answer.
    pub(crate) async fn raw(&self, request: &[u8]) -> Reply {
        let mut stream = TcpStream::connect(self.address).await.expect("the listener accepts");
        // The service may answer and close before it has read everything.
        let _ = stream.write_all(request).await;
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes).await;
        parse_reply(&bytes)
    }

    pub(crate) async fn send(&self, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        let mut request = format!("{method} {target} HTTP/1.1\r\nconnection: close\r\n");
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            request.push_str(&format!("host: {}\r\n", self.address));
        }
        if !body.is_empty() || method == "POST" {
            request.push_str(&format!("content-length: {}\r\n", body.len()));
        }
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        request.push_str("\r\n");
        self.raw(&[request.as_bytes(), body].concat()).await
    }

    /// A JSON request that proves nothing.
    pub(crate) async fn post(&self, target: &str, body: &str) -> Reply {
        self.send("POST", target, &[("content-type", "application/json")], body.as_bytes()).await
    }

    /// The signature headers of a request, as an honest device makes them.
    pub(crate) fn sign(&self, key: &DeviceKey, method: &str, target: &str, body: &[u8]) -> SignatureHeaders {
        let head = RequestHead { method, raw_target: target, body_sha256: Digest::of(&[body]) };
        request::sign_request(key, &head, self.clock.now_s(), &next_nonce()).expect("a plain request")
    }

    /// A signed request of a device.
    pub(crate) async fn call(&self, device: &TestDevice, method: &str, target: &str, body: &str) -> Reply {
        let signature = self.sign(&device.key, method, target, body.as_bytes());
        self.send_signed(&device.access, &signature, method, target, body.as_bytes()).await
    }

    pub(crate) async fn send_signed(
        &self,
        access: &str,
        signature: &SignatureHeaders,
        method: &str,
        target: &str,
        body: &[u8],
    ) -> Reply {
        let bearer = format!("Bearer {access}");
        let headers = [
            ("authorization", bearer.as_str()),
            ("content-type", "application/json"),
            (request::TIMESTAMP_HEADER, &signature.timestamp),
            (request::NONCE_HEADER, &signature.nonce),
            (request::SIGNATURE_HEADER, &signature.signature),
        ];
        self.send(method, target, &headers, body).await
    }

    /// A refresh of a device's tokens, signed by `key`.
    pub(crate) async fn refresh(&self, key: &DeviceKey, refresh: &str) -> Reply {
        let body = format!("{{\"refresh_token\":\"{refresh}\"}}");
        let signature = self.sign(key, "POST", "/v1/auth/refresh", body.as_bytes());
        let headers = [
            ("content-type", "application/json"),
            (request::TIMESTAMP_HEADER, signature.timestamp.as_str()),
            (request::NONCE_HEADER, &signature.nonce),
            (request::SIGNATURE_HEADER, &signature.signature),
        ];
        self.send("POST", "/v1/auth/refresh", &headers, body.as_bytes()).await
    }

    /// The path of a fresh owner link.
    pub(crate) async fn owner_path(&self) -> String {
        let link = self.service.make_owner_link().await.expect("a link");
        link.with(|link| link.strip_prefix(self.service.origin()).expect("our origin").to_owned())
    }

    /// A browser that used an owner link.
    pub(crate) async fn sign_in(&self) -> Browser {
        let path = self.owner_path().await;
        let reply = self.send("POST", &path, &[("origin", self.service.origin())], b"").await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        let cookie = reply.header("set-cookie").expect("a cookie");
        Browser { cookie: cookie.split(';').next().expect("the pair").to_owned() }
    }

    pub(crate) async fn page(&self, browser: &Browser, target: &str) -> Reply {
        self.send("GET", target, &[("cookie", &browser.cookie)], b"").await
    }

    /// Posts a form of a page of this browser: with its token and its origin.
    pub(crate) async fn submit(&self, browser: &Browser, target: &str, fields: &[(&str, &str)]) -> Reply {
        let token = form_token(&self.page(browser, "/pair").await);
        let fields: Vec<_> = fields.iter().copied().chain([("form_token", token.as_str())]).collect();
        self.post_form(browser, target, &fields, self.service.origin()).await
    }

    pub(crate) async fn post_form(
        &self,
        browser: &Browser,
        target: &str,
        fields: &[(&str, &str)],
        origin: &str,
    ) -> Reply {
        let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let headers = [
            ("cookie", browser.cookie.as_str()),
            ("origin", origin),
            ("content-type", "application/x-www-form-urlencoded"),
        ];
        self.send("POST", target, &headers, body.as_bytes()).await
    }

    /// A device that asks to be paired; `capabilities` as JSON.
    pub(crate) async fn start_pairing(&self, seed: u8, capabilities: &str) -> Waiting {
        let key = key(seed);
        let verifier = contract::b64u::encode([seed; 32]);
        let challenge = sign::pkce::challenge(&verifier);
        let public_key = key.public_key().b64u();
        let body = format!(
            "{{\"capabilities\":{capabilities},\"challenge\":\"{challenge}\",\"device_name\":\"device {seed}\",\"public_key\":\"{public_key}\"}}"
        );
        let reply = self.post("/v1/devices/start", &body).await;
        assert_eq!(reply.status, 201, "{}", reply.text());
        Waiting { key, verifier, device_code: reply.str("device_code"), user_code: reply.str("user_code") }
    }

    pub(crate) async fn poll(&self, waiting: &Waiting) -> Reply {
        let body = format!("{{\"device_code\":\"{}\",\"verifier\":\"{}\"}}", waiting.device_code, waiting.verifier);
        self.post("/v1/devices/token", &body).await
    }

    pub(crate) async fn approve(&self, browser: &Browser, waiting: &Waiting) -> Reply {
        let fingerprint = waiting.key.public_key().fingerprint();
        self.submit(browser, "/pair/approve", &[("user_code", &waiting.user_code), ("fingerprint", &fingerprint)]).await
    }

    /// A bound device of the owner with rotating (`["refresh"]`) or sliding (`[]`) sessions.
    pub(crate) async fn pair(&self, seed: u8, capabilities: &str) -> TestDevice {
        let browser = self.sign_in().await;
        let waiting = self.start_pairing(seed, capabilities).await;
        let approved = self.approve(&browser, &waiting).await;
        assert_eq!(approved.status, 200, "{}", approved.text());
        let reply = self.poll(&waiting).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        TestDevice {
            key: waiting.key,
            device_id: reply.str("device_id"),
            workspace_id: reply.str("workspace_id"),
            access: reply.str("access_token"),
            refresh: reply.str("refresh_token"),
        }
    }
}

/// The token in a page's form.
pub(crate) fn form_token(page: &Reply) -> String {
    let text = page.text();
    let value = text.split("name=\"form_token\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
    value.unwrap_or_else(|| panic!("a form in {text}")).to_owned()
}

pub(crate) fn parse_reply(bytes: &[u8]) -> Reply {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").expect("a whole head");
    let head = String::from_utf8(bytes[..end].to_vec()).expect("an ASCII head");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status line");
    Reply { status, head, body: bytes[end + 4..].to_vec() }
}
