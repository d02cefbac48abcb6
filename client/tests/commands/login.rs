//! Login, logout, status and whoami: what they say, what they store, and how they end.

use crate::machine::Machine;
use crate::service::{PREFIX, Service, USER, USER_CODE, WORKSPACE};
use contract::Json;

#[tokio::test]
async fn without_a_login_status_is_local_and_everything_else_says_so() {
    let machine = Machine::new("http://127.0.0.1:9");
    let run = machine.run(&[]).await;
    assert_eq!(
        (run.exit, run.stdout.as_str()),
        (0, "Local mode: this device is not connected. Connect it by `collie online login --server <url>`.\n")
    );
    assert_eq!(machine.run(&["status", "--json"]).await.data().find_str("mode"), Some("local"));
    for command in ["whoami", "devices"] {
        let run = machine.run(&[command]).await;
        assert_eq!(run.exit, 3);
        assert_eq!(run.stdout, "");
        assert_eq!(
            run.stderr,
            "Collie Online error: this device is not connected to a service\nhint: run `collie online login --server <url>`\n"
        );
        assert_eq!(machine.run(&[command, "--json"]).await.code(), "session.required");
    }
    assert!(std::fs::read_dir(machine.root.path()).expect("lists").next().is_none(), "nothing was made");
}

#[tokio::test]
async fn a_login_connects_and_a_second_one_changes_nothing() {
    let service = Service::start().await;
    let machine = Machine::new(&service.origin());
    let run = machine.run(&["login", "--device-name", "laptop"]).await;
    assert_eq!(run.exit, 0, "{run:?}");
    let lines: Vec<_> = run.stdout.lines().collect();
    assert_eq!(lines[0], format!("Open {}/pair", service.origin()));
    assert_eq!(lines[1], format!("Confirm that this device shows code: {USER_CODE}"));
    let fingerprint = machine.folder().device_key().expect("a key").public_key().fingerprint();
    assert_eq!(lines[2], format!("and that the page shows this key fingerprint: {fingerprint}"));
    assert_eq!(lines[3], "Connected Ada as device laptop.");
    let asked = service.world().seen.len();

    let run = machine.run(&["login", "--device-name", "laptop", "--json"]).await;
    assert_eq!(run.exit, 0, "{run:?}");
    assert_eq!(run.data().find("changed"), Some(&Json::Bool(false)));
    let run = machine.run(&["login"]).await;
    assert!(run.stdout.contains("Nothing changed."), "{run:?}");
    let run = machine.run(&["login", "--device-name", "other", "--json"]).await;
    assert_eq!((run.exit, run.code().as_str()), (6, "device.exists"));
    assert_eq!(service.world().seen.len(), asked, "nothing was asked again");
    assert_eq!(machine.folder().device_key().expect("a key").public_key().fingerprint(), fingerprint);

    let run = machine.run(&["login", "--device-name", "other", "--replace"]).await;
    assert!(run.stdout.contains("Connected Ada as device other."), "{run:?}");
    assert!(run.stderr.contains("collie online device-revoke dev_"), "{run:?}");
    assert_ne!(machine.folder().device_key().expect("a key").public_key().fingerprint(), fingerprint);
}

#[tokio::test]
async fn an_interrupted_login_goes_on_where_it_stopped() {
    let service = Service::start().await;
    service.world().approved = false;
    let machine = Machine::new(&service.origin());
    let run = machine.run(&["login", "--no-wait", "--json"]).await;
    assert_eq!((run.exit, run.code().as_str()), (7, "login.pending"));
    assert_eq!(run.json().pointer("/error/details/user_code").and_then(Json::as_str), Some(USER_CODE));
    assert!(run.stderr.contains("Open http"), "a person reads it on standard error: {run:?}");
    assert_eq!(machine.run(&["status", "--json"]).await.data().find_str("mode"), Some("local"));
    service.world().approved = true;
    let run = machine.run_unnamed(&["login", "--json"]).await;
    assert_eq!(run.exit, 0, "{run:?}");
    assert_eq!(run.data().find_str("user_id"), Some(USER));
    assert_eq!(machine.run_unnamed(&["whoami"]).await.exit, 0, "and is the service that is meant from now on");
    assert_eq!(service.count("POST /v1/devices/start"), 1, "the pairing was not started again");
    let run = machine.run(&["login"]).await;
    assert!(run.stdout.contains("Nothing changed."), "the pairing is not gone on with twice: {run:?}");
    assert_eq!(service.count("POST /v1/devices/start"), 1);
}

#[tokio::test]
async fn a_replacement_that_is_not_approved_leaves_the_connection_as_it_is() {
    let service = Service::start().await;
    let machine = Machine::connected(&service).await;
    service.world().approved = false;
    let run = machine.run(&["login", "--replace", "--no-wait"]).await;
    assert_eq!(run.exit, 7);
    assert_eq!(machine.run(&["whoami"]).await.exit, 0, "the old device still signs");
    service.world().approved = true;
    assert!(machine.run(&["login"]).await.stdout.contains("Connected Ada"));
    let id = machine.run(&["whoami", "--json"]).await.data().find_str("device_id").expect("an id").to_owned();
    assert!(id.ends_with("02"), "it is the new device: {id}");
}

#[tokio::test]
async fn plain_http_stays_on_this_machine() {
    for server in ["http://192.0.2.1:7420", "http://collie.example", "http://127.0.0.1.example"] {
        let machine = Machine::new(server);
        let run = machine.run(&["login", "--json"]).await;
        assert_eq!((run.exit, run.code().as_str()), (8, "egress.denied"), "{server}");
        assert!(std::fs::read_dir(machine.root.path()).expect("lists").next().is_none(), "nothing was made");
    }
    let run = Machine::new("ftp://127.0.0.1").run(&["login", "--json"]).await;
    assert_eq!((run.exit, run.code().as_str()), (2, "usage"));
    let run = Machine::new("http://127.0.0.1:9").run(&["login", "--json", "--server-fingerprint", "nonsense"]).await;
    assert_eq!((run.exit, run.code().as_str()), (2, "usage"));
}

#[tokio::test]
async fn whoami_and_status_answer_with_the_service_and_without() {
    let service = Service::start().await;
    let machine = Machine::connected(&service).await;
    let key = machine.folder().device_key().expect("a key").public_key();
    let me = machine.run(&["whoami", "--json"]).await.data();
    assert_eq!(me.find_str("public_key"), Some(key.b64u().as_str()));
    assert_eq!(me.find_str("workspace_id"), Some(WORKSPACE));
    let run = machine.run(&["whoami"]).await;
    assert!(run.stdout.contains(&format!("public key   {}\n", key.b64u())), "{run:?}");
    let status = machine.run(&["status", "--check", "--json"]).await.data();
    assert_eq!((status.find_str("mode"), status.find("reachable")), (Some("connected"), Some(&Json::Bool(true))));

    service.world().refuse = Some((503, "unavailable", "closed for today"));
    let run = machine.run(&["status", "--check"]).await;
    assert_eq!(run.exit, 0);
    assert!(run.stdout.starts_with("Connected to http://127.0.0.1:"), "{run:?}");
    assert!(run.stdout.contains("The service does not answer"), "{run:?}");
    let run = machine.run(&["devices", "--json"]).await;
    assert_eq!((run.exit, run.code().as_str()), (9, "unavailable"));
    assert_eq!(run.json().pointer("/error/retryable"), Some(&Json::Bool(true)));
}

#[tokio::test]
async fn another_installation_under_the_same_address_is_not_believed() {
    let service = Service::start().await;
    let machine = Machine::connected(&service).await;
    service.world().deployment = "dep_00000000000000000000000000000002";
    let run = machine.run(&["whoami", "--json"]).await;
    assert_eq!((run.exit, run.code().as_str()), (10, "trust.pin_mismatch"));
}

#[tokio::test]
async fn a_logout_revokes_destroys_the_key_and_can_be_repeated() {
    let service = Service::start().await;
    let machine = Machine::connected(&service).await;
    let run = machine.run(&["logout"]).await;
    assert_eq!((run.exit, run.stdout.as_str()), (0, "Signed out on this device. Local mirror kept.\n"));
    assert_eq!(service.world().revoked.len(), 1);
    assert!(machine.folder().find_device_key().expect("looks").is_none());
    let run = machine.run(&["logout"]).await;
    assert_eq!((run.exit, run.stdout.as_str()), (0, "This device was signed out already. Nothing changed.\n"));
    assert_eq!(machine.run(&["status", "--json"]).await.data().find_str("mode"), Some("signed_out"));
    assert_eq!(machine.run(&["devices", "--json"]).await.code(), "session.required");
    assert!(machine.run(&["login"]).await.stdout.contains("Connected Ada"), "and back");
}

#[tokio::test]
async fn a_logout_that_cannot_be_told_needs_force() {
    let service = Service::start().await;
    let machine = Machine::connected(&service).await;
    service.world().refuse = Some((503, "unavailable", "closed for today"));
    let run = machine.run(&["logout", "--json"]).await;
    assert_eq!((run.exit, run.code().as_str()), (9, "unavailable"));
    assert_eq!(machine.run(&["status", "--json"]).await.data().find_str("mode"), Some("connected"));
    let run = machine.run(&["logout", "--force", "--forget-mirror"]).await;
    assert_eq!(run.exit, 0, "{run:?}");
    assert!(run.stdout.contains("Local mirror deleted."), "{run:?}");
    assert!(run.stderr.contains("from another device"), "{run:?}");
}

#[tokio::test]
async fn only_one_login_runs_at_a_time() {
    let service = Service::start().await;
    let machine = Machine::new(&service.origin());
    let held = machine.folder().lock_login().expect("takes it");
    let run = machine.run(&["login", "--json"]).await;
    assert_eq!((run.exit, run.code().as_str()), (7, "login.pending"));
    assert!(service.world().seen.is_empty());
    drop(held);
    assert_eq!(machine.run(&["login"]).await.exit, 0);
}

#[tokio::test]
async fn a_service_under_a_path_is_signed_without_the_path() {
    let service = Service::start().await;
    let machine = Machine::new(&format!("{}{PREFIX}/", service.origin()));
    let run = machine.run(&["login"]).await;
    assert!(run.stdout.contains("Connected Ada"), "{run:?}");
    assert!(run.stderr.contains("the service calls itself http://127.0.0.1:"), "{run:?}");
    assert_eq!(machine.run(&["whoami"]).await.exit, 0);
}

#[tokio::test]
async fn a_device_id_of_another_service_is_refused() {
    let (first, second) = (Service::start().await, Service::start().await);
    let machine = Machine::connected(&first).await;
    let run = machine.run(&["login", "--server", &second.origin(), "--json"]).await;
    assert_eq!((run.exit, run.code().as_str()), (10, "trust.pin_mismatch"));
    let status = machine.run(&["status", "--json", "--server", &second.origin()]).await;
    assert_eq!(status.data().find_str("mode"), Some("local"), "nothing was kept");
    assert_eq!(machine.run(&["whoami"]).await.exit, 0, "the first is as it was");
}

#[tokio::test]
async fn another_account_finds_nothing_of_the_one_before() {
    let service = Service::start().await;
    let machine = Machine::connected(&service).await;
    let key = seal::UserSealingKey::new(1, sign::Secret::new([7; 32])).expect("a key");
    let _ = machine.folder().store_sealing_key(&key).expect("stores");
    service.world().user = "usr_00000000000000000000000000000002";
    assert_eq!(machine.run(&["login", "--replace"]).await.exit, 0);
    assert!(machine.folder().find_sealing_key().expect("looks").is_none());
    service.world().user = USER;
    assert_eq!(machine.run(&["login", "--replace"]).await.exit, 0);
    assert!(machine.folder().find_sealing_key().expect("looks").is_some(), "and the first finds its own again");
}

#[tokio::test]
async fn the_reference_names_every_command() {
    let output =
        tokio::process::Command::new(env!("CARGO_BIN_EXE_collie")).arg("print-help").output().await.expect("runs");
    let text = String::from_utf8(output.stdout).expect("text");
    for command in [
        "status",
        "login",
        "logout",
        "whoami",
        "devices",
        "device-revoke",
        "device-approve",
        "share-mcp",
        "connections",
        "connection-show",
        "connection-review",
        "connection-test",
        "connection-revoke",
        "invoke",
        "key-export",
        "key-import",
        "doctor",
    ] {
        assert!(text.contains(&format!("\n### `collie online {command}`\n")), "{command}");
    }
    for word in [
        "--json",
        "--state-dir <DIR>",
        "Environment: `COLLIE_STATE_DIR`",
        "| 11 | the outcome is uncertain",
        "`effect.uncertain`",
    ] {
        assert!(text.contains(word), "{word}");
    }
    let help = Machine::new("http://127.0.0.1:9").run(&["login", "--help"]).await;
    assert_eq!(help.exit, 0);
    assert!(help.stdout.starts_with("Connects this device to a service\n\nUsage: collie online login"), "{help:?}");
}
