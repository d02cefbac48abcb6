//! What a sign-in that failed means, and what to do. Never shows a word of an answer to a request that held a secret.

use crate::error::CliError;
use contract::Code;
use upstream::oauth::{CallbackError, DiscoveryError, Fault, StepError};

/// Discovery ended without an authorization server.
pub(super) fn discovery(error: DiscoveryError) -> CliError {
    let message = error.to_string();
    match error {
        DiscoveryError::Unreachable { source, .. } => {
            let inner = CliError::from(source);
            let code = if inner.code == Code::Usage { Code::UpstreamProtocol } else { inner.code };
            let explained = CliError::new(code, format!("{message}: {}", inner.message));
            if code == Code::EgressDenied {
                return explained.hint(
                    "the server's metadata leads to an address that may not be reached from here; nothing was stored",
                );
            }
            explained.hint("nothing was stored; try again, or ask the server's operator")
        }
        DiscoveryError::NotFound { .. }
        | DiscoveryError::Status { .. }
        | DiscoveryError::Field { .. }
        | DiscoveryError::OtherIssuer { .. }
        | DiscoveryError::OtherResource { .. } => protocol(message),
    }
}

/// Something that the standards do not allow.
pub(super) fn protocol(message: impl Into<String>) -> CliError {
    CliError::new(Code::UpstreamProtocol, message)
        .hint("nothing was stored; the operator of the server has to repair this, or give a token by `--bearer-stdin`")
}

/// The provider refuses.
pub(super) fn refused(message: impl Into<String>) -> CliError {
    CliError::new(Code::CredentialRefused, message)
        .hint("nothing was stored; run the command again when the provider allows it")
}

/// A step at the authorization server.
pub(super) fn step(error: StepError) -> CliError {
    let message = error.to_string();
    match error.fault {
        Fault::Egress(error) => CliError::from(error).hint("nothing was stored; sign in again by the same command"),
        Fault::Refused { .. } | Fault::OtherIssuer => refused(message),
        Fault::NotOffered { .. } | Fault::BadRequest { .. } | Fault::Status { .. } | Fault::Malformed { .. } => {
            protocol(message)
        }
    }
}

/// The answer that a browser brought back.
pub(super) fn callback(error: CallbackError) -> CliError {
    let message = error.to_string();
    match error {
        CallbackError::Refused { .. } => {
            CliError::new(Code::Canceled, message).hint("nothing was stored; run the command again to sign in")
        }
        CallbackError::OtherIssuer => CliError::new(Code::UpstreamProtocol, message)
            .hint("somebody may have mixed two sign-ins; nothing was stored, and no code was sent anywhere"),
        CallbackError::Malformed { .. } | CallbackError::OtherState | CallbackError::TooLate => {
            CliError::new(Code::UpstreamProtocol, message).hint("nothing was stored; run the command again to sign in")
        }
    }
}
