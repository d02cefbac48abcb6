//! The released programs together, as processes: what the demo tells, what works without the service, where no secret is, what the help and the threat model claim.

#[path = "system/canary.rs"]
mod canary;
#[path = "system/demo.rs"]
mod demo;
#[path = "system/evidence.rs"]
mod evidence;
#[path = "system/help.rs"]
mod help;
#[path = "system/offline.rs"]
mod offline;
