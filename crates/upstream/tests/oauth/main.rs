//! The steps of OAuth against the lab's authorization servers and against prepared bytes. Never speaks to anything but loopback.

mod common;
mod discovery;
mod identity;
#[path = "../server/raw.rs"]
#[expect(dead_code, reason = "shared with the tests of the MCP client, which use all of it")]
mod raw;
mod sign_in;
mod tokens;
