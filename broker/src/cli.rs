//! The command `collie-broker`: arguments, environment and signals in, words and exit codes out. The only place that prints; an owner link goes to a terminal or into a private file and nowhere else.

mod commands;
mod documents;
mod logs;

use crate::config::{Config, SETTINGS, Sources};
use clap::{Arg, ArgMatches, Command, value_parser};
use std::{collections::BTreeMap, ffi::OsString, io, path::PathBuf, process::ExitCode};

/// What went wrong and what to do: two lines on stderr.
#[derive(Debug)]
pub(crate) struct Trouble {
    what: String,
    remedy: &'static str,
}

impl Trouble {
    pub(crate) fn new(what: impl ToString, remedy: &'static str) -> Self {
        Self { what: what.to_string(), remedy }
    }
}

/// Runs the command and returns its exit code.
#[must_use]
pub fn run(
    arguments: impl IntoIterator<Item = OsString>,
    environment: impl IntoIterator<Item = (OsString, OsString)>,
) -> ExitCode {
    let matches = match command().try_get_matches_from(arguments) {
        Ok(matches) => matches,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let environment = environment
        .into_iter()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    match dispatch(&matches, environment) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Trouble { what, remedy }) => {
            let _ = io::Write::write_all(&mut io::stderr(), format!("{what}\n{remedy}\n").as_bytes());
            ExitCode::FAILURE
        }
    }
}

fn dispatch(matches: &ArgMatches, environment: BTreeMap<String, String>) -> Result<(), Trouble> {
    let (name, arguments) = matches.subcommand().unwrap_or(("serve", matches));
    match name {
        "print-config-reference" => return print(&documents::configuration()),
        "print-limits" => return print(&documents::limits()),
        "print-routes" => return print(&documents::routes()),
        _ => {}
    }
    let arguments =
        if name == "admin" { arguments.subcommand().map_or(arguments, |(_, inner)| inner) } else { arguments };
    let sources = sources(matches, arguments, environment);
    if name == "dev" {
        return commands::dev(sources);
    }
    let config = load(&sources)?;
    match name {
        "init" => commands::init(config),
        "check" => commands::check(config),
        "admin" => commands::admin_owner_link(config),
        _ => commands::serve(config),
    }
}

pub(crate) fn load(sources: &Sources) -> Result<Config, Trouble> {
    sources.load().map_err(|error| {
        Trouble::new(
            error,
            "docs/configuration.md explains every setting; `collie-broker check` reads them without starting",
        )
    })
}

fn sources(matches: &ArgMatches, arguments: &ArgMatches, environment: BTreeMap<String, String>) -> Sources {
    let find = |name: &str| {
        [arguments, matches].into_iter().find_map(|given| given.try_get_one::<String>(name).ok().flatten().cloned())
    };
    let flags = SETTINGS.iter().filter_map(|setting| Some((setting.key.to_owned(), find(setting.key)?))).collect();
    let config_file = [arguments, matches]
        .into_iter()
        .find_map(|given| given.try_get_one::<PathBuf>("config").ok().flatten().cloned());
    Sources { config_file, flags, environment }
}

pub(crate) fn print(text: &str) -> Result<(), Trouble> {
    io::Write::write_all(&mut io::stdout(), text.as_bytes())
        .map_err(|error| Trouble::new(error, "nothing reads the output"))
}

fn command() -> Command {
    let sub = |name: &'static str, about: &'static str| with_settings(Command::new(name).about(about));
    let hidden = |name: &'static str| Command::new(name).hide(true);
    with_settings(Command::new("collie-broker"))
        .version(env!("CARGO_PKG_VERSION"))
        .about("Collie Online's service: serves when no command is given")
        .subcommand(sub("serve", "Serve until SIGINT or SIGTERM"))
        .subcommand(sub("dev", "Serve on a free loopback port with a throw-away state directory"))
        .subcommand(sub("init", "Make keys, certificate, database and owner without serving"))
        .subcommand(sub("check", "Read the settings and say what is there and what is missing"))
        .subcommand(
            Command::new("admin")
                .about("Commands of the operator, also while the service runs")
                .subcommand_required(true)
                .subcommand(sub("owner-link", "Make a one-time link that signs a browser in as the owner")),
        )
        .subcommand(hidden("print-config-reference"))
        .subcommand(hidden("print-limits"))
        .subcommand(hidden("print-routes"))
}

fn with_settings(command: Command) -> Command {
    let config = Arg::new("config")
        .long("config")
        .value_name("PATH")
        .value_parser(value_parser!(PathBuf))
        .help("Configuration file");
    SETTINGS.iter().fold(command.arg(config), |command, setting| {
        command.arg(Arg::new(setting.key).long(setting.flag()).value_name("VALUE").help(setting.about))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grammar_is_sound_and_every_setting_is_a_flag() {
        command().debug_assert();
        let arguments = ["collie-broker", "serve", "--listen", "127.0.0.1:0", "--proxy-trusted", "10.0.0.0/8"];
        let matches = command().try_get_matches_from(arguments).expect("grammar");
        let (_, inner) = matches.subcommand().expect("serve");
        let sources = sources(&matches, inner, BTreeMap::new());
        assert_eq!(sources.flags.get("listen").map(String::as_str), Some("127.0.0.1:0"));
        assert_eq!(sources.flags.get("proxy_trusted").map(String::as_str), Some("10.0.0.0/8"));
        assert!(command().try_get_matches_from(["collie-broker", "--listne", "x"]).is_err());
    }
}
