//! Reviews a connection again: shows what changed with its risk, lets a person decide, seals under the new review in one call. Never lowers an effect by itself, and allows no call while it runs.

use super::share_mcp::{SecretArgs, credential_of, exceptions, fetch_manifest, next_version, read_manifest, row_json};
use crate::api::Api;
use crate::app::{App, Service};
use crate::cli::ConnectionArg;
use crate::db::Db;
use crate::endpoint::{self, Held, PublicRows};
use crate::error::CliError;
use crate::mirror;
use crate::output::Outcome;
use crate::reach::{self, Server};
use crate::review::ask::{self, Consent};
use crate::review::decisions::Decisions;
use crate::review::diff::{self, Change, Edition};
use crate::review::submit::{NewReview, submit};
use crate::review::table::Heading;
use crate::review::{Before, Draft};
use crate::sign_in::{self, HandOff, Person, Purpose, SignInArgs};
use contract::connection::{ConnectionRow, SealFormat, Status};
use contract::manifest::RawManifest;
use contract::review::ReviewRecord;
use contract::{Code, Digest, Json};
use egress::AllowHost;
use seal::Credential;
use seal::device_direct::VersionLink;
use upstream::{Auth, Fetched, UpstreamError};

/// Arguments of `connection-review`.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Which connection.
    #[command(flatten)]
    pub connection: ConnectionArg,
    /// Only show what changed since the review; change nothing.
    #[arg(long)]
    pub diff: bool,
    /// The manifest digest that is reviewed; another one is refused.
    #[arg(long, value_name = "DIGEST")]
    pub digest: Option<String>,
    /// Another credential in place of the sealed one.
    #[command(flatten)]
    pub secret: SecretArgs,
    /// Sign in again at the provider, in place of the sealed credential.
    #[arg(long, conflicts_with_all = ["bearer_stdin", "header", "diff"])]
    pub sign_in: bool,
    /// How.
    #[command(flatten)]
    pub how: SignInArgs,
    /// Decisions in advance.
    #[command(flatten)]
    pub decisions: Decisions,
    /// A private network the server may lie in, such as 10.0.0.0/8; repeat for several.
    #[arg(long, value_name = "CIDR")]
    pub allow_host: Vec<String>,
    /// Do not ask; accepts nothing new below commit without `--effect`.
    #[arg(long)]
    pub yes: bool,
}

/// Runs `connection-review`.
pub async fn run(app: &App, args: &Args) -> Result<Outcome, CliError> {
    review(app, args, || args.secret.read(), &Person).await
}

/// The same with another credential from somewhere else than standard input, where one is announced.
pub async fn review(
    app: &App,
    args: &Args,
    read: impl FnOnce() -> Result<Credential, CliError>,
    hand: &dyn HandOff,
) -> Result<Outcome, CliError> {
    let service = app.service()?;
    let api = service.api()?;
    let mut db = service.db().await?;
    let id = args.connection.id()?;
    mirror::require_one(&api, &mut db, &id, service.door().now_ms()).await?;
    let held = Held::find(&mut db, api.workspace(), &id).await?;
    if held.row.status == Status::Revoked {
        return held.check_usable().map(|()| Outcome::new(Json::object()));
    }
    let said = reach::parse_networks(&args.allow_host)?;
    let networks = [db.list_networks(&id).await?, said.clone()].concat();
    let mut words = if args.secret.is_some() { args.secret.words() } else { KEPT.to_owned() };
    let mut remarks = Vec::new();
    let read: Option<Box<dyn FnOnce() -> Result<Credential, CliError> + '_>> = if args.sign_in {
        ready_keys(&service, &api, held.row.seal_format).await?;
        let again = Again { app, service: &service, held: &held, args, networks: &networks, hand };
        let credential;
        (credential, words, remarks) = credential_of(again.sign_in(&mut db).await?)?;
        remarks.push(
            "the consent of before is not ended by this; end it at the provider if it is not wanted any more"
                .to_owned(),
        );
        Some(Box::new(move || Ok(credential)))
    } else {
        args.secret.is_some().then(|| Box::new(read) as Box<_>)
    };
    let replaced = read.is_some();
    let stood = Stood::find(&service, &api, &mut db, &held, read).await?;
    let fetched = fetch(app, &held, networks.clone(), &stood.credential).await?;
    check_digest(args, &fetched)?;
    let changes = stood.changes(&fetched);
    if args.diff {
        return Ok(only_diff(&held.row, &fetched, changes.as_deref()));
    }

    let mut draft = Draft::propose(fetched.manifest, fetched.era, stood.before());
    for line in shown_changes(changes.as_deref()) {
        app.output.say(&line);
    }
    let mut heading = heading(app, words, &held.row, &networks);
    heading.exceptions.extend(remarks);
    let instead = "pass `--yes`, with `--effect TOOL=EFFECT` for every new or changed tool that does less than commit";
    ask::settle(app.output, &heading, &mut draft, &args.decisions, Consent::of_flag(args.yes), instead)?;
    let same = stood.review.as_ref().is_some_and(|review| draft.decides_as(review));
    db.allow_networks(&id, &said).await?;
    if same && held.row.status == Status::Active && !replaced {
        return unchanged(&held.row);
    }
    let new = NewReview { row: &held.row, draft: &draft, credential: stood.credential.get(), link: stood.link.clone() };
    let row = submit(&service, &api, &mut db, new).await?;
    if let Some(facts) = stood.credential.get().grant_facts() {
        sign_in::kept::forget(&mut db, &Purpose::of_connection(&id, &row.endpoint), &facts.issuer).await?;
    }
    reviewed(&held.row, &row, &draft, changes.as_deref())
}

const KEPT: &str = "the sealed one, sealed again under this review";

/// A sign-in for a connection that is there.
struct Again<'a> {
    app: &'a App,
    service: &'a Service<'a>,
    held: &'a Held,
    args: &'a Args,
    networks: &'a [AllowHost],
    hand: &'a dyn HandOff,
}

impl Again<'_> {
    async fn sign_in(&self, db: &mut Db) -> Result<sign_in::SignedIn, CliError> {
        let row = &self.held.row;
        if row.seal_format == SealFormat::V1 {
            return Err(CliError::new(
                Code::Unsupported,
                format!("`{}` is sealed for the public client, which cannot keep a sign-in fresh", row.name),
            )
            .hint("share the server again without `--for-public-client`"));
        }
        let server = Server::of(row);
        let destination = reach::destination(self.app, self.networks.to_vec(), &server)?;
        let nobody = || {
            CliError::new(Code::IllegalTransition, format!("{} does not ask anybody to sign in", row.endpoint))
                .hint("leave `--sign-in` out, or give a credential by `--bearer-stdin` or `--header NAME`")
        };
        let challenge = match fetch_manifest(&destination, Auth::None).await {
            Err(UpstreamError::Unauthorized { challenge }) => challenge,
            Ok(_) => return Err(nobody()),
            Err(error) => return Err(reach::explain(error, &server)),
        };
        let egress = self.app.egress(self.networks.to_vec());
        let Some((challenge, resource)) = sign_in::find(&egress, &row.endpoint, challenge.as_deref()).await? else {
            return Err(nobody());
        };
        let known = match endpoint::open_for_review(self.service, self.held).await {
            Ok(opened) => opened.credential.credential().grant().map(sign_in::client_record).transpose()?,
            // A new consent needs nothing of the old one, but for who we are.
            Err(_) => None,
        };
        let purpose = Purpose::of_connection(&row.id, &row.endpoint);
        let context = sign_in::Context {
            app: self.app,
            service: self.service,
            purpose: &purpose,
            egress: &egress,
            args: &self.args.how,
            hand: self.hand,
        };
        sign_in::sign_in(&context, db, &challenge, &resource, known).await
    }
}

/// What stood before: the review, its manifest, and the credential to seal again.
struct Stood {
    review: Option<ReviewRecord>,
    manifest: Option<RawManifest>,
    credential: AnyCredential,
    link: VersionLink,
}

/// The credential that is sealed: the one that was, or another.
enum AnyCredential {
    Opened(endpoint::OpenedForReview),
    Typed(Credential),
}

impl AnyCredential {
    const fn get(&self) -> &Credential {
        match self {
            Self::Opened(opened) => opened.credential(),
            Self::Typed(credential) => credential,
        }
    }
}

impl Stood {
    async fn find(
        service: &Service<'_>,
        api: &Api,
        db: &mut Db,
        held: &Held,
        read: Option<impl FnOnce() -> Result<Credential, CliError>>,
    ) -> Result<Self, CliError> {
        let opened =
            if held.row.credential_version > 0 { Some(endpoint::open_for_review(service, held).await) } else { None };
        let typed = match (&opened, read) {
            (_, Some(read)) => {
                ready_keys(service, api, held.row.seal_format).await?;
                Some(read()?)
            }
            (None, None) => {
                return Err(CliError::new(Code::ReviewRequired, format!("`{}` was never sealed", held.row.name)).hint(format!(
                    "finish it: collie online share-mcp '{}' --url {} (with `--bearer-stdin` or `--header NAME` as before)",
                    held.row.name, held.row.endpoint
                )));
            }
            (Some(_), None) => None,
        };
        let (review, head, credential) = match (opened, typed) {
            (Some(Ok(opened)), Some(typed)) => (opened.review, opened.head, AnyCredential::Typed(typed)),
            (Some(Ok(opened)), None) => (opened.review, opened.head, AnyCredential::Opened(opened.credential)),
            // Another credential needs nothing of the old one; decisions start anew.
            (_, Some(typed)) => (None, None, AnyCredential::Typed(typed)),
            (Some(Err(error)), None) => return Err(error),
            (None, None) => return Err(CliError::internal("no credential to seal")),
        };
        let link = match head {
            Some(head) => head.next(),
            None => next_version(api, &held.row).await?,
        };
        let (review, manifest) = match (held.row.seal_format, review) {
            (SealFormat::V2, Some(review)) => {
                let manifest = mirror::find_manifest(db, &held.row.id, &review.raw_digest).await?;
                (Some(review), manifest)
            }
            (SealFormat::V1, _) => stood_v1(db, &held.row).await?,
            (SealFormat::V2, None) => (None, None),
        };
        Ok(Self { review, manifest, credential, link })
    }

    fn before(&self) -> Option<Before<'_>> {
        self.review.as_ref().map(|review| Before { review, manifest: self.manifest.as_ref() })
    }

    /// What changed; none where nobody here knows what was reviewed.
    fn changes(&self, fetched: &Fetched) -> Option<Vec<Change>> {
        let old = Edition { manifest: self.manifest.as_ref()?, era: self.review.as_ref()?.era };
        Some(diff::changes(old, Edition { manifest: &fetched.manifest, era: fetched.era }))
    }
}

/// The public client's rows on the manifest that this device pinned for them.
async fn stood_v1(db: &mut Db, row: &ConnectionRow) -> Result<(Option<ReviewRecord>, Option<RawManifest>), CliError> {
    let rows = PublicRows::read(db, row).await?;
    let Some((digest, era)) = rows.pinned() else { return Ok((None, None)) };
    let manifest = mirror::find_manifest(db, &row.id, &digest).await?;
    let record = manifest.as_ref().map(|manifest| rows.record(manifest, era));
    Ok((record, manifest))
}

async fn ready_keys(service: &Service<'_>, api: &Api, format: SealFormat) -> Result<(), CliError> {
    match format {
        SealFormat::V2 => service.ready_sealing_key(api).await,
        SealFormat::V1 => service.ready_v1_key(api).await,
    }
}

async fn fetch(
    app: &App,
    held: &Held,
    networks: Vec<AllowHost>,
    credential: &AnyCredential,
) -> Result<Fetched, CliError> {
    let server = Server::of(&held.row);
    let destination = reach::destination(app, networks, &server)?;
    read_manifest(&destination, reach::auth(credential.get())?, &server).await
}

fn check_digest(args: &Args, fetched: &Fetched) -> Result<(), CliError> {
    let Some(said) = &args.digest else { return Ok(()) };
    let found = fetched.manifest.digest();
    if *said == found.b64u() {
        return Ok(());
    }
    Err(CliError::new(Code::DigestMismatch, format!("the server offers manifest {found}, not {said}"))
        .hint("look at it without `--digest`, and decide again"))
}

fn heading(app: &App, credential: String, row: &ConnectionRow, networks: &[AllowHost]) -> Heading {
    Heading {
        name: row.name.clone(),
        endpoint: row.endpoint.clone(),
        addresses: Vec::new(),
        credential,
        exceptions: exceptions(app, networks, row.seal_format),
    }
}

fn shown_changes(changes: Option<&[Change]>) -> Vec<String> {
    match changes {
        None => vec!["What was reviewed before is not known here; everything is shown.".to_owned()],
        Some([]) => vec!["The server offers exactly what was reviewed.".to_owned()],
        Some(changes) => {
            let mut lines = vec![format!("Changed since the review ({}):", changes.len())];
            lines.extend(diff::lines(changes));
            lines
        }
    }
}

fn only_diff(row: &ConnectionRow, fetched: &Fetched, changes: Option<&[Change]>) -> Outcome {
    let found = fetched.manifest.digest();
    let data = Json::from_members([
        ("connection", row.id.as_str().into()),
        ("reviewed", row.raw_digest.as_str().into()),
        ("found", found.b64u().into()),
        ("era", fetched.era.as_str().into()),
        ("diff", changes.map_or(Json::Null, diff::to_json)),
    ]);
    Outcome::new(data)
        .lines(shown_changes(changes))
        .line(format!("To decide: collie online connection-review {} --digest {found}", row.id))
}

fn unchanged(row: &ConnectionRow) -> Result<Outcome, CliError> {
    Ok(Outcome::new(Json::from_members([("connection", row_json(row)?), ("changed", false.into())]))
        .line(format!("`{}` is reviewed exactly like this; nothing changed.", row.name)))
}

fn reviewed(
    old: &ConnectionRow,
    row: &ConnectionRow,
    draft: &Draft,
    changes: Option<&[Change]>,
) -> Result<Outcome, CliError> {
    let data = Json::from_members([
        ("connection", row_json(row)?),
        ("review", draft.to_json()),
        ("diff", changes.map_or(Json::Null, diff::to_json)),
        ("changed", true.into()),
    ]);
    let (before, after) = (short(&old.raw_digest), short(&row.raw_digest));
    Ok(Outcome::new(data).line(format!(
        "Reviewed `{}` (review {}): manifest {before} → {after}. Your other devices use it after their next look at the service.",
        row.name, row.review_seq
    )))
}

fn short(digest: &str) -> String {
    Digest::parse(digest).map_or_else(|_| "(none)".to_owned(), |digest| digest.short())
}
