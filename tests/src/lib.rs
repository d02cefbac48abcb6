//! The whole-system harness, the driver of the public client and what the suites share. Nothing here is part of the product.

pub mod bench;
pub mod browser;
pub mod canary;
pub mod demo;
pub mod evidence;
pub mod harness;
pub mod plain_http;
pub mod processes;
pub mod public_client;
pub mod recorder;
pub mod trouble;
