//! Connections of the public client on our devices, and ours on the public client.

use super::scene::{DECISIONS, Laptop, Scene, TOKEN, expect_refused, send};
use collie_lab::ManifestChange;
use collie_tests::public_client::{PublicClient, Py, Shared};
use contract::problem::Exit;
use contract::{Code, Effect, Json, manifest};
use seal::v1::V1Key;
use sign::Secret;
use upstream::{Auth, Upstream};

const SEAL_KEY: [u8; 32] = [0x33; 32];

/// Gives a laptop the public client's key, as `key-import` does.
async fn give_v1_key(laptop: &Laptop) {
    let app = laptop.app();
    let service = app.service().expect("connected");
    service.ready_sealing_key(&service.api().expect("a way")).await.expect("a sealing key");
    let sealed = service.seal_v1_key(&V1Key::new(Secret::new(SEAL_KEY))).expect("seals");
    assert!(service.store_v1_key(&sealed).await.expect("stores"));
}

/// The rows that the public client would upload for the lab, with its own idea of effects.
async fn rows(laptop: &Laptop, scene: &Scene) -> Vec<Py> {
    let destination = laptop.app().egress(Vec::new()).foreign(&scene.lab.mcp_url()).expect("a way");
    let mut upstream = Upstream::new(destination, Auth::Bearer(Secret::new(TOKEN.to_owned())), None).expect("a client");
    let fetched = upstream.fetch_manifest().await.expect("a manifest");
    fetched
        .manifest
        .tools()
        .map(|(name, tool)| {
            let effect =
                if manifest::propose_effect(tool) == Effect::Observe { Effect::Observe } else { Effect::Commit };
            let row = manifest::project_v1(name, tool, effect, manifest::propose_action(name));
            Py::loads(&row.canonical_string()).expect("a row")
        })
        .collect()
}

async fn public(scene: &Scene) -> PublicClient {
    let mut client = PublicClient::with_keys(scene.world.base_url(), &[0x11; 32], SEAL_KEY);
    scene.world.pair_public(&scene.browser, &mut client, "public").await;
    client
}

async fn share_public(client: &mut PublicClient, scene: &Scene, rows: Vec<Py>) -> String {
    let url = scene.lab.mcp_url();
    let credential = Py::dict([("access_token", Py::from(TOKEN)), ("token_type", Py::from("Bearer"))]);
    let shared = Shared { name: "public notes", endpoint: &url, manifest: rows, project_id: None, credential };
    client.share_mcp(&shared).await.expect("shared").id
}

#[tokio::test]
async fn a_connection_of_the_public_client_is_pinned_raw_and_says_whom_it_trusts() {
    let scene = Scene::start().await;
    let laptop = scene.laptop("first").await;
    let mut client = public(&scene).await;
    let id = share_public(&mut client, &scene, rows(&laptop, &scene).await).await;
    let missing = laptop.invoke(&id, "list_notes", &[]).await;
    expect_refused(missing, Code::KeyRequired, Exit::NeedsYou);
    give_v1_key(&laptop).await;
    laptop.invoke(&id, "list_notes", &[]).await.expect("reads");
    expect_refused(laptop.invoke(&id, "send_note", &send(&[])).await, Code::AuthorityAsk, Exit::NeedsYou);
    laptop.invoke(&id, "send_note", &send(&["--yes"])).await.expect("sends");
    let shown = laptop.run(&["connection-show", &id]).await.expect("shows").lines.join("\n");
    assert!(shown.contains("reviewed by the public client") && shown.contains("trusts the service"), "{shown}");
    let listed = laptop.run(&["connections"]).await.expect("lists").lines.join("\n");
    assert!(listed.contains("v1: trusts the service"), "{listed}");

    // Its rows do not show a title; the raw pin does.
    scene.lab.switch(|switches| {
        switches.changes.insert(ManifestChange::Title);
    });
    expect_refused(laptop.invoke(&id, "send_note", &send(&["--yes"])).await, Code::ManifestChanged, Exit::Refused);
    expect_refused(laptop.invoke(&id, "list_notes", &[]).await, Code::ReviewRequired, Exit::Refused);
    assert_eq!(scene.lab.counts().applied("send_note"), 1);
}

#[tokio::test]
async fn rows_that_do_not_fit_the_server_are_never_pinned() {
    let scene = Scene::start().await;
    let laptop = scene.laptop("first").await;
    let mut client = public(&scene).await;
    let mut fewer = rows(&laptop, &scene).await;
    fewer.pop();
    let id = share_public(&mut client, &scene, fewer).await;
    give_v1_key(&laptop).await;
    expect_refused(laptop.invoke(&id, "list_notes", &[]).await, Code::ManifestChanged, Exit::Refused);
    assert_eq!(scene.lab.counts().calls("list_notes"), 0);
}

#[tokio::test]
async fn a_service_that_rewrites_the_rows_of_a_v1_connection_opens_nothing() {
    let scene = Scene::start().await;
    let laptop = scene.laptop("first").await;
    let mut client = public(&scene).await;
    let id = share_public(&mut client, &scene, rows(&laptop, &scene).await).await;
    give_v1_key(&laptop).await;
    laptop.invoke(&id, "list_notes", &[]).await.expect("reads");
    let profile = laptop.app().service().expect("connected").profile;
    let stopped = scene.world.stop().await;
    let mut db = laptop.db().await;
    let good = db.find_connection(&id.parse().expect("an id")).await.expect("reads").expect("the row");
    let mut lowered = good.clone();
    for tool in &mut lowered.manifest {
        if let Json::Object(members) = tool {
            members.insert("effect".to_owned(), "observe".into());
        }
    }
    db.store_connection(&profile.workspace_id, &lowered, 1).await.expect("stores");
    expect_refused(laptop.invoke(&id, "send_note", &send(&[])).await, Code::SignatureInvalid, Exit::Integrity);
    let digest = manifest::digest_v1(&lowered.manifest).b64u();
    (lowered.manifest_digest, lowered.reviewed_digest) = (digest.clone(), digest);
    db.store_connection(&profile.workspace_id, &lowered, 1).await.expect("stores");
    expect_refused(laptop.invoke(&id, "send_note", &send(&[])).await, Code::WrongKey, Exit::Integrity);
    assert_eq!(scene.lab.counts().calls("send_note"), 0);
    drop(stopped);
}

#[tokio::test]
async fn ours_for_the_public_client_opens_there_and_here() {
    let scene = Scene::start().await;
    let laptop = scene.laptop("first").await;
    give_v1_key(&laptop).await;
    let mut client = public(&scene).await;
    let flags = [DECISIONS, &["--for-public-client"]].concat();
    let shared = laptop.share("both", &scene.lab.mcp_url(), &flags).await.expect("shared");
    let id = shared.data.pointer("/connection/id").and_then(Json::as_str).expect("an id").to_owned();
    assert_eq!(shared.data.pointer("/connection/seal_format").and_then(Json::as_str), Some("v1"));
    laptop.invoke(&id, "list_notes", &[]).await.expect("reads here");
    client.sync_once(100).await.expect("syncs");
    let usable = client.usable();
    let (_, credential) = usable.iter().find(|(row, _)| row.id == id).expect("opens there");
    assert_eq!(credential.find_str("access_token"), Some(TOKEN));
    let again = laptop.share("both", &scene.lab.mcp_url(), &flags).await.expect("says so");
    assert_eq!(again.data.find("changed"), Some(&Json::Bool(false)));

    // A change is reviewed here, and the public client opens what is sealed under it.
    scene.lab.switch(|switches| {
        switches.changes.insert(ManifestChange::Description);
    });
    expect_refused(laptop.invoke(&id, "send_note", &send(&["--yes"])).await, Code::ManifestChanged, Exit::Refused);
    let diff = laptop.review(&id, &["--diff"], None).await.expect("shows");
    assert_eq!(diff.data.pointer("/diff/0/tool").and_then(Json::as_str), Some("list_notes"));
    laptop.review(&id, &["--yes"], None).await.expect("reviewed");
    expect_refused(laptop.invoke(&id, "list_notes", &[]).await, Code::AuthorityAsk, Exit::NeedsYou);
    laptop.invoke(&id, "list_notes", &["--yes"]).await.expect("reads here");
    client.sync_once(100).await.expect("syncs");
    assert!(client.usable().iter().any(|(row, _)| row.id == id), "opens there");
}
