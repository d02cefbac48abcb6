//! How the vault has its tenants' keys: one unwrap for many callers, a provider that is away, and a key that is never sealed under before it is kept.

use super::{
    on_both_engines,
    world::{KEK, NOW, key_file, make_with, ring, workspace},
};
use crate::VaultError;
use contract::{blob::SecretKind, limits};
use kms::{Descriptor, KekError, KekFuture, KekProvider, KeyFileProvider};
use seal::{SealRandom, context::WrappingKeyContext, vault_keys::WrappingKey};
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU32, Ordering},
};

/// A key file behind a line that can be cut, with a counter.
struct Remote {
    inner: KeyFileProvider,
    line: Arc<Line>,
}

#[derive(Default)]
struct Line {
    cut: AtomicBool,
    unwraps: AtomicU32,
}

impl Remote {
    fn make(line: &Arc<Line>) -> Self {
        Self { inner: key_file("kek-2026", KEK), line: Arc::clone(line) }
    }

    fn check(&self) -> Result<(), KekError> {
        if self.line.cut.load(Ordering::SeqCst) { Err(KekError::Unavailable { provider: "file" }) } else { Ok(()) }
    }
}

impl KekProvider for Remote {
    fn descriptor(&self) -> &Descriptor {
        self.inner.descriptor()
    }

    fn wrap<'a>(
        &'a self,
        context: WrappingKeyContext<'a>,
        key: &'a WrappingKey,
        random: SealRandom,
    ) -> KekFuture<'a, Vec<u8>> {
        Box::pin(async move {
            self.check()?;
            self.inner.wrap(context, key, random).await
        })
    }

    fn unwrap<'a>(&'a self, context: WrappingKeyContext<'a>, wrapped: &'a [u8]) -> KekFuture<'a, WrappingKey> {
        Box::pin(async move {
            self.line.unwraps.fetch_add(1, Ordering::SeqCst);
            // Others get their turn while this one is on its way.
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            self.check()?;
            self.inner.unwrap(context, wrapped).await
        })
    }

    fn health(&self) -> KekFuture<'_, ()> {
        self.inner.health()
    }
}

fn ttl_ms() -> i64 {
    i64::try_from(limits::TENANT_KEY_TTL_S_MAX * 1000).expect("fits")
}

on_both_engines! {
    async fn many_callers_unwrap_once(fixture: Fixture) {
        let line = Arc::new(Line::default());
        let world = make_with(&fixture, ring(Remote::make(&line))).await;
        world.make_person(1).await;
        world.share(1, 1).await;
        world.vault.forget_tenant(&workspace(1));
        let before = line.unwraps.load(Ordering::SeqCst);
        let callers = (0..16).map(|_| {
            let vault = Arc::clone(&world.vault);
            tokio::spawn(async move { vault.unlock(&workspace(1), NOW).await.map(|_| ()) })
        });
        for caller in callers.collect::<Vec<_>>() {
            assert_eq!(caller.await.expect("no panic"), Ok(()));
        }
        assert_eq!(line.unwraps.load(Ordering::SeqCst) - before, 1);
        world.vault.forget_tenant(&workspace(1));
        let _ = world.vault.unlock(&workspace(1), NOW).await.expect("unlocks");
        assert_eq!(line.unwraps.load(Ordering::SeqCst) - before, 2, "the control: what was dropped is unwrapped again");
    }

    async fn b4_a_provider_that_is_away_is_waited_out_from_memory(fixture: Fixture) {
        let line = Arc::new(Line::default());
        let world = make_with(&fixture, ring(Remote::make(&line))).await;
        for n in [1, 2] {
            world.make_person(n).await;
            world.share(n, n).await;
        }
        let (pin, stored) = world.load(1, 1, SecretKind::OAuth).await;
        let (pin, stored) = (pin.expect("pins"), stored.expect("is there"));
        world.vault.forget_tenant(&workspace(2));
        line.cut.store(true, Ordering::SeqCst);
        let open = async |now_ms| world.vault.open_for_manifest(&pin, &stored, now_ms).await.err();
        let away = Some(VaultError::KekUnavailable(KekError::Unavailable { provider: "file" }));
        assert_eq!(open(NOW).await, None);
        assert_eq!(open(NOW + ttl_ms() - 1).await, None, "ageing, and the early refresh fails without harm");
        assert_eq!(open(NOW + ttl_ms()).await, away, "never longer than its time, never by another way");
        assert_eq!(world.vault.unlock(&workspace(2), NOW).await.err(), away, "a tenant that is not in memory");
        assert!(away.as_ref().is_some_and(VaultError::is_transient));
        line.cut.store(false, Ordering::SeqCst);
        assert_eq!(open(NOW + ttl_ms()).await, None);
    }

    async fn a_key_is_refreshed_before_it_ends(fixture: Fixture) {
        let line = Arc::new(Line::default());
        let world = make_with(&fixture, ring(Remote::make(&line))).await;
        world.make_person(1).await;
        let _ = world.vault.unlock(&workspace(1), NOW).await.expect("unlocks");
        let before = line.unwraps.load(Ordering::SeqCst);
        let _ = world.vault.unlock(&workspace(1), NOW + ttl_ms() / 2).await.expect("unlocks");
        assert_eq!(line.unwraps.load(Ordering::SeqCst), before, "fresh");
        let late = NOW + ttl_ms() - 1;
        let _ = world.vault.unlock(&workspace(1), late).await.expect("unlocks");
        assert_eq!(line.unwraps.load(Ordering::SeqCst), before + 1, "ageing: one caller unwrapped it again");
        let _ = world.vault.unlock(&workspace(1), late + ttl_ms() / 2).await.expect("unlocks");
        assert_eq!(line.unwraps.load(Ordering::SeqCst), before + 1, "and it lives on");
    }

    async fn a_tenant_without_a_provider_gets_no_key(fixture: Fixture) {
        let line = Arc::new(Line::default());
        let world = make_with(&fixture, ring(Remote::make(&line))).await;
        line.cut.store(true, Ordering::SeqCst);
        assert!(matches!(world.vault.unlock(&workspace(1), NOW).await, Err(VaultError::KekUnavailable(_))));
        assert_eq!(world.keys.find_active(workspace(1).as_str()).await, Ok(None), "nothing is kept that nobody could open");
    }
}
