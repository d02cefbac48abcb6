//! Every part of a signed review and its credential, spoilt alone: refused with nothing written. The whole, unspoilt, passes at the end of each test.

use crate::steps::{create, deployment, row, target, written};
use collie_tests::{
    harness::{
        Device, World,
        sealing::{Sealer, raw_manifest, record},
    },
    on_both_engines,
};
use contract::{
    Code, Digest, Effect, Json, b64u, blob,
    cjson::{self, to_json},
    connection::{ConnectionRow, ReviewConnection, SealFormat, Status},
    credential::{CredentialStatement, SealedCredentialV2},
    ids::{ConnectionId, DeviceId, ProjectId, WorkspaceId},
    manifest::RawManifest,
    review::ReviewRecord,
};
use seal::device_direct::VersionLink;
use sign::{Signed, SignedBody};

/// Two devices of one person, and a connection that one of them is about to review.
struct Desk {
    world: World,
    device: Device,
    other: Device,
    deployment: contract::ids::DeploymentId,
    raw: RawManifest,
    row: ConnectionRow,
    good: ReviewRecord,
}

impl Desk {
    async fn set(world: World) -> Self {
        let browser = world.sign_in_owner().await;
        let device = world.pair_device(&browser, "Laptop").await;
        let other = world.pair_device(&browser, "Desk").await;
        let (deployment, raw) = (deployment(&world).await, raw_manifest("one"));
        let row = create(&device, &raw).await;
        assert_eq!((row.status, row.seal_format, row.version), (Status::ReviewRequired, SealFormat::V2, 1));
        let good = record(&row, &raw);
        Self { world, device, other, deployment, raw, row, good }
    }

    fn sealer(&self) -> Sealer<'_> {
        Sealer::new(&self.device, self.deployment.clone(), [7; 32])
    }

    /// A review in which everything fits `record`.
    fn body(&self, record: &ReviewRecord) -> ReviewConnection {
        self.sealer().review(&self.row, record, &self.raw, VersionLink::first())
    }

    /// A credential that fits the good record.
    fn sealed(&self) -> Json {
        self.sealer().seal(&self.good, VersionLink::first(), "bearer-canary")
    }

    /// As [`Desk::sealed`], with its statement changed and signed again by the same device.
    fn restated(&self, change: impl FnOnce(&mut CredentialStatement)) -> Json {
        restate(&self.sealed(), &self.device.key, change)
    }

    /// Sends a spoilt review and sees that it is refused with this code, and that nothing was written.
    async fn refuses(&self, name: &str, codes: &[Code], request: &ReviewConnection) {
        let before = written(&self.world).await;
        let answer = self.device.post_typed(&target(&self.row, "review"), request).await;
        let refused = codes.iter().any(|code| (answer.status, answer.code()) == (code.http_status(), code.as_str()));
        assert!(refused, "{name}: {} {}", answer.status, answer.body.canonical_string());
        assert_eq!(written(&self.world).await, before, "{name}");
    }

    /// The control: the same review unspoilt lands.
    async fn accepts_the_good_one(&self) {
        let body = self.body(&self.good);
        let reviewed = row(self.device.post_typed(&target(&self.row, "review"), &body).await.expect_ok());
        assert_eq!(
            (reviewed.status, reviewed.review_seq, reviewed.credential_version, reviewed.version),
            (Status::Active, 1, 1, 2)
        );
        assert_eq!(reviewed.raw_digest, self.raw.digest().b64u());
        assert_eq!(reviewed.reviewed_digest, reviewed.manifest_digest);
        self.refuses("the same once more", &[Code::StaleVersion], &body).await;
    }
}

/// Signs a changed copy of a signed object's body again, by the same or another key.
fn resign<T: SignedBody>(json: &Json, key: &sign::DeviceKey, change: impl FnOnce(&mut T)) -> Json {
    let bytes = b64u::decode(json.find_str("payload").expect("payload")).expect("b64u");
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
        let mut bytes = b64u::decode(text).expect("b64u");
        change(&mut bytes);
        bytes
    };
    let (dek, payload) = (change(&parsed.dek, dek), change(&parsed.payload, payload));
    (parsed.dek, parsed.payload) = (b64u::encode(&dek), b64u::encode(&payload));
    restate(&parsed.to_json().expect("JSON"), key, |statement| {
        statement.dek_sha256 = Digest::of(&[&dek]);
        statement.payload_sha256 = Digest::of(&[&payload]);
    })
}

/// Makes the ciphertext of a blob one byte longer.
fn lengthen(bytes: &mut Vec<u8>) {
    let length = u32::try_from(bytes.len() - blob::HEADER_BYTES + 1).expect("short");
    bytes[blob::HEADER_BYTES - 4..blob::HEADER_BYTES].copy_from_slice(&length.to_be_bytes());
    bytes.push(0);
}

type Spoil<'a> = Box<dyn Fn(&mut ReviewConnection) + Send + Sync + 'a>;

on_both_engines! {
    // What the record says against the row, the request and the manifest; everything else is signed and sealed anew around it.
    async fn a_record_agrees_with_all_it_is_about(world: World) {
        let desk = Desk::set(world).await;
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
            let mut record = desk.good.clone();
            change(&mut record);
            desk.refuses(name, &[Code::FieldInvalid, Code::StaleVersion], &desk.body(&record)).await;
        }
        // The record names another connection, and everything around it fits that record.
        let mut elsewhere = desk.good.clone();
        elsewhere.connection = ConnectionId::from_random([9; 16]);
        let digest = elsewhere.digest().expect("a digest");
        let mut body = desk.body(&desk.good);
        body.review = Some(Signed::sign(&desk.device.key, &elsewhere).expect("signs").to_wire());
        body.sealed_credential = Some(desk.restated(|s| s.review_digest = digest));
        desk.refuses("a record about another connection", &[Code::FieldInvalid], &body).await;
        desk.accepts_the_good_one().await;
    }

    async fn a_request_is_whole_and_current(world: World) {
        let desk = Desk::set(world).await;
        let unsorted = {
            let Json::Object(mut members) = desk.raw.to_json() else { panic!("an object") };
            let mut tools = members["tools"].as_array().expect("tools").to_vec();
            tools.reverse();
            members.insert("tools".to_owned(), Json::Array(tools));
            Json::Object(members)
        };
        let foreign = Signed::sign(&desk.other.key, &desk.good).expect("signs").to_wire();
        let spoils: Vec<(&str, Code, Spoil<'_>)> = vec![
            ("digest", Code::DigestMismatch, Box::new(|b| b.digest = Digest::of(&[b"x"]).b64u())),
            ("digest text", Code::FieldInvalid, Box::new(|b| b.digest = "x".to_owned())),
            ("version", Code::StaleVersion, Box::new(|b| b.expected_version = Some(2))),
            ("version 0", Code::StaleVersion, Box::new(|b| b.expected_version = Some(0))),
            ("effects", Code::FieldInvalid, Box::new(|b| b.allowed_effects = vec![Effect::Observe])),
            ("no manifest", Code::FieldInvalid, Box::new(|b| b.manifest = None)),
            ("no review", Code::FieldInvalid, Box::new(|b| b.review = None)),
            ("no credential", Code::FieldInvalid, Box::new(|b| b.sealed_credential = None)),
            ("no version", Code::FieldInvalid, Box::new(|b| b.expected_version = None)),
            ("the plain form", Code::Unsupported, Box::new(|b| {
                (b.manifest, b.review, b.sealed_credential, b.expected_version) = (None, None, None, None);
            })),
            ("another manifest", Code::FieldInvalid, Box::new(|b| b.manifest = Some(raw_manifest("two").to_json()))),
            ("unsorted manifest", Code::ManifestInvalid, Box::new(|b| b.manifest = Some(unsorted.clone()))),
            ("no manifest's shape", Code::ManifestInvalid, Box::new(|b| b.manifest = Some(Json::object()))),
            ("signed by another device", Code::FieldInvalid, Box::new(|b| b.review = Some(foreign.clone()))),
            ("another signature", Code::FieldInvalid, Box::new(|b| {
                b.review.as_mut().expect("there").sig = b64u::encode([7; 64]);
            })),
            ("a statement as a review", Code::FieldInvalid, Box::new(|b| {
                let sealed = SealedCredentialV2::parse(b.sealed_credential.as_ref().expect("there")).expect("v2");
                b.review = Some(sealed.statement);
            })),
        ];
        for (name, code, spoil) in spoils {
            let mut request = desk.body(&desk.good);
            spoil(&mut request);
            desk.refuses(name, &[code], &request).await;
        }
        desk.accepts_the_good_one().await;
    }

    async fn a_credential_is_this_devices_for_this_review(world: World) {
        let desk = Desk::set(world).await;
        let device_key = &desk.device.key;
        let mut later = desk.good.clone();
        later.review_seq = 7;
        let mut swapped = SealedCredentialV2::parse(&desk.sealed()).expect("v2");
        std::mem::swap(&mut swapped.dek, &mut swapped.payload);
        // The object and its statement agree on an author who is not the caller.
        let mut ghost = SealedCredentialV2::parse(&desk.sealed()).expect("v2");
        ghost.author_device = desk.other.device_id.clone();
        let author = desk.other.device_id.clone();
        let ghostwritten = restate(&ghost.to_json().expect("JSON"), device_key, |s| s.author_device = author);
        let second = desk.sealer().seal(&desk.good, VersionLink::after(1, Digest::of(&[b"x"])), "x");
        let spoils: Vec<(&str, Code, Json)> = vec![
            ("statement by another device", Code::FieldInvalid, restate(&desk.sealed(), &desk.other.key, |_| {})),
            ("workspace", Code::FieldInvalid, desk.restated(|s| s.workspace = WorkspaceId::from_random([9; 16]))),
            ("connection", Code::FieldInvalid, desk.restated(|s| s.connection = ConnectionId::from_random([9; 16]))),
            ("author", Code::FieldInvalid, desk.restated(|s| s.author_device = DeviceId::from_random([9; 16]))),
            ("blob", Code::FieldInvalid, desk.restated(|s| s.payload_sha256 = Digest::of(&[b"x"]))),
            ("review", Code::FieldInvalid, desk.restated(|s| s.review_digest = Digest::of(&[b"x"]))),
            ("an author who is not the caller", Code::FieldInvalid, ghostwritten),
            ("under a later review", Code::FieldInvalid, desk.sealer().seal(&later, VersionLink::first(), "x")),
            ("2 before 1", Code::StaleVersion, second),
            ("a data key of 33 bytes", Code::FieldInvalid, reblob(&desk.sealed(), device_key, lengthen, |_| {})),
            ("another connection's key id", Code::FieldInvalid, reblob(&desk.sealed(), device_key, |_| {}, |bytes| bytes[8] ^= 1)),
            ("blobs swapped", Code::FieldInvalid, swapped.to_json().expect("JSON")),
            ("the public envelope", Code::FieldInvalid, Json::from_members([("v", 1.into())])),
        ];
        for (name, code, sealed) in spoils {
            let mut request = desk.body(&desk.good);
            request.sealed_credential = Some(sealed);
            desk.refuses(name, &[code], &request).await;
        }
        desk.accepts_the_good_one().await;
    }
}
