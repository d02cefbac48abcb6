//! Manifests read from a hostile server: what changes the digest, what does not, and what is refused.

use crate::common::{client, destination, lab, lab_in};
use collie_lab::{
    Arrangement, Command, Credential, Duplicates, Echo, EchoForm, EchoPlace, Eras, Fault, FaultRule, Lab, LabConfig,
    ManifestChange, Pages,
};
use collie_upstream::{Auth, Upstream, UpstreamError};
use contract::manifest::ManifestError;
use contract::review::Era;
use contract::{Digest, limits};

async fn digest(lab: &Lab) -> Digest {
    let mut client = client(lab, None);
    let digest = client
        .fetch_manifest()
        .await
        .unwrap_or_else(|error| panic!("a manifest: {error:?} {:?}", lab.seen().requests))
        .manifest
        .digest();
    client.close().await;
    digest
}

async fn refusal(lab: &Lab) -> UpstreamError {
    client(lab, None).fetch_manifest().await.expect_err("no manifest")
}

#[tokio::test]
async fn both_eras_give_every_tool_as_it_was_sent() {
    for era in Era::ALL {
        let lab = lab_in(era).await;
        let fetched = client(&lab, None).fetch_manifest().await.expect("a manifest");
        assert_eq!(fetched.era, era);
        assert_eq!(fetched.manifest.tools().len(), 9);
        assert_eq!(fetched.manifest.instructions(), "Notes for one person. Read before you write.");
        let text = fetched.manifest.to_json().canonical_string();
        for verbatim in [
            r#""maximum":12345678901234567890.123456789"#,
            r#""multipleOf":1E-9"#,
            r#""minimum":-0.0"#,
            r#""x-lab-colour":"plum""#,
            r#""vendorHint":{"level":[1,2,{"deep":null}]}"#,
            r#""":"empty name""#,
        ] {
            assert!(text.contains(verbatim), "{era:?} {verbatim}");
        }
    }
}

#[tokio::test]
async fn every_change_changes_the_digest_and_no_arrangement_does() {
    for era in Era::ALL {
        let lab = lab_in(era).await;
        let base = digest(&lab).await;
        for change in ManifestChange::ALL {
            lab.switch(|switches| switches.changes = [change].into());
            assert_ne!(digest(&lab).await, base, "{era:?} {change:?}");
        }
        lab.switch(|switches| switches.changes.clear());
        for arrangement in Arrangement::ALL {
            lab.switch(|switches| switches.arrange = [arrangement].into());
            assert_eq!(digest(&lab).await, base, "{era:?} {arrangement:?}");
        }
        lab.switch(|switches| switches.arrange = Arrangement::ALL.into());
        assert_eq!(digest(&lab).await, base, "{era:?} all at once");
        lab.switch(|switches| {
            switches.arrange.clear();
            switches.answer = collie_lab::AnswerForm::Sse;
            switches.sse_noise = true;
            switches.ttl_ms = 1;
            switches.cache_scope = collie_lab::CacheScope::Public;
        });
        assert_eq!(digest(&lab).await, base, "{era:?} as a noisy stream");
    }
}

#[tokio::test]
async fn both_eras_have_one_digest_so_the_era_must_be_compared_too() {
    let lab = lab(|_| {}).await;
    let stateless = digest(&lab).await;
    lab.switch(|switches| switches.era = Eras::Legacy);
    let fetched = client(&lab, Some(Era::Stateless)).fetch_manifest().await.expect("a manifest");
    assert_eq!(fetched.era, Era::Sessions, "another era than expected is reported");
    assert_eq!(fetched.manifest.digest(), stateless);
}

#[tokio::test]
async fn a_client_that_reads_again_sees_new_instructions() {
    for era in Era::ALL {
        let lab = lab_in(era).await;
        let mut client = client(&lab, Some(era));
        for (change, end) in [(None, "write."), (Some(ManifestChange::Instructions), "write!")] {
            lab.switch(|switches| switches.changes = change.into_iter().collect());
            let manifest = client.fetch_manifest().await.expect("a manifest").manifest;
            assert!(manifest.instructions().ends_with(end), "{era:?} {}", manifest.instructions());
        }
        client.close().await;
        assert_eq!(lab.seen().sessions, 0, "the first session was ended, too");
    }
}

#[tokio::test]
async fn names_listed_twice_are_refused() {
    let lab = lab(|_| {}).await;
    for duplicates in [Duplicates::Same, Duplicates::AcrossPages] {
        lab.switch(|switches| switches.duplicates = duplicates);
        let name = "list_notes".to_owned();
        assert_eq!(refusal(&lab).await, ManifestError::DuplicateName { name }.into(), "{duplicates:?}");
    }
}

#[tokio::test]
async fn lists_without_an_end_are_refused() {
    let lab = lab(|_| {}).await;
    lab.switch(|switches| switches.pages = Pages::Looping);
    assert!(matches!(refusal(&lab).await, UpstreamError::EndlessList { what: "a cursor leads back to itself" }));
    for pages in [Pages::EndlessEmpty, Pages::Endless] {
        lab.switch(|switches| switches.pages = pages);
        lab.control(Command::ForgetSeen).expect("followed");
        assert!(matches!(refusal(&lab).await, UpstreamError::EndlessList { what: "too many pages" }), "{pages:?}");
        assert_eq!(lab.counts().requests("tools/list"), limits::MANIFEST_PAGES_MAX as u64);
    }
}

#[tokio::test]
async fn a_manifest_that_changes_between_two_pages_is_one_digest_or_another_and_never_a_mix_of_names() {
    let lab = lab(|switches| switches.page_size = 3).await;
    let base = digest(&lab).await;
    let set = serde_json_map(r#"{"changes":["description"]}"#);
    lab.fault(FaultRule::new(Fault::Change { set }).on_method("tools/list").after(1).times(1)).expect("armed");
    let during = digest(&lab).await;
    let after = digest(&lab).await;
    assert_ne!(base, after);
    assert!(during == base || during == after);
}

#[tokio::test]
async fn a_credential_in_the_manifest_is_never_taken_up() {
    let lab = lab(|_| {}).await;
    for form in [
        EchoForm::Raw,
        EchoForm::Base64,
        EchoForm::Base64Url,
        EchoForm::Hex,
        EchoForm::UrlEncoded,
        EchoForm::JsonEscaped,
    ] {
        lab.switch(|switches| switches.echo = Some(Echo { place: EchoPlace::Manifest, form }));
        assert_eq!(refusal(&lab).await, UpstreamError::CredentialInManifest, "{form:?}");
    }
}

#[tokio::test]
async fn huge_and_deep_answers_are_refused_at_their_limits() {
    let lab = lab(|_| {}).await;
    lab.fault(FaultRule::new(Fault::Huge { bytes: 1 << 28 }).on_method("tools/list")).expect("armed");
    assert!(matches!(refusal(&lab).await, UpstreamError::Egress(egress::EgressError::TooLarge { .. })));
    lab.control(Command::ClearFaults).expect("followed");
    lab.fault(FaultRule::new(Fault::Deep { depth: 100_000 }).on_method("tools/list")).expect("armed");
    assert!(matches!(refusal(&lab).await, UpstreamError::Malformed { .. }));
}

#[tokio::test]
async fn the_credential_is_shown_in_its_header_and_a_wrong_one_is_told() {
    let lab = lab(|_| {}).await;
    let wrong = Auth::Bearer(sign::Secret::new("another-token".to_owned()));
    for auth in [Auth::None, wrong] {
        let mut client = Upstream::new(destination(&lab.mcp_url()), auth, None).expect("made");
        assert!(matches!(client.fetch_manifest().await, Err(UpstreamError::Unauthorized { challenge: Some(_) })));
    }
    let name = "X-Api-Key".to_owned();
    let config = LabConfig {
        credential: Credential::Header { name: "x-api-key".parse().expect("a name"), value: "key-12345".to_owned() },
        ..LabConfig::default()
    };
    let lab = Lab::start(config).await.expect("started");
    let auth = Auth::Header { name, value: sign::Secret::new("key-12345".to_owned()) };
    let mut client = Upstream::new(destination(&lab.mcp_url()), auth, None).expect("made");
    assert!(client.fetch_manifest().await.is_ok());
    assert_eq!(lab.counts().refused, 0);
}

fn serde_json_map(text: &str) -> serde_json::Map<String, serde_json::Value> {
    serde_json::from_str(text).expect("a map")
}
