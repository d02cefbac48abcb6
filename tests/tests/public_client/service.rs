//! The public client's whole day against the real service, on both engines.

use collie_tests::{
    on_both_engines,
    public_client::{PublicClient, Py, Refusal, Shared, SyncReport, random},
};

fn tool(name: &str, effect: &str, schema: Py) -> Py {
    Py::dict([
        ("name", Py::from(name)),
        ("effect", Py::from(effect)),
        ("action", Py::from("external_change")),
        ("description", Py::from("Lister le courrier é \u{2028} 🐶 \"\\/")),
        ("input_schema", schema),
        ("annotations", Py::dict([("readOnlyHint", Py::Bool(effect == "observe"))])),
    ])
}

/// Numbers whose spelling a careless service would change, and keys whose order it would.
fn shared() -> Shared<'static> {
    let numbers = Py::dict([
        ("a", Py::List(vec![Py::Float(1e16), Py::Float(1e-5), Py::Float(-0.0), Py::Float(1.0)])),
        ("\u{ff5e}", Py::Int("123456789012345678901234567890".to_owned())),
        ("🐶", Py::None),
        ("type", Py::from("object")),
    ]);
    Shared {
        name: "Post „é“ 🐶",
        endpoint: "https://MCP.example.test",
        manifest: vec![tool("send_mail", "commit", Py::dict([])), tool("list_mail", "observe", numbers)],
        project_id: None,
        credential: Py::dict([("access_token", Py::from("direct-secret")), ("token_type", Py::from("Bearer"))]),
    }
}

on_both_engines! {
    async fn the_whole_day(world: World) {
        let browser = world.sign_in_owner().await;
        let seal_key = random::<32>();
        let mut laptop = PublicClient::with_keys(world.base_url(), &random(), seal_key);
        let mut desk = PublicClient::with_keys(world.base_url(), &random(), seal_key);

        let pairing = laptop.start_login("Laptop").await.expect("starts");
        assert_eq!(laptop.poll_login(&pairing).await.err(), Some(Refusal::AuthorizationPending));
        assert!(browser.approve(&pairing.user_code).await.contains("Laptop"), "the page shows the device");
        let profile = laptop.poll_login(&pairing).await.expect("approved");
        let again = laptop.poll_login(&pairing).await.expect("a lost answer is given again");
        assert_eq!((&again.device_id, &again.user_id), (&profile.device_id, &profile.user_id));

        let first = laptop.sync_once(100).await.expect("the first sync passes");
        assert_eq!(first, SyncReport::default(), "a new account is empty");

        let row = laptop.share_mcp(&shared()).await.expect("shared");
        assert_eq!((row.name.as_str(), row.endpoint.as_str()), (shared().name, shared().endpoint), "kept byte for byte");
        assert_eq!(row.allowed_effects, ["observe", "prepare", "act"]);
        world.pair_public(&browser, &mut desk, "Desk").await;
        let report = desk.sync_once(100).await.expect("the second device syncs");
        assert_eq!((report.connections, report.connection_credentials), (1, 1));
        let usable = desk.usable();
        assert_eq!(usable, [(row.clone(), shared().credential)], "opened on the second device with the imported key");

        let devices = desk.devices().await.expect("devices");
        assert_eq!(devices.iter().filter(|(_, name, _, revoked)| ["Laptop", "Desk"].contains(&name.as_str()) && !revoked).count(), 2);
        desk.revoke_connection(&row.id).await.expect("revoked");
        desk.revoke_connection(&row.id).await.expect("twice is once");
        assert_eq!(laptop.sync_once(100).await.expect("syncs").connections, 0, "a revoked connection leaves the list");
        assert!(laptop.usable().is_empty());

        laptop.logout().await.expect("signed out");
        assert!(matches!(laptop.sync_once(100).await, Err(Refusal::AuthenticationRequired(_))));
        let devices = desk.devices().await.expect("devices");
        assert!(devices.iter().any(|(id, _, _, revoked)| *id == profile.device_id && *revoked));
    }

    async fn workspaces_and_projects(world: World) {
        let browser = world.sign_in_owner().await;
        let mut client = PublicClient::new(world.base_url());
        world.pair_public(&browser, &mut client, "Laptop").await;
        let home = client.profile().expect("paired").workspace_id.clone();
        let me = client.profile().expect("paired").user_id.clone();

        let made = client.create_workspace("Team").await.expect("a team");
        let workspaces = client.workspaces().await.expect("a list");
        let kinds: Vec<_> = workspaces.iter().map(|[id, _, kind, role]| (id.as_str(), kind.as_str(), role.as_str())).collect();
        assert_eq!(kinds, [(home.as_str(), "personal", "owner"), (made.as_str(), "team", "owner")]);

        let project = client.create_project("Notes", Some("project-1")).await.expect("a project");
        assert_eq!(project, "project-1");
        assert_eq!(client.create_project("Notes", Some("project-1")).await.as_deref(), Ok("project-1"), "same id, same name: same answer");
        let other = client.create_project("Other", Some("project-1")).await;
        assert!(matches!(other, Err(Refusal::Service { status: 409, .. })), "same id, other name: {other:?}");
        assert_eq!(client.members("projects", "project-1").await.expect("members").len(), 1);

        client.select_workspace(&made).await.expect("selected");
        assert_eq!(client.sync_once(100).await.expect("syncs there").projects, 0, "the project is in the other workspace");
        let guest = world.make_person(7).await;
        let added = client.add_member("workspaces", &made, guest.user_id.as_str(), "member").await;
        assert_eq!(added.as_deref(), Ok("member"));
        let members = client.members("workspaces", &made).await.expect("members");
        assert_eq!(members.iter().map(|[id, role, _]| (id.as_str(), role.as_str())).collect::<Vec<_>>(), [
            (me.as_str(), "owner"),
            (guest.user_id.as_str(), "member"),
        ]);
        let owner = client.add_member("workspaces", &made, guest.user_id.as_str(), "owner").await;
        assert!(matches!(owner, Err(Refusal::Service { status: 400, .. })), "{owner:?}");
        let personal = client.add_member("workspaces", &home, guest.user_id.as_str(), "member").await;
        assert!(matches!(personal, Err(Refusal::Service { status: 409, .. })), "{personal:?}");
        let nobody = client.add_member("workspaces", &made, "usr_nobody", "member").await;
        assert!(matches!(nobody, Err(Refusal::Service { status: 404, .. })), "{nobody:?}");
    }

    async fn pushed_operations_stay_queued_and_the_cursor_stays(world: World) {
        let browser = world.sign_in_owner().await;
        let mut client = PublicClient::new(world.base_url());
        world.pair_public(&browser, &mut client, "Laptop").await;
        for number in 0..3 {
            client.queue(Py::dict([
                ("operation_id", Py::from(format!("{number:032x}"))),
                ("object_id", Py::from(format!("memory:dev-1:{number}"))),
                ("object_type", Py::from("memory")),
                ("project_id", Py::from("project-1")),
                ("data_class", Py::from("cloud_indexed")),
                ("content", Py::dict([("text", Py::from("x".repeat(3_000_000)))])),
                ("base_version", Py::from(0)),
                ("updated_at", Py::from(1_790_000_000)),
                ("tombstone", Py::Bool(false)),
            ]));
        }
        client.set_cursor(41);
        let report = client.sync_once(100).await.expect("a push of 9 MB passes");
        assert_eq!((report.pushed, report.conflicts, report.cursor, client.queued()), (0, 0, 41, 3));
        assert_eq!(client.sync_once(100).await.expect("again").cursor, 41);
    }

    async fn a_used_nonce_seals_nothing_again(world: World) {
        let browser = world.sign_in_owner().await;
        let mut client = PublicClient::new(world.base_url());
        world.pair_public(&browser, &mut client, "Laptop").await;
        let row = client.share_mcp(&shared()).await.expect("shared");
        let nonce = random::<12>();
        let first = client.seal_credential(&row, &shared().credential, 1, nonce);
        let at = client.put_credential(&row.id, first.clone()).await.expect("stored");
        let again = client.put_credential(&row.id, first.clone()).await;
        assert!(matches!(again, Err(Refusal::Service { status: 409, .. })), "{again:?}");
        let other = client.seal_credential(&row, &Py::dict([("access_token", Py::from("other"))]), 2, nonce);
        assert!(matches!(client.put_credential(&row.id, other).await, Err(Refusal::Service { status: 409, .. })));

        let second = client.create_connection(&shared()).await.expect("another connection");
        let second = client.review_connection(&second.id, &shared()).await.expect("reviewed");
        let reused = client.seal_credential(&second, &shared().credential, 3, nonce);
        assert!(matches!(client.put_credential(&second.id, reused).await, Err(Refusal::Service { status: 409, .. })), "on another connection too");
        assert_eq!(client.fetch_credential(&row.id).await, Ok((first, at)), "the newest acknowledged one is served");
    }

    async fn updated_at_never_goes_back(world: World) {
        let browser = world.sign_in_owner().await;
        let mut client = PublicClient::new(world.base_url());
        world.pair_public(&browser, &mut client, "Laptop").await;
        let row = client.share_mcp(&shared()).await.expect("shared");
        let (_, before) = client.fetch_credential(&row.id).await.expect("stored");
        world.clock.advance(-200_000);
        let envelope = client.seal_credential(&row, &shared().credential, 9, random());
        assert_eq!(client.put_credential(&row.id, envelope).await, Ok(before), "the service's clock went back, its answer did not");
        client.sync_once(100).await.expect("a later sync is not ended by it");
    }

    async fn what_the_public_client_may_not_do_is_refused(world: World) {
        let browser = world.sign_in_owner().await;
        let mut client = PublicClient::new(world.base_url());
        world.pair_public(&browser, &mut client, "Laptop").await;
        let refused = |outcome: Result<_, Refusal>, status: u16| {
            assert!(matches!(&outcome, Err(Refusal::Service { status: found, .. }) if *found == status), "{outcome:?}");
        };
        for endpoint in ["http://mcp.example.test/", "https://user@h/", "https://h/#x", "ftp://h/", "https://h/\u{7f}"] {
            refused(client.create_connection(&Shared { endpoint, ..shared() }).await, 400);
        }
        for name in ["", "a\nb", "a\0b"] {
            refused(client.create_connection(&Shared { name, ..shared() }).await, 400);
        }
        let twice = vec![tool("a", "observe", Py::dict([])), tool("a", "commit", Py::dict([]))];
        refused(client.create_connection(&Shared { manifest: twice, ..shared() }).await, 400);
        refused(client.create_connection(&Shared { manifest: vec![tool("a", "everything", Py::dict([]))], ..shared() }).await, 400);
        refused(client.create_connection(&Shared { project_id: Some("nobodys"), ..shared() }).await, 404);

        let created = client.create_connection(&shared()).await.expect("made");
        let early = client.seal_credential(&created, &shared().credential, 1, random());
        refused(client.put_credential(&created.id, early).await.map(|_| created.clone()), 409);
        refused(client.review_connection(&created.id, &Shared { manifest: vec![], ..shared() }).await, 409);
        let listed = client.list_connections().await.expect("listed");
        assert_eq!(listed.iter().map(|row| row.status.as_str()).collect::<Vec<_>>(), ["review_required"]);
        let report = client.sync_once(100).await.expect("an unreviewed row does not end a sync");
        assert_eq!((report.connections, report.connection_credentials), (1, 0));
    }

    async fn the_list_always_fits_what_the_public_client_reads(world: World) {
        let browser = world.sign_in_owner().await;
        let mut client = PublicClient::new(world.base_url());
        world.pair_public(&browser, &mut client, "Laptop").await;
        client.create_project("Notes", Some("project-1")).await.expect("a project");
        let large = || vec![tool("a", "observe", Py::dict([("pad", Py::from("x".repeat(900_000)))]))];
        for project_id in [None, Some("project-1")] {
            for _ in 0..2 {
                client.create_connection(&Shared { manifest: large(), project_id, ..shared() }).await.expect("fits");
            }
            let third = client.create_connection(&Shared { manifest: large(), project_id, ..shared() }).await;
            assert!(matches!(third, Err(Refusal::Service { status: 409, .. })), "{project_id:?}: {third:?}");
        }
        let report = client.sync_once(100).await.expect("the whole list is read");
        assert_eq!(report.connections, 4);
    }
}
