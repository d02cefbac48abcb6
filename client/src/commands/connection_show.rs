//! Shows one connection from the device's own copy: its review, its tools, what vouches for them, and calls without an outcome.

use super::connections::{format_note, refresh, state};
use crate::app::{App, Service};
use crate::cli::ConnectionArg;
use crate::endpoint::{self, Held};
use crate::error::CliError;
use crate::ledger::OpenCall;
use crate::output::Outcome;
use contract::connection::{ConnectionRow, SealFormat};
use contract::review::ReviewRecord;
use contract::{Effect, Json};

/// Arguments of `connection-show`.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Which connection.
    #[command(flatten)]
    pub connection: ConnectionArg,
}

/// Runs `connection-show`.
pub async fn run(app: &App, args: &Args) -> Result<Outcome, CliError> {
    let service = app.find_service()?.ok_or_else(CliError::not_connected)?;
    let mut db = service.db().await?;
    let (workspace, freshness) = refresh(app, &service, &mut db).await?;
    let held = Held::find(&mut db, &workspace, &args.connection.id()?).await?;
    let open_calls = db.list_open_calls(&held.row.id).await?;
    let networks: Vec<String> = db.list_networks(&held.row.id).await?.iter().map(ToString::to_string).collect();
    let vouched = Vouched::find(&service, &held).await;
    let mut outcome = Outcome::new(data(&held, &vouched, &open_calls, &networks)?)
        .lines(head_lines(&held))
        .line(format!("  vouched for  {}", vouched.words()))
        .lines(tool_lines(&held.row, vouched.review()))
        .lines(open_calls.iter().map(|call| open_call_line(&held.row, call)).collect::<Vec<_>>());
    if !networks.is_empty() {
        outcome = outcome.line(format!("  allowed here  private networks {}", networks.join(", ")));
    }
    outcome.warnings.extend(freshness.warning());
    Ok(outcome)
}

/// What stands behind the review that is shown.
enum Vouched {
    /// The credential opens under it with the person's key.
    ByKey(Box<ReviewRecord>),
    /// A v1 credential opens with the row.
    ByPublicRow,
    /// Nothing here.
    Not(CliError),
}

impl Vouched {
    async fn find(service: &Service<'_>, held: &Held) -> Self {
        match endpoint::open_for_review(service, held).await {
            Ok(opened) => opened.review.map_or(Self::ByPublicRow, |review| Self::ByKey(Box::new(review))),
            Err(error) => Self::Not(error),
        }
    }

    fn review(&self) -> Option<&ReviewRecord> {
        match self {
            Self::ByKey(review) => Some(review),
            Self::ByPublicRow | Self::Not(_) => None,
        }
    }

    const fn word(&self) -> &'static str {
        match self {
            Self::ByKey(_) => "key",
            Self::ByPublicRow => "public_row",
            Self::Not(_) => "nothing",
        }
    }

    fn words(&self) -> String {
        match self {
            Self::ByKey(_) => "your own key: the credential opens under exactly this review".to_owned(),
            Self::ByPublicRow => "the service: the credential opens with exactly this row (v1)".to_owned(),
            Self::Not(error) => format!("nothing on this device: {}", error.message),
        }
    }
}

fn head_lines(held: &Held) -> Vec<String> {
    let row = &held.row;
    let by = if row.reviewed_by.is_empty() {
        "nobody".to_owned()
    } else {
        format!("device {}, attributed by the service", row.reviewed_by)
    };
    let mut lines = vec![
        format!("{}  {}", row.id, row.name),
        format!("  server       {}", row.endpoint),
        format!("  state        {}", state(row)),
        format!(
            "  scope        {}",
            if row.project_id.is_empty() { "personal".to_owned() } else { format!("project {}", row.project_id) }
        ),
        format!("  review       number {}, by {by}", row.review_seq),
        format!(
            "  manifest     {}",
            if row.raw_digest.is_empty() { "(no raw manifest)" } else { row.raw_digest.as_str() }
        ),
        format!("  credential   {}", credential(held)),
    ];
    lines.extend(format_note(row).map(|note| format!("  format       {note}")));
    lines
}

fn credential(held: &Held) -> String {
    match &held.credential {
        Some(stored) => format!("version {}, sealed in {}, on this device", stored.version, stored.format),
        None if held.row.credential_version > 0 => {
            format!("version {}, not on this device", held.row.credential_version)
        }
        None => "none yet".to_owned(),
    }
}

fn tool_lines(row: &ConnectionRow, review: Option<&ReviewRecord>) -> Vec<String> {
    let effects: Vec<(String, Option<Effect>, String)> = match review {
        Some(review) => {
            review.tools.iter().map(|tool| (tool.name.clone(), Some(tool.effect), tool.action.clone())).collect()
        }
        None => row.manifest.iter().map(of_row).collect(),
    };
    let mut lines = vec![format!(
        "  tools        {}{}",
        effects.len(),
        if review.is_some() { "" } else { " (as the service shows them)" }
    )];
    for effect in Effect::ALL.iter().rev() {
        for (name, _, action) in effects.iter().filter(|(_, of, _)| *of == Some(*effect)) {
            lines.push(format!("    {:<10} {name}  [{action}]", effect.as_str()));
        }
    }
    lines
}

fn of_row(tool: &Json) -> (String, Option<Effect>, String) {
    let text = |name: &str| tool.find_str(name).unwrap_or_default().to_owned();
    (text("name"), Effect::parse(&text("effect")), text("action"))
}

fn open_call_line(row: &ConnectionRow, call: &OpenCall) -> String {
    format!(
        "  ! `{}` with key {} has no outcome; look at the server, then: collie online invoke {} {} --idempotency-key {} --settle-uncertain happened|not-happened",
        call.tool, call.key, row.id, call.tool, call.key
    )
}

fn data(held: &Held, vouched: &Vouched, open_calls: &[OpenCall], networks: &[String]) -> Result<Json, CliError> {
    let calls = open_calls.iter().map(|call| {
        let created = i64::try_from(call.created_ms / 1000).unwrap_or(i64::MAX);
        Json::from_members([
            ("idempotency_key", call.key.as_str().into()),
            ("tool", call.tool.as_str().into()),
            ("created_at", created.into()),
        ])
    });
    let review = vouched.review().map(contract::cjson::to_json).transpose()?.unwrap_or(Json::Null);
    Ok(Json::from_members([
        ("connection", contract::cjson::to_json(&held.row)?),
        ("review", review),
        ("vouched_for_by", vouched.word().into()),
        ("trusts_service", (held.row.seal_format == SealFormat::V1).into()),
        ("on_this_device", held.credential.is_some().into()),
        ("open_calls", Json::Array(calls.collect())),
        ("allowed_networks", networks.iter().map(|network| Json::from(network.as_str())).collect::<Vec<_>>().into()),
    ]))
}
