//! The text form of a sealing key (2.b.3), made to be typed by people: everything in it is checked before any use. Never guesses at a character it cannot read.

use crate::usk::UserSealingKey;
use contract::{Digest, labels};
use sign::{Secret, crockford};

/// What every key text starts with.
pub const PREFIX: &str = "collie-seal-v2:";
/// Characters of a whole key text.
pub const TEXT_CHARS: usize = 106;

/// Bytes behind the prefix: `02 ‖ kind ‖ kid[8] ‖ secret[32] ‖ ck[5]`.
const BYTES: usize = 47;
/// Symbols of base32 for them.
const SYMBOLS: usize = 76;
/// Symbols between two dashes.
const GROUP: usize = 5;
/// Version byte.
const VERSION: u8 = 2;
/// Kind byte of generation 1 of the person's sealing key. Kind 02, the recovery key, is kept for when there is one.
const KIND_USK_1: u8 = 1;

/// Why a text is no key. Says where a person should look, never what was typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyTextError {
    /// It does not start with `collie-seal-v2:`.
    #[error("the key text does not start with `collie-seal-v2:`")]
    Prefix,
    /// It is too short or too long.
    #[error("the key text has {actual} characters, it should have {TEXT_CHARS}")]
    Length {
        /// Characters without white space at both ends.
        actual: usize,
    },
    /// A character cannot stand where it stands, or the dashes are not after every fifth character.
    #[error("the key text cannot be read; compare group by group")]
    Characters,
    /// Everything can be read, and it is not what was shown: a typing mistake.
    #[error("the key text has a typing mistake: its checksum does not match")]
    Checksum,
    /// Written by a later version of the product, or of a kind that this command does not take.
    #[error("the key text is of another kind or version")]
    Kind,
    /// Only generation 1 of a sealing key has a text form.
    #[error("generation {generation} of the sealing key has no text form")]
    Generation {
        /// The generation.
        generation: u32,
    },
}

/// Writes generation 1 of a sealing key as text of 106 characters.
pub fn encode_usk(usk: &UserSealingKey) -> Result<Secret<String>, KeyTextError> {
    match usk.generation() {
        1 => Ok(encode(KIND_USK_1, &usk.copy_bytes())),
        generation => Err(KeyTextError::Generation { generation }),
    }
}

/// Reads the text of a sealing key: exact length, dashes, padding, checksum, version, kind and key id, before anything else happens.
pub fn decode_usk(text: &Secret<String>) -> Result<UserSealingKey, KeyTextError> {
    // EXPOSE: to the decoder, whose only result is a key.
    let (kind, secret) = text.with(|text| decode(text.trim()))?;
    if kind != KIND_USK_1 {
        return Err(KeyTextError::Kind);
    }
    UserSealingKey::new(1, secret).map_err(|_| KeyTextError::Kind)
}

fn encode(kind: u8, secret: &Secret<[u8; 32]>) -> Secret<String> {
    // EXPOSE: to the text, which is a secret itself.
    let bytes = secret.with(|secret| {
        Secret::init(|out: &mut Vec<u8>| {
            out.reserve_exact(BYTES);
            out.extend_from_slice(&[VERSION, kind]);
            out.extend_from_slice(&kid(secret));
            out.extend_from_slice(secret);
            let check = checksum(out);
            out.extend_from_slice(&check);
        })
    });
    let symbols = Secret::init(|symbols: &mut String| {
        symbols.reserve_exact(SYMBOLS);
        bytes.with(|bytes| crockford::encode_into(bytes, symbols));
    });
    Secret::init(|text: &mut String| {
        text.reserve_exact(TEXT_CHARS);
        text.push_str(PREFIX);
        symbols.with(|symbols| {
            for (at, symbol) in symbols.chars().enumerate() {
                if at > 0 && at % GROUP == 0 {
                    text.push('-');
                }
                text.push(symbol);
            }
        });
    })
}

fn decode(text: &str) -> Result<(u8, Secret<[u8; 32]>), KeyTextError> {
    let actual = text.chars().count();
    let (prefix, body) = text.split_at_checked(PREFIX.len()).ok_or(KeyTextError::Prefix)?;
    if !prefix.eq_ignore_ascii_case(PREFIX) {
        return Err(KeyTextError::Prefix);
    }
    if actual != TEXT_CHARS {
        return Err(KeyTextError::Length { actual });
    }
    let dash = |at: usize| at % (GROUP + 1) == GROUP;
    if body.chars().enumerate().any(|(at, c)| dash(at) != (c == '-')) {
        return Err(KeyTextError::Characters);
    }
    let mut readable = None;
    let bytes = Secret::init(|out: &mut Vec<u8>| {
        out.resize(BYTES, 0);
        readable = crockford::decode_into(body.chars().filter(|c| *c != '-'), out);
    });
    readable.ok_or(KeyTextError::Characters)?;
    // EXPOSE: to the checks below, whose only result is another secret.
    bytes.with(|bytes| take_apart(bytes))
}

fn take_apart(bytes: &[u8]) -> Result<(u8, Secret<[u8; 32]>), KeyTextError> {
    let (checked, check) = bytes.split_last_chunk::<5>().ok_or(KeyTextError::Characters)?;
    if *check != checksum(checked) {
        return Err(KeyTextError::Checksum);
    }
    let ([version, kind], rest) = checked.split_first_chunk::<2>().ok_or(KeyTextError::Characters)?;
    if *version != VERSION {
        return Err(KeyTextError::Kind);
    }
    let (claimed_kid, secret) = rest.split_first_chunk::<8>().ok_or(KeyTextError::Characters)?;
    let secret: &[u8; 32] = secret.try_into().map_err(|_| KeyTextError::Characters)?;
    if *claimed_kid != kid(secret) {
        return Err(KeyTextError::Checksum);
    }
    Ok((*kind, Secret::init(|out: &mut [u8; 32]| out.copy_from_slice(secret))))
}

/// `SHA-256("collie-seal-v2 kid\0" ‖ secret)[..8]`
fn kid(secret: &[u8; 32]) -> [u8; 8] {
    first(&Digest::of(&[labels::TEXT_KEY_ID, secret]))
}

/// `SHA-256("collie-seal-v2 checksum\0" ‖ first 42 bytes)[..5]`
fn checksum(bytes: &[u8]) -> [u8; 5] {
    first(&Digest::of(&[labels::TEXT_CHECKSUM, bytes]))
}

fn first<const N: usize>(digest: &Digest) -> [u8; N] {
    digest.as_bytes().first_chunk().copied().unwrap_or([0; N])
}

#[cfg(test)]
#[path = "recovery_tests.rs"]
mod tests;
