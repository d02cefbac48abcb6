//! Calls one tool of a connection from this device. Never repeats a call whose outcome is unknown.

use crate::app::App;
use crate::error::CliError;
use crate::output::Outcome;

/// Arguments of the command.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// The connection's id.
    #[arg(value_name = "ID")]
    pub connection: String,
    /// The tool's name.
    #[arg(value_name = "TOOL")]
    pub tool: String,
    /// Arguments as a JSON object; `-` reads standard input.
    #[arg(long, value_name = "JSON")]
    pub args: Option<String>,
    /// Names this call, so that repeating the command does not repeat the call.
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
    /// Allow exactly this call, once.
    #[arg(long)]
    pub yes: bool,
}

/// Runs the command.
pub async fn run(_app: &App, _args: &Args) -> Result<Outcome, CliError> {
    Err(CliError::internal("being written"))
}
