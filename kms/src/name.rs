//! The full name of a key encryption key. An alias, a pattern or a word for discovery is no name.

use contract::limits;
use std::fmt;

/// The full name of a key at its provider: what a record carries and what the configuration lists.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KekFullName(String);

/// Why a text is no full name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// An alias points to whatever key its owner chooses today (B2).
    #[error("an alias is no name of a key; write the key's full name")]
    Alias,
    /// A pattern or a word that asks for discovery (B2).
    #[error("keys are listed one by one and never discovered; write the key's full name")]
    Discovery,
    /// Empty, too long, or with characters that no name has.
    #[error("a key's name has 1 to 512 of the characters A-Z a-z 0-9 `_` `.` `:` `/` `-`")]
    Characters,
}

/// Words that ask to look for a key.
const DISCOVERY: &[&str] = &["any", "auto", "default", "discover", "discovery", "latest", "primary"];

impl KekFullName {
    /// Reads a name from the configuration.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let lower = text.to_ascii_lowercase();
        if lower.contains(['*', '?']) || DISCOVERY.contains(&lower.as_str()) {
            return Err(NameError::Discovery);
        }
        if lower.split([':', '/']).any(|part| part == "alias") {
            return Err(NameError::Alias);
        }
        let named = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:/-".contains(&byte);
        if !(1..=limits::KEK_NAME_CHARS_MAX).contains(&text.len()) || !text.bytes().all(named) {
            return Err(NameError::Characters);
        }
        Ok(Self(text.to_owned()))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for KekFullName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b2_aliases_and_discovery_are_no_names() {
        for good in
            ["kek-2026-11", "arn:aws:kms:eu-central-1:111122223333:key/1234abcd", "transit/keys/kek", "alias-of-mine"]
        {
            assert_eq!(KekFullName::parse(good).map(|name| name.to_string()), Ok(good.to_owned()));
        }
        for alias in ["alias/kek", "Alias/kek", "arn:aws:kms:eu-central-1:111122223333:alias/kek"] {
            assert_eq!(KekFullName::parse(alias), Err(NameError::Alias), "{alias}");
        }
        for search in ["*", "arn:aws:kms:*:key/1", "discover", "AUTO", "default", "latest", "kek-?"] {
            assert_eq!(KekFullName::parse(search), Err(NameError::Discovery), "{search}");
        }
        for bad in ["", "a b", "é", "a\0", "a\n", &"x".repeat(limits::KEK_NAME_CHARS_MAX + 1)] {
            assert_eq!(KekFullName::parse(bad), Err(NameError::Characters), "{bad:?}");
        }
    }
}
