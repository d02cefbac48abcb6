//! The person's sealing key USK[g] (2.b.1) and what is derived from it. The key itself seals nothing.

use crate::clv2::TypedKey;
use contract::{Digest, labels};
use hkdf::Hkdf;
use sha2::Sha256;
use sign::Secret;

/// The generation is 0; generations count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("generations of a sealing key count from 1")]
pub struct GenerationError;

/// One generation of the person's sealing key, with its derived keys.
pub struct UserSealingKey {
    generation: u32,
    key: Secret<[u8; 32]>,
    seal: TypedKey,
    local: TypedKey,
    id: Digest,
}

impl UserSealingKey {
    /// Takes 32 random bytes as generation `generation`.
    pub fn new(generation: u32, key: Secret<[u8; 32]>) -> Result<Self, GenerationError> {
        if generation == 0 {
            return Err(GenerationError);
        }
        let seal = TypedKey::long_lived(generation, derive(&key, labels::USK_SEAL, generation)?);
        let local = TypedKey::long_lived(generation, derive(&key, labels::USK_LOCAL, generation)?);
        // EXPOSE: the id is public by its purpose; it gives nothing of the key back.
        let id = derive(&key, labels::USK_ID, generation)?.with(|bytes| Digest::from_bytes(*bytes));
        Ok(Self { generation, key, seal, local, id })
    }

    /// g, from 1.
    #[must_use]
    pub const fn generation(&self) -> u32 {
        self.generation
    }

    /// `usk_id[g] = Expand(USK[g], "collie.usk.v2 id\0" ‖ g, 32)`: public, the same on every device that holds the key.
    #[must_use]
    pub const fn id(&self) -> &Digest {
        &self.id
    }

    /// The key that wraps data keys: `Expand(USK[g], "collie.usk.v2 seal\0" ‖ g)`.
    #[must_use]
    pub const fn seal_key(&self) -> &TypedKey {
        &self.seal
    }

    /// The key of device-local secrets: `Expand(USK[g], "collie.usk.v2 local\0" ‖ g)`.
    #[must_use]
    pub const fn local_key(&self) -> &TypedKey {
        &self.local
    }

    /// The key bytes, for the device's own key file and nothing else.
    #[must_use]
    pub fn expose_for_key_file(&self) -> Secret<[u8; 32]> {
        self.copy_bytes()
    }

    pub(crate) fn copy_bytes(&self) -> Secret<[u8; 32]> {
        // EXPOSE: to another secret of the same kind.
        Secret::init(|copy: &mut [u8; 32]| self.key.with(|bytes| copy.copy_from_slice(bytes)))
    }
}

/// HKDF-SHA-256-Expand with the key itself as PRK: it is 32 uniform bytes, so there is nothing to extract (RFC 5869 3.3).
fn derive(key: &Secret<[u8; 32]>, label: &[u8], generation: u32) -> Result<Secret<[u8; 32]>, GenerationError> {
    let mut done = Err(GenerationError);
    let derived = Secret::init(|out: &mut [u8; 32]| {
        // EXPOSE: to the key derivation.
        done = key.with(|bytes| {
            let prk = Hkdf::<Sha256>::from_prk(bytes).map_err(|_| GenerationError)?;
            prk.expand_multi_info(&[label, &generation.to_be_bytes()], out).map_err(|_| GenerationError)
        });
    });
    done.map(|()| derived)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed apart: `HMAC-SHA-256(key, label ‖ g u32 ‖ 01)`, the one block of HKDF-Expand (RFC 5869 2.3).
    #[test]
    fn derivations_are_byte_exact() {
        let usk = UserSealingKey::new(1, Secret::new([7; 32])).expect("a generation");
        assert_eq!(usk.id().hex(), "44eeaa14d20011bd0bd1a1e0b90ae5b3b4c2c337a0f2763cb1b9ec910d4259c0");
        assert_eq!(contract::digest::hex(usk.seal_key().key_id()), "8227ed0ef62cff792e3c9a47af7e003d");
        assert_eq!(contract::digest::hex(usk.local_key().key_id()), "23b89b907a5b025d95d7b07ff54d38d1");
    }

    #[test]
    fn purposes_and_generations_give_unrelated_keys() {
        let usk = |generation, byte| UserSealingKey::new(generation, Secret::new([byte; 32])).expect("a generation");
        let (one, two, other) = (usk(1, 7), usk(2, 7), usk(1, 8));
        let ids = [one.id(), two.id(), other.id()];
        assert!(ids.iter().enumerate().all(|(at, id)| !ids[..at].contains(id)));
        let kids = [&one, &two, &other].map(|usk| [*usk.seal_key().key_id(), *usk.local_key().key_id()]).concat();
        assert!(kids.iter().enumerate().all(|(at, kid)| !kids[..at].contains(kid)));
        assert_eq!(usk(1, 7).id(), one.id());
        assert!(UserSealingKey::new(0, Secret::new([7; 32])).is_err());
    }
}
