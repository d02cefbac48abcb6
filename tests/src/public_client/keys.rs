//! The public client's keys: a device key that signs requests and one sealing key for everything it seals. Written from wire-collie-v1 1.3 and 3.1 alone; shares no code with the product.

use super::pyjson::Py;
use aes_gcm::{
    Aes256Gcm, Nonce,
    aead::{Aead as _, KeyInit as _, Payload},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ed25519_dalek::{Signer as _, SigningKey};
use sha2::{Digest as _, Sha256};

/// `base64.urlsafe_b64encode(…).rstrip("=")`
#[must_use]
pub fn b64u(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// `b64u(SHA-256(bytes))`
#[must_use]
pub fn digest(bytes: impl AsRef<[u8]>) -> String {
    b64u(Sha256::digest(bytes))
}

/// Random bytes, as `secrets.token_bytes`.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "the driver stands for a program outside, with randomness of its own")]
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the system has randomness");
    bytes
}

/// `int(time.time())`
#[must_use]
#[expect(clippy::disallowed_methods, reason = "the driver stands for a program outside, with a clock of its own")]
pub fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
    i64::try_from(since.as_secs()).expect("before the year 292 billion")
}

/// A device's Ed25519 key.
pub struct DeviceKey(SigningKey);

impl DeviceKey {
    /// The key of this seed.
    #[must_use]
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        Self(SigningKey::from_bytes(seed))
    }

    /// b64u of the raw public key.
    #[must_use]
    pub fn public(&self) -> String {
        b64u(self.0.verifying_key().as_bytes())
    }

    /// `METHOD LF TARGET LF b64u(SHA-256(body)) LF timestamp LF nonce`, signed.
    #[must_use]
    pub fn sign(&self, method: &str, target: &str, body: &[u8], timestamp: i64, nonce: &str) -> String {
        let message = format!("{method}\n{target}\n{}\n{timestamp}\n{nonce}", digest(body));
        b64u(self.0.sign(message.as_bytes()).to_bytes())
    }
}

/// The person's sealing key, one for everything.
pub struct SealKey([u8; 32]);

impl SealKey {
    /// Wraps 32 bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Seals `content` into an envelope.
    #[must_use]
    pub fn seal(&self, scope: &str, object_id: &str, content: &Py, nonce: [u8; 12]) -> Py {
        let (plain, aad) = (content.dumps(), aad(scope, object_id));
        let payload = Payload { msg: plain.as_bytes(), aad: &aad };
        let ciphertext = self.cipher().encrypt(&Nonce::from(nonce), payload).expect("short enough");
        Py::dict([
            ("v", Py::from(1)),
            ("alg", Py::from("A256GCM")),
            ("nonce", Py::from(b64u(nonce))),
            ("ciphertext", Py::from(b64u(ciphertext))),
        ])
    }

    /// Opens an envelope; anything else than version 1 and A256GCM does not open.
    #[must_use]
    pub fn open(&self, scope: &str, object_id: &str, envelope: &Py) -> Option<Py> {
        if envelope.find("v")?.as_i64() != Some(1) || envelope.find_str("alg") != Some("A256GCM") {
            return None;
        }
        let bytes = |key: &str| URL_SAFE_NO_PAD.decode(envelope.find_str(key)?).ok();
        let nonce: [u8; 12] = bytes("nonce")?.try_into().ok()?;
        let ciphertext = bytes("ciphertext")?;
        let payload = Payload { msg: &ciphertext, aad: &aad(scope, object_id) };
        let plain = self.cipher().decrypt(&Nonce::from(nonce), payload).ok()?;
        Py::loads(std::str::from_utf8(&plain).ok()?)
    }

    fn cipher(&self) -> Aes256Gcm {
        Aes256Gcm::new(&self.0.into())
    }
}

fn aad(scope: &str, object_id: &str) -> Vec<u8> {
    [b"collie-sealed-v1", scope.as_bytes(), object_id.as_bytes()].join(&0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_signature_comes_out() {
        let mut seed = [0_u8; 32];
        seed.iter_mut().zip(0..).for_each(|(byte, value)| *byte = value);
        let key = DeviceKey::from_seed(&seed);
        assert_eq!(key.public(), "A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg");
        let signature =
            key.sign("GET", "/v1/sync/pull?cursor=0&limit=100", b"", 1_790_000_000, "AAECAwQFBgcICQoLDA0ODxAR");
        assert_eq!(signature, "jGA2UGYVQI7akVYbC2TTLQ0l0Nrq1XlzfRcb2Rlj-D7EdSkXYEakpek_bhOHPUpFXkAaC5n4W98kLMP7o8lTDg");
    }

    #[test]
    fn the_published_envelope_comes_out() {
        let mut key = [0_u8; 32];
        key.iter_mut().zip(0x80..).for_each(|(byte, value)| *byte = value);
        let mut nonce = [0_u8; 12];
        nonce.iter_mut().zip(0..).for_each(|(byte, value)| *byte = value);
        let content = Py::dict([("n", Py::from(1)), ("text", Py::from("private — only devices"))]);
        let envelope = SealKey(key).seal("project-1", "memory:dev-1:7", &content, nonce);
        assert_eq!(
            envelope.find_str("ciphertext"),
            Some("iGIRCy8XVomyESEYCmzf0Ybu0KgAwvdcQcjj1dYQDRL5NXGoiUhIaYHYmFBLTQcOuWMPqbWmVlKO")
        );
        assert_eq!(SealKey(key).open("project-1", "memory:dev-1:7", &envelope), Some(content));
        assert_eq!(SealKey(key).open("project-1", "memory:dev-1:8", &envelope), None);
    }
}
