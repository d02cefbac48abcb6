//! The program `collie-lab`: its flags, its ready line and its end.

use serde_json::Value;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::Command;

use crate::support::Request;

#[tokio::test]
async fn it_says_when_it_is_ready_and_ends_when_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let ready_file = folder.path().join("ready.json");
    let mut child = Command::new(env!("CARGO_BIN_EXE_collie-lab"))
        .args(["--bearer-stdin", "--era", "modern", "--switches", r#"{"odd_tools":false}"#])
        .args(["--fault", r#"{"kind":{"status":{"code":503}},"times":1}"#, "--ready-file"])
        .arg(&ready_file)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(b"topsecret\n").await.expect("taken");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let line = lines.next_line().await.expect("readable").expect("a ready line");
    assert!(!line.contains("topsecret"));
    let ready: Value = serde_json::from_str(&line).expect("one JSON line");
    let file = std::fs::read_to_string(&ready_file).expect("the file is there before the line");
    assert_eq!(file.trim_end(), line);
    let mode = std::fs::metadata(&ready_file).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);

    let url = ready["mcp_url"].as_str().expect("an address");
    let absent = Request::new("POST", url, "{}".to_owned()).send().await;
    assert_eq!(absent.status, 401);
    let url = ready["control_url"].as_str().expect("an address");
    let bearer = format!("Bearer {}", ready["control_token"].as_str().expect("a token"));
    let behaviour = Request::new("POST", url, r#"{"set":{}}"#.to_owned()).header("authorization", &bearer).send().await;
    assert_eq!(behaviour.json()["switches"]["era"], "modern");
    assert_eq!(behaviour.json()["switches"]["odd_tools"], false);
    assert_eq!(behaviour.json()["faults"][0]["kind"]["status"]["code"], 503);

    let id = child.id().expect("it runs").to_string();
    let told = Command::new("kill").args(["-TERM", &id]).status().await.expect("kill runs");
    assert!(told.success());
    assert!(child.wait().await.expect("it ends").success());
}

#[tokio::test]
async fn an_empty_credential_is_refused() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_collie-lab"))
        .args(["--header", "x-api-key"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    assert!(!child.wait().await.expect("it ends").success());
}

#[tokio::test]
async fn with_oauth_it_says_where_its_servers_are() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_collie-lab"))
        .args(["--oauth", "--switches", r#"{"oauth":{"issuer_slash":true}}"#])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("the program starts");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let line = lines.next_line().await.expect("readable").expect("a ready line");
    let ready: Value = serde_json::from_str(&line).expect("one JSON line");
    let issuer = ready["issuer"].as_str().expect("an issuer");
    assert_eq!(issuer, format!("{}/", ready["server_urls"][0].as_str().expect("an origin")));
    let document = format!("{issuer}.well-known/oauth-authorization-server");
    assert_eq!(Request::new("GET", &document, String::new()).send().await.json()["issuer"], issuer);
    let url = ready["mcp_url"].as_str().expect("an address");
    assert_eq!(Request::new("POST", url, "{}".to_owned()).send().await.status, 401);
}
