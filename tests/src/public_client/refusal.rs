//! Everything the public client refuses, as values that a test can name. An uncaught Python exception is a refusal too.

/// Why the public client stops.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// 401, the only status it tells apart.
    AuthenticationRequired(String),
    /// Any other status than 2xx, with the text it prints.
    Service {
        /// HTTP status.
        status: u16,
        /// `error` of the body, or the generic sentence.
        error: String,
    },
    /// Nothing usable answered.
    Unavailable(&'static str),
    /// The body is larger than it reads.
    TooLarge,
    /// The body is JSON, but no object.
    NotAnObject,
    /// A redirect, which the service may never send.
    Redirect,
    /// A compressed body, which it cannot read.
    Compressed,
    /// A key it indexes is missing: an uncaught `KeyError`.
    MissingKey(&'static str),
    /// A value it slices, joins or prints is no string: an uncaught `TypeError`.
    NotAString(&'static str),
    /// A list it iterates is none.
    NotAList(&'static str),
    /// An id outside `^[A-Za-z0-9_.:-]{1,200}$`.
    BadId(&'static str),
    /// A token or id that must not be empty is.
    Empty(&'static str),
    /// A field of a connection differs from what it sent or computed.
    Differs(&'static str),
    /// The cursor went back.
    CursorLower,
    /// A credential whose `updated_at` is 0 or missing, which ends the whole sync.
    UpdatedAtZero,
    /// A credential older than the one it has.
    UpdatedAtLower,
    /// An event of a data class it does not know ends the page.
    UnknownDataClass(String),
    /// A sealed object that its key does not open ends the page.
    CannotOpen,
    /// A row that is no usable connection: not active, not reviewed, no digest.
    NotUsable(&'static str),
    /// Nobody has approved the pairing yet.
    AuthorizationPending,
    /// It needs a stored profile.
    NotConnected,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for Refusal {}
