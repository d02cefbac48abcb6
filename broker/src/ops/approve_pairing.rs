//! A person binds a waiting device to their account, or refuses it, by the code they typed and the fingerprint they saw. A code alone binds nothing, and wrong codes are counted before they are looked up.

use super::find_session::stored;
use crate::{app::App, door::wire_seconds, http::error::ApiError};
use contract::{
    AuditEvent, Code, Digest,
    audit::{Actor, AuditLog},
    device::PendingDevice,
    ids::{DeviceId, UserId, WorkspaceId},
    limits,
    workspace::WorkspaceKind,
};
use sign::{PublicKey, token::UserCode};
use store::{Guesser, Pairing, ReadTx, StoreError, TokenMac, Upkeep};

/// Who decides about a waiting device.
#[derive(Debug, Clone)]
pub(crate) enum Approver {
    /// A signed-in browser, by its cookie's stored form.
    Browser {
        /// The person.
        user_id: UserId,
        /// Counts its own tries.
        session: TokenMac,
    },
    /// A bound device.
    Device {
        /// Its person.
        user_id: UserId,
        /// The device.
        device_id: DeviceId,
    },
}

impl Approver {
    fn user_id(&self) -> &UserId {
        match self {
            Self::Browser { user_id, .. } | Self::Device { user_id, .. } => user_id,
        }
    }

    fn guesser(&self) -> Guesser<'_> {
        match self {
            Self::Browser { session, .. } => Guesser::Browser(session),
            Self::Device { device_id, .. } => Guesser::Device(device_id),
        }
    }

    fn actor(&self) -> Actor {
        match self {
            Self::Browser { user_id, .. } => Actor::Browser(user_id.clone()),
            Self::Device { device_id, .. } => Actor::Device(device_id.clone()),
        }
    }
}

/// A decision as a person makes it: the code typed, the fingerprint seen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Decision<'a> {
    pub(crate) user_code: &'a str,
    pub(crate) fingerprint: &'a str,
}

/// The facts of the device that waits under a typed code.
pub(crate) async fn find_pending(app: &App, approver: &Approver, user_code: &str) -> Result<PendingDevice, ApiError> {
    let (_, pairing) = look_up(app, approver, user_code).await?;
    pending(&pairing)
}

/// Binds the device that waits under the code, if its key is the one that was shown.
pub(crate) async fn approve_pairing(
    app: &App,
    approver: &Approver,
    decision: Decision<'_>,
) -> Result<PendingDevice, ApiError> {
    let (code, seen) = look_up(app, approver, decision.user_code).await?;
    check_fingerprint(&seen, decision.fingerprint)?;
    let (code, now_ms, user_id) = (&code, app.now_ms(), approver.user_id());
    app.store()
        .run("approve_pairing", |mut tx| async move {
            let pairing = tx.find_pairing_by_user_code(code, now_ms).await?.ok_or_else(|| over(None))?;
            check_fingerprint(&pairing, decision.fingerprint)?;
            check_unbound(&mut tx, user_id, &pairing.public_key).await?;
            let workspace_id = find_home(&mut tx, user_id).await?;
            tx.approve_pairing(&pairing.id, user_id, &workspace_id, now_ms).await?;
            let event = AuditEvent::PairingApproved {
                pairing_id: pairing.id.clone(),
                user_id: user_id.clone(),
                key_digest: Digest::of(&[&pairing.public_key]),
                session_class: pairing.session_class,
            };
            let entry = event.entry(AuditLog::Workspace(workspace_id), approver.actor(), now_ms);
            Ok::<_, ApiError>(tx.commit_with(entry, pending(&pairing)?).await?)
        })
        .await
}

/// Ends the wait of the device under the code.
pub(crate) async fn refuse_pairing(
    app: &App,
    approver: &Approver,
    decision: Decision<'_>,
) -> Result<PendingDevice, ApiError> {
    let (code, seen) = look_up(app, approver, decision.user_code).await?;
    check_fingerprint(&seen, decision.fingerprint)?;
    let (code, now_ms) = (&code, app.now_ms());
    app.store()
        .run("refuse_pairing", |mut tx| async move {
            let pairing = tx.find_pairing_by_user_code(code, now_ms).await?.ok_or_else(|| over(None))?;
            tx.refuse_pairing(&pairing.id, now_ms).await?;
            let event = AuditEvent::PairingRefused { pairing_id: pairing.id.clone() };
            let entry = event.entry(AuditLog::Deployment(app.deployment_id().clone()), approver.actor(), now_ms);
            Ok::<_, ApiError>(tx.commit_with(entry, pending(&pairing)?).await?)
        })
        .await
}

/// Counts the try, then looks the code up; a right one gives its own try back. The count is durable before the answer is known.
async fn look_up(app: &App, approver: &Approver, user_code: &str) -> Result<(TokenMac, Pairing), ApiError> {
    let now_ms = app.now_ms();
    let counted: Result<u64, StoreError> = app
        .store()
        .run("count_pairing_try", |mut tx| async move {
            let left = tx.count_pairing_try(approver.guesser(), now_ms).await?;
            tx.commit_upkeep(Upkeep::Retry, left)
        })
        .await;
    let left = match counted {
        Ok(left) => left,
        Err(StoreError::Full { .. }) => return Err(locked()),
        Err(other) => return Err(other.into()),
    };
    let code = UserCode::parse(user_code).ok_or_else(|| over(Some(left)))?;
    let code = stored(&app.token_key().mac_user_code(&code));
    let mac = &code;
    let found: Option<Pairing> = app
        .store()
        .read("find_pairing", |mut tx| async move { tx.find_pairing_by_user_code(mac, now_ms).await })
        .await?;
    let pairing = found.ok_or_else(|| over(Some(left)))?;
    app.store()
        .run("return_pairing_try", |mut tx| async move {
            tx.return_pairing_try(approver.guesser()).await?;
            tx.commit_upkeep(Upkeep::Retry, ())
        })
        .await?;
    Ok((code, pairing))
}

/// The same key twice on one account would be one device under two names.
pub(super) async fn check_unbound(tx: &mut ReadTx, user_id: &UserId, public_key: &[u8; 32]) -> Result<(), ApiError> {
    let devices = tx.list_devices(user_id).await?;
    match devices.iter().find(|device| device.revoked_at_ms.is_none() && device.public_key == *public_key) {
        Some(device) => {
            Err(ApiError::new(Code::DeviceExists, format!("this account has this device already, as {}", device.id)))
        }
        None => Ok(()),
    }
}

/// The person's own workspace, where a new device begins.
async fn find_home(tx: &mut ReadTx, user_id: &UserId) -> Result<WorkspaceId, ApiError> {
    let workspaces = tx.list_workspaces(user_id).await?;
    let home = workspaces.iter().find(|workspace| workspace.kind == WorkspaceKind::Personal).or(workspaces.first());
    home.map(|workspace| workspace.id.clone()).ok_or_else(|| ApiError::not_found("workspace"))
}

fn check_fingerprint(pairing: &Pairing, fingerprint: &str) -> Result<(), ApiError> {
    if pending(pairing)?.fingerprint == fingerprint {
        return Ok(());
    }
    Err(ApiError::new(Code::StaleVersion, "another device waits under this code than the one that was shown")
        .at("fingerprint"))
}

fn pending(pairing: &Pairing) -> Result<PendingDevice, ApiError> {
    let key = PublicKey::from_bytes(&pairing.public_key).map_err(ApiError::internal)?;
    Ok(PendingDevice {
        device_name: pairing.device_name.clone(),
        fingerprint: key.fingerprint(),
        session_class: pairing.session_class,
        origin: pairing.origin.clone(),
        started_at: wire_seconds(pairing.created_at_ms),
    })
}

fn over(left: Option<u64>) -> ApiError {
    let tries = match left {
        Some(0) => String::from("; no try is left, wait ten minutes"),
        Some(1) => String::from("; 1 try is left"),
        Some(left) => format!("; {left} tries are left"),
        None => String::new(),
    };
    ApiError::new(Code::PairingExpired, format!("no device waits under this code{tries}"))
}

fn locked() -> ApiError {
    ApiError::new(Code::PairingTries, "too many wrong codes; wait ten minutes and begin again on the device")
        .retry_after(limits::PAIRING_TTL_S)
}
