//! A paired device of ours, in the hands of a test: it signs what it is told to, and each part of a request can be spoilt alone.

use super::{Browser, World, raw};
use crate::public_client::{self, b64u, now, random};
use contract::{
    Json, cjson,
    device::{Enrolled, FetchTokens, PairingStarted, SessionClass, StartPairing},
    ids::{DeviceId, UserId, WorkspaceId},
};
use sign::Secret;

/// A device with a session.
pub struct Device {
    authority: String,
    wire_key: public_client::DeviceKey,
    /// Its key, for signed objects.
    pub key: sign::DeviceKey,
    /// Whose.
    pub user_id: UserId,
    /// The session's workspace.
    pub workspace_id: WorkspaceId,
    /// Its id.
    pub device_id: DeviceId,
    /// The bearer token.
    pub access_token: String,
    /// The newest refresh token.
    pub refresh_token: String,
}

/// An answer, with its body read as JSON.
#[derive(Debug, Clone)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// The body.
    pub body: Json,
}

impl Answer {
    /// The stable code of a refusal.
    #[must_use]
    pub fn code(&self) -> &str {
        self.body.find_str("code").unwrap_or_default()
    }

    /// The body, after checking that it is no refusal.
    pub fn expect_ok(self) -> Json {
        assert!((200..300).contains(&self.status), "{} {}", self.status, self.body.canonical_string());
        self.body
    }

    /// Checks that it is this refusal.
    pub fn expect_refusal(&self, code: contract::Code) {
        assert_eq!((self.status, self.code()), (code.http_status(), code.as_str()), "{}", self.body.canonical_string());
    }
}

/// A request before it is sent; every part can be changed.
#[derive(Debug, Clone)]
pub struct Request {
    /// Method.
    pub method: String,
    /// As on the request line.
    pub target: String,
    /// Header lines in order.
    pub headers: Vec<(String, String)>,
    /// The body, if there is one.
    pub body: Option<Vec<u8>>,
}

impl Request {
    /// A request without any proof.
    #[must_use]
    pub fn new(method: &str, target: &str, body: Option<&[u8]>) -> Self {
        let mut headers = vec![("Accept".to_owned(), "application/json".to_owned())];
        if body.is_some() {
            headers.push(("Content-Type".to_owned(), "application/json".to_owned()));
        }
        Self { method: method.to_owned(), target: target.to_owned(), headers, body: body.map(<[u8]>::to_vec) }
    }

    /// Sets a header, or removes it.
    #[must_use]
    pub fn with(mut self, name: &str, value: Option<&str>) -> Self {
        self.headers.retain(|(key, _)| !key.eq_ignore_ascii_case(name));
        self.headers.extend(value.map(|value| (name.to_owned(), value.to_owned())));
        self
    }

    /// The bytes on the wire.
    #[must_use]
    pub fn bytes(&self, authority: &str) -> Vec<u8> {
        let mut head =
            format!("{} {} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n", self.method, self.target);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if let Some(body) = &self.body {
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        bytes.extend(self.body.iter().flatten());
        bytes
    }

    /// Sends it.
    pub async fn send(&self, authority: &str) -> Answer {
        let answer = raw::send(authority, &self.bytes(authority)).await;
        Answer { status: answer.status, body: answer.json().unwrap_or(Json::Null) }
    }
}

impl Device {
    pub(super) async fn pair(world: &World, browser: &Browser, name: &str, class: SessionClass) -> Self {
        let (seed, verifier) = (random::<32>(), b64u(random::<32>()));
        let wire_key = public_client::DeviceKey::from_seed(&seed);
        let start = StartPairing {
            device_name: name.to_owned(),
            challenge: public_client::digest(&verifier),
            public_key: wire_key.public(),
            capabilities: match class {
                SessionClass::Rotating => vec!["refresh".to_owned()],
                SessionClass::Sliding => Vec::new(),
            },
        };
        let authority = world.authority().to_owned();
        let started: PairingStarted = enrol(&authority, "/v1/devices/start", &start, 201).await;
        browser.approve(&started.user_code).await;
        let fetch = FetchTokens { device_code: started.device_code, verifier };
        let enrolled: Enrolled = enrol(&authority, "/v1/devices/token", &fetch, 200).await;
        Self {
            authority,
            wire_key,
            key: sign::DeviceKey::from_seed(&Secret::new(seed)),
            user_id: enrolled.user_id,
            workspace_id: enrolled.workspace_id,
            device_id: enrolled.device_id,
            access_token: enrolled.tokens.access_token,
            refresh_token: enrolled.tokens.refresh_token,
        }
    }

    /// A request with everything right.
    #[must_use]
    pub fn request(&self, method: &str, target: &str, body: Option<&[u8]>) -> Request {
        self.request_at(method, target, body, now())
    }

    /// As [`Device::request`], signed at another time.
    #[must_use]
    pub fn request_at(&self, method: &str, target: &str, body: Option<&[u8]>, timestamp: i64) -> Request {
        let nonce = b64u(random::<18>());
        let signature = self.wire_key.sign(method, target, body.unwrap_or_default(), timestamp, &nonce);
        Request::new(method, target, body)
            .with("Authorization", Some(&format!("Bearer {}", self.access_token)))
            .with("X-Collie-Device-Timestamp", Some(&timestamp.to_string()))
            .with("X-Collie-Device-Nonce", Some(&nonce))
            .with("X-Collie-Device-Signature", Some(&signature))
    }

    /// GET.
    pub async fn get(&self, target: &str) -> Answer {
        self.request("GET", target, None).send(&self.authority).await
    }

    /// POST of a JSON body.
    pub async fn post(&self, target: &str, body: &Json) -> Answer {
        self.request("POST", target, Some(&body.canonical())).send(&self.authority).await
    }

    /// The same device with a session in another workspace.
    pub async fn select(&self, workspace_id: &str) -> Self {
        let answer =
            self.post("/v1/workspaces/select", &Json::from_members([("workspace_id", workspace_id.into())])).await;
        let body = answer.expect_ok();
        let text = |name: &str| body.find_str(name).expect(name).to_owned();
        // EXPOSE: to the same device's second session.
        let seed = self.key.expose_seed_for_key_file().with(|seed| *seed);
        Self {
            authority: self.authority.clone(),
            wire_key: public_client::DeviceKey::from_seed(&seed),
            key: sign::DeviceKey::from_seed(&Secret::new(seed)),
            user_id: self.user_id.clone(),
            workspace_id: workspace_id.parse().expect("an id"),
            device_id: self.device_id.clone(),
            access_token: text("access_token"),
            refresh_token: text("refresh_token"),
        }
    }

    /// POST of a typed body.
    pub async fn post_typed<T: serde::Serialize>(&self, target: &str, body: &T) -> Answer {
        self.post(target, &cjson::to_json(body).expect("JSON")).await
    }
}

async fn enrol<T: serde::Serialize, R: serde::de::DeserializeOwned>(
    authority: &str,
    target: &str,
    body: &T,
    status: u16,
) -> R {
    let body = cjson::to_canonical(body).expect("JSON");
    let request = Request::new("POST", target, Some(&body));
    let answer = raw::send(authority, &request.bytes(authority)).await;
    assert_eq!(answer.status, status, "{}", answer.text());
    cjson::from_slice(&answer.body, answer.body.len()).expect("the answer's shape")
}
