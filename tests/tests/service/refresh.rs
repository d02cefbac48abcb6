//! What the service promises to devices that share a grant (2.b.8): one intent at a time that nothing but its owner, a revocation or a new consent ends, and no write that would lose a token on its way.

use crate::steps::{create, deployment, row, target};
use collie_tests::{
    harness::{
        Device, World,
        sealing::{self, Sealer, raw_manifest, record},
    },
    on_both_engines,
    public_client::random,
};
use contract::{
    Code, Json, cjson,
    connection::{ConnectionRow, DriftReport},
    credential::PutCredential,
    ids::DeploymentId,
    limits,
    refresh::{
        PlaceIntent, RefreshAnswer, RefreshAttempt, RefreshIntent, RefreshOutcome, RefreshState, RefreshStatus,
        StoreConsent, UploadRefreshed, WithdrawIntent,
    },
    review::ReviewRecord,
};
use seal::device_direct::VersionLink;

/// A reviewed connection with its first credential, and the key that seals the next ones.
pub(crate) struct Grant {
    pub(crate) deployment: DeploymentId,
    pub(crate) key: [u8; 32],
    pub(crate) row: ConnectionRow,
    pub(crate) record: ReviewRecord,
    pub(crate) sealed: Json,
}

impl Grant {
    pub(crate) async fn share(world: &World, device: &Device) -> Self {
        let (deployment, key, raw) = (deployment(world).await, random(), raw_manifest("one"));
        let sealer = Sealer::new(device, deployment.clone(), key);
        let made = create(device, &raw).await;
        let record = record(&made, &raw);
        let review = sealer.review(&made, &record, &raw, VersionLink::first());
        let row = row(device.post_typed(&target(&made, "review"), &review).await.expect_ok());
        Self { deployment, key, row, record, sealed: review.sealed_credential.expect("sealed") }
    }

    /// The next version after `sealed`, by this device.
    pub(crate) fn seal_after(&self, device: &Device, version: u64, sealed: &Json, token: &str) -> Json {
        let link = VersionLink::after(version, sealing::commitment(sealed));
        Sealer::new(device, self.deployment.clone(), self.key).seal(&self.record, link, token)
    }

    pub(crate) fn target(&self, call: &str) -> String {
        target(&self.row, &format!("refresh/{call}"))
    }

    pub(crate) async fn state(&self, device: &Device) -> RefreshState {
        let body = device.get(&target(&self.row, "refresh")).await.expect_ok().canonical();
        cjson::from_slice(&body, body.len()).expect("a state")
    }

    pub(crate) async fn change<T: serde::Serialize>(&self, device: &Device, call: &str, body: &T) -> RefreshAnswer {
        let body = device.post_typed(&self.target(call), body).await.expect_ok().canonical();
        cjson::from_slice(&body, body.len()).expect("an answer")
    }

    async fn lease(&self, device: &Device) -> RefreshAnswer {
        self.change(device, "lease", &Json::object()).await
    }

    /// Lease and intent for the stored version.
    async fn intend(&self, device: &Device) -> RefreshAttempt {
        let leased = self.lease(device).await;
        assert_eq!(leased.outcome, RefreshOutcome::Done);
        let RefreshState { fence, credential_version: version, grant_epoch, .. } = leased.state;
        let placed = self.change(device, "intent", &PlaceIntent { fence, version, grant_epoch, replaces: None }).await;
        assert_eq!(placed.outcome, RefreshOutcome::Done);
        RefreshAttempt { fence, version, grant_epoch }
    }
}

fn upload(attempt: &RefreshAttempt, sealed: &Json) -> UploadRefreshed {
    let RefreshAttempt { fence, version, grant_epoch } = *attempt;
    UploadRefreshed { fence, version, grant_epoch, sealed_credential: sealed.clone() }
}

fn place(attempt: &RefreshAttempt) -> PlaceIntent {
    let RefreshAttempt { fence, version, grant_epoch } = *attempt;
    PlaceIntent { fence, version, grant_epoch, replaces: None }
}

async fn kinds(world: &World) -> Vec<String> {
    let mut kinds = world.database.texts("audit_event", "kind").await;
    kinds.retain(|kind| kind.starts_with("connection.re"));
    kinds.sort();
    kinds
}

const LEASE_MS: i64 = limits::REFRESH_LEASE_S_MAX.cast_signed() * 1000;

on_both_engines! {
    async fn a_refresh_goes_from_lease_to_next_version(world: World) {
        let browser = world.sign_in_owner().await;
        let (one, two) = (world.pair_device(&browser, "Laptop").await, world.pair_device(&browser, "Desk").await);
        let grant = Grant::share(&world, &one).await;
        let first = grant.state(&two).await;
        assert_eq!((first.grant_epoch, first.credential_version, first.status), (1, 1, RefreshStatus::Live));
        assert_eq!((first.fence, first.lease, first.intent), (0, None, None));

        let attempt = grant.intend(&one).await;
        assert_eq!(grant.change(&one, "intent", &place(&attempt)).await.outcome, RefreshOutcome::Done, "a repeat");
        let taken = grant.lease(&two).await;
        assert_eq!(taken.outcome, RefreshOutcome::LeaseTaken);
        let next = grant.seal_after(&one, 1, &grant.sealed, "second");
        let stored = grant.change(&one, "upload", &upload(&attempt, &next)).await;
        assert_eq!(stored.outcome, RefreshOutcome::Done);
        assert_eq!((stored.state.credential_version, stored.state.intent, stored.state.lease), (2, None, None));
        let seen = two.get(&target(&grant.row, "credential")).await.expect_ok();
        assert_eq!(seen.find("sealed_credential"), Some(&next));
        let before = world.database.rows().await;
        assert_eq!(grant.change(&one, "upload", &upload(&attempt, &next)).await.outcome, RefreshOutcome::Done, "a lost answer");
        let other = grant.seal_after(&one, 1, &grant.sealed, "other");
        assert_eq!(grant.change(&one, "upload", &upload(&attempt, &other)).await.outcome, RefreshOutcome::Lost);
        assert_eq!(world.database.rows().await["audit_event"], before["audit_event"]);
        assert_eq!(kinds(&world).await, ["connection.refresh_intended", "connection.refreshed", "connection.reviewed"]);
    }

    // Rules (i), (ii), (iii): the lease ends, the intent does not.
    async fn an_intent_outlives_its_lease(world: World) {
        let browser = world.sign_in_owner().await;
        let (one, two) = (world.pair_device(&browser, "Laptop").await, world.pair_device(&browser, "Desk").await);
        let grant = Grant::share(&world, &one).await;
        let attempt = grant.intend(&one).await;
        world.clock.advance(LEASE_MS);
        let leased = grant.lease(&two).await;
        assert_eq!(leased.outcome, RefreshOutcome::Done, "the lease has run out");
        assert_eq!(leased.state.intent.as_ref().map(|intent| intent.owner.as_str()), Some(one.device_id.as_str()));
        let late = RefreshAttempt { fence: leased.state.fence, ..attempt.clone() };
        assert_eq!(grant.change(&two, "intent", &place(&late)).await.outcome, RefreshOutcome::Lost, "an intent stands");
        let theirs = WithdrawIntent { fence: attempt.fence, version: 1 };
        assert_eq!(grant.change(&two, "withdraw", &theirs).await.outcome, RefreshOutcome::Lost, "not its own");
        for call in ["uncertain", "dead"] {
            assert_eq!(grant.change(&two, call, &attempt).await.outcome, RefreshOutcome::Lost, "not its own");
        }
        let foreign = grant.seal_after(&two, 1, &grant.sealed, "x");
        assert_eq!(grant.change(&two, "upload", &upload(&attempt, &foreign)).await.outcome, RefreshOutcome::Lost);
        let next = grant.seal_after(&one, 1, &grant.sealed, "second");
        for (call, other) in [("uncertain", 2), ("dead", 2), ("upload", 2)] {
            let attempt = RefreshAttempt { grant_epoch: other, ..attempt.clone() };
            let answer = match call {
                "upload" => grant.change(&one, call, &upload(&attempt, &next)).await,
                _ => grant.change(&one, call, &attempt).await,
            };
            assert_eq!(answer.outcome, RefreshOutcome::Lost, "{call} in another epoch");
        }
        assert_eq!(grant.change(&one, "upload", &upload(&attempt, &next)).await.outcome, RefreshOutcome::Done, "without a lease");
    }

    async fn an_intent_needs_the_newest_fence_version_and_epoch(world: World) {
        let browser = world.sign_in_owner().await;
        let (one, two) = (world.pair_device(&browser, "Laptop").await, world.pair_device(&browser, "Desk").await);
        let grant = Grant::share(&world, &one).await;
        let fence = grant.lease(&one).await.state.fence;
        let good = RefreshAttempt { fence, version: 1, grant_epoch: 1 };
        let spoilt = [
            RefreshAttempt { fence: fence + 1, ..good.clone() },
            RefreshAttempt { version: 2, ..good.clone() },
            RefreshAttempt { grant_epoch: 2, ..good.clone() },
            RefreshAttempt { fence: 0, ..good.clone() },
        ];
        for attempt in &spoilt {
            assert_eq!(grant.change(&one, "intent", &place(attempt)).await.outcome, RefreshOutcome::Lost, "{attempt:?}");
        }
        assert_eq!(grant.change(&two, "intent", &place(&good)).await.outcome, RefreshOutcome::Lost, "a stolen fence");
        world.clock.advance(LEASE_MS);
        let newer = grant.lease(&two).await.state.fence;
        assert_eq!(newer, fence + 1);
        assert_eq!(grant.change(&one, "intent", &place(&good)).await.outcome, RefreshOutcome::Lost, "an old fence");
        let theirs = RefreshAttempt { fence: newer, ..good };
        assert_eq!(grant.change(&two, "intent", &place(&theirs)).await.outcome, RefreshOutcome::Done);

        // (iii): only by name, for a provider that answers a repeated token again.
        world.clock.advance(LEASE_MS);
        let fence = grant.lease(&one).await.state.fence;
        let standing = RefreshIntent { owner: two.device_id.as_str().to_owned(), fence: newer, version: 1 };
        let over = |replaces| PlaceIntent { fence, version: 1, grant_epoch: 1, replaces: Some(replaces) };
        let wrong = RefreshIntent { fence: newer + 1, ..standing.clone() };
        assert_eq!(grant.change(&one, "intent", &over(wrong)).await.outcome, RefreshOutcome::Lost);
        assert_eq!(grant.change(&one, "intent", &over(standing)).await.outcome, RefreshOutcome::Done);
    }

    async fn nothing_is_sealed_over_a_token_on_its_way(world: World) {
        let browser = world.sign_in_owner().await;
        let (one, two) = (world.pair_device(&browser, "Laptop").await, world.pair_device(&browser, "Desk").await);
        let grant = Grant::share(&world, &one).await;
        let attempt = grant.intend(&one).await;
        let over = grant.seal_after(&two, 1, &grant.sealed, "over");
        let put = PutCredential { sealed_credential: over, expected_version: Some(grant.row.version) };
        two.post_typed(&target(&grant.row, "credential"), &put).await.expect_refusal(Code::ConnectionRefreshing);
        let (raw, sealer) = (raw_manifest("two"), Sealer::new(&two, grant.deployment.clone(), grant.key));
        let again = record(&grant.row, &raw);
        let review = sealer.review(&grant.row, &again, &raw, VersionLink::after(1, sealing::commitment(&grant.sealed)));
        two.post_typed(&target(&grant.row, "review"), &review).await.expect_refusal(Code::ConnectionRefreshing);

        // A drift narrows all the same, and the refresh ends under the reviewed values.
        let report = DriftReport { raw_digest: raw.digest(), review_digest: grant.record.digest().expect("a digest") };
        two.post_typed(&target(&grant.row, "drift"), &report).await.expect_ok();
        let next = grant.seal_after(&one, 1, &grant.sealed, "second");
        assert_eq!(grant.change(&one, "upload", &upload(&attempt, &next)).await.outcome, RefreshOutcome::Done);
        assert_eq!(kinds(&world).await.last().map(String::as_str), Some("connection.reviewed"), "no second review");
    }

    async fn an_uncertain_or_dead_grant_waits_for_a_new_consent(world: World) {
        let browser = world.sign_in_owner().await;
        let (one, two) = (world.pair_device(&browser, "Laptop").await, world.pair_device(&browser, "Desk").await);
        let grant = Grant::share(&world, &one).await;
        let mut sealed = grant.sealed.clone();
        for (n, (call, status)) in [("uncertain", RefreshStatus::Uncertain), ("dead", RefreshStatus::Dead)].into_iter().enumerate() {
            let epoch = n as u64 + 1;
            let attempt = grant.intend(&one).await;
            assert_eq!(grant.change(&one, call, &attempt).await.state.status, status);
            let leased = grant.lease(&two).await;
            let theirs = RefreshAttempt { fence: leased.state.fence, ..attempt.clone() };
            assert_eq!(grant.change(&two, "intent", &place(&theirs)).await.outcome, RefreshOutcome::Lost, "{status}");
            let fresh = grant.seal_after(&two, epoch, &sealed, "consented");
            let stale = StoreConsent { grant_epoch: epoch + 1, sealed_credential: fresh.clone() };
            assert_eq!(grant.change(&two, "reconsent", &stale).await.outcome, RefreshOutcome::Lost);
            let consent = StoreConsent { grant_epoch: epoch, sealed_credential: fresh.clone() };
            let stored = grant.change(&two, "reconsent", &consent).await;
            assert_eq!((stored.outcome, stored.state.grant_epoch, stored.state.status), (RefreshOutcome::Done, epoch + 1, RefreshStatus::Live));
            assert_eq!((stored.state.intent, stored.state.credential_version), (None, epoch + 1));
            assert_eq!(grant.change(&two, "reconsent", &consent).await.outcome, RefreshOutcome::Lost, "one consent per epoch");
            sealed = fresh;
        }
    }

    // (ii): a new consent does not wait for an intent, and what the old one brings is refused.
    async fn a_new_consent_voids_a_standing_intent(world: World) {
        let browser = world.sign_in_owner().await;
        let (one, two) = (world.pair_device(&browser, "Laptop").await, world.pair_device(&browser, "Desk").await);
        let grant = Grant::share(&world, &one).await;
        let attempt = grant.intend(&one).await;
        let fresh = grant.seal_after(&two, 1, &grant.sealed, "consented");
        let consent = StoreConsent { grant_epoch: 1, sealed_credential: fresh };
        assert_eq!(grant.change(&two, "reconsent", &consent).await.outcome, RefreshOutcome::Done);
        let next = grant.seal_after(&one, 1, &grant.sealed, "second");
        let late = grant.change(&one, "upload", &upload(&attempt, &next)).await;
        assert_eq!((late.outcome, late.state.grant_epoch, late.state.credential_version), (RefreshOutcome::Lost, 2, 2));
        for call in ["uncertain", "dead"] {
            assert_eq!(grant.change(&one, call, &attempt).await.outcome, RefreshOutcome::Lost);
        }
        assert_eq!(grant.state(&one).await.status, RefreshStatus::Live, "the new grant is untouched");
    }

    // (ix)
    async fn a_revoked_devices_intent_needs_the_person(world: World) {
        let browser = world.sign_in_owner().await;
        let (one, two) = (world.pair_device(&browser, "Laptop").await, world.pair_device(&browser, "Desk").await);
        let grant = Grant::share(&world, &one).await;
        let other = Grant::share(&world, &two).await;
        let (attempt, theirs) = (grant.intend(&one).await, other.intend(&two).await);
        let body = cjson::parse(format!(r#"{{"device_id":"{}"}}"#, one.device_id).as_bytes(), 200).expect("JSON");
        two.post("/v1/devices/revoke", &body).await.expect_ok();
        let state = grant.state(&two).await;
        assert_eq!((state.status, state.intent, state.lease), (RefreshStatus::Uncertain, None, None));
        assert_eq!(other.state(&two).await.intent.map(|intent| intent.fence), Some(theirs.fence), "another device's stands");
        let next = grant.seal_after(&one, 1, &grant.sealed, "second");
        let late = one.post_typed(&grant.target("upload"), &upload(&attempt, &next)).await;
        assert_eq!(late.status, 401, "its session is over");
        assert!(kinds(&world).await.contains(&"connection.refresh_stuck".to_owned()));
    }

    async fn only_the_persons_own_v2_connections_are_refreshed(world: World) {
        let browser = world.sign_in_owner().await;
        let device = world.pair_device(&browser, "Laptop").await;
        let theirs = world.sign_in_as(&world.make_person(7).await).await;
        let stranger = world.pair_device(&theirs, "Theirs").await;
        let grant = Grant::share(&world, &device).await;
        stranger.get(&target(&grant.row, "refresh")).await.expect_refusal(Code::NotFound);
        stranger.post(&grant.target("lease"), &Json::object()).await.expect_refusal(Code::NotFound);
        let raw = raw_manifest("one");
        let unsealed = create(&device, &raw).await;
        device.get(&target(&unsealed, "refresh")).await.expect_refusal(Code::IllegalTransition);
        let v1 = contract::connection::CreateConnection {
            seal_format: Some(contract::connection::SealFormat::V1),
            ..sealing::create_body("Public", &raw, "")
        };
        let v1 = row(device.post_typed("/v1/connections", &v1).await.expect_ok());
        device.get(&target(&v1, "refresh")).await.expect_refusal(Code::Unsupported);
        grant.intend(&device).await;
        device.post(&target(&grant.row, "revoke"), &Json::object()).await.expect_ok();
        device.get(&target(&grant.row, "refresh")).await.expect_refusal(Code::ConnectionRevoked);
        assert_eq!(world.database.rows().await["connection_refresh"], 0);
    }

    async fn of_two_racing_devices_one_intends(world: World) {
        let browser = world.sign_in_owner().await;
        let (one, two) = (world.pair_device(&browser, "Laptop").await, world.pair_device(&browser, "Desk").await);
        let grant = Grant::share(&world, &one).await;
        let (mut sealed, mut version) = (grant.sealed.clone(), 1);
        // Each round moves the clock by a minute, and a signature is taken for five.
        for _ in 0..4 {
            // Both believe that the lease is theirs: the second takes it when the first has run out.
            let early = grant.lease(&one).await.state.fence;
            world.clock.advance(LEASE_MS);
            let late = grant.lease(&two).await.state.fence;
            let with = |fence| PlaceIntent { fence, version, grant_epoch: 1, replaces: None };
            let (early_body, late_body) = (with(early), with(late));
            let (a, b) = tokio::join!(grant.change(&one, "intent", &early_body), grant.change(&two, "intent", &late_body));
            assert_eq!((a.outcome, b.outcome), (RefreshOutcome::Lost, RefreshOutcome::Done));
            let attempt = RefreshAttempt { fence: late, version, grant_epoch: 1 };
            let next = grant.seal_after(&two, version, &sealed, "next");
            let body = upload(&attempt, &next);
            let (a, b) = tokio::join!(grant.change(&two, "upload", &body), grant.change(&two, "upload", &body));
            assert_eq!((a.outcome, b.outcome), (RefreshOutcome::Done, RefreshOutcome::Done), "the same bytes twice");
            (sealed, version) = (next, version + 1);
            assert_eq!(grant.state(&one).await.credential_version, version, "stored once");
        }
    }
}
