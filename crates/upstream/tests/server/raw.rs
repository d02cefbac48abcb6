//! A server that answers each connection with prepared bytes and keeps what it was sent. Never understands a request.

use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

pub(crate) struct Raw {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Raw {
    /// Answers the first request with the first answer and so on; each answer ends its connection.
    pub(crate) async fn start(answers: Vec<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}/mcp", listener.local_addr().expect("bound"));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&seen);
        tokio::spawn(async move {
            for answer in answers {
                let Ok((mut stream, _)) = listener.accept().await else { return };
                let request = read_request(&mut stream).await;
                kept.lock().expect("not poisoned").push(request);
                // A client that has seen enough closes first.
                let _ = stream.write_all(answer.as_bytes()).await;
                let _ = stream.shutdown().await;
            }
        });
        Self { url, seen }
    }

    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen.lock().expect("not poisoned").clone()
    }
}

async fn read_request(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| {
                    line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse::<usize>().ok()
                })
                .unwrap_or(0);
            if body.len() >= length {
                return text;
            }
        }
        match stream.read(&mut buffer).await {
            Ok(read) if read > 0 => bytes.extend_from_slice(&buffer[..read]),
            Ok(_) | Err(_) => return text,
        }
    }
}

pub(crate) fn http(status: &str, media_type: &str, extra: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: {media_type}\r\ncontent-length: {length}\r\nconnection: close\r\n{extra}\r\n{body}"
    )
}

pub(crate) fn ok(body: &str) -> String {
    http("200 OK", "application/json", "", body)
}

pub(crate) fn result(id: i64, result: &str) -> String {
    ok(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#))
}
