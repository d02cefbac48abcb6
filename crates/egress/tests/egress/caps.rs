//! Every size and time has an end, and each end says whether the request can have been seen.

use crate::server::{Manner, OK, SOON, Server, local};
use collie_egress::{EgressError, Limits, Method, Phase, Request, Response, Sent};
use std::time::Duration;

fn soon() -> Request {
    Request::new(Method::POST, "/mcp", SOON).body("{}")
}

async fn head(manner: Manner) -> Result<Response, EgressError> {
    local(&Server::start(manner).await).send(soon()).await
}

async fn body(manner: Manner) -> Result<Vec<u8>, EgressError> {
    let server = Server::start(manner).await;
    let destination = local(&server);
    destination.send(soon()).await.expect("a head").bytes().await
}

#[tokio::test]
async fn a_server_that_says_nothing_ends_at_the_head_limit() {
    let error = head(Manner::AnswerAndHang(String::new())).await.expect_err("late");
    assert!(matches!(error, EgressError::TimedOut { phase: Phase::Head, .. }), "{error:?}");
    assert_eq!(error.sent(), Sent::Maybe);
}

#[tokio::test]
async fn a_head_that_does_not_end_is_refused() {
    let error = head(Manner::Endless(
        "HTTP/1.1 200 OK\r\n".to_owned(),
        "x-filling: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n".to_owned(),
    ))
    .await
    .expect_err("refused");
    assert!(matches!(error, EgressError::Malformed { .. }), "{error:?}");
    let long = format!("HTTP/1.1 200 OK\r\nx-long: {}\r\n\r\n", "a".repeat(40 * 1024));
    let error = head(Manner::AnswerAndHang(long)).await.expect_err("refused");
    assert!(matches!(error, EgressError::Malformed { .. }), "{error:?}");
    assert_eq!(error.sent(), Sent::Maybe);
}

#[tokio::test]
async fn a_body_is_cut_at_its_limit_however_it_is_framed() {
    let exact = format!("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{}", "x".repeat(1000));
    assert_eq!(body(Manner::Answer(exact)).await.map(|body| body.len()), Ok(1000));
    let chunk = format!("3e8\r\n{}\r\n", "x".repeat(1000));
    for manner in [
        Manner::Answer(format!("HTTP/1.1 200 OK\r\ncontent-length: 1001\r\n\r\n{}", "x".repeat(1001))),
        Manner::Endless("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_owned(), chunk),
        Manner::Endless("HTTP/1.1 200 OK\r\n\r\n".to_owned(), "x".repeat(500)),
    ] {
        let error = body(manner).await.expect_err("too large");
        assert!(matches!(error, EgressError::TooLarge { max: 1000, .. }), "{error:?}");
        assert_eq!(error.sent(), Sent::Maybe);
    }
}

#[tokio::test]
async fn silence_in_the_middle_of_a_body_ends_it() {
    let error = body(Manner::AnswerAndHang("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf".to_owned()))
        .await
        .expect_err("late");
    assert!(matches!(error, EgressError::TimedOut { phase: Phase::Body, .. }), "{error:?}");
}

#[tokio::test]
async fn a_body_that_never_ends_is_ended_by_the_total_time() {
    let endless =
        Manner::Endless("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_owned(), "1\r\nx\r\n".to_owned());
    let server = Server::start(endless).await;
    let limits = Limits { body_bytes: usize::MAX, total: Duration::from_millis(100), ..Limits::FOREIGN };
    let mut response = local(&server).send(Request::new(Method::GET, "/", limits)).await.expect("a head");
    let mut bytes = 0;
    let error = loop {
        match response.chunk().await {
            Ok(chunk) => bytes += chunk.map_or(0, |chunk| chunk.len()),
            Err(error) => break error,
        }
    };
    let ended = matches!(error, EgressError::TimedOut { phase: Phase::Whole, .. } | EgressError::TooLarge { .. });
    assert!(ended && bytes > 0, "{error:?}");
}

#[tokio::test]
async fn a_connection_that_breaks_leaves_doubt() {
    for answer in ["", "HTTP/1.1 200", "HTTP/1.1 200 OK\r\ncontent-le"] {
        let error = head(Manner::AnswerAndClose(answer.to_owned())).await.expect_err("broken");
        assert!(matches!(error, EgressError::Broken { phase: Phase::Head, .. }), "{answer:?} {error:?}");
        assert_eq!(error.sent(), Sent::Maybe);
    }
    let error = body(Manner::AnswerAndClose("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf".to_owned()))
        .await
        .expect_err("broken");
    assert!(matches!(error, EgressError::Broken { phase: Phase::Body, .. }), "{error:?}");
    assert_eq!(error.sent(), Sent::Maybe);
}

#[tokio::test]
async fn what_is_no_answer_is_refused() {
    for answer in [
        "SSH-2.0-OpenSSH\r\n\r\n",
        "HTTP/1.1 200 OK\r\nbad header\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 2\r\n\r\nhi",
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nhi!",
    ] {
        let error = head(Manner::AnswerAndClose(answer.to_owned())).await.expect_err(answer);
        assert!(matches!(error, EgressError::Malformed { .. }), "{answer:?} {error:?}");
    }
}

#[tokio::test]
async fn a_long_answer_comes_in_bounded_pieces() {
    let length = 300_000;
    let server = Server::start(Manner::Answer(format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{}",
        "x".repeat(length)
    )))
    .await;
    let mut response = local(&server).send(Request::new(Method::GET, "/", Limits::FOREIGN)).await.expect("a head");
    let mut total = 0;
    while let Some(chunk) = response.chunk().await.expect("a piece") {
        assert!(!chunk.is_empty() && chunk.len() <= contract::limits::RESPONSE_CHUNK_BYTES_MAX);
        total += chunk.len();
    }
    assert_eq!(total, length);
}

#[tokio::test]
async fn a_connection_closed_while_idle_is_replaced_without_doubt() {
    let server = Server::start(Manner::AnswerAndClose(OK.to_owned())).await;
    let destination = local(&server);
    for _ in 0..5 {
        destination.send(soon()).await.expect("an answer").bytes().await.expect("a body");
        // The close is seen before the connection is used again.
        tokio::task::yield_now().await;
    }
    assert_eq!(server.requests().len(), 5);
}

#[tokio::test]
async fn destinations_never_share_a_connection() {
    let server = Server::start(Manner::Answer(OK.to_owned())).await;
    let (one, two) = (local(&server), local(&server));
    for destination in [&one, &two, &one, &two, &one.clone()] {
        destination.send(soon()).await.expect("an answer").bytes().await.expect("a body");
    }
    assert_eq!(server.connections(), 2);
}

/// Never answers, and so keeps a connection from coming about.
struct Silent;

impl collie_egress::Resolver for Silent {
    fn resolve(&self, _host: &str) -> collie_egress::Resolving {
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn a_total_time_that_ends_before_the_connection_leaves_no_doubt() {
    let client = crate::server::egress(|settings| settings.resolver = std::sync::Arc::new(Silent));
    let error = client.foreign("https://mcp.example/").expect("a name").send(soon()).await.expect_err("late");
    assert!(matches!(error, EgressError::TimedOut { phase: Phase::Connect, .. }), "{error:?}");
    assert_eq!(error.sent(), Sent::No);
}

#[tokio::test]
async fn nobody_there_means_nothing_sent() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}/", listener.local_addr().expect("bound"));
    drop(listener);
    let error = crate::server::developing().foreign(&url).expect("loopback").send(soon()).await.expect_err("nobody");
    assert!(
        matches!(error, EgressError::Unreachable { reason: std::io::ErrorKind::ConnectionRefused, .. }),
        "{error:?}"
    );
    assert_eq!(error.sent(), Sent::No);
}
