//! The client of MCP servers against the lab and against prepared bytes. Never speaks to anything but loopback.

mod call;
mod common;
mod handshake;
mod manifest;
mod raw;
