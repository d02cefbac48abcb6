//! Two people with reviewed cloud_proxy connections and sealed secrets, which the tests then attack. Ids are numbered, times are given.

use super::Fixture;
use crate::{
    AccessToken, CloudSecret, Fill, NoRandomness, OAuthGrant, PinnedRow, SealedSecret, Vault, VaultParts, VaultState,
};
use contract::{
    AuditEvent, Digest, Effect, Json,
    audit::{Actor, AuditEntry, AuditLog},
    blob::SecretKind,
    cjson,
    connection::{Profile, Scope, SealFormat},
    device::SessionClass,
    ids::{ConnectionId, DeploymentId, DeviceId, UserId, WorkspaceId},
    review::{Bindings, Era, ReviewRecord, ReviewedTool},
    workspace::WorkspaceKind,
};
use kms::{KekFullName, KekProvider, KekRing, KeyFileProvider, ListedKek, Standing};
use sign::{DeviceKey, Secret, Signed, Verified};
use std::sync::{Arc, Mutex};
use store::{
    ClientAuthMethod, ClientIdentityKind, CloudCredentials, Connection, ConnectionOAuth, KeyStore, NewConnection,
    NewDevice, NewReview, NewWorkspace, RevocationReach, Store, StoreError, VaultCredential, Viewer,
};

pub(super) const NOW: i64 = 1_800_000_000_000;
pub(super) const ENDPOINT: &str = "https://mcp.example.test/mcp";
pub(super) const KEK: [u8; 32] = [0x4b; 32];

pub(super) fn user(n: u8) -> UserId {
    UserId::from_random([n; 16])
}

pub(super) fn workspace(n: u8) -> WorkspaceId {
    WorkspaceId::from_random([n; 16])
}

pub(super) fn device(n: u8) -> DeviceId {
    DeviceId::from_random([n; 16])
}

pub(super) fn connection(n: u8) -> ConnectionId {
    ConnectionId::from_random([n; 16])
}

pub(super) fn deployment() -> DeploymentId {
    DeploymentId::from_random([9; 16])
}

pub(super) fn viewer(n: u8) -> Viewer {
    Viewer { workspace_id: workspace(n), user_id: user(n) }
}

pub(super) fn manifest_digest() -> Digest {
    Digest::of(&[b"manifest"])
}

pub(super) fn entry(n: u8) -> AuditEntry {
    let event = AuditEvent::ConnectionRevoked { connection_id: connection(n) };
    event.entry(AuditLog::Workspace(workspace(n)), Actor::Operator, NOW)
}

/// Bytes that never come twice, from a counter.
pub(super) fn fill() -> Fill {
    let count = Mutex::new(0_u64);
    Arc::new(move |out: &mut [u8]| {
        let mut count = count.lock().map_err(|_| NoRandomness)?;
        for chunk in out.chunks_mut(32) {
            *count += 1;
            let block = Digest::of(&[b"test randomness", &count.to_be_bytes()]);
            chunk.copy_from_slice(&block.as_bytes()[..chunk.len()]);
        }
        Ok(())
    })
}

pub(super) fn key_file(name: &str, key: [u8; 32]) -> KeyFileProvider {
    KeyFileProvider::new(Secret::new(key), KekFullName::parse(name).expect("a name"))
}

pub(super) fn ring(provider: impl KekProvider + 'static) -> KekRing {
    KekRing::new(vec![ListedKek { standing: Standing::Active, provider: Box::new(provider) }]).expect("a ring")
}

pub(super) fn our_ring() -> KekRing {
    ring(key_file("kek-2026", KEK))
}

pub(super) struct World {
    pub(super) store: Store,
    pub(super) keys: KeyStore,
    pub(super) vault: Arc<Vault>,
}

/// A main database with the deployment in it.
pub(super) async fn make_store(config: store::StoreConfig) -> Store {
    let store = Store::open(config).await.expect("opens");
    let made: Result<(), StoreError> = store
        .run("make_owner", |mut tx| async move {
            if tx.find_deployment().await?.is_some() {
                return tx.commit_unchanged(());
            }
            tx.insert_user(&user(0), "Owner", NOW).await?;
            tx.insert_deployment(&deployment(), &user(0), NOW).await?;
            tx.commit_with(entry(0), ()).await
        })
        .await;
    made.expect("an owner");
    store
}

pub(super) async fn start(keks: KekRing, keys: &KeyStore, store: &Store) -> Vault {
    let parts = VaultParts { deployment: deployment(), keks, key_store: keys.clone(), fill: fill() };
    Vault::start(parts, store, NOW).await
}

pub(super) async fn make(fixture: &Fixture) -> World {
    make_with(fixture, our_ring()).await
}

pub(super) async fn make_with(fixture: &Fixture, keks: KekRing) -> World {
    let store = make_store(fixture.main.clone()).await;
    let keys = KeyStore::open(fixture.keys.clone()).await.expect("opens");
    let vault = start(keks, &keys, &store).await;
    assert_eq!(vault.state(), VaultState::Open);
    World { store, keys, vault: Arc::new(vault) }
}

fn device_key(n: u8) -> DeviceKey {
    DeviceKey::from_seed(&Secret::new([n; 32]))
}

pub(super) fn record(n: u8, seq: u64) -> ReviewRecord {
    ReviewRecord {
        connection: connection(n),
        scope: Scope::Personal,
        project: None,
        profile: Profile::CloudProxy,
        endpoint: ENDPOINT.to_owned(),
        era: Era::Stateless,
        raw_digest: manifest_digest(),
        instructions_digest: Digest::of(&[b"instructions"]),
        tools: vec![ReviewedTool {
            name: "look".to_owned(),
            tool_digest: Digest::of(&[b"tool"]),
            effect: Effect::Observe,
            action: "read".to_owned(),
            bindings: Bindings::new(),
        }],
        allowed_effects: vec![Effect::Observe],
        review_seq: seq,
    }
}

pub(super) fn verified(n: u8, record: &ReviewRecord) -> Verified<ReviewRecord> {
    let key = device_key(n);
    Signed::sign(&key, record).expect("signs").verify(&key.public_key()).expect("verifies")
}

pub(super) fn oauth() -> ConnectionOAuth {
    ConnectionOAuth {
        issuer: "https://as.example.test".to_owned(),
        client_id: "client-1".to_owned(),
        client_identity: ClientIdentityKind::Registered,
        client_auth: ClientAuthMethod::ClientSecretBasic,
        scopes: vec!["notes:read".to_owned(), "notes:write".to_owned()],
        subject: Some("ada".to_owned()),
        revocation: RevocationReach::Grant,
        reuse_safe: false,
    }
}

pub(super) fn grant(text: &str) -> CloudSecret {
    CloudSecret::Grant(OAuthGrant {
        refresh_token: Some(Secret::new(format!("rt-{text}"))),
        access: Some(AccessToken { token: Secret::new(format!("at-{text}")), expires_at_s: Some(1_800_000_600) }),
        scopes: vec!["notes:read".to_owned()],
    })
}

impl World {
    /// Person `n` with their workspace and device.
    pub(super) async fn make_person(&self, n: u8) {
        let (owner_id, id) = (&user(n), &workspace(n));
        let public_key = *device_key(n).public_key().as_bytes();
        let device_id = device(n);
        let new = NewDevice {
            id: &device_id,
            user_id: owner_id,
            name: "Laptop",
            public_key: &public_key,
            session_class: SessionClass::Rotating,
        };
        let made: Result<(), StoreError> = self
            .store
            .run("make_person", |mut tx| async move {
                tx.insert_user(owner_id, "Person", NOW).await?;
                tx.insert_workspace(
                    NewWorkspace { id, name: "Personal", kind: WorkspaceKind::Personal, owner_id },
                    NOW,
                )
                .await?;
                tx.insert_device(new, NOW).await?;
                tx.commit_with(entry(n), ()).await
            })
            .await;
        made.expect("a person");
    }

    /// Connection `n` of person `owner`, in `review_required`.
    pub(super) async fn make_connection(&self, n: u8, owner: u8) {
        let (id, device_id, rows) = (connection(n), device(owner), Digest::of(&[b"rows"]));
        let new = NewConnection {
            id: &id,
            name: "Notes",
            project_id: None,
            profile: Profile::CloudProxy,
            endpoint: ENDPOINT,
            manifest: &[],
            manifest_digest: &rows,
            seal_format: SealFormat::V2,
            device_id: &device_id,
        };
        let made: Result<(), StoreError> = self
            .store
            .run("make_connection", |mut tx| async move {
                tx.insert_connection(&viewer(owner), new, NOW).await?;
                tx.commit_with(entry(n), ()).await
            })
            .await;
        made.expect("a connection");
    }

    /// Reviews connection `n` and writes these secrets, sealed under the review.
    pub(super) async fn review(&self, n: u8, owner: u8, secrets: &[SealedSecret], oauth: Option<&ConnectionOAuth>) {
        let standing = self.connection(n, owner).await;
        let verified = verified(owner, &record(n, standing.review_seq + 1));
        let raw: Json = cjson::parse(br#"{"instructions":"","tools":[]}"#, 100).expect("JSON");
        let writes: Vec<_> = secrets.iter().map(SealedSecret::to_write).collect();
        let (wire, review_digest, rows, device_id) =
            (verified.to_wire(), *verified.digest(), Digest::of(&[b"rows"]), device(owner));
        let new = NewReview {
            expected_version: standing.version,
            manifest: &[],
            manifest_digest: &rows,
            raw_manifest: &raw,
            raw_digest: &manifest_digest(),
            review: &wire,
            review_digest: &review_digest,
            review_seq: standing.review_seq + 1,
            allowed_effects: &[Effect::Observe],
            device_id: &device_id,
            credential: CloudCredentials { secrets: &writes, oauth },
        };
        let landed: Result<(), StoreError> = self
            .store
            .run("review", |mut tx| async move {
                tx.review_cloud(&viewer(owner), &connection(n), new, NOW).await?;
                tx.commit_with(entry(n), ()).await
            })
            .await;
        landed.expect("a review");
    }

    /// Connection `n` of person `owner`, reviewed, with a grant and a client secret.
    pub(super) async fn share(&self, n: u8, owner: u8) {
        self.make_connection(n, owner).await;
        let sealed = self.seal_new(n, owner, &[(0, grant(&n.to_string())), (0, client_secret())]).await;
        self.review(n, owner, &sealed, Some(&oauth())).await;
    }

    /// Seals secrets for the next review of connection `n`.
    pub(super) async fn seal_new(&self, n: u8, owner: u8, secrets: &[(u64, CloudSecret)]) -> Vec<SealedSecret> {
        let row = self.connection(n, owner).await;
        let review = verified(owner, &record(n, row.review_seq + 1));
        let pin = PinnedRow::pin_new_review(&deployment(), &workspace(owner), &row, &review, Some(&oauth()));
        let pin = pin.expect("pins");
        let tenant = self.vault.unlock(&workspace(owner), NOW).await.expect("unlocks");
        secrets
            .iter()
            .map(|(version, secret)| self.vault.seal_credential(&tenant, &pin, *version, secret).expect("seals"))
            .collect()
    }

    pub(super) async fn connection(&self, n: u8, owner: u8) -> Connection {
        let found: Result<_, StoreError> = self
            .store
            .read("find", |mut tx| async move { tx.find_connection(&viewer(owner), &connection(n)).await })
            .await;
        found.expect("reads").expect("is there")
    }

    /// The row as it stands, pinned, with one of its secrets: what every operation begins with.
    pub(super) async fn load(
        &self,
        n: u8,
        owner: u8,
        kind: SecretKind,
    ) -> (Result<PinnedRow, crate::PinError>, Option<VaultCredential>) {
        let loaded: Result<_, StoreError> = self
            .store
            .read("load", |mut tx| async move {
                let row = tx.find_connection(&viewer(owner), &connection(n)).await?.expect("is there");
                let oauth = tx.find_connection_oauth(&workspace(owner), &connection(n)).await?;
                let stored = tx.find_vault_credential(&workspace(owner), &connection(n), kind).await?;
                Ok((PinnedRow::pin(&deployment(), &workspace(owner), &row, oauth.as_ref()), stored))
            })
            .await;
        loaded.expect("reads")
    }

    /// Loads and opens for reading the manifest, the least demanding purpose.
    pub(super) async fn opens(&self, n: u8, owner: u8) -> bool {
        let (Ok(pin), Some(stored)) = self.load(n, owner, SecretKind::OAuth).await else { return false };
        self.vault.open_for_manifest(&pin, &stored, NOW).await.is_ok()
    }
}

pub(super) fn client_secret() -> CloudSecret {
    CloudSecret::ClientSecret(Secret::new("client-secret".to_owned()))
}
