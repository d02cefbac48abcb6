//! Refresh, rotation, reuse, revocation, lives and scopes of tokens.

use super::support::{
    DEVICE_GRANT, add, error, first, lab, last, list, posting, refresh, refreshing, sign_in, sign_in_for, text, token,
    with,
};
use collie_lab::{
    Command, DeviceGrant, ExpiresIn, Lab, RefreshForm, Revocation, SCOPE_READ, ScopeForm, TokenVerdict, Verdict,
};
use serde_json::{Value, json};

async fn revoke(lab: &Lab, token: &str) -> u16 {
    let pairs = vec![("token", token.to_owned()), ("client_id", "given".to_owned())];
    posting(&first(lab, "/oauth/revoke"), &pairs).send().await.status
}

#[tokio::test]
async fn rotation_gives_a_new_one_and_reuse_ends_the_grant() {
    let lab = lab(|_| ()).await;
    let one = sign_in(&lab).await;
    let two = refresh(&lab, &one).await.json();
    assert_ne!(one["refresh_token"], two["refresh_token"]);
    assert_eq!(lab.seen().oauth.counts.refreshes.get("g1.f1"), Some(&1));
    assert_eq!(error(&refresh(&lab, &one).await), "invalid_grant");
    assert_eq!(last(&lab).token, TokenVerdict::Reused);
    assert_eq!(error(&refresh(&lab, &two).await), "invalid_grant", "the new one is dead too");
    assert_eq!(last(&lab).token, TokenVerdict::Revoked);
    assert_eq!(list(&lab, &two).await.status, 401);
    let counts = lab.seen().oauth.counts;
    assert_eq!(
        (counts.reuse_detected, counts.token_requests("refresh_token"), counts.granted("refresh_token")),
        (1, 3, 1)
    );
}

#[tokio::test]
async fn detector_and_rotation_can_be_off() {
    let lab = lab(|oauth| oauth.reuse_detector = false).await;
    let one = sign_in(&lab).await;
    let two = refresh(&lab, &one).await.json();
    assert_eq!(error(&refresh(&lab, &one).await), "invalid_grant");
    assert_eq!(refresh(&lab, &two).await.status, 200, "the grant lives");
    assert_eq!(lab.seen().oauth.counts.reuse_detected, 1, "it is counted all the same");
    lab.switch(|switches| switches.oauth.rotation = false);
    let one = sign_in(&lab).await;
    for _ in 0..3 {
        assert_eq!(refresh(&lab, &one).await.json()["refresh_token"], one["refresh_token"]);
    }
}

#[tokio::test]
async fn a_refresh_is_for_its_client_its_resource_and_its_scope() {
    let lab = lab(|_| ()).await;
    add(&lab, json!({"client_id": "other", "auth": "none", "redirect_uris": []}));
    let tokens = sign_in(&lab).await;
    let good = || refreshing(&lab, text(&tokens, "refresh_token"));
    for (name, value, code) in [
        ("resource", String::new(), "invalid_target"),
        ("resource", format!("{}/", lab.mcp_url()), "invalid_target"),
        ("resource", lab.mcp_b_url(), "invalid_target"),
        ("client_id", "other".to_owned(), "invalid_grant"),
        ("refresh_token", "labrt_never".to_owned(), "invalid_grant"),
        ("scope", "notes:read notes:admin".to_owned(), "invalid_scope"),
    ] {
        assert_eq!(error(&token(&lab, &with(good(), name, &value)).await), code, "{name}");
    }
    assert_eq!(token(&lab, &good()).await.status, 200, "nothing of that used it up");
    assert_eq!(last(&lab).resource, Verdict::Right);
    lab.switch(|switches| switches.oauth.resource_checked = false);
    let tokens = sign_in(&lab).await;
    let answer = token(&lab, &with(refreshing(&lab, text(&tokens, "refresh_token")), "resource", "")).await;
    assert_eq!((answer.status, last(&lab).resource), (200, Verdict::Absent), "not checked, and still noted");
}

#[tokio::test]
async fn the_second_server_knows_nothing_and_notes_what_it_is_shown() {
    let lab = lab(|_| ()).await;
    let tokens = sign_in(&lab).await;
    add(&lab, json!({"client_id": "given", "auth": "none", "redirect_uris": [], "second": true}));
    let url = format!("{}/oauth/token", lab.server_urls()[1]);
    let answer = posting(&url, &refreshing(&lab, text(&tokens, "refresh_token"))).send().await;
    assert_eq!((error(&answer).as_str(), last(&lab).token), ("invalid_grant", TokenVerdict::OtherServers));
    assert_eq!(list(&lab, &tokens).await.status, 200);
    lab.switch(|switches| switches.oauth.moved = true);
    assert_eq!(list(&lab, &tokens).await.status, 401, "the resource trusts the server it names");
    let token = lab.seen().requests.back().and_then(|request| request.token.clone()).expect("a token");
    assert_eq!((token.verdict, token.grant.as_deref()), (TokenVerdict::OtherServers, Some("g1.f1")));
}

#[tokio::test]
async fn answers_say_of_a_life_whatever_they_like() {
    let lab = lab(|oauth| oauth.access_ttl_s = 60).await;
    for form in ExpiresIn::ALL {
        lab.switch(|switches| switches.oauth.expires_in = form);
        let told = sign_in(&lab).await.get("expires_in").map(Value::to_string);
        let wanted = match form {
            ExpiresIn::True => Some("60"),
            ExpiresIn::Absent => None,
            ExpiresIn::Zero => Some("0"),
            ExpiresIn::Negative => Some("-1"),
            ExpiresIn::Nonsense => Some("\"soon\""),
            ExpiresIn::Text => Some("\"60\""),
            ExpiresIn::Fraction => Some("60.5"),
            ExpiresIn::Huge => Some("9223372036854775808"),
            ExpiresIn::Null => Some("null"),
        };
        assert_eq!(told.as_deref(), wanted, "{form:?}");
    }
    let tokens = sign_in(&lab).await;
    lab.control(Command::AdvanceS(30)).expect("followed");
    assert_eq!(list(&lab, &tokens).await.status, 200);
    lab.control(Command::AdvanceS(30)).expect("followed");
    assert_eq!(list(&lab, &tokens).await.status, 401);
    let tokens = sign_in(&lab).await;
    lab.control(Command::ExpireAccess).expect("followed");
    assert_eq!(list(&lab, &tokens).await.status, 401);
    assert_eq!(refresh(&lab, &tokens).await.status, 200);
    lab.control(Command::EndGrants).expect("followed");
    assert_eq!(error(&refresh(&lab, &tokens).await), "invalid_grant");
    lab.control(Command::AdvanceS(u64::MAX)).expect_err("too far");
}

#[tokio::test]
async fn a_refresh_token_that_is_left_out_stays_good() {
    for (form, told) in
        [(RefreshForm::Omitted, None), (RefreshForm::Empty, Some(json!(""))), (RefreshForm::Null, Some(Value::Null))]
    {
        let lab = lab(|oauth| oauth.next_refresh_token = form).await;
        let one = sign_in(&lab).await;
        for _ in 0..2 {
            assert_eq!(refresh(&lab, &one).await.json().get("refresh_token").cloned(), told, "{form:?}");
        }
        lab.switch(|switches| switches.oauth.first_refresh_token = form);
        assert_eq!(sign_in(&lab).await.get("refresh_token").cloned(), told, "{form:?}");
    }
}

#[tokio::test]
async fn scope_type_and_audience_can_be_others() {
    let lab = lab(|_| ()).await;
    let asked = "notes:read notes:write";
    for (form, told) in [
        (ScopeForm::Same, Some(asked)),
        (ScopeForm::Absent, None),
        (ScopeForm::Wider, Some("notes:read notes:write notes:admin")),
        (ScopeForm::Narrower, Some(SCOPE_READ)),
    ] {
        lab.switch(|switches| switches.oauth.scope = form);
        assert_eq!(sign_in_for(&lab, asked).await.get("scope").and_then(Value::as_str), told, "{form:?}");
    }
    lab.switch(|switches| switches.oauth.token_type = "DPoP".to_owned());
    assert_eq!(sign_in(&lab).await["token_type"], "DPoP");
    lab.switch(|switches| switches.oauth.other_audience = true);
    assert_eq!(list(&lab, &sign_in(&lab).await).await.status, 401);
    let token = lab.seen().requests.back().and_then(|request| request.token.clone()).expect("a token");
    assert_eq!(token.verdict, TokenVerdict::OtherAudience);
}

#[tokio::test]
async fn revocation_reaches_as_far_as_the_switches_say() {
    for (form, own, sibling) in
        [(Revocation::Token, false, true), (Revocation::Family, false, true), (Revocation::Grant, false, false)]
    {
        for reaches in [true, false] {
            let lab = lab(|oauth| (oauth.revocation, oauth.revokes_access) = (form, reaches)).await;
            let (one, two) = (sign_in(&lab).await, sign_in(&lab).await);
            assert_eq!(revoke(&lab, text(&one, "refresh_token")).await, 200);
            assert_eq!(refresh(&lab, &one).await.status == 200, own, "{form:?}");
            assert_eq!(refresh(&lab, &two).await.status == 200, sibling, "{form:?}");
            let access_lives = !reaches || form == Revocation::Token;
            assert_eq!(list(&lab, &one).await.status == 200, access_lives, "{form:?} {reaches}");
            assert_eq!(lab.seen().oauth.counts.revocations, 1);
        }
    }
    let lab = lab(|_| ()).await;
    assert_eq!(revoke(&lab, "labrt_never").await, 200, "it never says what it knows");
    assert_eq!(lab.seen().oauth.counts.revocations, 0);
    add(&lab, json!({"client_id": "other", "auth": "none", "redirect_uris": []}));
    let tokens = sign_in(&lab).await;
    let foreign = vec![("token", text(&tokens, "refresh_token").to_owned()), ("client_id", "other".to_owned())];
    assert_eq!(posting(&first(&lab, "/oauth/revoke"), &foreign).send().await.status, 200);
    assert_eq!(refresh(&lab, &tokens).await.status, 200, "another client ends nothing");
    lab.switch(|switches| switches.oauth.revocation = Revocation::Absent);
    assert_eq!(revoke(&lab, "labrt_never").await, 404);
}

#[tokio::test]
async fn a_device_is_let_in_without_a_person() {
    let lab = lab(|oauth| oauth.device = DeviceGrant::Auto).await;
    let asked = vec![("client_id", "given".to_owned()), ("scope", SCOPE_READ.to_owned()), ("resource", lab.mcp_url())];
    let no_resource = with(asked.clone(), "resource", "");
    assert_eq!(error(&posting(&first(&lab, "/oauth/device"), &no_resource).send().await), "invalid_target");
    let begun = posting(&first(&lab, "/oauth/device"), &asked).send().await.json();
    assert_eq!((text(&begun, "user_code").len(), &begun["interval"]), (9, &json!(1)));
    let poll = vec![
        ("grant_type", DEVICE_GRANT.to_owned()),
        ("client_id", "given".to_owned()),
        ("device_code", text(&begun, "device_code").to_owned()),
        ("resource", lab.mcp_url()),
    ];
    assert_eq!(error(&token(&lab, &poll).await), "authorization_pending");
    for (form, code) in [
        (DeviceGrant::Pending, "authorization_pending"),
        (DeviceGrant::SlowDown, "slow_down"),
        (DeviceGrant::Deny, "access_denied"),
        (DeviceGrant::Expired, "expired_token"),
    ] {
        lab.switch(|switches| switches.oauth.device = form);
        assert_eq!(error(&token(&lab, &poll).await), code);
    }
    lab.switch(|switches| switches.oauth.device = DeviceGrant::Auto);
    let tokens = token(&lab, &poll).await.json();
    assert_eq!(list(&lab, &tokens).await.status, 200);
    assert_eq!(error(&token(&lab, &poll).await), "invalid_grant", "good once");
    assert_eq!((lab.seen().oauth.counts.devices, lab.seen().oauth.counts.granted(DEVICE_GRANT)), (1, 1));
    lab.switch(|switches| switches.oauth.device = DeviceGrant::Off);
    assert_eq!(posting(&first(&lab, "/oauth/device"), &asked).send().await.status, 404);
}
