//! Sign-ins in progress and waiting credentials: one session, one place, one time, and only as far as their review.

use super::{
    Fixture, on_both_engines,
    world::{
        ENDPOINT, NOW, World, connection, deployment, device, grant, make, oauth, record, user, verified, workspace,
    },
};
use crate::{CallCredential, CloudSecret, PinError, PinnedRow, SessionBinding, TransientPlace, VaultError};
use contract::{
    blob::SecretKind,
    ids::{ConnectionId, FamilyId, WorkspaceId},
};
use sign::Secret;
use store::{ClientAuthMethod, ClientIdentityKind, OAuthTxn, OAuthTxnPurpose, StoreError, Upkeep};

struct Ids {
    workspace: WorkspaceId,
    connection: ConnectionId,
}

fn ids(n: u8) -> Ids {
    Ids { workspace: workspace(n), connection: connection(n) }
}

fn binding(n: u8) -> SessionBinding {
    SessionBinding::of_family(&FamilyId::from_random([n; 16]))
}

fn place(ids: &Ids, session: u8) -> TransientPlace<'_> {
    TransientPlace {
        workspace: &ids.workspace,
        connection: &ids.connection,
        endpoint: ENDPOINT,
        issuer: "https://as.example.test",
        client_id: "client-1",
        binding: binding(session),
    }
}

/// Seals a secret and keeps its row.
async fn keep(world: &World, id: &str, purpose: OAuthTxnPurpose, secret: &CloudSecret) -> OAuthTxn {
    let ids = ids(1);
    let tenant = world.vault.unlock(&ids.workspace, NOW).await.expect("unlocks");
    let sealed = world.vault.seal_transient(&tenant, place(&ids, 1), id, secret).expect("seals");
    let row = OAuthTxn {
        id: id.to_owned(),
        workspace_id: ids.workspace,
        connection_id: ids.connection,
        user_id: user(1),
        device_id: device(1),
        purpose,
        secret_kind: secret.kind(),
        endpoint: ENDPOINT.to_owned(),
        issuer: "https://as.example.test".to_owned(),
        client_id: "client-1".to_owned(),
        client: Some((ClientIdentityKind::Registered, ClientAuthMethod::ClientSecretBasic)),
        scopes: vec!["notes:read".to_owned()],
        subject: Some("ada".to_owned()),
        dek: sealed.dek,
        payload: sealed.payload,
        tmk_gen: sealed.tmk_gen,
        created_at_ms: NOW,
        expires_at_ms: NOW + 600_000,
    };
    let kept = &row;
    let done: Result<(), StoreError> = world
        .store
        .run("keep", |mut tx| async move {
            tx.insert_oauth_txn(kept).await?;
            tx.commit_upkeep(Upkeep::SignIn, ())
        })
        .await;
    done.expect("kept");
    row
}

async fn ready(fixture: &Fixture) -> World {
    let world = make(fixture).await;
    world.make_person(1).await;
    world.make_connection(1, 1).await;
    world
}

on_both_engines! {
    async fn an_authorization_is_taken_once_and_opens_in_its_session(fixture: Fixture) {
        let world = ready(&fixture).await;
        let secret = CloudSecret::Authorization(Secret::new(b"state and verifier".to_vec()));
        keep(&world, "state-1", OAuthTxnPurpose::Authorization, &secret).await;
        let take = async || {
            let taken: Result<_, StoreError> = world.store.run("take", |mut tx| async move {
                let row = tx.take_oauth_txn("state-1", OAuthTxnPurpose::Authorization, NOW).await?;
                tx.commit_upkeep(Upkeep::SignIn, row)
            }).await;
            taken.expect("takes")
        };
        let row = take().await.expect("is there");
        assert_eq!(take().await, None);

        let (mine, other) = (ids(1), ids(2));
        let open = async |place, row: &OAuthTxn, now| world.vault.open_for_sign_in(place, row, now).await;
        assert_eq!(open(place(&mine, 2), &row, NOW).await.err(), Some(VaultError::Open), "another session");
        let mismatch = |field| Some(VaultError::Pin(PinError::Mismatch { field }));
        let here = place(&mine, 1);
        for (wrong, field) in [
            (TransientPlace { workspace: &other.workspace, ..here }, "workspace_id"),
            (TransientPlace { connection: &other.connection, ..here }, "connection_id"),
            (TransientPlace { endpoint: "https://evil.example.test/mcp", ..here }, "endpoint"),
            (TransientPlace { issuer: "https://evil.example.test", ..here }, "issuer"),
            (TransientPlace { client_id: "client-2", ..here }, "client_id"),
        ] {
            assert_eq!(open(wrong, &row, NOW).await.err(), mismatch(field));
        }
        assert_eq!(open(here, &row, row.expires_at_ms).await.err(), mismatch("expires_at_ms"));
        // The row edited to fit the wrong place: the context does not.
        let edited = OAuthTxn { endpoint: "https://evil.example.test/mcp".to_owned(), ..row.clone() };
        let there = TransientPlace { endpoint: "https://evil.example.test/mcp", ..here };
        assert_eq!(open(there, &edited, NOW).await.err(), Some(VaultError::Open));
        let renamed = OAuthTxn { id: "state-2".to_owned(), ..row.clone() };
        assert_eq!(open(here, &renamed, NOW).await.err(), Some(VaultError::Open), "another row");

        let opened = open(here, &row, NOW).await.expect("opens");
        let bytes = opened.expose_for_upstream_request(()).unwrap_or_else(|_| panic!("the bytes"));
        bytes.with(|bytes| assert_eq!(bytes, b"state and verifier"));
    }

    async fn a_waiting_credential_reads_the_manifest_and_becomes_a_reviewed_one(fixture: Fixture) {
        let world = ready(&fixture).await;
        let row = keep(&world, "waiting-1", OAuthTxnPurpose::WaitingCredential, &grant("1")).await;
        let mine = ids(1);
        let here = place(&mine, 1);
        assert_eq!(world.vault.open_for_sign_in(here, &row, NOW).await.err(), Some(VaultError::Pin(PinError::Mismatch { field: "purpose" })));
        let opened = world.vault.open_waiting_for_manifest(here, &row, NOW).await.expect("opens");
        assert_eq!(opened.review_digest(), None);
        assert!(matches!(opened.expose_for_upstream_request(()), Ok(CallCredential::Access(_))));

        let standing = world.connection(1, 1).await;
        let review = verified(1, &record(1, 1));
        let to = PinnedRow::pin_new_review(&deployment(), &workspace(1), &standing, &review, Some(&oauth())).expect("pins");
        let wrong_session = world.vault.reseal_waiting(place(&mine, 2), &row, &to, 0, NOW).await;
        assert_eq!(wrong_session.err(), Some(VaultError::Open));
        let mut elsewhere = oauth();
        elsewhere.issuer = "https://other.example.test".to_owned();
        let other_issuer = PinnedRow::pin_new_review(&deployment(), &workspace(1), &standing, &review, Some(&elsewhere)).expect("pins");
        let refused = world.vault.reseal_waiting(here, &row, &other_issuer, 0, NOW).await;
        assert_eq!(refused.err(), Some(VaultError::Pin(PinError::Mismatch { field: "issuer" })));

        let sealed = world.vault.reseal_waiting(here, &row, &to, 0, NOW).await.expect("reseals");
        world.review(1, 1, &[sealed], Some(&oauth())).await;
        assert!(world.opens(1, 1).await);
    }

    async fn a_waiting_credential_is_no_stored_one(fixture: Fixture) {
        let world = ready(&fixture).await;
        let row = keep(&world, "waiting-1", OAuthTxnPurpose::WaitingCredential, &grant("1")).await;
        let sealed = world.seal_new(1, 1, &[(0, grant("1"))]).await;
        world.review(1, 1, &sealed, Some(&oauth())).await;
        assert!(world.opens(1, 1).await, "the control");
        let (pin, stored) = world.load(1, 1, SecretKind::OAuth).await;
        let (pin, stored) = (pin.expect("pins"), stored.expect("is there"));
        // A writer who puts the unreviewed blobs into the reviewed row, and the reverse.
        let planted = store::VaultCredential { dek: row.dek.clone(), payload: row.payload.clone(), ..stored.clone() };
        assert_eq!(world.vault.open_for_manifest(&pin, &planted, NOW).await.err(), Some(VaultError::Open));
        let planted = OAuthTxn { dek: stored.dek, payload: stored.payload, ..row };
        let mine = ids(1);
        assert_eq!(world.vault.open_waiting_for_manifest(place(&mine, 1), &planted, NOW).await.err(), Some(VaultError::Open));
    }
}

#[test]
fn sessions_of_different_kinds_are_different() {
    let family = FamilyId::from_random([1; 16]);
    let connection = ConnectionId::from_random([1; 16]);
    let all = [
        SessionBinding::of_family(&family),
        SessionBinding::of_browser(&[1; 32]),
        SessionBinding::of_revocation(&connection),
        SessionBinding::of_family(&FamilyId::from_random([2; 16])),
    ];
    assert!(all.iter().enumerate().all(|(at, one)| !all[..at].contains(one)));
}
