//! Calls one tool of a connection from this device. Decides nothing: the order of a call is `endpoint`'s.

use crate::app::App;
use crate::endpoint::{self, Call, Consent, Done, Origin};
use crate::error::CliError;
use crate::ledger::{self, CallName, Verdict};
use crate::output::Outcome;
use crate::prompt;
use crate::reach;
use contract::ids::ConnectionId;
use contract::{Code, Json, cjson, limits};
use std::collections::BTreeMap;

/// Arguments of `invoke`.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// The connection's id.
    #[arg(value_name = "ID")]
    pub connection: String,
    /// The tool's exact name.
    #[arg(value_name = "TOOL")]
    pub tool: String,
    /// The tool's arguments as a JSON object.
    #[arg(long, alias = "args", value_name = "JSON")]
    pub arguments: Option<String>,
    /// Read the arguments from standard input, a JSON object.
    #[arg(long, conflicts_with = "arguments")]
    pub arguments_stdin: bool,
    /// One argument: `NAME=TEXT`, or `NAME:=JSON` for numbers, lists and the like; repeat for several.
    #[arg(long = "arg", value_name = "NAME=TEXT", conflicts_with_all = ["arguments", "arguments_stdin"])]
    pub arg: Vec<String>,
    /// Names this call: the same key again answers what is recorded and calls nothing.
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
    /// Allow exactly this call, once. A person's own word.
    #[arg(long)]
    pub yes: bool,
    /// Say what became of an uncertain call, after a look at the server. Calls nothing.
    #[arg(long, value_name = "VERDICT", requires = "idempotency_key", conflicts_with_all = ["arguments", "arguments_stdin", "arg", "yes"])]
    pub settle_uncertain: Option<Verdict>,
    /// A private network the server may lie in, for this call.
    #[arg(long, value_name = "CIDR")]
    pub allow_host: Vec<String>,
}

/// Runs `invoke`.
pub async fn run(app: &App, args: &Args) -> Result<Outcome, CliError> {
    let connection: ConnectionId = args.connection.parse().map_err(|error| {
        CliError::usage(format!("`{}` is {error}", args.connection)).hint("`collie online connections` lists the ids")
    })?;
    let service = app.service()?;
    let key = args.idempotency_key.clone().unwrap_or_else(|| contract::digest::hex(&app.door.random::<16>()));
    let name = CallName::new(connection, &key)?;
    if let Some(verdict) = args.settle_uncertain {
        let mut db = service.db().await?;
        ledger::settle(&service, &mut db, &name, &args.tool, verdict).await?;
        return Ok(settled(&name, verdict));
    }
    let call = Call {
        tool: args.tool.clone(),
        arguments: arguments(args)?,
        consent: if args.yes { Consent::OwnYes } else { Consent::NotGiven },
        networks: reach::parse_networks(&args.allow_host)?,
        name,
    };
    let done = Box::pin(endpoint::invoke(app, &service, &call)).await?;
    answer(&call, done)
}

fn settled(name: &CallName, verdict: Verdict) -> Outcome {
    let (word, sentence) = match verdict {
        Verdict::Happened => ("happened", "it happened; its key stays used"),
        Verdict::NotHappened => ("not-happened", "it did not happen; its key is free again"),
    };
    Outcome::new(Json::from_members([("idempotency_key", name.key.as_str().into()), ("settled", word.into())]))
        .line(format!("Settled the call with key {}: {sentence}.", name.key))
}

fn arguments(args: &Args) -> Result<Json, CliError> {
    let text = match (&args.arguments, args.arguments_stdin) {
        (Some(text), _) if text != "-" => text.clone(),
        (Some(_), _) | (None, true) => prompt::read_text(limits::ARGUMENTS_BYTES_MAX)?,
        (None, false) => return single_arguments(&args.arg),
    };
    parse_object(&text)
}

fn parse_object(text: &str) -> Result<Json, CliError> {
    let json = cjson::parse(text.as_bytes(), limits::ARGUMENTS_BYTES_MAX)
        .map_err(|error| CliError::usage(format!("the arguments cannot be read: {error}")))?;
    if json.as_object().is_none() {
        return Err(CliError::usage("the arguments are no JSON object")
            .hint("for example --arguments '{\"to\":\"ada@example.test\"}'"));
    }
    Ok(json)
}

fn single_arguments(said: &[String]) -> Result<Json, CliError> {
    let mut members = BTreeMap::new();
    for one in said {
        let (name, text) =
            one.split_once('=').ok_or_else(|| CliError::usage(format!("`{one}` is not of the form NAME=TEXT")))?;
        let (name, value) = match name.strip_suffix(':') {
            Some(name) => {
                let value = cjson::parse(text.as_bytes(), limits::ARGUMENTS_BYTES_MAX);
                (name, value.map_err(|error| CliError::usage(format!("`{one}`: {error}")))?)
            }
            None => (name, Json::from(text)),
        };
        if members.insert(name.to_owned(), value).is_some() {
            return Err(CliError::usage(format!("the argument `{name}` is given twice")));
        }
    }
    Ok(Json::Object(members))
}

fn answer(call: &Call, done: Done) -> Result<Outcome, CliError> {
    let Done { recorded, origin, warnings } = done;
    let result = recorded.result.clone().unwrap_or(Json::Null);
    let data = Json::from_members([
        ("connection", call.name.connection.as_str().into()),
        ("tool", call.tool.as_str().into()),
        ("idempotency_key", call.name.key.as_str().into()),
        ("origin", if origin == Origin::Called { "called" } else { "recorded" }.into()),
        ("redacted", recorded.redacted.into()),
        ("result", result.clone()),
    ]);
    let mut lines = result_lines(&result);
    if origin == Origin::Recorded {
        lines.push(format!("(recorded answer of key {}; nothing was called)", call.name.key));
    }
    let mut notes = warnings;
    if recorded.redacted {
        notes.push("the server sent the credential back; it was taken out of the answer".to_owned());
    }
    if recorded.result.is_none() {
        notes.push("the call was made; its answer is not kept here".to_owned());
    }
    if result.find("isError").and_then(Json::as_bool) == Some(true) {
        return Err(CliError::new(Code::UpstreamRefused, format!("`{}` says that it failed", call.tool))
            .hint("what it did before that, only the server knows; look there before you call it again")
            .details(data)
            .lines(lines));
    }
    let mut outcome = Outcome::new(data).lines(lines);
    outcome.warnings = notes;
    Ok(outcome)
}

/// A tool's result for people: its texts, else what it sent. The printer makes every line harmless.
fn result_lines(result: &Json) -> Vec<String> {
    let mut lines = Vec::new();
    for item in result.find("content").and_then(Json::as_array).unwrap_or_default() {
        match item.find_str("text").filter(|_| item.find_str("type") == Some("text")) {
            Some(text) => lines.extend(text.split('\n').map(|line| line.trim_end_matches('\r').to_owned())),
            None => lines.push(format!("[{}, shown in full by --json]", item.find_str("type").unwrap_or("something"))),
        }
    }
    if lines.is_empty()
        && let Some(structured) = result.find("structuredContent")
    {
        lines.push(structured.canonical_string());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_arguments_are_texts_unless_they_say_otherwise() {
        let read = |said: &[&str]| single_arguments(&said.iter().map(|&one| one.to_owned()).collect::<Vec<_>>());
        assert_eq!(
            read(&["to=ada@example.test", "count:=5", "text=5", "empty=", "list:=[1.50]"])
                .map(|json| json.canonical_string())
                .as_deref(),
            Ok(r#"{"count":5,"empty":"","list":[1.50],"text":"5","to":"ada@example.test"}"#)
        );
        for bad in [&["to"][..], &["a=1", "a=2"], &["a:=x"], &["a=1", "a:=1"]] {
            assert!(read(bad).is_err(), "{bad:?}");
        }
        assert!(parse_object("[]").is_err() && parse_object("{\"a\":1,\"a\":2}").is_err());
    }
}
