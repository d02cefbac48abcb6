//! What the strict reader takes and refuses, against the published vectors and by property.

use super::*;
use crate::digest::Digest;
use proptest::prelude::*;

fn read(text: &str) -> Result<Json, JsonError> {
    parse(text.as_bytes(), 100_000)
}

const VECTORS: &str = include_str!("../../../../docs/vectors/collie-v1.json");

fn vector(name: &str) -> Json {
    let all = parse(VECTORS.as_bytes(), 100_000).expect("the vectors are JSON");
    let found = all.as_array().expect("a list").iter().find(|vector| vector.find_str("name") == Some(name)).cloned();
    found.unwrap_or_else(|| panic!("no vector {name}"))
}

#[test]
fn vectors_are_byte_exact() {
    let canonical = vector("canonical-json");
    let expected = canonical.find_str("canonical_utf8").expect("text");
    assert_eq!(crate::digest::hex(expected.as_bytes()), canonical.find_str("canonical_hex").expect("hex"));
    let shuffled = " {\"🐶\" : 2, \"～\":1,\"é\":null,\n\"b\":[1,1.0,-0.0,1e+16,1e-05,0.1,12345678901234567890123],\"a\":\"\\u00e9\\\"\\\\\\/\\b\\f\\n\\r\\t\\u001F\\u007f\\u2028\\ud83d\\udc36\",\"Z\":true } ";
    let value = read(shuffled).expect("reads");
    assert_eq!(value.canonical_string(), expected);
    assert_eq!(Digest::of(&[&value.canonical()]).b64u(), canonical.find_str("sha256_b64url").expect("digest"));

    let manifest = vector("manifest");
    let rows = manifest.find("manifest_unsorted").and_then(Json::as_array).expect("rows");
    let sorted = Json::Array(crate::manifest::sort_v1(rows)).canonical_string();
    assert_eq!(Some(sorted.as_str()), manifest.find_str("canonical_sorted_utf8"));
    assert_eq!(Some(crate::manifest::digest_v1(rows).b64u().as_str()), manifest.find_str("manifest_digest"));
    crate::manifest::check_v1(rows).expect("rows of the public client");

    let args = vector("direct-args-hash");
    let digest = Digest::of(&[&args.find("args").expect("args").canonical()]);
    assert_eq!(Some(digest.hex().as_str()), args.find_str("sha256_hex"));
}

#[test]
fn refuses_what_has_two_meanings() {
    let deep = format!("{}{}", "[".repeat(65), "]".repeat(65));
    assert!(read(&format!("{}{}", "[".repeat(64), "]".repeat(64))).is_ok());
    assert!(matches!(read(&deep), Err(JsonError::TooDeep { max: 64, .. })));
    assert!(matches!(read(r#"{"a":1,"\u0061":2}"#), Err(JsonError::DuplicateKey { at: 7 })));
    assert!(matches!(read(r#""\ud800""#), Err(JsonError::NotUnicode { .. })));
    assert!(matches!(read(r#""\ud800\u0041""#), Err(JsonError::NotUnicode { .. })));
    assert!(matches!(read(r#""\udc00""#), Err(JsonError::NotUnicode { .. })));
    assert!(matches!(parse(b"\"\xff\"", 100), Err(JsonError::NotUnicode { .. })));
    assert!(matches!(read(&"1".repeat(65)), Err(JsonError::NumberTooLong { max: 64, .. })));
    assert!(matches!(parse(b"[1,2]", 4), Err(JsonError::TooLarge { actual: 5, max: 4 })));
    for bad in [
        "",
        " ",
        "{",
        "[1,]",
        "{\"a\":1,}",
        "01",
        "-",
        "1.",
        ".5",
        "+1",
        "1e",
        "NaN",
        "Infinity",
        "-Infinity",
        "nul",
        "'a'",
        "\"\t\"",
        "\"\\x\"",
        "1 2",
        "{1:2}",
        "[1 2]",
        "\u{feff}1",
        "//x\n1",
        "\"abc",
        "\"\\u12\"",
    ] {
        assert!(matches!(read(bad), Err(JsonError::Syntax { .. })), "{bad:?}");
    }
}

#[test]
fn number_tokens_stay_as_they_were_written() {
    for token in ["5", "5.0", "5e0", "5E0", "1e16", "1e+16", "-0", "12345678901234567890.123456789"] {
        assert_eq!(read(token).expect("a number").canonical_string(), token);
    }
    // The control: the reader underneath would rewrite these, and take an object for a number.
    let magic = r#"{"$serde_json::private::Number":"5"}"#;
    assert_ne!(read(magic).expect("an object"), read("5").expect("a number"));
    assert_eq!(read(magic).expect("an object").canonical_string(), magic);
    let typed: Vec<Json> = from_slice(br#"[1.0, {"$serde_json::private::Number":"5"}, 1E5]"#, 100).expect("typed");
    assert_eq!(Json::Array(typed).canonical_string(), r#"[1.0,{"$serde_json::private::Number":"5"},1E5]"#);
}

#[derive(Debug, serde::Serialize, serde::Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Body {
    name: String,
    raw: Option<Json>,
    list: Vec<Inner>,
}

#[derive(Debug, serde::Serialize, serde::Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Inner {
    count: u8,
}

#[test]
fn typed_bodies_name_the_field_to_blame() {
    let field = |text: &str| from_slice::<Body>(text.as_bytes(), 1000).expect_err("refused").field().map(str::to_owned);
    assert_eq!(field(r#"{"list":[]}"#).as_deref(), Some("name"));
    assert_eq!(field(r#"{"name":"a","list":[],"extra":1}"#).as_deref(), Some("extra"));
    assert_eq!(field(r#"{"name":1,"list":[]}"#).as_deref(), Some("name"));
    assert_eq!(field(r#"{"name":"a","list":[{"count":300}]}"#).as_deref(), Some("list[0].count"));
    assert_eq!(field(r#"{"name":"a","list":[{}]}"#).as_deref(), Some("list[0].count"));
    let good: Body = from_slice(br#"{"name":"a","raw":{"b":1.0,"a":2},"list":[{"count":3}]}"#, 1000).expect("reads");
    assert_eq!(to_canonical(&good).expect("prints"), br#"{"list":[{"count":3}],"name":"a","raw":{"a":2,"b":1.0}}"#);
}

#[test]
fn signed_bodies_hold_integers_and_plain_text_only() {
    let check = |text: &str| read(text).expect("JSON").check_signable();
    assert_eq!(check(r#"{"a":[9007199254740991,-1,"é",true]}"#), Ok(()));
    for bad in [
        "{\"a\":null}",
        "{\"a\":1.0}",
        "{\"a\":1e3}",
        "{\"a\":9007199254740992}",
        "{\"a\":-0}",
        "{\"a\":\"\\n\"}",
        "{\"a\":\"\\u0085\"}",
        "{\"\\u0001\":1}",
    ] {
        assert!(check(bad).is_err(), "{bad}");
    }
    assert!(check(&format!("{}1{}", "[".repeat(9), "]".repeat(9))).is_err());
    assert!(check(&format!("\"{}\"", "a".repeat(65_536))).is_err());
}

#[test]
fn pointers_follow_rfc_6901() {
    let value = read(r#"{"a/b":{"~":[10,{"x":true}]}}"#).expect("JSON");
    assert_eq!(value.pointer("/a~1b/~0/1/x").and_then(Json::as_bool), Some(true));
    assert_eq!(value.pointer(""), Some(&value));
    assert_eq!(value.pointer("/a~1b/~0/2"), None);
    assert_eq!(value.pointer("a"), None);
}

fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::Bool),
        any::<i64>().prop_map(Json::from),
        "-?(0|[1-9][0-9]{0,9})(\\.[0-9]{1,5})?([eE][+-]?[0-9]{1,3})?".prop_map(|token| Json::Number(Number(token))),
        any::<String>().prop_map(Json::String),
    ];
    leaf.prop_recursive(5, 64, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Json::Array),
            prop::collection::btree_map(any::<String>(), inner, 0..6).prop_map(Json::Object),
        ]
    })
}

proptest! {
    #[test]
    fn printing_and_reading_are_inverse(value in any_json()) {
        let bytes = value.canonical();
        let back = parse(&bytes, bytes.len()).expect("its own print");
        prop_assert_eq!(&back, &value);
        prop_assert_eq!(back.canonical(), bytes);
    }

    #[test]
    fn arbitrary_bytes_never_panic_and_agree_with_a_second_reader(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        // What we accept, serde_json accepts; the other way round we are the stricter.
        if parse(&bytes, 200).is_ok() {
            prop_assert!(serde_json::from_slice::<serde_json::Value>(&bytes).is_ok());
        }
    }

    #[test]
    fn mutated_documents_never_panic(value in any_json(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = value.canonical();
        let index = at.index(bytes.len());
        bytes[index] = byte;
        let _ = parse(&bytes, bytes.len());
    }
}
