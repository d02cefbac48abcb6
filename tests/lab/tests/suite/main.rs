//! The lab's own suite: every era, switch and fault, seen from a socket. Never uses the product's client.

mod control;
mod echo;
mod faults;
mod legacy;
mod manifest;
mod modern;
mod oauth;
mod program;
mod support;
