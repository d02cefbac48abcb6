//! The project's own commands (`cargo xtask …`). Runs programs and reads the tree; links none of ours.

mod binaries;
mod floors;
mod generated;
mod guard;
mod node;
mod peers;
mod postgres;
mod process;
mod python;
mod say;
mod suite;
mod tidy;
mod tools;
mod world;

use std::process::ExitCode;

use process::{Repo, Trouble};

/// One command: its name, what it does, and its help.
struct Command {
    name: &'static str,
    summary: &'static str,
    help: &'static str,
    run: fn(&Repo, &[String]) -> Result<(), Trouble>,
}

const COMMANDS: &[Command] = &[
    Command {
        name: "demo",
        summary: "the main job on real input, start to finish, in one terminal",
        help: world::DEMO_HELP,
        run: world::demo,
    },
    Command {
        name: "dev",
        summary: "the demo's world, left running for development",
        help: world::DEV_HELP,
        run: world::dev,
    },
    Command {
        name: "test",
        summary: "fmt, clippy, tidy, every suite on SQLite and PostgreSQL, peers, generated files",
        help: suite::TEST_HELP,
        run: suite::test,
    },
    Command {
        name: "ci",
        summary: "test, and the documentation and the dependency policy",
        help: suite::CI_HELP,
        run: suite::ci,
    },
    Command { name: "gen", summary: "write the generated files again", help: generated::HELP, run: generated::run },
    Command { name: "bench", summary: "measure the released binaries", help: world::BENCH_HELP, run: world::bench },
    Command {
        name: "tidy",
        summary: "the rules of the tree and the floors, in a second",
        help: tidy::HELP,
        run: tidy::run,
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (Some(name), rest) = (arguments.first(), arguments.get(1..).unwrap_or_default()) else {
        say::out(&overview());
        return ExitCode::FAILURE;
    };
    if name == guard::COMMAND {
        return guard::watch();
    }
    if matches!(name.as_str(), "help" | "--help" | "-h") {
        say::out(&overview());
        return ExitCode::SUCCESS;
    }
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else {
        say::trouble(&Trouble::new(format!("there is no command `{name}`"), "run `cargo xtask help` for the list"));
        return ExitCode::FAILURE;
    };
    if rest.iter().any(|argument| matches!(argument.as_str(), "--help" | "-h")) {
        say::out(command.help);
        return ExitCode::SUCCESS;
    }
    match Repo::find().and_then(|repo| (command.run)(&repo, rest)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(trouble) => {
            say::trouble(&trouble);
            ExitCode::FAILURE
        }
    }
}

fn overview() -> String {
    let mut text = String::from("Usage: cargo xtask <command> [arguments]\n\n");
    for command in COMMANDS {
        text.push_str(&format!("  {:<7}{}\n", command.name, command.summary));
    }
    text.push_str("\n`cargo xtask <command> --help` says what a command needs, does and leaves behind.");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_help_that_names_it() {
        for command in COMMANDS {
            let first = command.help.lines().next().unwrap_or_default();
            assert!(first.starts_with(&format!("Usage: cargo xtask {}", command.name)), "{first}");
            assert!(overview().contains(command.summary));
        }
    }
}
