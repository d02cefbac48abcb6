//! The public client against the service: its requests, its order and its refusals, over plain http on loopback.

#[path = "public_client/refusals.rs"]
mod refusals;
#[path = "public_client/service.rs"]
mod service;
