//! The commands of `collie online` as a person or a program runs them, against a small service that verifies every signature.

mod canary;
mod devices;
mod keys;
mod login;
mod machine;
mod service;
mod session;
