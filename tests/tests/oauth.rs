//! Connections that a person signs in for, with the real service and the lab's authorization servers in this process: each promise of a consent, attacked.

#[path = "oauth/revoke.rs"]
mod revoke;
#[path = "oauth/robot.rs"]
mod robot;
#[expect(dead_code, reason = "shared with the suite of static credentials")]
#[path = "connections/scene.rs"]
mod scene;
#[path = "oauth/sign_in.rs"]
mod sign_in;
#[path = "oauth/tokens.rs"]
mod tokens;
