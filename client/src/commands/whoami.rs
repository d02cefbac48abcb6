//! Command.

use crate::app::App;
use crate::error::CliError;
use crate::output::Outcome;


/// Runs the command.
pub async fn run(_app: &App) -> Result<Outcome, CliError> {
    Err(CliError::internal("being written"))
}
