//! Tests of device-local secrets; nothing here is product code.

use super::*;

fn usk(generation: u32, byte: u8) -> UserSealingKey {
    UserSealingKey::new(generation, Secret::new([byte; 32])).expect("a generation")
}

struct Ids {
    deployment: DeploymentId,
    workspace: WorkspaceId,
    device: DeviceId,
    connection: ConnectionId,
}

impl Ids {
    fn new(byte: u8) -> Self {
        Self {
            deployment: DeploymentId::from_random([byte; 16]),
            workspace: WorkspaceId::from_random([byte; 16]),
            device: DeviceId::from_random([byte; 16]),
            connection: ConnectionId::from_random([byte; 16]),
        }
    }

    fn place(&self) -> LocalPlace<'_> {
        LocalPlace { deployment: &self.deployment, workspace: &self.workspace, device: &self.device }
    }

    fn draft(&self) -> DraftPlace<'_> {
        DraftPlace { connection: &self.connection, endpoint: "https://mcp.example.test/mcp" }
    }
}

fn random() -> SealRandom {
    SealRandom::new([6; SealRandom::BYTES])
}

#[test]
fn the_v1_key_opens_on_its_device_and_nowhere_else() {
    let (here, there) = (Ids::new(1), Ids::new(2));
    let key = V1Key::new(Secret::new([0x80; 32]));
    let blob = seal_v1_key(&usk(1, 9), here.place(), &key, random()).expect("seals");
    assert!(open_v1_key(&usk(1, 9), here.place(), &blob).expect("opens").is_same(&key));
    let places = [
        LocalPlace { deployment: &there.deployment, ..here.place() },
        LocalPlace { workspace: &there.workspace, ..here.place() },
        LocalPlace { device: &there.device, ..here.place() },
    ];
    assert!(places.iter().all(|place| open_v1_key(&usk(1, 9), *place, &blob).is_err()));
    assert!(open_v1_key(&usk(1, 8), here.place(), &blob).is_err(), "another key");
    assert!(open_v1_key(&usk(2, 9), here.place(), &blob).is_err(), "another generation");
    assert!(open_v1_key(&usk(1, 9), here.place(), &blob[1..]).is_err(), "structure");
}

#[test]
fn a_draft_opens_for_its_connection_endpoint_and_kind_only() {
    let (here, there) = (Ids::new(1), Ids::new(2));
    let credential = Credential::static_bearer(&Secret::new("s3cret".to_owned())).expect("a token");
    let blob = seal_draft(&usk(1, 9), here.place(), here.draft(), &credential, random()).expect("seals");
    let open = |draft, kind| open_draft(&usk(1, 9), here.place(), draft, kind, &blob);
    let opened = open(here.draft(), SecretKind::StaticBearer).expect("opens");
    opened.expose_for_upstream_request(|lines| assert_eq!(lines[0].secret(), "s3cret"));
    assert!(open(there.draft(), SecretKind::StaticBearer).is_err());
    assert!(
        open(DraftPlace { endpoint: "https://evil.example.test/mcp", ..here.draft() }, SecretKind::StaticBearer)
            .is_err()
    );
    assert!(open(here.draft(), SecretKind::StaticHeader).is_err());
    assert!(open_v1_key(&usk(1, 9), here.place(), &blob).is_err(), "a draft is no key");
}

#[test]
fn a_consent_opens_for_its_sign_in_issuer_and_client_only() {
    let (here, there) = (Ids::new(1), Ids::new(2));
    let grant = crate::grant::tests::grant();
    let (one, two) = (Digest::of(&[b"one"]), Digest::of(&[b"two"]));
    let at = SignInPlace {
        connection: Some(&here.connection),
        endpoint: "https://mcp.example.test/mcp",
        issuer: &grant.facts.issuer,
        sign_in: &one,
    };
    let key = usk(1, 9);
    let blob = seal_consent(&key, here.place(), at, &grant, random()).expect("seals");
    let client = seal_client(&key, here.place(), at, &grant, random()).expect("seals");
    let id = grant.facts.client_id.as_str();
    assert_eq!(open_consent(&key, here.place(), at, id, &blob).ok().map(|back| back.facts), Some(grant.facts.clone()));
    assert!(open_client(&key, here.place(), at, &client).is_ok());
    assert!(open_client(&key, here.place(), at, &blob).is_err(), "a consent is no client");
    assert!(open_consent(&key, here.place(), at, "", &client).is_err(), "a client is no consent");
    assert!(open_consent(&key, here.place(), at, "other", &blob).is_err());
    assert!(open_consent(&key, there.place(), at, id, &blob).is_err());
    let others = [
        SignInPlace { connection: None, ..at },
        SignInPlace { connection: Some(&there.connection), ..at },
        SignInPlace { endpoint: "https://evil.example.test/mcp", ..at },
        SignInPlace { issuer: "https://as.example.test/", ..at },
        SignInPlace { sign_in: &two, ..at },
    ];
    for other in others {
        assert!(open_consent(&key, here.place(), other, id, &blob).is_err());
        assert!(open_client(&key, here.place(), other, &client).is_err());
    }
    let elsewhere = SignInPlace { issuer: "https://as.example.test/", ..at };
    assert!(seal_consent(&key, here.place(), elsewhere, &grant, random()).is_err(), "another issuer's grant");
    let waiting = DeviceGrant { access: None, ..crate::grant::tests::grant() };
    assert!(seal_consent(&key, here.place(), at, &waiting, random()).is_err(), "nothing was consented to");
}
