//! The one envelope, CLV2 (2.a.2): committing to key and context, opened only under a header and context that the opener builds itself. Never tries a second key, format or suite.

use crate::{context::BlobContext, ctx::Ctx};
use chacha20poly1305::{KeyInit as _, XChaCha20Poly1305, XNonce, aead::AeadInOut as _};
use contract::{
    Digest,
    blob::{BlobType, ClaimedBlob, HEADER_BYTES, MAGIC, Suite, TAG_BYTES},
    labels, limits,
};
use hkdf::Hkdf;
use sha2::Sha512;
use sign::Secret;
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

/// The blob does not open. Wrong key, wrong context, wrong version, changed bytes: one error, no reason, no oracle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the sealed object does not open")]
pub struct OpenError;

/// The object cannot be sealed: too large, or its context is not well-formed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the object cannot be sealed")]
pub struct SealError;

/// Fresh randomness for one seal. It is moved into the seal, so it serves once.
pub struct SealRandom {
    salt: [u8; 32],
    nonce: [u8; 24],
}

impl SealRandom {
    /// Random bytes that one seal needs.
    pub const BYTES: usize = 56;

    /// Takes random bytes that were never used before.
    #[must_use]
    pub fn new(random: [u8; Self::BYTES]) -> Self {
        let (mut salt, mut nonce) = ([0; 32], [0; 24]);
        salt.iter_mut().chain(nonce.iter_mut()).zip(random).for_each(|(slot, byte)| *slot = byte);
        Self { salt, nonce }
    }
}

/// A key with what is registered about it: its id, its generation and its suite. A blob does not get to choose them.
pub struct TypedKey {
    key_id: [u8; 16],
    key_gen: u32,
    suite: Suite,
    key: Secret<[u8; 32]>,
}

impl TypedKey {
    pub(crate) const fn new(key_id: [u8; 16], key_gen: u32, key: Secret<[u8; 32]>) -> Self {
        Self { key_id, key_gen, suite: Suite::XChaCha20Poly1305HkdfSha512Commit, key }
    }

    /// A long-lived key: `key_id = SHA-256("collie.kid.v2\0" ‖ key)[..16]` (2.a.3).
    pub(crate) fn long_lived(key_gen: u32, key: Secret<[u8; 32]>) -> Self {
        // EXPOSE: to the hash that names the key.
        let key_id = key.with(|bytes| first_16(&Digest::of(&[labels::KEY_ID, bytes])));
        Self::new(key_id, key_gen, key)
    }

    /// A data key used for one write: `key_id = SHA-256(name)[..16]`, generation 0 (2.a.3).
    pub(crate) fn per_write(name: &str, key: Secret<[u8; 32]>) -> Self {
        Self::new(first_16(&Digest::of(&[name.as_bytes()])), 0, key)
    }

    pub(crate) const fn key_gen(&self) -> u32 {
        self.key_gen
    }

    /// The key as the plaintext of its own wrap.
    pub(crate) fn copy_bytes(&self) -> Secret<Vec<u8>> {
        // EXPOSE: to another secret of the same kind.
        Secret::init(|out: &mut Vec<u8>| self.key.with(|bytes| out.extend_from_slice(bytes)))
    }

    /// The id that the blobs of this key carry.
    #[must_use]
    pub const fn key_id(&self) -> &[u8; 16] {
        &self.key_id
    }
}

/// Seals `plaintext` for what `context` names.
pub fn seal<C: BlobContext>(
    key: &TypedKey,
    context: &C,
    version: u64,
    plaintext: &Secret<Vec<u8>>,
    random: SealRandom,
) -> Result<Vec<u8>, SealError> {
    let ctx = context.ctx().map_err(|_| SealError)?;
    // EXPOSE: to the cipher.
    plaintext.with(|bytes| seal_bytes(key, C::BLOB, version, &ctx, bytes, random))
}

/// Opens a blob as what `context` names and nothing else. Key, type, generation and version are the caller's; only salt, commitment, nonce and ciphertext come from the blob.
pub fn open<C: BlobContext>(
    key: &TypedKey,
    context: &C,
    version: u64,
    claimed: &ClaimedBlob<'_>,
) -> Result<Secret<Vec<u8>>, OpenError> {
    let ctx = context.ctx().map_err(|_| OpenError)?;
    open_bytes(key, C::BLOB, version, &ctx, claimed)
}

pub(crate) fn seal_bytes(
    key: &TypedKey,
    blob: BlobType,
    version: u64,
    ctx: &Ctx,
    plaintext: &[u8],
    random: SealRandom,
) -> Result<Vec<u8>, SealError> {
    if plaintext.len() > limits::BLOB_BYTES_MAX - HEADER_BYTES - TAG_BYTES {
        return Err(SealError);
    }
    let header = header(key, blob, version, &random.salt);
    let aad = [&header[..], ctx.as_bytes()].concat();
    let derived = derive(key, blob, &random.salt, &aad).ok_or(SealError)?;
    let mut body = Vec::with_capacity(plaintext.len() + TAG_BYTES);
    body.extend_from_slice(plaintext);
    derived.cipher().encrypt_in_place(&XNonce::from(random.nonce), &aad, &mut body).map_err(|_| SealError)?;
    let length = u32::try_from(body.len()).map_err(|_| SealError)?;
    Ok([&header[..], &derived.commitment, &random.nonce, &length.to_be_bytes(), &body].concat())
}

pub(crate) fn open_bytes(
    key: &TypedKey,
    blob: BlobType,
    version: u64,
    ctx: &Ctx,
    claimed: &ClaimedBlob<'_>,
) -> Result<Secret<Vec<u8>>, OpenError> {
    let header = header(key, blob, version, &claimed.salt);
    // What the blob says of itself is compared with what is expected, so that no bit of it is free.
    let stated = (claimed.blob, claimed.suite, claimed.key_id, claimed.key_gen, claimed.version);
    if stated != (blob, key.suite, key.key_id, key.key_gen, version) {
        return Err(OpenError);
    }
    let aad = [&header[..], ctx.as_bytes()].concat();
    let derived = derive(key, blob, &claimed.salt, &aad).ok_or(OpenError)?;
    // Before the AEAD: a blob made to open under several keys never reaches it.
    if !bool::from(derived.commitment.ct_eq(&claimed.commitment)) {
        return Err(OpenError);
    }
    let mut opened = Err(OpenError);
    let plaintext = Secret::<Vec<u8>>::init(|body| {
        body.extend_from_slice(claimed.ciphertext);
        opened = derived.cipher().decrypt_in_place(&XNonce::from(claimed.nonce), &aad, body).map_err(|_| OpenError);
    });
    opened.map(|()| plaintext)
}

/// Bytes 0 to 68 of a blob.
fn header(key: &TypedKey, blob: BlobType, version: u64, salt: &[u8; 32]) -> Vec<u8> {
    let parts: [&[u8]; 6] = [
        &MAGIC,
        &[blob.number(), key.suite.number(), 0, 0],
        &key.key_id,
        &key.key_gen.to_be_bytes(),
        &version.to_be_bytes(),
        salt,
    ];
    parts.concat()
}

struct Derived {
    key: Zeroizing<[u8; 32]>,
    commitment: [u8; 32],
}

impl Derived {
    fn cipher(&self) -> XChaCha20Poly1305 {
        XChaCha20Poly1305::new((&*self.key).into())
    }
}

/// `prk = HKDF-SHA-512-Extract(salt, key)`; key and commitment are `Expand(prk, label ‖ type ‖ suite ‖ SHA-256(hdr ‖ CTX), 32)`.
fn derive(key: &TypedKey, blob: BlobType, salt: &[u8; 32], header_and_ctx: &[u8]) -> Option<Derived> {
    let cth = Digest::of(&[header_and_ctx]);
    // EXPOSE: to the key derivation.
    let prk = key.key.with(|bytes| Hkdf::<Sha512>::new(Some(salt), bytes));
    let numbers = [blob.number(), key.suite.number()];
    let mut derived = Derived { key: Zeroizing::new([0; 32]), commitment: [0; 32] };
    prk.expand_multi_info(&[labels::ENV_ENC, &numbers, cth.as_bytes()], &mut *derived.key).ok()?;
    prk.expand_multi_info(&[labels::ENV_COMMIT, &numbers, cth.as_bytes()], &mut derived.commitment).ok()?;
    Some(derived)
}

fn first_16(digest: &Digest) -> [u8; 16] {
    digest.as_bytes().first_chunk().copied().unwrap_or_default()
}

#[cfg(test)]
#[path = "clv2_tests.rs"]
mod tests;
