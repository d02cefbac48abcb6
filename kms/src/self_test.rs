//! The known-answer test of the start (2.a.4): the envelope still makes and opens the bytes that were published, and refuses them changed. Uses no key of the installation.

use contract::ids::{DeploymentId, WorkspaceId};
use seal::{
    SealRandom,
    context::{KekName, Tenant, TenantKeyRow, WrappingKeyContext},
    vault_keys::{KeyFileKey, WrappingKey},
};
use sign::Secret;

/// The program does not do what its tests saw; it must not touch a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the known-answer test of the envelope failed: this program must not be used on this machine")]
pub struct KnownAnswerError;

/// Wraps a known key under a known one, compares the bytes, opens them, and sees a changed byte and another context refused.
pub fn known_answer_test() -> Result<(), KnownAnswerError> {
    let (deployment, workspace) = (DeploymentId::from_random([1; 16]), WorkspaceId::from_random([2; 16]));
    let kek = KekName { provider: "file", kek_id: "known-answer", version: "" };
    let row = TenantKeyRow { deployment: &deployment, tenant: Tenant::Workspace(&workspace), generation: 3, kek };
    let key = KeyFileKey::new(Secret::new([0x42; 32]));
    let wrapped = key.wrap(
        &WrappingKeyContext(row),
        &WrappingKey::new(3, Secret::new([0x17; 32])),
        SealRandom::new([0x22; SealRandom::BYTES]),
    );
    let wrapped = wrapped.map_err(|_| KnownAnswerError)?;
    let mut changed = wrapped.clone();
    if let Some(last) = changed.last_mut() {
        *last ^= 1;
    }
    let elsewhere = TenantKeyRow { generation: 4, ..row };
    let holds = contract::digest::hex(&wrapped) == ANSWER
        && key.unwrap(&WrappingKeyContext(row), &wrapped).is_ok()
        && key.unwrap(&WrappingKeyContext(row), &changed).is_err()
        && key.unwrap(&WrappingKeyContext(elsewhere), &wrapped).is_err();
    if holds { Ok(()) } else { Err(KnownAnswerError) }
}

/// Type 05, computed apart from this code as 2.a.2 and 2.a.3 say.
const ANSWER: &str = "434c563205010000480c2617d4830df7c720466243edf10600000001000000000000000322222222222222222222222222222222222222222222222222222222222222226db7aac2a37a07390947249cde2678a7e831eda659ab1b334df4941d0e21a9202222222222222222222222222222222222222222222222220000003001170ce597ea8cca43d4976b0545849da5794830518eddf2cfed921fe4227d9264bbf2ff4b74d888bd22d93fa00bb794";

#[cfg(test)]
mod tests {
    #[test]
    fn the_known_answer_holds() {
        assert_eq!(super::known_answer_test(), Ok(()));
    }
}
