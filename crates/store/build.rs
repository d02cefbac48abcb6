//! Rebuilds the crate when a migration appears or changes, because migrations are embedded; does nothing else.

fn main() {
    println!("cargo:rerun-if-changed=../../migrations/sqlite");
    println!("cargo:rerun-if-changed=../../migrations/postgres");
}
