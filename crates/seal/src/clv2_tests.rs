//! Tests of the envelope; nothing here is product code.

use super::*;
use crate::ctx::CtxBuilder;
use contract::{blob::Tag, digest};
use proptest::prelude::*;

fn key(byte: u8) -> TypedKey {
    TypedKey::new([7; 16], 3, Secret::new([byte; 32]))
}

fn random(salt: u8, nonce: u8) -> SealRandom {
    SealRandom { salt: [salt; 32], nonce: [nonce; 24] }
}

fn vector_ctx() -> Ctx {
    CtxBuilder::new("cred.device_direct")
        .bytes(Tag::Deployment, b"dep")
        .bytes(Tag::Workspace, &[1; 16])
        .bytes(Tag::Connection, &[2; 16])
        .bytes(Tag::Endpoint, b"https://mcp.example.com/mcp")
        .bytes(Tag::Profile, b"streamable_http")
        .list(Tag::Scopes, &["write", "read", "write"])
        .expect("a list")
        .bytes(Tag::ManifestDigest, &[9; 32])
        .build()
        .expect("a context")
}

const VECTOR: &str = "434c5632100100000707070707070707070707070707070700000003000000000000000911111111111111111111111111111111111111111111111111\
     111111111111114dfe67e6f1d224edafabf95cd0cd4afefb07ab7ccbb2f2bb9314aa3c559b1e19222222222222222222222222222222222222222222222222\
     0000002660827f98be564afedac422a255f3afd5593e4fd0e8c7bc5020ead982afd51dad3fbf3020dcf9";

const PLAINTEXT: &[u8] = br#"{"refresh_token":"rt"}"#;

fn sealed() -> Vec<u8> {
    seal_bytes(&key(0x42), BlobType::SealedCredential, 9, &vector_ctx(), PLAINTEXT, random(0x11, 0x22)).expect("seals")
}

fn try_open(key: &TypedKey, blob: BlobType, version: u64, ctx: &Ctx, bytes: &[u8]) -> Option<Vec<u8>> {
    let claimed = ClaimedBlob::parse(bytes).ok()?;
    open_bytes(key, blob, version, ctx, &claimed).ok().map(|plaintext| plaintext.with(Clone::clone))
}

#[test]
fn first_vector_is_byte_exact() {
    assert_eq!(digest::hex(&sealed()), VECTOR);
    let opened = try_open(&key(0x42), BlobType::SealedCredential, 9, &vector_ctx(), &sealed());
    assert_eq!(opened.as_deref(), Some(PLAINTEXT));
}

#[test]
fn a1_no_bit_of_a_blob_is_free() {
    let good = sealed();
    for bit in 0..good.len() * 8 {
        let mut bytes = good.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(try_open(&key(0x42), BlobType::SealedCredential, 9, &vector_ctx(), &bytes), None, "bit {bit}");
    }
}

#[test]
fn a2_no_other_length_opens() {
    let good = sealed();
    for length in 0..good.len() {
        assert_eq!(
            try_open(&key(0x42), BlobType::SealedCredential, 9, &vector_ctx(), &good[..length]),
            None,
            "prefix {length}"
        );
    }
    for extra in [&[0][..], &[0; 16], &good] {
        let bytes = [&good[..], extra].concat();
        assert_eq!(try_open(&key(0x42), BlobType::SealedCredential, 9, &vector_ctx(), &bytes), None);
    }
    // The length field corrected too: the AEAD refuses what the structure no longer can.
    for length in HEADER_BYTES + TAG_BYTES..good.len() {
        let mut bytes = good[..length].to_vec();
        let stated = u32::try_from(length - HEADER_BYTES).expect("short").to_be_bytes();
        bytes[HEADER_BYTES - 4..HEADER_BYTES].copy_from_slice(&stated);
        assert_eq!(try_open(&key(0x42), BlobType::SealedCredential, 9, &vector_ctx(), &bytes), None, "cut to {length}");
    }
}

#[test]
fn a14_a_blob_opens_as_its_own_type_and_version_under_its_own_key_only() {
    let good = sealed();
    let open = |key: &TypedKey, blob, version| try_open(key, blob, version, &vector_ctx(), &good);
    assert!(open(&key(0x42), BlobType::SealedCredential, 9).is_some());
    assert!(open(&key(0x42), BlobType::CredentialKey, 9).is_none(), "type");
    assert!(open(&key(0x42), BlobType::DeviceLocal, 9).is_none(), "type");
    assert!(open(&key(0x42), BlobType::SealedCredential, 8).is_none(), "version");
    assert!(open(&key(0x43), BlobType::SealedCredential, 9).is_none(), "key");
    let other_id = TypedKey::new([8; 16], 3, Secret::new([0x42; 32]));
    assert!(open(&other_id, BlobType::SealedCredential, 9).is_none(), "key id");
    let other_gen = TypedKey::new([7; 16], 4, Secret::new([0x42; 32]));
    assert!(open(&other_gen, BlobType::SealedCredential, 9).is_none(), "generation");
}

/// A14 again, with the header rewritten to say what the opener expects: the type is in the key derivation and in the AAD, so a relabelled blob does not open either.
#[test]
fn a14_a_relabelled_blob_does_not_open() {
    for (at, byte, blob, version) in [(4, 0x11, BlobType::CredentialKey, 9), (35, 8, BlobType::SealedCredential, 8)] {
        let mut bytes = sealed();
        bytes[at] = byte;
        assert!(ClaimedBlob::parse(&bytes).is_ok());
        assert_eq!(try_open(&key(0x42), blob, version, &vector_ctx(), &bytes), None, "byte {at}");
    }
}

#[test]
fn a13_every_suite_but_ours_is_refused_before_any_key_is_used() {
    for suite in (0..=u8::MAX).filter(|suite| *suite != 1) {
        let mut bytes = sealed();
        bytes[5] = suite;
        assert!(ClaimedBlob::parse(&bytes).is_err(), "suite {suite:#x}");
    }
}

#[test]
fn a17_reserved_bytes_and_magic_are_structure() {
    for at in [0, 1, 2, 3, 6, 7] {
        let mut bytes = sealed();
        bytes[at] ^= 0x10;
        assert!(ClaimedBlob::parse(&bytes).is_err(), "byte {at}");
    }
}

#[test]
fn a18_length_bombs_are_refused_before_allocation() {
    let mut bytes = sealed();
    bytes[HEADER_BYTES - 4..HEADER_BYTES].copy_from_slice(&u32::MAX.to_be_bytes());
    assert!(ClaimedBlob::parse(&bytes).is_err());
    let huge = vec![0_u8; 16 * 1024 * 1024];
    assert!(ClaimedBlob::parse(&huge).is_err());
    let plaintext = vec![0; limits::BLOB_BYTES_MAX - HEADER_BYTES - TAG_BYTES + 1];
    let refused = seal_bytes(&key(1), BlobType::DeviceLocal, 1, &vector_ctx(), &plaintext, random(1, 1));
    assert_eq!(refused, Err(SealError), "what could not be read back is not written");
    assert!(seal_bytes(&key(1), BlobType::DeviceLocal, 1, &vector_ctx(), &plaintext[1..], random(1, 1)).is_ok());
}

#[test]
fn a12_a_blob_opens_under_one_of_many_keys() {
    let good = sealed();
    let opened = (0..1024_u32)
        .filter(|candidate| {
            let mut bytes = [0x42; 32];
            bytes[..4].copy_from_slice(&candidate.to_be_bytes());
            let candidate = TypedKey::new([7; 16], 3, Secret::new(bytes));
            let claimed = ClaimedBlob::parse(&good).expect("a blob");
            open_bytes(&candidate, BlobType::SealedCredential, 9, &vector_ctx(), &claimed)
                .map_err(|error| assert_eq!(error, OpenError, "one error for all"))
                .is_ok()
        })
        .count();
    // None of the candidates is the key itself, whose first bytes are 42 42 42 42.
    assert_eq!(opened, 0);
    assert!(try_open(&key(0x42), BlobType::SealedCredential, 9, &vector_ctx(), &good).is_some());
}

/// Must-fail twin of the commitment: an opener without it accepts what ours refuses.
fn open_without_commitment(key: &TypedKey, ctx: &Ctx, claimed: &ClaimedBlob<'_>) -> Option<Vec<u8>> {
    let header = header(key, claimed.blob, claimed.version, &claimed.salt);
    let aad = [&header[..], ctx.as_bytes()].concat();
    let derived = derive(key, claimed.blob, &claimed.salt, &aad)?;
    let mut body = claimed.ciphertext.to_vec();
    derived.cipher().decrypt_in_place(&XNonce::from(claimed.nonce), &aad, &mut body).ok()?;
    Some(body)
}

#[test]
fn the_commitment_is_checked() {
    let mut bytes = sealed();
    bytes[68] ^= 1;
    let claimed = ClaimedBlob::parse(&bytes).expect("a blob");
    assert_eq!(
        open_without_commitment(&key(0x42), &vector_ctx(), &claimed).as_deref(),
        Some(PLAINTEXT),
        "the twin opens it"
    );
    assert_eq!(try_open(&key(0x42), BlobType::SealedCredential, 9, &vector_ctx(), &bytes), None);
}

/// A blob whose context was left out of the AEAD and of the derivation, with the opener that goes with it.
#[test]
fn the_context_is_authenticated_not_only_compared() {
    let empty = CtxBuilder::new("").build().expect("a context");
    let blob = BlobType::SealedCredential;
    let naive = seal_bytes(&key(0x42), blob, 9, &empty, PLAINTEXT, random(1, 2)).expect("seals");
    // The naive opener takes no context, so it opens the blob wherever it was moved to.
    assert!(try_open(&key(0x42), blob, 9, &empty, &naive).is_some(), "the twin opens it");
    assert_eq!(try_open(&key(0x42), blob, 9, &vector_ctx(), &naive), None);
    assert_eq!(try_open(&key(0x42), blob, 9, &empty, &sealed()), None);
}

#[test]
fn key_ids_follow_the_rule() {
    let bytes = [5; 32];
    let expected = Digest::of(&[b"collie.kid.v2\0", &bytes]);
    assert_eq!(TypedKey::long_lived(1, Secret::new(bytes)).key_id(), &expected.as_bytes()[..16]);
    let expected = Digest::of(&[b"conn_1"]);
    let per_write = TypedKey::per_write("conn_1", Secret::new(bytes));
    assert_eq!((per_write.key_id().as_slice(), per_write.key_gen), (&expected.as_bytes()[..16], 0));
}

proptest! {
    #[test]
    fn sealing_and_opening_are_inverse(
        bytes in proptest::collection::vec(any::<u8>(), 0..300),
        version in any::<u64>(),
        entropy in proptest::array::uniform32(any::<u8>()),
    ) {
        let random = SealRandom { salt: entropy, nonce: [entropy[0]; 24] };
        let key = TypedKey::new([7; 16], 3, Secret::new(entropy));
        let blob = seal_bytes(&key, BlobType::DeviceLocal, version, &vector_ctx(), &bytes, random).expect("seals");
        prop_assert_eq!(try_open(&key, BlobType::DeviceLocal, version, &vector_ctx(), &blob), Some(bytes));
    }

    #[test]
    fn arbitrary_blobs_never_panic_and_never_open(bytes in proptest::collection::vec(any::<u8>(), 0..400), flips in 0_usize..4) {
        let mut shaped = sealed();
        for (at, byte) in bytes.iter().enumerate().take(flips) {
            let at = (at * 97 + usize::from(*byte)) % shaped.len();
            shaped[at] ^= byte | 1;
        }
        if shaped != sealed() {
            prop_assert_eq!(try_open(&key(0x42), BlobType::SealedCredential, 9, &vector_ctx(), &shaped), None);
        }
        prop_assert_eq!(try_open(&key(0x42), BlobType::SealedCredential, 9, &vector_ctx(), &bytes), None);
    }
}
