//! The S256 challenge of RFC 7636, as pairing uses it. Never sees a token.

use contract::{Digest, b64u};
use subtle::ConstantTimeEq as _;

/// Whether `text` has the shape of a verifier: url-safe base64 of 32 bytes.
#[must_use]
pub fn is_verifier(text: &str) -> bool {
    b64u::decode_array::<32>(text).is_ok()
}

/// `b64u(SHA-256(ASCII(verifier)))`
#[must_use]
pub fn challenge(verifier: &str) -> String {
    Digest::of(&[verifier.as_bytes()]).b64u()
}

/// Whether `verifier` is the one that `challenge` was made from; constant time.
#[must_use]
pub fn is_answered(expected_challenge: &str, verifier: &str) -> bool {
    is_verifier(verifier) && expected_challenge.as_bytes().ct_eq(challenge(verifier).as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vector_pkce() {
        let (verifier, expected) =
            ("QEFCQ0RFRkdISUpLTE1OT1BRUlNUVVZXWFlaW1xdXl8", "9F3IKnUj0Ul0zqBQ4wKOi_BqjuhVqdYwNOu0-57MIwU");
        assert_eq!(challenge(verifier), expected);
        assert!(is_answered(expected, verifier));
        assert!(!is_answered(expected, "QEFCQ0RFRkdISUpLTE1OT1BRUlNUVVZXWFlaW1xdXl9"));
        assert!(!is_answered(&challenge("short"), "short"));
        assert!(!is_answered("", verifier));
    }
}
