//! The sign-in as a whole, and what an authorization server or a stranger can do to its callback.

use crate::common::{Found, NOW, egress, found, lab, moment, scopes, visit};
use collie_lab::{Consent as LabConsent, IssForm, RefreshForm, SCOPE_READ, StateForm, TokenVerdict, Verdict};
use collie_upstream::oauth::{
    Callback, CallbackError, ErrorCode, Fault, NextRefresh, Transaction, exchange_code, find_server,
};
use egress::Sent;

#[tokio::test]
async fn a_sign_in_binds_code_resource_and_verifier() {
    let lab = lab(|_| {}).await;
    let tokens = found(&lab).await.sign_in().await;
    assert!(matches!(tokens.refresh, NextRefresh::New(_)));
    assert_eq!(tokens.granted.missing, Vec::<String>::new());
    let seen = lab.seen().oauth;
    let exchange = seen.requests.iter().find(|request| request.endpoint == "oauth/token").expect("an exchange");
    assert_eq!((exchange.resource, exchange.pkce, exchange.redirect), (Verdict::Right, Verdict::Right, Verdict::Right));
    let asked = seen.requests.iter().find(|request| request.endpoint == "oauth/authorize").expect("a request");
    assert_eq!((asked.resource, asked.pkce), (Verdict::Right, Verdict::Right));
    assert_eq!(asked.scope, [SCOPE_READ, collie_lab::SCOPE_OFFLINE], "offline access is asked for where it is offered");
}

async fn answered(lab: &collie_lab::Lab) -> (Found, Transaction, Callback) {
    let found = found(lab).await;
    let (url, transaction) = found.begin(&scopes(SCOPE_READ), 3);
    let callback = Callback::parse(&visit(&url).await).expect("readable");
    (found, transaction, callback)
}

#[tokio::test]
async fn another_issuer_is_refused_in_answers_and_in_refusals() {
    for consent in [LabConsent::Auto, LabConsent::Deny] {
        for iss in [IssForm::Absent, IssForm::Wrong, IssForm::Slash, IssForm::Case] {
            let lab = lab(|oauth| (oauth.iss, oauth.consent) = (iss, consent)).await;
            let (_, transaction, callback) = answered(&lab).await;
            let refused = transaction.accept(callback, NOW + 1).err();
            assert_eq!(refused, Some(CallbackError::OtherIssuer), "{iss:?} {consent:?}");
            assert_eq!(lab.seen().oauth.counts.token_requests("authorization_code"), 0);
        }
    }
    let lab = lab(|oauth| oauth.consent = LabConsent::Deny).await;
    let (_, transaction, callback) = answered(&lab).await;
    let refused = transaction.accept(callback, NOW + 1).err();
    assert_eq!(refused, Some(CallbackError::Refused { code: ErrorCode::AccessDenied }));
}

#[tokio::test]
async fn two_issuers_and_other_states_are_refused() {
    let lab = lab(|oauth| oauth.iss = IssForm::Twice).await;
    let (url, _) = found(&lab).await.begin(&scopes(SCOPE_READ), 3);
    assert!(matches!(Callback::parse(&visit(&url).await), Err(CallbackError::Malformed { .. })));
    for state in [StateForm::Absent, StateForm::Wrong] {
        lab.switch(|switches| (switches.oauth.iss, switches.oauth.state) = (IssForm::Right, state));
        let (_, transaction, callback) = answered(&lab).await;
        assert!(!transaction.is_answered_by(&callback));
        assert_eq!(transaction.accept(callback, NOW + 1).err(), Some(CallbackError::OtherState));
    }
}

#[tokio::test]
async fn a_code_goes_to_its_own_server_and_client_only() {
    let lab = lab(|_| {}).await;
    let first = found(&lab).await;
    let second = find_server(&egress(), &lab.second_issuer()).await.expect("the other server");
    let error = exchange_code(&egress(), &second, &first.client, first.code().await, moment()).await.err();
    assert_eq!(error.expect("refused").fault, Fault::OtherIssuer);
    let other = found(&lab).await;
    let error = exchange_code(&egress(), &first.server, &other.client, first.code().await, moment()).await.err();
    assert_eq!(error.expect("refused").sent, Sent::No);
    assert_eq!(lab.seen().oauth.counts.token_requests("authorization_code"), 0, "nothing was sent");
    let strangers = lab.seen().oauth.requests.iter().filter(|r| r.token == TokenVerdict::OtherServers).count();
    assert_eq!(strangers, 0);
}

#[tokio::test]
async fn a_sign_in_without_a_refresh_token_says_so() {
    for form in [RefreshForm::Omitted, RefreshForm::Empty, RefreshForm::Null] {
        let lab = lab(|oauth| oauth.first_refresh_token = form).await;
        assert!(matches!(found(&lab).await.sign_in().await.refresh, NextRefresh::None), "{form:?}");
    }
}
