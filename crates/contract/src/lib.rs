//! Wire types, canonical bytes, digests, labels and limits that every side of Collie Online shares. Holds no key, does no I/O and reads no clock: nothing in it can decrypt.
#![deny(clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)]

pub mod audit;
pub mod b64u;
pub mod blob;
pub mod cjson;
pub mod connection;
pub mod credential;
pub mod device;
pub mod digest;
pub mod effect;
pub mod ids;
pub mod labels;
pub mod limits;
pub mod manifest;
pub mod problem;
pub mod refresh;
pub mod review;
pub mod routes;
pub mod session;
pub mod sync;
pub mod text;
pub mod workspace;

pub use audit::AuditEvent;
pub use cjson::Json;
pub use digest::Digest;
pub use effect::Effect;
pub use problem::{Code, Problem};
