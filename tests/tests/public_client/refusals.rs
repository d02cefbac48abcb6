//! The driver's must-fail controls: an honest service passes, and each single lie is refused by its name. A driver that accepts everything proves nothing.

use collie_tests::public_client::{
    BODY_BYTES_MAX, PublicClient, Py, Refusal, Shared, SyncReport,
    fake::{Fake, Lie, Reply},
};

fn shared() -> Shared<'static> {
    let tool = |name: &str, effect: &str| {
        Py::dict([
            ("name", Py::from(name)),
            ("effect", Py::from(effect)),
            ("action", Py::from("external_change")),
            ("description", Py::from("Lister le courrier é")),
            ("input_schema", Py::dict([("limit", Py::Float(1e16))])),
            ("annotations", Py::dict([])),
        ])
    };
    Shared {
        name: "Mail",
        endpoint: "https://mcp.example.test/mcp",
        manifest: vec![tool("send_mail", "commit"), tool("list_mail", "observe")],
        project_id: None,
        credential: Py::dict([("access_token", Py::from("direct-secret")), ("token_type", Py::from("Bearer"))]),
    }
}

/// Everything the client does, from login to a second sync.
async fn whole_story(base_url: &str) -> Result<SyncReport, Refusal> {
    let mut client = PublicClient::new(base_url);
    let pairing = client.start_login("Laptop").await?;
    client.poll_login(&pairing).await?;
    client.set_cursor(7);
    client.sync_once(100).await?;
    client.devices().await?;
    client.workspaces().await?;
    client.share_mcp(&shared()).await?;
    let report = client.sync_once(100).await?;
    let usable = client.usable();
    if usable.len() != 1 || usable[0].1 != shared().credential {
        return Err(Refusal::CannotOpen);
    }
    client.select_workspace("w1").await?;
    client.refresh().await?;
    Ok(report)
}

#[tokio::test]
async fn an_honest_service_passes_and_is_asked_in_the_right_order() {
    let fake = Fake::start(|_, _| {}).await;
    let report = whole_story(&fake.base_url).await.expect("nothing to refuse");
    assert_eq!((report.cursor, report.projects, report.connections, report.connection_credentials), (7, 1, 1, 1));
    let seen = fake.seen();
    let second = seen.iter().rposition(|call| call.starts_with("GET /v1/sync/pull")).expect("synced twice");
    assert_eq!(
        seen[second..second + 7],
        [
            "GET /v1/sync/pull?cursor=7&limit=100",
            "GET /v1/projects",
            "GET /v1/connections",
            "GET /v1/connections/conn-1/credential",
            "GET /v1/nodes",
            "GET /v1/missions",
            "GET /v1/schedules",
        ]
    );
}

async fn check(name: &str, lie: Lie, expected: &Refusal) {
    let fake = Fake::start(lie).await;
    let outcome = whole_story(&fake.base_url).await;
    assert_eq!(outcome.as_ref().err(), Some(expected), "{name}: {outcome:?}");
}

macro_rules! lies {
    ($($name:ident: $on:literal => |$reply:ident| $change:expr, $refusal:expr;)+) => {$(
        #[tokio::test]
        async fn $name() {
            fn lie(call: &str, $reply: &mut Reply) {
                if call.starts_with($on) {
                    $change;
                }
            }
            check(stringify!($name), lie, &$refusal).await;
        }
    )+};
}

fn service(status: u16, error: &str) -> Refusal {
    Refusal::Service { status, error: error.to_owned() }
}

lies! {
    start_with_200: "POST /v1/devices/start" => |reply| reply.status = 200, service(200, "Collie Online HTTP 200");
    start_without_device_code: "POST /v1/devices/start" => |reply| reply.edit(&["device_code"], None), Refusal::MissingKey("device_code");
    start_without_user_code: "POST /v1/devices/start" => |reply| reply.edit(&["user_code"], None), Refusal::MissingKey("user_code");
    start_without_uri: "POST /v1/devices/start" => |reply| reply.edit(&["verification_uri"], None), Refusal::MissingKey("verification_uri");
    token_too_many: "POST /v1/devices/token" => |reply| reply.status = 429, service(429, "Collie Online HTTP 429");
    token_pending_in_other_words: "POST /v1/devices/token" => |reply| { reply.status = 428; reply.edit(&["error"], Some(Py::from("slow_down"))) }, service(428, "slow_down");
    token_empty_access: "POST /v1/devices/token" => |reply| reply.edit(&["access_token"], Some(Py::from(""))), Refusal::Empty("access_token");
    token_without_refresh: "POST /v1/devices/token" => |reply| reply.edit(&["refresh_token"], None), Refusal::MissingKey("refresh_token");
    token_with_a_path_as_device: "POST /v1/devices/token" => |reply| reply.edit(&["device_id"], Some(Py::from("../dev"))), Refusal::BadId("device_id");
    token_null_name: "POST /v1/devices/token" => |reply| reply.edit(&["device_name"], Some(Py::None)), Refusal::NotAString("device_name");
    body_is_a_list: "GET /v1/projects" => |reply| reply.body = b"[]".to_vec(), Refusal::NotAnObject;
    body_is_a_string: "GET /v1/nodes" => |reply| reply.body = b"\"ok\"".to_vec(), Refusal::NotAnObject;
    body_is_no_json: "GET /v1/missions" => |reply| reply.body = b"<html>".to_vec(), Refusal::Unavailable("not JSON");
    body_too_large: "GET /v1/schedules" => |reply| { let pad = "x".repeat(BODY_BYTES_MAX); reply.edit(&["pad"], Some(Py::from(pad))) }, Refusal::TooLarge;
    redirect_of_a_get: "GET /v1/connections" => |reply| { reply.status = 302; reply.headers.push(("Location", "http://127.0.0.1:1/".to_owned())) }, Refusal::Redirect;
    redirect_of_a_post: "POST /v1/connections" => |reply| { reply.status = 307; reply.headers.push(("Location", "http://127.0.0.1:1/".to_owned())) }, Refusal::Redirect;
    compressed: "GET /v1/projects" => |reply| reply.headers.push(("Content-Encoding", "gzip".to_owned())), Refusal::Compressed;
    unauthorized: "GET /v1/projects" => |reply| { reply.status = 401; reply.edit(&["error"], Some(Py::from("device clock differs by 400 s"))) }, Refusal::AuthenticationRequired("device clock differs by 400 s".to_owned());
    error_that_is_no_string: "GET /v1/projects" => |reply| { reply.status = 500; reply.edit(&["error"], Some(Py::dict([]))) }, service(500, "Collie Online HTTP 500");
    cursor_lower: "GET /v1/sync/pull" => |reply| reply.edit(&["cursor"], Some(Py::from(6))), Refusal::CursorLower;
    pull_without_events: "GET /v1/sync/pull" => |reply| reply.edit(&["events"], None), Refusal::MissingKey("events");
    unknown_data_class: "GET /v1/sync/pull" => |reply| reply.edit(&["events"], Some(event("cloud", Py::dict([])))), Refusal::UnknownDataClass("cloud".to_owned());
    sealed_by_somebody_else: "GET /v1/sync/pull" => |reply| reply.edit(&["events"], Some(event("sealed", Py::dict([])))), Refusal::CannotOpen;
    projects_missing: "GET /v1/projects" => |reply| reply.edit(&["projects"], None), Refusal::MissingKey("projects");
    projects_is_no_list: "GET /v1/projects" => |reply| reply.edit(&["projects"], Some(Py::dict([]))), Refusal::NotAList("projects");
    project_with_null_role: "GET /v1/projects" => |reply| reply.edit(&["projects", "0", "role"], Some(Py::None)), Refusal::NotAString("role");
    node_with_null_name: "GET /v1/nodes" => |reply| reply.edit(&["nodes"], Some(Py::List(vec![Py::dict([("id", Py::from("n")), ("name", Py::None)])]))), Refusal::NotAString("name");
    mission_without_goal: "GET /v1/missions" => |reply| reply.edit(&["missions"], Some(Py::List(vec![Py::dict([("id", Py::from("m")), ("state", Py::from("queued"))])]))), Refusal::MissingKey("goal");
    device_with_null_name: "GET /v1/devices" => |reply| reply.edit(&["devices", "0", "name"], Some(Py::None)), Refusal::NotAString("name");
    device_without_last_seen: "GET /v1/devices" => |reply| reply.edit(&["devices", "0", "last_seen_at"], None), Refusal::MissingKey("last_seen_at");
    workspace_with_null_kind: "GET /v1/workspaces" => |reply| reply.edit(&["workspaces", "0", "kind"], Some(Py::None)), Refusal::NotAString("kind");
    select_without_expiry: "POST /v1/workspaces/select" => |reply| reply.edit(&["access_expires_at"], None), Refusal::MissingKey("access_expires_at");
    refresh_without_refresh: "POST /v1/auth/refresh" => |reply| reply.edit(&["refresh_token"], None), Refusal::MissingKey("refresh_token");
    create_without_connection: "POST /v1/connections" => |reply| reply.edit(&["connection"], None), Refusal::MissingKey("connection");
    other_endpoint: "POST /v1/connections" => |reply| reply.edit(&["connection", "endpoint"], Some(Py::from("https://mcp.example.test/mcp/"))), Refusal::Differs("endpoint");
    other_transport: "POST /v1/connections" => |reply| reply.edit(&["connection", "transport"], Some(Py::from("cloud_proxy"))), Refusal::Differs("transport");
    other_manifest: "POST /v1/connections" => |reply| reply.edit(&["connection", "manifest", "0", "effect"], Some(Py::from("commit"))), Refusal::Differs("manifest");
    respelled_number: "POST /v1/connections" => |reply| reply.edit(&["connection", "manifest", "0", "input_schema", "limit"], Some(Py::from(10_000_000_000_000_000))), Refusal::Differs("manifest");
    other_digest: "POST /v1/connections" => |reply| reply.edit(&["connection", "manifest_digest"], Some(Py::from("x"))), Refusal::Differs("manifest_digest");
    null_project: "POST /v1/connections" => |reply| reply.edit(&["connection", "project_id"], Some(Py::None)), Refusal::NotAString("project_id");
    review_of_something_else: "POST /v1/connections/conn-1/review" => |reply| reply.edit(&["connection", "reviewed_digest"], Some(Py::from(""))), Refusal::Differs("reviewed_digest");
    review_without_effect: "POST /v1/connections/conn-1/review" => |reply| reply.edit(&["connection", "status"], Some(Py::from("review_required"))), Refusal::NotUsable("status");
    credential_without_time: "GET /v1/connections/conn-1/credential" => |reply| reply.edit(&["updated_at"], None), Refusal::UpdatedAtZero;
    credential_at_zero: "GET /v1/connections/conn-1/credential" => |reply| reply.edit(&["updated_at"], Some(Py::from(0))), Refusal::UpdatedAtZero;
    credential_gone_back: "GET /v1/connections/conn-1/credential" => |reply| reply.edit(&["updated_at"], Some(Py::from(1_789_999_999))), Refusal::UpdatedAtLower;
    credential_missing: "GET /v1/connections/conn-1/credential" => |reply| reply.edit(&["sealed_credential"], None), Refusal::MissingKey("sealed_credential");
    credential_of_another_format: "GET /v1/connections/conn-1/credential" => |reply| reply.edit(&["sealed_credential", "v"], Some(Py::from(2))), Refusal::CannotOpen;
    renamed_after_sealing: "GET /v1/connections" => |reply| reply.edit(&["connections", "0", "name"], Some(Py::from("Post"))), Refusal::CannotOpen;
}

fn event(class: &str, content: Py) -> Py {
    Py::List(vec![Py::dict([
        ("object_id", Py::from("memory:dev-1:1")),
        ("object_type", Py::from("memory")),
        ("project_id", Py::from("proj-1")),
        ("data_class", Py::from(class)),
        ("content", content),
        ("version", Py::from(1)),
        ("updated_at", Py::from(1)),
        ("tombstone", Py::Bool(false)),
    ])])
}

#[tokio::test]
async fn a_credential_that_is_not_there_does_not_end_the_sync() {
    let fake = Fake::start(|call, reply| {
        if call == "GET /v1/connections/conn-1/credential" {
            reply.status = 404;
            reply.edit(&["error"], Some(Py::from("no such credential")));
        }
    })
    .await;
    let mut client = PublicClient::new(&fake.base_url);
    client.adopt("u1", "w1", "dev-1");
    client.share_mcp(&shared()).await.expect("shared");
    let report = client.sync_once(100).await.expect("a 404 is swallowed");
    assert_eq!((report.connections, report.connection_credentials), (1, 0));
    assert_eq!(fake.seen().last().map(String::as_str), Some("GET /v1/schedules"), "the sync went on to its end");
}
