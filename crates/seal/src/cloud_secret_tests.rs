//! Tests of what the vault keeps in the clear: one spelling for each secret, and no other accepted. Nothing here is product code.

use super::*;
use proptest::prelude::*;

fn secret(text: &str) -> Secret<String> {
    Secret::new(text.to_owned())
}

fn text(secret: &CloudSecret) -> String {
    secret.to_plaintext().expect("a plaintext").with(|bytes| String::from_utf8(bytes.clone()).expect("text"))
}

fn read(kind: SecretKind, text: &str) -> Option<CloudSecret> {
    CloudSecret::from_plaintext(kind, &Secret::new(text.as_bytes().to_vec()))
}

fn grant(refresh: Option<&str>, access: Option<(&str, Option<u64>)>, scopes: &[&str]) -> CloudSecret {
    CloudSecret::Grant(OAuthGrant {
        refresh_token: refresh.map(secret),
        access: access.map(|(token, expires_at_s)| AccessToken { token: secret(token), expires_at_s }),
        scopes: scopes.iter().map(|&scope| scope.to_owned()).collect(),
    })
}

fn registration(client_secret: Option<&str>, management: Option<(&str, &str)>) -> CloudSecret {
    CloudSecret::Registration(ClientRegistration {
        client_secret: client_secret.map(secret),
        management: management.map(|(uri, token)| RegistrationAccess { uri: uri.to_owned(), token: secret(token) }),
    })
}

#[test]
fn each_kind_has_one_plaintext() {
    let cases = [
        (grant(Some("r\"\\1"), None, &["a", "b"]), SecretKind::OAuth, r#"{"refresh_token":"r\"\\1","scope":"a b"}"#),
        (
            grant(Some("r"), Some(("t", Some(9))), &[]),
            SecretKind::OAuth,
            r#"{"access_expires_at":9,"access_token":"t","refresh_token":"r","scope":""}"#,
        ),
        (grant(None, Some(("t", None)), &[]), SecretKind::OAuth, r#"{"access_token":"t","scope":""}"#),
        (CloudSecret::ClientSecret(secret("c s")), SecretKind::ClientSecret, r#"{"client_secret":"c s"}"#),
        (registration(Some("c"), None), SecretKind::Dcr, r#"{"client_secret":"c"}"#),
        (
            registration(None, Some(("https://as.test/r/1", "t"))),
            SecretKind::Dcr,
            r#"{"registration_token":"t","registration_uri":"https://as.test/r/1"}"#,
        ),
        (CloudSecret::Authorization(Secret::new(b"\x01x".to_vec())), SecretKind::Pkce, "\u{1}x"),
        (CloudSecret::Typed(Credential::none()), SecretKind::None, "{}"),
    ];
    for (secret, kind, plain) in cases {
        assert_eq!(secret.kind(), kind);
        assert_eq!(text(&secret), plain);
        assert_eq!(text(&read(kind, plain).expect("reads back")), plain);
        // A client's secret is spelt alike whoever registered the client; the context tells the two apart. An authorization is any bytes.
        let alike = [SecretKind::ClientSecret, SecretKind::Dcr];
        for other in SecretKind::ALL.iter().filter(|other| **other != kind && **other != SecretKind::Pkce) {
            assert!(
                read(*other, plain).is_none() || alike.contains(&kind) && alike.contains(other),
                "{kind} read as {other}"
            );
        }
    }
}

#[test]
fn other_spellings_are_refused() {
    for bad in [
        "",
        "{}",
        r#"{"scope":"a"}"#,
        r#"{"access_expires_at":9,"refresh_token":"r","scope":""}"#,
        r#"{"access_expires_at":09,"access_token":"t","scope":""}"#,
        r#"{"access_expires_at":99999999999999999999,"access_token":"t","scope":""}"#,
        r#"{"refresh_token":"r","scope":"a  b"}"#,
        r#"{"refresh_token":"r","scope":"a","x":"y"}"#,
        r#"{,"refresh_token":"r","scope":"a"}"#,
        r#"{"refresh_token":"r""scope":"a"}"#,
        r#"{"refresh_token":"\u0072","scope":"a"}"#,
        r#"{"refresh_token":"","scope":"a"}"#,
        r#"{"refresh_token":"r","scope":"a"} "#,
        r#"{"scope":"a","refresh_token":"r"}"#,
    ] {
        assert!(read(SecretKind::OAuth, bad).is_none(), "{bad}");
    }
    assert!(read(SecretKind::Dcr, r#"{"registration_token":"t"}"#).is_none());
    assert!(read(SecretKind::Dcr, "{}").is_none());
    assert!(read(SecretKind::ClientSecret, r#"{"client_secret":""}"#).is_none());
    assert!(read(SecretKind::Pkce, "").is_none());
}

#[test]
fn what_no_request_can_carry_is_not_sealed() {
    let long = "x".repeat(limits::CREDENTIAL_SECRET_BYTES_MAX + 1);
    for bad in ["", "a\nb", "é", "a\0", &long] {
        assert!(grant(Some(bad), None, &[]).to_plaintext().is_none());
        assert!(CloudSecret::ClientSecret(secret(bad)).to_plaintext().is_none());
        assert!(registration(None, Some((bad, "t"))).to_plaintext().is_none());
    }
    assert!(grant(None, None, &["a"]).to_plaintext().is_none());
    assert!(grant(Some("r"), None, &["a b"]).to_plaintext().is_none());
    assert!(registration(None, None).to_plaintext().is_none());
    let many = vec![0; limits::VAULT_AUTHORIZATION_BYTES_MAX + 1];
    assert!(CloudSecret::Authorization(Secret::new(many)).to_plaintext().is_none());
}

proptest! {
    #[test]
    fn every_grant_comes_back(
        refresh in proptest::option::of("[ -~]{1,60}"),
        access in "[ -~]{1,60}",
        expires in proptest::option::of(0_u64..1 << 53),
        scopes in proptest::collection::vec("[!-~&&[^\"\\\\]]{1,12}", 0..4),
    ) {
        let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
        let plain = text(&grant(refresh.as_deref(), Some((&access, expires)), &scopes));
        let Some(CloudSecret::Grant(back)) = read(SecretKind::OAuth, &plain) else { panic!("reads back") };
        prop_assert_eq!(back.scopes, scopes);
        let token = back.access.expect("an access token");
        prop_assert_eq!(token.expires_at_s, expires);
        prop_assert!(token.token.is_same(&secret(&access)));
        prop_assert_eq!(back.refresh_token.map(|token| token.with(Clone::clone)), refresh);
    }

    #[test]
    fn arbitrary_plaintexts_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80), json in "[{}\",:a-z_0-9\\\\]{0,60}") {
        for kind in SecretKind::ALL {
            let _ = CloudSecret::from_plaintext(*kind, &Secret::new(bytes.clone()));
            let _ = read(*kind, &json);
        }
    }
}
