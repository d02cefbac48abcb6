//! One HTTP/1.1 exchange over plain TCP, a connection each, as simple as it can be. Follows no redirect and keeps no cookie.

use crate::trouble::Trouble;
use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

/// How long an answer may take.
const ANSWER_MAX: Duration = Duration::from_secs(30);

/// A request to an `http://` address.
#[derive(Debug, Clone)]
pub struct Request {
    method: &'static str,
    url: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

/// An answer, whole.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Status.
    pub status: u16,
    /// Headers in order, names in lower case.
    pub headers: Vec<(String, String)>,
    /// Body.
    pub body: Vec<u8>,
}

impl Answer {
    /// The first header of this name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Request {
    /// GET.
    #[must_use]
    pub fn get(url: &str) -> Self {
        Self { method: "GET", url: url.to_owned(), headers: Vec::new(), body: Vec::new() }
    }

    /// POST.
    #[must_use]
    pub fn post(url: &str) -> Self {
        Self { method: "POST", ..Self::get(url) }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sends a JSON body.
    #[must_use]
    pub fn json(self, body: &Value) -> Self {
        self.body("application/json", body.to_string().into_bytes())
    }

    /// Sends a body.
    #[must_use]
    pub fn body(mut self, media_type: &str, body: Vec<u8>) -> Self {
        self.body = body;
        self.header("Content-Type", media_type)
    }

    /// One exchange.
    pub fn send(&self) -> Result<Answer, Trouble> {
        let unreachable = |error: &dyn std::fmt::Display| {
            Trouble::new(format!("no answer from {}: {error}", origin(&self.url)), "look whether it still runs")
        };
        let (authority, target) = split(&self.url).ok_or_else(|| unreachable(&"not a plain http address"))?;
        let mut stream = TcpStream::connect(authority).map_err(|error| unreachable(&error))?;
        stream.set_read_timeout(Some(ANSWER_MAX)).map_err(|error| unreachable(&error))?;
        let mut bytes =
            format!("{} {target} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n", self.method).into_bytes();
        for (name, value) in &self.headers {
            bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        if self.method == "POST" {
            bytes.extend_from_slice(format!("Content-Length: {}\r\n", self.body.len()).as_bytes());
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(&self.body);
        stream.write_all(&bytes).map_err(|error| unreachable(&error))?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).map_err(|error| unreachable(&error))?;
        parse(&answer).ok_or_else(|| unreachable(&"not an HTTP answer"))
    }
}

/// `http://host:port` of an address, without a path that may hold a secret.
#[must_use]
pub fn origin(url: &str) -> String {
    split(url).map_or_else(|| "(not an address)".to_owned(), |(authority, _)| format!("http://{authority}"))
}

fn split(url: &str) -> Option<(&str, &str)> {
    let rest = url.strip_prefix("http://")?;
    let at = rest.find('/').unwrap_or(rest.len());
    let (authority, target) = rest.split_at(at);
    Some((authority, if target.is_empty() { "/" } else { target }))
}

fn parse(answer: &[u8]) -> Option<Answer> {
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = std::str::from_utf8(answer.get(..end)?).ok()?;
    let mut lines = head.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let raw = answer.get(end + 4..)?;
    let chunked =
        headers.iter().any(|(name, value)| name == "transfer-encoding" && value.eq_ignore_ascii_case("chunked"));
    let body = if chunked { unchunk(raw)? } else { raw.to_vec() };
    Some(Answer { status, headers, body })
}

fn unchunk(mut raw: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = raw.windows(2).position(|two| two == b"\r\n")?;
        let size =
            usize::from_str_radix(std::str::from_utf8(raw.get(..line)?).ok()?.split(';').next()?.trim(), 16).ok()?;
        raw = raw.get(line + 2..)?;
        if size == 0 {
            return Some(body);
        }
        body.extend_from_slice(raw.get(..size)?);
        raw = raw.get(size + 2..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_whole_and_in_chunks() {
        let plain = parse(b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody").expect("an answer");
        assert_eq!((plain.status, plain.header("a"), plain.text().as_str()), (200, Some("b"), "body"));
        let chunked = parse(b"HTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1;x\r\nd\r\n0\r\n\r\n")
            .expect("an answer");
        assert_eq!((chunked.status, chunked.text().as_str()), (404, "abcd"));
        assert!(parse(b"nonsense").is_none());
    }

    #[test]
    fn a_failure_names_the_origin_and_not_the_path() {
        assert_eq!(origin("http://127.0.0.1:1/owner/secret"), "http://127.0.0.1:1");
        let trouble = Request::get("http://127.0.0.1:1/owner/secret").send().expect_err("nobody is there");
        assert!(!trouble.to_string().contains("secret"));
    }
}
