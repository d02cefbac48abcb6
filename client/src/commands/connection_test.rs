//! Looks at each step on the way to a connection's server, times it, and names the one that fails. Calls no tool, tells the service nothing and changes nothing.

use crate::app::App;
use crate::cli::ConnectionArg;
use crate::door::Door;
use crate::endpoint::{self, Held};
use crate::error::CliError;
use crate::mirror::{self, Freshness};
use crate::output::Outcome;
use crate::reach::{self, Server};
use contract::connection::Status;
use contract::{Code, Json};
use upstream::Upstream;

/// Arguments of `connection-test`.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Which connection.
    #[command(flatten)]
    pub connection: ConnectionArg,
    /// A private network the server may lie in, for this test.
    #[arg(long, value_name = "CIDR")]
    pub allow_host: Vec<String>,
}

/// One step of the way.
struct Step {
    name: &'static str,
    milliseconds: u64,
    what: String,
}

/// The steps so far, and when the next one began.
struct Steps {
    door: Door,
    began_ms: u64,
    done: Vec<Step>,
}

impl Steps {
    fn new(door: Door) -> Self {
        Self { door, began_ms: door.now_ms(), done: Vec::new() }
    }

    fn end(&mut self, name: &'static str, what: impl Into<String>) {
        let now_ms = self.door.now_ms();
        self.done.push(Step { name, milliseconds: now_ms.saturating_sub(self.began_ms), what: what.into() });
        self.began_ms = now_ms;
    }

    /// The step that failed, with those before it.
    fn fail(&mut self, name: &'static str, error: CliError) -> CliError {
        self.end(name, format!("FAILED: {}", error.message));
        let data = self.data();
        let lines = self.lines();
        let message = format!("step `{name}` failed: {}", error.message);
        CliError { message, ..error }.details(data).lines(lines)
    }

    fn data(&self) -> Json {
        let steps = self.done.iter().map(|step| {
            Json::from_members([
                ("step", step.name.into()),
                ("ms", i64::try_from(step.milliseconds).unwrap_or(i64::MAX).into()),
                ("what", step.what.as_str().into()),
            ])
        });
        Json::from_members([("steps", Json::Array(steps.collect()))])
    }

    fn lines(&self) -> Vec<String> {
        self.done.iter().map(|step| format!("  {:<9} {:>6} ms  {}", step.name, step.milliseconds, step.what)).collect()
    }
}

/// Runs `connection-test`.
pub async fn run(app: &App, args: &Args) -> Result<Outcome, CliError> {
    let service = app.service()?;
    let mut db = service.db().await?;
    let id = args.connection.id()?;
    let mut steps = Steps::new(service.door());

    let api = service.api()?.within(mirror::SHORT_WAIT_S);
    match mirror::refresh_one(&api, &mut db, &id, service.door().now_ms()).await {
        Ok(Freshness::Fresh) => steps.end("service", "answers"),
        Ok(Freshness::Stale { why }) => {
            steps.end("service", format!("does not answer ({why}); the copy on this device is used"))
        }
        Err(error) => return Err(steps.fail("service", error)),
    }
    let held = Held::find(&mut db, api.workspace(), &id).await?;
    if held.row.status == Status::Revoked {
        return held.check_usable().map(|()| Outcome::new(Json::object()));
    }
    let opened = endpoint::open_for_review(&service, &held).await.map_err(|error| steps.fail("open", error))?;
    steps.end("open", "the credential opens under the review on this device");

    let server = Server::of(&held.row);
    let networks = [db.list_networks(&id).await?, reach::parse_networks(&args.allow_host)?].concat();
    let destination = reach::destination(app, networks, &server).map_err(|error| steps.fail("address", error))?;
    let addresses =
        destination.check().await.map_err(|error| steps.fail("address", reach::explain(error.into(), &server)))?;
    steps.end("address", addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "));

    let auth = reach::auth(opened.credential.credential())?;
    let mut upstream = Upstream::new(destination, auth, None)
        .map_err(|error| steps.fail("manifest", reach::explain(error, &server)))?;
    let fetched =
        upstream.fetch_manifest().await.map_err(|error| steps.fail("manifest", reach::explain(error, &server)))?;
    upstream.close().await;
    let (found, tools) = (fetched.manifest.digest(), fetched.manifest.tools().len());
    steps.end("manifest", format!("MCP {}, {tools} tools, {}", fetched.era.as_str(), found.short()));

    let same = match &opened.review {
        Some(review) => (review.raw_digest, review.era) == (found, fetched.era),
        None => endpoint::PublicRows::read(&mut db, &held.row).await?.agrees_with(&fetched.manifest, fetched.era),
    };
    if !same {
        let error = CliError::new(Code::ManifestChanged, "the server offers something else than was reviewed")
            .hint(format!("look at it: collie online connection-review {id} --diff"));
        return Err(steps.fail("review", error));
    }
    if let Err(error) = held.check_usable() {
        return Err(steps.fail("review", error));
    }
    steps.end("review", "the server offers exactly what was reviewed");
    Ok(Outcome::new(steps.data()).line(format!("`{}` works:", held.row.name)).lines(steps.lines()))
}
