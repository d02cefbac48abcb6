//! Secrets as a type, device keys, client assertion keys, request signatures, signed objects and session tokens: one signer and one strict verifier for every side. Opens nothing, reads no clock and makes no randomness.
#![deny(clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)]

pub mod crockford;
pub mod es256;
pub mod key;
pub mod pkce;
pub mod request;
pub mod secret;
pub mod signed;
pub mod token;

pub use es256::{Es256Key, Es256Public};
pub use key::{DeviceKey, PublicKey};
pub use secret::Secret;
pub use signed::{Signed, SignedBody, Verified};
pub use token::TokenKey;
