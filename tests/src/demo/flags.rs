//! The demo's command line. `--json` and `--dev` change how the story is told, never what happens.

/// Tells the product's story on real processes. Leaves nothing behind.
#[derive(Debug, clap::Parser)]
#[command(name = "demo", version)]
pub(super) struct Flags {
    /// Exit when the story is told, instead of staying up until Ctrl-C.
    #[arg(long)]
    pub(super) once: bool,
    /// Print one JSON document instead of words, and exit.
    #[arg(long, conflicts_with = "dev")]
    pub(super) json: bool,
    /// Tell the story on this MCP server instead of the lab's.
    #[arg(long, value_name = "URL")]
    pub(super) mcp_url: Option<String>,
    /// Read a bearer token for `--mcp-url` from standard input.
    #[arg(long, requires = "mcp_url")]
    pub(super) bearer_stdin: bool,
    /// Set the same world up without telling the story, and leave it running for development.
    #[arg(long, conflicts_with = "once")]
    pub(super) dev: bool,
}
