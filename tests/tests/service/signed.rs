//! The life of a reviewed connection: versions follow one another, drift narrows, a new review lifts it, an end is an end.

use crate::steps::{create, deployment, row, target, written};
use collie_tests::{
    harness::sealing::{self, Sealer, raw_manifest, record},
    on_both_engines,
    public_client::random,
};
use contract::{
    Code, Digest, Effect, Json,
    connection::{CreateConnection, DriftReport, Profile, ReviewConnection, SealFormat, Status},
    credential::{CredentialStatement, PutCredential, SealedCredentialV2},
};
use seal::device_direct::VersionLink;
use sign::Signed;

on_both_engines! {
    async fn credentials_follow_one_another(world: World) {
        let browser = world.sign_in_owner().await;
        let device = world.pair_device(&browser, "Laptop").await;
        let second = world.pair_device(&browser, "Desk").await;
        let (deployment, key) = (deployment(&world).await, random());
        let sealer = Sealer::new(&device, deployment.clone(), key);
        let raw = raw_manifest("one");
        let row0 = create(&device, &raw).await;
        let record1 = record(&row0, &raw);
        let review = sealer.review(&row0, &record1, &raw, VersionLink::first());
        let row1 = row(device.post_typed(&target(&row0, "review"), &review).await.expect_ok());

        let first = device.get(&target(&row1, "credential")).await.expect_ok();
        let sealed1 = first.find("sealed_credential").expect("sealed").clone();
        assert_eq!(Some(&sealed1), review.sealed_credential.as_ref(), "byte for byte");
        let put = |sealed: &Json, version: u64| PutCredential { sealed_credential: sealed.clone(), expected_version: Some(version) };
        let next = sealer.seal(&record1, VersionLink::after(1, sealing::commitment(&sealed1)), "second");
        let unlinked = sealer.seal(&record1, VersionLink::after(1, Digest::of(&[b"x"])), "second");
        let restarted = sealer.seal(&record1, VersionLink::first(), "second");
        let before = written(&world).await;
        device.post_typed(&target(&row1, "credential"), &put(&next, 1)).await.expect_refusal(Code::StaleVersion);
        device.post_typed(&target(&row1, "credential"), &put(&unlinked, 2)).await.expect_refusal(Code::StaleVersion);
        device.post_typed(&target(&row1, "credential"), &put(&restarted, 2)).await.expect_refusal(Code::StaleVersion);
        device.post_typed(&target(&row1, "credential"), &put(&sealed1, 2)).await.expect_refusal(Code::StaleVersion);
        let blind = PutCredential { sealed_credential: next.clone(), expected_version: None };
        device.post_typed(&target(&row1, "credential"), &blind).await.expect_refusal(Code::FieldInvalid);
        second.post_typed(&target(&row1, "credential"), &put(&next, 2)).await.expect_refusal(Code::FieldInvalid);
        assert_eq!(written(&world).await, before, "nothing of it was written");

        let stored = device.post_typed(&target(&row1, "credential"), &put(&next, 2)).await.expect_ok();
        assert_eq!(stored.find("credential_version").and_then(Json::as_i64), Some(2));
        assert_eq!(stored.find("version").and_then(Json::as_i64), Some(3));
        let seen = second.get(&target(&row1, "credential")).await.expect_ok();
        assert_eq!(seen.find("sealed_credential"), Some(&next), "the other device gets the newest one");
        let opened = {
            let sealed = SealedCredentialV2::parse(&next).expect("v2");
            let statement = Signed::<CredentialStatement>::from_wire(&sealed.statement).expect("a statement");
            let statement = statement.verify(&device.key.public_key()).expect("by the author");
            let reader = Sealer::new(&second, deployment, key);
            seal::open_device_direct(reader.usk(), &reader.place(&record1), &statement, &sealed).is_ok()
        };
        assert!(opened, "and opens it with the person's key");
    }

    async fn a_drift_narrows_and_a_new_review_lifts_it(world: World) {
        let browser = world.sign_in_owner().await;
        let device = world.pair_device(&browser, "Laptop").await;
        let sealer = Sealer::new(&device, deployment(&world).await, random());
        let raw = raw_manifest("one");
        let row0 = create(&device, &raw).await;
        let record1 = record(&row0, &raw);
        let review = sealer.review(&row0, &record1, &raw, VersionLink::first());
        let row1 = row(device.post_typed(&target(&row0, "review"), &review).await.expect_ok());
        let sealed1 = review.sealed_credential.clone().expect("there");
        let review_digest = record1.digest().expect("a digest");
        let changed = raw_manifest("two");

        let before = written(&world).await;
        for (raw_digest, review_digest) in [(raw.digest(), review_digest), (changed.digest(), Digest::of(&[b"older"]))] {
            let same = device.post_typed(&target(&row1, "drift"), &DriftReport { raw_digest, review_digest }).await;
            assert_eq!(row(same.expect_ok()).status, Status::Active);
        }
        assert_eq!(written(&world).await, before, "what fits, or is about another review, changes nothing");

        let report = DriftReport { raw_digest: changed.digest(), review_digest };
        let lifted = row(device.post_typed(&target(&row1, "drift"), &report).await.expect_ok());
        assert_eq!((lifted.status, lifted.reviewed_digest.as_str()), (Status::ReviewRequired, ""));
        assert_eq!(lifted.review, row1.review, "what the credential is sealed under stays, for every device to seal anew");
        assert_eq!(lifted.manifest_digest, row1.manifest_digest);
        let again = row(device.post_typed(&target(&row1, "drift"), &report).await.expect_ok());
        assert_eq!(again.version, lifted.version, "twice is once");
        let next = sealer.seal(&record1, VersionLink::after(1, sealing::commitment(&sealed1)), "x");
        let put = PutCredential { sealed_credential: next, expected_version: Some(lifted.version) };
        device.post_typed(&target(&row1, "credential"), &put).await.expect_refusal(Code::ReviewRequired);
        let manifest = device.get(&target(&row1, "manifest")).await.expect_ok();
        assert_eq!(manifest.find("manifest"), Some(&raw.to_json()), "the reviewed manifest stays, to show what changed");

        let record2 = record(&lifted, &changed);
        let link = VersionLink::after(1, sealing::commitment(&sealed1));
        let review2 = sealer.review(&lifted, &record2, &changed, link);
        let row2 = row(device.post_typed(&target(&row1, "review"), &review2).await.expect_ok());
        assert_eq!((row2.status, row2.review_seq, row2.credential_version), (Status::Active, 2, 2));
        assert_eq!(row2.raw_digest, changed.digest().b64u());
        let replay = device.post_typed(&target(&row1, "review"), &ReviewConnection { expected_version: Some(row2.version), ..review }).await;
        replay.expect_refusal(Code::StaleVersion);
    }

    async fn a_revoked_connection_is_over(world: World) {
        let browser = world.sign_in_owner().await;
        let device = world.pair_device(&browser, "Laptop").await;
        let sealer = Sealer::new(&device, deployment(&world).await, random());
        let raw = raw_manifest("one");
        let row0 = create(&device, &raw).await;
        let review = sealer.review(&row0, &record(&row0, &raw), &raw, VersionLink::first());
        device.post_typed(&target(&row0, "review"), &review).await.expect_ok();
        let ended = row(device.post(&target(&row0, "revoke"), &Json::object()).await.expect_ok());
        assert_eq!((ended.status, ended.credential_version), (Status::Revoked, 0));
        assert!(world.database.texts("connection_credential", "sealed").await.is_empty(), "its ciphertext is deleted");
        device.post(&target(&row0, "revoke"), &Json::object()).await.expect_ok();
        device.get(&target(&row0, "credential")).await.expect_refusal(Code::NotFound);
        device.get(&target(&row0, "manifest")).await.expect_refusal(Code::NotFound);
        let late = sealer.review(&ended, &record(&ended, &raw), &raw, VersionLink::first());
        device.post_typed(&target(&row0, "review"), &late).await.expect_refusal(Code::ConnectionRevoked);
        let list = device.get("/v1/connections").await.expect_ok();
        assert_eq!(list.find("connections").and_then(Json::as_array).map(<[Json]>::len), Some(0));
    }

    async fn an_endpoint_has_one_spelling(world: World) {
        let browser = world.sign_in_owner().await;
        let device = world.pair_device(&browser, "Laptop").await;
        let raw = raw_manifest("one");
        let spelled = CreateConnection {
            endpoint: "https://MCP.example.test:443/a/../mcp".to_owned(),
            ..sealing::create_body("Notes", &raw, "")
        };
        let made = row(device.post_typed("/v1/connections", &spelled).await.expect_ok());
        assert_eq!(made.endpoint, "https://mcp.example.test/mcp");
        let proxy = CreateConnection { transport: Profile::CloudProxy, ..spelled };
        device.post_typed("/v1/connections", &proxy).await.expect_refusal(Code::Unsupported);
    }

    async fn a_public_session_writes_no_signed_object(world: World) {
        let browser = world.sign_in_owner().await;
        let device = world.pair_device(&browser, "Laptop").await;
        let sliding = world.pair_sliding(&browser, "Old").await;
        let deployment = deployment(&world).await;
        let raw = raw_manifest("one");
        let row0 = create(&device, &raw).await;
        let good = record(&row0, &raw);
        let sealer = Sealer::new(&sliding, deployment.clone(), random());
        let review = sealer.review(&row0, &good, &raw, VersionLink::first());
        let before = written(&world).await;
        sliding.post_typed(&target(&row0, "review"), &review).await.expect_refusal(Code::Unsupported);
        let v2 = CreateConnection { seal_format: Some(SealFormat::V2), ..sealing::create_body("N", &raw, "") };
        sliding.post_typed("/v1/connections", &v2).await.expect_refusal(Code::FieldInvalid);
        assert_eq!(written(&world).await, before, "nothing was written");

        let ours = Sealer::new(&device, deployment, random());
        let review = ours.review(&row0, &good, &raw, VersionLink::first());
        let row1 = row(device.post_typed(&target(&row0, "review"), &review).await.expect_ok());
        let link = VersionLink::after(1, sealing::commitment(review.sealed_credential.as_ref().expect("there")));
        let put = PutCredential { sealed_credential: sealer.seal(&good, link, "x"), expected_version: Some(row1.version) };
        sliding.post_typed(&target(&row0, "credential"), &put).await.expect_refusal(Code::Unsupported);
        sliding.get(&target(&row0, "credential")).await.expect_refusal(Code::NotFound);
    }

    async fn a_plain_review_names_what_stands(world: World) {
        let browser = world.sign_in_owner().await;
        let device = world.pair_device(&browser, "Laptop").await;
        let raw = raw_manifest("one");
        let v1 = CreateConnection { seal_format: Some(SealFormat::V1), ..sealing::create_body("N", &raw, "") };
        let row0 = row(device.post_typed("/v1/connections", &v1).await.expect_ok());
        let plain = |digest: &str| Json::from_members([("digest", digest.into()), ("allowed_effects", Json::Array(vec!["act".into(), "observe".into()]))]);
        let before = written(&world).await;
        let other = Digest::of(&[b"x"]).b64u();
        device.post(&target(&row0, "review"), &plain(&other)).await.expect_refusal(Code::DigestMismatch);
        assert_eq!(written(&world).await, before, "nothing was written");
        let row1 = row(device.post(&target(&row0, "review"), &plain(&row0.manifest_digest)).await.expect_ok());
        assert_eq!((row1.status, row1.policy.allowed_effects.as_slice()), (Status::Active, &[Effect::Observe, Effect::Act][..]));
        let again = row(device.post(&target(&row0, "review"), &plain(&row0.manifest_digest)).await.expect_ok());
        assert_eq!(again.version, row1.version, "twice is once");

        // A device that read another manifest names the review by its digest of the rows.
        let review_digest = Digest::parse(&row0.manifest_digest).expect("a digest");
        let report = DriftReport { raw_digest: raw_manifest("two").digest(), review_digest };
        let lifted = row(device.post_typed(&target(&row0, "drift"), &report).await.expect_ok());
        assert_eq!((lifted.status, lifted.reviewed_digest.as_str()), (Status::ReviewRequired, ""));
    }

    async fn the_cursor_comes_back_as_it_was(world: World) {
        let device = world.pair_device(&world.sign_in_owner().await, "Laptop").await;
        for cursor in [0, 41, 9_007_199_254_740_991] {
            let page = device.get(&format!("/v1/sync/pull?cursor={cursor}&limit=100")).await.expect_ok();
            assert_eq!(page.find("cursor").and_then(Json::as_i64), Some(cursor));
        }
        for query in ["cursor=-1", "cursor=x", "cursor=1&cursor=2", "limit=0", "limit=100000"] {
            device.get(&format!("/v1/sync/pull?{query}")).await.expect_refusal(Code::FieldInvalid);
        }
    }
}
