//! Devices: listing, revoking and approving, and that no name from elsewhere can command the terminal.

use crate::machine::Machine;
use crate::service::{Service, USER_CODE};
use contract::Json;

#[tokio::test]
async fn names_from_elsewhere_are_shown_and_command_nothing() {
    let service = Service::start().await;
    let machine = Machine::connected(&service).await;
    let first = service.world().device_names.keys().next().expect("a device").clone();
    service.world().device_names.insert(first, "\u{1b}[2Jevil\u{202e}".to_owned());
    let run = machine.run(&["devices"]).await;
    assert!(run.stdout.contains("\\u{1b}[2Jevil\\u{202e}"), "{run:?}");
    let run = machine.run(&["devices", "--json"]).await;
    assert!(!run.stdout.contains('\u{1b}') && !run.stdout.contains('\u{202e}'));
    assert_eq!(run.data().pointer("/devices/0/name").and_then(Json::as_str), Some("\u{1b}[2Jevil\u{202e}"));
}

#[tokio::test]
async fn revoking_says_what_no_revocation_takes_back() {
    let service = Service::start().await;
    let machine = Machine::connected(&service).await;
    let other = Machine::connected(&service).await;
    let id = other.run(&["whoami", "--json"]).await.data().find_str("device_id").expect("an id").to_owned();
    let own = machine.run(&["whoami", "--json"]).await.data().find_str("device_id").expect("an id").to_owned();
    service.world().connections = vec![crate::keys::bare_row("conn_1", "notes", 3)];

    let run = machine.run(&["device-revoke", &own, "--yes", "--json"]).await;
    assert_eq!((run.exit, run.code().as_str()), (6, "device.self"));
    let run = machine.run(&["device-revoke", "dev_unknown", "--yes", "--json"]).await;
    assert_eq!((run.exit, run.code().as_str()), (5, "not_found"));
    let run = machine.run(&["device-revoke", "a/b", "--yes", "--json"]).await;
    assert_eq!((run.exit, run.code().as_str()), (2, "usage"));
    let run = machine.run(&["device-revoke", &id, "--json"]).await;
    assert_eq!((run.exit, run.code().as_str()), (7, "approval.pending"), "nobody can be asked");
    assert_eq!(service.count("POST /v1/devices/revoke"), 0);

    let run = machine.run(&["device-revoke", "--device-id", &id, "--yes"]).await;
    assert_eq!(run.exit, 0, "{run:?}");
    assert!(run.stdout.starts_with(&format!("Revoked device laptop ({id}).\n")), "{run:?}");
    assert!(run.stdout.contains("conn_1  notes  https://mcp.example/"), "{run:?}");
    let run = machine.run(&["device-revoke", &id, "--yes", "--json"]).await;
    assert_eq!(run.data().find("changed"), Some(&Json::Bool(false)));
    assert_eq!(run.data().pointer("/rotate/0/connection_id").and_then(Json::as_str), Some("conn_1"));
    assert_eq!(service.count("POST /v1/devices/revoke"), 1, "repeating it changes nothing");
    assert!(machine.run(&["devices"]).await.stdout.contains(" · revoked"));
    assert_eq!(other.run(&["devices", "--json"]).await.code(), "session.revoked");
}

#[tokio::test]
async fn approving_binds_exactly_the_key_that_was_compared() {
    let service = Service::start().await;
    let machine = Machine::connected(&service).await;
    service.world().approved = false;
    let new = Machine::new(&service.origin());
    assert_eq!(new.run(&["login", "--no-wait", "--device-name", "desktop"]).await.exit, 7);
    let key = new.folder().find_or_make_pairing_key().expect("the waiting key").public_key();

    let run = machine.run(&["device-approve", "ZZZZ-ZZZZ", "--json"]).await;
    assert_eq!((run.exit, run.code().as_str()), (5, "not_found"));
    let run = machine.run(&["device-approve", USER_CODE, "--json"]).await;
    assert_eq!((run.exit, run.code().as_str()), (7, "approval.pending"), "nobody can be asked");
    let run = machine.run(&["device-approve", USER_CODE, "--fingerprint", "0000-0000-0000-0000", "--json"]).await;
    assert_eq!((run.exit, run.code().as_str()), (10, "trust.pin_mismatch"));
    assert_eq!(service.count("POST /v1/devices/approve"), 0);

    let run = machine.run(&["device-approve", USER_CODE, "--fingerprint", &key.fingerprint()]).await;
    assert_eq!(run.exit, 0, "{run:?}");
    assert!(run.stdout.contains(&format!("fingerprint  {}\n", key.fingerprint())), "{run:?}");
    assert!(run.stdout.ends_with("Approved device desktop.\n"), "{run:?}");
    assert!(new.run(&["login"]).await.stdout.contains("Connected Ada as device desktop."));
}
