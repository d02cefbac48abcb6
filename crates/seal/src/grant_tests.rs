//! Tests of grants on a device; nothing here is product code.

use super::*;

pub(crate) fn grant() -> DeviceGrant {
    let secret = |text: &str| Secret::new(text.to_owned());
    DeviceGrant {
        facts: GrantFacts {
            issuer: "https://as.example.test".to_owned(),
            client_id: "cl\"ient".to_owned(),
            scopes: vec!["notes:read".to_owned(), "notes:write".to_owned()],
            subject: "ada".to_owned(),
        },
        resource: "https://mcp.example.test/mcp".to_owned(),
        client: GrantClient {
            proof: ClientProof::Basic(secret("c\\s")),
            redirect_uri: "http://127.0.0.1:5/callback/x".to_owned(),
            management: Some(RegistrationAccess { uri: "https://as.example.test/r".to_owned(), token: secret("rat") }),
        },
        access: Some(AccessToken { token: secret("at"), expires_at_s: Some(100) }),
        refresh_token: Some(secret("rt")),
    }
}

fn text(grant: &DeviceGrant) -> String {
    grant.to_plaintext().expect("a plaintext").with(|bytes| String::from_utf8(bytes.clone()).expect("text"))
}

#[test]
fn a_grant_has_one_spelling_and_comes_back_whole() {
    let whole = text(&grant());
    assert_eq!(
        whole,
        concat!(
            r#"{"access_expires_at":100,"access_token":"at","auth":"client_secret_basic","client_id":"cl\"ient","#,
            r#""client_secret":"c\\s","issuer":"https://as.example.test","redirect_uri":"http://127.0.0.1:5/callback/x","#,
            r#""refresh_token":"rt","registration_token":"rat","registration_uri":"https://as.example.test/r","#,
            r#""resource":"https://mcp.example.test/mcp","scope":"notes:read notes:write","subject":"ada"}"#
        )
    );
    let back = DeviceGrant::from_plaintext(&Secret::new(whole.clone().into_bytes())).expect("reads back");
    assert_eq!((text(&back), back.facts), (whole.clone(), grant().facts));
    let client = DeviceGrant {
        access: None,
        refresh_token: None,
        client: GrantClient { proof: ClientProof::None, redirect_uri: String::new(), management: None },
        ..grant()
    };
    assert!(DeviceGrant::from_plaintext(&Secret::new(text(&client).into_bytes())).is_some());
    for cut in 0..whole.len() {
        assert!(DeviceGrant::from_plaintext(&Secret::new(whole.as_bytes()[..cut].to_vec())).is_none(), "{cut}");
    }
    for (from, to) in [
        ("\"auth\":\"client_secret_basic\"", "\"auth\":\"none\""),
        ("\"auth\":\"client_secret_basic\"", "\"auth\":\"private_key_jwt\""),
        ("100", "0100"),
        ("notes:read notes", "notes:read  notes"),
        ("{\"acc", "{ \"acc"),
        ("\"at\"", "\"\\u0061t\""),
        ("\"at\"", "\"\""),
    ] {
        let other = whole.replacen(from, to, 1);
        assert_ne!(other, whole);
        assert!(DeviceGrant::from_plaintext(&Secret::new(other.into_bytes())).is_none(), "{to}");
    }
}

#[test]
fn a_token_lives_until_a_margin_before_its_end() {
    let mut grant = grant();
    assert!(grant.lives(39, 60) && !grant.lives(40, 60) && !grant.lives(u64::MAX, 60));
    if let Some(access) = &mut grant.access {
        access.expires_at_s = None;
    }
    assert!(grant.lives(u64::MAX, 60), "the server did not say");
    grant.access = None;
    assert!(!grant.lives(0, 0) && !grant.is_complete());
}
