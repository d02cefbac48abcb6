//! The binary `collie-broker`: hands arguments and environment to the library and does nothing else.

use std::process::ExitCode;

fn main() -> ExitCode {
    collie_broker::cli::run(std::env::args_os(), std::env::vars_os())
}
