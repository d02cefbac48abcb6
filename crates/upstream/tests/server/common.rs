//! A lab, and clients for it. Never a server of its own kind: what the lab cannot do is in `raw`.

use collie_lab::{Credential, Eras, Lab, LabConfig, Switches};
use collie_upstream::{Answer, Auth, CallError, ToolCall, Upstream};
use contract::review::Era;
use contract::{Json, cjson};
use egress::{Destination, Development, Egress, Limits, Settings};
use sign::Secret;
use std::time::Duration;

pub(crate) const TOKEN: &str = "tok_Zm9v.YmFy/12+34-canary";

pub(crate) async fn lab(switches: impl FnOnce(&mut Switches)) -> Lab {
    let mut config = LabConfig { credential: Credential::Bearer(TOKEN.to_owned()), ..LabConfig::default() };
    switches(&mut config.switches);
    Lab::start(config).await.expect("a free loopback port")
}

pub(crate) async fn lab_in(era: Era) -> Lab {
    lab(|switches| switches.era = eras(era)).await
}

pub(crate) fn eras(era: Era) -> Eras {
    match era {
        Era::Stateless => Eras::Modern,
        Era::Sessions => Eras::Legacy,
    }
}

pub(crate) fn destination(url: &str) -> Destination {
    let settings = Settings { development: Development::AllowLoopback, ..Settings::default() };
    Egress::new(settings).foreign(url).expect("a loopback URL")
}

pub(crate) fn token() -> Auth {
    Auth::Bearer(Secret::new(TOKEN.to_owned()))
}

pub(crate) fn client(lab: &Lab, expected: Option<Era>) -> Upstream {
    Upstream::new(destination(&lab.mcp_url()), token(), expected).expect("a fine credential")
}

/// A client that gives up soon.
pub(crate) fn hasty(url: &str, expected: Option<Era>) -> Upstream {
    let soon = Duration::from_millis(200);
    let limits = Limits { head: soon, idle: soon, total: soon, body_bytes: 1_000_000 };
    Upstream::with_limits(destination(url), token(), expected, limits).expect("a fine credential")
}

pub(crate) fn json(text: &str) -> Json {
    cjson::parse(text.as_bytes(), 1_000_000).expect("test JSON")
}

pub(crate) async fn call(client: &mut Upstream, tool: &str, arguments: &str) -> Result<Answer, CallError> {
    let tool = Json::from_members([("name", tool.into())]);
    client.call_tool(ToolCall { tool: &tool, arguments: &json(arguments) }).await
}

pub(crate) async fn send_note(client: &mut Upstream) -> Result<Answer, CallError> {
    call(client, "send_note", r#"{"to":"a@example.com","text":"hi"}"#).await
}
