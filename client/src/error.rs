//! What a command that did not succeed says: a stable code, one sentence, and what to do. Never holds a secret, and shows no internal chain.

use contract::cjson::JsonError;
use contract::{Code, Json, Problem};
use egress::{EgressError, Sent};

/// A refusal or failure as `collie` prints it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct CliError {
    /// The stable code; it decides the exit code.
    pub code: Code,
    /// What happened, one sentence.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// More for machines; an object.
    pub details: Json,
    /// What people see before the error: the command's own findings.
    pub lines: Vec<String>,
}

impl CliError {
    /// An error with a code and a sentence.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None, details: Json::object(), lines: Vec::new() }
    }

    /// Says what to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds what machines may want to know; an object.
    #[must_use]
    pub fn details(mut self, details: Json) -> Self {
        self.details = details;
        self
    }

    /// Adds lines for people, shown before the error.
    #[must_use]
    pub fn lines(mut self, lines: Vec<String>) -> Self {
        self.lines = lines;
        self
    }

    /// Our own fault.
    #[must_use]
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(Code::Internal, message)
    }

    /// Wrong flags or arguments.
    #[must_use]
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(Code::Usage, message)
    }

    /// Nobody is signed in here.
    #[must_use]
    pub fn not_connected() -> Self {
        Self::new(Code::SessionRequired, "this device is not connected to a service")
            .hint("run `collie online login --server <url>`")
    }

    /// Whether the same command may succeed later without anybody changing anything.
    #[must_use]
    pub const fn retryable(&self) -> bool {
        matches!(
            self.code,
            Code::Unreachable
                | Code::Unavailable
                | Code::RateLimited
                | Code::NoncesFull
                | Code::LoginPending
                | Code::ApprovalPending
                | Code::PairingPending
                | Code::EffectRunning
        )
    }

    /// What the service answered. Its words are shown; its code is believed only when it is one of ours and fits the status.
    #[must_use]
    pub fn from_problem(status: u16, problem: &Problem) -> Self {
        let known = Code::parse(&problem.code).filter(|code| code.http_status() == status);
        let code = known.unwrap_or_else(|| code_for_status(status));
        let mut error = Self::new(code, problem.error.clone());
        if let Some(field) = &problem.field {
            error.details = Json::from_members([("field", Json::from(field.as_str()))]);
        }
        match default_hint(code) {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }
}

/// The code for an answer that brings none of ours.
#[must_use]
pub const fn code_for_status(status: u16) -> Code {
    match status {
        400 | 405 | 415 => Code::BodyInvalid,
        401 => Code::SessionRequired,
        403 => Code::RoleForbidden,
        404 => Code::NotFound,
        409 => Code::StaleVersion,
        410 => Code::PairingExpired,
        413 => Code::BodyTooLarge,
        422 => Code::Unsupported,
        428 => Code::ApprovalPending,
        429 => Code::RateLimited,
        502..=504 => Code::Unavailable,
        _ => Code::Internal,
    }
}

/// What a person does about a code, where that does not depend on the command.
#[must_use]
pub fn default_hint(code: Code) -> Option<&'static str> {
    const HINTS: &[(&[Code], &str)] = &[
        (
            &[Code::SessionRequired, Code::SessionExpired, Code::SessionRevoked],
            "run `collie online login --server <url>` to connect this device again",
        ),
        (
            &[Code::SignatureInvalid],
            "the device key does not match the enrolled key; run `collie online login --replace` to pair again",
        ),
        (
            &[Code::SignatureSkew],
            "set this device's clock, then run the command again; `collie online doctor` shows the difference",
        ),
        (&[Code::StaleVersion], "something changed meanwhile; look again and repeat the command"),
        (&[Code::RateLimited, Code::NoncesFull, Code::Unavailable], "wait a moment and run the command again"),
    ];
    HINTS.iter().find(|(codes, _)| codes.contains(&code)).map(|(_, hint)| *hint)
}

impl From<EgressError> for CliError {
    fn from(error: EgressError) -> Self {
        let message = error.to_string();
        match &error {
            EgressError::BadUrl { .. } | EgressError::BadRequest { .. } => Self::usage(message),
            EgressError::Denied { .. } => Self::new(Code::EgressDenied, message),
            EgressError::Untrusted { seen, .. } => Self::new(Code::TrustPin, message)
                .hint(format!("compare the fingerprint with the one the service shows at its start; if it is the same, use `--server-fingerprint {seen}`")),
            EgressError::Unresolved { .. }
            | EgressError::Unreachable { .. }
            | EgressError::Tls { .. }
            | EgressError::TimedOut { .. }
            | EgressError::Broken { .. } => Self::new(Code::Unreachable, message).hint(match error.sent() {
                Sent::No => "nothing was sent and nothing changed; check the address and the network",
                Sent::Maybe => "the answer was lost; run the command again, it finds out what stands",
            }),
            EgressError::Malformed { .. } | EgressError::TooLarge { .. } | EgressError::Redirected { .. } => {
                Self::new(Code::Unavailable, message).hint("is this the address of a Collie Online service?")
            }
        }
    }
}

impl From<JsonError> for CliError {
    fn from(error: JsonError) -> Self {
        Self::internal(format!("unexpected JSON: {error}"))
    }
}

impl From<sqlx::Error> for CliError {
    fn from(error: sqlx::Error) -> Self {
        Self::internal(format!("the local database: {error}")).hint("run `collie online doctor`")
    }
}
