//! Ends a connection for every device, then its consent at the provider where that can be had, and says honestly what is left to do there. Deletes this device's copy of the credential.

use crate::api::segment;
use crate::app::{App, Service};
use crate::cli::ConnectionArg;
use crate::db::Db;
use crate::db::copy::StoredCredential;
use crate::endpoint::{self, Held};
use crate::error::CliError;
use crate::output::Outcome;
use crate::prompt;
use crate::sign_in;
use contract::blob::SecretKind;
use contract::connection::{ConnectionAnswer, ConnectionList};
use contract::credential::{CredentialStatement, SealedCredentialV2};
use contract::ids::ConnectionId;
use contract::{Code, Json, b64u, cjson};
use egress::Egress;
use seal::DeviceGrant;
use sign::Secret;
use upstream::oauth::{
    Client, Moment, RevocationRequest, Revoked, TokenKind, Unregistered, find_server, prepare_revocation, unregister,
};

/// Arguments of `connection-revoke`.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Which connection.
    #[command(flatten)]
    pub connection: ConnectionArg,
    /// Do not ask.
    #[arg(long)]
    pub yes: bool,
}

/// Runs `connection-revoke`.
pub async fn run(app: &App, args: &Args) -> Result<Outcome, CliError> {
    let service = app.service()?;
    let api = service.api()?;
    let mut db = service.db().await?;
    let id = args.connection.id()?;
    let rows: ConnectionList = api.get("/v1/connections").await?;
    let standing = rows.connections.into_iter().find(|row| row.id == id);
    let name = standing.as_ref().map_or_else(|| id.to_string(), |row| row.name.clone());
    if standing.is_some()
        && !args.yes
        && !prompt::ask_yes(&format!("End `{name}` for all your devices, for good?"), "pass `--yes`")?
    {
        return Err(CliError::new(Code::Canceled, "not revoked; nothing changed"));
    }
    // Opened before the copy goes; sent after the connection is over for every device.
    let consent = if standing.is_some() { Consent::find(app, &service, &mut db, &id).await? } else { None };
    let target = format!("/v1/connections/{}/revoke", segment(id.as_str()));
    let ConnectionAnswer { connection } = api.post(&target, &Nothing {}).await?;
    let kind = db.find_credential(&id).await?.as_ref().and_then(secret_kind);
    db.remove_connection(&id).await?;
    db.checkpoint().await?;
    let ending = match consent {
        Some(consent) => Some(consent.end(app).await),
        None => None,
    };
    let data = Json::from_members([
        ("connection", id.as_str().into()),
        ("provider", ending.as_ref().map_or(Json::Null, |ending| ending.word.into())),
        ("changed", standing.is_some().into()),
        ("rotate_at", connection.endpoint.as_str().into()),
    ]);
    if standing.is_none() {
        return Ok(Outcome::new(data).line(format!("`{}` was revoked before; nothing changed.", connection.name)));
    }
    Ok(Outcome::new(data)
        .line(format!("Revoked `{name}`. No device can call its tools through Collie any more.",))
        .line(ending.map_or_else(|| what_to_rotate(kind, &connection.endpoint), |ending| ending.line)))
}

/// A consent that is to end at its provider.
struct Consent {
    grant: DeviceGrant,
    client: Client,
    egress: Egress,
}

/// How it ended.
struct Ending {
    word: &'static str,
    line: String,
}

impl Consent {
    /// The consent of a connection, where this device can open it.
    async fn find(app: &App, service: &Service<'_>, db: &mut Db, id: &ConnectionId) -> Result<Option<Self>, CliError> {
        let api = service.api()?;
        let Ok(held) = Held::find(db, api.workspace(), id).await else { return Ok(None) };
        let Ok(opened) = endpoint::open_for_review(service, &held).await else { return Ok(None) };
        let endpoint::OpenedForReview::V2(opened) = opened.credential else { return Ok(None) };
        let Some(grant) = opened.into_credential().into_grant() else { return Ok(None) };
        let egress = app.egress(db.list_networks(id).await?);
        Ok(Some(Self { client: sign_in::client_of(&grant)?, grant, egress }))
    }

    /// Revokes the refresh token, then the access token, then the client that we registered for it (RFC 7009, RFC 7592). Each is asked once.
    async fn end(self, app: &App) -> Ending {
        let issuer = self.grant.facts.issuer.as_str();
        let Ok(server) = find_server(&self.egress, issuer).await else {
            return Ending {
                word: "pending",
                line: format!("{issuer} cannot be reached: end the consent there yourself. {}", self.life(app)),
            };
        };
        let prepare = |token: &Secret<String>, kind| {
            let moment = Moment { now_s: app.door.now_s(), random: app.door.random() };
            prepare_revocation(&self.egress, &server, &self.client, token, kind, moment)
        };
        let refresh = self.grant.refresh_token.as_ref().map(|token| prepare(token, TokenKind::Refresh));
        let access = self.grant.access.as_ref().map(|access| prepare(&access.token, TokenKind::Access));
        let (refresh, access) = (sent(refresh).await, sent(access).await);
        let registration = match unregister(&self.egress, &self.client).await {
            Unregistered::Done => " The client that was registered for it is removed.",
            Unregistered::NotSupported | Unregistered::Pending(_) => "",
        };
        let (word, line) = match (refresh, access) {
            (None | Some(Revoked::Done), Some(Revoked::Done)) => {
                ("revoked", format!("{issuer} says that its tokens are void."))
            }
            (Some(Revoked::Done), _) => {
                ("refresh_revoked", format!("{issuer} says that its refresh token is void. {}", self.life(app)))
            }
            (_, Some(Revoked::NotSupported)) => (
                "not_supported",
                format!("{issuer} cannot revoke tokens: end the consent there yourself. {}", self.life(app)),
            ),
            _ => (
                "pending",
                format!(
                    "It is not known whether {issuer} ended the consent: look there, and end it yourself. {}",
                    self.life(app)
                ),
            ),
        };
        Ending { word, line: format!("{line}{registration}") }
    }

    /// How long a holder of the access token could go on.
    fn life(&self, app: &App) -> String {
        let end = self.grant.access.as_ref().and_then(|access| access.expires_at_s);
        match end {
            Some(end) if end <= app.door.now_s() => "Its access token is over.".to_owned(),
            Some(end) => {
                format!("Its access token may be used for {} more minutes.", (end - app.door.now_s()).div_ceil(60))
            }
            None => "How long its access token can be used is not known.".to_owned(),
        }
    }
}

async fn sent(request: Option<RevocationRequest>) -> Option<Revoked> {
    match request {
        Some(request) => Some(request.send().await),
        None => None,
    }
}

#[derive(serde::Serialize)]
struct Nothing {}

/// The kind, as the author stated it; nothing is opened for this.
fn secret_kind(stored: &StoredCredential) -> Option<SecretKind> {
    let sealed = SealedCredentialV2::parse(&stored.sealed).ok()?;
    let payload = b64u::decode(&sealed.statement.payload).ok()?;
    cjson::from_slice::<CredentialStatement>(&payload, payload.len()).ok().map(|statement| statement.secret_kind)
}

fn what_to_rotate(kind: Option<SecretKind>, endpoint: &str) -> String {
    let still = "a device that opened it may still hold it, and revoking here does not end it there";
    match kind {
        Some(SecretKind::None) => format!("It had no credential; there is nothing to change at {endpoint}."),
        Some(SecretKind::StaticBearer) => {
            format!("Now revoke or change its token at the provider of {endpoint}: {still}.")
        }
        Some(SecretKind::StaticHeader) => {
            format!("Now revoke or change its key at the provider of {endpoint}: {still}.")
        }
        Some(SecretKind::OAuth | SecretKind::ClientSecret | SecretKind::Dcr | SecretKind::Pkce) | None => {
            format!("Now revoke or change its credential at the provider of {endpoint}: {still}.")
        }
    }
}
