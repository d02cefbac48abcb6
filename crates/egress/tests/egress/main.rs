//! The guarded client against loopback servers. Never sends a packet to another machine.

mod caps;
mod guard;
mod server;
mod trust;
