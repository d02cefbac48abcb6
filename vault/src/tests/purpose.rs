//! What a secret may be opened for: drift, proofs, and what each purpose gives. A refresh token is in no call.

use super::{
    on_both_engines,
    world::{
        NOW, World, client_secret, connection, deployment, device, entry, grant, make, manifest_digest, oauth, record,
        user, verified, viewer, workspace,
    },
};
use crate::{CallCredential, CloudSecret, Credential, PinError, PinnedRow, ProofError, VaultError};
use authority::{LiveManifest, Pinned, Spent, TrustedReview, decide};
use contract::{Digest, Json, blob::SecretKind, ids::LoanId, review::Era};
use sign::Secret;
use store::{DriftSeen, Intent, NewLoan, StoreError, VaultCredential};

async fn loaded(world: &World, n: u8, kind: SecretKind) -> (PinnedRow, VaultCredential) {
    let (pin, stored) = world.load(n, 1, kind).await;
    (pin.expect("pins"), stored.expect("is there"))
}

/// The whole way to a permit that is spent, under the digest that a credential opened with.
fn spent(n: u8, seq: u64, sealed_under: Digest) -> Spent {
    let review = TrustedReview::accept(record(n, seq), sealed_under, 0).expect("trusted");
    let live = LiveManifest { raw_digest: manifest_digest(), era: Era::Stateless, age_s: 0 };
    let pinned = Pinned::pin(&review, live, "look", &Json::object()).expect("pinned");
    decide(pinned, None, 0).expect("a permit").spend(&Json::object()).expect("spent")
}

async fn drift(world: &World, n: u8, review_digest: &Digest) {
    let seen = Digest::of(&[b"another manifest"]);
    let drifted: Result<(), StoreError> = world
        .store
        .run("drift", |mut tx| async move {
            let seen = DriftSeen { raw_digest: &seen, review_digest };
            tx.report_drift(&viewer(1), &connection(n), seen, NOW).await?;
            tx.commit_with(entry(n), ()).await
        })
        .await;
    drifted.expect("drifts");
}

fn secret_text(secret: &Secret<String>) -> String {
    secret.with(Clone::clone)
}

on_both_engines! {
    async fn a_call_takes_the_access_token_and_a_spent_permit(fixture: Fixture) {
        let world = make(&fixture).await;
        world.make_person(1).await;
        world.share(1, 1).await;
        world.share(2, 1).await;
        let (pin, stored) = loaded(&world, 1, SecretKind::OAuth).await;
        let live = manifest_digest();
        let open = async || world.vault.open_for_call(&pin, &stored, &live, NOW).await.expect("opens");
        let opened = open().await;
        assert_eq!((opened.kind(), opened.version(), opened.access_expires_at_s()), (SecretKind::OAuth, 1, Some(Some(1_800_000_600))));
        let digest = *opened.review_digest().expect("reviewed");
        let Ok(CallCredential::Access(access)) = opened.expose_for_upstream_request(&spent(1, 1, digest)) else { panic!("an access token") };
        assert_eq!(secret_text(&access.token), "at-1");

        // A permit of another connection, or of another review of this one.
        let (other, other_stored) = loaded(&world, 2, SecretKind::OAuth).await;
        let elsewhere = world.vault.open_for_call(&other, &other_stored, &live, NOW).await.expect("opens");
        let elsewhere = spent(2, 1, *elsewhere.review_digest().expect("reviewed"));
        assert_eq!(open().await.expose_for_upstream_request(&elsewhere).err(), Some(ProofError));
        let later = record(1, 2).digest().expect("canonical");
        assert_eq!(open().await.expose_for_upstream_request(&spent(1, 2, later)).err(), Some(ProofError));
    }

    async fn a_grant_without_an_access_token_asks_for_a_refresh(fixture: Fixture) {
        let world = make(&fixture).await;
        world.make_person(1).await;
        world.make_connection(1, 1).await;
        let CloudSecret::Grant(mut only_refresh) = grant("1") else { panic!("a grant") };
        only_refresh.access = None;
        let sealed = world.seal_new(1, 1, &[(0, CloudSecret::Grant(only_refresh))]).await;
        world.review(1, 1, &sealed, Some(&oauth())).await;
        let (pin, stored) = loaded(&world, 1, SecretKind::OAuth).await;
        let opened = world.vault.open_for_manifest(&pin, &stored, NOW).await.expect("opens");
        assert!(matches!(opened.expose_for_upstream_request(()), Ok(CallCredential::RefreshFirst)));
    }

    async fn drift_opens_for_the_manifest_refresh_and_revoke_only(fixture: Fixture) {
        let world = make(&fixture).await;
        world.make_person(1).await;
        world.share(1, 1).await;
        let (pin, stored) = loaded(&world, 1, SecretKind::OAuth).await;
        let changed = Digest::of(&[b"another manifest"]);
        let changed_now = Some(VaultError::Pin(PinError::ManifestChanged));
        assert_eq!(world.vault.open_for_call(&pin, &stored, &changed, NOW).await.err(), changed_now);
        assert_eq!(world.vault.open_for_loan(&pin, &stored, &changed, NOW).await.err(), changed_now);

        drift(&world, 1, pin.review_digest()).await;
        let (pin, stored) = loaded(&world, 1, SecretKind::OAuth).await;
        let live = manifest_digest();
        let again = Some(VaultError::Pin(PinError::ReviewRequired));
        assert_eq!(world.vault.open_for_call(&pin, &stored, &live, NOW).await.err(), again, "even if the old manifest came back");
        assert_eq!(world.vault.open_for_loan(&pin, &stored, &live, NOW).await.err(), again);
        assert!(world.vault.open_for_manifest(&pin, &stored, NOW).await.is_ok());
        assert!(world.vault.open_for_refresh(&pin, &stored, NOW).await.is_ok());
        assert!(world.vault.open_for_revoke(&pin, &stored, NOW).await.is_ok());

        // The next review takes the secret over without anybody seeing it.
        let row = world.connection(1, 1).await;
        let next = verified(1, &record(1, 2));
        let to = PinnedRow::pin_new_review(&deployment(), &workspace(1), &row, &next, Some(&oauth())).expect("pins");
        let sealed = world.vault.reseal_credential(&pin, &stored, &to, NOW).await.expect("reseals");
        world.review(1, 1, &[sealed], Some(&oauth())).await;
        let (pin, stored) = loaded(&world, 1, SecretKind::OAuth).await;
        assert_eq!(stored.version, 2);
        assert!(world.vault.open_for_call(&pin, &stored, &live, NOW).await.is_ok());
    }

    async fn a_refresh_gives_the_grant_for_the_version_of_its_intent(fixture: Fixture) {
        let world = make(&fixture).await;
        world.make_person(1).await;
        world.share(1, 1).await;
        let (pin, stored) = loaded(&world, 1, SecretKind::OAuth).await;
        let intent = |version| Intent { owner: "process-1".to_owned(), fence: 1, version };
        let open = async || world.vault.open_for_refresh(&pin, &stored, NOW).await.expect("opens");
        assert_eq!(open().await.expose_for_upstream_request(&intent(2)).err(), Some(ProofError));
        let Ok(CloudSecret::Grant(opened)) = open().await.expose_for_upstream_request(&intent(1)) else { panic!("a grant") };
        assert_eq!(opened.refresh_token.as_ref().map(secret_text).as_deref(), Some("rt-1"));

        let (_, client) = loaded(&world, 1, SecretKind::ClientSecret).await;
        let opened = world.vault.open_for_client_auth(&pin, &client, NOW).await.expect("opens");
        let shown = opened.expose_for_upstream_request(()).map(|exposed| match exposed {
            CloudSecret::ClientSecret(secret) => secret_text(&secret),
            CloudSecret::Typed(_) | CloudSecret::Grant(_) | CloudSecret::Registration(_) | CloudSecret::Authorization(_) => {
                "another secret".to_owned()
            }
        });
        assert_eq!(shown.ok().as_deref(), Some("client-secret"));
        // A grant is no client's secret, and the reverse.
        let confused = world.vault.open_for_client_auth(&pin, &stored, NOW).await.expect("opens");
        assert!(confused.expose_for_upstream_request(()).is_err());
        let confused = world.vault.open_for_refresh(&pin, &client, NOW).await.expect("opens");
        assert!(confused.expose_for_upstream_request(&intent(1)).is_err());
    }

    async fn a_loan_takes_a_row_and_gives_an_access_token_only(fixture: Fixture) {
        let world = make(&fixture).await;
        world.make_person(1).await;
        world.share(1, 1).await;
        let (pin, stored) = loaded(&world, 1, SecretKind::OAuth).await;
        let (id, connection_id, device_id, review_digest) = (LoanId::from_random([1; 16]), connection(1), device(1), *pin.review_digest());
        let scopes = ["notes:read".to_owned()];
        let new = NewLoan {
            id: &id,
            connection_id: &connection_id,
            device_id: &device_id,
            review_digest: &review_digest,
            credential_version: 1,
            scopes: &scopes,
            unchecked: false,
            ends_at_ms: NOW + 600_000,
        };
        let loan: Result<_, StoreError> = world.store.run("lend", |mut tx| async move {
            let loan = tx.insert_loan(&viewer(1), new, NOW).await?;
            tx.commit_with(entry(1), loan).await
        }).await;
        let loan = loan.expect("lends");
        let live = manifest_digest();
        let open = async || world.vault.open_for_loan(&pin, &stored, &live, NOW).await.expect("opens");
        let lent = open().await.expose_for_upstream_request(&loan).map_err(|_| "refused").map(|access| secret_text(&access.token));
        assert_eq!(lent, Ok("at-1".to_owned()));
        for other in [
            store::Loan { credential_version: 2, ..loan.clone() },
            store::Loan { connection_id: connection(2), ..loan.clone() },
            store::Loan { review_digest: manifest_digest(), ..loan.clone() },
            store::Loan { ended_at_ms: Some(NOW), ..loan.clone() },
        ] {
            assert!(open().await.expose_for_upstream_request(&other).is_err());
        }
    }

    async fn a_static_credential_needs_no_grant_and_is_not_lent(fixture: Fixture) {
        let world = make(&fixture).await;
        world.make_person(1).await;
        world.make_connection(1, 1).await;
        let bearer = || CloudSecret::Typed(Credential::static_bearer(&Secret::new("typed".to_owned())).unwrap_or_else(|_| panic!("a token")));
        let sealed = world.seal_new(1, 1, &[(0, bearer())]).await;
        world.review(1, 1, &sealed, None).await;
        let (pin, stored) = loaded(&world, 1, SecretKind::StaticBearer).await;
        let live = manifest_digest();
        let opened = world.vault.open_for_call(&pin, &stored, &live, NOW).await.expect("opens");
        let digest = *opened.review_digest().expect("reviewed");
        let Ok(CallCredential::Typed(typed)) = opened.expose_for_upstream_request(&spent(1, 1, digest)) else { panic!("typed") };
        typed.expose_for_upstream_request(|lines| assert_eq!(lines[0].secret(), "typed"));
        let loan = store::Loan {
            id: LoanId::from_random([1; 16]), connection_id: connection(1), user_id: user(1), device_id: device(1),
            review_digest: digest, credential_version: 1, scopes: Vec::new(), unchecked: true, issued_at_ms: NOW, ends_at_ms: NOW + 1,
            ended_at_ms: None,
        };
        let opened = world.vault.open_for_loan(&pin, &stored, &live, NOW).await.expect("opens");
        assert!(opened.expose_for_upstream_request(&loan).is_err(), "it would have no end");

        // A grant cannot be sealed where none was reviewed.
        let tenant = world.vault.unlock(&workspace(1), NOW).await.expect("unlocks");
        for secret in [grant("x"), client_secret()] {
            assert_eq!(world.vault.seal_credential(&tenant, &pin, 0, &secret).err(), Some(VaultError::Pin(PinError::NoGrant)));
        }
    }

    async fn a_key_of_one_tenant_seals_nothing_of_another(fixture: Fixture) {
        let world = make(&fixture).await;
        for n in [1, 2] {
            world.make_person(n).await;
        }
        world.share(1, 1).await;
        let (pin, _) = loaded(&world, 1, SecretKind::OAuth).await;
        let other = world.vault.unlock(&workspace(2), NOW).await.expect("unlocks");
        let refused = world.vault.seal_credential(&other, &pin, 1, &grant("x")).err();
        assert_eq!(refused, Some(VaultError::Pin(PinError::Mismatch { field: "workspace_id" })));
    }
}
