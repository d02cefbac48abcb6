//! Secrets as a type, device keys, request signatures, signed objects and session tokens: one signer and one strict verifier for every side. Opens nothing, reads no clock and makes no randomness.
#![deny(clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)]

pub mod crockford;
pub mod key;
pub mod pkce;
pub mod request;
pub mod secret;
pub mod signed;
pub mod token;

pub use key::{DeviceKey, PublicKey};
pub use secret::Secret;
pub use signed::{Signed, SignedBody, Verified};
pub use token::TokenKey;
