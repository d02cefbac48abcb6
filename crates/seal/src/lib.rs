//! Sealing: canonical contexts, the CLV2 envelope, the person's sealing key and its text form, the keys of the service's vault, and the public client's frozen envelope. The only room that opens; it makes no randomness, reads no clock and does no I/O.
#![deny(clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)]

pub mod cloud_secret;
pub mod clv2;
pub mod context;
pub mod credential;
pub mod ctx;
pub mod device_direct;
pub mod grant;
pub mod local;
pub mod recovery;
pub mod usk;
pub mod v1;
pub mod vault_keys;

#[cfg(test)]
mod attack_tests;

pub use cloud_secret::CloudSecret;
pub use clv2::{OpenError, SealError, SealRandom};
pub use credential::Credential;
pub use device_direct::{CredentialPlace, OpenedCredential, open_device_direct, seal_device_direct};
pub use grant::DeviceGrant;
pub use usk::UserSealingKey;
