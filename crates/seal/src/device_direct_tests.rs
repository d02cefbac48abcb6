//! Tests of sealed credentials against a service that moves, mixes and rewrites what it stores; nothing here is product code.

use super::*;
use crate::{context::BlobContext as _, recovery};
use contract::{Effect, connection::Scope, review::Era};

fn usk(byte: u8) -> UserSealingKey {
    UserSealingKey::new(1, Secret::new([byte; 32])).expect("generation 1")
}

fn device_key() -> DeviceKey {
    DeviceKey::from_seed(&Secret::new([5; 32]))
}

fn review() -> ReviewRecord {
    ReviewRecord {
        connection: ConnectionId::from_random([3; 16]),
        scope: Scope::Project,
        project: Some(ProjectId::from_random([4; 16])),
        profile: Profile::DeviceDirect,
        endpoint: "https://mcp.example.test/mcp".to_owned(),
        era: Era::Stateless,
        raw_digest: Digest::of(&[b"manifest"]),
        instructions_digest: Digest::of(&[b"instructions"]),
        tools: Vec::new(),
        allowed_effects: vec![Effect::Observe],
        review_seq: 1,
    }
}

fn place_of(review: &ReviewRecord) -> CredentialPlace {
    CredentialPlace::of_review(&DeploymentId::from_random([1; 16]), &WorkspaceId::from_random([2; 16]), review)
        .expect("a place")
}

fn place() -> CredentialPlace {
    place_of(&review())
}

fn random(byte: u8) -> CredentialRandom {
    CredentialRandom::new(Secret::new([byte; 32]), SealRandom::new([byte + 1; 56]), SealRandom::new([byte + 2; 56]))
}

fn bearer(token: &str) -> Credential {
    Credential::static_bearer(&Secret::new(token.to_owned())).expect("a token")
}

fn seal_at(place: &CredentialPlace, link: VersionLink, credential: &Credential, byte: u8) -> SealedCredentialV2 {
    let author = Author { usk: &usk(9), device: &DeviceId::from_random([7; 16]), device_key: &device_key() };
    seal_device_direct(author, place, link, credential, random(byte)).expect("seals")
}

fn sealed() -> SealedCredentialV2 {
    seal_at(&place(), VersionLink::first(), &bearer("s3cret"), 0x10)
}

fn verified(sealed: &SealedCredentialV2) -> Verified<CredentialStatement> {
    Signed::from_wire(&sealed.statement).expect("wire").verify(&device_key().public_key()).expect("verifies")
}

fn open(place: &CredentialPlace, sealed: &SealedCredentialV2) -> Result<OpenedCredential, CredentialOpenError> {
    open_device_direct(&usk(9), place, &verified(sealed), sealed)
}

/// An object whose statement was made to fit by somebody who holds a device key: only the AEAD stands in the way.
fn restated(mut sealed: SealedCredentialV2, change: impl FnOnce(&mut CredentialStatement)) -> SealedCredentialV2 {
    let blobs = sealed.blobs().expect("blobs");
    let mut statement = verified(&sealed).into_body();
    statement.dek_sha256 = Digest::of(&[&blobs.dek]);
    statement.payload_sha256 = Digest::of(&[&blobs.payload]);
    change(&mut statement);
    sealed.version = statement.version;
    sealed.author_device = statement.author_device.clone();
    sealed.usk_gen = statement.usk_gen;
    sealed.statement = Signed::sign(&device_key(), &statement).expect("signs").to_wire();
    sealed
}

fn token_of(opened: &OpenedCredential) -> String {
    opened
        .credential()
        .expose_for_upstream_request(|lines| lines.first().map_or_else(String::new, |line| line.secret().to_owned()))
}

#[test]
fn what_one_device_seals_another_opens() {
    let sealed = sealed();
    let carried = recovery::decode_usk(&recovery::encode_usk(&usk(9)).expect("a text")).expect("a key");
    let opened = open_device_direct(&carried, &place(), &verified(&sealed), &sealed).expect("opens");
    assert_eq!(token_of(&opened), "s3cret");
    assert_eq!(opened.review_digest(), &review().digest().expect("a digest"));
    assert_eq!((opened.head().version, opened.kind()), (1, SecretKind::StaticBearer));
    assert_eq!(opened.author_device(), &DeviceId::from_random([7; 16]));
    // Nothing of the secret is in what travels.
    let wire = sealed.to_json().expect("JSON").canonical_string();
    assert!(!wire.contains("s3cret") && !wire.contains(&b64u::encode("s3cret")));
}

#[test]
fn a_connection_without_a_credential_has_an_authenticated_review_too() {
    let sealed = seal_at(&place(), VersionLink::first(), &Credential::none(), 0x10);
    let opened = open(&place(), &sealed).expect("opens");
    assert_eq!((opened.kind(), opened.review_digest()), (SecretKind::None, place().review_digest()));
    opened.credential().expose_for_upstream_request(|lines| assert!(lines.is_empty()));
}

#[test]
fn blobs_carry_the_key_ids_of_the_rule() {
    let blobs = sealed().blobs().expect("blobs");
    let dek = ClaimedBlob::parse(&blobs.dek).expect("a blob");
    assert_eq!((&dek.key_id, dek.key_gen, dek.version), (usk(9).seal_key().key_id(), 1, 1));
    let payload = ClaimedBlob::parse(&blobs.payload).expect("a blob");
    let expected = Digest::of(&[place().connection().as_str().as_bytes()]);
    assert_eq!((&payload.key_id[..], payload.key_gen, payload.version), (&expected.as_bytes()[..16], 0, 1));
}

#[test]
fn a3_the_rows_of_two_connections_cannot_be_exchanged() {
    let mut other_review = review();
    other_review.connection = ConnectionId::from_random([0x33; 16]);
    let other = place_of(&other_review);
    let foreign = seal_at(&other, VersionLink::first(), &bearer("other"), 0x50);
    assert_eq!(open(&place(), &foreign).err(), Some(CredentialOpenError::OtherPlace { field: "connection" }));
    let moved = restated(foreign, |statement| {
        statement.connection = place().connection().clone();
        statement.review_digest = *place().review_digest();
    });
    assert_eq!(open(&place(), &moved).err(), Some(CredentialOpenError::Open(OpenError)));
}

#[test]
fn a10_data_keys_and_payloads_of_two_versions_do_not_mix() {
    let one = sealed();
    let head = open(&place(), &one).expect("opens").head().clone();
    let two = seal_at(&place(), head.next(), &bearer("newer"), 0x50);
    assert_eq!(token_of(&open(&place(), &two).expect("opens")), "newer");
    for (dek, payload) in [(&one, &two), (&two, &one)] {
        let mixed = SealedCredentialV2 { dek: dek.dek.clone(), payload: payload.payload.clone(), ..two.clone() };
        assert!(
            matches!(mixed.blobs(), Err(CredentialError::Malformed { .. })),
            "the versions in the headers disagree"
        );
        // Two writes of one version by a service that forked: the headers agree, the keys do not.
        let fork = seal_at(&place(), head.next(), &bearer("fork"), 0x70);
        let mixed = SealedCredentialV2 { dek: fork.dek.clone(), ..two.clone() };
        assert_eq!(open(&place(), &restated(mixed, |_| ())).err(), Some(CredentialOpenError::Open(OpenError)));
    }
}

#[test]
fn a5_a_secret_of_one_kind_does_not_open_as_another() {
    let restated = restated(sealed(), |statement| statement.secret_kind = SecretKind::StaticHeader);
    assert_eq!(open(&place(), &restated).err(), Some(CredentialOpenError::Open(OpenError)));
}

#[test]
fn a14_a_data_key_is_no_payload() {
    let good = sealed();
    let swapped = SealedCredentialV2 { dek: good.payload.clone(), payload: good.dek.clone(), ..good };
    assert_eq!(swapped.blobs(), Err(CredentialError::Malformed { field: "dek" }));
}

#[test]
fn c2_a_changed_review_or_place_does_not_open() {
    type Change = fn(&mut ReviewRecord);
    let changes: [(&str, Change); 7] = [
        ("endpoint", |r| r.endpoint.push('/')),
        ("project", |r| r.project = None),
        ("manifest", |r| r.raw_digest = Digest::of(&[b"other"])),
        ("instructions", |r| r.instructions_digest = Digest::of(&[b"other"])),
        ("effects", |r| r.allowed_effects.push(Effect::Act)),
        ("sequence", |r| r.review_seq = 2),
        ("era", |r| r.era = Era::Sessions),
    ];
    for (what, change) in changes {
        let mut other = review();
        change(&mut other);
        let other = place_of(&other);
        assert_eq!(open(&other, &sealed()).err(), Some(CredentialOpenError::OtherPlace { field: "review" }), "{what}");
        let fitted = restated(sealed(), |statement| statement.review_digest = *other.review_digest());
        assert_eq!(open(&other, &fitted).err(), Some(CredentialOpenError::Open(OpenError)), "{what}");
    }
}

#[test]
fn c2_another_deployment_or_workspace_does_not_open() {
    let (deployment, workspace) = (DeploymentId::from_random([1; 16]), WorkspaceId::from_random([2; 16]));
    let other =
        CredentialPlace::of_review(&DeploymentId::from_random([9; 16]), &workspace, &review()).expect("a place");
    assert_eq!(open(&other, &sealed()).err(), Some(CredentialOpenError::Open(OpenError)));
    let other_workspace = WorkspaceId::from_random([9; 16]);
    let other = CredentialPlace::of_review(&deployment, &other_workspace, &review()).expect("a place");
    assert_eq!(open(&other, &sealed()).err(), Some(CredentialOpenError::OtherPlace { field: "workspace" }));
    let fitted = restated(sealed(), |statement| statement.workspace = other_workspace);
    assert_eq!(open(&other, &fitted).err(), Some(CredentialOpenError::Open(OpenError)));
}

/// The place of a review with the digest of another: what a device would build if it believed a row instead of the review.
#[test]
fn c2_each_field_is_bound_by_itself_and_not_only_through_the_review() {
    type Change = fn(&mut CredentialPlace);
    let changes: [Change; 4] = [
        |p| p.endpoint.push('/'),
        |p| p.project = None,
        |p| p.manifest_digest = Digest::of(&[b"other"]),
        |p| p.review_digest = Digest::of(&[b"other"]),
    ];
    for (at, change) in changes.into_iter().enumerate() {
        let mut other = place();
        change(&mut other);
        let fitted = restated(sealed(), |statement| statement.review_digest = other.review_digest);
        assert_eq!(open(&other, &fitted).err(), Some(CredentialOpenError::Open(OpenError)), "change {at}");
    }
}

#[test]
fn what_the_author_claims_is_bound_too() {
    let refused = [
        restated(sealed(), |statement| statement.author_device = DeviceId::from_random([8; 16])),
        restated(seal_at(&place(), VersionLink::after(1, Digest::of(&[b"a"])), &bearer("x"), 1), |statement| {
            statement.prev_commit = Some(Digest::of(&[b"b"]));
        }),
    ];
    for sealed in refused {
        assert_eq!(open(&place(), &sealed).err(), Some(CredentialOpenError::Open(OpenError)));
    }
    // Version and generation stand in the headers, so the structure already disagrees.
    let mut newer = sealed();
    newer.version = 2;
    assert!(matches!(open(&place(), &newer), Err(CredentialOpenError::Malformed(_))));
}

/// Kind and plaintext check each other too, so the binding is shown on the context itself.
#[test]
fn every_claim_and_every_part_of_a_place_reaches_the_context() {
    let (place, claims) = (place(), verified(&sealed()).into_body());
    let ctx = |place: &CredentialPlace, claims: &CredentialStatement| {
        SealedCredentialContext(place.row(claims, &subject_tag(claims))).ctx().expect("a context").as_bytes().to_vec()
    };
    let mut seen = vec![ctx(&place, &claims)];
    let claimed: [fn(&mut CredentialStatement); 4] = [
        |c| c.secret_kind = SecretKind::StaticHeader,
        |c| c.prev_commit = Some(Digest::of(&[b"x"])),
        |c| c.author_device = DeviceId::from_random([0x77; 16]),
        |c| c.usk_gen = 2,
    ];
    for change in claimed {
        let mut other = claims.clone();
        change(&mut other);
        seen.push(ctx(&place, &other));
    }
    let placed: [fn(&mut CredentialPlace); 7] = [
        |p| p.deployment = DeploymentId::from_random([0x77; 16]),
        |p| p.workspace = WorkspaceId::from_random([0x77; 16]),
        |p| p.project = None,
        |p| p.connection = ConnectionId::from_random([0x77; 16]),
        |p| p.endpoint.push('/'),
        |p| p.manifest_digest = Digest::of(&[b"x"]),
        |p| p.review_digest = Digest::of(&[b"x"]),
    ];
    for change in placed {
        let mut other = place.clone();
        change(&mut other);
        seen.push(ctx(&other, &claims));
    }
    assert!(seen.iter().enumerate().all(|(at, one)| !seen[..at].contains(one)));
}

fn oauth() -> SealedCredentialV2 {
    let grant = crate::grant::tests::grant();
    seal_at(&place(), VersionLink::first(), &Credential::oauth(grant).expect("a grant"), 0x30)
}

#[test]
fn a_grant_opens_with_its_tokens_and_its_facts() {
    let sealed = oauth();
    let opened = open(&place(), &sealed).expect("opens");
    assert_eq!((token_of(&opened).as_str(), opened.kind()), ("at", SecretKind::OAuth));
    let grant = opened.credential().grant().expect("a grant");
    assert_eq!(Some(&grant.facts), verified(&sealed).body().oauth.as_ref());
    assert!(grant.refresh_token.as_ref().is_some_and(|token| token.is_same(&Secret::new("rt".to_owned()))));
    assert!(!sealed.to_json().expect("JSON").canonical_string().contains("\"rt\""));
}

#[test]
fn c2_a_grant_of_another_issuer_client_scope_or_person_does_not_open() {
    type Change = fn(&mut GrantFacts);
    let changes: [Change; 6] = [
        |f| f.issuer.push('/'),
        |f| f.client_id.push('x'),
        |f| f.scopes.push("admin".to_owned()),
        |f| drop(f.scopes.pop()),
        |f| f.subject.push('x'),
        |f| f.subject.clear(),
    ];
    for (at, change) in changes.into_iter().enumerate() {
        let other = restated(oauth(), |statement| change(statement.oauth.as_mut().expect("facts")));
        assert_eq!(open(&place(), &other).err(), Some(CredentialOpenError::Open(OpenError)), "change {at}");
    }
    let stripped = restated(oauth(), |statement| statement.oauth = None);
    assert!(matches!(open(&place(), &stripped), Err(CredentialOpenError::Malformed(_))));
    let dressed = restated(sealed(), |statement| statement.oauth = verified(&oauth()).into_body().oauth);
    assert!(matches!(open(&place(), &dressed), Err(CredentialOpenError::Malformed(_))));
    let turned = restated(sealed(), |statement| {
        statement.oauth = verified(&oauth()).into_body().oauth;
        statement.secret_kind = SecretKind::OAuth;
    });
    assert_eq!(open(&place(), &turned).err(), Some(CredentialOpenError::Open(OpenError)));
}

/// The context alone, without the comparison with the plaintext after it.
#[test]
fn every_fact_of_a_grant_reaches_the_context() {
    let (place, claims) = (place(), verified(&oauth()).into_body());
    let ctx = |claims: &CredentialStatement| {
        SealedCredentialContext(place.row(claims, &subject_tag(claims))).ctx().expect("a context").as_bytes().to_vec()
    };
    let changes: [fn(&mut GrantFacts); 4] =
        [|f| f.client_id.push('x'), |f| drop(f.scopes.pop()), |f| f.subject.push('x'), |f| f.issuer.push('x')];
    let mut seen = vec![ctx(&claims)];
    for change in changes {
        let mut other = claims.clone();
        change(other.oauth.as_mut().expect("facts"));
        seen.push(ctx(&other));
    }
    assert!(seen.iter().enumerate().all(|(at, one)| !seen[..at].contains(one)));
}

#[test]
fn another_persons_key_and_another_generation_open_nothing() {
    let sealed = sealed();
    let other = open_device_direct(&usk(8), &place(), &verified(&sealed), &sealed);
    assert_eq!(other.err(), Some(CredentialOpenError::Open(OpenError)));
    let next = UserSealingKey::new(2, Secret::new([9; 32])).expect("a generation");
    let other = open_device_direct(&next, &place(), &verified(&sealed), &sealed);
    assert_eq!(other.err(), Some(CredentialOpenError::OtherGeneration { sealed: 1, held: 2 }));
}

#[test]
fn a_statement_about_another_object_is_refused() {
    let (one, two) = (sealed(), seal_at(&place(), VersionLink::first(), &bearer("other"), 0x60));
    let crossed = open_device_direct(&usk(9), &place(), &verified(&two), &one);
    assert_eq!(
        crossed.err(),
        Some(CredentialOpenError::Malformed(CredentialError::OtherCredential { field: "dek_sha256" }))
    );
}

#[test]
fn a_cloud_proxy_review_is_no_place() {
    let mut other = review();
    other.profile = Profile::CloudProxy;
    let place =
        CredentialPlace::of_review(&DeploymentId::from_random([1; 16]), &WorkspaceId::from_random([2; 16]), &other);
    assert_eq!(place, Err(PlaceError::Profile));
}

#[test]
fn a_version_follows_what_a_device_has_seen() {
    let head = |version, commitment: &[u8], prev: Option<&[u8]>| ChainHead {
        version,
        commitment: Digest::of(&[commitment]),
        prev_commit: prev.map(|prev| Digest::of(&[prev])),
    };
    let seen = head(2, b"two", Some(b"one"));
    assert_eq!(seen.check_follows(&seen), Ok(()));
    assert_eq!(head(3, b"three", Some(b"two")).check_follows(&seen), Ok(()));
    assert_eq!(head(5, b"five", Some(b"four")).check_follows(&seen), Ok(()), "a device that was away");
    assert_eq!(head(1, b"one", None).check_follows(&seen), Err(ChainError::Rollback { offered: 1, seen: 2 }));
    assert_eq!(head(2, b"2", Some(b"one")).check_follows(&seen), Err(ChainError::Fork { offered: 2 }));
    assert_eq!(head(3, b"three", Some(b"2")).check_follows(&seen), Err(ChainError::Fork { offered: 3 }));
    assert_eq!(head(3, b"three", None).check_follows(&seen), Err(ChainError::Fork { offered: 3 }));
    // What a device seals next links to what it opened.
    let opened = open(&place(), &sealed()).expect("opens");
    let next = seal_at(&place(), opened.head().next(), &bearer("next"), 0x30);
    let next = open(&place(), &next).expect("opens");
    assert_eq!(next.head().check_follows(opened.head()), Ok(()));
    assert_eq!(opened.head().check_follows(next.head()), Err(ChainError::Rollback { offered: 1, seen: 2 }));
}

#[test]
fn a1_no_bit_of_either_blob_is_free() {
    let good = sealed();
    let flip = |text: &str, bit: usize| {
        let mut bytes = b64u::decode(text).expect("base64");
        bytes[bit / 8] ^= 1 << (bit % 8);
        b64u::encode(bytes)
    };
    let bits = |text: &str| b64u::decode(text).expect("base64").len() * 8;
    // Every fourth bit here; the envelope's own test flips each of them.
    for bit in (0..bits(&good.dek)).step_by(4) {
        let changed = SealedCredentialV2 { dek: flip(&good.dek, bit), ..good.clone() };
        assert!(
            changed.blobs().is_err() || open(&place(), &restated(changed, |_| ())).is_err(),
            "bit {bit} of the data key"
        );
    }
    for bit in (0..bits(&good.payload)).step_by(4) {
        let changed = SealedCredentialV2 { payload: flip(&good.payload, bit), ..good.clone() };
        assert!(
            changed.blobs().is_err() || open(&place(), &restated(changed, |_| ())).is_err(),
            "bit {bit} of the payload"
        );
    }
}
