//! The flags of a sign-in. No secret is among them: a client's secret comes on standard input.

use crate::error::CliError;
use crate::prompt;
use contract::limits;
use sign::Secret;

/// How to sign in at the server's provider, where it asks for that.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct SignInArgs {
    /// Who we are at the authorization server, if you registered a client there yourself.
    #[arg(long, value_name = "ID")]
    pub client_id: Option<String>,
    /// Read that client's secret from standard input.
    #[arg(long, requires = "client_id", conflicts_with_all = ["bearer_stdin", "header"])]
    pub client_secret_stdin: bool,
    /// Ask for this scope instead of those the server names; repeat for several.
    #[arg(long, value_name = "SCOPE")]
    pub oauth_scope: Vec<String>,
    /// Which of several authorization servers.
    #[arg(long, value_name = "URL")]
    pub issuer: Option<String>,
    /// The port of this device that the browser comes back to; any free one without it.
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    pub redirect_port: u16,
    /// Do not open a browser.
    #[arg(long)]
    pub no_browser: bool,
    /// The browser is on another machine: paste the address it ends at.
    #[arg(long, conflicts_with = "device_code")]
    pub paste: bool,
    /// Sign in on another device with a short code, where the provider offers it.
    #[arg(long)]
    pub device_code: bool,
}

impl SignInArgs {
    /// The secret of the person's own client, where one is announced.
    pub(super) fn read_secret(&self) -> Result<Option<Secret<String>>, CliError> {
        if !self.client_secret_stdin {
            return Ok(None);
        }
        prompt::read_secret("Client secret:", limits::CREDENTIAL_SECRET_BYTES_MAX).map(Some)
    }
}
