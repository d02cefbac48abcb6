//! URL-safe base64 without padding, the only text form of bytes on our wire; decoding is strict (canonical trailing bits).

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// The text is not canonical URL-safe base64 without padding, or has another length than expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not canonical url-safe base64 without padding")]
pub struct B64uError;

/// Encodes bytes.
#[must_use]
pub fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Decodes text, refusing padding, foreign alphabets, white space and non-zero trailing bits.
pub fn decode(text: &str) -> Result<Vec<u8>, B64uError> {
    URL_SAFE_NO_PAD.decode(text).map_err(|_| B64uError)
}

/// Decodes text that must stand for exactly `N` bytes.
pub fn decode_array<const N: usize>(text: &str) -> Result<[u8; N], B64uError> {
    decode(text)?.try_into().map_err(|_| B64uError)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_padding_foreign_alphabet_and_loose_bits() {
        assert_eq!(decode("AQ"), Ok(vec![1]));
        for bad in ["AQ==", "A+", "A/", " AQ", "AR", "A"] {
            assert_eq!(decode(bad), Err(B64uError), "{bad}");
        }
        assert_eq!(decode_array::<2>("AQ"), Err(B64uError));
    }
}
