//! Stable error codes: one table from code to HTTP status and to the exit code of the command line. What a client may see is a value of its own; internal messages have no path into it.

use serde::{Deserialize, Serialize};

/// Exit codes of `collie` (documented in docs/cli.md): denied is not failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done.
    Done = 0,
    /// Other failure.
    Failed = 1,
    /// Wrong usage.
    Usage = 2,
    /// Not connected, or the session is over.
    Session = 3,
    /// Role, membership or capability is missing.
    Forbidden = 4,
    /// Not found.
    NotFound = 5,
    /// Conflict, stale version or illegal transition.
    Conflict = 6,
    /// A person must decide.
    NeedsYou = 7,
    /// Refused by Authority or trust.
    Refused = 8,
    /// Network or service unavailable; nothing changed.
    Network = 9,
    /// Integrity.
    Integrity = 10,
    /// The outcome is uncertain; reconcile.
    Uncertain = 11,
    /// Budget, rate or size.
    Limit = 12,
    /// Unsupported contract version.
    Unsupported = 13,
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $word:literal, $status:literal, $exit:ident;)+) => {
        /// A stable error code.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Code {
            /// Every code, alphabetical by its word.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// The word on the wire and in `--json`.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $word),+ }
            }

            /// The HTTP status the service answers with; 0 where only the command line uses the code.
            #[must_use]
            pub const fn http_status(self) -> u16 {
                match self { $(Self::$name => $status),+ }
            }

            /// The exit code of the command line.
            #[must_use]
            pub const fn exit(self) -> Exit {
                match self { $(Self::$name => Exit::$exit),+ }
            }

            /// Reads the word; an unknown one is none of ours.
            #[must_use]
            pub fn parse(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|code| code.as_str() == word)
            }
        }
    };
}

codes! {
    /// Somebody must approve it first.
    ApprovalPending = "approval.pending", 428, NeedsYou;
    /// The interim rule wants a person's own `--yes` for exactly these arguments.
    AuthorityAsk = "authority.ask", 0, NeedsYou;
    /// Authority refuses, whoever asks.
    AuthorityDenied = "authority.denied", 403, Refused;
    /// Needs a word on exactly this operation that nothing here can give yet.
    StepUpRequired = "authority.step_up_required", 403, NeedsYou;
    /// The person said no.
    Canceled = "canceled", 0, NeedsYou;
    /// The id is taken by something else.
    IdTaken = "conflict.id", 409, Conflict;
    /// What was read is not what stands now.
    StaleVersion = "conflict.version", 409, Conflict;
    /// The state does not allow it.
    IllegalTransition = "conflict.state", 409, Conflict;
    /// The digest is not the current one.
    DigestMismatch = "connection.digest_mismatch", 409, Conflict;
    /// The live manifest is not the reviewed one.
    ManifestChanged = "connection.manifest_changed", 409, Refused;
    /// A refresh token of this connection may be on its way; what would overwrite its successor waits.
    ConnectionRefreshing = "connection.refreshing", 409, Conflict;
    /// Nobody has reviewed what stands now.
    ReviewRequired = "connection.review_required", 409, Refused;
    /// Revoked for good.
    ConnectionRevoked = "connection.revoked", 410, Refused;
    /// A newer or older contract than ours.
    Unsupported = "contract.unsupported", 422, Unsupported;
    /// The credential cannot be used: wrong, expired or refused by the server.
    CredentialRefused = "credential.refused", 0, Refused;
    /// This device is not the one, or is revoked, or is the caller itself.
    DeviceSelf = "device.self", 409, Conflict;
    /// The account has this device already.
    DeviceExists = "device.exists", 409, Conflict;
    /// The device's own check found something broken.
    DoctorRed = "doctor.red", 0, Failed;
    /// It may have happened; look before doing it again.
    EffectUncertain = "effect.uncertain", 0, Uncertain;
    /// One call is under way under this key.
    EffectRunning = "effect.running", 0, Conflict;
    /// The address may not be reached from here.
    EgressDenied = "egress.denied", 422, Refused;
    /// Same key, other arguments.
    IdempotencyMismatch = "idempotency.payload_mismatch", 409, Conflict;
    /// Our fault.
    Internal = "internal", 500, Failed;
    /// The key file is damaged; it is never replaced silently.
    KeyCorrupt = "key.corrupt", 0, Integrity;
    /// Another key is there already.
    KeyOther = "key.other_present", 409, Conflict;
    /// This account has sealed data; import its key first.
    KeyRequired = "key.required", 0, NeedsYou;
    /// A named maximum is reached.
    LimitReached = "limit.reached", 409, Limit;
    /// Sign-in waits for a person.
    LoginPending = "login.pending", 0, NeedsYou;
    /// The manifest breaks a rule.
    ManifestInvalid = "manifest.invalid", 422, Refused;
    /// Nothing answered; nothing changed.
    Unreachable = "net.unreachable", 0, Network;
    /// Not there, or not yours: the same answer.
    NotFound = "not_found", 404, NotFound;
    /// Expired, used, or never was.
    PairingExpired = "pairing.expired", 410, Session;
    /// The public client's word while nobody has approved.
    PairingPending = "authorization_pending", 428, NeedsYou;
    /// Refused by the person.
    PairingRefused = "pairing.refused", 403, Session;
    /// Too many wrong codes.
    PairingTries = "pairing.tries", 429, Limit;
    /// Too many requests.
    RateLimited = "rate.limited", 429, Limit;
    /// The body is larger than its named maximum.
    BodyTooLarge = "request.body_too_large", 413, Limit;
    /// A field is missing, unknown or of another shape.
    FieldInvalid = "request.field", 400, Usage;
    /// The body is not acceptable JSON.
    BodyInvalid = "request.json", 400, Usage;
    /// No such method here.
    MethodNotAllowed = "request.method", 405, Usage;
    /// The request target is not in its plain form.
    TargetInvalid = "request.target", 400, Usage;
    /// Not a JSON body.
    MediaType = "request.media_type", 415, Usage;
    /// The role does not allow it.
    RoleForbidden = "role.forbidden", 403, Forbidden;
    /// The last owner stays.
    LastOwner = "role.last_owner", 409, Conflict;
    /// This nonce sealed something before; sealing again makes another one.
    SealNonceReused = "seal.nonce_reused", 409, Integrity;
    /// The key does not open what is there.
    WrongKey = "seal.wrong_key", 0, Integrity;
    /// The session's time is over.
    SessionExpired = "session.expired", 401, Session;
    /// Not signed in.
    SessionRequired = "session.required", 401, Session;
    /// Ended by a person, or because its token was used twice.
    SessionRevoked = "session.revoked", 401, Session;
    /// The signature does not belong to this request and this device.
    SignatureInvalid = "signature.invalid", 401, Integrity;
    /// The nonce window of this device is full.
    NoncesFull = "signature.nonces_full", 429, Limit;
    /// This nonce was used.
    SignatureReplayed = "signature.replayed", 401, Integrity;
    /// The clocks differ too much.
    SignatureSkew = "signature.skew", 401, Integrity;
    /// The tool is not in the review.
    ToolUnreviewed = "tool.unreviewed", 0, Refused;
    /// The service's key or origin is not the pinned one.
    TrustPin = "trust.pin_mismatch", 0, Integrity;
    /// The service cannot answer now.
    Unavailable = "unavailable", 503, Network;
    /// The MCP server answered with an error.
    UpstreamRefused = "upstream.refused", 0, Failed;
    /// The MCP server speaks something else.
    UpstreamProtocol = "upstream.protocol", 0, Failed;
    /// Wrong flags or arguments.
    Usage = "usage", 0, Usage;
}

/// An error body: `{"error": text, "code": code}`, with the field to blame where there is one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// One sentence for people; the public client prints it.
    pub error: String,
    /// The stable code.
    pub code: String,
    /// The field to blame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
}

impl Problem {
    /// A problem with a sentence for people.
    #[must_use]
    pub fn new(code: Code, error: impl Into<String>) -> Self {
        Self { error: error.into(), code: code.as_str().to_owned(), field: None }
    }

    /// Names the field to blame.
    #[must_use]
    pub fn at(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_unique_and_read_back() {
        for code in Code::ALL {
            assert_eq!(Code::parse(code.as_str()), Some(*code), "{code:?}");
        }
    }
}
