//! What needs nobody else: with the service stopped, a device lists, shows and calls what is already on it, and says plainly what it cannot do.

use collie_tests::processes::{Binaries, Device, Lab, Service, ServiceOptions};
use serde_json::{Value, json};

const TOKEN: &str = "offline-suite-bearer-4711";

/// A device with one shared connection, and its service stopped.
struct Island {
    _folder: tempfile::TempDir,
    lab: Lab,
    device: Device,
    id: String,
    options: ServiceOptions,
    binaries: Binaries,
}

impl Island {
    fn make() -> Self {
        let binaries = Binaries::find().expect("the programs are built");
        let folder = tempfile::tempdir().expect("a folder");
        let service =
            Service::start(&binaries, ServiceOptions::in_folder(&folder.path().join("service"))).expect("starts");
        let lab = Lab::start_plain(&binaries, TOKEN).expect("starts");
        let device = Device::new(&binaries, "laptop", &folder.path().join("laptop")).expect("a device");
        device.pair(service.origin(), &mut service.sign_in().expect("signs in")).expect("pairs");
        let share =
            ["share-mcp", "notes", "--url", lab.mcp_url(), "--bearer-stdin", "--effect", "list_notes=observe", "--yes"];
        let data = device.data_with(&share, TOKEN.as_bytes()).expect("shares");
        let id = data.pointer("/connection/id").and_then(Value::as_str).expect("an id").to_owned();
        let (finished, options) = service.stop().expect("stops");
        assert_eq!(finished.code, Some(0), "{}", finished.err());
        Self { _folder: folder, lab, device, id, options, binaries }
    }
}

#[test]
fn what_needs_nobody_else_works_with_the_service_stopped() {
    let island = Island::make();
    let (device, id) = (&island.device, island.id.as_str());

    let status = device.data(&["status"]).expect("status");
    assert_eq!((&status["mode"], &status["connections"]["active"]), (&json!("connected"), &json!(1)));
    assert_eq!(device.data(&["status", "--check"]).expect("status")["reachable"], json!(false));

    let listed = device.data(&["connections"]).expect("connections");
    assert_eq!((&listed["fresh"], &listed["connections"][0]["on_this_device"]), (&json!(false), &json!(true)));

    let shown = device.data(&["connection-show", id]).expect("connection-show");
    assert_eq!((&shown["vouched_for_by"], &shown["connection"]["id"]), (&json!("key"), &json!(id)));

    let read = device.data(&["invoke", id, "list_notes"]).expect("a reading tool");
    assert_eq!(read["result"]["structuredContent"]["notes"], json!(["groceries", "inbox", "sheep"]));

    let send = ["invoke", id, "send_note", "--arg", "to=ada@example.test", "--arg", "text=hello"];
    let (exit, error) = device.refusal(&send).expect("refused");
    assert_eq!((exit, &error["code"]), (7, &json!("authority.ask")));
    assert_eq!(island.lab.applied("send_note").expect("counts"), 0);
    device.data(&[&send[..], &["--yes"]].concat()).expect("a commit");
    assert_eq!(island.lab.applied("send_note").expect("counts"), 1);
}

#[test]
fn what_needs_the_service_says_so_and_changes_nothing() {
    let island = Island::make();
    let device = &island.device;
    let server = format!("http://{}", island.options.listen);
    let id = island.id.as_str();
    let needs_service: [&[&str]; 7] = [
        &["devices"],
        &["device-revoke", "dev_00000000000000000000000000000000", "--yes"],
        &["login", "--server", &server, "--replace", "--no-wait"],
        &["share-mcp", "more", "--url", island.lab.mcp_url(), "--yes"],
        &["connection-review", id, "--yes"],
        &["connection-revoke", id, "--yes"],
        &["logout"],
    ];
    for arguments in needs_service {
        let (exit, error) = device.refusal(arguments).expect("refused");
        assert_eq!(
            (exit, &error["code"], &error["retryable"]),
            (9, &json!("net.unreachable"), &json!(true)),
            "{arguments:?}: {error}"
        );
        assert!(error["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{arguments:?}");
    }
    // Nothing of that changed what the device has: the service comes back, and all is as it was.
    let service = Service::start(&island.binaries, island.options.clone()).expect("starts again");
    assert_eq!(service.origin(), server);
    let listed = device.data(&["connections"]).expect("connections");
    assert_eq!((&listed["fresh"], &listed["connections"][0]["connection"]["status"]), (&json!(true), &json!("active")));
    assert_eq!(device.data(&["devices"]).expect("devices")["devices"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_device_that_never_saw_the_service_answers_too() {
    let binaries = Binaries::find().expect("the programs are built");
    let folder = tempfile::tempdir().expect("a folder");
    let device = Device::new(&binaries, "fresh", folder.path()).expect("a device");
    assert_eq!(device.data(&["status"]).expect("status")["mode"], json!("local"));
    let (exit, error) = device.refusal(&["connections"]).expect("refused");
    assert_eq!((exit, &error["code"]), (3, &json!("session.required")));
    let (exit, error) = device.refusal(&["login", "--server", "http://127.0.0.1:9", "--no-wait"]).expect("refused");
    assert_eq!((exit, &error["code"]), (9, &json!("net.unreachable")));
}
