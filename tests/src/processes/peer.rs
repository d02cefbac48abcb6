//! Third-party MCP servers as processes, where the run that started us has installed them. Installs nothing itself.

use super::child::Running;
use crate::plain_http::Request;
use crate::trouble::Trouble;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;

/// `@modelcontextprotocol/server-everything`, over Streamable HTTP.
pub struct Everything {
    _process: Running,
    url: String,
}

/// Ports that are tried one after another: between finding a free one and its use somebody else may take it.
const PORTS_MAX: usize = 5;

impl Everything {
    /// Starts it. `None`, with a remark, where it is not installed; an error there when `COLLIE_REQUIRE_PEERS` is `1`.
    pub fn start() -> Result<Option<Self>, Trouble> {
        let (Some(node), Some(script)) = (path("COLLIE_NODE"), path("COLLIE_PEER_EVERYTHING")) else {
            let missing = Trouble::new(
                "COLLIE_NODE and COLLIE_PEER_EVERYTHING are not set",
                "run `cargo xtask test`, which installs the peers",
            );
            if std::env::var_os("COLLIE_REQUIRE_PEERS").is_some_and(|value| value == "1") {
                return Err(missing);
            }
            eprintln!("left out: {missing}");
            return Ok(None);
        };
        for _ in 0..PORTS_MAX {
            let port = free_port()?;
            let mut command = Command::new(&node);
            command.arg(&script).arg("streamableHttp").env_clear().env("PORT", port.to_string());
            let process = Running::start(&mut command, b"")?;
            if process.wait_err(|text| text.contains("listening on port").then_some(())).is_some() {
                let url = format!("http://127.0.0.1:{port}/mcp");
                // It has to be this process that answers there.
                Request::get(&url).send()?;
                return Ok(Some(Self { _process: process, url }));
            }
        }
        Err(Trouble::new("server-everything did not start on any port", "run it by hand and look"))
    }

    /// Address of its MCP endpoint.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }
}

fn path(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

fn free_port() -> Result<u16, Trouble> {
    let found = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    found
        .map(|address| address.port())
        .map_err(|error| Trouble::new(error.to_string(), "look at the machine's network"))
}
