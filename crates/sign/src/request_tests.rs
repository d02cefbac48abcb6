//! Tests of request signatures; nothing here is product code.

use super::*;
use crate::Secret;
use contract::digest;
use proptest::prelude::*;

const NOW: u64 = 1_790_000_000;
const NONCE: &str = "AAECAwQFBgcICQoLDA0ODxAR";

fn key_a() -> DeviceKey {
    let mut seed = [0; 32];
    seed.iter_mut().zip(0..).for_each(|(slot, byte)| *slot = byte);
    DeviceKey::from_seed(&Secret::new(seed))
}

fn nonce() -> [u8; 18] {
    b64u::decode_array(NONCE).expect("18 bytes")
}

fn head<'a>(method: &'a str, raw_target: &'a str, body: &[u8]) -> RequestHead<'a> {
    RequestHead { method, raw_target, body_sha256: Digest::of(&[body]) }
}

fn signed(head: &RequestHead<'_>) -> SignatureHeaders {
    sign_request(&key_a(), head, NOW, &nonce()).expect("signs")
}

#[test]
fn vector_post() {
    let body = "{\"note\":\"héllo/\u{2028}\",\"operations\":[]}";
    let head = head("POST", "/v1/sync/push", body.as_bytes());
    assert_eq!(head.body_sha256.b64u(), "Zqek-4N1QPh9Ecl4x8NyShHc0z3NSTo81fxXRXtFRpI");
    assert_eq!(
        digest::hex(&message(&head, "1790000000", NONCE)),
        "504f53540a2f76312f73796e632f707573680a5a71656b2d344e315150683945636c3478384e7953684863307a334e53546f3831667858525874465270490a313739303030303030300a41414543417751464267634943516f4c4441304f44784152"
    );
    let headers = signed(&head);
    assert_eq!((headers.timestamp.as_str(), headers.nonce.as_str()), ("1790000000", NONCE));
    assert_eq!(
        headers.signature,
        "p2WY90IsblLr5ApdDeOkm8wb9UCXCuXppCW4tfjfpPWDXFW21KqWs_dS_OmcZ7FLWpUFDnf8OmNL7nbP7VpiBg"
    );
    let verified = verify_request(&key_a().public_key(), &headers, &head, NOW).expect("verifies");
    assert_eq!((verified.nonce(), verified.signed_at_s()), (&nonce(), NOW));
}

#[test]
fn vector_get_with_query_and_empty_body() {
    let head = head("GET", "/v1/sync/pull?cursor=0&limit=100", b"");
    assert_eq!(head.body_sha256.b64u(), "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU");
    assert_eq!(
        signed(&head).signature,
        "jGA2UGYVQI7akVYbC2TTLQ0l0Nrq1XlzfRcb2Rlj-D7EdSkXYEakpek_bhOHPUpFXkAaC5n4W98kLMP7o8lTDg"
    );
}

#[test]
fn vector_post_with_a_colon_in_the_path() {
    let target = "/v1/missions/0123456789abcdef0123456789abcdef:1790000000/checkpoint";
    let head = head("POST", target, b"{}");
    assert_eq!(
        String::from_utf8(message(&head, "1790000000", NONCE)).expect("text"),
        format!("POST\n{target}\nRBNvo1WzZ4oRRq0W9-hknpT7T8If536DEMBg9hyq_4o\n1790000000\n{NONCE}")
    );
    assert_eq!(
        signed(&head).signature,
        "xv4w6IpMpDwrxHIKkD46zOctpc8rJRrT9qP3-AR6Ud_-el22BX3RBUVTj_JfAJWSL9ftFWqXRrT6faDPban3BA"
    );
}

#[test]
fn h4_everything_that_is_covered_is_checked() {
    let good_head = head("POST", "/v1/x?a=1", b"{}");
    let good = signed(&good_head);
    let key = key_a().public_key();
    let refused =
        |headers: &SignatureHeaders, head: &RequestHead<'_>| verify_request(&key, headers, head, NOW).map(|_| ()).err();
    assert_eq!(refused(&good, &good_head), None);
    for other in [
        head("PUT", "/v1/x?a=1", b"{}"),
        head("POST", "/v1/x?a=2", b"{}"),
        head("POST", "/v1/y?a=1", b"{}"),
        head("POST", "/v1/x?a=1", b"{ }"),
    ] {
        assert_eq!(refused(&good, &other), Some(RequestError::Signature));
    }
    let with = |change: fn(&mut SignatureHeaders)| {
        let mut headers = good.clone();
        change(&mut headers);
        headers
    };
    assert_eq!(refused(&with(|h| h.timestamp = "1790000001".to_owned()), &good_head), Some(RequestError::Signature));
    assert_eq!(
        refused(&with(|h| h.nonce = "AAECAwQFBgcICQoLDA0ODxAS".to_owned()), &good_head),
        Some(RequestError::Signature)
    );
    assert_eq!(refused(&with(|h| h.signature.replace_range(..1, "q")), &good_head), Some(RequestError::Signature));
    let other_key = DeviceKey::from_seed(&Secret::new([9; 32])).public_key();
    assert_eq!(verify_request(&other_key, &good, &good_head, NOW), Err(RequestError::Signature));
}

#[test]
fn h4_headers_have_one_spelling() {
    let head = head("POST", "/v1/x", b"{}");
    let refused = |change: &dyn Fn(&mut SignatureHeaders)| {
        let mut headers = signed(&head);
        change(&mut headers);
        verify_request(&key_a().public_key(), &headers, &head, NOW).map(|_| ()).err()
    };
    for text in ["", "01790000000", "+1790000000", " 1790000000", "1790000000.0", "-1", "99999999999999999999"] {
        let malformed = Some(RequestError::Malformed { header: TIMESTAMP_HEADER });
        assert_eq!(refused(&|h| h.timestamp = text.to_owned()), malformed, "{text}");
    }
    for text in [
        "",
        "AAECAwQFBgcICQoLDA0ODxA",
        "AAECAwQFBgcICQoLDA0ODxAR==",
        "AAECAwQFBgcICQoLDA0ODxAR\n",
        "AAECAwQFBgcICQoLDA0ODx+R",
    ] {
        let malformed = Some(RequestError::Malformed { header: NONCE_HEADER });
        assert_eq!(refused(&|h| h.nonce = text.to_owned()), malformed, "{text}");
    }
    let malformed = Some(RequestError::Malformed { header: SIGNATURE_HEADER });
    assert_eq!(refused(&|h| h.signature.truncate(85)), malformed);
    // The last character of 86 carries four bits that must be zero.
    assert_eq!(refused(&|h| h.signature.replace_range(85.., "B")), malformed);
}

#[test]
fn skew_is_bounded_on_both_sides_and_named() {
    let head = head("POST", "/v1/x", b"{}");
    let at = |now| verify_request(&key_a().public_key(), &signed(&head), &head, now).map(|_| ());
    assert_eq!(at(NOW + limits::REQUEST_SKEW_S_MAX), Ok(()));
    assert_eq!(at(NOW - limits::REQUEST_SKEW_S_MAX), Ok(()));
    assert_eq!(at(NOW + 301), Err(RequestError::ClockSkew { seconds: -301 }));
    assert_eq!(at(NOW - 301), Err(RequestError::ClockSkew { seconds: 301 }));
    assert_eq!(at(u64::MAX), Err(RequestError::ClockSkew { seconds: -i64::MAX }));
    assert_eq!(at(NOW + 301).expect_err("skew").to_string(), "device clock differs by -301 s");
}

#[test]
fn ambiguous_targets_are_refused_on_both_sides() {
    let long = format!("/{}", "a".repeat(limits::TARGET_BYTES_MAX));
    for target in [
        "",
        "v1/x",
        "http://h/v1/x",
        "//v1/x",
        "/v1//x",
        "/v1/../x",
        "/v1/./x",
        "/v1/..",
        "/v1/%2fx",
        "/v1/%2Fx",
        "/v1/%2e%2e/x",
        "/v1/x%5c",
        "/v1/x%00",
        "/v1/x#f",
        "/v1/x y",
        "/v1/\n",
        "/v1/é",
        "/v1/\\x",
        &long,
    ] {
        let head = head("POST", target, b"{}");
        assert_eq!(sign_request(&key_a(), &head, NOW, &nonce()), Err(RequestError::Target), "{target:?}");
    }
    for target in ["/", "/v1/x?u=http://h//a/../b&c=%2f", "/v1/projects/a.b:c-d_e/members", "/v1/x?"] {
        assert!(sign_request(&key_a(), &head("POST", target, b"{}"), NOW, &nonce()).is_ok(), "{target}");
    }
    for method in ["", "post", "PO ST", "POST\nGET"] {
        assert_eq!(sign_request(&key_a(), &head(method, "/v1/x", b""), NOW, &nonce()), Err(RequestError::Target));
    }
    assert_eq!(sign_request(&key_a(), &head("GET", "/v1/x", b"{}"), NOW, &nonce()), Err(RequestError::BodyOnGet));
}

proptest! {
    #[test]
    fn hashing_in_pieces_is_hashing_at_once(pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..8)) {
        let mut hasher = BodyHasher::new();
        pieces.iter().for_each(|piece| hasher.update(piece));
        prop_assert_eq!(hasher.finish(), Digest::of(&[&pieces.concat()]));
    }

    #[test]
    fn e9_arbitrary_headers_never_panic_and_never_verify(
        timestamp in "[0-9]{0,12}|.{0,20}", nonce in "[A-Za-z0-9_-]{24}|.{0,30}", signature in "[A-Za-z0-9_-]{86}|.{0,90}", target in "/.{0,30}|.{0,30}",
    ) {
        let headers = SignatureHeaders { timestamp, nonce, signature };
        let refused = verify_request(&key_a().public_key(), &headers, &head("POST", &target, b"{}"), NOW).is_err();
        prop_assert!(refused);
    }

    #[test]
    fn what_is_signed_verifies(path in "/[a-z0-9:_-]{1,30}", body in proptest::collection::vec(any::<u8>(), 0..60), random in proptest::array::uniform18(any::<u8>())) {
        let head = head("POST", &path, &body);
        let headers = sign_request(&key_a(), &head, NOW, &random).expect("signs");
        let verified = verify_request(&key_a().public_key(), &headers, &head, NOW + 10).expect("verifies");
        prop_assert_eq!(verified.nonce(), &random);
    }
}
