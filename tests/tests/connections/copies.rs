//! A service that lies, and no service at all: what a device takes from rows, and what it can do alone.

use super::scene::{Laptop, Scene, expect_refused, send};
use client::db::Db;
use client::db::copy::StoredCredential;
use client::review::{Draft, Subject};
use contract::connection::{ConnectionRow, SealFormat, SignedWire};
use contract::ids::{ConnectionId, DeviceId};
use contract::manifest::RawManifest;
use contract::problem::Exit;
use contract::review::ReviewRecord;
use contract::{Code, Effect, Json, b64u, cjson};
use sign::{DeviceKey, Secret, Signed};

async fn held(db: &mut Db, id: &str) -> (ConnectionRow, StoredCredential) {
    let id: ConnectionId = id.parse().expect("an id");
    let row = db.find_connection(&id).await.expect("reads").expect("the row");
    let credential = db.find_credential(&id).await.expect("reads").expect("the credential");
    (row, credential)
}

fn record(row: &ConnectionRow) -> ReviewRecord {
    let payload = b64u::decode(&row.review.as_ref().expect("a review").payload).expect("base64");
    cjson::from_slice(&payload, payload.len()).expect("a record")
}

#[tokio::test]
async fn reading_listing_and_calling_need_no_service() {
    let scene = Scene::start().await;
    let laptop = scene.laptop("first").await;
    let id = laptop.shared(&scene.lab).await;
    let Scene { world, lab, .. } = scene;
    let stopped = world.stop().await;
    laptop.run(&["status"]).await.expect("status");
    for command in [&["connections"][..], &["connection-show", &id]] {
        let outcome = laptop.run(command).await.expect("answers offline");
        assert!(outcome.warnings.iter().any(|warning| warning.contains("does not answer")), "{:?}", outcome.warnings);
    }
    laptop.invoke(&id, "list_notes", &[]).await.expect("reads");
    laptop.invoke(&id, "send_note", &send(&["--yes"])).await.expect("sends");
    assert_eq!(lab.counts().applied("send_note"), 1);
    laptop.run(&["connection-test", &id]).await.expect("works without the service");
    // A changed manifest blocks all the same, and stays blocked here although nobody could be told.
    lab.switch(|switches| {
        switches.changes.insert(collie_lab::ManifestChange::Description);
    });
    let error =
        expect_refused(laptop.invoke(&id, "send_note", &send(&["--yes"])).await, Code::ManifestChanged, Exit::Refused);
    assert_eq!(error.details.find("reported"), Some(&Json::Bool(false)));
    expect_refused(laptop.invoke(&id, "list_notes", &[]).await, Code::ReviewRequired, Exit::Refused);
    assert_eq!(lab.counts().applied("send_note"), 1);
    drop(stopped);
}

/// What a lying service can put in front of a device: each lie is stored as if it had been served, with the service away.
#[tokio::test]
async fn a_row_never_grants() {
    let scene = Scene::start().await;
    let laptop = scene.laptop("first").await;
    let id = laptop.shared(&scene.lab).await;
    let mut db = laptop.db().await;
    let (good, credential) = held(&mut db, &id).await;
    let workspace = laptop.app().service().expect("connected").profile.workspace_id;
    let other = super::scene::lab(collie_lab::Switches::default()).await;
    let Scene { world, lab, .. } = scene;
    let stopped = world.stop().await;
    type Lie = Box<dyn Fn(&mut ConnectionRow)>;
    let forged = forge(&laptop, &mut db, &good).await;
    let lies: [(&str, Lie, Code); 8] = [
        (
            "another endpoint",
            Box::new({
                let url = other.mcp_url();
                move |row| row.endpoint = url.clone()
            }),
            Code::SignatureInvalid,
        ),
        (
            "another raw digest",
            Box::new(|row| row.raw_digest = contract::Digest::of(&[b"x"]).b64u()),
            Code::SignatureInvalid,
        ),
        ("another review number", Box::new(|row| row.review_seq = 7), Code::SignatureInvalid),
        ("another scope", Box::new(|row| row.project_id = "proj_x".to_owned()), Code::SignatureInvalid),
        ("no review", Box::new(|row| row.review = None), Code::ReviewRequired),
        (
            "a broken signature",
            Box::new(|row| break_signature(row.review.as_mut().expect("a review"))),
            Code::SignatureInvalid,
        ),
        (
            "a lowered review by a device of its own",
            Box::new({
                let forged = forged.clone();
                move |row| row.review = Some(forged.clone())
            }),
            Code::SignatureInvalid,
        ),
        ("the other format", Box::new(|row| row.seal_format = SealFormat::V1), Code::KeyRequired),
    ];
    for (what, lie, code) in lies {
        let mut row = good.clone();
        lie(&mut row);
        db.store_connection(&workspace, &row, 1).await.expect("stores");
        let error = laptop.invoke(&id, "send_note", &send(&["--yes"])).await.expect_err(what);
        assert_eq!(error.code, code, "{what}: {error:?}");
    }
    // Effects and tools in the row are for the public client; a device reads neither.
    let mut row = good.clone();
    for tool in &mut row.manifest {
        if let Json::Object(members) = tool {
            members.insert("effect".to_owned(), "observe".into());
        }
    }
    row.policy.allowed_effects = Effect::ALL.to_vec();
    db.store_connection(&workspace, &row, 1).await.expect("stores");
    expect_refused(laptop.invoke(&id, "send_note", &send(&[])).await, Code::AuthorityAsk, Exit::NeedsYou);
    expect_refused(laptop.invoke(&id, "delete_everything", &["--yes"]).await, Code::StepUpRequired, Exit::NeedsYou);
    assert_eq!((lab.counts().calls("send_note"), other.counts().requests("tools/call")), (0, 0));
    assert!(other.seen().requests.is_empty(), "the token went nowhere else");
    // The control: the honest row works.
    db.store_connection(&workspace, &good, 1).await.expect("stores");
    db.store_credential(&good.id, &credential, 1).await.expect("stores");
    laptop.invoke(&id, "send_note", &send(&["--yes"])).await.expect("sends");
    drop(stopped);
}

fn break_signature(wire: &mut SignedWire) {
    wire.sig = b64u::encode([7; 64]);
}

/// A review in which everything is observe, signed by a device that the service invented and listed.
async fn forge(laptop: &Laptop, db: &mut Db, good: &ConnectionRow) -> SignedWire {
    let key = DeviceKey::from_seed(&Secret::new([9; 32]));
    let invented = contract::device::DeviceRow {
        id: DeviceId::from_random([9; 16]),
        name: "invented".to_owned(),
        last_seen_at: 1,
        revoked_at: None,
        public_key: key.public_key().b64u(),
        fingerprint: String::new(),
        session_class: laptop.app().service().expect("connected").profile.session_class,
        created_at: 1,
    };
    db.store_directory(&[invented], 1).await.expect("stores");
    let mut lowered = record(good);
    for tool in &mut lowered.tools {
        tool.effect = Effect::Observe;
    }
    Signed::sign(&key, &lowered).expect("signs").to_wire()
}

#[tokio::test]
async fn an_older_review_is_not_taken_again() {
    let scene = Scene::start().await;
    let laptop = scene.laptop("first").await;
    let id = laptop.shared(&scene.lab).await;
    laptop.invoke(&id, "list_notes", &[]).await.expect("reads");
    let mut db = laptop.db().await;
    let (old_row, old_credential) = held(&mut db, &id).await;
    laptop.review(&id, &["--effect", "list_notes=commit", "--yes"], None).await.expect("reviewed");
    expect_refused(laptop.invoke(&id, "list_notes", &[]).await, Code::AuthorityAsk, Exit::NeedsYou);

    // Served by the service: both halves of the older, milder state.
    let profile = laptop.app().service().expect("connected").profile;
    let stopped = scene.world.stop().await;
    db.store_connection(&profile.workspace_id, &old_row, 1).await.expect("stores");
    db.store_credential(&old_row.id, &old_credential, 1).await.expect("stores");
    let error = expect_refused(laptop.invoke(&id, "list_notes", &[]).await, Code::SignatureInvalid, Exit::Integrity);
    assert!(error.message.contains("version 1") || error.message.contains("older"), "{error:?}");
    assert_eq!(scene.lab.counts().calls("list_notes"), 1);
    drop(stopped);
}

#[tokio::test]
async fn a_service_that_counts_back_is_refused_and_the_copy_stays() {
    use sqlx::Connection as _;
    let scene = Scene::start().await;
    let laptop = scene.laptop("first").await;
    let id = laptop.shared(&scene.lab).await;
    laptop.review(&id, &["--effect", "send_note=act", "--yes"], None).await.expect("reviewed");
    let path = format!("sqlite://{}", scene.world.state_dir().join("collie.db").display());
    let mut database = sqlx::SqliteConnection::connect(&path).await.expect("opens");
    sqlx::query("UPDATE connection SET review_seq = 1").execute(&mut database).await.expect("turns back");
    let error = expect_refused(laptop.invoke(&id, "list_notes", &[]).await, Code::SignatureInvalid, Exit::Integrity);
    assert!(error.message.contains("has seen review 2"), "{error:?}");
    assert_eq!(held(&mut laptop.db().await, &id).await.0.review_seq, 2);
}

#[test]
fn a_record_belongs_to_its_subject() {
    let tool = cjson::parse(br#"{"name":"a"}"#, 100).expect("JSON");
    let mut draft = Draft::propose(
        RawManifest::from_tools("", vec![tool]).expect("a manifest"),
        contract::review::Era::Stateless,
        None,
    );
    draft.raise_undecided();
    let subject = Subject {
        connection: ConnectionId::from_random([1; 16]),
        project: None,
        endpoint: "https://x.test/".to_owned(),
        review_seq: 3,
    };
    let record = draft.record(&subject).expect("a record");
    assert_eq!((record.review_seq, record.connection, record.endpoint), (3, subject.connection, subject.endpoint));
}
