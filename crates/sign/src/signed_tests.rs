//! Tests of signed objects; nothing here is product code.

use super::*;
use crate::Secret;
use contract::{
    blob::{SecretKind, SignatureAlg},
    ids::{ConnectionId, DeviceId, WorkspaceId},
};
use proptest::prelude::*;

fn device(byte: u8) -> DeviceKey {
    DeviceKey::from_seed(&Secret::new([byte; 32]))
}

fn statement() -> CredentialStatement {
    CredentialStatement {
        workspace: WorkspaceId::from_random([2; 16]),
        connection: ConnectionId::from_random([3; 16]),
        version: 1,
        prev_commit: None,
        secret_kind: SecretKind::StaticBearer,
        dek_sha256: Digest::of(&[b"dek"]),
        payload_sha256: Digest::of(&[b"payload"]),
        review_digest: Digest::of(&[b"review"]),
        author_device: DeviceId::from_random([1; 16]),
        usk_gen: 1,
        oauth: None,
    }
}

fn good() -> Signed<CredentialStatement> {
    Signed::sign(&device(1), &statement()).expect("signs")
}

/// A correctly signed object over bytes of our choice.
fn signed_bytes(payload: &[u8]) -> Signed<CredentialStatement> {
    let key = device(1);
    let sig = key.sign(&input::<CredentialStatement>(&key.public_key(), payload).expect("short"));
    Signed { payload: payload.to_vec(), kid: key.public_key().kid(), sig, body: PhantomData }
}

fn refuse(signed: Signed<CredentialStatement>) -> Option<SignedError> {
    signed.verify(&device(1).public_key()).err()
}

#[test]
fn what_was_signed_comes_back() {
    let verified = Signed::<CredentialStatement>::from_wire(&good().to_wire())
        .expect("wire")
        .verify(&device(1).public_key())
        .expect("verifies");
    assert_eq!(verified.body(), &statement());
    assert_eq!(verified.to_wire(), good().to_wire());
    let canonical = cjson::to_canonical(&statement()).expect("canonical");
    assert_eq!(verified.digest(), &Digest::of(&[&canonical]));
    assert_eq!(verified.into_body(), statement());
}

#[test]
fn the_signature_input_is_laid_out_as_written() {
    let key = device(1).public_key();
    let expected = [&b"collie.sig.v2\0"[..], &[0, 2, 0, 1, 0, 1], key.kid().as_bytes(), &[0, 0, 0, 2], b"{}"].concat();
    assert_eq!(input::<CredentialStatement>(&key, b"{}").expect("short"), expected);
}

#[test]
fn e3_a_signature_of_one_type_is_none_of_another() {
    let wire = good().to_wire();
    let as_review = Signed::<ReviewRecord>::from_wire(&wire).expect("wire");
    assert_eq!(as_review.verify(&device(1).public_key()).err(), Some(SignedError::Signature));
    // The same for another version of the same type.
    let key = device(1);
    let payload = cjson::to_canonical(&statement()).expect("canonical");
    let mut bytes = input::<CredentialStatement>(&key.public_key(), &payload).expect("short");
    bytes[labels::SIGNATURE.len() + 3] = 2;
    let other_version = Signed { payload, kid: key.public_key().kid(), sig: key.sign(&bytes), body: PhantomData };
    assert_eq!(refuse(other_version), Some(SignedError::Signature));
}

#[test]
fn e6_the_algorithm_is_the_keys_and_never_the_messages() {
    let key = device(1).public_key();
    let as_alg = |alg: u16| Digest::of(&[&alg.to_be_bytes(), key.as_bytes()]);
    assert_eq!(as_alg(SignatureAlg::Ed25519.number()), key.kid());
    for alg in [0, 2, 3, 4, u16::MAX] {
        let mut other = good();
        other.kid = as_alg(alg);
        assert_eq!(refuse(other), Some(SignedError::OtherKey), "alg {alg}");
        // Signed under the other number, presented under the registered key.
        let payload = cjson::to_canonical(&statement()).expect("canonical");
        let mut bytes = input::<CredentialStatement>(&key, &payload).expect("short");
        let at = labels::SIGNATURE.len() + 4;
        bytes[at..at + 2].copy_from_slice(&alg.to_be_bytes());
        let other = Signed { payload, kid: key.kid(), sig: device(1).sign(&bytes), body: PhantomData };
        assert_eq!(refuse(other), Some(SignedError::Signature), "alg {alg}");
    }
}

#[test]
fn another_key_is_refused_by_name_and_by_signature() {
    assert_eq!(good().verify(&device(2).public_key()).err(), Some(SignedError::OtherKey));
    let mut relabelled = good();
    relabelled.kid = device(2).public_key().kid();
    assert_eq!(relabelled.verify(&device(2).public_key()).err(), Some(SignedError::Signature));
}

#[test]
fn e5_only_one_spelling_is_accepted_even_when_it_is_signed() {
    let canonical = String::from_utf8(cjson::to_canonical(&statement()).expect("canonical")).expect("text");
    assert_eq!(refuse(signed_bytes(canonical.as_bytes())), None, "the control verifies");
    let spelled = [
        ("white space", canonical.replace(",\"version\"", ", \"version\"")),
        ("trailing white space", format!("{canonical}\n")),
        ("escape", canonical.replace("static_bearer", "static\\u005fbearer")),
        ("unknown key", canonical.replace("\"version\":1", "\"version\":1,\"vip\":true")),
        ("default spelled out", canonical.replace("\"payload_sha256\"", "\"prev_commit\":null,\"payload_sha256\"")),
        ("unsorted", canonical.replace("\"version\":1,", "").replacen('{', "{\"version\":1,", 1)),
        ("duplicate", canonical.replace("\"version\":1", "\"version\":1,\"version\":1")),
        ("float", canonical.replace("\"version\":1", "\"version\":1.0")),
        ("exponent", canonical.replace("\"version\":1", "\"version\":1e0")),
        ("long integer", canonical.replace("\"version\":1", "\"version\":9007199254740992")),
        ("trailing bytes", format!("{canonical}{{}}")),
        ("private number", canonical.replace("\"version\":1", "\"version\":{\"$serde_json::private::Number\":\"1\"}")),
        ("other type", canonical.replace("\"version\":1", "\"version\":\"1\"")),
        ("control character", canonical.replace("conn_", "conn_\\u0000")),
        ("depth", canonical.replace("\"version\":1", &format!("\"version\":{}{}", "[".repeat(5000), "]".repeat(5000)))),
        ("array", format!("[{canonical}]")),
        ("empty", String::new()),
    ];
    for (what, text) in spelled {
        assert_ne!(text, canonical, "{what}");
        let refused = refuse(signed_bytes(text.as_bytes()));
        assert!(matches!(refused, Some(SignedError::Body(_) | SignedError::NotCanonical)), "{what}: {refused:?}");
    }
}

#[test]
fn wire_fields_are_strict() {
    type Change = fn(&mut SignedWire);
    let changes: [(&str, Change); 6] = [
        ("payload", |w| w.payload.push('=')),
        ("payload", |w| w.payload = "A".repeat(limits::SIGNED_BODY_BYTES_MAX * 2)),
        ("kid", |w| w.kid.push('A')),
        ("kid", |w| w.kid.clear()),
        ("sig", |w| w.sig.truncate(85)),
        ("sig", |w| w.sig.replace_range(..1, "+")),
    ];
    for (field, change) in changes {
        let mut wire = good().to_wire();
        change(&mut wire);
        assert_eq!(Signed::<CredentialStatement>::from_wire(&wire).err(), Some(SignedError::Malformed { field }));
    }
}

#[test]
fn what_nobody_would_accept_is_not_signed() {
    let mut body = statement();
    body.version = u64::MAX;
    assert!(matches!(Signed::sign(&device(1), &body), Err(SignedError::Body(_))));
}

proptest! {
    #[test]
    fn e9_arbitrary_objects_never_panic_and_never_verify(
        payload in proptest::collection::vec(any::<u8>(), 0..120), sig in proptest::collection::vec(any::<u8>(), 64..=64),
    ) {
        let wire = SignedWire { payload: b64u::encode(&payload), kid: device(1).public_key().kid().b64u(), sig: b64u::encode(&sig) };
        let signed = Signed::<CredentialStatement>::from_wire(&wire).expect("wire");
        prop_assert_eq!(refuse(signed), Some(SignedError::Signature));
        // A right signature over them does not help.
        prop_assert!(refuse(signed_bytes(&payload)).is_some());
    }

    #[test]
    fn e9_arbitrary_wire_text_never_panics(payload in ".{0,40}", kid in ".{0,50}", sig in ".{0,90}") {
        if let Ok(signed) = Signed::<CredentialStatement>::from_wire(&SignedWire { payload, kid, sig }) {
            prop_assert!(refuse(signed).is_some());
        }
    }
}
