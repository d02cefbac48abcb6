//! Registers a remote MCP server: reads its manifest, lets a person review it, seals the credential. Never takes a secret from the command line, and goes on where an interrupted run stopped.

use crate::api::Api;
use crate::app::{App, Service};
use crate::db::Db;
use crate::error::CliError;
use crate::output::Outcome;
use crate::prompt;
use crate::reach::{self, Server};
use crate::review::ask::{self, Consent};
use crate::review::decisions::Decisions;
use crate::review::submit::{NewReview, submit};
use crate::review::{Before, Draft, table::Heading};
use crate::sign_in::{self, HandOff, Person, Purpose, SignInArgs, SignedIn};
use contract::connection::{
    ConnectionAnswer, ConnectionList, ConnectionRow, CreateConnection, Profile, Scope, SealFormat, Status,
};
use contract::credential::CredentialAnswer;
use contract::ids::ProjectId;
use contract::{Code, Json, limits};
use egress::{AllowHost, Destination};
use seal::Credential;
use seal::device_direct::VersionLink;
use upstream::{Auth, Fetched, Upstream, UpstreamError};

/// Arguments of `share-mcp`.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// What you call it.
    #[arg(value_name = "NAME")]
    pub name: String,
    /// The server's URL.
    #[arg(long, value_name = "URL")]
    pub url: String,
    /// The credential.
    #[command(flatten)]
    pub secret: SecretArgs,
    /// How to sign in, where the server asks for that.
    #[command(flatten)]
    pub sign_in: SignInArgs,
    /// Where the credential is opened: device_direct.
    #[arg(long, value_name = "PROFILE", default_value = "device_direct")]
    pub transport: String,
    /// Who it is for: personal, or project with `--project-id`.
    #[arg(long, value_name = "SCOPE")]
    pub scope: Option<String>,
    /// The project it belongs to.
    #[arg(long, value_name = "ID")]
    pub project_id: Option<String>,
    /// A private network the server may lie in, such as 10.0.0.0/8; repeat for several.
    #[arg(long, value_name = "CIDR")]
    pub allow_host: Vec<String>,
    /// Seal in the public client's format, so that it can use the connection too.
    #[arg(long)]
    pub for_public_client: bool,
    /// Decisions in advance.
    #[command(flatten)]
    pub decisions: Decisions,
    /// Do not ask; accepts nothing below commit without `--effect`.
    #[arg(long)]
    pub yes: bool,
}

/// How the secret arrives: on standard input, never as an argument.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct SecretArgs {
    /// Read a bearer token from standard input.
    #[arg(long)]
    pub bearer_stdin: bool,
    /// Read the value of this header from standard input.
    #[arg(long, value_name = "NAME", conflicts_with = "bearer_stdin")]
    pub header: Option<String>,
}

impl SecretArgs {
    /// Whether a secret is announced.
    #[must_use]
    pub const fn is_some(&self) -> bool {
        self.bearer_stdin || self.header.is_some()
    }

    /// Reads the credential.
    pub fn read(&self) -> Result<Credential, CliError> {
        let usable = |error: seal::credential::CredentialTextError| CliError::usage(error.to_string());
        if let Some(name) = &self.header {
            Auth::check_header_name(name).map_err(|error| CliError::usage(error.to_string()))?;
            let value = prompt::read_secret(&format!("Value of {name}:"), limits::CREDENTIAL_SECRET_BYTES_MAX)?;
            return Credential::static_header(name, &value).map_err(usable);
        }
        if self.bearer_stdin {
            let token = prompt::read_secret("Bearer token:", limits::CREDENTIAL_SECRET_BYTES_MAX)?;
            return Credential::static_bearer(&token).map_err(usable);
        }
        Ok(Credential::none())
    }

    /// The credential in words.
    #[must_use]
    pub fn words(&self) -> String {
        match (&self.header, self.bearer_stdin) {
            (Some(name), _) => format!("the header {name}, sealed for your devices"),
            (None, true) => "a bearer token, sealed for your devices".to_owned(),
            (None, false) => "none".to_owned(),
        }
    }
}

/// Runs `share-mcp`.
pub async fn run(app: &App, args: &Args) -> Result<Outcome, CliError> {
    share(app, args, || args.secret.read(), &Person).await
}

/// The same with the credential from somewhere else than standard input. It is asked for last, after everything that can refuse.
pub async fn share(
    app: &App,
    args: &Args,
    read: impl FnOnce() -> Result<Credential, CliError>,
    hand: &dyn HandOff,
) -> Result<Outcome, CliError> {
    let service = app.service()?;
    let api = service.api()?;
    let mut db = service.db().await?;
    let wanted = Wanted::of(args)?;
    let rows: ConnectionList = api.get("/v1/connections").await?;
    let standing = match wanted.find(&rows.connections)? {
        Some(row) if row.status == Status::Active => return already(&service, &api, &mut db, &wanted, args, row).await,
        found => found.cloned(),
    };
    ready_keys(&service, &api, wanted.format).await?;
    let credential = read()?;
    let server = Server { id: Server::NEW.to_owned(), endpoint: wanted.endpoint.clone() };
    let destination = reach::destination(app, wanted.networks.clone(), &server)?;
    let first =
        First { app, service: &service, args, wanted: &wanted, destination: &destination, server: &server, hand };
    let Opening { credential, fetched, words, remarks } = first.open(&mut db, credential).await?;
    let mut draft = Draft::propose(fetched.manifest, fetched.era, None::<Before<'_>>);
    let mut heading = heading(app, words, &wanted, &destination).await;
    heading.exceptions.extend(remarks);
    let instead = "pass `--yes`, with `--effect TOOL=EFFECT` for every tool that does less than commit";
    ask::settle(app.output, &heading, &mut draft, &args.decisions, Consent::of_flag(args.yes), instead)?;

    // create → review → seal; a run that ends in between is found again by name and address.
    let row = match standing {
        Some(row) => row,
        None => create(&api, &wanted, &draft).await?,
    };
    db.allow_networks(&row.id, &wanted.networks).await?;
    let new = NewReview { row: &row, draft: &draft, credential: &credential, link: next_version(&api, &row).await? };
    let row = submit(&service, &api, &mut db, new).await?;
    if let Some(facts) = credential.grant_facts() {
        sign_in::kept::forget(&mut db, &wanted.purpose(), &facts.issuer).await?;
    }
    Ok(shared(&row, &draft))
}

/// The first look at a server.
struct First<'a> {
    app: &'a App,
    service: &'a Service<'a>,
    args: &'a Args,
    wanted: &'a Wanted,
    destination: &'a Destination,
    server: &'a Server,
    hand: &'a dyn HandOff,
}

/// What a first look gave: the manifest, and the credential it was read with.
struct Opening {
    credential: Credential,
    fetched: Fetched,
    words: String,
    remarks: Vec<String>,
}

impl First<'_> {
    /// Reads the manifest with what the person gave; signs in where they gave nothing and the server asks for that.
    async fn open(&self, db: &mut Db, credential: Credential) -> Result<Opening, CliError> {
        let words = self.args.secret.words();
        let refusal = match fetch_manifest(self.destination, reach::auth(&credential)?).await {
            Ok(fetched) => return Ok(Opening { credential, fetched, words, remarks: Vec::new() }),
            Err(error) => error,
        };
        let UpstreamError::Unauthorized { challenge } = &refusal else { return Err(unread(refusal, self.server)) };
        if self.args.secret.is_some() {
            return Err(unread(refusal, self.server));
        }
        let challenge = challenge.clone();
        let egress = self.app.egress(self.wanted.networks.clone());
        let Some((challenge, resource)) = sign_in::find(&egress, &self.wanted.endpoint, challenge.as_deref()).await?
        else {
            return Err(unread(refusal, self.server));
        };
        if self.wanted.format == SealFormat::V1 {
            return Err(CliError::new(
                Code::Unsupported,
                "the server asks for a sign-in, and the public client cannot keep one fresh",
            )
            .hint("leave `--for-public-client` out, or give a token that lasts by `--bearer-stdin`"));
        }
        let purpose = self.wanted.purpose();
        let context = sign_in::Context {
            app: self.app,
            service: self.service,
            purpose: &purpose,
            egress: &egress,
            args: &self.args.sign_in,
            hand: self.hand,
        };
        let signed = sign_in::sign_in(&context, db, &challenge, &resource, None).await?;
        read_signed(db, &purpose, signed, self.destination, self.server).await
    }
}

/// Reads the manifest with a consent; one that the server does not take is forgotten.
async fn read_signed(
    db: &mut Db,
    purpose: &Purpose,
    signed: SignedIn,
    destination: &Destination,
    server: &Server,
) -> Result<Opening, CliError> {
    let (credential, words, remarks) = credential_of(signed)?;
    match fetch_manifest(destination, reach::auth(&credential)?).await {
        Ok(fetched) => Ok(Opening { credential, fetched, words, remarks }),
        Err(error @ (UpstreamError::Unauthorized { .. } | UpstreamError::Forbidden { .. })) => {
            if let Some(facts) = credential.grant_facts() {
                sign_in::kept::forget_consent(db, purpose, &facts.issuer).await?;
            }
            let message = format!("the server does not take the token that its authorization server gave: {error}");
            Err(CliError::new(Code::CredentialRefused, message).hint("nothing was shared; ask the server's operator"))
        }
        Err(error) => Err(unread(error, server)),
    }
}

/// A consent as a credential, with what is said about it.
pub(super) fn credential_of(signed: SignedIn) -> Result<(Credential, String, Vec<String>), CliError> {
    let (words, remarks) = (signed.words(), signed.remarks);
    let credential = Credential::oauth(signed.grant);
    let credential =
        credential.map_err(|_| CliError::new(Code::UpstreamProtocol, "the access token cannot stand in a header"))?;
    Ok((credential, words, remarks))
}

/// What the command line asks for, checked.
struct Wanted {
    name: String,
    endpoint: String,
    project: Option<ProjectId>,
    format: SealFormat,
    networks: Vec<AllowHost>,
}

impl Wanted {
    fn of(args: &Args) -> Result<Self, CliError> {
        match Profile::parse(&args.transport) {
            Some(Profile::DeviceDirect) => {}
            Some(Profile::CloudProxy) => {
                return Err(CliError::new(Code::Unsupported, "the cloud_proxy profile is not part of this version")
                    .hint("leave `--transport` out: the credential is then opened on your devices alone"));
            }
            None => return Err(CliError::usage(format!("`{}` is no profile", args.transport)).hint("device_direct")),
        }
        let name = args.name.trim();
        if name.is_empty() || name.chars().count() > limits::NAME_CHARS_MAX || name.chars().any(char::is_control) {
            return Err(CliError::usage(format!(
                "a name has 1 to {} characters and no control characters",
                limits::NAME_CHARS_MAX
            )));
        }
        let format = if args.for_public_client { SealFormat::V1 } else { SealFormat::V2 };
        Ok(Self {
            name: name.to_owned(),
            endpoint: canonical_endpoint(&args.url)?,
            project: project(args)?,
            format,
            networks: reach::parse_networks(&args.allow_host)?,
        })
    }

    /// What a sign-in for it is kept under.
    fn purpose(&self) -> Purpose {
        Purpose::new_connection(
            &self.name,
            &self.endpoint,
            self.project.as_ref().map_or("", |project| project.as_str()),
        )
    }

    /// The connection of this name and address, if there is one that can be gone on with or that is already there.
    fn find<'a>(&self, rows: &'a [ConnectionRow]) -> Result<Option<&'a ConnectionRow>, CliError> {
        let found = rows.iter().find(|row| {
            row.name == self.name
                && row.endpoint == self.endpoint
                && row.status != Status::Revoked
                && row.transport == Profile::DeviceDirect
        });
        let Some(row) = found else { return Ok(None) };
        let project = self.project.as_ref().map_or("", |project| project.as_str());
        if row.project_id != project || row.seal_format != self.format {
            return Err(CliError::new(
                Code::IllegalTransition,
                format!("`{}` is there already, for another scope or format", row.name),
            )
            .hint(format!("end it by `collie online connection-revoke {} --yes`, or use another name", row.id)));
        }
        if row.status == Status::ReviewRequired && row.credential_version > 0 {
            return Err(CliError::new(
                Code::ReviewRequired,
                format!("`{}` is there already and waits for a new review", row.name),
            )
            .hint(format!("collie online connection-review {}", row.id)));
        }
        Ok(Some(row))
    }
}

/// The one spelling of an address, which the service and every review use.
fn canonical_endpoint(said: &str) -> Result<String, CliError> {
    let unusable = |what: &str| CliError::usage(format!("`{said}` is not the address of a server: {what}"));
    if said.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err(unusable("it holds white space"));
    }
    let url = url::Url::parse(said).map_err(|error| unusable(&error.to_string()))?;
    if !matches!(url.scheme(), "https" | "http") || url.host().is_none() {
        return Err(unusable("it must begin with https://"));
    }
    Ok(url.into())
}

fn project(args: &Args) -> Result<Option<ProjectId>, CliError> {
    let id = args.project_id.as_deref().map(str::parse).transpose();
    let id = id.map_err(|error| CliError::usage(format!("`--project-id` is {error}")))?;
    match (args.scope.as_deref().map(|word| (word, Scope::parse(word))), id) {
        (None, id) | (Some((_, Some(Scope::Project))), id @ Some(_)) => Ok(id),
        (Some((_, Some(Scope::Personal))), None) => Ok(None),
        (Some((_, Some(Scope::Project))), None) => Err(CliError::usage("a project connection needs `--project-id ID`")),
        (Some((_, Some(Scope::Personal))), Some(_)) => {
            Err(CliError::usage("a personal connection has no `--project-id`"))
        }
        (Some((word, None)), _) => Err(CliError::usage(format!("`{word}` is no scope")).hint("personal or project")),
    }
}

/// The keys that the first sealed write needs, before anybody types a secret.
async fn ready_keys(service: &Service<'_>, api: &Api, format: SealFormat) -> Result<(), CliError> {
    match format {
        SealFormat::V2 => service.ready_sealing_key(api).await,
        SealFormat::V1 => service.ready_v1_key(api).await,
    }
}

/// Reads a server's whole manifest.
pub(super) async fn read_manifest(destination: &Destination, auth: Auth, server: &Server) -> Result<Fetched, CliError> {
    fetch_manifest(destination, auth).await.map_err(|error| unread(error, server))
}

pub(super) async fn fetch_manifest(destination: &Destination, auth: Auth) -> Result<Fetched, UpstreamError> {
    let mut upstream = Upstream::new(destination.clone(), auth, None)?;
    let fetched = upstream.fetch_manifest().await?;
    upstream.close().await;
    Ok(fetched)
}

fn unread(error: UpstreamError, server: &Server) -> CliError {
    let explained = reach::explain(error, server);
    let is_new = explained.code == Code::CredentialRefused && server.id == Server::NEW;
    if is_new { explained.hint("give a valid credential by `--bearer-stdin` or `--header NAME`") } else { explained }
}

async fn heading(app: &App, credential: String, wanted: &Wanted, destination: &Destination) -> Heading {
    let addresses = destination.check().await.unwrap_or_default();
    Heading {
        name: wanted.name.clone(),
        endpoint: wanted.endpoint.clone(),
        addresses: addresses.iter().map(ToString::to_string).collect(),
        credential,
        exceptions: exceptions(app, &wanted.networks, wanted.format),
    }
}

/// Everything that is allowed beyond the usual.
pub(super) fn exceptions(app: &App, networks: &[AllowHost], format: SealFormat) -> Vec<String> {
    let mut exceptions = Vec::new();
    if app.global.development_allow_loopback {
        exceptions
            .push("development setting: connections may lead to this machine itself, also by plain http".to_owned());
    }
    exceptions
        .extend(networks.iter().map(|network| format!("the private network {network} is allowed on this device")));
    match format {
        SealFormat::V2 => {}
        SealFormat::V1 => exceptions.push("v1: sealed for the public client, which trusts the service".to_owned()),
    }
    exceptions
}

async fn create(api: &Api, wanted: &Wanted, draft: &Draft) -> Result<ConnectionRow, CliError> {
    let body = CreateConnection {
        name: wanted.name.clone(),
        endpoint: wanted.endpoint.clone(),
        manifest: draft.rows_v1(),
        scope: if wanted.project.is_some() { Scope::Project } else { Scope::Personal },
        project_id: wanted.project.as_ref().map_or_else(String::new, ToString::to_string),
        transport: Profile::DeviceDirect,
        seal_format: Some(wanted.format),
        draft_id: None,
    };
    let ConnectionAnswer { connection } = api.post("/v1/connections", &body).await?;
    let same = connection.name == body.name
        && connection.endpoint == body.endpoint
        && connection.scope == body.scope
        && connection.project_id == body.project_id
        && connection.transport == body.transport
        && Some(connection.seal_format) == body.seal_format;
    if same {
        return Ok(connection);
    }
    Err(CliError::new(Code::SignatureInvalid, "the service made another connection than was asked for")
        .hint(format!("nothing was sealed; end it by `collie online connection-revoke {} --yes`", connection.id)))
}

/// The first credential, unless one was stored without a review, which only the public client does.
pub(super) async fn next_version(api: &Api, row: &ConnectionRow) -> Result<VersionLink, CliError> {
    if row.credential_version == 0 || row.seal_format == SealFormat::V1 {
        return Ok(VersionLink::first());
    }
    let target = format!("/v1/connections/{}/credential", crate::api::segment(row.id.as_str()));
    let answer: CredentialAnswer = api.get(&target).await?;
    let sealed = contract::credential::SealedCredentialV2::parse(&answer.sealed_credential);
    let head = sealed.and_then(|sealed| Ok((sealed.version, sealed.blobs()?.commitment)));
    let (version, commitment) = head.map_err(|error| CliError::new(Code::SignatureInvalid, error.to_string()))?;
    Ok(VersionLink::after(version, commitment))
}

/// The same command again.
async fn already(
    service: &Service<'_>,
    api: &Api,
    db: &mut Db,
    wanted: &Wanted,
    args: &Args,
    row: &ConnectionRow,
) -> Result<Outcome, CliError> {
    crate::mirror::require_one(api, db, &row.id, service.door().now_ms()).await?;
    let differing = args.decisions.effect.iter().find(|said| !stands(row, said));
    if let Some(said) = differing {
        return Err(CliError::new(
            Code::IllegalTransition,
            format!("`{}` is shared already, and `{said}` is not what was decided", row.name),
        )
        .hint(format!("change the decision: collie online connection-review {} --effect {said}", row.id)));
    }
    db.allow_networks(&row.id, &wanted.networks).await?;
    Ok(Outcome::new(Json::from_members([("connection", row_json(row)?), ("changed", false.into())]))
        .line(format!("`{}` is shared already as {}; nothing changed.", row.name, row.id))
        .line(format!("To replace its credential: collie online connection-review {} --bearer-stdin (or --header NAME, or --sign-in)", row.id)))
}

/// Whether a decision of the command line stands in the row.
fn stands(row: &ConnectionRow, said: &str) -> bool {
    let Some((tool, effect)) = said.rsplit_once('=') else { return false };
    row.manifest.iter().any(|shown| shown.find_str("name") == Some(tool) && shown.find_str("effect") == Some(effect))
}

fn shared(row: &ConnectionRow, draft: &Draft) -> Outcome {
    let data = Json::from_members([
        ("connection", row_json(row).unwrap_or(Json::Null)),
        ("manifest_digest", row.raw_digest.as_str().into()),
        ("review", draft.to_json()),
        ("changed", true.into()),
    ]);
    Outcome::new(data)
        .line(format!(
            "Shared `{}` as {} with {} tools, reviewed and sealed for your devices.",
            row.name,
            row.id,
            draft.tools().len()
        ))
        .line(format!("Call a tool: collie online invoke {} TOOL --arguments '{{}}'", row.id))
        .line(format!("End it: collie online connection-revoke {} --yes", row.id))
}

/// A row for machines.
pub(super) fn row_json(row: &ConnectionRow) -> Result<Json, CliError> {
    Ok(contract::cjson::to_json(row)?)
}
