//! A proxy between a device and its service that keeps every exchange, so that a suite can read what crossed. Changes nothing on the way.

use crate::trouble::Trouble;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

/// One request with its answer.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// Method and target, as on the request line.
    pub line: String,
    /// The whole request.
    pub request: Vec<u8>,
    /// The whole answer.
    pub answer: Vec<u8>,
}

/// A running recorder. Its thread ends with the process.
pub struct Recorder {
    origin: String,
    kept: Arc<Mutex<Vec<Exchange>>>,
}

/// Longest body that is passed on, bytes.
const BODY_BYTES_MAX: u64 = 16 * 1024 * 1024;

impl Recorder {
    /// Listens on a free loopback port and passes everything on to `authority` (`host:port`).
    pub fn start(authority: &str) -> Result<Self, Trouble> {
        let failed =
            |error: std::io::Error| Trouble::new(format!("no recorder: {error}"), "look at the machine's network");
        let listener = TcpListener::bind("127.0.0.1:0").map_err(failed)?;
        let origin = format!("http://{}", listener.local_addr().map_err(failed)?);
        let kept = Arc::new(Mutex::new(Vec::new()));
        let (ours, authority) = (Arc::clone(&kept), authority.to_owned());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (kept, authority) = (Arc::clone(&ours), authority.clone());
                // A connection that breaks is the devices' own matter; what crossed whole is kept.
                std::thread::spawn(move || drop(pass(stream, &authority, &kept)));
            }
        });
        Ok(Self { origin, kept })
    }

    /// Where devices find the service behind it.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Everything that crossed so far.
    #[must_use]
    pub fn exchanges(&self) -> Vec<Exchange> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn pass(device: TcpStream, authority: &str, kept: &Mutex<Vec<Exchange>>) -> std::io::Result<()> {
    let service = TcpStream::connect(authority)?;
    let (mut from_device, mut to_device) = (BufReader::new(device.try_clone()?), device);
    let (mut from_service, mut to_service) = (BufReader::new(service.try_clone()?), service);
    loop {
        let request = message(&mut from_device)?;
        if request.is_empty() {
            return Ok(());
        }
        to_service.write_all(&request)?;
        let answer = message(&mut from_service)?;
        let line =
            String::from_utf8_lossy(request.split(|byte| *byte == b'\r').next().unwrap_or_default()).into_owned();
        let line = line.trim_end_matches(" HTTP/1.1").to_owned();
        let last = closes(&request) || closes(&answer);
        // Kept before it is passed on, so that whoever has the answer finds it here.
        kept.lock().unwrap_or_else(PoisonError::into_inner).push(Exchange { line, request, answer: answer.clone() });
        to_device.write_all(&answer)?;
        if last {
            return Ok(());
        }
    }
}

/// Whether the head of a message says that nothing follows it on this connection.
fn closes(message: &[u8]) -> bool {
    message
        .split(|byte| *byte == b'\n')
        .take_while(|line| *line != b"\r")
        .any(|line| header(line, "connection").is_some_and(|value| value.eq_ignore_ascii_case("close")))
}

/// One message with a `Content-Length`, or without a body; empty at the end of the connection.
fn message(from: &mut BufReader<TcpStream>) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut length = 0;
    loop {
        let mut line = Vec::new();
        from.read_until(b'\n', &mut line)?;
        bytes.extend_from_slice(&line);
        if let Some(value) = header(&line, "content-length") {
            length = value.parse().unwrap_or(0);
        }
        if header(&line, "transfer-encoding").is_some() {
            return Err(std::io::Error::other("the recorder passes on bodies of known length only"));
        }
        if line.is_empty() || line == b"\r\n" {
            break;
        }
    }
    from.take(std::cmp::min(length, BODY_BYTES_MAX)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn header<'a>(line: &'a [u8], name: &str) -> Option<&'a str> {
    let (key, value) = std::str::from_utf8(line).ok()?.split_once(':')?;
    key.eq_ignore_ascii_case(name).then(|| value.trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plain_http::Request;

    #[test]
    fn what_crosses_is_kept_and_not_changed() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("listens");
        let authority = listener.local_addr().expect("an address").to_string();
        let served = std::thread::spawn(move || {
            let (stream, _) = listener.accept().expect("one connection");
            let request = message(&mut BufReader::new(stream.try_clone().expect("a clone"))).expect("a request");
            (&stream).write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello").expect("answers");
            request
        });
        let recorder = Recorder::start(&authority).expect("starts");
        let answer = Request::post(&format!("{}/x", recorder.origin()))
            .body("text/plain", b"ping".to_vec())
            .send()
            .expect("answers");
        assert_eq!((answer.status, answer.text().as_str()), (200, "hello"));
        let kept = recorder.exchanges();
        assert_eq!((kept.len(), kept[0].line.as_str()), (1, "POST /x"));
        assert_eq!(kept[0].request, served.join().expect("served"));
        assert!(kept[0].answer.ends_with(b"hello") && kept[0].request.ends_with(b"ping"));
    }
}
