//! Tests of the context encoding; nothing here is product code.

use super::*;
use proptest::prelude::*;

type Tags = BTreeMap<Tag, Vec<u8>>;

fn encode(domain: &'static str, tags: &Tags) -> Vec<u8> {
    let builder = tags.iter().fold(CtxBuilder::new(domain), |builder, (tag, value)| builder.bytes(*tag, value));
    builder.build().expect("short values").as_bytes().to_vec()
}

/// Must-fail twin of the length prefixes: the encoding that other products used.
fn encode_naively(domain: &str, tags: &Tags) -> Vec<u8> {
    tags.values().fold(domain.as_bytes().to_vec(), |mut bytes, value| {
        bytes.extend(value);
        bytes
    })
}

#[test]
fn the_layout_is_as_written() {
    let ctx = CtxBuilder::new("d")
        .u32(Tag::UskGen, 258)
        .bytes(Tag::Deployment, b"")
        .list(Tag::Scopes, &["b", "a", "b"])
        .expect("a list");
    let expected = [
        &b"collie.ctx.v2\0\x01d"[..],
        b"\x01\0\0\0\0",
        b"\x07\0\0\0\x0e\0\0\0\x02\0\0\0\x01a\0\0\0\x01b",
        b"\x14\0\0\0\x04\0\0\x01\x02",
    ];
    assert_eq!(ctx.build().expect("a context").as_bytes(), expected.concat());
}

#[test]
fn a7_moving_bytes_between_fields_changes_the_context() {
    let tags = |project: &[u8], connection: &[u8]| {
        Tags::from([(Tag::Project, project.to_vec()), (Tag::Connection, connection.to_vec())])
    };
    let (one, two) = (tags(b"ab", b"c"), tags(b"a", b"bc"));
    assert_eq!(encode_naively("d", &one), encode_naively("d", &two), "the twin mixes them up");
    assert_ne!(encode("d", &one), encode("d", &two));
    // Neither does a value that looks like the next tag.
    let spliced = tags(b"a\x04\0\0\0\x01b", b"");
    assert_ne!(encode("d", &spliced), encode("d", &tags(b"a", b"b")));
}

#[test]
fn a7_control_characters_are_refused_at_input() {
    for bad in ["a\0b", "\n", "a\u{7f}"] {
        assert!(CtxBuilder::new("d").text(Tag::Endpoint, bad).is_err(), "{bad:?}");
    }
    assert!(CtxBuilder::new("d").text(Tag::Endpoint, "https://mcp.example.test/é").is_ok());
}

#[test]
fn values_have_a_maximum() {
    let max = limits::CONTEXT_VALUE_BYTES_MAX;
    assert!(CtxBuilder::new("d").bytes(Tag::Subject, &vec![1; max]).build().is_ok());
    assert!(CtxBuilder::new("d").bytes(Tag::Subject, &vec![1; max + 1]).build().is_err());
    assert!(CtxBuilder::new("d").list(Tag::Scopes, &[vec![1; max + 1]]).is_err());
}

fn any_tags() -> impl Strategy<Value = Tags> {
    let tag = prop::sample::select(Tag::ALL);
    prop::collection::btree_map(
        tag,
        prop::collection::vec(prop_oneof![Just(0), Just(1), Just(4), any::<u8>()], 0..12),
        0..6,
    )
}

proptest! {
    #[test]
    fn a7_the_encoding_is_injective(one in any_tags(), two in any_tags(), other_domain in any::<bool>()) {
        let domain = if other_domain { "e" } else { "d" };
        prop_assert_eq!(encode("d", &one) == encode(domain, &two), one == two && !other_domain);
    }

    /// Injective, shown the other way too: the tags can be read back from the bytes.
    #[test]
    fn a7_the_encoding_reads_back(tags in any_tags()) {
        let bytes = encode("d", &tags);
        let mut rest = &bytes[labels::CTX.len() + 2..];
        let mut back = Tags::new();
        while let Some((tag, tail)) = rest.split_first() {
            let (length, tail) = tail.split_first_chunk::<4>().expect("a length");
            let (value, tail) = tail.split_at(u32::from_be_bytes(*length) as usize);
            back.insert(Tag::parse(*tag).expect("a tag"), value.to_vec());
            rest = tail;
        }
        prop_assert_eq!(back, tags);
    }

    #[test]
    fn a6_order_and_repetition_of_scopes_do_not_matter(mut scopes in prop::collection::vec("[a-z:]{0,6}", 0..6), at in any::<prop::sample::Index>()) {
        let list = |scopes: &[String]| CtxBuilder::new("d").list(Tag::Scopes, scopes).expect("a list").build().expect("a context");
        let before = list(&scopes);
        if !scopes.is_empty() {
            scopes.push(scopes[at.index(scopes.len())].clone());
        }
        scopes.reverse();
        prop_assert!(list(&scopes) == before);
        scopes.push("another".to_owned());
        prop_assert!(list(&scopes) != before);
    }
}
