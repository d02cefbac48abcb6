//! The released programs together, as processes: what the demo tells, what works without the service, where no secret is, what the threat model claims.

#[path = "system/evidence.rs"]
mod evidence;
#[path = "system/smoke.rs"]
mod smoke;
