//! ES256 keys (RFC 7518 3.4) for client assertions towards authorization servers: deterministic (RFC 6979), so that no randomness is needed. Never signs anything of our own protocol.

use crate::Secret;
use contract::b64u;
use p256::ecdsa::signature::Signer as _;
use p256::ecdsa::{Signature, SigningKey};

/// The bytes are no private key of P-256.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a private key of P-256")]
pub struct Es256Error;

/// A P-256 private key. The library wipes it on drop.
pub struct Es256Key(SigningKey);

/// The public half as a JWK (RFC 7517): `x` and `y` as url-safe base64.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Es256Public {
    /// The x coordinate.
    pub x: String,
    /// The y coordinate.
    pub y: String,
}

impl Es256Key {
    /// A key from its 32 secret bytes; zero and what is not below the order are refused.
    pub fn from_secret(secret: &Secret<[u8; 32]>) -> Result<Self, Es256Error> {
        // EXPOSE: to the signing key, which wipes its copy on drop.
        secret.with(|bytes| SigningKey::from_slice(bytes)).map(Self).map_err(|_| Es256Error)
    }

    /// `r ‖ s` over SHA-256 of `message`, as a JWS carries it.
    #[must_use]
    pub fn sign(&self, message: &[u8]) -> [u8; 64] {
        let signature: Signature = self.0.sign(message);
        signature.to_bytes().into()
    }

    /// The public half.
    #[must_use]
    pub fn public(&self) -> Es256Public {
        let point = self.0.verifying_key().to_sec1_point(false);
        let half = |bytes: Option<&_>| bytes.map(b64u::encode).unwrap_or_default();
        Es256Public { x: half(point.x()), y: half(point.y()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        text.as_bytes()
            .chunks(2)
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16).expect("hexadecimal"))
            .collect()
    }

    #[test]
    fn vector_rfc_6979_a_2_5() {
        let secret = hex("c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721");
        let key = Es256Key::from_secret(&Secret::new(secret.try_into().expect("32 bytes"))).expect("a key");
        let signature = key.sign(b"sample");
        let r = "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716";
        let s = "f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8";
        assert_eq!(signature.to_vec(), hex(&format!("{r}{s}")));
        let x = hex("60fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6");
        let y = hex("7903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177a3c294d4462299");
        assert_eq!(key.public(), Es256Public { x: b64u::encode(x), y: b64u::encode(y) });
    }

    #[test]
    fn zero_and_the_order_are_no_keys() {
        for bytes in [[0; 32], [0xff; 32]] {
            assert!(Es256Key::from_secret(&Secret::new(bytes)).is_err());
        }
    }
}
