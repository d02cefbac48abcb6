//! The public client's frozen envelope (wire-collie-v1 3.1, 3.3; 2.b.9): opened, and written only for connections that were created for that client. Never holds a refresh token or a token endpoint that we obtained.

use crate::{
    clv2::{OpenError, SealError},
    credential::{self, Credential, HeaderLine},
};
use aes_gcm::{Aes256Gcm, KeyInit as _, Nonce, aead::AeadInOut as _};
use contract::{
    Json, b64u,
    blob::SecretKind,
    cjson,
    connection::{ConnectionRow, Scope},
    credential::{BindingV1, EnvelopeV1},
    ids::{UserId, WorkspaceId},
    labels, limits,
};
use sign::Secret;
use zeroize::Zeroize as _;

/// What the public client's key text starts with. It has no checksum: any typing mistake is a valid other key, so an import proves itself by opening something.
pub const PREFIX: &str = "collie-seal-v1:";

/// The text is not the public client's key text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a `collie-seal-v1:` key text")]
pub struct V1TextError;

/// The public client's key: 32 random bytes of its own, never derived from the person's sealing key.
pub struct V1Key(Secret<[u8; 32]>);

impl V1Key {
    /// Takes 32 random bytes.
    #[must_use]
    pub const fn new(key: Secret<[u8; 32]>) -> Self {
        Self(key)
    }

    /// Writes the key text.
    #[must_use]
    pub fn to_text(&self) -> Secret<String> {
        // EXPOSE: to the text, which is a secret itself.
        Secret::init(|text: &mut String| {
            text.push_str(PREFIX);
            self.0.with(|bytes| text.push_str(&b64u::encode(bytes)));
        })
    }

    /// Reads a key text. A mistyped one may read as another key: open something with it before it is stored.
    pub fn from_text(text: &Secret<String>) -> Result<Self, V1TextError> {
        // EXPOSE: to the decoder, whose only result is a key.
        text.with(|text| {
            let body = text.trim().strip_prefix(PREFIX).ok_or(V1TextError)?;
            let mut bytes = b64u::decode_array::<32>(body).map_err(|_| V1TextError)?;
            let key = Secret::init(|out: &mut [u8; 32]| out.copy_from_slice(&bytes));
            bytes.zeroize();
            Ok(Self(key))
        })
    }

    /// Whether both are the same key.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.0.is_same(&other.0)
    }

    pub(crate) fn to_bytes(&self) -> Secret<Vec<u8>> {
        // EXPOSE: to the plaintext of the key's own blob.
        Secret::init(|out: &mut Vec<u8>| self.0.with(|bytes| out.extend_from_slice(bytes)))
    }

    fn cipher(&self) -> Aes256Gcm {
        // EXPOSE: to the cipher.
        self.0.with(|bytes| Aes256Gcm::new(bytes.into()))
    }
}

/// Names an object of the public client: `"collie-sealed-v1" 00 SCOPE 00 OBJECT_ID`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectName {
    scope: String,
    object_id: String,
}

impl ObjectName {
    /// A synchronised object: the scope is the project's id.
    #[must_use]
    pub fn of_object(project_id: &str, object_id: &str) -> Self {
        Self { scope: project_id.to_owned(), object_id: object_id.to_owned() }
    }

    /// The scope text.
    #[must_use]
    pub fn scope(&self) -> &str {
        &self.scope
    }

    fn aad(&self) -> Vec<u8> {
        [labels::V1_SEALED, self.scope.as_bytes(), b"\0", self.object_id.as_bytes()].concat()
    }

    /// The separator is NUL, so a NUL inside would move a boundary.
    fn is_plain(&self) -> bool {
        !self.scope.contains('\0') && !self.object_id.contains('\0')
    }
}

/// Proof that a connection was created for the public client and that its review stands: the only place a v1 credential is read from or written for.
///
/// ```
/// use collie_seal::v1::{V1Connection, V1Key, open_v1};
/// use contract::credential::EnvelopeV1;
/// fn read(key: &V1Key, proof: &V1Connection, envelope: &EnvelopeV1) { let _ = open_v1(key, proof, envelope); }
/// ```
/// ```compile_fail
/// use collie_seal::v1::{V1Connection, V1Key, open_v1};
/// use contract::credential::EnvelopeV1;
/// fn read(key: &V1Key, proof: &contract::connection::ConnectionRow, envelope: &EnvelopeV1) { let _ = open_v1(key, proof, envelope); }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct V1Connection {
    name: ObjectName,
    binding: BindingV1,
}

impl V1Connection {
    /// The proof for a row in the v1 format whose review stands; none for any other row (C5).
    #[must_use]
    pub fn of(row: &ConnectionRow, workspace: &WorkspaceId, user: &UserId) -> Option<Self> {
        let binding = BindingV1::of(row)?;
        let scope = match row.scope {
            Scope::Project => format!("connection-project:{}", row.project_id),
            Scope::Personal => format!("connection-personal:{workspace}:{user}"),
        };
        let name = ObjectName { scope, object_id: format!("connection-credential:{}", row.id) };
        name.is_plain().then_some(Self { name, binding })
    }

    /// The name its credential is sealed under.
    #[must_use]
    pub const fn name(&self) -> &ObjectName {
        &self.name
    }
}

/// Writes a credential for the public client. `nonce` is 12 fresh random bytes, `sealed_at_s` Unix seconds.
pub fn seal_v1(
    key: &V1Key,
    connection: &V1Connection,
    credential: &Credential,
    sealed_at_s: u64,
    nonce: &[u8; 12],
) -> Result<EnvelopeV1, SealError> {
    if credential.kind() == SecretKind::OAuth {
        // The public client would use the token without its end, and could not refresh it (2.b.9).
        return Err(SealError);
    }
    let binding = cjson::to_canonical(&connection.binding).map_err(|_| SealError)?;
    let plaintext = Secret::init(|out: &mut Vec<u8>| {
        out.reserve(binding.len() + 2 * limits::CREDENTIAL_BYTES_MAX);
        out.extend_from_slice(b"{\"binding\":");
        out.extend_from_slice(&binding);
        out.extend_from_slice(b",\"credential\":");
        credential.expose_for_upstream_request(|lines| write_credential(credential.kind(), lines, out));
        out.extend_from_slice(format!(",\"sealed_at\":{sealed_at_s},\"version\":1}}").as_bytes());
    });
    seal_envelope(key, &connection.name, &plaintext, nonce)
}

/// `{"access_token":…,"token_type":"Bearer"}` or `{"headers":{…}}`: nothing with which the public client could refresh.
fn write_credential(kind: SecretKind, lines: &[HeaderLine], out: &mut Vec<u8>) {
    match kind {
        SecretKind::StaticBearer => {
            out.extend_from_slice(b"{\"access_token\":");
            credential::push_string(lines.first().map_or("", HeaderLine::secret), out);
            out.extend_from_slice(b",\"token_type\":\"Bearer\"}");
        }
        // A credential of header lines is never one of the last four.
        SecretKind::StaticHeader
        | SecretKind::None
        | SecretKind::OAuth
        | SecretKind::ClientSecret
        | SecretKind::Dcr
        | SecretKind::Pkce => {
            out.extend_from_slice(b"{\"headers\":{");
            if let Some(line) = lines.first() {
                credential::push_string(line.name(), out);
                out.push(b':');
                credential::push_string(line.value(), out);
            }
            out.extend_from_slice(b"}}");
        }
    }
}

/// A v1 credential that opened and names the connection it was opened for.
#[must_use = "an opened credential that nobody uses should not have been opened"]
pub struct OpenedV1 {
    credential: Credential,
    sealed_at_s: u64,
}

impl OpenedV1 {
    /// The credential.
    #[must_use]
    pub const fn credential(&self) -> &Credential {
        &self.credential
    }

    /// Unix seconds by the clock of the device that sealed it.
    #[must_use]
    pub const fn sealed_at_s(&self) -> u64 {
        self.sealed_at_s
    }
}

/// Opens a credential of the public client. Its binding must equal the row's eight fields.
pub fn open_v1(key: &V1Key, connection: &V1Connection, envelope: &EnvelopeV1) -> Result<OpenedV1, OpenError> {
    let plaintext = open_envelope(key, &connection.name, envelope)?;
    // EXPOSE: to the reader, which wipes what it read.
    plaintext.with(|bytes| read_plaintext(connection, bytes)).ok_or(OpenError)
}

fn read_plaintext(connection: &V1Connection, bytes: &[u8]) -> Option<OpenedV1> {
    let document = WipedJson(cjson::parse(bytes, limits::CREDENTIAL_BYTES_MAX).ok()?);
    let binding = cjson::to_canonical(&connection.binding).ok()?;
    let same = document.0.find("binding")?.canonical() == binding;
    let version = document.0.find("version")?.as_i64()?;
    if !same || version != 1 {
        return None;
    }
    let sealed_at_s =
        document.0.find("sealed_at").and_then(Json::as_i64).and_then(|s| u64::try_from(s).ok()).unwrap_or(0);
    let credential = Credential::from_lines(read_lines(document.0.find("credential")?)?);
    Some(OpenedV1 { credential, sealed_at_s })
}

/// Only what a request needs; a refresh token of the public client's own stays unread.
fn read_lines(credential: &Json) -> Option<Vec<HeaderLine>> {
    let mut lines = Vec::new();
    if let Some(token) = credential.find_str("access_token").filter(|token| !token.is_empty()) {
        let scheme = credential.find_str("token_type").filter(|scheme| !scheme.is_empty()).unwrap_or("Bearer");
        credential::check_value(token, false).ok()?;
        credential::check_value(scheme, false).ok()?;
        lines.push(credential::bearer_line(scheme, token));
    } else {
        credential.find("headers")?.as_object()?;
    }
    for (name, value) in credential.find("headers").and_then(Json::as_object).into_iter().flatten() {
        let value = value.as_str()?;
        credential::check_name(name).ok()?;
        credential::check_value(value, true).ok()?;
        lines.push(credential::header_line(name, value));
    }
    (lines.len() <= limits::CREDENTIAL_HEADERS_MAX).then_some(lines)
}

/// Seals an object in the frozen envelope: AES-256-GCM (NIST SP 800-38D) under the key itself.
pub(crate) fn seal_envelope(
    key: &V1Key,
    name: &ObjectName,
    plaintext: &Secret<Vec<u8>>,
    nonce: &[u8; 12],
) -> Result<EnvelopeV1, SealError> {
    if !name.is_plain() {
        return Err(SealError);
    }
    // EXPOSE: to the cipher, in a buffer that is ciphertext when it succeeds and wiped when it does not.
    let mut body = plaintext.with(|bytes| {
        let mut body = Vec::with_capacity(bytes.len() + contract::blob::TAG_BYTES);
        body.extend_from_slice(bytes);
        body
    });
    if key.cipher().encrypt_in_place(&Nonce::from(*nonce), &name.aad(), &mut body).is_err() {
        body.zeroize();
        return Err(SealError);
    }
    if body.len() > limits::V1_ENVELOPE_BYTES_MAX {
        return Err(SealError);
    }
    Ok(EnvelopeV1 { v: 1, alg: EnvelopeV1::ALG.to_owned(), nonce: b64u::encode(nonce), ciphertext: b64u::encode(body) })
}

/// Opens an object in the frozen envelope; also the trial that an imported key has to pass (C7).
pub fn open_envelope(key: &V1Key, name: &ObjectName, envelope: &EnvelopeV1) -> Result<Secret<Vec<u8>>, OpenError> {
    let (nonce, ciphertext) = envelope.parts().map_err(|_| OpenError)?;
    if !name.is_plain() {
        return Err(OpenError);
    }
    let mut opened = Err(OpenError);
    let plaintext = Secret::init(|body: &mut Vec<u8>| {
        *body = ciphertext;
        opened = key.cipher().decrypt_in_place(&Nonce::from(nonce), &name.aad(), body).map_err(|_| OpenError);
    });
    opened.map(|()| plaintext)
}

/// A document that held a secret: its strings are wiped when it goes.
struct WipedJson(Json);

impl Drop for WipedJson {
    fn drop(&mut self) {
        wipe(&mut self.0);
    }
}

fn wipe(json: &mut Json) {
    match json {
        Json::String(text) => text.zeroize(),
        Json::Array(items) => items.iter_mut().for_each(wipe),
        Json::Object(members) => members.values_mut().for_each(wipe),
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

#[cfg(test)]
#[path = "v1_tests.rs"]
mod tests;
