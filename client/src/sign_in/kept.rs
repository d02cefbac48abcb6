//! What a sign-in keeps on this device until its review stands: the client that was registered, and the consent that was given. Sealed, bound to the sign-in, and gone once the connection has them.

use crate::app::Service;
use crate::db::Db;
use crate::error::CliError;
use contract::ids::ConnectionId;
use contract::{Code, Digest, Json};
use seal::local::{self, SignInPlace};
use seal::{DeviceGrant, SealRandom};

/// What is signed in for: one connection, or one that is being made.
pub struct Purpose {
    /// The connection, where there is one.
    pub connection: Option<ConnectionId>,
    /// The server.
    pub endpoint: String,
    /// Names the sign-in on this device.
    pub digest: Digest,
}

impl Purpose {
    /// A connection that is being made.
    #[must_use]
    pub fn new_connection(name: &str, endpoint: &str, project: &str) -> Self {
        Self { connection: None, endpoint: endpoint.to_owned(), digest: digest(&["new", name, endpoint, project]) }
    }

    /// A connection that is there.
    #[must_use]
    pub fn of_connection(id: &ConnectionId, endpoint: &str) -> Self {
        let digest = digest(&["connection", id.as_str(), endpoint]);
        Self { connection: Some(id.clone()), endpoint: endpoint.to_owned(), digest }
    }

    /// The part of its redirect address that no other sign-in has.
    #[must_use]
    pub fn context(&self) -> String {
        self.digest.hex().chars().take(16).collect()
    }

    fn place<'a>(&'a self, issuer: &'a str) -> SignInPlace<'a> {
        SignInPlace { connection: self.connection.as_ref(), endpoint: &self.endpoint, issuer, sign_in: &self.digest }
    }

    fn client_name(&self, issuer: &str) -> String {
        format!("client:{}:{}", self.digest.hex(), Digest::of(&[issuer.as_bytes()]).short())
    }

    fn consent_name(&self, issuer: &str) -> String {
        format!("consent:{}:{}", self.digest.hex(), Digest::of(&[issuer.as_bytes()]).short())
    }
}

fn digest(parts: &[&str]) -> Digest {
    let list = parts.iter().map(|part| Json::from(*part)).collect();
    Digest::of(&[b"collie.sign_in\0", &Json::Array(list).canonical()])
}

/// The client that this sign-in registered before.
pub async fn find_client(
    service: &Service<'_>,
    db: &mut Db,
    purpose: &Purpose,
    issuer: &str,
) -> Result<Option<DeviceGrant>, CliError> {
    let Some(blob) = db.find_local_secret(&purpose.client_name(issuer)).await? else { return Ok(None) };
    let usk = service.sealing_key()?;
    local::open_client(&usk, service.local_place(), purpose.place(issuer), &blob).map(Some).map_err(|_| unopened())
}

/// Keeps the client that was registered.
pub async fn keep_client(
    service: &Service<'_>,
    db: &mut Db,
    purpose: &Purpose,
    client: &DeviceGrant,
) -> Result<(), CliError> {
    let random = SealRandom::new(service.door().random());
    let issuer = &client.facts.issuer;
    let blob =
        local::seal_client(&service.sealing_key()?, service.local_place(), purpose.place(issuer), client, random);
    let blob = blob.map_err(|_| unsealable())?;
    db.replace_local_secret(&purpose.client_name(issuer), &blob, service.door().now_ms()).await
}

/// The consent that was given to this client before and not reviewed.
pub async fn find_consent(
    service: &Service<'_>,
    db: &mut Db,
    purpose: &Purpose,
    issuer: &str,
    client_id: &str,
) -> Result<Option<DeviceGrant>, CliError> {
    let Some(blob) = db.find_local_secret(&purpose.consent_name(issuer)).await? else { return Ok(None) };
    let usk = service.sealing_key()?;
    // One of another client does not open; it is replaced by the next consent.
    Ok(local::open_consent(&usk, service.local_place(), purpose.place(issuer), client_id, &blob).ok())
}

/// Keeps a consent until its review stands.
pub async fn keep_consent(
    service: &Service<'_>,
    db: &mut Db,
    purpose: &Purpose,
    grant: &DeviceGrant,
) -> Result<(), CliError> {
    let random = SealRandom::new(service.door().random());
    let issuer = &grant.facts.issuer;
    let blob =
        local::seal_consent(&service.sealing_key()?, service.local_place(), purpose.place(issuer), grant, random);
    let blob = blob.map_err(|_| unsealable())?;
    db.replace_local_secret(&purpose.consent_name(issuer), &blob, service.door().now_ms()).await
}

/// Forgets a consent that the server did not take.
pub async fn forget_consent(db: &mut Db, purpose: &Purpose, issuer: &str) -> Result<(), CliError> {
    db.remove_local_secret(&purpose.consent_name(issuer)).await?;
    db.checkpoint().await
}

/// Forgets both; the connection's own credential has them now.
pub async fn forget(db: &mut Db, purpose: &Purpose, issuer: &str) -> Result<(), CliError> {
    db.remove_local_secret(&purpose.client_name(issuer)).await?;
    db.remove_local_secret(&purpose.consent_name(issuer)).await?;
    db.checkpoint().await
}

fn unopened() -> CliError {
    CliError::new(Code::WrongKey, "what this sign-in kept on the device does not open with its sealing key")
        .hint("import this account's sealing key by `collie online key-import`, or forget what is kept here by `collie online logout --forget-mirror`")
}

fn unsealable() -> CliError {
    CliError::new(
        Code::UpstreamProtocol,
        "the authorization server's answer cannot be kept: a part of it is too long or has unusual characters",
    )
    .hint("nothing was stored; ask the operator of the authorization server")
}
