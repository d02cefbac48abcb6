//! A tiny HTTP client and MCP callers for both eras. Never retries, follows or repairs anything.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use collie_lab::{Credential, Lab, LabConfig, Switches};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// The credential of every lab that asks for one.
pub(crate) const TOKEN: &str = "s3cr3t/with+odd=chars~and-length";

/// One HTTP answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    pub(crate) fn text(&self) -> &str {
        str::from_utf8(&self.body).expect("an answer in UTF-8")
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// Data of every complete event on an event stream, in order, with its type.
    pub(crate) fn events(&self) -> Vec<(String, String)> {
        assert_eq!(self.header("content-type"), "text/event-stream");
        let text = self.text().replace("\r\n", "\n");
        let (mut kind, mut data, mut events) = (String::new(), Vec::new(), Vec::new());
        for line in text.trim_start_matches('\u{feff}').split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'))
        {
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            match field {
                "event" => kind = value.trim_start().to_owned(),
                "data" => data.push(value.strip_prefix(' ').unwrap_or(value).to_owned()),
                "" if line.is_empty() => {
                    let joined = data.join("\n");
                    if !joined.is_empty() {
                        events.push((std::mem::take(&mut kind), joined));
                    }
                    (kind, data) = (String::new(), Vec::new());
                }
                _ => {}
            }
        }
        events
    }

    pub(crate) fn tool_text(&self) -> String {
        self.json()["result"]["content"][0]["text"].as_str().expect("a text").to_owned()
    }

    pub(crate) fn error_code(&self) -> i64 {
        self.json()["error"]["code"].as_i64().expect("an error code")
    }
}

/// One HTTP request, written by hand.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) method: &'static str,
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Request {
    pub(crate) fn new(method: &'static str, url: &str, body: String) -> Request {
        Request { method, url: url.to_owned(), headers: Vec::new(), body }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Request {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Request {
        self.headers.retain(|(known, _)| known != name);
        self
    }

    /// Opens a connection and writes the request.
    pub(crate) async fn open(&self) -> TcpStream {
        let rest = self.url.strip_prefix("http://").expect("a plain address");
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let mut head = format!("{} /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n", self.method);
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        head += &format!("content-length: {}\r\n\r\n", self.body.len());
        let mut stream = TcpStream::connect(host).await.expect("the lab listens");
        stream.write_all(head.as_bytes()).await.expect("the head is taken");
        stream.write_all(self.body.as_bytes()).await.expect("the body is taken");
        stream
    }

    /// All that comes back until the connection ends; an error if it ends badly.
    pub(crate) async fn raw(&self) -> io::Result<Vec<u8>> {
        let mut all = Vec::new();
        self.open().await.read_to_end(&mut all).await?;
        Ok(all)
    }

    pub(crate) async fn send(&self) -> Answer {
        let raw = self.raw().await.expect("the connection ends well");
        read_answer(&raw).expect("a whole answer")
    }
}

/// Reads one answer; `None` if it is not whole.
pub(crate) fn read_answer(raw: &[u8]) -> Option<Answer> {
    let end = raw.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = str::from_utf8(&raw[..end]).ok()?;
    let mut lines = head.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let mut answer = Answer { status, headers, body: raw[end + 4..].to_vec() };
    if answer.header("transfer-encoding") == "chunked" {
        answer.body = join_chunks(&answer.body)?;
    } else {
        let length: usize = answer.header("content-length").parse().ok()?;
        if answer.body.len() != length {
            return None;
        }
    }
    Some(answer)
}

fn join_chunks(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = rest.windows(2).position(|window| window == b"\r\n")?;
        let length = usize::from_str_radix(str::from_utf8(&rest[..line]).ok()?, 16).ok()?;
        rest = &rest[line + 2..];
        if length == 0 {
            return Some(body);
        }
        body.extend_from_slice(rest.get(..length)?);
        rest = rest.get(length + 2..)?;
    }
}

/// Starts a lab that asks for [`TOKEN`].
pub(crate) async fn lab(change: impl FnOnce(&mut Switches)) -> Lab {
    let mut switches = Switches::default();
    change(&mut switches);
    let credential = Credential::Bearer(TOKEN.to_owned());
    Lab::start(LabConfig { credential, switches, ..LabConfig::default() }).await.expect("a free port")
}

/// A POST of one message with everything but the era's own headers.
pub(crate) fn post(lab: &Lab, message: &Value) -> Request {
    Request::new("POST", &lab.mcp_url(), message.to_string())
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("authorization", &format!("Bearer {TOKEN}"))
}

/// A good 2026-07-28 request.
pub(crate) fn modern(lab: &Lab, method: &str, mut params: Value) -> Request {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "suite", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"url": {}}},
    });
    let request = post(lab, &json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}))
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", method);
    match params["name"].as_str() {
        Some(name) if name.is_ascii() => request.header("mcp-name", name),
        Some(name) => request.header("mcp-name", &format!("=?base64?{}?=", STANDARD.encode(name))),
        None => request,
    }
}

/// A good 2026-07-28 call.
pub(crate) fn call(lab: &Lab, tool: &str, arguments: Value) -> Request {
    modern(lab, "tools/call", json!({"name": tool, "arguments": arguments}))
}

/// A good call of the commit tool.
pub(crate) fn send_note(lab: &Lab) -> Request {
    call(lab, "send_note", json!({"to": "ann@example.invalid", "text": "hello"}))
}

/// Opens a 2025-11-25 session and returns its name.
pub(crate) async fn open_session(lab: &Lab) -> String {
    let params =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "suite", "version": "1"}});
    let answer = post(lab, &json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})).send().await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let session = answer.header("mcp-session-id").to_owned();
    assert!(!session.is_empty());
    let told = legacy(lab, &session, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).send().await;
    assert_eq!((told.status, told.body.len()), (202, 0));
    session
}

/// A good 2025-11-25 request in a session.
pub(crate) fn legacy(lab: &Lab, session: &str, message: &Value) -> Request {
    post(lab, message).header("mcp-session-id", session).header("mcp-protocol-version", "2025-11-25")
}

/// The manifest as a careful client reads it: instructions and all tools, sorted by name, number tokens as sent.
pub(crate) async fn canonical_manifest(lab: &Lab) -> String {
    let discovered = modern(lab, "server/discover", json!({})).send().await.json();
    let mut tools = BTreeMap::new();
    let mut params = json!({});
    loop {
        let answer = modern(lab, "tools/list", params).send().await;
        for tool in raw_tools(answer.text()) {
            let name = serde_json::from_str::<Value>(&tool).expect("a tool")["name"].to_string();
            assert!(tools.insert(name, tool).is_none(), "a name twice");
        }
        let Some(next) = answer.json()["result"]["nextCursor"].as_str().map(str::to_owned) else { break };
        params = json!({"cursor": next});
    }
    let tools: Vec<String> = tools.into_values().collect();
    format!("{}\n{}", discovered["result"]["instructions"], tools.join("\n"))
}

fn raw_tools(text: &str) -> Vec<String> {
    let member = |text: &str, name: &str| {
        let members: BTreeMap<String, Box<RawValue>> = serde_json::from_str(text).expect("an object");
        members[name].get().to_owned()
    };
    let tools: Vec<Box<RawValue>> = serde_json::from_str(&member(&member(text, "result"), "tools")).expect("a list");
    tools.iter().map(|tool| canonical(tool.get())).collect()
}

fn canonical(text: &str) -> String {
    match text.as_bytes().first() {
        Some(b'{') => {
            let members: BTreeMap<String, Box<RawValue>> = serde_json::from_str(text).expect("an object");
            let members: Vec<String> = members
                .iter()
                .map(|(name, value)| format!("{}:{}", Value::from(name.as_str()), canonical(value.get())))
                .collect();
            format!("{{{}}}", members.join(","))
        }
        Some(b'[') => {
            let items: Vec<Box<RawValue>> = serde_json::from_str(text).expect("a list");
            let items: Vec<String> = items.iter().map(|item| canonical(item.get())).collect();
            format!("[{}]", items.join(","))
        }
        Some(b'"') => serde_json::from_str::<Value>(text).expect("a text").to_string(),
        _ => text.to_owned(),
    }
}
