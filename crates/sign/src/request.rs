//! Signatures of requests by device keys (wire-collie-v1 1.3): made and verified over the raw target and the raw body. Remembers no nonce and reads no clock.

use crate::{DeviceKey, PublicKey, key::SignatureError};
use contract::{Digest, b64u, limits};
use sha2::{Digest as _, Sha256};

/// Header with the Unix seconds of the request.
pub const TIMESTAMP_HEADER: &str = "x-collie-device-timestamp";
/// Header with the nonce.
pub const NONCE_HEADER: &str = "x-collie-device-nonce";
/// Header with the signature.
pub const SIGNATURE_HEADER: &str = "x-collie-device-signature";

/// What a signature covers of a request. It does not cover the host: a device has one key for each origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestHead<'a> {
    /// Upper case, as on the request line.
    pub method: &'a str,
    /// Path and query exactly as on the request line, less the prefix of the base URL.
    pub raw_target: &'a str,
    /// SHA-256 of the body as received; of nothing, when there is no body.
    pub body_sha256: Digest,
}

/// The values of the three headers, as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignatureHeaders {
    /// Decimal Unix seconds.
    pub timestamp: String,
    /// b64u of 18 bytes.
    pub nonce: String,
    /// b64u of 64 bytes.
    pub signature: String,
}

/// A request that was signed by the key it was verified with. Its nonce must now be spent: one use per device within twice the skew.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a verified request may still be a replay: spend its nonce"]
pub struct VerifiedRequest {
    nonce: [u8; 18],
    signed_at_s: u64,
}

impl VerifiedRequest {
    /// The nonce, to be inserted into the device's window.
    #[must_use]
    pub const fn nonce(&self) -> &[u8; 18] {
        &self.nonce
    }

    /// Unix seconds by the device's clock.
    #[must_use]
    pub const fn signed_at_s(&self) -> u64 {
        self.signed_at_s
    }
}

/// Why a request signature is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// A header is not in its canonical form.
    #[error("header `{header}` is malformed")]
    Malformed {
        /// The header to blame.
        header: &'static str,
    },
    /// The request line has a form that two readers could understand differently.
    #[error("the request target has an ambiguous form")]
    Target,
    /// A GET came with a body.
    #[error("a GET request has no body")]
    BodyOnGet,
    /// The clocks differ by more than [`limits::REQUEST_SKEW_S_MAX`].
    #[error("device clock differs by {seconds} s")]
    ClockSkew {
        /// Device minus service; positive when the device is ahead.
        seconds: i64,
    },
    /// The signature is not the device's over this request.
    #[error("the request signature does not verify")]
    Signature,
}

impl From<SignatureError> for RequestError {
    fn from(_: SignatureError) -> Self {
        Self::Signature
    }
}

/// `METHOD LF TARGET LF b64u(SHA-256(body)) LF timestamp LF nonce`
#[must_use]
pub fn message(head: &RequestHead<'_>, timestamp: &str, nonce: &str) -> Vec<u8> {
    [head.method, head.raw_target, &head.body_sha256.b64u(), timestamp, nonce].join("\n").into_bytes()
}

/// Signs a request. `nonce` is 18 fresh random bytes.
pub fn sign_request(
    key: &DeviceKey,
    head: &RequestHead<'_>,
    now_s: u64,
    nonce: &[u8; 18],
) -> Result<SignatureHeaders, RequestError> {
    check_head(head)?;
    let (timestamp, nonce) = (now_s.to_string(), b64u::encode(nonce));
    let signature = b64u::encode(key.sign(&message(head, &timestamp, &nonce)));
    Ok(SignatureHeaders { timestamp, nonce, signature })
}

/// Verifies a request against the key of the session's device. The caller then spends the nonce; before this succeeded, nothing may be remembered.
pub fn verify_request(
    key: &PublicKey,
    headers: &SignatureHeaders,
    head: &RequestHead<'_>,
    now_s: u64,
) -> Result<VerifiedRequest, RequestError> {
    check_head(head)?;
    let signed_at_s = parse_timestamp(&headers.timestamp)?;
    let nonce = b64u::decode_array(&headers.nonce).map_err(|_| RequestError::Malformed { header: NONCE_HEADER })?;
    let signature =
        b64u::decode_array(&headers.signature).map_err(|_| RequestError::Malformed { header: SIGNATURE_HEADER })?;
    if signed_at_s.abs_diff(now_s) > limits::REQUEST_SKEW_S_MAX {
        return Err(RequestError::ClockSkew { seconds: difference_s(signed_at_s, now_s) });
    }
    key.verify(&message(head, &headers.timestamp, &headers.nonce), &signature)?;
    Ok(VerifiedRequest { nonce, signed_at_s })
}

/// Hashes a body piece by piece, so that it need not be held twice.
#[derive(Clone, Default)]
pub struct BodyHasher(Sha256);

impl BodyHasher {
    /// Starts with an empty body.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the next received bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of all bytes.
    #[must_use]
    pub fn finish(self) -> Digest {
        Digest::from_bytes(self.0.finalize().into())
    }
}

/// Refuses absolute form, fragments, `//`, dot segments, encoded slashes, dots and NULs, and whatever is not visible ASCII: the router must read the same path that was signed.
fn check_head(head: &RequestHead<'_>) -> Result<(), RequestError> {
    let target = head.raw_target;
    let path = target.split('?').next().unwrap_or_default().to_ascii_lowercase();
    let plain = (1..=limits::TARGET_BYTES_MAX).contains(&target.len())
        && target.starts_with('/')
        && target.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#' && byte != b'\\')
        && !path.contains("//")
        && !path.split('/').any(|segment| matches!(segment, "." | ".."))
        && !["%2f", "%5c", "%2e", "%00"].iter().any(|encoded| path.contains(encoded));
    let method = !head.method.is_empty() && head.method.bytes().all(|byte| byte.is_ascii_uppercase());
    if !plain || !method {
        return Err(RequestError::Target);
    }
    if head.method == "GET" && head.body_sha256 != Digest::of(&[]) {
        return Err(RequestError::BodyOnGet);
    }
    Ok(())
}

/// One spelling for each time: decimal, no sign, no leading zero.
fn parse_timestamp(text: &str) -> Result<u64, RequestError> {
    text.parse::<u64>()
        .ok()
        .filter(|seconds| seconds.to_string() == text)
        .ok_or(RequestError::Malformed { header: TIMESTAMP_HEADER })
}

fn difference_s(device_s: u64, service_s: u64) -> i64 {
    let size = i64::try_from(device_s.abs_diff(service_s)).unwrap_or(i64::MAX);
    if device_s >= service_s { size } else { -size }
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
