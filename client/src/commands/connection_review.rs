//! Reviews a connection again: shows what changed, lets a person decide, seals under the new review. Never lowers an effect by itself.

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
    /// Decide a tool's effect; repeat for several.
    #[arg(long, value_name = "TOOL=EFFECT")]
    pub effect: Vec<String>,
    /// Effects that run without asking again.
    #[arg(long, value_name = "EFFECT", value_delimiter = ',')]
    pub allow: Vec<String>,
    /// The digest that is reviewed; another one is refused.
    #[arg(long, value_name = "DIGEST")]
    pub digest: Option<String>,
    /// Only show what changed.
    #[arg(long)]
    pub diff: bool,
    /// Do not ask.
    #[arg(long)]
    pub yes: bool,
}

/// Runs the command.
pub async fn run(_app: &App, _args: &Args) -> Result<Outcome, CliError> {
    Err(CliError::internal("being written"))
}
