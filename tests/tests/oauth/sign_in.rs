//! Signing in: who is asked, what is kept on the way, and what is refused.

use super::robot::{Robot, Way, holds, id_of, scene};
use super::scene::{DECISIONS, expect_refused};
use collie_lab::{
    ClientAuth, Command, Consent, DeviceGrant, GivenClient, IssForm, MetadataLie, Registration, StateForm,
};
use contract::Code;
use contract::problem::Exit;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_consent_serves_two_devices_and_the_service_holds_ciphertext() {
    let scene = scene(|_| ()).await;
    let first = scene.laptop("first").await;
    let id = first.shared_signing(&scene.lab).await;
    let second = scene.second(&first).await;
    for laptop in [&first, &second] {
        laptop.invoke(&id, "list_notes", &[]).await.expect("reads");
    }
    let seen = scene.lab.seen().oauth;
    assert_eq!(
        (seen.counts.registrations, seen.counts.authorizations, seen.counts.granted("authorization_code")),
        (1, 1, 1)
    );
    assert!(seen.counts.refused.is_empty(), "{:?}", seen.counts.refused);
    for (table, column) in [("connection_credential", "sealed"), ("connection", "review")] {
        for text in scene.world.database.texts(table, column).await {
            assert!(
                !text.contains("labat_") && !text.contains("labrt_") && !text.contains("labreg_"),
                "{table}.{column}"
            );
        }
    }
    for bytes in first.kept().await {
        assert!(!["labat_", "labrt_", "labreg_", "consent:", "client:"].iter().any(|text| holds(&bytes, text)));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sign_in_whose_review_never_came_is_gone_on_with() {
    let scene = scene(|_| ()).await;
    let laptop = scene.laptop("first").await;
    // Nobody answers the review: the consent is there, the connection is not.
    let refused = laptop.share_signing(&scene.lab, &[], &Robot::new(Way::Follows)).await;
    assert_eq!(refused.expect_err("nobody can be asked").code, Code::ApprovalPending);
    assert!(laptop.has_nothing().await);
    for bytes in laptop.kept().await {
        assert!(holds(&bytes, "consent:") && !holds(&bytes, "labat_") && !holds(&bytes, "labrt_"));
    }
    let robot = Robot::new(Way::Nobody);
    let shared = laptop.share_signing(&scene.lab, DECISIONS, &robot).await.expect("shared");
    assert!(robot.shown().is_empty(), "asked once");
    laptop.invoke(&id_of(&shared), "list_notes", &[]).await.expect("reads");
    let counts = scene.lab.seen().oauth.counts;
    assert_eq!((counts.registrations, counts.authorizations), (1, 1));
    // Another connection's sign-in is not taken for it.
    assert_eq!(
        laptop.share_signing(&scene.lab, DECISIONS, &robot).await.map(|again| again.data.find("changed").cloned()),
        Ok(Some(false.into()))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_no_at_the_provider_leaves_nothing_but_the_registration() {
    let scene = scene(|switches| switches.consent = Consent::Deny).await;
    let laptop = scene.laptop("first").await;
    let robot = Robot::new(Way::Follows);
    expect_refused(laptop.share_signing(&scene.lab, DECISIONS, &robot).await, Code::Canceled, Exit::NeedsYou);
    assert!(laptop.has_nothing().await);
    scene.lab.switch(|switches| switches.oauth.consent = Consent::Auto);
    let _ = laptop.shared_signing(&scene.lab).await;
    assert_eq!(scene.lab.seen().oauth.counts.registrations, 1, "registered once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_registration_the_person_is_told_the_exact_address_and_brings_a_client() {
    let scene = scene(|switches| switches.registration = Registration::Absent).await;
    let laptop = scene.laptop("first").await;
    let robot = Robot::new(Way::Follows);
    let error = expect_refused(
        laptop.share_signing(&scene.lab, DECISIONS, &robot).await,
        Code::ApprovalPending,
        Exit::NeedsYou,
    );
    let hint = error.hint.expect("a hint");
    let at = hint.find("http://127.0.0.1:").expect("the redirect address");
    let redirect_uri = hint[at..].split(' ').next().expect("an address").to_owned();
    let port =
        hint.split("--redirect-port ").nth(1).and_then(|rest| rest.split('`').next()).expect("the port").to_owned();
    assert!(robot.shown().is_empty() && redirect_uri.contains(&format!(":{port}/callback/")), "{hint}");
    let given = GivenClient {
        client_id: "mine".to_owned(),
        auth: ClientAuth::None,
        client_secret: None,
        redirect_uris: vec![redirect_uri],
        jwks: serde_json::Value::Null,
        second: false,
    };
    scene.lab.control(Command::AddClient(given)).expect("added");
    let flags = [DECISIONS, &["--client-id", "mine", "--redirect-port", &port]].concat();
    let shared = laptop.share_signing(&scene.lab, &flags, &robot).await.expect("shared");
    laptop.invoke(&id_of(&shared), "list_notes", &[]).await.expect("reads");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pasted_address_and_a_device_code_do_as_well() {
    let scene = scene(|switches| switches.device = DeviceGrant::Auto).await;
    let laptop = scene.laptop("first").await;
    let robot = Robot::new(Way::Shows);
    let shared = laptop.share_signing(&scene.lab, &[DECISIONS, &["--paste"]].concat(), &robot).await.expect("shared");
    laptop.invoke(&id_of(&shared), "list_notes", &[]).await.expect("reads");
    laptop.run(&["connection-revoke", &id_of(&shared), "--yes"]).await.expect("revoked");
    let robot = Robot::new(Way::Nobody);
    let shared =
        laptop.share_signing(&scene.lab, &[DECISIONS, &["--device-code"]].concat(), &robot).await.expect("shared");
    laptop.invoke(&id_of(&shared), "list_notes", &[]).await.expect("reads");
    assert_eq!(scene.lab.seen().oauth.counts.devices, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_metadata_lies_about_is_refused_and_nothing_is_sent_or_kept() {
    let scene = scene(|_| ()).await;
    let laptop = scene.laptop("first").await;
    for lie in [
        MetadataLie::WrongIssuer,
        MetadataLie::SlashIssuer,
        MetadataLie::NoPkceMethods,
        MetadataLie::PlainPkceOnly,
        MetadataLie::SlashResource,
        MetadataLie::WrongResource,
        MetadataLie::ScriptAuthorize,
        MetadataLie::FileAuthorize,
        MetadataLie::PrivateServer,
        MetadataLie::NoServers,
        MetadataLie::TwoServers,
    ] {
        scene.lab.switch(|switches| switches.oauth.lies = [lie].into());
        let robot = Robot::new(Way::Follows);
        let error = laptop.share_signing(&scene.lab, DECISIONS, &robot).await.expect_err("refused");
        assert!(matches!(error.code, Code::UpstreamProtocol | Code::EgressDenied | Code::Usage), "{lie:?}: {error:?}");
        assert!(error.hint.is_some() && robot.shown().is_empty(), "{lie:?}: {error:?}");
        assert!(laptop.has_nothing().await, "{lie:?}");
    }
    let counts = scene.lab.seen().oauth.counts;
    assert_eq!((counts.authorizations, counts.token_requests("authorization_code")), (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_of_another_issuer_gives_no_code_away() {
    let scene = scene(|switches| switches.iss = IssForm::Wrong).await;
    let laptop = scene.laptop("first").await;
    for (iss, state, code) in [
        (IssForm::Wrong, StateForm::Right, Code::UpstreamProtocol),
        (IssForm::Absent, StateForm::Right, Code::UpstreamProtocol),
    ] {
        scene.lab.switch(|switches| (switches.oauth.iss, switches.oauth.state) = (iss, state));
        let error = laptop.share_signing(&scene.lab, DECISIONS, &Robot::new(Way::Follows)).await.expect_err("refused");
        assert_eq!(error.code, code, "{error:?}");
    }
    // A pasted address with another state is another sign-in's.
    scene.lab.switch(|switches| (switches.oauth.iss, switches.oauth.state) = (IssForm::Right, StateForm::Wrong));
    let flags = [DECISIONS, &["--paste"]].concat();
    let error = laptop.share_signing(&scene.lab, &flags, &Robot::new(Way::Shows)).await.expect_err("refused");
    assert_eq!(error.code, Code::UpstreamProtocol, "{error:?}");
    assert_eq!(scene.lab.seen().oauth.counts.token_requests("authorization_code"), 0);
    assert!(laptop.has_nothing().await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_public_client_is_given_no_consent() {
    let scene = scene(|_| ()).await;
    let laptop = scene.laptop("first").await;
    let flags = [DECISIONS, &["--for-public-client"]].concat();
    let robot = Robot::new(Way::Follows);
    expect_refused(laptop.share_signing(&scene.lab, &flags, &robot).await, Code::Unsupported, Exit::Unsupported);
    assert!(robot.shown().is_empty());
}
