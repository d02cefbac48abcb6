//! One HTTP/1.1 exchange as Python's `urllib` makes it: a connection per request, `Connection: close`, no compression. Reads no more than the public client reads.

use super::refusal::Refusal;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

/// The largest body the public client reads, bytes (wire-collie-v1 1.4).
pub const BODY_BYTES_MAX: usize = 4 * 1024 * 1024;
/// The largest enrolment body, bytes.
pub const ENROLMENT_BYTES_MAX: usize = 1024 * 1024;
const HEAD_BYTES_MAX: usize = 64 * 1024;

/// What is sent.
pub(super) struct Outgoing<'a> {
    pub(super) method: &'a str,
    /// Path and query, exactly as signed.
    pub(super) target: &'a str,
    pub(super) headers: Vec<(&'a str, String)>,
    pub(super) body: Option<&'a [u8]>,
}

/// What came back.
#[derive(Debug)]
pub(super) struct Incoming {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
}

/// Sends one request to `authority` (`host:port`) and reads one answer of at most `body_max` bytes.
pub(super) async fn exchange(authority: &str, request: Outgoing<'_>, body_max: usize) -> Result<Incoming, Refusal> {
    let mut stream = TcpStream::connect(authority).await.map_err(|_| Refusal::Unavailable("no connection"))?;
    let mut bytes = head(authority, &request).into_bytes();
    bytes.extend_from_slice(request.body.unwrap_or_default());
    // A server that refuses by the head may close before it has read the body; its answer still counts.
    let _ = stream.write_all(&bytes).await;
    let mut answer = Vec::new();
    let limit = u64::try_from(HEAD_BYTES_MAX + body_max + 1).map_err(|_| Refusal::TooLarge)?;
    let _ = stream.take(limit).read_to_end(&mut answer).await;
    read(&answer, body_max)
}

fn head(authority: &str, request: &Outgoing<'_>) -> String {
    let mut head = format!("{} {} HTTP/1.1\r\nAccept-Encoding: identity\r\n", request.method, request.target);
    if let Some(body) = request.body {
        head.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    head.push_str(&format!("Host: {authority}\r\n"));
    for (name, value) in &request.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("Connection: close\r\n\r\n");
    head
}

fn read(answer: &[u8], body_max: usize) -> Result<Incoming, Refusal> {
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").ok_or(Refusal::Unavailable("no answer"))?;
    let head = std::str::from_utf8(&answer[..end]).map_err(|_| Refusal::Unavailable("a head that is no text"))?;
    let mut lines = head.split("\r\n");
    let status = lines
        .next()
        .and_then(|line| line.split(' ').nth(1))
        .and_then(|word| word.parse::<u16>().ok())
        .ok_or(Refusal::Unavailable("no status"))?;
    let header = |name: &str| {
        head.split("\r\n")
            .filter_map(|line| line.split_once(':'))
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.trim())
    };
    // urllib would follow it with the bearer token in its hands (GET) or turn a POST into a GET; neither may ever be asked of it.
    if (300..400).contains(&status) || header("location").is_some() {
        return Err(Refusal::Redirect);
    }
    if header("content-encoding").is_some_and(|coding| !coding.eq_ignore_ascii_case("identity")) {
        return Err(Refusal::Compressed);
    }
    let raw = &answer[end + 4..];
    let body = if header("transfer-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked")) {
        unchunk(raw).ok_or(Refusal::Unavailable("a broken answer"))?
    } else {
        let length = header("content-length").and_then(|text| text.parse::<usize>().ok()).unwrap_or(raw.len());
        if length > body_max {
            return Err(Refusal::TooLarge);
        }
        raw.get(..length).ok_or(Refusal::Unavailable("a cut answer"))?.to_vec()
    };
    if body.len() > body_max {
        return Err(Refusal::TooLarge);
    }
    Ok(Incoming { status, body })
}

fn unchunk(mut raw: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = raw.windows(2).position(|two| two == b"\r\n")?;
        let size = usize::from_str_radix(std::str::from_utf8(&raw[..line]).ok()?.split(';').next()?.trim(), 16).ok()?;
        raw = raw.get(line + 2..)?;
        if size == 0 {
            return Some(body);
        }
        body.extend_from_slice(raw.get(..size)?);
        raw = raw.get(size + 2..)?;
    }
}
