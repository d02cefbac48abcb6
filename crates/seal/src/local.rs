//! Secrets that never leave the device (type 15): the public client's key, a credential or consent that is not yet sealed under a review, the client of a sign-in, and the recorded answer of a call. Sealed under the person's key, bound to this device.

use crate::{
    clv2::{self, OpenError, SealError, SealRandom},
    context::DeviceLocalContext,
    credential::Credential,
    device_direct::fixed,
    grant::DeviceGrant,
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
/// Beginning of the row id of a client that a sign-in registered.
const CLIENT: &str = "client:";
/// Beginning of the row id of a consent that waits for its review.
const CONSENT: &str = "consent:";

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

/// The sign-in that a client or a consent belongs to, before it is sealed as a connection's credential.
#[derive(Clone, Copy)]
pub struct SignInPlace<'a> {
    /// The connection, where there is one yet.
    pub connection: Option<&'a ConnectionId>,
    /// The server that is signed in for.
    pub endpoint: &'a str,
    /// The authorization server.
    pub issuer: &'a str,
    /// Digest that names the sign-in on this device.
    pub sign_in: &'a Digest,
}

/// Seals the client of a sign-in: what was registered, so that it is not registered twice.
pub fn seal_client(
    usk: &UserSealingKey,
    place: LocalPlace<'_>,
    sign_in: SignInPlace<'_>,
    client: &DeviceGrant,
    random: SealRandom,
) -> Result<Vec<u8>, SealError> {
    let row_id = format!("{CLIENT}{}", sign_in.sign_in.hex());
    let context =
        sign_in_context(usk, place, sign_in, SignInRow { kind: SecretKind::Dcr, client_id: "", row_id: &row_id });
    let plaintext = client.to_plaintext().filter(|_| client.facts.issuer == sign_in.issuer).ok_or(SealError)?;
    clv2::seal(usk.local_key(), &context, VERSION, &plaintext, random)
}

/// Opens the client of a sign-in.
pub fn open_client(
    usk: &UserSealingKey,
    place: LocalPlace<'_>,
    sign_in: SignInPlace<'_>,
    blob: &[u8],
) -> Result<DeviceGrant, OpenError> {
    let row_id = format!("{CLIENT}{}", sign_in.sign_in.hex());
    let context =
        sign_in_context(usk, place, sign_in, SignInRow { kind: SecretKind::Dcr, client_id: "", row_id: &row_id });
    open_grant(usk, &context, sign_in, blob)
}

/// Seals a consent until its review stands.
pub fn seal_consent(
    usk: &UserSealingKey,
    place: LocalPlace<'_>,
    sign_in: SignInPlace<'_>,
    grant: &DeviceGrant,
    random: SealRandom,
) -> Result<Vec<u8>, SealError> {
    let row_id = format!("{CONSENT}{}", sign_in.sign_in.hex());
    let row = SignInRow { kind: SecretKind::OAuth, client_id: &grant.facts.client_id, row_id: &row_id };
    let context = sign_in_context(usk, place, sign_in, row);
    let whole = grant.is_complete() && grant.facts.issuer == sign_in.issuer;
    let plaintext = grant.to_plaintext().filter(|_| whole).ok_or(SealError)?;
    clv2::seal(usk.local_key(), &context, VERSION, &plaintext, random)
}

/// Opens a consent that was given to this client.
pub fn open_consent(
    usk: &UserSealingKey,
    place: LocalPlace<'_>,
    sign_in: SignInPlace<'_>,
    client_id: &str,
    blob: &[u8],
) -> Result<DeviceGrant, OpenError> {
    let row_id = format!("{CONSENT}{}", sign_in.sign_in.hex());
    let context =
        sign_in_context(usk, place, sign_in, SignInRow { kind: SecretKind::OAuth, client_id, row_id: &row_id });
    open_grant(usk, &context, sign_in, blob)
}

fn open_grant(
    usk: &UserSealingKey,
    context: &DeviceLocalContext<'_>,
    sign_in: SignInPlace<'_>,
    blob: &[u8],
) -> Result<DeviceGrant, OpenError> {
    let claimed = ClaimedBlob::parse(blob).map_err(|_| OpenError)?;
    let plaintext = clv2::open(usk.local_key(), context, VERSION, &claimed)?;
    DeviceGrant::from_plaintext(&plaintext).filter(|grant| grant.facts.issuer == sign_in.issuer).ok_or(OpenError)
}

#[derive(Clone, Copy)]
struct SignInRow<'a> {
    kind: SecretKind,
    client_id: &'a str,
    row_id: &'a str,
}

fn sign_in_context<'a>(
    usk: &UserSealingKey,
    place: LocalPlace<'a>,
    sign_in: SignInPlace<'a>,
    row: SignInRow<'a>,
) -> DeviceLocalContext<'a> {
    DeviceLocalContext {
        deployment: place.deployment,
        workspace: place.workspace,
        connection: sign_in.connection,
        endpoint: sign_in.endpoint,
        issuer: sign_in.issuer,
        client_id: row.client_id,
        secret_kind: row.kind,
        row_id: row.row_id,
        author_device: place.device,
        usk_gen: usk.generation(),
    }
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
