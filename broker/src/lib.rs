//! The service: orders, stores and withholds what devices sealed, signs people's devices in and out, and answers the public client's contract. It has nothing that opens what a device sealed.

mod app;
mod client_address;
mod config;
mod console;
mod door;
mod http;
mod jobs;
mod keys;
mod listen;
mod ops;
mod origin;
mod private_files;
mod service;
#[cfg(test)]
mod testing;
mod tls;
mod vault_start;

pub mod cli;

pub use config::{Config, ConfigError, Sources, Surroundings, Tls, VaultSettings};
pub use door::{Clock, RandomError, SystemClock};
pub use keys::KeyFileError;
pub use ops::{first_start::FirstStartError, owner_link::OwnerLinkError};
pub use origin::{Origin, OriginError};
pub use service::{Ready, Service, StartError};
pub use tls::{Fingerprint, TlsError};
pub use vault_start::VaultStartError;
