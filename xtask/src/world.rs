//! `demo`, `dev` and `bench`: builds the released binaries and becomes the driver, which is a binary of collie-tests.

use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::binaries;
use crate::process::{Repo, Trouble};
use crate::say;

pub(crate) const DEMO_HELP: &str = "\
Usage: cargo xtask demo [--once] [--json] [--mcp-url URL]

Builds the released binaries, then tells the product's story on real processes: starts the service and an MCP
server on free loopback ports, pairs two devices, shares one connection, calls it from both, changes the server's
manifest, revokes a device, and says who could read what at each step. Stays up until Ctrl-C.

  --once         exit when the story is told
  --json         print one JSON document instead of words
  --mcp-url URL  tell the same story on any MCP server

Leaves nothing behind: its state is a temporary folder.";

pub(crate) const DEV_HELP: &str = "\
Usage: cargo xtask dev [--mcp-url URL]

The demo's world, set up once and left running until Ctrl-C: the service, the lab's MCP server, two paired devices
and one shared connection, with the addresses and folders to use them by hand.";

pub(crate) const BENCH_HELP: &str = "\
Usage: cargo xtask bench [arguments]

Measures the released binaries: start to first answer, idle memory, and what collie-tests' `bench` adds. Prints
each number beside its limit and exits non-zero when one is passed. Arguments go to that program.";

pub(crate) fn demo(repo: &Repo, arguments: &[String]) -> Result<(), Trouble> {
    become_driver(repo, "demo", &[], arguments)
}

pub(crate) fn dev(repo: &Repo, arguments: &[String]) -> Result<(), Trouble> {
    become_driver(repo, "demo", &["--dev"], arguments)
}

pub(crate) fn bench(repo: &Repo, arguments: &[String]) -> Result<(), Trouble> {
    become_driver(repo, "bench", &[], arguments)
}

/// Builds, then replaces this process by the driver, so that Ctrl-C, signals and the exit code are the driver's own.
fn become_driver(repo: &Repo, driver: &str, first: &[&str], arguments: &[String]) -> Result<(), Trouble> {
    say::note("building the released binaries (the first time takes some minutes)");
    binaries::build(repo, &[driver], None)?;
    let program = repo.bin_dir().join(driver);
    let mut command = Command::new(&program);
    command.args(first).args(arguments).env(binaries::VARIABLE, repo.bin_dir());
    let error = command.exec();
    Err(Trouble::new(format!("{} did not start: {error}", program.display()), "run `cargo build --release` and look"))
}
