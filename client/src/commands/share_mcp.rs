//! Registers a remote MCP server: reads its manifest, lets a person review it, seals the credential. Never takes a secret from the command line.

use crate::app::App;
use crate::error::CliError;
use crate::output::Outcome;

/// Arguments of the command.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// What you call it.
    #[arg(value_name = "NAME")]
    pub name: String,
    /// The server's URL.
    #[arg(long, value_name = "URL")]
    pub url: String,
    /// Read a bearer token from standard input.
    #[arg(long)]
    pub bearer_stdin: bool,
    /// Read the value of this header from standard input.
    #[arg(long, value_name = "NAME", conflicts_with = "bearer_stdin")]
    pub header: Option<String>,
    /// A private network the server may lie in, such as 10.0.0.0/8; repeat for several.
    #[arg(long, value_name = "CIDR")]
    pub allow_host: Vec<String>,
    /// Seal in the public client's format, so that it can use the connection too.
    #[arg(long)]
    pub for_public_client: bool,
    /// Decide a tool's effect; repeat for several.
    #[arg(long, value_name = "TOOL=EFFECT")]
    pub effect: Vec<String>,
    /// Do not ask; accepts nothing below commit without `--effect`.
    #[arg(long)]
    pub yes: bool,
}

/// Runs the command.
pub async fn run(_app: &App, _args: &Args) -> Result<Outcome, CliError> {
    Err(CliError::internal("being written"))
}
