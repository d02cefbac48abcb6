//! Shows one connection from the device's own copy.

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
}

/// Runs the command.
pub async fn run(_app: &App, _args: &Args) -> Result<Outcome, CliError> {
    Err(CliError::internal("being written"))
}
