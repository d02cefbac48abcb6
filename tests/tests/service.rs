//! What the service promises about connections: signed reviews land whole or not at all, credentials follow one another, and nobody reaches what is not theirs.

#[path = "service/isolation.rs"]
mod isolation;
#[path = "service/signed.rs"]
mod signed;
