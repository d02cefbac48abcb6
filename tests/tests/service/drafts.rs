//! A draft gives a connection its id before there is a manifest, and nothing else: it is in no list, is one person's, and is used once.

use crate::steps::{row, written};
use collie_tests::{
    harness::{
        Device,
        sealing::{create_body, raw_manifest},
    },
    on_both_engines,
};
use contract::{
    Code, Json, cjson,
    connection::{CreateConnection, CreateDraft, DraftAnswer, DraftRow, Profile, Scope, SealFormat, Status},
    limits,
};

fn body(name: &str) -> CreateDraft {
    CreateDraft {
        name: name.to_owned(),
        endpoint: "https://MCP.example.test:443/mcp".to_owned(),
        transport: Profile::DeviceDirect,
        scope: Scope::Personal,
        project_id: String::new(),
    }
}

async fn draft(device: &Device, name: &str) -> DraftRow {
    let answer = device.post_typed("/v1/connections/drafts", &body(name)).await;
    assert_eq!(answer.status, 201, "{}", answer.body.canonical_string());
    let bytes = answer.body.canonical();
    cjson::from_slice::<DraftAnswer>(&bytes, bytes.len()).expect("a draft").draft
}

fn from_draft(draft: &DraftRow) -> CreateConnection {
    CreateConnection { draft_id: Some(draft.id.clone()), ..create_body(&draft.name, &raw_manifest("one"), "") }
}

async fn listed(device: &Device) -> usize {
    let list = device.get("/v1/connections").await.expect_ok();
    list.find("connections").and_then(Json::as_array).map_or(0, <[Json]>::len)
}

on_both_engines! {
    async fn a_connection_keeps_the_id_of_its_draft(world: World) {
        let browser = world.sign_in_owner().await;
        let device = world.pair_device(&browser, "Laptop").await;
        let draft = draft(&device, "Notes").await;
        assert_eq!((draft.status.as_str(), draft.seal_format), ("draft", SealFormat::V2));
        assert_eq!(draft.endpoint, "https://mcp.example.test/mcp", "the one spelling that is bound");
        let end_ms = world.clock.now() + i64::try_from(limits::CONNECTION_DRAFT_TTL_S_MAX * 1000).expect("small");
        assert!(i64::try_from(draft.expires_at * 1000).expect("small") <= end_ms, "an hour at most");
        assert_eq!(listed(&device).await, 0, "a draft is in no list");
        for call in ["manifest", "credential", "refresh"] {
            device.get(&format!("/v1/connections/{}/{call}", draft.id)).await.expect_refusal(Code::NotFound);
        }
        let made = row(device.post_typed("/v1/connections", &from_draft(&draft)).await.expect_ok());
        assert_eq!((&made.id, made.status, made.endpoint.as_str()), (&draft.id, Status::ReviewRequired, draft.endpoint.as_str()));
        let before = written(&world).await;
        device.post_typed("/v1/connections", &from_draft(&draft)).await.expect_refusal(Code::NotFound);
        assert_eq!(written(&world).await, before, "a draft is used once");
    }

    async fn a_connection_is_what_its_draft_said(world: World) {
        let browser = world.sign_in_owner().await;
        let device = world.pair_device(&browser, "Laptop").await;
        let draft = draft(&device, "Notes").await;
        let good = from_draft(&draft);
        let before = written(&world).await;
        let others = [
            ("name", CreateConnection { name: "Other".to_owned(), ..good.clone() }),
            ("endpoint", CreateConnection { endpoint: "https://other.example.test/mcp".to_owned(), ..good.clone() }),
            ("seal_format", CreateConnection { seal_format: Some(SealFormat::V1), ..good.clone() }),
        ];
        for (field, other) in others {
            let answer = device.post_typed("/v1/connections", &other).await;
            answer.expect_refusal(Code::FieldInvalid);
            assert_eq!(answer.body.find_str("field"), Some(field));
        }
        assert_eq!(written(&world).await, before, "nothing was written, and the draft stands");
        device.post_typed("/v1/connections", &good).await.expect_ok();
    }

    async fn a_draft_is_its_persons_and_ends(world: World) {
        let browser = world.sign_in_owner().await;
        let device = world.pair_device(&browser, "Laptop").await;
        let theirs = world.sign_in_as(&world.make_person(7).await).await;
        let stranger = world.pair_device(&theirs, "Theirs").await;
        let first = draft(&device, "Notes").await;
        stranger.post_typed("/v1/connections", &from_draft(&first)).await.expect_refusal(Code::NotFound);
        for n in 1..limits::CONNECTION_DRAFTS_PER_USER_MAX {
            draft(&device, &format!("Notes {n}")).await;
        }
        device.post_typed("/v1/connections/drafts", &body("One more")).await.expect_refusal(Code::LimitReached);
        draft(&stranger, "Of somebody else").await;

        world.clock.advance(i64::try_from(limits::CONNECTION_DRAFT_TTL_S_MAX * 1000).expect("small"));
        let device = world.pair_device(&browser, "Desk").await;
        let late = |target: &str, body: Json| {
            let body = body.canonical();
            let request = device.request_at("POST", target, Some(&body), world.clock.now() / 1000);
            let authority = world.authority();
            async move { request.send(authority).await }
        };
        let used = late("/v1/connections", cjson::to_json(&from_draft(&first)).expect("JSON")).await;
        used.expect_refusal(Code::NotFound);
        let room = late("/v1/connections/drafts", cjson::to_json(&body("Room again")).expect("JSON")).await;
        assert_eq!(room.status, 201, "expired drafts take no room");
    }

    async fn the_service_has_no_vault_for_a_draft_to_promise(world: World) {
        let browser = world.sign_in_owner().await;
        let device = world.pair_device(&browser, "Laptop").await;
        let before = written(&world).await;
        let proxy = CreateDraft { transport: Profile::CloudProxy, ..body("Proxy") };
        device.post_typed("/v1/connections/drafts", &proxy).await.expect_refusal(Code::Unsupported);
        let foreign = CreateDraft { scope: Scope::Project, project_id: "proj_nowhere".to_owned(), ..body("Project") };
        device.post_typed("/v1/connections/drafts", &foreign).await.expect_refusal(Code::NotFound);
        assert_eq!(written(&world).await, before);
    }
}
