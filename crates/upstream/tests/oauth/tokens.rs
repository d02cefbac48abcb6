//! Answers of token endpoints: every form of every member, every failure with what it means for the token that was sent, and secrets that servers send back.

use crate::common::{Found, REDIRECT, egress, found, lab, moment, scopes};
use crate::raw::{Raw, http, ok};
use collie_lab::{
    ClientAuth as LabAuth, Command, DeviceGrant, ExpiresIn, Fault as LabFault, FaultRule, GivenClient, RefreshForm,
    Revocation, SCOPE_READ, ScopeForm, SecretEcho,
};
use collie_upstream::oauth::{
    Asked, AuthorizationServer, Client, ClientAuth, ClientIdentity, ErrorCode, Fault, Lifetime, Moment, NextRefresh,
    Poll, RefreshRequest, RevocationRequest, Revoked, StepError, TokenKind, Tokens, exchange_code, poll_device,
    prepare_refresh, prepare_revocation, start_device,
};
use contract::Json;
use egress::{EgressError, Sent};
use sign::{Es256Key, Secret};
use std::time::{SystemTime, UNIX_EPOCH};

/// The refresh token of an answer, as a test keeps it.
fn refresh_token(tokens: Tokens) -> String {
    match tokens.refresh {
        NextRefresh::New(token) => token.with(Clone::clone),
        NextRefresh::None | NextRefresh::Kept => panic!("no refresh token"),
    }
}

async fn refresh(found: &Found, token: &str) -> Result<Tokens, StepError> {
    let granted = scopes(SCOPE_READ);
    let asked = Asked { resource: found.resource.resource(), scopes: &granted, narrowed: None };
    refresh_request(&found.server, &found.client, token, asked).send().await
}

fn refresh_request(server: &AuthorizationServer, client: &Client, token: &str, asked: Asked<'_>) -> RefreshRequest {
    prepare_refresh(&egress(), server, client, &Secret::new(token.to_owned()), asked, moment()).expect("a request")
}

async fn revoke(found: &Found, token: &str) -> Revoked {
    revocation(found, token).send().await
}

fn revocation(found: &Found, token: &str) -> RevocationRequest {
    let token = Secret::new(token.to_owned());
    prepare_revocation(&egress(), &found.server, &found.client, &token, TokenKind::Refresh, moment())
}

#[tokio::test]
async fn a_refresh_gives_the_next_token_or_keeps_the_old_one() {
    for (form, rotation, is_new) in [
        (RefreshForm::Given, true, true),
        (RefreshForm::Given, false, false),
        (RefreshForm::Omitted, true, false),
        (RefreshForm::Empty, true, false),
        (RefreshForm::Null, true, false),
    ] {
        let lab = lab(|oauth| (oauth.next_refresh_token, oauth.rotation) = (form, rotation)).await;
        let found = found(&lab).await;
        let token = refresh_token(found.sign_in().await);
        let next = refresh(&found, &token).await.expect("tokens").refresh;
        assert_eq!(matches!(next, NextRefresh::New(_)), is_new, "{form:?}");
        assert_eq!(matches!(next, NextRefresh::Kept), !is_new, "{form:?}");
    }
}

#[tokio::test]
async fn lifetimes_follow_their_rules() {
    for form in ExpiresIn::ALL {
        let lab = lab(|oauth| oauth.expires_in = form).await;
        let lifetime = found(&lab).await.sign_in().await.lifetime;
        let expected = match form {
            ExpiresIn::True | ExpiresIn::Text => Lifetime::Stated(3600),
            ExpiresIn::Absent | ExpiresIn::Null => Lifetime::Unstated,
            ExpiresIn::Zero | ExpiresIn::Negative => Lifetime::Over,
            ExpiresIn::Nonsense | ExpiresIn::Fraction => Lifetime::Nonsense,
            ExpiresIn::Huge => Lifetime::Stated(contract::limits::OAUTH_ACCESS_TTL_S_MAX),
        };
        assert_eq!(lifetime, expected, "{form:?}");
    }
}

#[tokio::test]
async fn what_was_granted_is_held_against_what_was_asked() {
    for form in [ScopeForm::Same, ScopeForm::Absent, ScopeForm::Wider, ScopeForm::Narrower] {
        let lab = lab(|oauth| oauth.scope = form).await;
        let granted = found(&lab).await.sign_in().await.granted;
        assert_eq!(granted.extra.is_empty(), form != ScopeForm::Wider, "{form:?} {granted:?}");
        assert!(granted.scopes.iter().any(|scope| scope == SCOPE_READ), "{form:?}");
    }
}

#[tokio::test]
async fn reuse_and_silence_are_told_apart() {
    let lab = lab(|_| {}).await;
    let found = found(&lab).await;
    let first = refresh_token(found.sign_in().await);
    let second = refresh_token(refresh(&found, &first).await.expect("tokens"));
    let error = refresh(&found, &first).await.err().expect("used before");
    assert!(matches!(error.fault, Fault::Refused { code: ErrorCode::InvalidGrant, .. }) && error.sent == Sent::No);
    assert!(refresh(&found, &second).await.is_err(), "the detector ended the grant");

    let token = refresh_token(found.sign_in().await);
    let before = lab.seen().oauth.counts.token_requests("refresh_token");
    let fault = FaultRule::new(LabFault::DropAfter).on_method("oauth/token").on_tool("refresh_token").times(1);
    lab.fault(fault).expect("a fault");
    let error = refresh(&found, &token).await.err().expect("no answer");
    assert_eq!(error.sent, Sent::Maybe);
    assert_eq!(lab.seen().oauth.counts.token_requests("refresh_token"), before + 1, "exactly one attempt");
}

#[tokio::test]
async fn no_word_of_a_secret_comes_back() {
    for echo in SecretEcho::ALL {
        let lab = lab(|_| {}).await;
        let found = found(&lab).await;
        let token = refresh_token(found.sign_in().await);
        let head: String = token.chars().take(12).collect();
        lab.switch(|switches| switches.oauth.echo_secrets = Some(echo));
        let error = refresh(&found, &token).await.err().expect("refused");
        let revoked = revoke(&found, &token).await;
        let shown = format!("{error} {error:?} {revoked:?}");
        assert!(!shown.contains(&head), "{echo:?}: {shown}");
        assert!(matches!(revoked, Revoked::Pending(_)), "{echo:?}");
        assert_eq!(error.sent, if echo == SecretEcho::Text { Sent::Maybe } else { Sent::No }, "{echo:?}");
    }
}

#[tokio::test]
async fn revoking_says_what_became_of_it() {
    let lab = lab(|_| {}).await;
    let found = found(&lab).await;
    let token = refresh_token(found.sign_in().await);
    let gone = revoke(&found, &token).await;
    assert_eq!(gone, Revoked::Done);
    assert!(refresh(&found, &token).await.is_err());
    let lab = lab_without_revocation().await;
    let found = crate::common::found(&lab).await;
    let token = refresh_token(found.sign_in().await);
    let kept = revoke(&found, &token).await;
    assert_eq!(kept, Revoked::NotSupported);
}

async fn lab_without_revocation() -> collie_lab::Lab {
    lab(|oauth| oauth.revocation = Revocation::Absent).await
}

#[tokio::test]
async fn a_device_without_a_browser_signs_in_at_the_servers_pace() {
    for (grant, expected) in [
        (DeviceGrant::Auto, "done"),
        (DeviceGrant::Pending, "pending"),
        (DeviceGrant::SlowDown, "slower"),
        (DeviceGrant::Deny, "denied"),
        (DeviceGrant::Expired, "expired"),
    ] {
        let lab = lab(|oauth| (oauth.device, oauth.device_pending) = (grant, 0)).await;
        let found = found(&lab).await;
        let wanted = scopes(SCOPE_READ);
        let asked = Asked { resource: found.resource.resource(), scopes: &wanted, narrowed: None };
        let start = start_device(&egress(), &found.server, &found.client, asked, moment()).await.expect("a code");
        let mut wait = start.wait;
        let pace = wait.interval_s();
        let poll = poll_device(&egress(), &found.server, &found.client, &mut wait, asked, moment()).await;
        let outcome = match poll.expect("an answer") {
            Poll::Done(_) => "done",
            Poll::Pending if wait.interval_s() == pace + 5 => "slower",
            Poll::Pending => "pending",
            Poll::Denied => "denied",
            Poll::Expired => "expired",
        };
        assert_eq!(outcome, expected, "{grant:?}");
    }
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the lab looks at the true clock")]
async fn a_key_signs_for_one_issuer() {
    let key = |byte| Es256Key::from_secret(&Secret::new([byte; 32])).expect("a key");
    let public = key(7).public();
    let jwks = serde_json::json!({"keys": [{"kty": "EC", "crv": "P-256", "x": public.x, "y": public.y, "kid": "k1"}]});
    let given = GivenClient {
        client_id: "keyed".to_owned(),
        auth: LabAuth::Assertion,
        client_secret: None,
        redirect_uris: vec![REDIRECT.to_owned()],
        jwks,
        second: false,
    };
    let lab = lab(|_| {}).await;
    lab.control(Command::AddClient(given)).expect("a client");
    for (byte, is_right) in [(7, true), (8, false)] {
        let mut found = found(&lab).await;
        let auth = ClientAuth::PrivateKeyJwt { key: key(byte), kid: Some("k1".to_owned()) };
        let identity = ClientIdentity::Given { client_id: "keyed".to_owned(), auth };
        found.client = Client::new(found.server.issuer(), identity).expect("a client");
        let code = found.code().await;
        let now_s = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
        let moment = Moment { now_s, random: [byte; 16] };
        let tokens = exchange_code(&egress(), &found.server, &found.client, code, moment).await;
        assert_eq!(tokens.is_ok(), is_right, "{:?}", tokens.err());
    }
}

/// A server of prepared bytes and a public client of it.
async fn prepared(answer: String) -> (Raw, AuthorizationServer, Client) {
    let raw = Raw::start(vec![answer]).await;
    let issuer = raw.url.trim_end_matches("/mcp").to_owned();
    let document =
        Json::from_members([("issuer", issuer.as_str().into()), ("token_endpoint", raw.url.as_str().into())]);
    let server = AuthorizationServer::from_document(&egress(), &issuer, document).expect("metadata");
    let identity = ClientIdentity::Given { client_id: "id".to_owned(), auth: ClientAuth::None };
    (raw, server, Client::new(issuer, identity).expect("a client"))
}

#[tokio::test]
async fn a_token_is_never_sent_by_a_client_of_another_issuer() {
    let lab = lab(|_| {}).await;
    let found = found(&lab).await;
    let identity = ClientIdentity::Given { client_id: "id".to_owned(), auth: ClientAuth::None };
    let stranger = Client::new(lab.second_issuer(), identity).expect("a client");
    let asked = Asked { resource: found.resource.resource(), scopes: &[], narrowed: None };
    let token = Secret::new("rt".to_owned());
    let refused = prepare_refresh(&egress(), &found.server, &stranger, &token, asked, moment()).err();
    assert_eq!(refused.map(|error| error.fault), Some(Fault::OtherIssuer));
}

#[tokio::test]
async fn unusable_answers_are_named_and_leave_doubt() {
    let member = |fault: Fault| {
        let Fault::Malformed { field, .. } = fault else { panic!("{fault:?}") };
        field
    };
    for (body, field) in [
        ("not json", "."),
        ("[]", "."),
        (r#"{"token_type":"Bearer"}"#, "access_token"),
        (r#"{"access_token":"","token_type":"Bearer"}"#, "access_token"),
        (r#"{"access_token":"a b","token_type":"Bearer"}"#, "access_token"),
        (r#"{"access_token":"a\r\nx: y","token_type":"Bearer"}"#, "access_token"),
        (r#"{"access_token":7,"token_type":"Bearer"}"#, "access_token"),
        (r#"{"access_token":"canary"}"#, "token_type"),
        (r#"{"access_token":"canary","token_type":"DPoP"}"#, "token_type"),
        (r#"{"access_token":"canary","token_type":"Bearer","refresh_token":["x"]}"#, "refresh_token"),
        (r#"{"access_token":"canary","token_type":"Bearer","scope":7}"#, "scope"),
    ] {
        let error = refused(ok(body)).await;
        assert!(!format!("{error:?}").contains("canary"), "{body}");
        assert_eq!(error.sent, Sent::Maybe, "{body}");
        assert_eq!(member(error.fault), field, "{body}");
    }
    let large = format!(r#"{{"access_token":"{}"}}"#, "a".repeat(10 * 1024 * 1024));
    let error = refused(ok(&large)).await;
    assert!(matches!(error.fault, Fault::Egress(EgressError::TooLarge { .. })) && error.sent == Sent::Maybe);
}

#[tokio::test]
async fn refusals_are_not_redirected_and_not_doubted() {
    for (answer, sent) in [
        (http("302 Found", "text/plain", "location: https://evil.example/\r\n", ""), Sent::Maybe),
        (http("429 Too Many Requests", "text/plain", "", ""), Sent::No),
        (http("503 Service Unavailable", "text/html", "", "busy"), Sent::Maybe),
        (http("503 Service Unavailable", "application/json", "", r#"{"error":"temporarily_unavailable"}"#), Sent::No),
        (http("400 Bad Request", "application/json", "", r#"{"error":"canary"}"#), Sent::No),
    ] {
        let error = refused(answer.clone()).await;
        assert_eq!(error.sent, sent, "{answer}");
        assert!(!format!("{error:?} {error}").contains("canary"));
    }
}

async fn refused(answer: String) -> StepError {
    let (raw, server, client) = prepared(answer).await;
    let asked = Asked { resource: "https://h/mcp/", scopes: &[], narrowed: None };
    let error = refresh_request(&server, &client, "rt", asked).send().await.err().expect("refused");
    let seen = raw.seen();
    assert_eq!(seen.len(), 1, "one attempt");
    let body = seen[0].split_once("\r\n\r\n").expect("a body").1;
    assert_eq!(body, "grant_type=refresh_token&refresh_token=rt&resource=https%3A%2F%2Fh%2Fmcp%2F&client_id=id");
    error
}
