//! Signed objects (2.c): the signature is checked over the bytes that arrived, and only a body with exactly one spelling gets through. Nothing else makes a [`Verified`].

use crate::{DeviceKey, PublicKey, key::SignatureError};
use contract::{
    Digest, b64u,
    blob::SignedType,
    cjson::{self, JsonError},
    connection::SignedWire,
    credential::CredentialStatement,
    labels, limits,
    review::ReviewRecord,
};
use serde::{Serialize, de::DeserializeOwned};
use std::marker::PhantomData;

mod sealed {
    /// Only this crate says what may be signed.
    pub trait Sealed {}
}

/// A body that may be signed. One Rust type for each number, so that a signature of one kind cannot be used as another.
pub trait SignedBody: Serialize + DeserializeOwned + sealed::Sealed {
    /// Its number in the signature input.
    const TYPE: SignedType;
    /// Version of its meaning; a changed meaning gets a new type instead.
    const VERSION: u16;
}

macro_rules! signed_bodies {
    ($($body:ty = $kind:ident, $version:literal;)+) => {$(
        impl sealed::Sealed for $body {}
        impl SignedBody for $body {
            const TYPE: SignedType = SignedType::$kind;
            const VERSION: u16 = $version;
        }
    )+};
}

signed_bodies! {
    ReviewRecord = Review, 1;
    CredentialStatement = CredentialStatement, 1;
}

/// Why a signed object is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignedError {
    /// A field is not canonical base64 of the right length, or the payload is too long.
    #[error("field `{field}` of the signed object is malformed")]
    Malformed {
        /// The field to blame.
        field: &'static str,
    },
    /// It was signed by, or names, another key or algorithm than the registered one.
    #[error("the object is signed by another key")]
    OtherKey,
    /// The signature is not that key's over these bytes as this type.
    #[error("the signature of the object does not verify")]
    Signature,
    /// The body is not what may be signed.
    #[error("the signed body is refused")]
    Body(#[source] JsonError),
    /// The body has another spelling than the one its meaning has.
    #[error("the signed body is not canonical")]
    NotCanonical,
}

impl From<SignatureError> for SignedError {
    fn from(_: SignatureError) -> Self {
        Self::Signature
    }
}

/// A signed object that nobody has verified: it can be carried and shown to [`verify`](Self::verify), and gives away nothing else.
///
/// ```
/// use collie_sign::{Signed, Verified};
/// use contract::review::ReviewRecord;
/// fn effects(review: &Verified<ReviewRecord>) -> usize { review.body().tools.len() }
/// ```
/// ```compile_fail
/// use collie_sign::{Signed, Verified};
/// use contract::review::ReviewRecord;
/// fn effects(review: &Signed<ReviewRecord>) -> usize { review.body().tools.len() }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed<T> {
    payload: Vec<u8>,
    kid: Digest,
    sig: [u8; 64],
    body: PhantomData<fn() -> T>,
}

impl<T: SignedBody> Signed<T> {
    /// Signs a body with a device's key. Fails for a body that nobody would accept.
    pub fn sign(key: &DeviceKey, body: &T) -> Result<Self, SignedError> {
        let json = cjson::to_json(body).map_err(SignedError::Body)?;
        json.check_signable().map_err(SignedError::Body)?;
        let payload = json.canonical();
        let public_key = key.public_key();
        let sig = key.sign(&input::<T>(&public_key, &payload)?);
        Ok(Self { payload, kid: public_key.kid(), sig, body: PhantomData })
    }

    /// Takes the wire form apart without believing it.
    pub fn from_wire(wire: &SignedWire) -> Result<Self, SignedError> {
        let bad = |field| SignedError::Malformed { field };
        if wire.payload.len() > limits::SIGNED_BODY_BYTES_MAX.div_ceil(3) * 4 {
            return Err(bad("payload"));
        }
        let payload = b64u::decode(&wire.payload).map_err(|_| bad("payload"))?;
        let kid = Digest::parse(&wire.kid).map_err(|_| bad("kid"))?;
        let sig = b64u::decode_array(&wire.sig).map_err(|_| bad("sig"))?;
        Ok(Self { payload, kid, sig, body: PhantomData })
    }

    /// The wire form.
    #[must_use]
    pub fn to_wire(&self) -> SignedWire {
        SignedWire { payload: b64u::encode(&self.payload), kid: self.kid.b64u(), sig: b64u::encode(self.sig) }
    }

    /// The key it says it is signed by, to look that key up.
    #[must_use]
    pub const fn claimed_kid(&self) -> &Digest {
        &self.kid
    }

    /// Verifies with a registered key: key id, strict signature over the received bytes, rules of 2.c.2, strict decode, and equality of the re-encoded body.
    pub fn verify(self, key: &PublicKey) -> Result<Verified<T>, SignedError> {
        if self.kid != key.kid() {
            return Err(SignedError::OtherKey);
        }
        key.verify(&input::<T>(key, &self.payload)?, &self.sig)?;
        let json = cjson::parse(&self.payload, limits::SIGNED_BODY_BYTES_MAX).map_err(SignedError::Body)?;
        json.check_signable().map_err(SignedError::Body)?;
        let body: T = cjson::from_slice(&self.payload, limits::SIGNED_BODY_BYTES_MAX).map_err(SignedError::Body)?;
        // Unknown keys, other orders, white space and second spellings all end here: what is used is what was signed.
        if cjson::to_canonical(&body).map_err(SignedError::Body)? != self.payload {
            return Err(SignedError::NotCanonical);
        }
        Ok(Verified { body, digest: Digest::of(&[&self.payload]), signed: self })
    }
}

/// `"collie.sig.v2\0" ‖ typ u16 ‖ ver u16 ‖ alg u16 ‖ kid[32] ‖ len u32 ‖ body` (2.c.1)
fn input<T: SignedBody>(key: &PublicKey, payload: &[u8]) -> Result<Vec<u8>, SignedError> {
    let length = u32::try_from(payload.len()).map_err(|_| SignedError::Malformed { field: "payload" })?;
    let kid = key.kid();
    let parts: [&[u8]; 7] = [
        labels::SIGNATURE,
        &T::TYPE.number().to_be_bytes(),
        &T::VERSION.to_be_bytes(),
        &key.alg().number().to_be_bytes(),
        kid.as_bytes(),
        &length.to_be_bytes(),
        payload,
    ];
    Ok(parts.concat())
}

/// An object whose signature was verified by the key its user registered. Who that key belongs to is for the caller to know.
#[derive(Debug)]
#[must_use = "a verified object that nobody uses was verified for nothing"]
pub struct Verified<T> {
    body: T,
    digest: Digest,
    signed: Signed<T>,
}

impl<T: SignedBody> Verified<T> {
    /// What was signed.
    pub const fn body(&self) -> &T {
        &self.body
    }

    /// What was signed, by value.
    pub fn into_body(self) -> T {
        self.body
    }

    /// SHA-256 of the signed body: the object's id. The signature is none, because one body can have several.
    pub const fn digest(&self) -> &Digest {
        &self.digest
    }

    /// The wire form it came in.
    pub fn to_wire(&self) -> SignedWire {
        self.signed.to_wire()
    }
}

#[cfg(test)]
#[path = "signed_tests.rs"]
mod tests;
