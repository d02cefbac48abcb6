//! SHA-256 digests as a type, with their two text forms; never a key and never a MAC.

use crate::b64u;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use sha2::{Digest as _, Sha256};
use std::fmt;

/// A SHA-256 digest. On the wire it is url-safe base64 without padding (43 characters).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// `SHA-256(part₀ ‖ part₁ ‖ …)`; callers put the label first and length-prefix what could run together.
    #[must_use]
    pub fn of(parts: &[&[u8]]) -> Self {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update(part);
        }
        Self(hash.finalize().into())
    }

    /// Wraps bytes that are already a digest.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The wire form: url-safe base64 without padding.
    #[must_use]
    pub fn b64u(&self) -> String {
        b64u::encode(self.0)
    }

    /// Lower-case hexadecimal, the form of ledger keys (wire-collie-v1 3.5).
    #[must_use]
    pub fn hex(&self) -> String {
        hex(&self.0)
    }

    /// Reads the wire form.
    pub fn parse(text: &str) -> Result<Self, b64u::B64uError> {
        b64u::decode_array(text).map(Self)
    }

    /// The first eight hexadecimal digits of each half: enough for a person to compare two digests at a glance.
    #[must_use]
    pub fn short(&self) -> String {
        self.hex().chars().take(12).collect()
    }
}

/// Lower-case hexadecimal of any bytes.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    use fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({})", self.b64u())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.b64u())
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.b64u())
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(|_| D::Error::custom("not a SHA-256 digest in url-safe base64"))
    }
}
