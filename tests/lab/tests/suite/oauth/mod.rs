//! The authorization servers from a socket: every behaviour and every switch. Never uses the product's client.

mod clients;
mod consent;
mod discovery;
mod faults;
mod resource;
mod support;
mod tokens;
