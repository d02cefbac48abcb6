//! Tests of keys and of the strict verifier; nothing here is product code.
#![expect(clippy::string_slice, reason = "the text is ASCII, and a test may stop at the first surprise")]

use super::*;
use curve25519_dalek::{EdwardsPoint, Scalar, constants::EIGHT_TORSION};
use ed25519_dalek::Verifier as _;
use proptest::prelude::*;
use sha2::{Digest as _, Sha512};

fn device(byte: u8) -> DeviceKey {
    DeviceKey::from_seed(&Secret::new([byte; 32]))
}

fn seed(first: u8) -> Secret<[u8; 32]> {
    let mut seed = [0; 32];
    seed.iter_mut().zip(first..).for_each(|(slot, byte)| *slot = byte);
    Secret::new(seed)
}

/// Group order L, little-endian.
const ORDER: [u8; 32] = [
    0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, 0, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
];

/// Little-endian 2^255−19+`plus`, with the sign bit as asked: a spelling of y that no encoder makes.
fn y_beyond_p(plus: u8, sign: bool) -> [u8; 32] {
    let mut bytes = [0xff; 32];
    bytes[0] = 0xed + plus;
    bytes[31] = if sign { 0xff } else { 0x7f };
    bytes
}

fn challenge(r: &EdwardsPoint, a: &EdwardsPoint, message: &[u8]) -> Scalar {
    let hash =
        Sha512::new().chain_update(r.compress().as_bytes()).chain_update(a.compress().as_bytes()).chain_update(message);
    Scalar::from_hash(hash)
}

fn signature(r: &EdwardsPoint, s: &Scalar) -> [u8; 64] {
    let mut bytes = [0; 64];
    bytes[..32].copy_from_slice(r.compress().as_bytes());
    bytes[32..].copy_from_slice(s.as_bytes());
    bytes
}

/// Must-fail control: the lax verifier of the same library.
fn lax(key: &[u8; 32], message: &[u8], signature: &[u8; 64]) -> bool {
    VerifyingKey::from_bytes(key).is_ok_and(|key| key.verify(message, &Signature::from_bytes(signature)).is_ok())
}

/// The strict rule on a key that registration would have refused.
fn strict(key: &[u8; 32], message: &[u8], signature: &[u8; 64]) -> bool {
    VerifyingKey::from_bytes(key).is_ok_and(|key| PublicKey(key).verify(message, signature).is_ok())
}

#[test]
fn vectors_device_keys() {
    let key = DeviceKey::from_seed(&seed(0));
    assert_eq!(key.public_key().b64u(), "A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg");
    assert_eq!(DeviceKey::from_seed(&seed(0x20)).public_key().b64u(), "Kay64UG8yvCyLhqU000LxzYeUm0L_hLIl5S8kyKWbdc");
    assert!(key.expose_seed_for_key_file().is_same(&seed(0)));
}

#[test]
fn kid_and_fingerprint_name_algorithm_and_key() {
    let key = device(1).public_key();
    assert_eq!(key.kid(), Digest::of(&[&[0, 1], key.as_bytes()]));
    let hex = key.kid().hex();
    assert_eq!(key.fingerprint(), format!("{}-{}-{}-{}", &hex[..4], &hex[4..8], &hex[8..12], &hex[12..16]));
    assert_ne!(device(2).public_key().kid(), key.kid());
}

#[test]
fn e1_the_identity_key_signs_everything_for_a_lax_verifier_and_nothing_for_ours() {
    let mut identity = [0; 32];
    identity[0] = 1;
    let mut constant = [0; 64];
    constant[0] = 1;
    for message in [&b"pay 1"[..], b"pay 1000000", b""] {
        assert!(lax(&identity, message, &constant), "the control accepts");
        assert!(!strict(&identity, message, &constant));
    }
    assert_eq!(PublicKey::from_bytes(&identity), Err(PublicKeyError));
}

#[test]
fn e1_no_point_of_small_order_can_be_registered_in_any_spelling() {
    let canonical = EIGHT_TORSION.iter().map(|point| *point.compress().as_bytes());
    // y = 0 and y = 1 beyond p, the sign of zero set on y = 1 and y = −1, and the sign set beyond p.
    let mut signed_one = [0; 32];
    (signed_one[0], signed_one[31]) = (1, 0x80);
    let mut signed_minus_one = [0xff; 32];
    signed_minus_one[0] = 0xec;
    let other = [signed_one, signed_minus_one].into_iter();
    let beyond = (0..2).flat_map(|plus| [y_beyond_p(plus, false), y_beyond_p(plus, true)]);
    for bytes in canonical.chain(other).chain(beyond) {
        assert_eq!(PublicKey::from_bytes(&bytes), Err(PublicKeyError), "{}", digest::hex(&bytes));
    }
}

#[test]
fn e2_a_second_spelling_of_a_key_is_refused() {
    let mut on_the_curve = 0;
    for plus in 0..19 {
        for sign in [false, true] {
            let bytes = y_beyond_p(plus, sign);
            on_the_curve += usize::from(VerifyingKey::from_bytes(&bytes).is_ok());
            assert_eq!(PublicKey::from_bytes(&bytes), Err(PublicKeyError));
        }
    }
    assert!(on_the_curve > 4, "the library alone takes such spellings, of full order too");
}

#[test]
fn e2_a_signature_has_one_s() {
    let (key, message) = (device(1), b"message");
    let good = key.sign(message);
    assert_eq!(key.public_key().verify(message, &good), Ok(()));
    let mut again = good;
    let mut carry = 0;
    for (slot, order) in again[32..].iter_mut().zip(ORDER) {
        let sum = u16::from(*slot) + u16::from(order) + carry;
        (*slot, carry) = (sum.to_le_bytes()[0], sum >> 8);
    }
    assert_eq!(carry, 0, "S+L fits");
    assert_eq!(key.public_key().verify(message, &again), Err(SignatureError));
}

#[test]
fn e2_points_of_small_and_mixed_order_are_refused_in_r() {
    let key = device(1);
    let (secret, public) = (key.0.to_scalar(), key.0.verifying_key().to_edwards());
    let bytes = key.public_key().as_bytes().to_owned();
    let message = b"message";
    for (at, torsion) in EIGHT_TORSION.iter().enumerate() {
        let small = signature(torsion, &(challenge(torsion, &public, message) * secret));
        // With R = identity the equation holds, and only the strict rule refuses.
        assert_eq!(lax(&bytes, message, &small), at == 0, "torsion {at}");
        assert_eq!(key.public_key().verify(message, &small), Err(SignatureError), "torsion {at}");

        let nonce = Scalar::from(77_u64);
        let mixed = EdwardsPoint::mul_base(&nonce) + torsion;
        let mixed = signature(&mixed, &(nonce + challenge(&mixed, &public, message) * secret));
        assert_eq!(key.public_key().verify(message, &mixed).is_ok(), at == 0, "R = rB + torsion {at}");
    }
}

#[test]
fn e2_every_spelling_of_small_order_in_r_is_refused() {
    let key = device(1);
    for plus in 0..2 {
        for sign in [false, true] {
            let mut bytes = [0; 64];
            bytes[..32].copy_from_slice(&y_beyond_p(plus, sign));
            assert_eq!(key.public_key().verify(b"message", &bytes), Err(SignatureError));
        }
    }
}

proptest! {
    #[test]
    fn e9_arbitrary_bytes_never_verify_and_never_panic(
        key in proptest::array::uniform32(any::<u8>()),
        message in proptest::collection::vec(any::<u8>(), 0..80),
        r in proptest::array::uniform32(any::<u8>()),
        s in proptest::array::uniform32(any::<u8>()),
    ) {
        let mut signature = [0; 64];
        signature[..32].copy_from_slice(&r);
        signature[32..].copy_from_slice(&s);
        if let Ok(key) = PublicKey::from_bytes(&key) {
            prop_assert!(key.verify(&message, &signature).is_err());
        }
        prop_assert!(device(1).public_key().verify(&message, &signature).is_err());
    }

    #[test]
    fn any_changed_bit_of_message_or_signature_is_refused(message in proptest::collection::vec(any::<u8>(), 1..60), at in any::<prop::sample::Index>()) {
        let key = device(3);
        let good = key.sign(&message);
        prop_assert_eq!(key.public_key().verify(&message, &good), Ok(()));
        let bit = at.index((message.len() + 64) * 8);
        let (mut message, mut signature) = (message, good);
        match message.get_mut(bit / 8) {
            Some(byte) => *byte ^= 1 << (bit % 8),
            None => signature[bit / 8 - message.len()] ^= 1 << (bit % 8),
        }
        prop_assert_eq!(key.public_key().verify(&message, &signature), Err(SignatureError));
    }

    #[test]
    fn arbitrary_text_is_no_key_or_has_one_spelling(text in "[A-Za-z0-9_-]{43}|.{0,50}") {
        if let Ok(key) = PublicKey::parse(&text) {
            prop_assert_eq!(key.b64u(), text);
        }
    }
}
