//! The driver of `cargo xtask bench`: measures the released programs and says which bound is not met. Builds nothing.

use std::process::ExitCode;

fn main() -> ExitCode {
    collie_tests::bench::run()
}
