//! `collie-lab` as a process: started with a credential on its standard input, told what to do over its control address. Never shows the credential.

use super::binaries::Binaries;
use super::child::{Running, Seen};
use crate::plain_http::{Answer, Request};
use crate::trouble::Trouble;
use serde_json::Value;
use std::process::Command;

/// A running lab.
pub struct Lab {
    process: Running,
    ready: Value,
}

impl Lab {
    /// Starts a lab that asks for nothing.
    pub fn start_open(binaries: &Binaries) -> Result<Self, Trouble> {
        Self::start(binaries, &[], b"")
    }

    /// Starts a lab with its six plain tools, that asks for this bearer token.
    pub fn start_plain(binaries: &Binaries, token: &str) -> Result<Self, Trouble> {
        Self::start(
            binaries,
            &["--bearer-stdin", "--switches", "{\"odd_tools\":false}"],
            format!("{token}\n").as_bytes(),
        )
    }

    /// Starts a lab that asks for this bearer token.
    pub fn start_with_bearer(binaries: &Binaries, token: &str) -> Result<Self, Trouble> {
        Self::start(binaries, &["--bearer-stdin"], format!("{token}\n").as_bytes())
    }

    /// Starts a lab that asks for this value in the header `name`.
    pub fn start_with_header(binaries: &Binaries, name: &str, value: &str) -> Result<Self, Trouble> {
        Self::start(binaries, &["--header", name], format!("{value}\n").as_bytes())
    }

    /// Starts a lab that asks for tokens of its own authorization servers, with these switches of theirs.
    pub fn start_with_oauth(binaries: &Binaries, oauth: &Value) -> Result<Self, Trouble> {
        let switches = serde_json::json!({ "oauth": oauth }).to_string();
        Self::start(binaries, &["--oauth", "--switches", &switches], b"")
    }

    /// Issuer of its first authorization server at the start; empty without OAuth.
    #[must_use]
    pub fn issuer(&self) -> &str {
        self.field("issuer")
    }

    fn start(binaries: &Binaries, arguments: &[&str], stdin: &[u8]) -> Result<Self, Trouble> {
        let mut command = Command::new(binaries.program("collie-lab"));
        command.args(["--listen", "127.0.0.1:0"]).args(arguments).env_clear();
        let process = Running::start(&mut command, stdin)?;
        let line = process.wait_out(|text| text.split_once('\n').map(|(line, _)| line.to_owned()));
        let ready = line.and_then(|line| serde_json::from_str(&line).ok()).ok_or_else(|| {
            let said = String::from_utf8_lossy(&process.err_so_far()).trim().to_owned();
            Trouble::new(format!("collie-lab did not get ready; it said: {said}"), "run `collie-lab` by hand and look")
        })?;
        Ok(Self { process, ready })
    }

    /// Address of its MCP endpoint.
    #[must_use]
    pub fn mcp_url(&self) -> &str {
        self.field("mcp_url")
    }

    /// Its process.
    #[must_use]
    pub fn process(&self) -> &Running {
        &self.process
    }

    /// What others can see of it now.
    #[must_use]
    pub fn look(&self) -> Seen {
        self.process.look()
    }

    /// Changes what it does: one command of the lab, as JSON.
    pub fn control(&self, command: &Value) -> Result<Value, Trouble> {
        let request = Request::post(self.field("control_url")).json(command);
        read(self.authorized(request).send()?)
    }

    /// What it has seen so far.
    pub fn seen(&self) -> Result<Value, Trouble> {
        read(self.authorized(Request::get(self.field("seen_url"))).send()?)
    }

    /// Waits until a request hangs there.
    pub fn wait_hanging(&self) -> Result<(), Trouble> {
        for _ in 0..LOOKS_MAX {
            if self.seen()?.get("hanging").and_then(Value::as_u64).is_some_and(|count| count > 0) {
                return Ok(());
            }
        }
        Err(Trouble::new("no request hangs", "look at the fault that was armed"))
    }

    /// How often a tool's effect has happened.
    pub fn applied(&self, tool: &str) -> Result<u64, Trouble> {
        Ok(self.seen()?.pointer(&format!("/counts/applied/{tool}")).and_then(Value::as_u64).unwrap_or(0))
    }

    fn authorized(&self, request: Request) -> Request {
        request.header("Authorization", &format!("Bearer {}", self.field("control_token")))
    }

    fn field(&self, name: &str) -> &str {
        self.ready.get(name).and_then(Value::as_str).unwrap_or_default()
    }
}

/// Looks at what a lab has seen before a wait is given up.
const LOOKS_MAX: usize = 20_000;

fn read(answer: Answer) -> Result<Value, Trouble> {
    if answer.status != 200 {
        let said = String::from_utf8_lossy(&answer.body).into_owned();
        return Err(Trouble::new(
            format!("the lab refused its control ({}): {said}", answer.status),
            "look at the command",
        ));
    }
    serde_json::from_slice(&answer.body).map_err(|error| Trouble::new(error.to_string(), "look at the lab's answer"))
}
