//! A hostile-capable MCP server for tests and the demo. Never part of the product, and never built on anything of it.
//!
//! It speaks revisions 2025-11-25 and 2026-07-28 on one address, from raw JSON, asks for a static credential if
//! told to, counts what it did, and misbehaves on request:
//!
//! * [`Switches`] are lasting behaviour: eras, changes of the manifest, paging, answer form, echoing.
//! * [`Fault`]s strike single requests: hanging, dropping, redirecting, damaging, flooding.
//!
//! With [`Credential::OAuth`] it asks for access tokens of its own authorization servers, which run beside it (RFC 6749, 7591,
//! 7592, 7636, 8414, 8628, 8707, 9207, 9728), need no person, and misbehave as [`OAuthSwitches`] say.
//!
//! Both are set by the start, by [`Lab::control`], or by one JSON [`Command`] to `POST /control`:
//!
//! ```text
//! {"set": {"changes": ["description"], "answer": "sse"}}
//! {"fault": {"kind": "drop_after", "tool": "send_note", "times": 1}}
//! {"fault": {"kind": {"redirect": {"to": "host"}}, "method": "tools/call"}}
//! {"set": {"oauth": {"rotation": false, "lies": ["no_pkce_methods"], "expires_in": "nonsense"}}}
//! {"fault": {"kind": "drop_after", "method": "oauth/token", "tool": "refresh_token", "times": 1}}
//! {"advance_s": 3600}
//! "release"
//! ```

mod answer;
mod control;
mod credential;
mod doc;
mod fault;
mod legacy;
pub mod limits;
mod mcp;
mod methods;
mod modern;
mod notes;
mod oauth;
mod rpc;
mod script;
mod seen;
mod server;
mod sse;
mod state;
mod switches;
mod tools;
mod wire;

pub use credential::{Credential, Presented};
pub use fault::{Fault, FaultRule, Malformation, RedirectTarget};
pub use oauth::scope::{ADMIN as SCOPE_ADMIN, OFFLINE as SCOPE_OFFLINE, READ as SCOPE_READ, WRITE as SCOPE_WRITE};
pub use oauth::{
    ClientAuth, ClientVerdict, Consent, DeviceGrant, Discovery, ExpiresIn, GivenClient, IssForm, MetadataLie,
    OAuthCounts, OAuthSeen, OAuthSwitches, Offline, RefreshForm, Registration, Revocation, ScopeForm, SecretEcho,
    SeenOAuth, SeenToken, StateForm, TokenVerdict, Verdict,
};
pub use seen::{Counts, Seen, SeenRequest, Sent, Stray};
pub use server::{Lab, LabConfig};
pub use state::{Behaviour, Command, CommandError};
pub use switches::{
    AnswerForm, Arrangement, CacheScope, Duplicates, Echo, EchoForm, EchoPlace, Eras, ManifestChange, Pages, Switches,
};
