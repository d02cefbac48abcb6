//! Tests of the frozen envelope against the published vectors; nothing here is product code.

use super::*;
use contract::{
    connection::{ConnectionPolicy, Profile, SealFormat, Status},
    digest,
    ids::ConnectionId,
};
use proptest::prelude::*;

const TEXT: &str = "collie-seal-v1:gIGCg4SFhoeIiYqLjI2Oj5CRkpOUlZaXmJmam5ydnp8";
const MANIFEST_DIGEST: &str = "fYf4BiICNI_sGa9U4zuYFN-PybimLl52xuk4_y56N78";
const CIPHERTEXT: &str = "saPOvHhy7V9pDbpYtVQaIIU6FVVnLLNXZo2VGBB8_2Io3CTzLIqzQPf9tfkVPtpjw5vE6zqkV4gnv3SPyB27U9F3kINmxl2BBZt0svGpmqNZOs-FlKAmLHPkwCZSezi1SbyHdCQCmHDYBWywf4wAAc8XJLZh_b-zJVN56O2zcEQrqkly4qZbHFShjhic72rkxKFxMPFLHObsm6bxbbO-8F7GhILjze3rWeDjJDfoYEL7CGHurIoltH506vABp6k-OT3KU8ufTO11LLRXEEPP1YgdYsNsGJsvXSa3KwxLV6MXrkk0qHV3j36CE0SJYM_ByJ4b-VeNi-DdH395BdrDiG-ax8tyNQ-TE7G5O2pM2dlGt9ISywy6_3VdzqU3iLdtAggcfQbyJiUrqNuQ-yWoubSmMVVI9B_TjxYbHtX1JGzIzXyKhyUwyqCvzhV8NE4kDda17xQIh3V2g16LB2y9LXg2Sy5XxelR06VfNqAzbB6VO8B411hW4-SqS5h_WQzw9c98hG1JY3agKv__OoTGk6xwiORH6Vw";

fn key() -> V1Key {
    V1Key::from_text(&Secret::new(TEXT.to_owned())).expect("a key")
}

fn row() -> ConnectionRow {
    ConnectionRow {
        id: ConnectionId::parse("conn-12345678").expect("an id"),
        name: "Shared Mail".to_owned(),
        scope: Scope::Personal,
        project_id: String::new(),
        transport: Profile::DeviceDirect,
        endpoint: "https://mcp.example.test/mcp".to_owned(),
        manifest: Vec::new(),
        manifest_digest: MANIFEST_DIGEST.to_owned(),
        reviewed_digest: MANIFEST_DIGEST.to_owned(),
        status: Status::Active,
        policy: ConnectionPolicy { allowed_effects: Vec::new() },
        seal_format: SealFormat::V1,
        version: 1,
        credential_version: 1,
        review_seq: 0,
        raw_digest: String::new(),
        review: None,
        reviewed_by: String::new(),
        created_at: 1,
    }
}

fn connection_of(row: &ConnectionRow) -> Option<V1Connection> {
    V1Connection::of(row, &WorkspaceId::parse("w1").expect("an id"), &UserId::parse("u1").expect("an id"))
}

fn connection() -> V1Connection {
    connection_of(&row()).expect("a v1 connection")
}

fn nonce() -> [u8; 12] {
    [0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6a, 0x6b, 0x6c, 0x6d, 0x6e, 0x6f]
}

fn envelope() -> EnvelopeV1 {
    EnvelopeV1 { v: 1, alg: "A256GCM".to_owned(), nonce: b64u::encode(nonce()), ciphertext: CIPHERTEXT.to_owned() }
}

fn bearer(token: &str) -> Credential {
    Credential::static_bearer(&Secret::new(token.to_owned())).expect("a token")
}

#[test]
fn vector_recovery_key() {
    let mut bytes = [0; 32];
    bytes.iter_mut().zip(0x80..).for_each(|(slot, byte)| *slot = byte);
    assert!(key().is_same(&V1Key::new(Secret::new(bytes))));
    key().to_text().with(|text| assert_eq!(text, TEXT));
}

#[test]
fn vector_sealed_object() {
    let name = ObjectName::of_object("project-1", "memory:dev-1:7");
    assert_eq!(
        digest::hex(&name.aad()),
        "636f6c6c69652d7365616c65642d76310070726f6a6563742d31006d656d6f72793a6465762d313a37"
    );
    let mut nonce = [0; 12];
    nonce.iter_mut().zip(0..).for_each(|(slot, byte)| *slot = byte);
    let plaintext = "{\"n\":1,\"text\":\"private — only devices\"}".as_bytes().to_vec();
    let sealed = seal_envelope(&key(), &name, &Secret::new(plaintext.clone()), &nonce).expect("seals");
    assert_eq!(sealed.nonce, "AAECAwQFBgcICQoL");
    assert_eq!(sealed.ciphertext, "iGIRCy8XVomyESEYCmzf0Ybu0KgAwvdcQcjj1dYQDRL5NXGoiUhIaYHYmFBLTQcOuWMPqbWmVlKO");
    assert!(open_envelope(&key(), &name, &sealed).expect("opens").is_same(&Secret::new(plaintext)));
}

#[test]
fn vector_credential_binding() {
    assert_eq!(connection().name().scope(), "connection-personal:w1:u1");
    assert_eq!(
        digest::hex(&connection().name().aad()),
        "636f6c6c69652d7365616c65642d763100636f6e6e656374696f6e2d706572736f6e616c3a77313a753100636f6e6e656374696f6e2d63726564656e7469616c3a636f6e6e2d3132333435363738"
    );
    let opened = open_v1(&key(), &connection(), &envelope()).expect("opens");
    assert_eq!(opened.sealed_at_s(), 1_790_000_000);
    opened.credential().expose_for_upstream_request(|lines| {
        assert_eq!(
            (lines.len(), lines[0].name(), lines[0].value(), lines[0].secret()),
            (1, "authorization", "Bearer direct-secret", "direct-secret")
        );
    });
    // And written, byte for byte.
    assert_eq!(seal_v1(&key(), &connection(), &bearer("direct-secret"), 1_790_000_000, &nonce()), Ok(envelope()));
}

#[test]
fn vector_credential_scope_project() {
    let mut row = row();
    row.scope = Scope::Project;
    row.project_id = "project-1".to_owned();
    assert_eq!(connection_of(&row).expect("a v1 connection").name().scope(), "connection-project:project-1");
}

#[test]
fn every_field_of_the_binding_is_checked() {
    type Change = fn(&mut ConnectionRow);
    let changes: [(&str, Change); 6] = [
        ("name", |r| r.name.push('!')),
        ("endpoint", |r| r.endpoint.push('/')),
        ("project_id", |r| r.project_id.push('p')),
        ("digests", |r| (r.manifest_digest, r.reviewed_digest) = ("x".to_owned(), "x".to_owned())),
        ("id", |r| r.id = ConnectionId::parse("conn-2").expect("an id")),
        ("scope", |r| r.scope = Scope::Project),
    ];
    for (what, change) in changes {
        let mut other = row();
        change(&mut other);
        assert!(open_v1(&key(), &connection_of(&other).expect("a v1 connection"), &envelope()).is_err(), "{what}");
    }
    // Name, endpoint, project and digests are no part of the AAD: there the plaintext's own binding refuses.
    let mut renamed = row();
    renamed.name.push('!');
    let renamed = connection_of(&renamed).expect("a v1 connection");
    assert!(open_envelope(&key(), renamed.name(), &envelope()).is_ok(), "the envelope alone would open");
}

#[test]
fn c5_only_a_reviewed_v1_row_has_a_v1_credential() {
    type Change = fn(&mut ConnectionRow);
    let changes: [Change; 5] = [
        |r| r.seal_format = SealFormat::V2,
        |r| r.transport = Profile::CloudProxy,
        |r| r.reviewed_digest.clear(),
        |r| r.reviewed_digest.push('x'),
        |r| (r.manifest_digest, r.reviewed_digest) = (String::new(), String::new()),
    ];
    for (at, change) in changes.into_iter().enumerate() {
        let mut other = row();
        change(&mut other);
        assert_eq!(connection_of(&other), None, "change {at}");
    }
}

#[test]
fn what_is_written_holds_nothing_to_refresh_with() {
    let header = Credential::static_header("X-Api-Key", &Secret::new("a\"b\\c d".to_owned())).expect("a header");
    for credential in [bearer("t"), header, Credential::none()] {
        let sealed = seal_v1(&key(), &connection(), &credential, 7, &nonce()).expect("seals");
        let plaintext = open_envelope(&key(), connection().name(), &sealed).expect("opens");
        let document = plaintext.with(|bytes| {
            let document = cjson::parse(bytes, bytes.len()).expect("JSON");
            assert_eq!(&document.canonical(), bytes, "canonical, as the public client seals");
            document
        });
        let keys: Vec<_> =
            document.find("credential").and_then(Json::as_object).expect("an object").keys().cloned().collect();
        assert!(keys == ["access_token", "token_type"] || keys == ["headers"], "{keys:?}");
        let opened = open_v1(&key(), &connection(), &sealed).expect("reads back");
        let lines = |credential: &Credential| {
            credential.expose_for_upstream_request(|lines| {
                lines.iter().map(|line| [line.name(), line.value()].concat()).collect::<Vec<_>>()
            })
        };
        assert_eq!((lines(opened.credential()), opened.sealed_at_s()), (lines(&credential), 7));
    }
}

fn seal_plaintext(plaintext: &str) -> EnvelopeV1 {
    seal_envelope(&key(), connection().name(), &Secret::new(plaintext.as_bytes().to_vec()), &nonce()).expect("seals")
}

#[test]
fn credentials_of_the_public_client_are_read_without_what_we_do_not_need() {
    let binding = cjson::to_canonical(&connection().binding)
        .map(|bytes| String::from_utf8(bytes).expect("text"))
        .expect("canonical");
    let open = |credential: &str, version: &str| {
        let text =
            format!("{{\"binding\":{binding},\"credential\":{credential},\"sealed_at\":1,\"version\":{version}}}");
        open_v1(&key(), &connection(), &seal_plaintext(&text))
    };
    let opened =
        open(r#"{"access_token":"a","headers":{"X-Org":"o 1"},"refresh_token":"r","token_endpoint":"https://x"}"#, "1")
            .expect("opens");
    opened.credential().expose_for_upstream_request(|lines| {
        let lines: Vec<_> = lines.iter().map(HeaderLine::value).collect();
        assert_eq!(lines, ["Bearer a", "o 1"]);
    });
    assert!(open(r#"{"headers":{}}"#, "1").is_ok());
    for bad in [
        r#"{}"#,
        r#"{"refresh_token":"r"}"#,
        r#"{"access_token":"a\nb"}"#,
        r#"{"headers":{"Host":"x"}}"#,
        r#"{"headers":{"X":1}}"#,
        "[]",
    ] {
        assert!(open(bad, "1").is_err(), "{bad}");
    }
    for version in ["2", "true", "1.0"] {
        assert!(open(r#"{"access_token":"a"}"#, version).is_err(), "{version}");
    }
    assert!(open_v1(&key(), &connection(), &seal_plaintext("{}")).is_err());
    assert!(open_v1(&key(), &connection(), &seal_plaintext("not json")).is_err());
}

#[test]
fn names_with_a_separator_inside_are_refused() {
    let name = ObjectName::of_object("a\0b", "c");
    assert_eq!(name.aad(), ObjectName::of_object("a", "b\0c").aad(), "the bytes would be the same");
    assert!(seal_envelope(&key(), &name, &Secret::new(Vec::new()), &nonce()).is_err());
    assert!(open_envelope(&key(), &name, &envelope()).is_err());
}

#[test]
fn a1_no_bit_of_an_envelope_is_free() {
    let ciphertext = b64u::decode(CIPHERTEXT).expect("base64");
    for bit in 0..ciphertext.len() * 8 {
        let mut changed = ciphertext.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        let changed = EnvelopeV1 { ciphertext: b64u::encode(changed), ..envelope() };
        assert!(open_v1(&key(), &connection(), &changed).is_err(), "bit {bit}");
    }
    for bit in 0..96 {
        let mut changed = nonce();
        changed[bit / 8] ^= 1 << (bit % 8);
        assert!(
            open_v1(&key(), &connection(), &EnvelopeV1 { nonce: b64u::encode(changed), ..envelope() }).is_err(),
            "bit {bit}"
        );
    }
}

#[test]
fn c7_a_mistyped_key_text_is_no_text_or_fails_its_trial() {
    let name = connection().name().clone();
    let mut other_keys = 0;
    for at in 0..TEXT.len() {
        for c in ['A', 'z', '0', '_', '='] {
            let mut typed: Vec<char> = TEXT.chars().collect();
            if typed[at] == c {
                continue;
            }
            typed[at] = c;
            let Ok(typed) = V1Key::from_text(&Secret::new(typed.into_iter().collect())) else { continue };
            other_keys += 1;
            assert!(!typed.is_same(&key()));
            assert!(open_envelope(&typed, &name, &envelope()).is_err());
        }
    }
    assert!(other_keys > 100, "most typing mistakes are valid other keys, so the trial is what finds them");
}

proptest! {
    #[test]
    fn arbitrary_plaintexts_and_texts_never_panic(text in ".{0,80}") {
        prop_assert!(open_v1(&key(), &connection(), &seal_plaintext(&text)).is_err());
        let _ = V1Key::from_text(&Secret::new(text));
    }
}
