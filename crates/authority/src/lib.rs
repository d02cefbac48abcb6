//! The room that decides whether a call may run. Pure: no clock, no I/O, no panic; and the only room that can make a [`Permit`].
//!
//! The rule that stands today is small and says so: a reviewed tool whose effect is at most *act* runs; a *commit* runs on a
//! one-use grant for exactly these arguments, which a person's own `--yes` mints; *restricted* refuses. Data never grants:
//! nothing a server sends reaches a constructor of this crate except as bytes to compare.
//!
//! ```text
//! ReviewRecord ──accept──▶ TrustedReview ──pin──▶ Pinned ──decide──▶ Permit ──spend──▶ Spent (one call)
//! ```
#![deny(clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)]

mod decide;
mod operation;
mod pin;

pub use decide::{OneUseGrant, Permit, Refusal, Spent, decide};
pub use operation::{Operation, arguments_digest};
pub use pin::{LiveManifest, Pinned, TrustedReview, UntrustedReview};

#[cfg(test)]
mod tests;
