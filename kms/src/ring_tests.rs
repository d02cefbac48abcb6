//! Tests of the list of keys: what is not on it opens nothing, even where the bytes would. Nothing here is product code.

use super::*;
use crate::{KekFullName, KeyFileProvider};
use contract::ids::{DeploymentId, WorkspaceId};
use seal::context::Tenant;
use sign::Secret;

fn file(name: &str, byte: u8) -> KeyFileProvider {
    KeyFileProvider::new(Secret::new([byte; 32]), KekFullName::parse(name).expect("a name"))
}

fn listed(standing: Standing, name: &str, byte: u8) -> ListedKek {
    ListedKek { standing, provider: Box::new(file(name, byte)) }
}

fn ring(keks: Vec<ListedKek>) -> KekRing {
    KekRing::new(keks).expect("a ring")
}

struct Ids(DeploymentId, WorkspaceId);

fn ids() -> Ids {
    Ids(DeploymentId::from_random([1; 16]), WorkspaceId::from_random([2; 16]))
}

fn row<'a>(ids: &'a Ids, kek: KekName<'a>) -> TenantKeyRow<'a> {
    TenantKeyRow { deployment: &ids.0, tenant: Tenant::Workspace(&ids.1), generation: 1, kek }
}

async fn wrap(ring: &KekRing) -> KekRecord {
    let key = WrappingKey::new(1, Secret::new([9; 32]));
    ring.wrap(row(&ids(), ring.active()), &key, SealRandom::new([3; SealRandom::BYTES])).await.expect("wraps")
}

async fn unwrap(ring: &KekRing, record: &KekRecord) -> Result<(), KekError> {
    let ids = ids();
    let kek = KekName { provider: &record.provider, kek_id: &record.kek_id, version: &record.version };
    ring.unwrap(row(&ids, kek), record).await.map(|_| ())
}

#[test]
fn a_list_has_one_active_key_and_no_name_twice() {
    let refused = |keks| KekRing::new(keks).err();
    assert_eq!(refused(Vec::new()), Some(RingError::Active { active: 0 }));
    assert_eq!(refused(vec![listed(Standing::DecryptOnly, "a", 1)]), Some(RingError::Active { active: 0 }));
    let two = vec![listed(Standing::Active, "a", 1), listed(Standing::Active, "b", 2)];
    assert_eq!(refused(two), Some(RingError::Active { active: 2 }));
    let twice = vec![listed(Standing::Active, "a", 1), listed(Standing::DecryptOnly, "a", 2)];
    assert_eq!(refused(twice), Some(RingError::Twice { kek_id: "a".to_owned() }));
    let many = (0..=limits::KEKS_MAX).map(|at| listed(Standing::Active, &format!("k{at}"), 1)).collect();
    assert_eq!(refused(many), Some(RingError::TooMany { max: limits::KEKS_MAX }));
    let ring = ring(vec![listed(Standing::DecryptOnly, "b", 2), listed(Standing::Active, "a", 1)]);
    let names: Vec<_> = ring.list().map(|(standing, key)| (standing, key.kek_id.to_string())).collect();
    assert_eq!(names, [(Standing::Active, "a".to_owned()), (Standing::DecryptOnly, "b".to_owned())]);
}

#[tokio::test]
async fn b1_a_key_that_is_not_listed_opens_nothing() {
    let attacker = ring(vec![listed(Standing::Active, "attackers-key", 0x66)]);
    let record = wrap(&attacker).await;
    assert_eq!(unwrap(&attacker, &record).await, Ok(()), "the bytes are good");

    let ours = ring(vec![listed(Standing::Active, "kek-2026", 1)]);
    assert!(matches!(unwrap(&ours, &record).await, Err(KekError::NotListed { .. })));
    // Under our own name, with the attacker's version or with ours.
    let renamed = KekRecord { kek_id: "kek-2026".to_owned(), ..record.clone() };
    assert!(matches!(unwrap(&ours, &renamed).await, Err(KekError::OtherVersion { .. })));
    let posing = KekRecord { version: ours.active().version.to_owned(), ..renamed };
    assert_eq!(unwrap(&ours, &posing).await, Err(KekError::Open));
    let elsewhere = KekRecord { provider: "aws-kms".to_owned(), ..posing };
    assert!(matches!(unwrap(&ours, &elsewhere).await, Err(KekError::NotListed { .. })));

    // Must fail: a ring that lists the attacker's key takes it.
    let careless =
        ring(vec![listed(Standing::Active, "kek-2026", 1), listed(Standing::DecryptOnly, "attackers-key", 0x66)]);
    assert_eq!(unwrap(&careless, &record).await, Ok(()));
}

#[tokio::test]
async fn an_old_key_unwraps_and_does_not_wrap() {
    let old = ring(vec![listed(Standing::Active, "kek-2025", 1)]);
    let record = wrap(&old).await;
    let both = ring(vec![listed(Standing::Active, "kek-2026", 2), listed(Standing::DecryptOnly, "kek-2025", 1)]);
    assert_eq!(unwrap(&both, &record).await, Ok(()));
    assert_eq!(wrap(&both).await.kek_id, "kek-2026");
    both.health().await.expect("healthy");

    let ids = ids();
    let (key, kek) = (WrappingKey::new(1, Secret::new([9; 32])), file("kek-2025", 1));
    let refused = both.wrap(row(&ids, kek.descriptor().name()), &key, SealRandom::new([3; SealRandom::BYTES])).await;
    assert!(matches!(refused, Err(KekError::NotListed { .. })));
}

#[tokio::test]
async fn a_record_and_its_row_name_one_key() {
    let ring = ring(vec![listed(Standing::Active, "a", 1), listed(Standing::DecryptOnly, "b", 2)]);
    let record = wrap(&ring).await;
    let ids = ids();
    let other = file("b", 2);
    let refused = ring.unwrap(row(&ids, other.descriptor().name()), &record).await;
    assert_eq!(refused.err(), Some(KekError::Record));
}
