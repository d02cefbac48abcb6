//! The grammar of `collie online`: commands, flags and their help. Reads arguments and decides nothing.

mod reference;

use crate::commands::{
    connection_review, connection_revoke, connection_show, connection_test, connections, device_approve, device_revoke,
    doctor, invoke, key_export, key_import, login, logout, share_mcp, status,
};
use crate::error::CliError;
use clap::error::ErrorKind;
use clap::{Args, CommandFactory as _, Parser, Subcommand};
use contract::limits;
use std::ffi::OsString;
use std::path::PathBuf;

/// What a command line asks for.
pub enum Invocation {
    /// A command.
    Run(Box<Online>),
    /// A text of our own: help, version, reference.
    Print(String),
    /// The command line cannot be read.
    Refuse {
        /// What is wrong with it.
        error: CliError,
        /// Whether a machine asked.
        json: bool,
    },
}

/// Collie: connections for agents that never see a credential.
#[derive(Parser)]
#[command(name = "collie", version, about, disable_help_subcommand = true)]
struct Collie {
    #[command(subcommand)]
    command: Top,
}

#[derive(Subcommand)]
enum Top {
    /// Collie Online: connections that all devices of a person can use.
    Online(Box<Online>),
    /// Prints the reference of every command as Markdown.
    #[command(hide = true)]
    PrintHelp,
}

/// `collie online …`
#[derive(Args)]
#[command(disable_help_subcommand = true)]
pub struct Online {
    /// Flags of every command.
    #[command(flatten)]
    pub global: Global,
    /// What to do; `status` when nothing is said.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Flags that every command takes.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Print exactly one JSON document on standard output.
    #[arg(long, global = true)]
    pub json: bool,
    /// Print errors and warnings only.
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// The service to speak to, where this device is connected to several.
    #[arg(long, global = true, value_name = "URL", env = "COLLIE_ONLINE_URL", hide_env_values = true)]
    pub server: Option<String>,
    /// The workspace to work in, instead of the one this device signed in to.
    #[arg(long, global = true, value_name = "ID")]
    pub workspace_id: Option<String>,
    /// Where this device keeps its keys and its sealed copy.
    #[arg(long, global = true, value_name = "DIR", env = "COLLIE_STATE_DIR", hide_env_values = true)]
    pub state_dir: Option<PathBuf>,
    /// Print without colour.
    #[arg(long, global = true)]
    pub no_color: bool,
    /// Seconds to wait for the service.
    #[arg(long, global = true, value_name = "SECONDS", default_value_t = limits::SERVICE_CALL_S_MAX,
          value_parser = clap::value_parser!(u64).range(1..=limits::SERVICE_CALL_S_MAX))]
    pub timeout: u64,
    /// Let connections lead to this machine, also by plain http. For development and demonstrations only.
    #[arg(long, global = true, env = "COLLIE_DEVELOPMENT_ALLOW_LOOPBACK", hide_env_values = true, hide = true,
          action = clap::ArgAction::SetTrue, value_parser = clap::builder::BoolishValueParser::new())]
    pub development_allow_loopback: bool,
}

/// What `collie online` can do.
#[derive(Subcommand)]
pub enum Command {
    /// Shows whether this device is connected, what it holds and what needs you. Works offline.
    Status(status::Args),
    /// Connects this device to a service.
    Login(login::Args),
    /// Signs this device out. The inverse of `login`.
    Logout(logout::Args),
    /// Shows who and which device this is, with the device's full public key.
    Whoami,
    /// Lists the devices of your account.
    Devices,
    /// Revokes a device and says what has to be changed at the providers.
    DeviceRevoke(device_revoke::Args),
    /// Binds a waiting device from this one. The inverse is `device-revoke`.
    DeviceApprove(device_approve::Args),
    /// Registers a remote MCP server: reads its tools, lets you review them, seals its credential. The inverse is `connection-revoke`.
    ShareMcp(share_mcp::Args),
    /// Lists connections. Works offline.
    Connections(connections::Args),
    /// Shows one connection: its review, its tools, who can open it. Works offline.
    ConnectionShow(connection_show::Args),
    /// Reviews a connection again after its server changed, or to change a decision.
    ConnectionReview(connection_review::Args),
    /// Reads a connection's live tools and compares them with the review. Calls nothing.
    ConnectionTest(connection_test::Args),
    /// Ends a connection for every device.
    ConnectionRevoke(connection_revoke::Args),
    /// Calls one tool of a connection from this device. Works without the service.
    Invoke(invoke::Args),
    /// Prints the key that opens your sealed credentials, for another device of yours.
    KeyExport(key_export::Args),
    /// Takes the key of your account from another device, after proving that it opens what is there.
    KeyImport(key_import::Args),
    /// Checks this device and says what to do about every finding.
    Doctor(doctor::Args),
}

/// Reads a command line.
#[must_use]
pub fn parse(arguments: &[OsString]) -> Invocation {
    match Collie::try_parse_from(arguments) {
        Ok(Collie { command: Top::Online(online) }) => Invocation::Run(online),
        Ok(Collie { command: Top::PrintHelp }) => Invocation::Print(reference::markdown(&Collie::command())),
        Err(error) => refuse(&error, arguments),
    }
}

fn refuse(error: &clap::Error, arguments: &[OsString]) -> Invocation {
    let text = error.render().to_string();
    let asked_for =
        [ErrorKind::DisplayHelp, ErrorKind::DisplayVersion, ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand];
    if asked_for.contains(&error.kind()) {
        return Invocation::Print(text);
    }
    let json = arguments.iter().take_while(|argument| *argument != "--").any(|argument| argument == "--json");
    Invocation::Refuse { error: usage_error(&text), json }
}

/// clap's page as one sentence and one hint.
fn usage_error(text: &str) -> CliError {
    let sentence = text.split("\n\n").next().unwrap_or_default().trim_start_matches("error: ");
    let sentence = sentence.split_whitespace().collect::<Vec<_>>().join(" ");
    // clap repeats flags that came from the environment.
    let usage = text.lines().find_map(|line| line.strip_prefix("Usage: "));
    let usage = usage.map(|usage| usage.replace(" --state-dir <DIR>", "").replace(" --server <URL>", ""));
    let hint = usage
        .map_or_else(|| "run `collie online --help`".to_owned(), |usage| format!("usage: {usage}; more with `--help`"));
    CliError::usage(sentence).hint(hint)
}

/// The id of a connection: as the argument, or by the public client's flag.
#[derive(Debug, Clone, Args)]
#[group(required = true, multiple = false)]
pub struct ConnectionArg {
    /// The connection's id.
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// The same as a flag.
    #[arg(long, value_name = "ID")]
    connection_id: Option<String>,
}

impl ConnectionArg {
    /// The id.
    pub fn id(&self) -> Result<contract::ids::ConnectionId, CliError> {
        let text = self.id.as_deref().or(self.connection_id.as_deref()).unwrap_or_default();
        text.parse().map_err(|error| {
            CliError::usage(format!("`{text}` is {error}")).hint("`collie online connections` lists the ids")
        })
    }
}

/// The id of a device: as the argument, or by the public client's flag.
#[derive(Debug, Clone, Args)]
#[group(required = true, multiple = false)]
pub struct DeviceArg {
    /// The device's id.
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// The same as a flag.
    #[arg(long, value_name = "ID")]
    device_id: Option<String>,
}

impl DeviceArg {
    /// The id.
    pub fn id(&self) -> Result<contract::ids::DeviceId, CliError> {
        let text = self.id.as_deref().or(self.device_id.as_deref()).unwrap_or_default();
        text.parse().map_err(|error| {
            CliError::usage(format!("`{text}` is {error}")).hint("`collie online devices` lists the ids")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grammar_is_consistent() {
        Collie::command().debug_assert();
    }

    #[test]
    fn nothing_said_is_status_and_flags_stand_anywhere() {
        let parse = |line: &str| match parse(&line.split(' ').map(OsString::from).collect::<Vec<_>>()) {
            Invocation::Run(online) => online,
            Invocation::Print(text) => panic!("{text}"),
            Invocation::Refuse { error, .. } => panic!("{error}"),
        };
        assert!(parse("collie online").command.is_none());
        assert!(parse("collie online devices --json").global.json);
        assert!(parse("collie online --json devices").global.json);
        assert!(matches!(
            parse("collie online device-revoke --device-id dev_1 --yes").command,
            Some(Command::DeviceRevoke(_))
        ));
    }

    #[test]
    fn a_wrong_line_is_one_sentence_and_one_hint() {
        let Invocation::Refuse { error, json } =
            parse(&["collie", "online", "device-revoke", "--json"].map(OsString::from))
        else {
            panic!("refused")
        };
        assert!(json);
        assert_eq!(error.code, contract::Code::Usage);
        assert!(!error.message.contains('\n'));
        assert!(error.hint.expect("a hint").starts_with("usage: collie online device-revoke"));
    }
}
