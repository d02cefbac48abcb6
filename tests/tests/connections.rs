//! Sharing, reviewing and calling connections, with the real service and the lab in this process: each promise of one call, attacked.

#[path = "connections/copies.rs"]
mod copies;
#[path = "connections/drift.rs"]
mod drift;
#[path = "connections/killed.rs"]
mod killed;
#[path = "connections/leaks.rs"]
mod leaks;
#[path = "connections/once.rs"]
mod once;
#[path = "connections/public.rs"]
mod public;
#[path = "connections/scene.rs"]
mod scene;
#[path = "connections/share.rs"]
mod share;
