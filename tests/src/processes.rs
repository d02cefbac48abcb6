//! The released programs as real processes: found, started, awaited, listened to, and ended when their handle is dropped. Knows nothing of the product but its command lines.

mod binaries;
mod child;
mod device;
mod lab;
mod peer;
mod service;

pub use binaries::{BIN_DIR, Binaries};
pub use child::{Finished, Running, Seen, end_all};
pub use device::{Device, Pairing, approve_in, line};
pub use lab::Lab;
pub use peer::Everything;
pub use service::{Database, Service, ServiceOptions};
