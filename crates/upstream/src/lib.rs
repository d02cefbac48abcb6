//! The client of MCP servers, on raw JSON: what a server sent is what is digested, reviewed and returned. Never goes through a typed model, never retries a call that can have happened, never lets a credential come back.
//!
//! Both protocol eras are spoken: 2026-07-28, stateless, and 2025-11-25 with sessions. An [`Upstream`] is one server
//! with one credential. The caller keeps the era that a review was made in and passes it in; when the server now
//! speaks another one, [`Upstream::fetch_manifest`] says so and [`Upstream::call_tool`] refuses.

mod answer;
mod auth;
mod call;
mod error;
mod exchange;
mod forms;
mod manifest;
pub mod oauth;
mod param_headers;
mod redact;
mod rpc;
mod session;
mod sse;

pub use auth::Auth;
pub use call::{Answer, Outcome, ToolCall};
pub use error::{Applied, CallError, UpstreamError};
pub use manifest::Fetched;
pub use redact::MARKER;
pub use session::Upstream;
