//! The sealing key: exported only when told so twice, imported only after it opened something of the account, never replaced.

use crate::machine::Machine;
use crate::service::{DEPLOYMENT, Service, WORKSPACE};
use contract::blob::SecretKind;
use contract::connection::{ConnectionRow, Profile, Scope, SealFormat};
use contract::ids::{ConnectionId, DeploymentId, DeviceId, WorkspaceId};
use contract::review::{Era, ReviewRecord};
use contract::{Digest, Json, cjson};
use seal::device_direct::{Author, CredentialPlace, CredentialRandom, VersionLink, seal_device_direct};
use seal::{Credential, SealRandom, UserSealingKey, recovery};
use sign::{DeviceKey, Secret, Signed};

/// A row as the service serves it, with no review.
pub(crate) fn bare_row(id: &str, name: &str, credential_version: i64) -> Json {
    Json::from_members([
        ("id", id.into()),
        ("name", name.into()),
        ("scope", "personal".into()),
        ("project_id", "".into()),
        ("transport", "device_direct".into()),
        ("endpoint", "https://mcp.example/".into()),
        ("manifest", Vec::new().into()),
        ("manifest_digest", "".into()),
        ("reviewed_digest", "".into()),
        ("status", "active".into()),
        ("policy", Json::from_members([("allowed_effects", Vec::new().into())])),
        ("seal_format", "v2".into()),
        ("version", 1.into()),
        ("credential_version", credential_version.into()),
        ("review_seq", 1.into()),
        ("raw_digest", "".into()),
        ("reviewed_by", "".into()),
        ("created_at", 1.into()),
    ])
}

fn usk(byte: u8) -> UserSealingKey {
    UserSealingKey::new(1, Secret::new([byte; 32])).expect("a key")
}

fn text(key: &UserSealingKey) -> String {
    recovery::encode_usk(key).expect("generation 1").with(String::clone)
}

/// A connection that was reviewed and sealed by a device of the account.
fn sealed(key: &UserSealingKey, device: &DeviceId, device_key: &DeviceKey) -> (Json, Json) {
    let review = ReviewRecord {
        connection: ConnectionId::parse("conn_1").expect("an id"),
        scope: Scope::Personal,
        project: None,
        profile: Profile::DeviceDirect,
        endpoint: "https://mcp.example/".to_owned(),
        era: Era::Stateless,
        raw_digest: Digest::of(&[b"manifest"]),
        instructions_digest: Digest::of(&[b"instructions"]),
        tools: Vec::new(),
        allowed_effects: Vec::new(),
        review_seq: 1,
    };
    let (deployment, workspace) =
        (DeploymentId::parse(DEPLOYMENT).expect("an id"), WorkspaceId::parse(WORKSPACE).expect("an id"));
    let place = CredentialPlace::of_review(&deployment, &workspace, &review).expect("a place");
    let credential = Credential::static_bearer(&Secret::new("bearer-canary".to_owned())).expect("a credential");
    assert_eq!(credential.kind(), SecretKind::StaticBearer);
    let random = CredentialRandom::new(Secret::new([1; 32]), SealRandom::new([2; 56]), SealRandom::new([3; 56]));
    let author = Author { usk: key, device, device_key };
    let sealed = seal_device_direct(author, &place, VersionLink::first(), &credential, random).expect("seals");
    let bare = bare_row("conn_1", "notes", 1).canonical();
    let mut row: ConnectionRow = cjson::from_slice(&bare, bare.len()).expect("a row");
    row.raw_digest = review.raw_digest.b64u();
    row.review = Some(Signed::sign(device_key, &review).expect("signs").to_wire());
    assert_eq!(row.seal_format, SealFormat::V2);
    (cjson::to_json(&row).expect("JSON"), sealed.to_json().expect("JSON"))
}

/// A service whose account has one sealed connection, and a second machine that has no key.
async fn second_machine(service: &Service, key: &UserSealingKey) -> Machine {
    let first = Machine::connected(service).await;
    let device = DeviceId::parse(first.run(&["whoami", "--json"]).await.data().find_str("device_id").expect("an id"))
        .expect("an id");
    let (row, credential) = sealed(key, &device, &first.folder().device_key().expect("a key"));
    service.world().connections = vec![row];
    service.world().credentials.insert("conn_1".to_owned(), credential);
    Machine::connected(service).await
}

#[tokio::test]
async fn a_key_is_printed_only_when_told_so_twice() {
    let service = Service::start().await;
    let machine = Machine::connected(&service).await;
    let run = machine.run(&["key-export", "--yes", "--stdout-secret"]).await;
    assert_eq!(run.exit, 5, "there is none yet: {run:?}");
    let _ = machine.folder().store_sealing_key(&usk(7)).expect("stores");
    let secret = text(&usk(7));
    for arguments in [
        &["key-export"][..],
        &["key-export", "--stdout-secret"],
        &["key-export", "--yes"],
        &["key-export", "--yes", "--stdout-secret", "--json"],
    ] {
        let run = machine.run(arguments).await;
        assert_eq!(run.exit, 2, "{arguments:?}");
        assert!(!run.all().contains(&secret[20..60]), "{arguments:?}");
    }
    let run = machine.run(&["key-export", "--yes", "--stdout-secret"]).await;
    assert_eq!((run.exit, run.stdout), (0, format!("{secret}\n")));
    assert!(!run.stderr.contains(&secret[20..60]));
}

#[tokio::test]
async fn a_key_proves_itself_before_it_is_stored() {
    let service = Service::start().await;
    let machine = second_machine(&service, &usk(7)).await;
    let stored = || machine.folder().find_sealing_key().expect("looks").map(|key| *key.id());

    let asked = service.world().seen.len();
    let good = text(&usk(7));
    let typo = good.replacen(&good[30..31], if &good[30..31] == "7" { "8" } else { "7" }, 1);
    for bad in ["", "nonsense", &good[..50], &typo, "collie-seal-v1:AAAA"] {
        let run = machine.run_with(&["key-import", "--json"], bad).await;
        assert_eq!((run.exit, run.code().as_str()), (2, "usage"), "{bad}");
    }
    assert_eq!(service.world().seen.len(), asked, "nothing went to the network");

    let run = machine.run_with(&["key-import", "--json"], &text(&usk(8))).await;
    assert_eq!((run.exit, run.code().as_str()), (10, "seal.wrong_key"));
    assert_eq!(stored(), None);
    let run = machine.run_with(&["key-import", "--json", "--new-key"], &text(&usk(8))).await;
    assert_eq!(run.code(), "seal.wrong_key", "`--new-key` is no way around it");

    let run = machine.run_with(&["key-import"], &format!("  {}\n", good.to_lowercase())).await;
    assert_eq!(run.exit, 0, "{run:?}");
    assert_eq!(run.stdout, format!("Imported key {}; it opens 1 sealed connection(s).\n", usk(7).id().short()));
    assert_eq!(stored(), Some(*usk(7).id()));
    let run = machine.run_with(&["key-import"], &good).await;
    assert!(run.stdout.contains("Nothing changed."), "{run:?}");
    let run = machine.run_with(&["key-import", "--json"], &text(&usk(8))).await;
    assert_eq!((run.exit, run.code().as_str()), (6, "key.other_present"));
    assert_eq!(stored(), Some(*usk(7).id()));
}

#[tokio::test]
async fn the_argument_form_stays_and_warns() {
    let service = Service::start().await;
    let machine = second_machine(&service, &usk(7)).await;
    let run = machine.run(&["key-import", &text(&usk(7))]).await;
    assert_eq!(run.exit, 0, "{run:?}");
    assert!(run.stderr.contains("warning: the key stood on the command line"), "{run:?}");
    assert!(!run.all().contains(&text(&usk(7))[20..60]));
}

#[tokio::test]
async fn a_key_that_nothing_can_prove_is_taken_only_when_told() {
    let service = Service::start().await;
    let machine = Machine::connected(&service).await;
    let run = machine.run_with(&["key-import", "--json"], &text(&usk(7))).await;
    assert_eq!((run.exit, run.code().as_str()), (7, "key.required"));
    assert!(machine.folder().find_sealing_key().expect("looks").is_none());
    assert_eq!(machine.run_with(&["key-import", "--new-key"], &text(&usk(7))).await.exit, 0);
}

#[tokio::test]
async fn a_login_on_an_account_with_sealed_data_says_how_to_bring_the_key() {
    let service = Service::start().await;
    let _ = second_machine(&service, &usk(7)).await;
    let machine = Machine::new(&service.origin());
    let run = machine.run(&["login"]).await;
    assert!(run.stdout.contains("collie online key-import"), "{run:?}");
    assert!(machine.folder().find_sealing_key().expect("looks").is_none(), "no second key is made");
}

#[tokio::test]
async fn a_key_is_made_only_where_nothing_is_sealed_yet() {
    let service = Service::start().await;
    let machine = Machine::connected(&service).await;
    let app = machine.app();
    let device = app.service().expect("signed in");
    let api = device.api().expect("a way");
    // Whatever is revoked, unsealed or in the public client's format stands in nobody's way.
    let format = |format: &str| {
        let row = bare_row("conn_3", "c", 1).canonical_string().replace("\"v2\"", &format!("\"{format}\""));
        cjson::parse(row.as_bytes(), row.len()).expect("JSON")
    };
    service.world().connections = vec![format("v2")];
    let error = device.ready_sealing_key(&api).await.expect_err("refused");
    assert_eq!(error.code, contract::Code::KeyRequired);
    assert!(error.hint.expect("a hint").contains("key-import"));
    assert!(machine.folder().find_sealing_key().expect("looks").is_none());
    service.world().connections = vec![bare_row("conn_1", "a", 0), format("v1")];
    device.ready_sealing_key(&api).await.expect("makes one");
    let made = *machine.folder().find_sealing_key().expect("looks").expect("is there").id();
    device.ready_sealing_key(&api).await.expect("has one");
    assert_eq!(*machine.folder().find_sealing_key().expect("looks").expect("is there").id(), made);

    let error = device.ready_v1_key(&api).await.expect_err("the public client has its own");
    assert_eq!(error.code, contract::Code::KeyRequired);
    service.world().connections = vec![];
    device.ready_v1_key(&api).await.expect("makes one");
    assert!(device.find_v1_key().await.expect("looks").is_some());
}

#[tokio::test]
async fn the_public_clients_key_goes_out_and_in_and_survives_a_new_login() {
    let service = Service::start().await;
    let machine = Machine::connected(&service).await;
    let text = format!("collie-seal-v1:{}", contract::b64u::encode([9; 32]));
    let run = machine.run_with(&["key-import", "--json"], &text).await;
    assert_eq!((run.exit, run.code().as_str()), (7, "key.required"), "nothing can prove it");
    assert_eq!(machine.run_with(&["key-import", "--new-key"], &text).await.exit, 0);
    let other = format!("collie-seal-v1:{}", contract::b64u::encode([8; 32]));
    let run = machine.run_with(&["key-import", "--json", "--new-key"], &other).await;
    assert_eq!((run.exit, run.code().as_str()), (6, "key.other_present"));
    assert_eq!(machine.run(&["login", "--replace"]).await.exit, 0);
    let run = machine.run(&["key-export", "--yes", "--stdout-secret", "--for-public-client"]).await;
    assert_eq!((run.exit, run.stdout), (0, format!("{text}\n")));
    let all: Vec<u8> = walk(machine.root.path()).iter().flat_map(|path| std::fs::read(path).expect("reads")).collect();
    assert!(!all.windows(32).any(|window| window == [9; 32]), "it is nowhere in clear");
    assert!(!String::from_utf8_lossy(&all).contains(&text[15..]));
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).expect("lists").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

#[test]
fn nothing_opens_where_the_row_contradicts_the_review() {
    use collie_client::opening::{Directory, Tenancy, open_connection};
    let (key, device_key) = (usk(7), DeviceKey::from_seed(&Secret::new([1; 32])));
    let device = DeviceId::parse("dev_1").expect("an id");
    let (row, credential) = sealed(&key, &device, &device_key);
    let read = |json: &Json| cjson::from_slice::<ConnectionRow>(&json.canonical(), usize::MAX).expect("a row");
    let good = read(&row);
    let directory = Directory::new(vec![(device.clone(), device_key.public_key())]);
    let (deployment, workspace) =
        (DeploymentId::parse(DEPLOYMENT).expect("an id"), WorkspaceId::parse(WORKSPACE).expect("an id"));
    let tenancy = Tenancy { deployment: &deployment, workspace: &workspace };
    let opens = |row: &ConnectionRow, directory: &Directory| {
        open_connection(&key, tenancy, row, &credential, directory).map(|_| ())
    };
    opens(&good, &directory).expect("the true row opens");

    type Change = fn(&mut ConnectionRow);
    let changes: [(&str, Change); 7] = [
        ("id", |row| row.id = ConnectionId::parse("conn_2").expect("an id")),
        ("endpoint", |row| row.endpoint = "https://evil.example/".to_owned()),
        ("profile", |row| row.transport = Profile::CloudProxy),
        ("scope", |row| row.scope = Scope::Project),
        ("project", |row| row.project_id = "proj_1".to_owned()),
        ("manifest", |row| row.raw_digest = Digest::of(&[b"other"]).b64u()),
        ("number", |row| row.review_seq = 2),
    ];
    for (what, change) in changes {
        let mut row = good.clone();
        change(&mut row);
        assert_eq!(opens(&row, &directory).expect_err(what).code, contract::Code::SignatureInvalid, "{what}");
    }
    let mut unreviewed = good.clone();
    unreviewed.review = None;
    assert_eq!(opens(&unreviewed, &directory).expect_err("no review").code, contract::Code::ReviewRequired);
    let stranger = Directory::new(vec![(device, DeviceKey::from_seed(&Secret::new([2; 32])).public_key())]);
    assert!(opens(&good, &stranger).is_err(), "signed by nobody of this account");
    let renamed = Directory::new(vec![(DeviceId::parse("dev_2").expect("an id"), device_key.public_key())]);
    assert!(opens(&good, &renamed).is_err(), "signed by another device than it names");
    let other = Tenancy { workspace: &WorkspaceId::parse("ws_2").expect("an id"), ..tenancy };
    assert!(open_connection(&key, other, &good, &credential, &directory).is_err(), "another workspace");
    let error = open_connection(&usk(8), tenancy, &good, &credential, &directory).err().expect("another key");
    assert_eq!(error.code, contract::Code::WrongKey);
}
