//! The released binary as an operator meets it: start, ready line, owner link, administration beside a running service, signals, refusals. Talks to it over a socket and reads what it leaves behind.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};

/// A running service that is ended with its test.
struct Running {
    child: Child,
    ready: String,
}

impl Running {
    fn start(state: &Path, more: &[&str]) -> Self {
        let mut child = command(state)
            .args(["--listen", "127.0.0.1:0"])
            .args(more)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("started");
        let mut ready = String::new();
        BufReader::new(child.stdout.as_mut().expect("stdout")).read_line(&mut ready).expect("a line");
        if ready.is_empty() {
            let mut errors = String::new();
            child.stderr.take().expect("stderr").read_to_string(&mut errors).expect("text");
            panic!("not ready: {errors}");
        }
        Self { child, ready }
    }

    fn member(&self, name: &str) -> String {
        let value = self.ready.split(&format!("\"{name}\":\"")).nth(1).and_then(|rest| rest.split('"').next());
        value.unwrap_or_else(|| panic!("`{name}` in {}", self.ready)).to_owned()
    }

    fn send(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(self.member("listen")).expect("connected");
        stream.write_all(request.replace("HOST", &self.member("listen")).as_bytes()).expect("written");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("answered");
        answer
    }

    fn get(&self, target: &str) -> String {
        self.send(&format!("GET {target} HTTP/1.1\r\nhost: HOST\r\nconnection: close\r\n\r\n"))
    }

    /// Ends the service as a service manager does, and returns what it logged.
    fn terminate(mut self) -> String {
        let killed = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().expect("kill runs");
        assert!(killed.success());
        let mut log = String::new();
        self.child.stderr.take().expect("stderr").read_to_string(&mut log).expect("text");
        assert!(self.child.wait().expect("ended").success(), "a signal is a good end");
        log
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn command(state: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_collie-broker"));
    command.env_clear().env("HOME", state).env("COLLIE_BROKER_STATE_DIR", state);
    command
}

fn run(state: &Path, arguments: &[&str]) -> Output {
    command(state).args(arguments).output().expect("runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

fn state() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("directory");
    let state = directory.path().join("state");
    (directory, state)
}

fn read_link(state: &Path) -> String {
    let path = state.join("owner-link");
    assert_eq!(std::fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o600);
    std::fs::read_to_string(path).expect("text").trim().to_owned()
}

#[test]
fn it_serves_hands_over_one_link_and_ends_on_a_signal() {
    let (_directory, state) = state();
    let ready_file = state.with_extension("ready");
    let service = Running::start(&state, &["--log", "trace", "--ready-file", ready_file.to_str().expect("path")]);
    assert_eq!(std::fs::read_to_string(&ready_file).expect("written"), service.ready);
    assert!(service.get("/healthz").starts_with("HTTP/1.1 200"));

    let link = read_link(&state);
    let path = link.strip_prefix(&service.member("origin")).expect("our origin").to_owned();
    assert!(service.get(&path).starts_with("HTTP/1.1 200"));
    let origin = service.member("origin");
    let opened = service.send(&format!(
        "POST {path} HTTP/1.1\r\nhost: HOST\r\norigin: {origin}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    ));
    assert!(opened.starts_with("HTTP/1.1 200"));
    let cookie = opened.split("collie=").nth(1).and_then(|rest| rest.split(';').next()).expect("a cookie").to_owned();

    let log = service.terminate();
    let token = path.rsplit('/').next().expect("a token");
    assert!(log.lines().all(|line| line.starts_with('{') && line.ends_with('}')), "JSON lines");
    assert!(log.contains("/owner/{token}"), "control: the request was logged, by its pattern");
    assert!(!log.contains(token) && !log.contains(&cookie), "no secret in the log at any level");
}

#[test]
fn the_operator_makes_a_link_while_the_service_runs() {
    let (_directory, state) = state();
    let service = Running::start(&state, &[]);
    let first = read_link(&state);
    let made = run(&state, &["admin", "owner-link"]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    let second = read_link(&state);
    assert_ne!(first, second);
    let token = second.rsplit('/').next().expect("token");
    assert!(!text(&made.stdout).contains(token) && !text(&made.stderr).contains(token), "a pipe is not a terminal");
    let path =
        second.strip_prefix(&service.member("origin")).expect("the running service's own origin, also on a free port");
    assert!(service.get(path).starts_with("HTTP/1.1 200"));
    let void = first.strip_prefix(&service.member("origin")).expect("origin");
    assert!(service.get(void).starts_with("HTTP/1.1 404"));
}

#[test]
fn init_makes_what_check_misses() {
    let (_directory, state) = state();
    let before = run(&state, &["check", "--tls", "self-made"]);
    assert!(!before.status.success());
    assert!(text(&before.stderr).contains("collie-broker init"), "the remedy");
    assert!(!state.join("collie.db").exists(), "looking makes nothing");
    let init = run(&state, &["init", "--tls", "self-made"]);
    assert!(init.status.success(), "{}", text(&init.stderr));
    let after = run(&state, &["check", "--tls", "self-made"]);
    assert!(after.status.success(), "{}", text(&after.stderr));
    let fingerprint = |output: &Output| {
        text(&output.stdout).lines().find_map(|line| line.strip_prefix("certificate  ").map(str::to_owned))
    };
    assert!(fingerprint(&init).is_some_and(|shown| shown.starts_with("sha256:")));
    assert_eq!(fingerprint(&init), fingerprint(&after));
    let service = Running::start(&state, &["--tls", "self-made"]);
    assert_eq!(Some(service.member("fingerprint")), fingerprint(&init));
}

#[test]
fn what_cannot_be_meant_stops_the_start_in_two_lines() {
    let (_directory, state) = state();
    for (arguments, environment, expected) in [
        (vec!["--listen", "0.0.0.0:0", "--public-url", "https://collie.test"], None, "tls = \"self-made\""),
        (vec!["--listen", "0.0.0.0:0", "--tls", "self-made"], None, "public_url"),
        (vec!["--log", "loud"], None, "error, warn, info"),
        (vec![], Some(("COLLIE_BROKER_LISTNE", "x")), "COLLIE_BROKER_LISTNE"),
        (vec!["--database", "postgres://a:canary-5150@db.test/c"], None, "the file or the environment"),
    ] {
        let output = command(&state).args(&arguments).envs(environment).output().expect("runs");
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {said}");
        assert!(said.contains(expected) && said.lines().count() == 2, "{said}");
        assert!(!said.contains("canary"));
    }
    assert_eq!(run(&state, &["--listne", "x"]).status.code(), Some(2));
}

#[test]
fn it_prints_its_own_reference() {
    let (_directory, state) = state();
    for (name, title) in
        [("print-config-reference", "# Configuration"), ("print-limits", "# Limits"), ("print-routes", "# Routes")]
    {
        let output = run(&state, &[name]);
        assert!(output.status.success() && text(&output.stdout).starts_with(title), "{name}");
    }
}

#[test]
fn init_makes_the_vaults_key_once_and_a_start_takes_it() {
    let directory = tempfile::tempdir().expect("directory");
    let (state, keys) = (directory.path().join("state"), directory.path().join("keys"));
    std::fs::create_dir(&keys).expect("a folder of its own");
    let key = keys.join("kek.key");
    let flags = ["--kek-file", key.to_str().expect("UTF-8")];
    let with = |name: &'static str| [&[name][..], &flags].concat();
    let missing = run(&state, &with("serve"));
    assert!(!missing.status.success() && !key.exists(), "a start makes no key");
    assert!(run(&state, &with("init")).status.success());
    let made = std::fs::read(&key).expect("made");
    assert_eq!((made.len(), std::fs::metadata(&key).expect("there").permissions().mode() & 0o777), (32, 0o600));
    assert!(run(&state, &with("init")).status.success());
    assert_eq!(std::fs::read(&key).expect("there"), made, "never replaced");

    let service = Running::start(&state, &flags);
    assert!(service.get("/readyz").contains(r#""status":"ready""#));
    let report = String::from_utf8(run(&state, &with("check")).stdout).expect("text");
    assert!(report.contains("key file     ") && report.contains("(software)"), "{report}");
    let log = service.terminate();
    assert!(!log.contains("vault.sealed"), "{log}");
}
