//! The interface of a KEK provider (2.a.4): it wraps and unwraps one kind of key under one context. It never sees a tenant master key, a data key or a payload.

use crate::{KekError, KekFullName};
use seal::{
    SealRandom,
    context::{KekName, WrappingKeyContext},
    vault_keys::WrappingKey,
};
use std::{fmt, pin::Pin};

/// What a provider's call becomes.
pub type KekFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, KekError>> + Send + 'a>>;

/// Holds one key encryption key. The context goes in whole; a provider whose call takes a context is given its hash.
pub trait KekProvider: Send + Sync {
    /// Which key it is and how well it is kept.
    fn descriptor(&self) -> &Descriptor;

    /// Wraps a wrapping key for exactly this context. `random` is for providers that seal by themselves.
    fn wrap<'a>(
        &'a self,
        context: WrappingKeyContext<'a>,
        key: &'a WrappingKey,
        random: SealRandom,
    ) -> KekFuture<'a, Vec<u8>>;

    /// Unwraps a wrapping key of exactly this context.
    fn unwrap<'a>(&'a self, context: WrappingKeyContext<'a>, wrapped: &'a [u8]) -> KekFuture<'a, WrappingKey>;

    /// Whether it can wrap and unwrap now: a real round trip, not a ping.
    fn health(&self) -> KekFuture<'_, ()>;
}

/// The kinds of provider there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProviderKind {
    /// A file with the key in it.
    KeyFile,
}

impl ProviderKind {
    /// The word in records, contexts and the configuration (CTX tag 0f).
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::KeyFile => "file",
        }
    }
}

impl fmt::Display for ProviderKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How well a key is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Assurance {
    /// Whoever reads the service's memory or its files can have the key itself.
    Software,
    /// The key does not leave its hardware.
    Hsm,
}

impl Assurance {
    /// The word that is shown.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Software => "software",
            Self::Hsm => "hsm",
        }
    }
}

/// A key encryption key as the configuration and every record name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Descriptor {
    /// Kind of provider.
    pub provider: ProviderKind,
    /// Full name, never an alias.
    pub kek_id: KekFullName,
    /// Version; empty for providers that rotate versions themselves. A key file's is the id of the key in it.
    pub version: String,
    /// How well it is kept.
    pub assurance: Assurance,
}

impl Descriptor {
    /// As the context takes it.
    #[must_use]
    pub fn name(&self) -> KekName<'_> {
        KekName { provider: self.provider.as_str(), kek_id: self.kek_id.as_str(), version: &self.version }
    }
}
