//! Calling one tool, once. Never sends a call twice that can have happened, and says of every failure whether it can.

use crate::error::{Applied, CallError, UpstreamError};
use crate::exchange::Heading;
use crate::param_headers::{encode, param_headers};
use crate::rpc;
use crate::session::Upstream;
use contract::review::Era;
use contract::{Json, limits};

/// A call of a reviewed tool.
#[derive(Clone, Copy)]
pub struct ToolCall<'a> {
    /// The reviewed definition, as it stands in the manifest; it names the tool and the arguments that are mirrored into headers.
    pub tool: &'a Json,
    /// An object; it goes out as it is, number tokens included.
    pub arguments: &'a Json,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The result.
    pub outcome: Outcome,
    /// The server sent the credential back; [`crate::MARKER`] stands in its places.
    pub redacted: bool,
}

/// The kinds of result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The tool's result as sent: `content`, `structuredContent`, `isError` and whatever else it holds.
    Complete(Json),
    /// The server wants input first (2026-07-28); nothing was done. `inputRequests` and `requestState` as sent.
    InputRequired(Json),
}

impl Answer {
    /// Whether the tool says that it failed. What it did before that, only it knows.
    #[must_use]
    pub fn is_error(&self) -> bool {
        match &self.outcome {
            Outcome::Complete(result) => result.find("isError").and_then(Json::as_bool) == Some(true),
            Outcome::InputRequired(_) => false,
        }
    }
}

impl Upstream {
    /// Calls a tool in the era of the review. The arguments are not checked against a schema: that is the server's part.
    pub async fn call_tool(&mut self, call: ToolCall<'_>) -> Result<Answer, CallError> {
        let not_sent = |error| CallError { applied: Applied::No, error };
        let era = self.era_for_call().await.map_err(not_sent)?;
        let (params, heading) =
            outgoing(era, call).map_err(|what| not_sent(UpstreamError::BadCall { what: what.to_owned() }))?;
        if era == Era::Sessions {
            self.ensure_session().await.map_err(not_sent)?;
        }
        let result = self.ask(era, METHOD, params, heading).await.map_err(|failure| CallError {
            applied: if failure.early { Applied::No } else { failure.error.applied() },
            error: failure.error,
        })?;
        let (result, redacted) = self.link.redactor.json(result);
        let outcome = outcome(era, result).map_err(|error| CallError { applied: Applied::Unknown, error })?;
        Ok(Answer { outcome, redacted })
    }

    async fn era_for_call(&mut self) -> Result<Era, UpstreamError> {
        match (self.expected, self.found) {
            (Some(expected), Some(found)) if expected != found => Err(UpstreamError::EraChanged { expected, found }),
            (Some(era), _) | (None, Some(era)) => Ok(era),
            (None, None) => Ok(self.greet().await?.era),
        }
    }
}

const METHOD: &str = "tools/call";

fn outgoing<'a>(era: Era, call: ToolCall<'_>) -> Result<(Json, Heading<'a>), &'static str> {
    let name = call.tool.find_str("name").ok_or("the tool has no name")?;
    if call.arguments.as_object().is_none() {
        return Err("the arguments are no object");
    }
    if call.arguments.canonical().len() > limits::ARGUMENTS_BYTES_MAX {
        return Err("the arguments are too large");
    }
    let mut params = Json::from_members([("name", name.into()), ("arguments", call.arguments.clone())]);
    let mut heading = Heading::default();
    if era == Era::Stateless {
        if let Json::Object(members) = &mut params {
            members.insert("_meta".to_owned(), rpc::stateless_meta());
        }
        heading = Heading::stateless(METHOD, Some(encode(name)?));
        heading.mirrored.extend(param_headers(call.tool, call.arguments)?);
    }
    Ok((params, heading))
}

fn outcome(era: Era, result: Json) -> Result<Outcome, UpstreamError> {
    match (era, result.find("resultType").map(Json::as_str)) {
        (Era::Sessions, _) | (Era::Stateless, None | Some(Some("complete"))) => Ok(Outcome::Complete(result)),
        (Era::Stateless, Some(Some("input_required"))) => Ok(Outcome::InputRequired(result)),
        (Era::Stateless, Some(_)) => Err(UpstreamError::malformed("a result of an unknown type")),
    }
}
