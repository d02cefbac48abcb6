//! The one HTTP client of the product: it checks the address it connects to, follows no redirect, reads no proxy from the environment, keeps no cookie, decompresses nothing and bounds every size and time.
//!
//! There are two kinds of destination. A *service* is the origin a person pinned at login: any address, its
//! certificate checked by the system's roots or by fingerprint. A *foreign* destination is anything that user input
//! names: https only, and only addresses of the public Internet, unless an operator allowed a private network or
//! switched the development setting on. Every [`Destination`] has connections of its own: none is ever shared
//! between kinds, pins or origins.

mod address;
mod connect;
mod deadline;
mod destination;
mod error;
mod request;
mod resolve;
mod response;
mod tls;

pub use address::{AllowHost, AllowHostError, Development, Reserved};
pub use destination::{Destination, Egress, Settings, Trust};
pub use error::{EgressError, Fault, Phase, Sent};
pub use http::{HeaderName, HeaderValue, Method, StatusCode};
pub use request::{Limits, Request};
pub use resolve::{Resolver, Resolving, SystemResolver};
pub use response::Response;
pub use rustls::pki_types::CertificateDer;
pub use tls::{Fingerprint, FingerprintError};
