//! Identifiers as types: ours are prefixed and made from 16 random bytes, foreign ones pass through a strict character set. An id is a name, never authority.

use crate::{digest::hex, limits};
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use std::fmt;

/// The text is not an id: 1 to 200 characters of `A-Z a-z 0-9 _ . : -`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an id: 1 to 200 characters of letters, digits, `_`, `.`, `:` and `-`")]
pub struct IdError;

/// Whether `text` may stand where an id stands (wire-collie-v1 2.1).
#[must_use]
pub fn is_id(text: &str) -> bool {
    (1..=limits::ID_CHARS_MAX).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b':' | b'-'))
}

macro_rules! ids {
    ($($(#[doc = $doc:literal])+ $name:ident = $prefix:literal;)+) => {$(
        $(#[doc = $doc])+
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// What ids of our own making start with.
            pub const PREFIX: &'static str = $prefix;

            /// An id of our own from 16 random bytes.
            #[must_use]
            pub fn from_random(bytes: [u8; 16]) -> Self {
                Self(format!("{}{}", Self::PREFIX, hex(&bytes)))
            }

            /// Reads an id from the wire.
            pub fn parse(text: &str) -> Result<Self, IdError> {
                if is_id(text) { Ok(Self(text.to_owned())) } else { Err(IdError) }
            }

            /// The wire form.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
            }
        }

        impl std::str::FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                Self::parse(text)
            }
        }
    )+};
}

// Alphabetical; append-only. A prefix is never reused.
ids! {
    /// A reviewed remote MCP server, the thing devices invoke by id.
    ConnectionId = "conn_";
    /// One installation of the service, made at its first start (CTX tag 01).
    DeploymentId = "dep_";
    /// One paired device.
    DeviceId = "dev_";
    /// One family of session tokens of a device in a workspace.
    FamilyId = "fam_";
    /// One downstream credential that a device holds until its end.
    LoanId = "loan_";
    /// One wait for a device to be approved.
    PairingId = "pair_";
    /// A project inside a workspace.
    ProjectId = "proj_";
    /// A person, independent of any login provider.
    UserId = "usr_";
    /// A workspace; the tenant of everything stored (CTX tag 02).
    WorkspaceId = "ws_";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_keep_their_alphabet() {
        assert_eq!(ConnectionId::from_random([0xab; 16]).as_str(), format!("conn_{}", "ab".repeat(16)));
        for good in ["a", "conn-12345678", "memory:dev-1:7", &"x".repeat(200)] {
            assert!(DeviceId::parse(good).is_ok(), "{good}");
        }
        for bad in ["", " a", "a/b", "a\0", "é", "%41", &"x".repeat(201)] {
            assert_eq!(DeviceId::parse(bad), Err(IdError), "{bad:?}");
        }
    }
}
