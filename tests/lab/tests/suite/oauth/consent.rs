//! The authorization endpoint and what it hands out.

use super::support::{
    CHALLENGE, REDIRECT, add, asking, authorize, first, form, get, lab, last, posting, redeeming, sign_in, token, with,
};
use collie_lab::{ClientVerdict, Consent, IssForm, Offline, StateForm, Verdict};
use serde_json::json;

#[tokio::test]
async fn consent_needs_no_person() {
    let lab = lab(|_| ()).await;
    let back = authorize(&lab, &asking(&lab)).await;
    assert_eq!((back["state"].as_str(), &back["iss"]), ("the-state", &lab.issuer()));
    assert!(back.contains_key("code"));
    let seen = last(&lab);
    assert_eq!((seen.client, seen.redirect, seen.pkce), (ClientVerdict::Known, Verdict::Right, Verdict::Right));
    assert_eq!((seen.resource, seen.outcome.as_str()), (Verdict::Right, "ok"));
    assert_eq!((lab.seen().oauth.counts.authorizations, lab.seen().oauth.counts.consents), (1, 1));
}

#[tokio::test]
async fn a_refusal_carries_state_and_issuer_too() {
    let lab = lab(|oauth| oauth.consent = Consent::Deny).await;
    let back = authorize(&lab, &asking(&lab)).await;
    assert_eq!((back["error"].as_str(), back["state"].as_str()), ("access_denied", "the-state"));
    assert_eq!(back["iss"], lab.issuer());
    assert_eq!((last(&lab).outcome.as_str(), lab.seen().oauth.counts.consents), ("access_denied", 0));
}

#[tokio::test]
async fn a_page_asks_and_is_good_once() {
    let lab = lab(|oauth| oauth.consent = Consent::Page).await;
    for (decision, member) in [("allow", "code"), ("deny", "error")] {
        let page = get(&format!("{}?{}", first(&lab, "/oauth/authorize"), form(&asking(&lab)))).await;
        let (_, rest) = page.text().split_once("name=page value=").expect("a page");
        let (id, _) = rest.split_once('>').expect("a value");
        let decided = vec![("page", id.to_owned()), ("decision", decision.to_owned())];
        let answer = posting(&first(&lab, "/oauth/consent"), &decided).send().await;
        assert!(answer.header("location").contains(&format!("{member}=")), "{}", answer.header("location"));
        assert_eq!(posting(&first(&lab, "/oauth/consent"), &decided).send().await.status, 400);
    }
}

#[tokio::test]
async fn what_is_not_exact_is_refused() {
    let lab = lab(|_| ()).await;
    let own = lab.mcp_url();
    for (name, value, error) in [
        ("code_challenge", "", "invalid_request"),
        ("code_challenge", "short", "invalid_request"),
        ("code_challenge_method", "plain", "invalid_request"),
        ("code_challenge_method", "", "invalid_request"),
        ("response_type", "token", "unsupported_response_type"),
        ("resource", "", "invalid_target"),
        ("resource", &format!("{own}/"), "invalid_target"),
        ("resource", &own.replace("http", "HTTP"), "invalid_target"),
        ("scope", "notes:read root", "invalid_scope"),
    ] {
        let back = authorize(&lab, &with(asking(&lab), name, value)).await;
        assert_eq!((back["error"].as_str(), &back["iss"]), (error, &lab.issuer()), "{name} {value}");
    }
    let mut twice = asking(&lab);
    twice.push(("resource", own));
    assert_eq!(authorize(&lab, &twice).await["error"], "invalid_target");
    assert_eq!(last(&lab).resource, Verdict::Several);
}

#[tokio::test]
async fn nobody_is_sent_to_a_foreign_address() {
    let lab = lab(|_| ()).await;
    for (name, value) in [
        ("client_id", "nobody"),
        ("client_id", ""),
        ("redirect_uri", "https://evil.invalid/callback"),
        ("redirect_uri", "http://127.0.0.1:9/other"),
        ("redirect_uri", ""),
    ] {
        let url = format!("{}?{}", first(&lab, "/oauth/authorize"), form(&with(asking(&lab), name, value)));
        let answer = get(&url).await;
        assert_eq!((answer.status, answer.header("location")), (400, ""), "{name} {value}");
    }
    let other_port = with(asking(&lab), "redirect_uri", &REDIRECT.replace(":9", ":4711"));
    let url = format!("{}?{}", first(&lab, "/oauth/authorize"), form(&other_port));
    assert_eq!(get(&url).await.status, 302, "a loopback port may differ");
}

#[tokio::test]
async fn issuer_and_state_of_the_answer_can_be_wrong() {
    let lab = lab(|_| ()).await;
    let (issuer, second) = (lab.issuer(), lab.second_issuer());
    for (form, told) in [
        (IssForm::Right, Some(issuer.clone())),
        (IssForm::Absent, None),
        (IssForm::Wrong, Some(second)),
        (IssForm::Slash, Some(format!("{issuer}/"))),
        (IssForm::Case, Some(issuer.replace("http", "HTTP"))),
        (IssForm::Twice, Some(issuer)),
    ] {
        lab.switch(|switches| switches.oauth.iss = form);
        for consent in [Consent::Auto, Consent::Deny] {
            lab.switch(|switches| switches.oauth.consent = consent);
            assert_eq!(authorize(&lab, &asking(&lab)).await.get("iss").cloned(), told, "{form:?}");
        }
    }
    lab.switch(|switches| switches.oauth.iss_advertised = false);
    let document = get(&first(&lab, "/.well-known/oauth-authorization-server")).await.json();
    assert!(document.get("authorization_response_iss_parameter_supported").is_none());
    lab.switch(|switches| switches.oauth.state = StateForm::Absent);
    assert!(!authorize(&lab, &asking(&lab)).await.contains_key("state"));
    lab.switch(|switches| switches.oauth.state = StateForm::Wrong);
    assert_ne!(authorize(&lab, &asking(&lab)).await["state"], "the-state");
}

#[tokio::test]
async fn a_request_can_be_handed_to_another_server() {
    let lab = lab(|_| ()).await;
    let honest = format!("{}/oauth/authorize", lab.server_urls()[1]);
    lab.switch(|switches| switches.oauth.forward_authorize_to = Some(honest.clone()));
    let answer = get(&format!("{}?{}", first(&lab, "/oauth/authorize"), form(&asking(&lab)))).await;
    assert_eq!(answer.header("location"), format!("{honest}?{}", form(&asking(&lab))));
    // The honest server does not know the client, and says so to the person, not to the client.
    assert_eq!(get(answer.header("location")).await.status, 400);
    assert_eq!(last(&lab).client, ClientVerdict::OtherServers);
    assert!(last(&lab).second);
}

#[tokio::test]
async fn a_code_is_good_once_for_one_client_and_one_proof() {
    let lab = lab(|_| ()).await;
    add(&lab, json!({"client_id": "other", "auth": "none", "redirect_uris": [REDIRECT]}));
    let code = authorize(&lab, &asking(&lab)).await["code"].clone();
    for (name, value, error) in [
        ("code_verifier", CHALLENGE, "invalid_grant"),
        ("code_verifier", "", "invalid_grant"),
        ("redirect_uri", "http://127.0.0.1:10/callback", "invalid_grant"),
        ("client_id", "other", "invalid_grant"),
        ("client_id", "nobody", "invalid_client"),
        ("resource", "", "invalid_target"),
        ("resource", &lab.mcp_b_url(), "invalid_target"),
        ("code", "labcode_never", "invalid_grant"),
        ("grant_type", "password", "unsupported_grant_type"),
    ] {
        let answer = token(&lab, &with(redeeming(&lab, &code), name, value)).await;
        assert_eq!(super::support::error(&answer), error, "{name} {value}");
    }
    assert_eq!(token(&lab, &redeeming(&lab, &code)).await.status, 200);
    assert_eq!(super::support::error(&token(&lab, &redeeming(&lab, &code)).await), "invalid_grant");
    let counts = lab.seen().oauth.counts;
    assert_eq!((counts.reuse_detected, counts.granted("authorization_code")), (1, 1));
    let late = authorize(&lab, &asking(&lab)).await["code"].clone();
    lab.control(collie_lab::Command::AdvanceS(61)).expect("followed");
    assert_eq!(super::support::error(&token(&lab, &redeeming(&lab, &late)).await), "invalid_grant");
}

#[tokio::test]
async fn offline_access_is_met_in_four_ways() {
    let offline = "notes:read offline_access";
    for (form, advertised, without, with_it) in [
        (Offline::Offered, true, true, Some(true)),
        (Offline::Needed, true, false, Some(true)),
        (Offline::Refused, true, false, None),
        (Offline::Unknown, false, true, None),
    ] {
        let lab = lab(|oauth| oauth.offline = form).await;
        let document = get(&first(&lab, "/.well-known/oauth-authorization-server")).await.text().to_owned();
        assert_eq!(document.contains("offline_access"), advertised, "{form:?}");
        assert_eq!(sign_in(&lab).await.get("refresh_token").is_some(), without, "{form:?}");
        let back = authorize(&lab, &with(asking(&lab), "scope", offline)).await;
        match with_it {
            None => assert_eq!(back["error"], "invalid_scope", "{form:?}"),
            Some(given) => {
                let tokens = token(&lab, &redeeming(&lab, &back["code"])).await.json();
                assert_eq!(tokens.get("refresh_token").is_some(), given, "{form:?}");
            }
        }
    }
}
