//! One HTTP/1.1 exchange in which the test decides every byte. Follows nothing, repairs nothing.

use contract::{Json, cjson};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

const ANSWER_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// What came back.
#[derive(Debug, Clone)]
pub struct RawAnswer {
    /// HTTP status; 0 when the connection ended without an answer.
    pub status: u16,
    /// Header lines, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl RawAnswer {
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

    /// The body as JSON.
    #[must_use]
    pub fn json(&self) -> Option<Json> {
        cjson::parse(&self.body, self.body.len()).ok()
    }
}

/// Sends these bytes to `host:port` and reads until the other side closes.
pub async fn send(authority: &str, bytes: &[u8]) -> RawAnswer {
    let mut stream = TcpStream::connect(authority).await.expect("the service listens");
    // A service that refuses by the head may close before the body is through; its answer counts.
    let _ = stream.write_all(bytes).await;
    let mut answer = Vec::new();
    let _ = stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer).await;
    read(&answer)
}

/// As [`send`], but says after the last byte that no more will come: a request that is cut off.
pub async fn send_and_end(authority: &str, bytes: &[u8]) -> RawAnswer {
    let mut stream = TcpStream::connect(authority).await.expect("the service listens");
    let _ = stream.write_all(bytes).await;
    let _ = stream.shutdown().await;
    let mut answer = Vec::new();
    let _ = stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer).await;
    read(&answer)
}

fn read(answer: &[u8]) -> RawAnswer {
    let Some(end) = answer.windows(4).position(|four| four == b"\r\n\r\n") else {
        return RawAnswer { status: 0, headers: Vec::new(), body: answer.to_vec() };
    };
    let head = String::from_utf8_lossy(&answer[..end]).into_owned();
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.split(' ').nth(1)).and_then(|word| word.parse().ok()).unwrap_or(0);
    let headers = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    RawAnswer { status, headers, body: answer[end + 4..].to_vec() }
}
