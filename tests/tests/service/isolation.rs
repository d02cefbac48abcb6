//! What is not yours is not there: other people, other workspaces, other session classes.

use crate::steps::{deployment, row};
use collie_tests::{
    harness::{
        Device,
        sealing::{self, Sealer, raw_manifest, record},
    },
    on_both_engines,
    public_client::{PublicClient, Py, random},
};
use contract::{
    Code, Json, cjson,
    connection::DriftReport,
    credential::PutCredential,
    workspace::{AddMember, CreateProject, CreateWorkspace, Role},
};
use seal::device_direct::VersionLink;

fn named(answer: &Json, outer: &str) -> String {
    answer.find(outer).and_then(|inner| inner.find_str("id")).expect("an id").to_owned()
}

/// Every call about a connection, with bodies that would be right for its owner.
async fn everything(device: &Device, id: &str, review: &Json, put: &Json, drift: &Json) -> Vec<(String, Json)> {
    let mut answers = Vec::new();
    for call in ["manifest", "credential"] {
        answers.push((call, device.get(&format!("/v1/connections/{id}/{call}")).await));
    }
    for (call, body) in [("review", review), ("credential", put), ("drift", drift), ("revoke", &Json::object())] {
        answers.push((call, device.post(&format!("/v1/connections/{id}/{call}"), body).await));
    }
    answers
        .into_iter()
        .map(|(call, answer)| {
            answer.expect_refusal(Code::NotFound);
            (call.to_owned(), answer.body)
        })
        .collect()
}

on_both_engines! {
    async fn another_persons_connection_is_not_there(world: World) {
        let owner = world.pair_device(&world.sign_in_owner().await, "Laptop").await;
        let stranger_person = world.make_person(2).await;
        let stranger = world.pair_device(&world.sign_in_as(&stranger_person).await, "Elsewhere").await;
        let deployment = deployment(&world).await;
        let sealer = Sealer::new(&owner, deployment, random());
        let raw = raw_manifest("one");
        let row0 = row(owner.post_typed("/v1/connections", &sealing::create_body("Notes", &raw, "")).await.expect_ok());
        let record1 = record(&row0, &raw);
        let review = sealer.review(&row0, &record1, &raw, VersionLink::first());
        let row1 = row(owner.post_typed(&format!("/v1/connections/{}/review", row0.id), &review).await.expect_ok());

        let review = cjson::to_json(&review).expect("JSON");
        let put = cjson::to_json(&PutCredential { sealed_credential: Json::object(), expected_version: Some(row1.version) }).expect("JSON");
        let drift = DriftReport { raw_digest: raw_manifest("two").digest(), review_digest: record1.digest().expect("a digest") };
        let drift = cjson::to_json(&drift).expect("JSON");
        let theirs = everything(&stranger, row0.id.as_str(), &review, &put, &drift).await;
        let nowhere = everything(&stranger, &format!("conn_{}", "0".repeat(32)), &review, &put, &drift).await;
        assert_eq!(theirs, nowhere, "not yours and not there are one answer, word for word");
        let list = stranger.get("/v1/connections").await.expect_ok();
        assert_eq!(list.find("connections").and_then(Json::as_array).map(<[Json]>::len), Some(0));
        let fits = DriftReport { raw_digest: raw.digest(), review_digest: record1.digest().expect("a digest") };
        let after = row(owner.post_typed(&format!("/v1/connections/{}/drift", row0.id), &fits).await.expect_ok());
        assert_eq!(after.version, row1.version, "the stranger changed nothing");
    }

    async fn ids_are_not_squatted_across_tenants(world: World) {
        let owner = world.pair_device(&world.sign_in_owner().await, "Laptop").await;
        let stranger_person = world.make_person(2).await;
        let stranger = world.pair_device(&world.sign_in_as(&stranger_person).await, "Elsewhere").await;
        let wanted = |name: &str| CreateProject { name: name.to_owned(), project_id: Some("project-1".parse().expect("an id")) };
        let first = stranger.post_typed("/v1/projects", &wanted("Squat")).await.expect_ok();
        assert_eq!(named(&first, "project"), "project-1");
        let mine = owner.post_typed("/v1/projects", &wanted("Mine")).await.expect_ok();
        assert_eq!(named(&mine, "project"), "project-1", "the same id stands in both workspaces and means two things");
        let theirs = stranger.get("/v1/projects/project-1/members").await.expect_ok();
        let ours = owner.get("/v1/projects/project-1/members").await.expect_ok();
        assert_ne!(theirs, ours);

        // In one workspace: a project that somebody cannot see neither blocks nor reveals its id.
        let team = named(&owner.post_typed("/v1/workspaces", &CreateWorkspace { name: "Team".to_owned() }).await.expect_ok(), "workspace");
        let add = AddMember { user_id: stranger_person.user_id.clone(), role: Role::Member };
        owner.post_typed(&format!("/v1/workspaces/{team}/members"), &add).await.expect_ok();
        let owner = owner.select(&team).await;
        let stranger = stranger.select(&team).await;
        owner.post_typed("/v1/projects", &wanted("Hidden")).await.expect_ok();
        let other = named(&stranger.post_typed("/v1/projects", &wanted("Visible")).await.expect_ok(), "project");
        assert_ne!(other, "project-1");
        stranger.get("/v1/projects/project-1/members").await.expect_refusal(Code::NotFound);
        let twice = named(&stranger.post_typed("/v1/projects", &wanted("Visible")).await.expect_ok(), "project");
        assert_eq!(twice, other, "the same request finds the same project");
    }

    async fn a_project_shows_the_row_and_never_the_credential(world: World) {
        let owner = world.pair_device(&world.sign_in_owner().await, "Laptop").await;
        let member_person = world.make_person(2).await;
        let member = world.pair_device(&world.sign_in_as(&member_person).await, "Elsewhere").await;
        let team = named(&owner.post_typed("/v1/workspaces", &CreateWorkspace { name: "Team".to_owned() }).await.expect_ok(), "workspace");
        let add = AddMember { user_id: member_person.user_id.clone(), role: Role::Guest };
        owner.post_typed(&format!("/v1/workspaces/{team}/members"), &add).await.expect_ok();
        let (owner, member) = (owner.select(&team).await, member.select(&team).await);
        let project = named(&owner.post_typed("/v1/projects", &CreateProject { name: "P".to_owned(), project_id: None }).await.expect_ok(), "project");
        let raw = raw_manifest("one");
        let body = sealing::create_body("Notes", &raw, &project);
        member.post_typed("/v1/connections", &body).await.expect_refusal(Code::NotFound);
        owner.post_typed(&format!("/v1/projects/{project}/members"), &add).await.expect_ok();
        member.post_typed("/v1/connections", &body).await.expect_refusal(Code::RoleForbidden);
        member.post_typed("/v1/projects", &CreateProject { name: "Q".to_owned(), project_id: None }).await.expect_refusal(Code::RoleForbidden);

        let deployment = deployment(&world).await;
        let row0 = row(owner.post_typed("/v1/connections", &body).await.expect_ok());
        let sealer = Sealer::new(&owner, deployment, random());
        let review = sealer.review(&row0, &record(&row0, &raw), &raw, VersionLink::first());
        owner.post_typed(&format!("/v1/connections/{}/review", row0.id), &review).await.expect_ok();
        let list = member.get("/v1/connections").await.expect_ok();
        assert_eq!(list.find("connections").and_then(Json::as_array).map(<[Json]>::len), Some(1));
        member.get(&format!("/v1/connections/{}/credential", row0.id)).await.expect_refusal(Code::NotFound);
        member.post(&format!("/v1/connections/{}/revoke", row0.id), &Json::object()).await.expect_refusal(Code::RoleForbidden);
    }

    async fn the_public_client_lives_beside_v2(world: World) {
        let browser = world.sign_in_owner().await;
        let ours = world.pair_device(&browser, "Laptop").await;
        let mut public = PublicClient::new(world.base_url());
        world.pair_public(&browser, &mut public, "Old").await;
        let deployment = deployment(&world).await;
        let raw = raw_manifest("one");
        let row0 = row(ours.post_typed("/v1/connections", &sealing::create_body("Notes", &raw, "")).await.expect_ok());
        let sealer = Sealer::new(&ours, deployment, random());
        let review = sealer.review(&row0, &record(&row0, &raw), &raw, VersionLink::first());
        ours.post_typed(&format!("/v1/connections/{}/review", row0.id), &review).await.expect_ok();

        let report = public.sync_once(100).await.expect("a v2 connection does not end its sync");
        assert_eq!((report.connections, report.connection_credentials), (1, 0));
        assert!(public.usable().is_empty(), "listed truthfully, and unusable");
        let listed = public.list_connections().await.expect("listed");
        listed[0].check_usable().expect("the row itself is what a reviewed row is");
        public.fetch_credential(row0.id.as_str()).await.expect_err("no v2 blob for this class");
        let envelope = public.seal_credential(&listed[0], &Py::dict([("access_token", Py::from("x"))]), 1, random());
        public.put_credential(row0.id.as_str(), envelope).await.expect_err("and none from it");
    }
}
