//! What our client does before it sends a review: a raw manifest, a record of decisions, signatures and a sealed credential, each part in the test's hands.

use super::Device;
use crate::public_client::random;
use contract::{
    Digest, Effect, Json, cjson,
    connection::{ConnectionRow, CreateConnection, Profile, ReviewConnection, Scope},
    ids::DeploymentId,
    manifest::{self, RawManifest},
    review::{Era, ReviewRecord, ReviewedTool, propose_bindings},
};
use seal::{
    Credential, SealRandom, UserSealingKey,
    device_direct::{Author, CredentialPlace, CredentialRandom, VersionLink},
    seal_device_direct,
};
use sign::{Secret, Signed};

/// A raw manifest of two tools; `mark` stands in a description, so another mark is another manifest.
#[must_use]
pub fn raw_manifest(mark: &str) -> RawManifest {
    let tool = |text: String| cjson::parse(text.as_bytes(), text.len()).expect("a tool is JSON");
    let tools = vec![
        tool(format!(
            r#"{{"name":"send_note","description":"{mark}","inputSchema":{{"type":"object","properties":{{"to":{{"type":"string"}}}}}},"_meta":{{"n":1.0}}}}"#
        )),
        tool(r#"{"name":"list_notes","annotations":{"readOnlyHint":true},"title":"List"}"#.to_owned()),
    ];
    RawManifest::from_tools("Be kind.", tools).expect("a manifest")
}

/// The body that registers a connection to this manifest.
#[must_use]
pub fn create_body(name: &str, raw: &RawManifest, project_id: &str) -> CreateConnection {
    let rows = raw.tools().map(|(name, tool)| {
        manifest::project_v1(name, tool, manifest::propose_effect(tool), manifest::propose_action(name))
    });
    CreateConnection {
        name: name.to_owned(),
        endpoint: "https://mcp.example.test/mcp".to_owned(),
        manifest: rows.collect(),
        scope: if project_id.is_empty() { Scope::Personal } else { Scope::Project },
        project_id: project_id.to_owned(),
        transport: Profile::DeviceDirect,
        seal_format: None,
        draft_id: None,
    }
}

/// The record of a person who accepts every proposal.
#[must_use]
pub fn record(row: &ConnectionRow, raw: &RawManifest) -> ReviewRecord {
    let tools = raw.tools().map(|(name, tool)| ReviewedTool {
        name: name.to_owned(),
        tool_digest: manifest::tool_digest(tool),
        effect: manifest::propose_effect(tool),
        action: manifest::propose_action(name).to_owned(),
        bindings: propose_bindings(tool),
    });
    ReviewRecord {
        connection: row.id.clone(),
        scope: row.scope,
        project: (row.scope == Scope::Project).then(|| row.project_id.parse().expect("an id")),
        profile: row.transport,
        endpoint: row.endpoint.clone(),
        era: Era::Stateless,
        raw_digest: raw.digest(),
        instructions_digest: raw.instructions_digest(),
        tools: tools.collect(),
        allowed_effects: vec![Effect::Observe, Effect::Prepare, Effect::Act],
        review_seq: row.review_seq + 1,
    }
}

/// A person's sealing key on one of their devices.
pub struct Sealer<'a> {
    /// The device.
    pub device: &'a Device,
    /// The installation.
    pub deployment: DeploymentId,
    usk: UserSealingKey,
}

impl<'a> Sealer<'a> {
    /// The key of these bytes on this device.
    #[must_use]
    pub fn new(device: &'a Device, deployment: DeploymentId, key: [u8; 32]) -> Self {
        Self { device, deployment, usk: UserSealingKey::new(1, Secret::new(key)).expect("generation 1") }
    }

    /// Where a credential of this review has its place.
    #[must_use]
    pub fn place(&self, record: &ReviewRecord) -> CredentialPlace {
        CredentialPlace::of_review(&self.deployment, &self.device.workspace_id, record).expect("a place")
    }

    /// The sealing key.
    #[must_use]
    pub const fn usk(&self) -> &UserSealingKey {
        &self.usk
    }

    /// Seals a bearer token for this review.
    #[must_use]
    pub fn seal(&self, record: &ReviewRecord, link: VersionLink, token: &str) -> Json {
        let author = Author { usk: &self.usk, device: &self.device.device_id, device_key: &self.device.key };
        let credential = Credential::static_bearer(&Secret::new(token.to_owned())).expect("a token");
        let random = CredentialRandom::new(Secret::new(random()), SealRandom::new(random()), SealRandom::new(random()));
        let sealed = seal_device_direct(author, &self.place(record), link, &credential, random).expect("seals");
        sealed.to_json().expect("JSON")
    }

    /// The whole body of a review.
    #[must_use]
    pub fn review(
        &self,
        row: &ConnectionRow,
        record: &ReviewRecord,
        raw: &RawManifest,
        link: VersionLink,
    ) -> ReviewConnection {
        ReviewConnection {
            digest: manifest::digest_v1(&record.project_v1(raw)).b64u(),
            allowed_effects: record.allowed_effects.clone(),
            manifest: Some(raw.to_json()),
            review: Some(Signed::sign(&self.device.key, record).expect("signs").to_wire()),
            sealed_credential: Some(self.seal(record, link, "bearer-canary")),
            expected_version: Some(row.version),
        }
    }
}

/// The commitment of a sealed v2 credential: what the next version names.
#[must_use]
pub fn commitment(sealed: &Json) -> Digest {
    let sealed = contract::credential::SealedCredentialV2::parse(sealed).expect("v2");
    sealed.blobs().expect("blobs").commitment
}
