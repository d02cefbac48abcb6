//! The way from this device to a connection's server: the guarded destination, the credential's header, and what to say when it fails. Holds no credential longer than the client it makes.

use crate::app::App;
use crate::db::Db;
use crate::error::CliError;
use contract::connection::ConnectionRow;
use contract::ids::ConnectionId;
use contract::{Code, limits};
use egress::{AllowHost, Destination, EgressError};
use seal::Credential;
use sign::Secret;
use sqlx::Row as _;
use upstream::{Auth, UpstreamError};

/// Which server is meant, in the words of error messages.
#[derive(Debug, Clone)]
pub struct Server {
    /// The connection's id, or [`Server::NEW`] while there is none.
    pub id: String,
    /// Its URL.
    pub endpoint: String,
}

impl Server {
    /// Stands for the id of a connection that is not made yet.
    pub const NEW: &str = "ID";

    /// The server of a connection.
    #[must_use]
    pub fn of(row: &ConnectionRow) -> Self {
        Self { id: row.id.to_string(), endpoint: row.endpoint.clone() }
    }
}

/// Reads `--allow-host` flags.
pub fn parse_networks(said: &[String]) -> Result<Vec<AllowHost>, CliError> {
    if said.len() > limits::ALLOW_HOSTS_MAX {
        return Err(CliError::usage(format!("more than {} private networks", limits::ALLOW_HOSTS_MAX)));
    }
    said.iter()
        .map(|network| network.parse().map_err(|error| CliError::usage(format!("`{network}` is {error}"))))
        .collect()
}

/// The guarded way to a server.
pub fn destination(app: &App, networks: Vec<AllowHost>, server: &Server) -> Result<Destination, CliError> {
    app.egress(networks).foreign(&server.endpoint).map_err(|error| explain_egress(error, server))
}

/// The header that shows a credential to its server.
pub fn auth(credential: &Credential) -> Result<Auth, CliError> {
    // EXPOSE: to the client of the reviewed server, which shows it to that server and takes it out of answers.
    credential.expose_for_upstream_request(|lines| match lines {
        [] => Ok(Auth::None),
        [line] => {
            let copy = |text: &str| Secret::init(|out: &mut String| out.push_str(text));
            match line.value().strip_prefix("Bearer ") {
                Some(token) if line.name().eq_ignore_ascii_case("authorization") => Ok(Auth::Bearer(copy(token))),
                Some(_) | None => Ok(Auth::Header { name: line.name().to_owned(), value: copy(line.value()) }),
            }
        }
        _ => Err(CliError::new(
            Code::Unsupported,
            "this credential has several headers, which only the public client sends",
        )
        .hint("share the server again with one header")),
    })
}

/// What a failed exchange with a server means, and what to do.
#[must_use]
pub fn explain(error: UpstreamError, server: &Server) -> CliError {
    let message = error.to_string();
    match error {
        UpstreamError::Egress(error) => explain_egress(error, server),
        UpstreamError::Unauthorized { .. } => CliError::new(Code::CredentialRefused, message).hint(format!(
            "give it a valid credential: `collie online connection-review {} --bearer-stdin` (or `--header NAME`, or `--sign-in`)",
            server.id
        )),
        UpstreamError::Forbidden { .. } => CliError::new(Code::CredentialRefused, message)
            .hint(format!("allow it at the provider, or use another credential: `collie online connection-review {}`", server.id)),
        UpstreamError::RateLimited { retry_after_s } => {
            let wait = retry_after_s.map_or_else(|| "a while".to_owned(), |seconds| format!("{seconds} s"));
            CliError::new(Code::RateLimited, message).hint(format!("wait {wait} and run the command again"))
        }
        UpstreamError::Status { .. } | UpstreamError::Rpc { .. } => CliError::new(Code::UpstreamRefused, message)
            .hint(format!("`collie online connection-test {}` looks at each step", server.id)),
        UpstreamError::Malformed { .. } | UpstreamError::Unsupported { .. } => CliError::new(Code::UpstreamProtocol, message)
            .hint(format!("is {} the address of an MCP server?", server.endpoint)),
        UpstreamError::EraChanged { .. } => CliError::new(Code::ManifestChanged, message)
            .hint(format!("review it again: `collie online connection-review {}`", server.id)),
        UpstreamError::Manifest(_) | UpstreamError::EndlessList { .. } => {
            CliError::new(Code::ManifestInvalid, message).hint("the server's operator has to repair its list of tools")
        }
        UpstreamError::CredentialInManifest => CliError::new(Code::ManifestInvalid, message)
            .hint("do not trust this server with the credential: change it at the provider"),
        UpstreamError::BadHeaderName { .. } | UpstreamError::BadCredential => CliError::usage(message),
        UpstreamError::BadCall { .. } => CliError::usage(message).hint("see the tool's arguments by `connection-show`"),
    }
}

fn explain_egress(error: EgressError, server: &Server) -> CliError {
    let denied = matches!(error, EgressError::Denied { .. });
    let redirected = matches!(error, EgressError::Redirected { .. });
    let explained = CliError::from(error);
    if denied {
        return explained.hint(
            "if this network is yours, allow it with `--allow-host CIDR`; loopback needs the development setting",
        );
    }
    if redirected {
        return CliError::new(Code::EgressDenied, explained.message).hint(
            "redirects are not followed: share the server under the address it redirects to, if you trust that one",
        );
    }
    if explained.code == Code::Unreachable {
        return explained.hint(format!(
            "look whether {} is up and the network is there, then run the command again",
            server.endpoint
        ));
    }
    if explained.code == Code::Unavailable {
        return CliError::new(Code::UpstreamProtocol, explained.message)
            .hint(format!("is {} the address of an MCP server?", server.endpoint));
    }
    explained
}

impl Db {
    /// Private networks that a person allowed a connection to lie in, on this device.
    pub async fn list_networks(&mut self, id: &ConnectionId) -> Result<Vec<AllowHost>, CliError> {
        let rows = sqlx::query("SELECT network FROM allowed_network WHERE connection_id = $1 ORDER BY network")
            .bind(id.as_str())
            .fetch_all(&mut self.connection)
            .await?;
        let mut networks = Vec::new();
        for row in rows {
            let text: &str = row.try_get(0)?;
            networks.push(text.parse().map_err(|_| {
                CliError::internal("the local database holds an impossible value in allowed_network.network")
            })?);
        }
        Ok(networks)
    }

    /// Allows a connection to lie in these private networks, on this device.
    pub async fn allow_networks(&mut self, id: &ConnectionId, networks: &[AllowHost]) -> Result<(), CliError> {
        for network in networks {
            sqlx::query("INSERT INTO allowed_network (connection_id, network) VALUES ($1, $2) ON CONFLICT DO NOTHING")
                .bind(id.as_str())
                .bind(network.to_string())
                .execute(&mut self.connection)
                .await?;
        }
        Ok(())
    }
}
