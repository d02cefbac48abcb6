//! Sessions: rotation by one process at a time, and what a device does when its session or its key is over.

use crate::machine::Machine;
use crate::service::Service;
use collie_client::state::device_key::DEVICE_KEY;
use contract::Json;

#[tokio::test]
async fn many_processes_rotate_once() {
    let service = Service::start().await;
    service.world().access_ttl_s = 5;
    let machine = Machine::connected(&service).await;
    let before = service.count("POST /v1/auth/refresh");
    service.world().access_ttl_s = 600;
    let runs = tokio::join!(
        machine.run(&["whoami"]),
        machine.run(&["whoami"]),
        machine.run(&["whoami"]),
        machine.run(&["whoami"]),
        machine.run(&["whoami"]),
        machine.run(&["whoami"])
    );
    for run in [runs.0, runs.1, runs.2, runs.3, runs.4, runs.5] {
        assert_eq!(run.exit, 0, "{run:?}");
    }
    assert_eq!(service.count("POST /v1/auth/refresh") - before, 1);
}

#[tokio::test]
async fn a_revoked_device_forgets_and_says_so() {
    let service = Service::start().await;
    let machine = Machine::connected(&service).await;
    let key = seal::UserSealingKey::new(1, sign::Secret::new([7; 32])).expect("a key");
    let _ = machine.folder().store_sealing_key(&key).expect("stores");
    let device = machine.run(&["whoami", "--json"]).await.data().find_str("device_id").expect("an id").to_owned();
    service.world().revoked.push(device);
    let run = machine.run(&["devices"]).await;
    assert_eq!(run.exit, 3);
    assert!(run.stderr.contains("this device was revoked; the sealing key, its device key, its session"), "{run:?}");
    let folder = machine.folder();
    assert!(folder.find_sealing_key().expect("looks").is_none());
    assert!(folder.find_device_key().expect("looks").is_none());
    let names: Vec<_> =
        std::fs::read_dir(folder.path()).expect("lists").flatten().map(|entry| entry.file_name()).collect();
    assert!(names.iter().all(|name| !name.to_string_lossy().contains("session-")), "{names:?}");
    assert_eq!(machine.run(&["status", "--json"]).await.data().find_str("mode"), Some("revoked"));
    let run = machine.run(&["devices", "--json"]).await;
    assert_eq!((run.exit, run.code().as_str()), (3, "session.revoked"));
}

#[tokio::test]
async fn other_refusals_delete_nothing() {
    let service = Service::start().await;
    let machine = Machine::connected(&service).await;
    for (status, code, exit) in [
        (401, "session.required", 3),
        (401, "signature.skew", 10),
        (401, "signature.invalid", 10),
        (403, "role.forbidden", 4),
        (429, "rate.limited", 12),
        (500, "internal", 1),
        // A code that does not belong to its status is not believed.
        (404, "session.revoked", 5),
    ] {
        service.world().refuse = Some((status, code, "no"));
        let run = machine.run(&["devices", "--json"]).await;
        assert_eq!(run.exit, exit, "{run:?}");
        assert_ne!(run.json().pointer("/error/hint"), None);
    }
    service.world().refuse = None;
    assert_eq!(machine.run(&["devices"]).await.exit, 0);
}

#[tokio::test]
async fn a_skewed_clock_is_explained() {
    let service = Service::start().await;
    let machine = Machine::connected(&service).await;
    service.world().refuse = Some((401, "signature.skew", "device clock differs by 400 s"));
    let run = machine.run(&["devices"]).await;
    assert_eq!(run.exit, 10);
    assert!(run.stderr.contains("the service's; set it, then run the command again"), "{run:?}");
}

#[tokio::test]
async fn a_damaged_key_is_an_error_and_stays() {
    let service = Service::start().await;
    let machine = Machine::connected(&service).await;
    let path = machine.folder().file(DEVICE_KEY);
    std::fs::write(&path, "damaged").expect("writes");
    let asked = service.world().seen.len();
    let run = machine.run(&["devices", "--json"]).await;
    assert_eq!((run.exit, run.code().as_str()), (10, "key.corrupt"));
    assert_eq!(std::fs::read_to_string(&path).expect("reads"), "damaged");
    assert_eq!(service.world().seen.len(), asked);
    let run = machine.run(&["doctor", "--json"]).await;
    assert_eq!((run.exit, run.code().as_str()), (1, "doctor.red"));
}

#[tokio::test]
async fn doctor_is_green_on_a_sound_device_and_names_what_is_not() {
    use std::os::unix::fs::PermissionsExt as _;
    let service = Service::start().await;
    let machine = Machine::connected(&service).await;
    let run = machine.run(&["doctor", "--json"]).await;
    let checks = run.data().find("checks").and_then(Json::as_array).expect("checks").to_vec();
    let names: Vec<_> = checks.iter().filter_map(|check| check.find_str("name")).collect();
    assert_eq!(
        names,
        [
            "permissions",
            "device key",
            "sealing key",
            "key storage",
            "database",
            "ledger",
            "pin",
            "service",
            "clock",
            "session"
        ]
    );
    assert!(checks.iter().all(|check| check.find_str("state") == Some("green")), "{run:?}");

    let path = machine.folder().file("profile.json");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).expect("opens it");
    let run = machine.run(&["doctor"]).await;
    assert_eq!(run.exit, 1);
    assert!(run.stdout.contains("  red     permissions  others can read "), "{run:?}");
    assert!(
        run.stderr.starts_with(
            "Collie Online error: 1 of 10 checks are red: permissions\nhint: run `collie online doctor --fix`"
        ),
        "{run:?}"
    );
    assert_eq!(machine.run(&["doctor", "--fix"]).await.exit, 0);
    assert_eq!(machine.run(&["doctor"]).await.exit, 0);
}
