//! Who we are to a server: the order of the decision, registration and its undoing, and every way to show it.

use crate::common::{REDIRECT, egress, found, lab, moment, resource};
use collie_lab::{ClientAuth as LabAuth, Registration};
use collie_upstream::oauth::{
    Application, AuthMethod, Available, Choice, Client, ClientAuth, ClientIdentity, IdentityError, NoIdentity,
    RegisterError, RegistrationRequest, Unregistered, choose_identity, exchange_code, find_server, register,
    unregister,
};
use sign::Secret;

const NATIVE: RegistrationRequest<'_> = RegistrationRequest {
    client_name: "Collie",
    redirect_uri: REDIRECT,
    application: Application::Native,
    scopes: &[],
};

fn given(issuer: &str, auth: ClientAuth) -> Client {
    Client::new(issuer, ClientIdentity::Given { client_id: "given".to_owned(), auth }).expect("a client id")
}

fn available<'a>(given: Option<Client>, document_url: Option<&'a str>) -> Available<'a> {
    Available { given, registered: None, document_url, redirect_uri: REDIRECT }
}

#[tokio::test]
async fn the_order_is_given_document_registration_person() {
    let lab = lab(|oauth| oauth.client_documents = true).await;
    let server = find_server(&egress(), &resource(&lab).await.issuers()[0]).await.expect("a server");
    let document = Some("https://collie.example/oauth/client/1");
    let decide = |server: &_, given, document| choose_identity(&egress(), server, available(given, document));

    let chosen = decide(&server, Some(given(server.issuer(), ClientAuth::None)), document);
    assert!(matches!(chosen, Ok(Choice::Use(client)) if client.client_id() == "given"));
    assert!(matches!(decide(&server, None, document), Ok(Choice::Use(client)) if Some(client.client_id()) == document));
    assert!(matches!(decide(&server, None, None), Ok(Choice::Register)));
    for bad in [
        "http://127.0.0.1/c",
        "https://collie.example/",
        "https://collie.example/a/../b",
        "https://10.0.0.1/c",
        "https://collie.example/c?x",
    ] {
        let refused = decide(&server, None, Some(bad)).err();
        assert!(matches!(refused, Some(NoIdentity::Unusable(IdentityError::BadDocumentUrl { .. }))), "{bad}");
    }
    // What was given and cannot be used is not replaced by something else.
    let foreign = decide(&server, Some(given("https://other.example", ClientAuth::None)), document).err();
    assert_eq!(foreign, Some(NoIdentity::Unusable(IdentityError::OtherIssuer)));

    lab.switch(|switches| {
        switches.oauth.client_documents = false;
        switches.oauth.registration = Registration::Absent;
        switches.oauth.client_auth = [LabAuth::Basic].into();
    });
    let server = find_server(&egress(), server.issuer()).await.expect("a server");
    let Err(NoIdentity::Ask(ask)) = decide(&server, None, document) else { panic!("the person is asked") };
    assert_eq!((ask.redirect_uri.as_str(), ask.issuer.as_str()), (REDIRECT, server.issuer()));
    let refused = decide(&server, Some(given(server.issuer(), ClientAuth::None)), None).err();
    assert_eq!(refused, Some(NoIdentity::Unusable(IdentityError::Method { method: AuthMethod::None })));
}

#[tokio::test]
async fn a_registration_is_used_and_undone() {
    for method in [LabAuth::None, LabAuth::Basic, LabAuth::Post] {
        let lab = lab(|oauth| oauth.client_auth = [method].into()).await;
        let found = found(&lab).await;
        assert_eq!(found.client.auth().method().as_str(), method.name());
        let _tokens = found.sign_in().await;
        assert_eq!(unregister(&egress(), &found.client).await, Unregistered::Done);
        assert_eq!(lab.seen().oauth.counts.registrations, 1);
    }
}

#[tokio::test]
async fn a_server_that_registers_nobody_says_so_in_its_own_words() {
    let lab = lab(|oauth| oauth.registration = Registration::Refused).await;
    let server = find_server(&egress(), &resource(&lab).await.issuers()[0]).await.expect("a server");
    assert!(matches!(register(&egress(), &server, NATIVE).await, Err(RegisterError::Refused { .. })));
}

#[tokio::test]
async fn a_client_of_another_issuer_is_never_shown() {
    let lab = lab(|_| {}).await;
    let found = found(&lab).await;
    let stranger = given("https://other.example", ClientAuth::Post(Secret::new("canary".to_owned())));
    let code = found.code().await;
    let outcome = exchange_code(&egress(), &found.server, &stranger, code, moment()).await;
    assert_eq!(outcome.err().map(|error| error.sent), Some(egress::Sent::No));
    assert_eq!(lab.seen().oauth.counts.token_requests("authorization_code"), 0);
}
