//! A machine of a person: a state folder of its own, and `collie` run in it with nothing from the test's environment.

use crate::service::Service;
use collie_client::app::App;
use collie_client::cli::Global;
use collie_client::door::Door;
use collie_client::state::{ServiceDir, StateDir};
use contract::{Json, cjson};
use std::process::Stdio;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

pub(crate) struct Machine {
    pub(crate) root: TempDir,
    server: String,
}

/// What a run of `collie` gave.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) exit: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    /// The one document of a `--json` run.
    pub(crate) fn json(&self) -> Json {
        let line = self.stdout.strip_suffix('\n').expect("one line");
        assert!(!line.contains('\n'), "exactly one document: {}", self.stdout);
        cjson::parse(line.as_bytes(), line.len()).expect("JSON")
    }

    pub(crate) fn data(&self) -> Json {
        let document = self.json();
        assert_eq!(document.find("ok"), Some(&Json::Bool(true)), "{self:?}");
        document.find("data").expect("data").clone()
    }

    /// The code of a refusal, from the document of a `--json` run.
    pub(crate) fn code(&self) -> String {
        let document = self.json();
        assert_eq!(document.find("ok"), Some(&Json::Bool(false)), "{self:?}");
        document.pointer("/error/code").and_then(Json::as_str).expect("a code").to_owned()
    }

    pub(crate) fn all(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }
}

impl Machine {
    pub(crate) fn new(server: &str) -> Self {
        Self { root: tempfile::tempdir().expect("a folder"), server: server.to_owned() }
    }

    /// A machine that is signed in.
    pub(crate) async fn connected(service: &Service) -> Self {
        let machine = Self::new(&service.origin());
        let run = machine.run(&["login", "--device-name", "laptop"]).await;
        assert_eq!(run.exit, 0, "{run:?}");
        machine
    }

    pub(crate) fn folder(&self) -> ServiceDir {
        StateDir::new(Some(self.root.path()), Door).expect("a state folder").service(&self.server)
    }

    /// The context of a command here, for what no command shows by itself.
    pub(crate) fn app(&self) -> App {
        App::new(Global {
            json: false,
            quiet: true,
            server: Some(self.server.clone()),
            workspace_id: None,
            state_dir: Some(self.root.path().to_owned()),
            no_color: true,
            development_allow_loopback: false,
            timeout: 5,
        })
        .expect("a context")
    }

    pub(crate) async fn run(&self, arguments: &[&str]) -> Run {
        self.run_with(arguments, "").await
    }

    /// Runs `collie online` without naming the service.
    pub(crate) async fn run_unnamed(&self, arguments: &[&str]) -> Run {
        self.spawn(arguments, "", &[]).await
    }

    /// Runs `collie online` with a text on standard input.
    pub(crate) async fn run_with(&self, arguments: &[&str], stdin: &str) -> Run {
        self.spawn(arguments, stdin, &[("COLLIE_ONLINE_URL", &self.server)]).await
    }

    async fn spawn(&self, arguments: &[&str], stdin: &str, variables: &[(&str, &str)]) -> Run {
        let mut child = Command::new(env!("CARGO_BIN_EXE_collie"))
            .arg("online")
            .args(arguments)
            .env_clear()
            .env("COLLIE_STATE_DIR", self.root.path())
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        let mut input = child.stdin.take().expect("piped");
        // The command may end without reading.
        let _ = input.write_all(stdin.as_bytes()).await;
        drop(input);
        let output = child.wait_with_output().await.expect("ends");
        Run {
            exit: output.status.code().expect("ends by itself"),
            stdout: String::from_utf8(output.stdout).expect("text"),
            stderr: String::from_utf8(output.stderr).expect("text"),
        }
    }
}
