//! OAuth 2.1 towards authorization servers, as one library of steps for the service and for devices: discovery, client identity, authorization, tokens, and the refresh machine. Never falls back silently, never follows a redirect, never repeats a refresh, and keeps no word of an answer to a request that carried a secret.
//!
//! Every request goes through `egress`; clocks and randomness are parameters. A step either gives what it promises
//! or a typed refusal that names the document and field, and whether the request can have had an effect.
//!
//! The steps are written by hand rather than over the `oauth2` crate: its types serialize the secrets and do not
//! wipe them, its parse error carries the raw body, and what the profile of MCP asks for (RFC 8707 `resource`,
//! RFC 9207 `iss`, RFC 9728, byte-exact issuers, one attempt with a known [`egress::Sent`]) is not in it. What would be
//! left for it is a form encoder.
//!
//! The order of a sign-in: [`find_resource`] → [`find_server`] → [`choose_identity`] (→ [`register`]) →
//! [`begin_authorization`] → the person's browser → [`Transaction::accept`] → [`exchange_code`]; or
//! [`start_device`] → [`poll_device`] where there is no browser. Afterwards
//! [`refresh::Machine`] says when a [`RefreshRequest`] may be sent.

mod authorize;
mod callback;
mod challenge;
mod client_auth;
mod device;
mod discover;
mod error;
mod fields;
mod form;
mod http;
mod identity;
mod metadata;
pub mod refresh;
mod register;
mod revoke;
mod token;
mod token_answer;
mod transaction;

pub use authorize::{AuthorizationRequest, AuthorizeError, Consent, Offline, Seeds, begin_authorization};
pub use callback::{Callback, CallbackError, GrantedCode};
pub use challenge::{Challenge, ChallengeError};
pub use client_auth::{AuthMethod, ClientAuth, Moment};
pub use device::{DeviceStart, DeviceWait, Poll, poll_device, start_device};
pub use discover::{Fit, ProtectedResource, find_resource, find_server};
pub use error::{DiscoveryError, Document, ErrorCode, Fault, StepError};
pub use identity::{
    AskThePerson, Available, Choice, Client, ClientIdentity, IdentityError, NoIdentity, choose_identity,
};
pub use metadata::AuthorizationServer;
pub use register::{
    Application, Management, RegisterError, Registration, RegistrationRequest, Unregistered, register, unregister,
};
pub use revoke::{RevocationRequest, Revoked, TokenKind, prepare_revocation};
pub use token::{Asked, RefreshRequest, exchange_code, prepare_refresh};
pub use token_answer::{Granted, Lifetime, NextRefresh, Subject, Tokens};
pub use transaction::{Transaction, TransactionError};
