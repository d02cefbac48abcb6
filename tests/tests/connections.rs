//! Connections of our own clients: signed reviews land whole or not at all, credentials follow one another, and nobody reaches what is not theirs.

#[path = "connections/isolation.rs"]
mod isolation;
#[path = "connections/signed.rs"]
mod signed;
