//! Relocation attacks on the vault's blobs: keys, rows, tenants, columns, versions, types and generations swapped. Nothing here is product code.

use super::*;
use crate::{
    cloud_secret::OAuthGrant,
    context::{KekName, TenantKeyRow},
};
use contract::ids::{ConnectionId, WorkspaceId};
use proptest::prelude::*;

const KEK: KekName<'static> = KekName { provider: "file", kek_id: "kek-2026", version: "00" };

fn deployment(n: u8) -> DeploymentId {
    DeploymentId::from_random([n; 16])
}

fn workspace(n: u8) -> WorkspaceId {
    WorkspaceId::from_random([n; 16])
}

fn connection(n: u8) -> ConnectionId {
    ConnectionId::from_random([n; 16])
}

fn seal_random(n: u8) -> SealRandom {
    SealRandom::new([n; SealRandom::BYTES])
}

fn random(n: u8) -> CredentialRandom {
    CredentialRandom::new(Secret::new([n; 32]), seal_random(n), seal_random(n ^ 0xff))
}

fn grant(token: &str) -> CloudSecret {
    CloudSecret::Grant(OAuthGrant {
        refresh_token: Some(Secret::new(token.to_owned())),
        access: None,
        scopes: vec!["notes:read".to_owned()],
    })
}

fn token_of(secret: &CloudSecret) -> String {
    let CloudSecret::Grant(grant) = secret else { panic!("a grant") };
    grant.refresh_token.as_ref().expect("a token").with(Clone::clone)
}

/// Everything a context refers to, numbered.
struct World {
    deployment: DeploymentId,
    workspace: WorkspaceId,
    connection: ConnectionId,
    scopes: Vec<String>,
    manifest: Digest,
    review: Digest,
    binding: Digest,
}

fn world(n: u8) -> World {
    World {
        deployment: deployment(n),
        workspace: workspace(n),
        connection: connection(n),
        scopes: vec!["notes:read".to_owned(), format!("x{n}")],
        manifest: Digest::of(&[&[n, 1]]),
        review: Digest::of(&[&[n, 2]]),
        binding: Digest::of(&[&[n, 3]]),
    }
}

impl World {
    fn credential(&self) -> CloudCredentialContext<'_> {
        CloudCredentialContext {
            deployment: &self.deployment,
            workspace: &self.workspace,
            project: None,
            connection: &self.connection,
            endpoint: "https://mcp.example.test/mcp",
            scopes: &self.scopes,
            manifest_digest: &self.manifest,
            issuer: "https://as.example.test",
            client_id: "client-1",
            secret_kind: SecretKind::OAuth,
            review_digest: &self.review,
            subject: "https://as.example.test\0ada",
        }
    }

    fn transient(&self) -> OAuthTransientContext<'_> {
        OAuthTransientContext {
            deployment: &self.deployment,
            workspace: &self.workspace,
            connection: &self.connection,
            endpoint: "https://mcp.example.test/mcp",
            issuer: "https://as.example.test",
            client_id: "client-1",
            secret_kind: SecretKind::OAuth,
            session_binding: &self.binding,
        }
    }

    fn keys(&self, generation: u32) -> TenantKeyRow<'_> {
        TenantKeyRow { deployment: &self.deployment, tenant: Tenant::Workspace(&self.workspace), generation, kek: KEK }
    }
}

fn tmk(n: u8) -> TenantMasterKey {
    TenantMasterKey::new(1, Secret::new([n; 32]))
}

#[test]
fn the_whole_hierarchy_opens() {
    let world = world(1);
    let kek = KeyFileKey::new(Secret::new([9; 32]));
    let (wk, tmk) = (WrappingKey::new(3, Secret::new([8; 32])), TenantMasterKey::new(3, Secret::new([7; 32])));
    let row = world.keys(3);
    let wk_blob = kek.wrap(&WrappingKeyContext(row), &wk, seal_random(1)).expect("wraps");
    let tmk_blob = wk.wrap_tenant_key(&TenantMasterKeyContext(row), &tmk, seal_random(2)).expect("wraps");
    let blobs = tmk.seal_credential(&world.credential(), 7, &grant("rt"), random(3)).expect("seals");

    let wk = kek.unwrap(&WrappingKeyContext(row), &wk_blob).expect("unwraps");
    let tmk = wk.unwrap_tenant_key(&TenantMasterKeyContext(row), &tmk_blob).expect("unwraps");
    assert_eq!(tmk.generation(), 3);
    assert_eq!(token_of(&tmk.open_credential(&world.credential(), 7, &blobs).expect("opens")), "rt");
    let types: Vec<u8> = [&wk_blob, &tmk_blob, &blobs.dek, &blobs.payload].iter().map(|blob| blob[4]).collect();
    assert_eq!(types, [5, 1, 2, 3]);
    assert!(blobs.commitment().is_some());
}

#[test]
fn keys_of_another_tenant_generation_column_or_kek_do_not_open() {
    let (one, two) = (world(1), world(2));
    let kek = KeyFileKey::new(Secret::new([9; 32]));
    let wk = WrappingKey::new(3, Secret::new([8; 32]));
    let row = one.keys(3);
    let wk_blob = kek.wrap(&WrappingKeyContext(row), &wk, seal_random(1)).expect("wraps");
    let tmk_blob = wk.wrap_tenant_key(&TenantMasterKeyContext(row), &tmk(7), seal_random(2)).expect("wraps");
    let others = [
        TenantKeyRow { deployment: &two.deployment, ..row },
        TenantKeyRow { tenant: Tenant::Workspace(&two.workspace), ..row },
        TenantKeyRow { tenant: Tenant::Deployment, ..row },
        TenantKeyRow { generation: 4, ..row },
        TenantKeyRow { kek: KekName { provider: "aws-kms", ..KEK }, ..row },
        TenantKeyRow { kek: KekName { kek_id: "kek-2027", ..KEK }, ..row },
        TenantKeyRow { kek: KekName { version: "", ..KEK }, ..row },
    ];
    for other in others {
        assert!(kek.unwrap(&WrappingKeyContext(other), &wk_blob).is_err(), "{other:?}");
        assert!(wk.unwrap_tenant_key(&TenantMasterKeyContext(other), &tmk_blob).is_err(), "{other:?}");
    }
    // Columns swapped: one key under the other's name.
    assert!(kek.unwrap(&WrappingKeyContext(row), &tmk_blob).is_err());
    assert!(wk.unwrap_tenant_key(&TenantMasterKeyContext(row), &wk_blob).is_err());
    assert!(KeyFileKey::new(Secret::new([1; 32])).unwrap(&WrappingKeyContext(row), &wk_blob).is_err(), "another KEK");
    assert!(kek.unwrap(&WrappingKeyContext(row), &wk_blob).is_ok());
}

#[test]
fn a3_a4_a6_a_credential_of_another_row_does_not_open() {
    let (one, two) = (world(1), world(2));
    let row = one.credential();
    let blobs = tmk(7).seal_credential(&row, 7, &grant("rt"), random(3)).expect("seals");
    let project = contract::ids::ProjectId::from_random([1; 16]);
    let others = [
        CloudCredentialContext { deployment: &two.deployment, ..row },
        CloudCredentialContext { workspace: &two.workspace, ..row },
        CloudCredentialContext { project: Some(&project), ..row },
        CloudCredentialContext { connection: &two.connection, ..row },
        CloudCredentialContext { endpoint: "https://mcp.example.test/mcp/", ..row },
        CloudCredentialContext { scopes: &two.scopes, ..row },
        CloudCredentialContext { scopes: &[], ..row },
        CloudCredentialContext { manifest_digest: &two.manifest, ..row },
        CloudCredentialContext { issuer: "https://as.example.test/", ..row },
        CloudCredentialContext { client_id: "client-2", ..row },
        CloudCredentialContext { secret_kind: SecretKind::ClientSecret, ..row },
        CloudCredentialContext { review_digest: &two.review, ..row },
        CloudCredentialContext { subject: "https://as.example.test\0bob", ..row },
    ];
    for (at, other) in others.iter().enumerate() {
        assert!(tmk(7).open_credential(other, 7, &blobs).is_err(), "change {at}");
    }
    for version in [0, 6, 8, u64::MAX] {
        assert!(tmk(7).open_credential(&row, version, &blobs).is_err(), "version {version}");
    }
    assert!(tmk(8).open_credential(&row, 7, &blobs).is_err(), "another tenant key");
    let newer = TenantMasterKey::new(2, Secret::new([7; 32]));
    assert!(newer.open_credential(&row, 7, &blobs).is_err(), "another generation of the same bytes");
    let shuffled = vec![one.scopes[1].clone(), one.scopes[0].clone(), one.scopes[1].clone()];
    let shuffled = CloudCredentialContext { scopes: &shuffled, ..row };
    assert!(tmk(7).open_credential(&shuffled, 7, &blobs).is_ok(), "order and repetition of scopes are no difference");
}

#[test]
fn a10_an_old_data_key_does_not_open_a_new_payload_nor_the_reverse() {
    let world = world(1);
    let row = world.credential();
    let old = tmk(7).seal_credential(&row, 7, &grant("old"), random(3)).expect("seals");
    let new = tmk(7).seal_credential(&row, 8, &grant("new"), random(4)).expect("seals");
    let mixed = [
        VaultBlobs { dek: old.dek.clone(), payload: new.payload.clone() },
        VaultBlobs { dek: new.dek.clone(), payload: old.payload.clone() },
    ];
    for blobs in &mixed {
        for version in [7, 8] {
            assert!(tmk(7).open_credential(&row, version, blobs).is_err());
        }
    }
    // Even two writes of one version, as after a restored backup, do not mix.
    let twin = tmk(7).seal_credential(&row, 8, &grant("twin"), random(5)).expect("seals");
    let mixed = VaultBlobs { dek: twin.dek, payload: new.payload.clone() };
    assert!(tmk(7).open_credential(&row, 8, &mixed).is_err());
    assert!(tmk(7).open_credential(&row, 8, &new).is_ok());
}

#[test]
fn a5_a14_another_table_or_type_does_not_open() {
    let world = world(1);
    let row = world.credential();
    let credential = tmk(7).seal_credential(&row, 1, &grant("rt"), random(3)).expect("seals");
    let transient = tmk(7).seal_transient(&world.transient(), "t1", &grant("rt"), random(4)).expect("seals");
    assert!(tmk(7).open_transient(&world.transient(), "t1", &transient).is_ok());
    assert!(tmk(7).open_credential(&row, 1, &transient).is_err());
    assert!(tmk(7).open_transient(&world.transient(), "t1", &credential).is_err());
    let swapped = |a: &Vec<u8>, b: &Vec<u8>| VaultBlobs { dek: a.clone(), payload: b.clone() };
    for blobs in [
        swapped(&credential.payload, &credential.dek),
        swapped(&credential.dek, &credential.dek),
        swapped(&credential.payload, &credential.payload),
        swapped(&transient.dek, &credential.payload),
        swapped(&credential.dek, &transient.payload),
    ] {
        assert!(tmk(7).open_credential(&row, 1, &blobs).is_err());
    }
}

#[test]
fn a_transient_opens_in_its_own_session_and_row_only() {
    let (one, two) = (world(1), world(2));
    let row = one.transient();
    let blobs = tmk(7).seal_transient(&row, "t1", &grant("rt"), random(4)).expect("seals");
    let others = [
        OAuthTransientContext { deployment: &two.deployment, ..row },
        OAuthTransientContext { workspace: &two.workspace, ..row },
        OAuthTransientContext { connection: &two.connection, ..row },
        OAuthTransientContext { endpoint: "https://mcp.example.test/", ..row },
        OAuthTransientContext { issuer: "https://other.example.test", ..row },
        OAuthTransientContext { client_id: "client-2", ..row },
        OAuthTransientContext { secret_kind: SecretKind::Pkce, ..row },
        OAuthTransientContext { session_binding: &two.binding, ..row },
    ];
    for (at, other) in others.iter().enumerate() {
        assert!(tmk(7).open_transient(other, "t1", &blobs).is_err(), "change {at}");
    }
    assert!(tmk(7).open_transient(&row, "t2", &blobs).is_err(), "another row");
}

#[test]
fn a_secret_of_another_kind_than_its_row_is_not_sealed() {
    let world = world(1);
    let secret = CloudSecret::ClientSecret(Secret::new("c".to_owned()));
    assert!(tmk(7).seal_credential(&world.credential(), 1, &secret, random(3)).is_err());
    assert!(tmk(7).seal_transient(&world.transient(), "t1", &secret, random(3)).is_err());
}

#[test]
fn the_canary_is_of_this_installation_and_key() {
    let blob = tmk(7).seal_canary(&deployment(1), seal_random(1)).expect("seals");
    assert!(tmk(7).check_canary(&deployment(1), &blob).is_ok());
    assert!(tmk(7).check_canary(&deployment(2), &blob).is_err());
    assert!(tmk(8).check_canary(&deployment(1), &blob).is_err());
    assert!(tmk(7).check_canary(&deployment(1), b"CLV2").is_err());
    // What it holds is no data key: nothing is sealed under it.
    let world = world(1);
    let blobs = tmk(7).seal_credential(&world.credential(), 1, &grant("rt"), random(3)).expect("seals");
    let planted = VaultBlobs { dek: blob, payload: blobs.payload };
    assert!(tmk(7).open_credential(&world.credential(), 1, &planted).is_err());
}

#[test]
fn a_rotation_moves_the_data_key_and_nothing_else() {
    let world = world(1);
    let row = world.credential();
    let (old, new) = (tmk(7), TenantMasterKey::new(2, Secret::new([6; 32])));
    let blobs = old.seal_credential(&row, 7, &grant("rt"), random(3)).expect("seals");
    let rotation = Rotation::new(&old, &new);
    let dek = rotation.rewrap(&row.key_context(), 7, &blobs.dek, seal_random(9)).expect("rewraps");
    let moved = VaultBlobs { dek, payload: blobs.payload.clone() };
    assert_eq!(token_of(&new.open_credential(&row, 7, &moved).expect("opens")), "rt");
    assert!(old.open_credential(&row, 7, &moved).is_err());
    assert!(rotation.rewrap(&row.key_context(), 8, &blobs.dek, seal_random(9)).is_err(), "another version");
    assert!(rotation.rewrap(&row.key_context(), 7, &moved.dek, seal_random(9)).is_err(), "moved already");
}

#[test]
fn a1_a2_every_bit_and_every_length_counts() {
    let world = world(1);
    let row = world.credential();
    let good = tmk(7).seal_credential(&row, 1, &grant("r"), random(3)).expect("seals");
    let opens = |dek: &[u8], payload: &[u8]| {
        tmk(7).open_credential(&row, 1, &VaultBlobs { dek: dek.to_vec(), payload: payload.to_vec() }).is_ok()
    };
    assert!(opens(&good.dek, &good.payload));
    for bit in 0..good.dek.len() * 8 {
        let mut dek = good.dek.clone();
        dek[bit / 8] ^= 1 << (bit % 8);
        assert!(!opens(&dek, &good.payload), "bit {bit} of the data key");
    }
    for bit in 0..good.payload.len() * 8 {
        let mut payload = good.payload.clone();
        payload[bit / 8] ^= 1 << (bit % 8);
        assert!(!opens(&good.dek, &payload), "bit {bit} of the payload");
    }
    for length in 0..good.payload.len() {
        assert!(!opens(&good.dek, &good.payload[..length]), "prefix {length}");
    }
    assert!(!opens(&good.dek, &[&good.payload[..], &[0]].concat()));
}

proptest! {
    #[test]
    fn what_is_sealed_opens_for_its_own_world_only(a in 1_u8..=250, b in 1_u8..=250, version in 1_u64..=u64::MAX, token in "[!-~]{1,40}") {
        let (one, two) = (world(a), world(b));
        let blobs = tmk(a).seal_credential(&one.credential(), version, &grant(&token), random(a)).expect("seals");
        let opened = tmk(b).open_credential(&two.credential(), version, &blobs);
        prop_assert_eq!(opened.is_ok(), a == b);
        if let Ok(secret) = opened {
            prop_assert_eq!(token_of(&secret), token);
        }
    }
}
