//! Sharing: what is decided, what is stored, and what the same command does again.

use super::scene::{DECISIONS, Scene, TOKEN, expect_refused, lab, send};
use collie_lab::Switches;
use contract::problem::Exit;
use contract::{Code, Json};

#[tokio::test]
async fn two_devices_call_one_connection_and_the_service_holds_ciphertext() {
    let scene = Scene::start().await;
    let first = scene.laptop("first").await;
    let id = first.shared(&scene.lab).await;
    let second = scene.second(&first).await;
    for laptop in [&first, &second] {
        let read = laptop.invoke(&id, "list_notes", &[]).await.expect("reads");
        assert!(read.data.pointer("/result/structuredContent/notes").is_some(), "{:?}", read.data);
        laptop.invoke(&id, "send_note", &send(&["--yes"])).await.expect("sends");
    }
    assert_eq!(scene.lab.counts().applied("send_note"), 2);
    for (table, column) in
        [("connection_credential", "sealed"), ("connection", "raw_manifest"), ("connection", "review")]
    {
        for text in scene.world.database.texts(table, column).await {
            assert!(!text.contains(TOKEN) && !text.contains("s3cr3t"), "{table}.{column}");
        }
    }
    let listed = second.run(&["connections"]).await.expect("lists");
    let text = listed.lines.join("\n");
    assert!(text.contains(&id) && text.contains("notes"), "{text}");
    let shown = second.run(&["connection-show", &id]).await.expect("shows");
    assert_eq!(shown.data.find_str("vouched_for_by"), Some("key"));
    assert!(shown.lines.iter().any(|line| line.contains("attributed by the service")), "{:?}", shown.lines);
}

#[tokio::test]
async fn yes_alone_accepts_nothing_below_commit() {
    let scene = Scene::start().await;
    let laptop = scene.laptop("first").await;
    let outcome = laptop.share("notes", &scene.lab.mcp_url(), &["--yes"]).await.expect("shared");
    let tools = outcome.data.pointer("/review/tools").and_then(Json::as_array).expect("tools");
    let effect = |name: &str| {
        let tool = tools.iter().find(|tool| tool.find_str("name") == Some(name)).expect("the tool");
        tool.find_str("effect").expect("an effect").to_owned()
    };
    assert_eq!(
        (effect("list_notes").as_str(), effect("send_note").as_str(), effect("delete_everything").as_str()),
        ("commit", "commit", "restricted")
    );
    let id = outcome.data.pointer("/connection/id").and_then(Json::as_str).expect("an id").to_owned();
    expect_refused(laptop.invoke(&id, "list_notes", &[]).await, Code::AuthorityAsk, Exit::NeedsYou);
}

#[tokio::test]
async fn the_same_command_again_changes_nothing() {
    let scene = Scene::start().await;
    let laptop = scene.laptop("first").await;
    let id = laptop.shared(&scene.lab).await;
    let before = scene.world.database.rows().await;
    let again = laptop.share("notes", &scene.lab.mcp_url(), DECISIONS).await.expect("says so");
    assert_eq!(again.data.find("changed"), Some(&Json::Bool(false)));
    assert_eq!(again.data.pointer("/connection/id").and_then(Json::as_str), Some(id.as_str()));
    assert!(again.lines.join("\n").contains("nothing changed"));
    let rows = |rows: std::collections::BTreeMap<String, i64>| {
        rows.into_iter().filter(|(table, _)| table.starts_with("connection")).collect::<Vec<_>>()
    };
    assert_eq!(rows(before), rows(scene.world.database.rows().await));
    let other = laptop.share("notes", &scene.lab.mcp_url(), &["--effect", "send_note=observe", "--yes"]).await;
    let error = expect_refused(other, Code::IllegalTransition, Exit::Conflict);
    assert!(error.hint.expect("a hint").contains("connection-review"));
}

#[tokio::test]
async fn a_run_that_ended_in_between_goes_on_with_the_secret_asked_again() {
    let scene = Scene::start().await;
    let laptop = scene.laptop("first").await;
    // A person who says no after the table, and a run that dies after create, leave the same: nothing, or a row to go on with.
    let refused = laptop.share("notes", &scene.lab.mcp_url(), &[]).await;
    assert_eq!(refused.expect_err("nobody can be asked").code, Code::ApprovalPending);
    assert!(
        laptop.run(&["connections"]).await.expect("lists").data.pointer("/connections/0").is_none(),
        "nothing was made"
    );

    let app = laptop.app();
    let service = app.service().expect("connected");
    let api = service.api().expect("a way");
    let half = Json::from_members([
        ("name", "notes".into()),
        ("endpoint", scene.lab.mcp_url().into()),
        ("manifest", Json::Array(Vec::new())),
        ("scope", "personal".into()),
        ("project_id", "".into()),
        ("transport", "device_direct".into()),
        ("seal_format", "v2".into()),
    ]);
    let made: Json = api.post("/v1/connections", &half).await.expect("made");
    let id = made.pointer("/connection/id").and_then(Json::as_str).expect("an id").to_owned();
    expect_refused(laptop.invoke(&id, "list_notes", &[]).await, Code::ReviewRequired, Exit::Refused);
    let hint = laptop.review(&id, &["--yes"], None).await.expect_err("was never sealed").hint.expect("a hint");
    assert!(hint.contains("share-mcp"), "{hint}");
    assert_eq!(laptop.shared(&scene.lab).await, id, "the same connection is gone on with");
    laptop.invoke(&id, "list_notes", &[]).await.expect("works");
}

#[tokio::test]
async fn what_cannot_be_shared_says_why_and_leaves_nothing() {
    let scene = Scene::start().await;
    let laptop = scene.laptop("first").await;
    let url = scene.lab.mcp_url();
    let cases: [(Result<_, _>, Code); 6] = [
        (laptop.share("notes", &url, &["--transport", "cloud_proxy", "--yes"]).await, Code::Unsupported),
        (laptop.share("notes", &url, &["--effect", "no_such=observe", "--yes"]).await, Code::Usage),
        (laptop.share("notes", &url, &["--scope", "project", "--yes"]).await, Code::Usage),
        (laptop.share("notes", "ftp://x.example", &["--yes"]).await, Code::Usage),
        (laptop.share("notes", "https://10.0.0.1/mcp", &["--yes"]).await, Code::EgressDenied),
        (laptop.share_with("notes", &url, &["--yes"], "wrong-token").await, Code::CredentialRefused),
    ];
    for (number, (result, code)) in cases.into_iter().enumerate() {
        let error = result.expect_err("refused");
        assert_eq!(error.code, code, "{number}: {error:?}");
        assert!(!format!("{error:?}").contains("wrong-token"));
    }
    let duplicates = lab(Switches { duplicates: collie_lab::Duplicates::Same, ..Switches::default() }).await;
    expect_refused(
        laptop.share("twice", &duplicates.mcp_url(), &["--yes"]).await,
        Code::ManifestInvalid,
        Exit::Refused,
    );
    assert!(laptop.run(&["connections"]).await.expect("lists").data.pointer("/connections/0").is_none());
}

#[tokio::test]
async fn revoking_ends_it_and_says_what_to_change_at_the_provider() {
    let scene = Scene::start().await;
    let laptop = scene.laptop("first").await;
    let id = laptop.shared(&scene.lab).await;
    let asked = laptop.run(&["connection-revoke", &id]).await;
    assert_eq!(asked.expect_err("nobody can be asked").code, Code::ApprovalPending);
    let revoked = laptop.run(&["connection-revoke", &id, "--yes"]).await.expect("revoked");
    assert!(revoked.lines.join("\n").contains("token at the provider"), "{:?}", revoked.lines);
    let again = laptop.run(&["connection-revoke", &id, "--yes"]).await.expect("says so");
    assert_eq!(again.data.find("changed"), Some(&Json::Bool(false)));
    expect_refused(laptop.invoke(&id, "list_notes", &[]).await, Code::NotFound, Exit::NotFound);
    let file = std::fs::read(laptop.folder().database()).expect("reads");
    assert!(
        !file.windows(id.len()).any(|window| window == id.as_bytes())
            || laptop.db().await.find_connection(&id.parse().expect("an id")).await.expect("looks").is_none()
    );
}

#[tokio::test]
async fn a_project_and_a_server_without_a_credential() {
    let scene = Scene::start().await;
    let laptop = scene.laptop("first").await;
    let open = collie_lab::Lab::start(collie_lab::LabConfig::default()).await.expect("a lab");
    let app = laptop.app();
    let api = app.service().expect("connected").api().expect("a way");
    let made: Json = api.post("/v1/projects", &Json::from_members([("name", "Garden".into())])).await.expect("made");
    let project = made.pointer("/project/id").and_then(Json::as_str).expect("an id").to_owned();
    let url = open.mcp_url();
    let flags = ["--scope", "project", "--project-id", &project, "--effect", "list_notes=observe", "--yes"];
    let line = [&["share-mcp", "garden", "--url", url.as_str()], &flags[..]].concat();
    let shared = laptop.run(&line).await.expect("shared");
    let id = shared.data.pointer("/connection/id").and_then(Json::as_str).expect("an id").to_owned();
    assert_eq!(shared.data.pointer("/connection/project_id").and_then(Json::as_str), Some(project.as_str()));
    laptop.invoke(&id, "list_notes", &[]).await.expect("reads");
    let again = laptop.run(&line).await.expect("says so");
    assert_eq!(again.data.find("changed"), Some(&Json::Bool(false)));
    let revoked = laptop.run(&["connection-revoke", &id, "--yes"]).await.expect("revoked");
    assert!(revoked.lines.join("\n").contains("It had no credential"), "{:?}", revoked.lines);
    let closed = laptop.run(&["share-mcp", "closed", "--url", &scene.lab.mcp_url(), "--yes"]).await;
    let hint = expect_refused(closed, Code::CredentialRefused, Exit::Refused).hint.expect("a hint");
    assert!(hint.contains("--bearer-stdin"), "{hint}");
}
