//! One ciphertext for two keys (A11): the frozen envelope opens it twice, CLV2 at most once. Nothing here is product code.

use crate::{
    clv2::{self, SealRandom, TypedKey},
    ctx::CtxBuilder,
    v1::{ObjectName, V1Key, open_envelope},
};
use aes_gcm::aes::{
    Aes256,
    cipher::{BlockCipherEncrypt as _, KeyInit as _},
};
use contract::{
    b64u,
    blob::{BlobType, ClaimedBlob},
    credential::EnvelopeV1,
};
use sign::Secret;

/// Product in the field of GHASH (NIST SP 800-38D 6.3): bit 0 is the most significant one.
fn multiply(x: u128, y: u128) -> u128 {
    let (mut product, mut power) = (0, y);
    for bit in (0..128).rev() {
        if x >> bit & 1 == 1 {
            product ^= power;
        }
        power = if power & 1 == 1 { power >> 1 ^ 0xe1 << 120 } else { power >> 1 };
    }
    product
}

/// `x^(2^128−2)`
fn invert(x: u128) -> u128 {
    let (mut result, mut power) = (1 << 127, x);
    for bit in 0..128 {
        if bit > 0 {
            result = multiply(result, power);
        }
        power = multiply(power, power);
    }
    result
}

fn block(key: &[u8; 32], input: u128) -> u128 {
    let mut block = input.to_be_bytes().into();
    Aes256::new(key.into()).encrypt_block(&mut block);
    u128::from_be_bytes(block.into())
}

/// GHASH over additional data, ciphertext blocks and lengths.
fn ghash(h: u128, aad: &[u8], ciphertext: &[u128]) -> u128 {
    let padded = aad.chunks(16).map(|chunk| {
        let mut bytes = [0; 16];
        bytes[..chunk.len()].copy_from_slice(chunk);
        u128::from_be_bytes(bytes)
    });
    let lengths = (aad.len() as u128 * 8) << 64 | (ciphertext.len() as u128 * 128);
    padded.chain(ciphertext.iter().copied()).chain([lengths]).fold(0, |sum, x| multiply(sum ^ x, h))
}

fn counter(nonce: &[u8; 12]) -> u128 {
    let mut bytes = [0; 16];
    bytes[..12].copy_from_slice(nonce);
    bytes[15] = 1;
    u128::from_be_bytes(bytes)
}

/// A ciphertext of two blocks and a tag that AES-256-GCM accepts under both keys: the last block solves the one linear equation between the two tags.
fn salamander(keys: [&[u8; 32]; 2], nonce: &[u8; 12], aad: &[u8]) -> Vec<u8> {
    let free = 0x0123_4567_89ab_cdef_0011_2233_4455_6677;
    let side = |key: &[u8; 32]| {
        let h = block(key, 0);
        // The last ciphertext block is two multiplications from the end.
        (ghash(h, aad, &[free, 0]) ^ block(key, counter(nonce)), multiply(h, h))
    };
    let [(one, one_slope), (two, two_slope)] = keys.map(side);
    let last = multiply(one ^ two, invert(one_slope ^ two_slope));
    let tag = one ^ multiply(last, one_slope);
    [free, last, tag].map(u128::to_be_bytes).concat()
}

const KEYS: [[u8; 32]; 2] = [[0xa1; 32], [0xb2; 32]];

#[test]
fn the_field_is_a_field() {
    let (one, x) = (1 << 127, 0x66e9_4bd4_ef8a_2c3b_884c_fa59_ca34_2b2e_u128);
    assert_eq!(multiply(x, one), x);
    assert_eq!(multiply(x, invert(x)), one);
    // Test case 2 of the GCM specification: key and plaintext of zeros, 128-bit key; here only its product.
    assert_eq!(multiply(0x0388_dace_60b6_a392_f328_c2b9_71b2_fe78, x), 0x5e2e_c746_9170_6288_2c85_b068_5353_deb7);
}

#[test]
fn a11_the_control_opens_one_ciphertext_under_two_keys() {
    let name = ObjectName::of_object("project-1", "memory:dev-1:7");
    let aad = b"collie-sealed-v1\0project-1\0memory:dev-1:7";
    let nonce = [7; 12];
    let ciphertext = salamander([&KEYS[0], &KEYS[1]], &nonce, aad);
    let envelope = EnvelopeV1 {
        v: 1,
        alg: "A256GCM".to_owned(),
        nonce: b64u::encode(nonce),
        ciphertext: b64u::encode(ciphertext),
    };
    let opened = KEYS.map(|key| open_envelope(&V1Key::new(Secret::new(key)), &name, &envelope));
    let [Ok(one), Ok(two)] = opened else { panic!("the frozen envelope commits to no key, so both open") };
    assert!(!one.is_same(&two), "to two different plaintexts");
    let other = open_envelope(&V1Key::new(Secret::new([0xc3; 32])), &name, &envelope);
    assert!(other.is_err(), "and not under just any key");
}

#[test]
fn a11_a_blob_opens_under_one_key_whatever_its_commitment_says() {
    let ctx = CtxBuilder::new("device.local").build().expect("a context");
    let key = |bytes: [u8; 32]| TypedKey::new([7; 16], 1, Secret::new(bytes));
    let blob = |bytes, byte| {
        clv2::seal_bytes(&key(bytes), BlobType::DeviceLocal, 1, &ctx, &[byte; 32], SealRandom::new([9; 56]))
            .expect("seals")
    };
    let sealed = [blob(KEYS[0], 1), blob(KEYS[1], 2)];
    // Same header, same salt, same nonce: every mixture of commitment and ciphertext is a well-formed blob.
    let mut opened_at_all = 0;
    for commitment in &sealed {
        for body in &sealed {
            let mut mixed = body.clone();
            mixed[68..100].copy_from_slice(&commitment[68..100]);
            let claimed = ClaimedBlob::parse(&mixed).expect("a blob");
            let opened = KEYS
                .iter()
                .filter(|bytes| clv2::open_bytes(&key(**bytes), BlobType::DeviceLocal, 1, &ctx, &claimed).is_ok())
                .count();
            assert!(opened <= 1);
            opened_at_all += opened;
        }
    }
    assert_eq!(opened_at_all, 2, "the two unmixed blobs");
}
