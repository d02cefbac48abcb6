//! The whole-system harness, the driver of the public client and what the suites share. Nothing here is part of the product.

pub mod public_client;
