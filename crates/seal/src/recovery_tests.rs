//! Tests of the key text; nothing here is product code.
#![expect(clippy::string_slice, reason = "the text is ASCII, and a test may stop at the first surprise")]

use super::*;
use proptest::prelude::*;

const VECTOR: &str =
    "collie-seal-v2:080KJ-GRXN5-HX4JE-3B9D5-MPJTB-9D5MP-JTB9D-5MPJT-B9D5M-PJTB9-D5MPJ-TB9D5-MPJTB-9DBXY-YQGMF-0";

fn usk(byte: u8) -> UserSealingKey {
    UserSealingKey::new(1, Secret::new([byte; 32])).expect("generation 1")
}

fn text(usk: &UserSealingKey) -> String {
    encode_usk(usk).expect("a text").with(Clone::clone)
}

fn read(text: &str) -> Result<UserSealingKey, KeyTextError> {
    decode_usk(&Secret::new(text.to_owned()))
}

/// What the decoder takes two characters for.
fn same_symbol(a: char, b: char) -> bool {
    let plain = |c: char| match c.to_ascii_uppercase() {
        'O' => '0',
        'I' | 'L' => '1',
        other => other,
    };
    plain(a) == plain(b)
}

#[test]
fn vector_is_character_exact() {
    assert_eq!(text(&usk(0x5a)), VECTOR);
    assert_eq!(VECTOR.len(), TEXT_CHARS);
    assert_eq!(read(VECTOR).expect("reads").id(), usk(0x5a).id());
}

#[test]
fn case_and_look_alikes_are_forgiven() {
    let relaxed = format!("  {}\n", VECTOR.to_lowercase().replacen('0', "o", 1));
    assert_eq!(read(&relaxed).expect("reads").id(), usk(0x5a).id());
}

#[test]
fn each_check_has_its_word() {
    let error = |text: &str| read(text).err();
    assert_eq!(error(""), Some(KeyTextError::Prefix));
    assert_eq!(error("collie-seal-v1:gIGCg4SFhoeIiYqLjI2Oj5CRkpOUlZaXmJmam5ydnp8"), Some(KeyTextError::Prefix));
    assert_eq!(error(&VECTOR[..105]), Some(KeyTextError::Length { actual: 105 }));
    assert_eq!(error(&VECTOR.replace('-', "")), Some(KeyTextError::Prefix));
    assert_eq!(error(&VECTOR.replace("080KJ-", "080K-J")), Some(KeyTextError::Characters));
    assert_eq!(error(&VECTOR.replace("080KJ", "080KU")), Some(KeyTextError::Characters));
    assert_eq!(error(&format!("{}1", &VECTOR[..105])), Some(KeyTextError::Characters), "padding");
    assert_eq!(error(&VECTOR.replace("080KJ", "080KK")), Some(KeyTextError::Checksum));
    let recovery = encode(2, &Secret::new([0x5a; 32]));
    assert_eq!(decode_usk(&recovery).err(), Some(KeyTextError::Kind), "the recovery kind is kept, not taken");
    let later = UserSealingKey::new(2, Secret::new([1; 32])).expect("a generation");
    assert_eq!(encode_usk(&later).err(), Some(KeyTextError::Generation { generation: 2 }));
}

/// A key id that does not belong to the secret is refused even under a right checksum.
#[test]
fn the_key_id_is_checked_too() {
    let mut bytes = vec![VERSION, KIND_USK_1];
    bytes.extend(kid(&[1; 32]));
    bytes.extend([2; 32]);
    let check = checksum(&bytes);
    bytes.extend(check);
    assert_eq!(take_apart(&bytes).err(), Some(KeyTextError::Checksum));
}

#[test]
fn c6_every_single_mistake_in_one_text_is_found() {
    let good: Vec<char> = VECTOR.chars().collect();
    let refused = |changed: &[char], what: &str| {
        let text: String = changed.iter().collect();
        assert!(read(&text).is_err(), "{what}: {text}");
    };
    for at in 0..good.len() {
        for c in "0123456789ABCDEFGHJKMNPQRSTVWXYZU-:é ".chars().filter(|c| !same_symbol(*c, good[at])) {
            let mut changed = good.clone();
            changed[at] = c;
            refused(&changed, "substituted");
        }
        let mut changed = good.clone();
        changed.remove(at);
        refused(&changed, "dropped");
        let mut changed = good.clone();
        changed.insert(at, good[at]);
        refused(&changed, "duplicated");
        if at + 1 < good.len() && good[at] != good[at + 1] {
            let mut changed = good.clone();
            changed.swap(at, at + 1);
            refused(&changed, "swapped");
        }
    }
}

proptest! {
    #[test]
    fn every_key_comes_back(bytes in proptest::array::uniform32(any::<u8>())) {
        let usk = UserSealingKey::new(1, Secret::new(bytes)).expect("generation 1");
        let text = text(&usk);
        prop_assert_eq!(text.len(), TEXT_CHARS);
        let back = read(&text).expect("reads");
        prop_assert_eq!(back.id(), usk.id());
    }

    #[test]
    fn c6_no_single_mistake_passes(bytes in proptest::array::uniform32(any::<u8>()), at in 0_usize..TEXT_CHARS, c in "[0-9A-Z-]", kind in 0_u8..4) {
        let usk = UserSealingKey::new(1, Secret::new(bytes)).expect("generation 1");
        let good: Vec<char> = text(&usk).chars().collect();
        let mut changed = good.clone();
        let c = c.chars().next().expect("one character");
        match kind {
            0 if !same_symbol(c, good[at]) => changed[at] = c,
            1 if at + 1 < good.len() && good[at] != good[at + 1] => changed.swap(at, at + 1),
            2 => { changed.remove(at); }
            _ => changed.insert(at, good[at]),
        }
        let text: String = changed.iter().collect();
        prop_assert!(read(&text).is_err());
    }

    #[test]
    fn arbitrary_text_never_panics(text in "(collie-seal-v2:)?.{0,120}") {
        let _ = read(&text);
    }
}
