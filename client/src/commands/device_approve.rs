//! Command.

use crate::app::App;
use crate::error::CliError;
use crate::output::Outcome;

/// Arguments of the command.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Args {}

/// Runs the command.
pub async fn run(_app: &App, _args: &Args) -> Result<Outcome, CliError> {
    Err(CliError::internal("being written"))
}
