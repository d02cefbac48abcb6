//! Tests of tokens; nothing here is product code.
#![expect(clippy::string_slice, reason = "the text is ASCII, and a test may stop at the first surprise")]

use super::*;
use proptest::prelude::*;

fn key(byte: u8) -> TokenKey {
    TokenKey::new(Secret::new([byte; 32]))
}

fn family(byte: u8) -> FamilyId {
    FamilyId::from_random([byte; 16])
}

const KINDS: [TokenKind; 4] =
    [TokenKind::Access, TokenKind::BrowserSession, TokenKind::DeviceCode, TokenKind::OwnerLink];

#[test]
fn kinds_share_neither_prefix_nor_stored_form() {
    let random = Secret::new([3; 32]);
    for (at, kind) in KINDS.into_iter().enumerate() {
        let text = make_token(kind, &random).with(Clone::clone);
        assert!(is_token(kind, &text) && text.starts_with(kind.prefix()) && text.len() == kind.prefix().len() + 43);
        for other in KINDS.into_iter().skip(at + 1) {
            assert!(!is_token(other, &text));
            assert_ne!(key(1).mac(kind, &text), key(1).mac(other, &text));
        }
        assert_ne!(key(1).mac(kind, &text), key(2).mac(kind, &text), "of no use without the key");
        assert!(!is_token(kind, &text[..text.len() - 1]) && !is_token(kind, &format!("{text} ")));
    }
}

#[test]
fn hmac_is_rfc_2104() {
    // RFC 4231 test case 1 has a key of 20 bytes; padding with zeros to 32 gives the same MAC.
    let mut bytes = [0; 32];
    bytes[..20].fill(0x0b);
    assert_eq!(
        contract::digest::hex(&hmac(&bytes, &[b"Hi ", b"There"])),
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
    );
}

#[test]
fn the_same_position_gives_the_same_token_and_no_other_does() {
    let text = |key: &TokenKey, family: &FamilyId, n| key.derive_refresh(family, n).with(Clone::clone);
    let one = text(&key(1), &family(1), 1);
    assert_eq!(one, text(&key(1), &family(1), 1), "a lost answer can be given again");
    for other in [text(&key(1), &family(1), 2), text(&key(1), &family(2), 1), text(&key(2), &family(1), 1)] {
        assert_ne!(one.rsplit('.').next(), other.rsplit('.').next());
    }
    // Computed apart from this code.
    assert_eq!(one, "collie_rt_fam_01010101010101010101010101010101.1._cLGeLfARoc4_c1vhP1OO00PzMqybauKQnbIxgqaOHw");
    assert_eq!(key(1).parse_refresh(&one), Ok(RefreshClaim { family: family(1), n: 1 }));
    assert_eq!(key(2).parse_refresh(&one), Err(RefreshError));
}

#[test]
fn a_changed_refresh_token_is_nobodys() {
    let good = key(1).derive_refresh(&family(1), 41).with(Clone::clone);
    for at in 0..good.len() {
        let mut bytes = good.clone().into_bytes();
        bytes[at] ^= 1;
        let text = String::from_utf8(bytes).expect("ASCII");
        assert_eq!(key(1).parse_refresh(&text), Err(RefreshError), "{at}");
        assert_eq!(key(1).parse_refresh(&good[..at]), Err(RefreshError));
    }
    for text in [
        good.replace(".41.", ".041."),
        good.replace(".41.", ".+41."),
        format!("{good}."),
        format!(" {good}"),
        "x".repeat(10_000),
    ] {
        assert_eq!(key(1).parse_refresh(&text), Err(RefreshError));
    }
}

#[test]
fn user_codes_are_read_as_people_type_them() {
    let code = UserCode::from_random([0x12, 0x34, 0x56, 0x78, 0x9a]);
    let shown = code.to_string();
    assert_eq!((shown.len(), shown.find('-')), (9, Some(4)));
    let typed = [shown.clone(), shown.to_lowercase(), shown.replace('-', ""), format!(" {} ", shown.replace('-', " "))];
    assert!(typed.iter().all(|text| UserCode::parse(text) == Some(code)));
    assert_eq!(UserCode::parse("0000-ooII"), UserCode::parse("OOOO0011"));
    for bad in ["", "ABCD-EFG", "ABCD-EFGHJ", "ABCD-EFGU", "ABCD_EFGH", &"0".repeat(100)] {
        assert_eq!(UserCode::parse(bad), None, "{bad}");
    }
    assert_ne!(key(1).mac_user_code(&code), key(1).mac_user_code(&UserCode::from_random([0; 5])));
    assert_eq!(format!("{code:?}"), "UserCode");
}

proptest! {
    #[test]
    fn every_position_reads_back(bytes in proptest::array::uniform16(any::<u8>()), n in any::<u64>()) {
        let family = FamilyId::from_random(bytes);
        let text = key(7).derive_refresh(&family, n).with(Clone::clone);
        prop_assert_eq!(key(7).parse_refresh(&text), Ok(RefreshClaim { family, n }));
    }

    #[test]
    fn arbitrary_text_is_no_token_and_never_panics(text in "(collie_rt_)?.{0,90}") {
        prop_assert_eq!(key(7).parse_refresh(&text), Err(RefreshError));
        let _ = UserCode::parse(&text);
    }

    #[test]
    fn user_codes_read_back(bytes in proptest::array::uniform5(any::<u8>())) {
        let code = UserCode::from_random(bytes);
        prop_assert_eq!(UserCode::parse(&code.to_string()), Some(code));
    }
}
