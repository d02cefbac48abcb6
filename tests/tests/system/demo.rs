//! The demo as a person runs it: its document says what it claims to show, and nothing of it is left behind.

use collie_tests::processes::{Binaries, Everything, Finished, Running};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// Runs the demo with a temporary folder of its own.
fn run(arguments: &[&str], temporary: &Path) -> Finished {
    start(arguments, temporary).finish().expect("it ends")
}

fn start(arguments: &[&str], temporary: &Path) -> Running {
    let binaries = Binaries::find().expect("the programs are built");
    let mut command = Command::new(env!("CARGO_BIN_EXE_demo"));
    command
        .args(arguments)
        .env_clear()
        .env("TMPDIR", temporary)
        .env("COLLIE_BIN_DIR", binaries.folder())
        .env("PATH", "/usr/bin:/bin");
    Running::start(&mut command, b"").expect("it starts")
}

fn document(finished: &Finished) -> Value {
    let document = finished.json().expect("exactly one document");
    assert_eq!((finished.code, &document["ok"]), (Some(0), &json!(true)), "{}\n{}", document["error"], finished.err());
    document
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).expect("a folder").next().is_none()
}

#[test]
fn the_story_holds_on_the_lab() {
    let temporary = tempfile::tempdir().expect("a folder");
    let document = document(&run(&["--once", "--json"], temporary.path()));
    let facts = &document["facts"];
    assert_eq!(facts["devices_paired"], 2);
    assert_eq!(facts["read_from"], json!(["laptop", "desk"]));
    let asked = |device: &str| json!({"device": device, "exit": 7, "code": "authority.ask"});
    assert_eq!(facts["commit_refused"], json!([asked("laptop"), asked("desk")]));
    assert_eq!(facts["commits_applied"], 2);
    assert_eq!(facts["restricted_refused"], json!({"exit": 7, "code": "authority.step_up_required"}));
    assert_eq!(facts["secrets_found_at_service"], 0);
    assert_eq!((&facts["stored"]["seal_format"], &facts["vouched_for_by"]), (&json!("v2"), &json!("key")));
    assert_eq!(facts["blocked"]["laptop"], json!({"exit": 8, "code": "connection.manifest_changed"}));
    assert_eq!(facts["blocked"]["desk"], json!({"exit": 8, "code": "connection.review_required"}));
    assert_eq!(facts["review_seq"], 2);
    assert_eq!(facts["revoked"], json!({"first_exit": 3, "exit": 3, "code": "session.revoked", "keys_left": 0}));
    assert!(facts["rotate"].as_str().expect("words").contains("make a new token"), "{}", facts["rotate"]);
    for chapter in document["chapters"].as_array().expect("chapters") {
        let quiet = ["The service starts", "You sign in as the owner", "A commit asks, from both devices"];
        let silent = quiet.contains(&chapter["title"].as_str().expect("a title"))
            || chapter["title"] == "The server changes what it says about a tool";
        assert!(
            silent
                || chapter["title"] == "What it took"
                || chapter["readers"].as_array().is_some_and(|rows| !rows.is_empty()),
            "{chapter}"
        );
    }
    let typed: usize = document["chapters"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|chapter| chapter["commands"].as_array().map_or(0, Vec::len))
        .sum();
    assert_eq!(document["commands"], typed);
    assert!(document["decisions"].as_u64().is_some_and(|count| count >= 8));
    assert!(is_empty(temporary.path()), "the demo left something behind");
}

#[test]
fn words_show_no_secret_and_nothing_is_left() {
    let temporary = tempfile::tempdir().expect("a folder");
    let finished = run(&["--once"], temporary.path());
    let said = format!("{}{}", finished.out(), finished.err());
    assert_eq!(finished.code, Some(0), "{said}");
    for word in ["lab_", "collie_at_", "collie_rt_", "/owner/"] {
        assert!(!said.contains(word), "{word}");
    }
    let keys = said.lines().filter(|line| line.contains("collie-seal-v2:")).collect::<Vec<_>>();
    assert!(keys.iter().all(|line| line.contains("not shown here")), "{keys:?}");
    assert!(is_empty(temporary.path()), "the demo left something behind");
}

#[test]
fn told_to_end_it_ends_everything() {
    let temporary = tempfile::tempdir().expect("a folder");
    let running = start(&["--dev"], temporary.path());
    running.wait_out(|text| text.contains("Everything stays up").then_some(())).expect("it gets there");
    let folder =
        std::fs::read_dir(temporary.path()).expect("a folder").next().expect("its folder").expect("an entry").path();
    let line = std::fs::read_to_string(folder.join("service/origin")).expect("the service runs");
    let finished = running.stop("INT").expect("ends");
    assert_eq!(finished.code, Some(0), "{}", finished.err());
    assert!(is_empty(temporary.path()), "the demo left something behind");
    std::net::TcpStream::connect(line.trim().trim_start_matches("http://")).expect_err("the service is gone");
}

#[test]
fn told_to_end_in_the_middle_it_ends_everything() {
    let temporary = tempfile::tempdir().expect("a folder");
    let running = start(&["--json"], temporary.path());
    running.wait_err(|text| text.contains("One connection is reviewed").then_some(())).expect("it gets there");
    let finished = running.stop("INT").expect("ends");
    assert_eq!(finished.code, Some(130), "{}", finished.err());
    assert!(is_empty(temporary.path()), "the demo left something behind");
}

#[test]
fn the_story_holds_on_a_server_of_others() {
    let Some(peer) = Everything::start().expect("it starts where it is installed") else { return };
    let temporary = tempfile::tempdir().expect("a folder");
    let document = document(&run(&["--json", "--mcp-url", peer.url()], temporary.path()));
    let facts = &document["facts"];
    assert_eq!(facts["mcp_server"], "url");
    assert_eq!(facts["read_from"], json!(["laptop", "desk"]));
    assert_eq!(facts["commit_allowed_from"], json!(["laptop", "desk"]));
    assert_eq!(facts["secrets_found_at_service"], 0);
    assert_eq!(facts["revoked"]["code"], "session.revoked");
    assert_eq!(facts["change"], "left out: the server is not ours to change");
    assert!(is_empty(temporary.path()), "the demo left something behind");
}

#[test]
fn a_failure_is_one_document_too() {
    let temporary = tempfile::tempdir().expect("a folder");
    let finished = run(&["--json", "--mcp-url", "http://127.0.0.1:9/mcp"], temporary.path());
    let document = finished.json().expect("exactly one document");
    assert_eq!((finished.code, &document["ok"]), (Some(1), &json!(false)));
    assert!(document["error"]["what"].as_str().is_some_and(|what| what.contains("share-mcp")), "{document}");
    assert!(is_empty(temporary.path()), "the demo left something behind");
}
