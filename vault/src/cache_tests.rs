//! Tests of the cache: how long, how often, how many, and gone when told. Nothing here is product code.

use super::*;
use sign::Secret;

const NOW: i64 = 1_800_000_000_000;
const TTL_MS: i64 = 300_000;

fn key() -> Arc<TenantMasterKey> {
    Arc::new(TenantMasterKey::new(1, Secret::new([7; 32])))
}

fn id(n: u32) -> Digest {
    Digest::of(&[&n.to_be_bytes()])
}

fn keep(cache: &Cache, n: u32, tenant: &str, now_ms: i64, jitter: u8) {
    cache.keep(id(n), tenant, key(), cache.epoch(), now_ms, jitter);
}

fn has(cache: &Cache, n: u32, now_ms: i64) -> &'static str {
    match cache.find(&id(n), now_ms) {
        Cached::Fresh(_) => "fresh",
        Cached::Ageing(_) => "ageing",
        Cached::Missing => "missing",
    }
}

#[test]
fn a_key_ages_and_ends() {
    for (jitter, fresh_ms) in [(0, 225_000), (128, 262_500), (255, 299_707)] {
        let cache = Cache::new();
        keep(&cache, 1, "a", NOW, jitter);
        assert_eq!(has(&cache, 1, NOW + fresh_ms - 1), "fresh", "{jitter}");
        assert_eq!(has(&cache, 1, NOW + fresh_ms), "ageing", "{jitter}");
        assert_eq!(has(&cache, 1, NOW + TTL_MS - 1), "ageing");
        assert_eq!(has(&cache, 1, NOW + TTL_MS), "missing");
        assert_eq!(has(&cache, 1, NOW), "missing", "what ended does not come back with the clock");
    }
}

#[test]
fn a_clock_that_went_back_ends_it() {
    let cache = Cache::new();
    keep(&cache, 1, "a", NOW, 0);
    assert_eq!(has(&cache, 1, NOW - 1), "missing");
}

#[test]
fn it_serves_a_bounded_number_of_uses() {
    let cache = Cache::new();
    keep(&cache, 1, "a", NOW, 0);
    // Its first use was the one it was loaded for.
    for _ in 1..limits::TENANT_KEY_USES_MAX {
        assert_eq!(has(&cache, 1, NOW), "fresh");
    }
    assert_eq!(has(&cache, 1, NOW), "missing");
}

#[test]
fn the_least_used_goes_when_it_is_full() {
    let cache = Cache::new();
    let max = u32::try_from(limits::TENANT_KEYS_CACHED_MAX).expect("fits");
    for n in 0..max {
        keep(&cache, n, "a", NOW + i64::from(n), 0);
    }
    assert_eq!(has(&cache, 0, NOW + 100_000), "fresh", "used just now");
    keep(&cache, max, "a", NOW + 100_000, 0);
    assert_eq!(cache.lock().entries.len(), limits::TENANT_KEYS_CACHED_MAX);
    assert_eq!(has(&cache, 0, NOW + 100_000), "fresh");
    assert_eq!(has(&cache, 1, NOW + 100_000), "missing");
    assert_eq!(has(&cache, max, NOW + 100_000), "fresh");
}

#[test]
fn dropping_is_at_once_and_for_what_is_on_its_way_too() {
    let cache = Cache::new();
    keep(&cache, 1, "a", NOW, 0);
    keep(&cache, 2, "b", NOW, 0);
    let before = cache.epoch();
    cache.drop_tenant("a");
    assert_eq!((has(&cache, 1, NOW), has(&cache, 2, NOW)), ("missing", "fresh"));
    cache.keep(id(1), "a", key(), before, NOW, 0);
    assert_eq!(has(&cache, 1, NOW), "missing", "it was unwrapped before the drop");
    keep(&cache, 1, "a", NOW, 0);
    assert_eq!(has(&cache, 1, NOW), "fresh");
    cache.drop_all();
    assert_eq!((has(&cache, 1, NOW), has(&cache, 2, NOW)), ("missing", "missing"));
}

#[test]
fn locks_are_forgotten() {
    let cache = Cache::new();
    let (one, two) = (cache.flight(&id(1)), cache.flight(&id(1)));
    assert!(Arc::ptr_eq(&one, &two));
    cache.land(&id(1), one);
    assert_eq!(cache.lock().flights.len(), 1, "another caller still waits");
    cache.land(&id(1), two);
    assert_eq!(cache.lock().flights.len(), 0);
    for n in 0..limits::TENANT_KEYS_CACHED_MAX * 2 {
        drop(cache.flight(&id(u32::try_from(n).expect("fits"))));
    }
    assert!(cache.lock().flights.len() <= limits::TENANT_KEYS_CACHED_MAX, "cancelled callers leave a bounded number");
}
