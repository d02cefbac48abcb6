//! One call of one tool, from the question to its recorded outcome, in the open. The only caller of the MCP transport: nothing leaves this device as a tool call but through [`invoke`], with a spent permit and a durable intent.

mod drift;
mod held;
mod live;
mod public_rows;
mod trust;

pub use held::Held;
pub use public_rows::PublicRows;
pub use trust::{ForReview, Opened, OpenedForReview, Trust, open, open_for_review};

use crate::app::{App, Service};
use crate::db::Db;
use crate::error::CliError;
use crate::ledger::{self, CallContent, CallName, Intent, Recorded, Standing};
use crate::mirror;
use crate::reach::{self, Server};
use authority::{OneUseGrant, Permit, Pinned, Refusal, Spent, arguments_digest, decide};
use contract::manifest::RawManifest;
use contract::{Code, Effect, Json};
use egress::AllowHost;
use upstream::{Applied, Outcome, ToolCall, Upstream};

/// Whether the person who types the command says yes to exactly this call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consent {
    /// Nobody said anything.
    NotGiven,
    /// `--yes`.
    OwnYes,
}

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Call {
    /// The connection, and the key that names this call.
    pub name: CallName,
    /// The tool's exact name.
    pub tool: String,
    /// An object.
    pub arguments: Json,
    /// The person's word.
    pub consent: Consent,
    /// Private networks allowed for this call beside the connection's own.
    pub networks: Vec<AllowHost>,
}

/// Where an answer comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The tool was called now.
    Called,
    /// It was called before, under the same key; nothing was sent.
    Recorded,
}

/// An outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// The recorded outcome.
    pub recorded: Recorded,
    /// Where it comes from.
    pub origin: Origin,
    /// Said beside it.
    pub warnings: Vec<String>,
}

/// Calls one tool. The order is the promise: ledger, copy, credential under its review, live manifest, pin, decision, durable intent, spent permit, call, outcome.
pub async fn invoke(app: &App, service: &Service<'_>, call: &Call) -> Result<Done, CliError> {
    let door = service.door();
    let mut db = service.db().await?;
    let content = CallContent { tool: call.tool.clone(), arguments: arguments_digest(&call.arguments) };
    if let Some(done) = answer_from_ledger(service, &mut db, call, &content).await? {
        return Ok(done);
    }

    let api = service.api()?.within(mirror::SHORT_WAIT_S);
    let freshness = mirror::refresh_one(&api, &mut db, &call.name.connection, door.now_ms()).await?;
    let held = Held::find(&mut db, api.workspace(), &call.name.connection).await?;
    held.check_usable()?;

    // Opens under the reviewed values and nothing else; what does not fit them ends here.
    let Opened { trust, auth, .. } = open(service, &mut db, &held).await?;
    let effect = trust.effect_of(&call.tool).ok_or_else(|| unreviewed(&held, &trust, &call.tool))?;

    let server = Server::of(&held.row);
    let networks = [db.list_networks(&held.row.id).await?, call.networks.clone()].concat();
    let destination = reach::destination(app, networks, &server)?;
    let mut upstream = Upstream::new(destination, auth, trust.era()).map_err(|error| reach::explain(error, &server))?;
    let reading = live::read(&mut db, &mut upstream, &held, trust.pinned(), effect, door).await?;

    let review = match trust {
        Trust::Review(review) => review,
        Trust::Rows(rows) => match rows.review_of(&mut db, &reading, door.now_ms()).await? {
            Some(review) => review,
            None => return Err(drift::block(&api, &mut db, &held, &reading, door.now_ms()).await),
        },
    };
    let pinned = match Pinned::pin(&review, reading.live, &call.tool, &call.arguments) {
        Ok(pinned) => pinned,
        Err(Refusal::ManifestChanged) => return Err(drift::block(&api, &mut db, &held, &reading, door.now_ms()).await),
        Err(refusal) => return Err(refused(refusal, call, effect)),
    };
    let grant = match call.consent {
        Consent::OwnYes => Some(OneUseGrant::mint_from_own_yes(pinned.operation().digest(), door.now_s())),
        Consent::NotGiven => None,
    };
    let permit = decide(pinned, grant, door.now_s()).map_err(|refusal| refused(refusal, call, effect))?;

    let intent = ledger::begin(service, &mut db, &call.name, &content, permit.operation().digest()).await?;
    let spent = match spend(permit, call) {
        Ok(spent) => spent,
        Err(error) => {
            intent.release(service, &mut db).await?;
            return Err(error);
        }
    };
    let sent = send(&mut upstream, spent, &reading.manifest, &call.arguments).await;
    let mut done = settle(service, &mut db, intent, sent, call, &server).await?;
    upstream.close().await;
    done.warnings.extend(freshness.warning());
    Ok(done)
}

/// The same key and the same call: what is recorded, or why it is not repeated. Works whatever became of the connection.
async fn answer_from_ledger(
    service: &Service<'_>,
    db: &mut Db,
    call: &Call,
    content: &CallContent,
) -> Result<Option<Done>, CliError> {
    match ledger::standing(service, db, &call.name, content).await? {
        Standing::Free => Ok(None),
        Standing::Running => Err(ledger::running(&call.name)),
        Standing::Uncertain => Err(ledger::uncertain(&call.name, &call.tool)),
        Standing::Recorded(recorded) => Ok(Some(Done { recorded, origin: Origin::Recorded, warnings: Vec::new() })),
    }
}

fn spend(permit: Permit, call: &Call) -> Result<Spent, CliError> {
    let effect = permit.effect();
    permit.spend(&call.arguments).map_err(|refusal| refused(refusal, call, effect))
}

/// Sends the one call that a permit was spent on.
async fn send(
    upstream: &mut Upstream,
    spent: Spent,
    manifest: &RawManifest,
    arguments: &Json,
) -> Result<upstream::Answer, upstream::CallError> {
    let missing = || upstream::CallError {
        applied: Applied::No,
        error: upstream::UpstreamError::BadCall { what: "the reviewed manifest does not hold the tool".to_owned() },
    };
    let tool = manifest.find_tool(spent.operation().tool()).ok_or_else(missing)?;
    upstream.call_tool(ToolCall { tool, arguments }).await
}

/// Records how the call ended.
async fn settle(
    service: &Service<'_>,
    db: &mut Db,
    intent: Intent,
    sent: Result<upstream::Answer, upstream::CallError>,
    call: &Call,
    server: &Server,
) -> Result<Done, CliError> {
    match sent {
        Ok(upstream::Answer { outcome: Outcome::Complete(result), redacted }) => {
            let recorded = Recorded { result: Some(result), redacted };
            let mut warnings = Vec::new();
            if let Err(error) = intent.complete(service, db, &recorded).await {
                // The call was made and its answer is here: it is shown, and the key stays used.
                warnings.push(format!("the answer could not be recorded: {error}"));
            }
            Ok(Done { recorded, origin: Origin::Called, warnings })
        }
        Ok(upstream::Answer { outcome: Outcome::InputRequired(asked), .. }) => {
            intent.release(service, db).await?;
            Err(CliError::new(
                Code::UpstreamRefused,
                "the server wants input from a person before it does anything; nothing was done",
            )
            .hint("this command cannot answer it; do it at the server, or use another tool")
            .details(Json::from_members([("asked", asked)])))
        }
        Err(upstream::CallError { applied: Applied::No, error }) => {
            intent.release(service, db).await?;
            Err(reach::explain(error, server))
        }
        Err(upstream::CallError { applied: Applied::Unknown, error }) => {
            intent.doubt(service, db).await?;
            let mut uncertain = ledger::uncertain(&call.name, &call.tool);
            uncertain.message = format!("{}: {error}", uncertain.message);
            Err(uncertain)
        }
    }
}

/// Why a call may not run, and the command that would allow it.
fn refused(refusal: Refusal, call: &Call, effect: Effect) -> CliError {
    let (id, tool) = (&call.name.connection, &call.tool);
    let error = CliError::new(refusal.code(), format!("`{tool}` ({effect}): {refusal}"));
    match refusal {
        Refusal::Ask | Refusal::GrantExpired => error.hint(format!(
            "if you want exactly this, run: collie online invoke {id} {tool} --arguments '{}' --yes",
            call.arguments.canonical_string().replace('\'', "'\\''")
        )),
        Refusal::StepUp => error.hint(format!(
            "nothing here can allow a restricted call; if the tool does less than that, review it: collie online connection-review {id} --effect {tool}=commit"
        )),
        Refusal::ToolUnreviewed => error.hint(format!("review it: collie online connection-review {id} --effect {tool}=commit")),
        Refusal::ManifestChanged | Refusal::ManifestStale { .. } => error.hint(format!("collie online connection-review {id}")),
        Refusal::OtherOperation => error.hint("nothing was sent; run the command again"),
    }
}

fn unreviewed(held: &Held, trust: &Trust, tool: &str) -> CliError {
    let names = trust.tool_names();
    let id = &held.row.id;
    CliError::new(Code::ToolUnreviewed, format!("`{tool}` is not a reviewed tool of `{}`", held.row.name))
        .hint(format!(
            "reviewed are: {}; review others by: collie online connection-review {id} --effect {tool}=commit",
            names.join(", ")
        ))
        .details(Json::from_members([("tools", names.into_iter().map(Json::from).collect::<Vec<_>>().into())]))
}

#[cfg(test)]
mod tests;
