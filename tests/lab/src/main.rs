//! The lab as a program: reads flags, prints one ready line, runs until told to stop. Never prints the credential.

use clap::{Parser, ValueEnum};
use collie_lab::{Command, Credential, Eras, FaultRule, Lab, LabConfig, Switches};
use http::HeaderName;
use serde_json::json;
use std::error::Error;
use std::fs::OpenOptions;
use std::io::{self, BufRead as _, Write as _};
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use tokio::signal::unix::{SignalKind, signal};

/// A hostile-capable MCP server for tests and the demo.
#[derive(Parser)]
#[command(version)]
struct Flags {
    /// Address of the MCP endpoint; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Ask for a bearer token, read as one line from stdin.
    #[arg(long, conflicts_with = "header")]
    bearer_stdin: bool,
    /// Ask for a value in this header, read as one line from stdin.
    #[arg(long, value_name = "NAME")]
    header: Option<HeaderName>,
    /// Ask for access tokens of the lab's own authorization servers, which run beside it.
    #[arg(long, conflicts_with_all = ["header", "bearer_stdin"])]
    oauth: bool,
    /// Protocol eras to speak.
    #[arg(long, value_enum, default_value = "both")]
    era: Era,
    /// Lasting behaviour at the start, as a JSON object of switches.
    #[arg(long, value_name = "JSON")]
    switches: Option<String>,
    /// A fault armed at the start, as JSON; may be repeated.
    #[arg(long, value_name = "JSON")]
    fault: Vec<String>,
    /// Also write the ready line to this file (0600), which must not exist.
    #[arg(long, value_name = "PATH")]
    ready_file: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Era {
    Both,
    Legacy,
    Modern,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let flags = Flags::parse();
    // Before the ready line, so that a stop right after it is not lost.
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let lab = Lab::start(config(&flags)?).await?;
    for fault in &flags.fault {
        lab.control(Command::Fault(serde_json::from_str::<FaultRule>(fault)?))?;
    }
    announce(&lab, flags.ready_file.as_deref())?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    lab.stop().await;
    Ok(())
}

fn config(flags: &Flags) -> Result<LabConfig, Box<dyn Error>> {
    let mut switches: Switches = match &flags.switches {
        Some(text) => serde_json::from_str(text)?,
        None => Switches::default(),
    };
    switches.era = match flags.era {
        Era::Both => switches.era,
        Era::Legacy => Eras::Legacy,
        Era::Modern => Eras::Modern,
    };
    let credential = match &flags.header {
        Some(name) => Credential::Header { name: name.clone(), value: read_line()? },
        None if flags.bearer_stdin => Credential::Bearer(read_line()?),
        None if flags.oauth => Credential::OAuth,
        None => Credential::None,
    };
    Ok(LabConfig { listen: flags.listen, credential, switches })
}

fn read_line() -> io::Result<String> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    let value = line.trim_end_matches(['\r', '\n']);
    if value.is_empty() || value.bytes().any(|byte| !(0x20..0x7f).contains(&byte)) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "stdin must hold one line of printable ASCII"));
    }
    Ok(value.to_owned())
}

fn announce(lab: &Lab, ready_file: Option<&Path>) -> io::Result<()> {
    let [first, second] = lab.server_urls();
    let mut line = json!({
        "mcp_url": lab.mcp_url(),
        "control_url": lab.control_url(),
        "seen_url": lab.seen_url(),
        "other_url": lab.other_url(),
        "control_token": lab.control_token(),
    });
    if !first.is_empty() {
        line["mcp_b_url"] = json!(lab.mcp_b_url());
        line["issuer"] = json!(lab.issuer());
        line["second_issuer"] = json!(lab.second_issuer());
        line["server_urls"] = json!([first, second]);
    }
    if let Some(path) = ready_file {
        // Written aside and renamed: whoever waits for the file reads all of it or nothing.
        let mut aside = path.as_os_str().to_owned();
        aside.push(".part");
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&aside)?;
        writeln!(file, "{line}")?;
        std::fs::hard_link(&aside, path)?;
        std::fs::remove_file(&aside)?;
    }
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}
