//! Secrets that never leave the device (type 15): the public client's key, a credential that is typed but not yet sealed, and the recorded answer of a call. Sealed under the person's key, bound to this device.

use crate::{
    clv2::{self, OpenError, SealError, SealRandom},
    context::DeviceLocalContext,
    credential::Credential,
    device_direct::fixed,
    usk::UserSealingKey,
    v1::V1Key,
};
use contract::{
    Digest,
    blob::{ClaimedBlob, SecretKind},
    ids::{ConnectionId, DeploymentId, DeviceId, WorkspaceId},
};
use sign::Secret;

/// Version of every device-local blob: they are replaced whole.
const VERSION: u64 = 1;
/// Row id of the public client's key.
const V1_KEY: &str = "v1_key";
/// Row id of a credential that waits for its review.
const DRAFT: &str = "draft";
/// Beginning of the row id of a call's recorded answer.
const CALL: &str = "call:";

/// The device a local secret belongs to.
#[derive(Clone, Copy)]
pub struct LocalPlace<'a> {
    /// The installation.
    pub deployment: &'a DeploymentId,
    /// The workspace.
    pub workspace: &'a WorkspaceId,
    /// This device.
    pub device: &'a DeviceId,
}

/// The connection a draft belongs to.
#[derive(Clone, Copy)]
pub struct DraftPlace<'a> {
    /// The connection.
    pub connection: &'a ConnectionId,
    /// Its endpoint.
    pub endpoint: &'a str,
}

/// Seals the public client's key.
pub fn seal_v1_key(
    usk: &UserSealingKey,
    place: LocalPlace<'_>,
    key: &V1Key,
    random: SealRandom,
) -> Result<Vec<u8>, SealError> {
    clv2::seal(usk.local_key(), &v1_key_context(usk, place), VERSION, &key.to_bytes(), random)
}

/// Opens the public client's key.
pub fn open_v1_key(usk: &UserSealingKey, place: LocalPlace<'_>, blob: &[u8]) -> Result<V1Key, OpenError> {
    let claimed = ClaimedBlob::parse(blob).map_err(|_| OpenError)?;
    let bytes = clv2::open(usk.local_key(), &v1_key_context(usk, place), VERSION, &claimed)?;
    fixed(&bytes).map(V1Key::new).ok_or(OpenError)
}

/// Seals a typed credential until its review stands.
pub fn seal_draft(
    usk: &UserSealingKey,
    place: LocalPlace<'_>,
    draft: DraftPlace<'_>,
    credential: &Credential,
    random: SealRandom,
) -> Result<Vec<u8>, SealError> {
    let plaintext = credential.to_plaintext().ok_or(SealError)?;
    clv2::seal(usk.local_key(), &draft_context(usk, place, draft, credential.kind()), VERSION, &plaintext, random)
}

/// Opens a draft of the kind that was typed.
pub fn open_draft(
    usk: &UserSealingKey,
    place: LocalPlace<'_>,
    draft: DraftPlace<'_>,
    kind: SecretKind,
    blob: &[u8],
) -> Result<Credential, OpenError> {
    let claimed = ClaimedBlob::parse(blob).map_err(|_| OpenError)?;
    let plaintext: Secret<Vec<u8>> =
        clv2::open(usk.local_key(), &draft_context(usk, place, draft, kind), VERSION, &claimed)?;
    Credential::from_plaintext(kind, &plaintext).ok_or(OpenError)
}

/// The call that a recorded answer belongs to.
#[derive(Clone, Copy)]
pub struct CallPlace<'a> {
    /// The connection.
    pub connection: &'a ConnectionId,
    /// Digest that names the call on this device.
    pub call: &'a Digest,
}

/// Seals the recorded answer of a call.
pub fn seal_call_answer(
    usk: &UserSealingKey,
    place: LocalPlace<'_>,
    call: CallPlace<'_>,
    answer: &Secret<Vec<u8>>,
    random: SealRandom,
) -> Result<Vec<u8>, SealError> {
    let row_id = call_row_id(call);
    clv2::seal(usk.local_key(), &call_context(usk, place, call, &row_id), VERSION, answer, random)
}

/// Opens the recorded answer of a call.
pub fn open_call_answer(
    usk: &UserSealingKey,
    place: LocalPlace<'_>,
    call: CallPlace<'_>,
    blob: &[u8],
) -> Result<Secret<Vec<u8>>, OpenError> {
    let claimed = ClaimedBlob::parse(blob).map_err(|_| OpenError)?;
    let row_id = call_row_id(call);
    clv2::open(usk.local_key(), &call_context(usk, place, call, &row_id), VERSION, &claimed)
}

fn call_row_id(call: CallPlace<'_>) -> String {
    format!("{CALL}{}", call.call.hex())
}

fn call_context<'a>(
    usk: &UserSealingKey,
    place: LocalPlace<'a>,
    call: CallPlace<'a>,
    row_id: &'a str,
) -> DeviceLocalContext<'a> {
    DeviceLocalContext {
        deployment: place.deployment,
        workspace: place.workspace,
        connection: Some(call.connection),
        endpoint: "",
        issuer: "",
        client_id: "",
        secret_kind: SecretKind::None,
        row_id,
        author_device: place.device,
        usk_gen: usk.generation(),
    }
}

fn v1_key_context<'a>(usk: &UserSealingKey, place: LocalPlace<'a>) -> DeviceLocalContext<'a> {
    DeviceLocalContext {
        deployment: place.deployment,
        workspace: place.workspace,
        connection: None,
        endpoint: "",
        issuer: "",
        client_id: "",
        secret_kind: SecretKind::None,
        row_id: V1_KEY,
        author_device: place.device,
        usk_gen: usk.generation(),
    }
}

fn draft_context<'a>(
    usk: &UserSealingKey,
    place: LocalPlace<'a>,
    draft: DraftPlace<'a>,
    kind: SecretKind,
) -> DeviceLocalContext<'a> {
    DeviceLocalContext {
        deployment: place.deployment,
        workspace: place.workspace,
        connection: Some(draft.connection),
        endpoint: draft.endpoint,
        issuer: "",
        client_id: "",
        secret_kind: kind,
        row_id: DRAFT,
        author_device: place.device,
        usk_gen: usk.generation(),
    }
}

#[cfg(test)]
#[path = "local_tests.rs"]
mod tests;
