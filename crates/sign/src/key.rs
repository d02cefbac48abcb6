//! Device keys and public keys (Ed25519, RFC 8032): the one signer and the one strict verifier. Never accepts a weak, malformed or non-canonical key, and has no other way to verify.

use crate::Secret;
use contract::{Digest, b64u, blob::SignatureAlg, digest};
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use std::fmt;

/// The text is not the canonical url-safe base64 of a usable Ed25519 public key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a usable ed25519 public key")]
pub struct PublicKeyError;

/// The signature is not this key's over these bytes. One bare reason, so that nobody learns how near they came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the signature does not verify")]
pub struct SignatureError;

/// A device's signing key, made from 32 random bytes that the caller brings. Wiped on drop.
///
/// ```
/// let key = collie_sign::DeviceKey::from_seed(&collie_sign::Secret::new([7; 32]));
/// let shown = format!("{:?}", key.public_key());
/// # let _ = shown;
/// ```
/// ```compile_fail
/// let key = collie_sign::DeviceKey::from_seed(&collie_sign::Secret::new([7; 32]));
/// let shown = format!("{:?}", key);
/// # let _ = shown;
/// ```
pub struct DeviceKey(SigningKey);

impl DeviceKey {
    /// Derives the key from its seed (RFC 8032 5.1.5).
    #[must_use]
    pub fn from_seed(seed: &Secret<[u8; 32]>) -> Self {
        // EXPOSE: to the signing key, which wipes itself.
        Self(seed.with(SigningKey::from_bytes))
    }

    /// The public half.
    #[must_use]
    pub fn public_key(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    /// The seed, for the device's own key file and nothing else.
    #[must_use]
    pub fn expose_seed_for_key_file(&self) -> Secret<[u8; 32]> {
        Secret::init(|seed: &mut [u8; 32]| seed.copy_from_slice(self.0.as_bytes()))
    }

    pub(crate) fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.0.sign(message).to_bytes()
    }
}

/// A public key that may be registered: canonical, on the curve, not of small order.
#[derive(Clone, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

impl PublicKey {
    /// Reads canonical url-safe base64 of 32 bytes.
    pub fn parse(text: &str) -> Result<Self, PublicKeyError> {
        Self::from_bytes(&b64u::decode_array(text).map_err(|_| PublicKeyError)?)
    }

    /// Reads the raw 32 bytes (RFC 8032 5.1.2), refusing second spellings of a point and points of small order.
    pub fn from_bytes(bytes: &[u8; 32]) -> Result<Self, PublicKeyError> {
        let key = VerifyingKey::from_bytes(bytes).map_err(|_| PublicKeyError)?;
        // Decoding takes y ≥ p and the sign of zero as they come; only the spelling that encoding gives back is one key.
        if key.is_weak() || key.to_edwards().compress().as_bytes() != bytes {
            return Err(PublicKeyError);
        }
        Ok(Self(key))
    }

    /// The wire form: url-safe base64 without padding.
    #[must_use]
    pub fn b64u(&self) -> String {
        b64u::encode(self.as_bytes())
    }

    /// The raw 32 bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }

    /// The key's algorithm. It belongs to the key; no message chooses it (2.c.5).
    #[must_use]
    pub const fn alg(&self) -> SignatureAlg {
        SignatureAlg::Ed25519
    }

    /// `SHA-256(alg u16 ‖ raw)` (2.c.1).
    #[must_use]
    pub fn kid(&self) -> Digest {
        Digest::of(&[&self.alg().number().to_be_bytes(), self.as_bytes()])
    }

    /// The first eight bytes of [`kid`](Self::kid) in groups of four digits, to compare on two screens.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let kid = self.kid();
        let groups: Vec<_> = kid.as_bytes().chunks(2).take(4).map(digest::hex).collect();
        groups.join("-")
    }

    /// `verify_strict`, never `verify`: the lax rule lets a key of small order sign everything at once (2.c.4).
    pub(crate) fn verify(&self, message: &[u8], signature: &[u8; 64]) -> Result<(), SignatureError> {
        self.0.verify_strict(message, &Signature::from_bytes(signature)).map_err(|_| SignatureError)
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({})", self.b64u())
    }
}

#[cfg(test)]
#[path = "key_tests.rs"]
mod tests;
