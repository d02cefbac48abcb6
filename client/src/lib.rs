//! The device's side of Collie Online: its keys, its sealed copy, its commands. The service never sees what is opened here, and no secret reaches an argument, a log or an answer.

pub mod api;
pub mod app;
pub mod cli;
pub mod commands;
pub mod db;
pub mod door;
pub mod endpoint;
pub mod error;
pub mod ledger;
pub mod loopback;
pub mod mirror;
pub mod opening;
pub mod output;
pub mod pairing;
pub mod prompt;
pub mod reach;
pub mod review;
pub mod sealing;
pub mod sign_in;
pub mod state;

use cli::Invocation;
use contract::problem::Exit;
use output::Output;
use std::ffi::OsString;
use std::process::ExitCode;

/// Runs one command line to its end.
#[must_use]
pub fn main(arguments: Vec<OsString>) -> ExitCode {
    let exit = match cli::parse(&arguments) {
        Invocation::Run(cli) => execute(*cli),
        Invocation::Print(text) => Output::print_text(&text),
        Invocation::Refuse { error, json } => Output::new(json, false, false).fail(&error),
    };
    ExitCode::from(exit as u8)
}

fn execute(cli: cli::Online) -> Exit {
    let output = Output::new(cli.global.json, cli.global.quiet, cli.global.no_color);
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return output.fail(&error::CliError::internal(format!("no runtime: {error}"))),
    };
    match runtime.block_on(Box::pin(commands::run(cli))) {
        Ok(outcome) => output.finish(&outcome),
        Err(error) => output.fail(&error),
    }
}
