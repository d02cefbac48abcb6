//! `collie`: the command line of Collie Online. Hands its arguments to the library and ends with its exit code; does nothing else.

use std::process::ExitCode;

fn main() -> ExitCode {
    collie_client::main(std::env::args_os().collect())
}
