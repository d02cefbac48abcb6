//! The one door through which a browser on this device brings a sign-in back: loopback only, one path nobody can guess, one answer. Serves nothing else, and shows nothing of what it received.

use crate::door::Door;
use crate::error::CliError;
use contract::{Code, limits};
use std::net::Ipv4Addr;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Browsers open connections ahead of need; more than this at one time are not waited for.
const VISITORS_MAX: usize = 16;
/// A request with its headers: the answer's own maximum and room for a browser's words.
const REQUEST_BYTES_MAX: usize = limits::OAUTH_CALLBACK_BYTES_MAX + 16 * 1024;

/// A listener that waits for one answer.
pub struct Loopback {
    listener: TcpListener,
    authority: String,
    path: String,
}

impl Loopback {
    /// Listens on `port`, or on any free one. `context` makes the path this sign-in's own.
    pub async fn open(port: u16, context: &str) -> Result<Self, CliError> {
        let busy = |error: std::io::Error| {
            CliError::new(
                Code::Unavailable,
                format!("no address on this device to come back to (port {port}): {error}"),
            )
            .hint("choose another by `--redirect-port`, or sign in with `--paste`")
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.map_err(busy)?;
        let port = listener.local_addr().map_err(busy)?.port();
        Ok(Self { listener, authority: format!("127.0.0.1:{port}"), path: format!("/callback/{context}") })
    }

    /// The exact redirect address.
    #[must_use]
    pub fn redirect_uri(&self) -> String {
        format!("http://{}{}", self.authority, self.path)
    }

    /// Waits until a browser brings a query that `is_ours` accepts. Everything else is refused and does not end the wait.
    pub async fn wait(self, door: Door, ends_at_s: u64, is_ours: impl Fn(&str) -> bool) -> Result<String, CliError> {
        let mut visitors = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept(), if visitors.len() < VISITORS_MAX => {
                    if let Ok((stream, _)) = accepted {
                        visitors.spawn(read_request(stream, door));
                    }
                }
                Some(visit) = visitors.join_next() => {
                    let Ok(Some((stream, request))) = visit else { continue };
                    let query = self.judge(&request, &is_ours);
                    answer(stream, door, if query.is_some() { THANKS } else { NOT_HERE }).await;
                    if let Some(query) = query {
                        return Ok(query);
                    }
                }
                () = door.pause(5) => {}
            }
            if door.now_s() >= ends_at_s {
                return Err(CliError::new(Code::Canceled, "nobody signed in in time; nothing changed")
                    .hint("run the command again"));
            }
        }
    }

    /// The query of a request that is exactly the one that is waited for.
    fn judge(&self, request: &str, is_ours: &impl Fn(&str) -> bool) -> Option<String> {
        let mut lines = request.split("\r\n");
        let target = lines.next()?.strip_prefix("GET ")?.strip_suffix(" HTTP/1.1")?;
        let (path, query) = target.split_once('?')?;
        let mut hosts = Vec::new();
        for line in lines {
            let (name, value) = line.split_once(':')?;
            let value = value.trim();
            if name.eq_ignore_ascii_case("host") {
                hosts.push(value);
            }
            // A page that sends a request here by script says where it is from; a redirect does not.
            if name.eq_ignore_ascii_case("origin") && value != format!("http://{}", self.authority) {
                return None;
            }
        }
        let here = hosts == [self.authority.as_str()] && path == self.path;
        (here && is_ours(query)).then(|| query.to_owned())
    }
}

/// The head of a request; none where it does not come in time, is too long or is no text.
async fn read_request(mut stream: TcpStream, door: Door) -> Option<(TcpStream, String)> {
    let mut bytes = Vec::with_capacity(2048);
    let read = async {
        loop {
            let mut part = [0; 2048];
            let count = stream.read(&mut part).await.ok().filter(|count| *count > 0)?;
            bytes.extend_from_slice(part.get(..count)?);
            if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
                bytes.truncate(end);
                return Some(());
            }
            if bytes.len() > REQUEST_BYTES_MAX {
                return None;
            }
        }
    };
    tokio::select! {
        read = read => read?,
        () = door.pause(10) => return None,
    }
    Some((stream, String::from_utf8(bytes).ok()?))
}

const THANKS: (&str, &str) = ("200 OK", "Collie has the answer. Close this page and go back to the terminal.");
const NOT_HERE: (&str, &str) = ("404 Not Found", "Nothing is here.");

async fn answer(mut stream: TcpStream, door: Door, (status, text): (&str, &str)) {
    let head = "content-type: text/plain; charset=utf-8\r\ncache-control: no-store\r\nreferrer-policy: no-referrer\r\n\
                content-security-policy: default-src 'none'\r\nx-content-type-options: nosniff\r\nconnection: close";
    let page = format!("HTTP/1.1 {status}\r\n{head}\r\ncontent-length: {}\r\n\r\n{text}", text.len());
    let write = async {
        // A browser that is gone has seen enough.
        let _ = stream.write_all(page.as_bytes()).await;
        let _ = stream.shutdown().await;
    };
    tokio::select! {
        () = write => {}
        () = door.pause(2) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn visit(authority: &str, request: &str) -> String {
        let mut stream = TcpStream::connect(authority).await.expect("connects");
        stream.write_all(request.as_bytes()).await.expect("sends");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("reads");
        answer
    }

    #[tokio::test]
    async fn only_the_one_request_ends_the_wait_and_nothing_of_it_is_shown() {
        let door = Loopback::open(0, "c0ffee").await.expect("opens");
        let (authority, path) = (door.authority.clone(), door.path.clone());
        assert_eq!(door.redirect_uri(), format!("http://{authority}{path}"));
        let waiting = tokio::spawn(door.wait(Door, u64::MAX, |query| query.contains("state=ours")));
        let idle = TcpStream::connect(&authority).await.expect("a browser that asks for nothing yet");
        let good = format!("GET {path}?code=c4n4ry&state=ours HTTP/1.1\r\nHost: {authority}\r\n");
        let strangers = [
            good.replace("ours", "theirs"),
            good.replace(&path, "/"),
            good.replace("/callback", "//callback"),
            good.replace("GET", "POST"),
            good.replace(&format!("Host: {authority}"), "Host: evil.example"),
            good.replace(&format!("Host: {authority}"), "Host: localhost"),
            good.replace(&format!("Host: {authority}\r\n"), ""),
            format!("{good}Host: {authority}\r\n"),
            format!("{good}Origin: https://evil.example\r\n"),
            format!("{good}Origin: null\r\n"),
        ];
        for request in strangers {
            let answer = visit(&authority, &format!("{request}\r\n")).await;
            assert!(answer.starts_with("HTTP/1.1 404") && !answer.contains("c4n4ry"), "{request} {answer}");
        }
        let answer = visit(&authority, &format!("{good}\r\n")).await;
        assert!(answer.starts_with("HTTP/1.1 200") && !answer.contains("c4n4ry"), "{answer}");
        assert_eq!(waiting.await.expect("ends").as_deref(), Ok("code=c4n4ry&state=ours"));
        assert!(TcpStream::connect(&authority).await.is_err(), "it is closed");
        drop(idle);
    }

    #[tokio::test]
    async fn it_ends_in_time() {
        let door = Loopback::open(0, "x").await.expect("opens");
        let authority = door.authority.clone();
        let waiting = tokio::spawn(door.wait(Door, 1, |_| true));
        let _ = TcpStream::connect(&authority).await;
        assert_eq!(waiting.await.expect("ends").expect_err("too late").code, Code::Canceled);
    }
}
