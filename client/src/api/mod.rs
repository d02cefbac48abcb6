//! The signed way to the service: one request, one answer, over the pinned origin. Rotates tokens when it must, and explains a refusal; holds no token between requests.

mod date;
mod rotate;
mod way;

pub use way::{Answer, Way};

use crate::app::App;
use crate::door::Door;
use crate::error::CliError;
use crate::state::ServiceDir;
use crate::state::forget::forget_revoked;
use crate::state::profile::Profile;
use contract::ids::WorkspaceId;
use contract::{Code, cjson, limits};
use egress::{HeaderName, Method, Request};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sign::Secret;
use sign::request::{BodyHasher, NONCE_HEADER, RequestHead, SIGNATURE_HEADER, TIMESTAMP_HEADER, sign_request};
use zeroize::Zeroizing;

/// The service, as this device speaks to it.
pub struct Api {
    way: Way,
    door: Door,
    folder: ServiceDir,
    profile: Profile,
    workspace: WorkspaceId,
}

impl Api {
    /// The way to the service of `profile`. Sends nothing.
    pub fn new(app: &App, folder: &ServiceDir, profile: &Profile) -> Result<Self, CliError> {
        let workspace = match &app.global.workspace_id {
            Some(said) => said.parse().map_err(|error| CliError::usage(format!("`{said}` is {error}")))?,
            None => profile.workspace_id.clone(),
        };
        let way = Way::new(app, &profile.base, &profile.server_fingerprint)?;
        Ok(Self { way, door: app.door, folder: folder.clone(), profile: profile.clone(), workspace })
    }

    /// The same service with less patience: every answer within `seconds`.
    #[must_use]
    pub fn within(mut self, seconds: u64) -> Self {
        self.way = self.way.within(seconds);
        self
    }

    /// The workspace whose session is used.
    #[must_use]
    pub const fn workspace(&self) -> &WorkspaceId {
        &self.workspace
    }

    /// Reads.
    pub async fn get<T: DeserializeOwned>(&self, target: &str) -> Result<T, CliError> {
        let answer = self.call(Method::GET, target, &[]).await?;
        decode(&answer)
    }

    /// Writes. The body is canonical JSON.
    pub async fn post<B: Serialize, T: DeserializeOwned>(&self, target: &str, body: &B) -> Result<T, CliError> {
        let body = cjson::to_canonical(body)?;
        let answer = self.call(Method::POST, target, &body).await?;
        decode(&answer)
    }

    /// One signed exchange. An access token that is over is replaced once.
    async fn call(&self, method: Method, target: &str, body: &[u8]) -> Result<Answer, CliError> {
        let used = self.ready_session().await?;
        let answer = self.way.exchange(self.request(&method, target, body)?).await?;
        if answer.code() != Some(Code::SessionExpired) {
            return self.settle(answer).await;
        }
        self.rotate(&used).await?;
        let answer = self.way.exchange(self.request(&method, target, body)?).await?;
        self.settle(answer).await
    }

    async fn settle(&self, answer: Answer) -> Result<Answer, CliError> {
        if answer.is_success() {
            return Ok(answer);
        }
        Err(self.refusal(answer).await)
    }

    /// What a refusal means for this device. A revoked device forgets what it must not keep.
    async fn refusal(&self, answer: Answer) -> CliError {
        let error = answer.to_error();
        if error.code == Code::SessionRevoked {
            return self.forget().await;
        }
        match answer.clock_difference_s(self.door.now_s()) {
            Some(difference) if error.code == Code::SignatureSkew => error.hint(format!(
                "this device's clock is {} s {} the service's; set it, then run the command again",
                difference.unsigned_abs(),
                if difference < 0 { "behind" } else { "ahead of" }
            )),
            Some(_) | None => error,
        }
    }

    async fn forget(&self) -> CliError {
        match forget_revoked(&self.folder, &self.profile, self.door.now_s()).await {
            Ok(forgotten) => CliError::new(Code::SessionRevoked, format!("this device was revoked; {forgotten}")).hint(
                format!("run `collie online login --server {}` to connect it as a new device", self.profile.base),
            ),
            Err(trouble) => trouble,
        }
    }

    /// A request with the session's bearer and the device's signature.
    fn request(&self, method: &Method, target: &str, body: &[u8]) -> Result<Request, CliError> {
        let session = self.folder.find_session(&self.workspace)?.ok_or_else(CliError::not_connected)?;
        let request = self.signed(method, target, body)?.body(body.to_vec());
        // EXPOSE: to the Authorization header of this one request.
        let bearer = session.access.with(|access| Zeroizing::new(format!("Bearer {access}").into_bytes()));
        Ok(request.secret_header(HeaderName::from_static("authorization"), bearer)?)
    }

    /// A request with the device's signature alone, its body not yet set.
    fn signed(&self, method: &Method, target: &str, body: &[u8]) -> Result<Request, CliError> {
        let mut hash = BodyHasher::new();
        hash.update(body);
        let head = RequestHead { method: method.as_str(), raw_target: target, body_sha256: hash.finish() };
        let headers = sign_request(&self.folder.device_key()?, &head, self.door.now_s(), &self.door.random())
            .map_err(|error| CliError::internal(format!("cannot sign this request: {error}")))?;
        let request = self
            .way
            .request(method, target, !body.is_empty())?
            .header(HeaderName::from_static(TIMESTAMP_HEADER), &headers.timestamp)?
            .header(HeaderName::from_static(NONCE_HEADER), &headers.nonce)?
            .header(HeaderName::from_static(SIGNATURE_HEADER), &headers.signature)?;
        Ok(request)
    }
}

/// Decodes a successful answer.
pub fn decode<T: DeserializeOwned>(answer: &Answer) -> Result<T, CliError> {
    cjson::from_slice_lenient(answer.body(), limits::RESPONSE_BYTES_MAX).map_err(|error| {
        CliError::new(Code::Unsupported, format!("the service answered something unexpected: {error}"))
            .hint("compare `collie --version` with the service's /version")
    })
}

/// An id as one segment of a path: nothing stands for itself that could mean something else there.
#[must_use]
pub fn segment(id: &str) -> String {
    id.replace(':', "%3A")
}

/// A secret text as the body of its one request.
fn secret_body(name: &str, secret: &Secret<String>) -> Zeroizing<Vec<u8>> {
    // EXPOSE: to the body of this one request.
    secret.with(|text| Zeroizing::new(format!("{{\"{name}\":\"{text}\"}}").into_bytes()))
}
