//! The driver of `cargo xtask demo` and `dev`: tells the product's story on real processes. Runs the programs it is given and builds none.

use std::process::ExitCode;

fn main() -> ExitCode {
    collie_tests::demo::run()
}
