//! The closed list of key encryption keys of one installation: one wraps, the others only unwrap what they wrapped. A record that names any other key is refused before a provider is asked.

use crate::{Descriptor, KekError, KekProvider, KekRecord};
use contract::limits;
use seal::{
    SealRandom,
    context::{KekName, TenantKeyRow, WrappingKeyContext},
    vault_keys::WrappingKey,
};

/// What a listed key may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Wraps and unwraps.
    Active,
    /// Unwraps what it wrapped, until all of that is wrapped anew.
    DecryptOnly,
}

impl Standing {
    /// The word in the configuration.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::DecryptOnly => "decrypt_only",
        }
    }

    /// Reads the word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Active, Self::DecryptOnly].into_iter().find(|standing| standing.as_str() == word)
    }
}

/// One key of the list.
pub struct ListedKek {
    /// What it may do.
    pub standing: Standing,
    /// Who holds it.
    pub provider: Box<dyn KekProvider>,
}

/// Why a list is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RingError {
    /// Exactly one key wraps.
    #[error("exactly one key encryption key must be `active`, the list has {active}")]
    Active {
        /// How many there are.
        active: usize,
    },
    /// One name is one key.
    #[error("the key `{kek_id}` is listed twice")]
    Twice {
        /// Which.
        kek_id: String,
    },
    /// More than [`limits::KEKS_MAX`].
    #[error("at most {max} key encryption keys may be listed")]
    TooMany {
        /// The maximum.
        max: usize,
    },
}

/// The keys of one installation.
pub struct KekRing {
    active: Box<dyn KekProvider>,
    decrypt_only: Vec<Box<dyn KekProvider>>,
}

impl KekRing {
    /// Takes the list of the configuration.
    pub fn new(listed: Vec<ListedKek>) -> Result<Self, RingError> {
        if listed.len() > limits::KEKS_MAX {
            return Err(RingError::TooMany { max: limits::KEKS_MAX });
        }
        let named = |kek: &ListedKek| {
            let name = kek.provider.descriptor();
            (name.provider, name.kek_id.clone())
        };
        for (at, kek) in listed.iter().enumerate() {
            if listed.iter().take(at).any(|other| named(other) == named(kek)) {
                return Err(RingError::Twice { kek_id: named(kek).1.to_string() });
            }
        }
        let (active, decrypt_only): (Vec<_>, Vec<_>) =
            listed.into_iter().partition(|kek| kek.standing == Standing::Active);
        let count = active.len();
        let mut active = active.into_iter().map(|kek| kek.provider);
        match (active.next(), count) {
            (Some(active), 1) => {
                Ok(Self { active, decrypt_only: decrypt_only.into_iter().map(|kek| kek.provider).collect() })
            }
            (_, active) => Err(RingError::Active { active }),
        }
    }

    /// Every listed key with what it may do, the active one first.
    pub fn list(&self) -> impl Iterator<Item = (Standing, &Descriptor)> {
        let others = self.decrypt_only.iter().map(|kek| (Standing::DecryptOnly, kek.descriptor()));
        std::iter::once((Standing::Active, self.active.descriptor())).chain(others)
    }

    /// The name under which new keys are wrapped.
    #[must_use]
    pub fn active(&self) -> KekName<'_> {
        self.active.descriptor().name()
    }

    /// Wraps a wrapping key under the active key. The row must name that key.
    pub async fn wrap(
        &self,
        row: TenantKeyRow<'_>,
        key: &WrappingKey,
        random: SealRandom,
    ) -> Result<KekRecord, KekError> {
        if row.kek != self.active() {
            return Err(not_listed(row.kek));
        }
        let blob = self.active.wrap(WrappingKeyContext(row), key, random).await?;
        let name = row.kek;
        Ok(KekRecord {
            provider: name.provider.to_owned(),
            kek_id: name.kek_id.to_owned(),
            version: name.version.to_owned(),
            blob,
        })
    }

    /// Unwraps a wrapping key by the key that its row names; the record must name the same.
    pub async fn unwrap(&self, row: TenantKeyRow<'_>, record: &KekRecord) -> Result<WrappingKey, KekError> {
        let recorded = KekName { provider: &record.provider, kek_id: &record.kek_id, version: &record.version };
        if recorded != row.kek {
            return Err(KekError::Record);
        }
        self.find(recorded)?.unwrap(WrappingKeyContext(row), &record.blob).await
    }

    /// Whether every listed key can wrap and unwrap now.
    pub async fn health(&self) -> Result<(), KekError> {
        self.active.health().await?;
        for kek in &self.decrypt_only {
            kek.health().await?;
        }
        Ok(())
    }

    fn find(&self, name: KekName<'_>) -> Result<&dyn KekProvider, KekError> {
        let all = std::iter::once(&self.active).chain(&self.decrypt_only);
        let listed = all.map(AsRef::as_ref).find(|kek| {
            let held = kek.descriptor().name();
            held.provider == name.provider && held.kek_id == name.kek_id
        });
        let kek = listed.ok_or_else(|| not_listed(name))?;
        let held = &kek.descriptor().version;
        if held == name.version {
            return Ok(kek);
        }
        Err(KekError::OtherVersion {
            kek_id: name.kek_id.to_owned(),
            recorded: name.version.to_owned(),
            held: held.clone(),
        })
    }
}

fn not_listed(name: KekName<'_>) -> KekError {
    KekError::NotListed { provider: name.provider.to_owned(), kek_id: name.kek_id.to_owned() }
}

#[cfg(test)]
#[path = "ring_tests.rs"]
mod tests;
