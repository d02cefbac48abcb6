//! Rug pulls: every change of a manifest blocks, no other spelling of it does, and one review lifts the block for all devices.

use super::scene::{DECISIONS, Laptop, Scene, expect_refused, lab, send};
use collie_lab::{Arrangement, Eras, ManifestChange, Switches};
use contract::problem::Exit;
use contract::{Code, Json};
use sqlx::Connection as _;

async fn shared(laptop: &Laptop, name: &str, lab: &collie_lab::Lab) -> String {
    let outcome = laptop.share(name, &lab.mcp_url(), DECISIONS).await.expect("shared");
    outcome.data.pointer("/connection/id").and_then(Json::as_str).expect("an id").to_owned()
}

/// Lets the last reading of the manifest be older than it may be.
async fn age_last_reading(laptop: &Laptop) {
    let path = format!("sqlite://{}", laptop.folder().database().display());
    let mut database = sqlx::SqliteConnection::connect(&path).await.expect("opens");
    sqlx::query("UPDATE live_check SET checked_ms = checked_ms - 300001").execute(&mut database).await.expect("ages");
}

#[tokio::test]
async fn every_change_blocks_and_no_arrangement_does() {
    let scene = Scene::start().await;
    let laptop = scene.laptop("first").await;
    for change in ManifestChange::ALL {
        let lab = lab(Switches::default()).await;
        let id = shared(&laptop, &format!("{change:?}"), &lab).await;
        lab.switch(|switches| {
            switches.changes.insert(change);
        });
        let error = expect_refused(
            laptop.invoke(&id, "send_note", &send(&["--yes"])).await,
            Code::ManifestChanged,
            Exit::Refused,
        );
        assert!(error.hint.expect("a hint").contains(&format!("collie online connection-review {id}")), "{change:?}");
        assert_eq!(lab.counts().calls("send_note"), 0, "{change:?}");
        assert_eq!(error.details.find("reported"), Some(&Json::Bool(true)), "{change:?}");
        // Blocked for what only reads, too, and on the service.
        expect_refused(laptop.invoke(&id, "list_notes", &[]).await, Code::ReviewRequired, Exit::Refused);
    }
    for arrangement in Arrangement::ALL {
        let lab = lab(Switches::default()).await;
        let id = shared(&laptop, &format!("{arrangement:?}"), &lab).await;
        lab.switch(|switches| {
            switches.arrange.insert(arrangement);
        });
        laptop
            .invoke(&id, "send_note", &send(&["--yes"]))
            .await
            .unwrap_or_else(|error| panic!("{arrangement:?}: {error:?}"));
        assert_eq!(lab.counts().applied("send_note"), 1, "{arrangement:?}");
    }
}

#[tokio::test]
async fn what_only_reads_looks_again_after_five_minutes() {
    let scene = Scene::start().await;
    let laptop = scene.laptop("first").await;
    let id = laptop.shared(&scene.lab).await;
    let listings = scene.lab.counts().requests("tools/list");
    laptop.invoke(&id, "list_notes", &[]).await.expect("reads");
    assert_eq!(scene.lab.counts().requests("tools/list"), listings, "the reading of a moment ago is good enough");
    age_last_reading(&laptop).await;
    scene.lab.switch(|switches| {
        switches.changes.insert(ManifestChange::Description);
    });
    expect_refused(laptop.invoke(&id, "list_notes", &[]).await, Code::ManifestChanged, Exit::Refused);
    assert_eq!(scene.lab.counts().calls("list_notes"), 1);
}

#[tokio::test]
async fn another_era_is_another_review() {
    let scene = Scene::start().await;
    let laptop = scene.laptop("first").await;
    let id = laptop.shared(&scene.lab).await;
    scene.lab.switch(|switches| switches.era = Eras::Legacy);
    expect_refused(laptop.invoke(&id, "send_note", &send(&["--yes"])).await, Code::ManifestChanged, Exit::Refused);
    laptop.review(&id, &["--yes"], None).await.expect("reviewed");
    laptop.invoke(&id, "send_note", &send(&["--yes"])).await.expect("sends in the older era");
    assert_eq!(scene.lab.counts().applied("send_note"), 1);
}

#[tokio::test]
async fn one_review_lifts_the_block_on_every_device() {
    let scene = Scene::start().await;
    let first = scene.laptop("first").await;
    let id = first.shared(&scene.lab).await;
    let second = scene.second(&first).await;
    second.invoke(&id, "list_notes", &[]).await.expect("reads");
    scene.lab.switch(|switches| {
        switches.changes.insert(ManifestChange::Description);
    });
    expect_refused(second.invoke(&id, "send_note", &send(&["--yes"])).await, Code::ManifestChanged, Exit::Refused);
    expect_refused(first.invoke(&id, "list_notes", &[]).await, Code::ReviewRequired, Exit::Refused);

    let test = first.run(&["connection-test", &id]).await.expect_err("finds it");
    assert_eq!(test.code, Code::ManifestChanged);
    assert!(test.lines.iter().any(|line| line.contains("manifest") && line.contains("ms")), "{:?}", test.lines);
    let diff = first.review(&id, &["--diff"], None).await.expect("shows");
    assert_eq!(diff.data.pointer("/diff/0/tool").and_then(Json::as_str), Some("list_notes"), "{:?}", diff.data);
    assert_eq!(diff.data.pointer("/diff/0/risk").and_then(Json::as_str), Some("medium"));
    let found = diff.data.find_str("found").expect("a digest").to_owned();
    expect_refused(first.invoke(&id, "list_notes", &[]).await, Code::ReviewRequired, Exit::Refused);
    let reviewed = diff.data.find_str("reviewed").expect("a digest").to_owned();
    expect_refused(
        first.review(&id, &["--digest", &reviewed, "--yes"], None).await,
        Code::DigestMismatch,
        Exit::Conflict,
    );

    // The tool that changed is nobody's decision any more; the others keep theirs.
    first.review(&id, &["--digest", &found, "--yes"], None).await.expect("reviewed");
    expect_refused(second.invoke(&id, "list_notes", &[]).await, Code::AuthorityAsk, Exit::NeedsYou);
    second
        .invoke(&id, "read_note", &["--arg", "name=welcome"])
        .await
        .map(|_| ())
        .or_else(tool_failed)
        .expect("still observe");
    second
        .review(&id, &["--effect", "list_notes=observe", "--yes"], None)
        .await
        .expect("reviewed by the second device");
    for laptop in [&first, &second] {
        laptop.invoke(&id, "list_notes", &[]).await.expect("reads");
        laptop.run(&["connection-test", &id]).await.expect("all good");
    }
    let again = first.review(&id, &["--yes"], None).await.expect("says so");
    assert_eq!(again.data.find("changed"), Some(&Json::Bool(false)));
}

/// A tool that ran and says that it failed was allowed to run.
fn tool_failed(error: client::error::CliError) -> Result<(), client::error::CliError> {
    if error.code == Code::UpstreamRefused { Ok(()) } else { Err(error) }
}

#[tokio::test]
async fn another_credential_is_sealed_by_a_review_and_the_old_one_is_gone() {
    let scene = Scene::start().await;
    let first = scene.laptop("first").await;
    let wrong = first.share_with("notes", &scene.lab.mcp_url(), DECISIONS, "wrong-token").await;
    expect_refused(wrong, Code::CredentialRefused, Exit::Refused);
    let id = first.shared(&scene.lab).await;
    let refused = first.review(&id, &["--yes"], Some("wrong-token")).await;
    expect_refused(refused, Code::CredentialRefused, Exit::Refused);
    first.invoke(&id, "list_notes", &[]).await.expect("the good one stands");
    let replaced = first.review(&id, &["--yes"], Some(super::scene::TOKEN)).await.expect("replaced");
    assert_eq!(replaced.data.pointer("/connection/credential_version").and_then(Json::as_i64), Some(2));
    first.invoke(&id, "list_notes", &[]).await.expect("reads");
}

#[tokio::test]
async fn a_device_that_never_saw_the_review_can_lift_the_block() {
    let scene = Scene::start().await;
    let first = scene.laptop("first").await;
    let id = first.shared(&scene.lab).await;
    scene.lab.switch(|switches| {
        switches.changes.insert(ManifestChange::Description);
    });
    expect_refused(first.invoke(&id, "send_note", &send(&["--yes"])).await, Code::ManifestChanged, Exit::Refused);
    let newcomer = scene.second(&first).await;
    expect_refused(newcomer.invoke(&id, "list_notes", &[]).await, Code::ReviewRequired, Exit::Refused);
    newcomer.review(&id, DECISIONS, None).await.expect("reviewed without the credential being typed again");
    for laptop in [&newcomer, &first] {
        laptop.invoke(&id, "list_notes", &[]).await.expect("reads");
    }
}
