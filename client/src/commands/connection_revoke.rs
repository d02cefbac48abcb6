//! Ends a connection for every device and says what to change at the provider.

use crate::app::App;
use crate::cli::ConnectionArg;
use crate::error::CliError;
use crate::output::Outcome;

/// Arguments of the command.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Which connection.
    #[command(flatten)]
    pub connection: ConnectionArg,
    /// Do not ask.
    #[arg(long)]
    pub yes: bool,
}

/// Runs the command.
pub async fn run(_app: &App, _args: &Args) -> Result<Outcome, CliError> {
    Err(CliError::internal("being written"))
}
