//! Signed reviews and v2 credentials: each part that disagrees with another is refused alone, with nothing written; the whole passes.

use collie_tests::{
    harness::{
        Device, World,
        sealing::{self, Sealer, raw_manifest, record},
    },
    on_both_engines,
    public_client::random,
};
use contract::{
    Code, Digest, Effect, Json,
    cjson::{self, to_json},
    connection::{ConnectionAnswer, ConnectionRow, DriftReport, ReviewConnection, SealFormat, Status},
    credential::{CredentialStatement, PutCredential, SealedCredentialV2},
    ids::{ConnectionId, DeviceId, ProjectId, WorkspaceId},
    manifest::RawManifest,
    review::ReviewRecord,
};
use seal::device_direct::VersionLink;
use sign::{Signed, SignedBody};
use std::collections::BTreeMap;

/// What must not change when something is refused. Nonces of well-signed requests are spent before their body is judged.
async fn written(world: &World) -> BTreeMap<String, i64> {
    let mut rows = world.database.rows().await;
    rows.remove("request_nonce");
    rows
}

fn row(answer: Json) -> ConnectionRow {
    let bytes = answer.canonical();
    cjson::from_slice::<ConnectionAnswer>(&bytes, bytes.len()).expect("a connection").connection
}

async fn deployment(world: &World) -> contract::ids::DeploymentId {
    let found: Result<_, store::StoreError> =
        world.store().read("find", |mut tx| async move { tx.find_deployment().await }).await;
    found.expect("reads").expect("there").id
}

async fn create(device: &Device, raw: &RawManifest) -> ConnectionRow {
    row(device.post_typed("/v1/connections", &sealing::create_body("Notes", raw, "")).await.expect_ok())
}

fn target(row: &ConnectionRow, call: &str) -> String {
    format!("/v1/connections/{}/{call}", row.id)
}

/// Signs a changed copy of a signed object's body again, by the same or another key.
fn resign<T: SignedBody>(json: &Json, key: &sign::DeviceKey, change: impl FnOnce(&mut T)) -> Json {
    let bytes = contract::b64u::decode(json.find_str("payload").expect("payload")).expect("b64u");
    let mut body: T = cjson::from_slice(&bytes, bytes.len()).expect("a body");
    change(&mut body);
    to_json(&Signed::sign(key, &body).expect("signs").to_wire()).expect("JSON")
}

/// A sealed credential with a changed statement.
fn restate(sealed: &Json, key: &sign::DeviceKey, change: impl FnOnce(&mut CredentialStatement)) -> Json {
    let Json::Object(mut members) = sealed.clone() else { panic!("an object") };
    let statement = resign(&members["statement"], key, change);
    members.insert("statement".to_owned(), statement);
    Json::Object(members)
}

/// A sealed credential with one blob changed, and a statement that fits it.
fn reblob(sealed: &Json, key: &sign::DeviceKey, dek: fn(&mut Vec<u8>), payload: fn(&mut Vec<u8>)) -> Json {
    let mut parsed = SealedCredentialV2::parse(sealed).expect("v2");
    let change = |text: &str, change: fn(&mut Vec<u8>)| {
        let mut bytes = contract::b64u::decode(text).expect("b64u");
        change(&mut bytes);
        bytes
    };
    let (dek, payload) = (change(&parsed.dek, dek), change(&parsed.payload, payload));
    (parsed.dek, parsed.payload) = (contract::b64u::encode(&dek), contract::b64u::encode(&payload));
    restate(&parsed.to_json().expect("JSON"), key, |statement| {
        statement.dek_sha256 = Digest::of(&[&dek]);
        statement.payload_sha256 = Digest::of(&[&payload]);
    })
}

/// Makes the ciphertext of a blob one byte longer.
fn lengthen(blob: &mut Vec<u8>) {
    let length = u32::try_from(blob.len() - 128 + 1).expect("short");
    blob[124..128].copy_from_slice(&length.to_be_bytes());
    blob.push(0);
}

on_both_engines! {
    async fn a_signed_review_lands_whole_or_not_at_all(world: World) {
        let browser = world.sign_in_owner().await;
        let device = world.pair_device(&browser, "Laptop").await;
        let other = world.pair_device(&browser, "Desk").await;
        let sealer = Sealer::new(&device, deployment(&world).await, random());
        let raw = raw_manifest("one");
        let row0 = create(&device, &raw).await;
        assert_eq!((row0.status, row0.seal_format, row0.version), (Status::ReviewRequired, SealFormat::V2, 1));
        let good = record(&row0, &raw);
        let body = |record: &ReviewRecord| sealer.review(&row0, record, &raw, VersionLink::first());
        let before = written(&world).await;

        // What the record says against the row, the request and the manifest; everything else is signed and sealed anew around it.
        type Change = fn(&mut ReviewRecord);
        let changes: [(&str, Change); 12] = [
            ("connection", |r| r.connection = ConnectionId::from_random([9; 16])),
            ("project", |r| r.project = Some(ProjectId::from_random([9; 16]))),
            ("endpoint", |r| r.endpoint.push('/')),
            ("raw_digest", |r| r.raw_digest = Digest::of(&[b"x"])),
            ("instructions", |r| r.instructions_digest = Digest::of(&[b"x"])),
            ("tool digest", |r| r.tools[0].tool_digest = Digest::of(&[b"x"])),
            ("tool name", |r| r.tools[0].name = "a_ghost".to_owned()),
            ("tool order", |r| r.tools.reverse()),
            ("effects of the record", |r| r.allowed_effects = vec![Effect::Act, Effect::Observe]),
            ("an effect that always asks", |r| r.allowed_effects = vec![Effect::Commit]),
            ("review 0", |r| r.review_seq = 0),
            ("review 2", |r| r.review_seq = 2),
        ];
        for (name, change) in changes {
            let mut record = good.clone();
            change(&mut record);
            let answer = device.post_typed(&target(&row0, "review"), &body(&record)).await;
            assert!(matches!(answer.status, 400 | 409), "{name}: {} {}", answer.status, answer.body.canonical_string());
            assert_eq!(written(&world).await, before, "{name}");
        }

        // What the request says.
        type Spoil = Box<dyn Fn(&mut ReviewConnection) + Send + Sync>;
        let other_key = other.key.expose_seed_for_key_file();
        let other_key = sign::DeviceKey::from_seed(&other_key);
        let unsorted = {
            let Json::Object(mut members) = raw.to_json() else { panic!("an object") };
            let mut tools = members["tools"].as_array().expect("tools").to_vec();
            tools.reverse();
            members.insert("tools".to_owned(), Json::Array(tools));
            Json::Object(members)
        };
        let foreign_review = Signed::sign(&other.key, &good).expect("signs").to_wire();
        let foreign_statement = restate(&sealer.seal(&good, VersionLink::first(), "x"), &other_key, |_| {});
        let wrong = |change: fn(&mut CredentialStatement)| {
            let sealed = restate(&sealer.seal(&good, VersionLink::first(), "x"), &device.key, change);
            Box::new(move |b: &mut ReviewConnection| b.sealed_credential = Some(sealed.clone())) as Spoil
        };
        let set = |sealed: Json| Box::new(move |b: &mut ReviewConnection| b.sealed_credential = Some(sealed.clone())) as Spoil;
        let second = sealer.seal(&good, VersionLink::after(1, Digest::of(&[b"x"])), "x");
        let swapped = {
            let mut sealed = SealedCredentialV2::parse(&sealer.seal(&good, VersionLink::first(), "x")).expect("v2");
            std::mem::swap(&mut sealed.dek, &mut sealed.payload);
            sealed.to_json().expect("JSON")
        };
        // The record names another connection, and everything around it fits that record.
        let (elsewhere, fitting) = {
            let mut record = good.clone();
            record.connection = ConnectionId::from_random([9; 16]);
            let digest = record.digest().expect("a digest");
            let sealed = sealer.seal(&good, VersionLink::first(), "x");
            (Signed::sign(&device.key, &record).expect("signs").to_wire(), restate(&sealed, &device.key, |s| s.review_digest = digest))
        };
        // The object and its statement agree on an author who is not the caller.
        let ghostwritten = {
            let mut sealed = SealedCredentialV2::parse(&sealer.seal(&good, VersionLink::first(), "x")).expect("v2");
            sealed.author_device = other.device_id.clone();
            let author = other.device_id.clone();
            restate(&sealed.to_json().expect("JSON"), &device.key, |s| s.author_device = author)
        };
        let mut later = good.clone();
        later.review_seq = 7;
        let spoils: Vec<(&str, Code, Spoil)> = vec![
            ("digest", Code::DigestMismatch, Box::new(|b| b.digest = Digest::of(&[b"x"]).b64u())),
            ("digest text", Code::FieldInvalid, Box::new(|b| b.digest = "x".to_owned())),
            ("version", Code::StaleVersion, Box::new(|b| b.expected_version = Some(2))),
            ("version 0", Code::StaleVersion, Box::new(|b| b.expected_version = Some(0))),
            ("effects", Code::FieldInvalid, Box::new(|b| b.allowed_effects = vec![Effect::Observe])),
            ("no manifest", Code::FieldInvalid, Box::new(|b| b.manifest = None)),
            ("no review", Code::FieldInvalid, Box::new(|b| b.review = None)),
            ("no credential", Code::FieldInvalid, Box::new(|b| b.sealed_credential = None)),
            ("no version", Code::FieldInvalid, Box::new(|b| b.expected_version = None)),
            ("the plain form", Code::Unsupported, Box::new(|b| (b.manifest, b.review, b.sealed_credential, b.expected_version) = (None, None, None, None))),
            ("another manifest", Code::FieldInvalid, Box::new(|b| b.manifest = Some(raw_manifest("two").to_json()))),
            ("unsorted manifest", Code::ManifestInvalid, Box::new(move |b| b.manifest = Some(unsorted.clone()))),
            ("manifest of another shape", Code::ManifestInvalid, Box::new(|b| b.manifest = Some(Json::object()))),
            ("signed by another device", Code::FieldInvalid, Box::new(move |b| b.review = Some(foreign_review.clone()))),
            ("another signature", Code::FieldInvalid, Box::new(|b| {
                let review = b.review.as_mut().expect("there");
                review.sig = contract::b64u::encode([7; 64]);
            })),
            ("a statement as a review", Code::FieldInvalid, Box::new(|b| {
                let sealed = SealedCredentialV2::parse(b.sealed_credential.as_ref().expect("there")).expect("v2");
                b.review = Some(sealed.statement);
            })),
            ("statement by another device", Code::FieldInvalid, set(foreign_statement)),
            ("statement: workspace", Code::FieldInvalid, wrong(|s| s.workspace = WorkspaceId::from_random([9; 16]))),
            ("statement: connection", Code::FieldInvalid, wrong(|s| s.connection = ConnectionId::from_random([9; 16]))),
            ("statement: author", Code::FieldInvalid, wrong(|s| s.author_device = DeviceId::from_random([9; 16]))),
            ("statement: blob", Code::FieldInvalid, wrong(|s| s.payload_sha256 = Digest::of(&[b"x"]))),
            ("statement: review", Code::FieldInvalid, wrong(|s| s.review_digest = Digest::of(&[b"x"]))),
            ("sealed under a later review", Code::FieldInvalid, set(sealer.seal(&later, VersionLink::first(), "x"))),
            ("credential 2 before 1", Code::StaleVersion, set(second)),
            ("a data key of 33 bytes", Code::FieldInvalid, set(reblob(&sealer.seal(&good, VersionLink::first(), "x"), &device.key, lengthen, |_| {}))),
            ("a payload under another connection's key", Code::FieldInvalid, set(reblob(&sealer.seal(&good, VersionLink::first(), "x"), &device.key, |_| {}, |blob| blob[8] ^= 1))),
            ("a record about another connection", Code::FieldInvalid, Box::new(move |b| {
                b.review = Some(elsewhere.clone());
                b.sealed_credential = Some(fitting.clone());
            })),
            ("an author who is not the caller", Code::FieldInvalid, set(ghostwritten)),
            ("blobs swapped", Code::FieldInvalid, set(swapped)),
            ("the public envelope", Code::FieldInvalid, set(Json::from_members([("v", 1.into())]))),
        ];
        for (name, code, spoil) in spoils {
            let mut request = body(&good);
            spoil(&mut request);
            let answer = device.post_typed(&target(&row0, "review"), &request).await;
            assert_eq!(answer.code(), code.as_str(), "{name}: {}", answer.body.canonical_string());
            assert_eq!(written(&world).await, before, "{name}");
        }

        let reviewed = row(device.post_typed(&target(&row0, "review"), &body(&good)).await.expect_ok());
        assert_eq!((reviewed.status, reviewed.review_seq, reviewed.credential_version, reviewed.version), (Status::Active, 1, 1, 2));
        assert_eq!(reviewed.raw_digest, raw.digest().b64u());
        assert_eq!(reviewed.reviewed_digest, reviewed.manifest_digest);
        let stale = device.post_typed(&target(&row0, "review"), &body(&good)).await;
        stale.expect_refusal(Code::StaleVersion);
    }

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
        assert_eq!((lifted.status, lifted.reviewed_digest.as_str(), &lifted.review), (Status::ReviewRequired, "", &None));
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
        let spelled = contract::connection::CreateConnection {
            endpoint: "https://MCP.example.test:443/a/../mcp".to_owned(),
            ..sealing::create_body("Notes", &raw, "")
        };
        let made = row(device.post_typed("/v1/connections", &spelled).await.expect_ok());
        assert_eq!(made.endpoint, "https://mcp.example.test/mcp");
        let proxy = contract::connection::CreateConnection { transport: contract::connection::Profile::CloudProxy, ..spelled };
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
        let v2 = contract::connection::CreateConnection { seal_format: Some(SealFormat::V2), ..sealing::create_body("N", &raw, "") };
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
        let v1 = contract::connection::CreateConnection { seal_format: Some(SealFormat::V1), ..sealing::create_body("N", &raw, "") };
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
