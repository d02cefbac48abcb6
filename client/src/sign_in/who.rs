//! Who we are at an authorization server: the person's own client, the one registered before, or a new registration. Registers once for one sign-in, and asks the person where nothing automatic is left.

use super::explain;
use super::kept;
use super::{Context, SignInArgs};
use crate::db::Db;
use crate::error::CliError;
use contract::Code;
use contract::credential::GrantFacts;
use seal::DeviceGrant;
use seal::cloud_secret::RegistrationAccess;
use seal::grant::{ClientProof, GrantClient};
use sign::Secret;
use upstream::oauth::{
    Application, AuthMethod, AuthorizationServer, Available, Choice, Client, ClientAuth, ClientIdentity, Management,
    NoIdentity, ProtectedResource, RegistrationRequest, choose_identity, register,
};

/// Finds or makes the client; what is registered is kept before anybody is sent anywhere.
pub(super) async fn find_or_make(
    context: &Context<'_>,
    db: &mut Db,
    resource: &ProtectedResource,
    server: &AuthorizationServer,
    redirect_uri: &str,
    known: Option<DeviceGrant>,
) -> Result<Client, CliError> {
    let available = Available {
        given: given(context.args, server)?,
        registered: known.as_ref().map(client_of).transpose()?,
        document_url: None,
        redirect_uri,
    };
    match choose_identity(context.egress, server, available).map_err(no_identity)? {
        Choice::Use(client) => return Ok(*client),
        Choice::Register => {}
    }
    let asked = RegistrationRequest {
        client_name: "Collie Online",
        redirect_uri,
        application: Application::Native,
        scopes: &[],
    };
    let made = register(context.egress, server, asked).await.map_err(|error| {
        CliError::new(Code::UpstreamRefused, error.to_string())
            .hint(format!("register a client there by hand with the redirect address {redirect_uri}, then run the command again with `--client-id`"))
    })?;
    let client = made.client;
    let record = grant_of(&client, resource.resource(), redirect_uri);
    kept::keep_client(context.service, db, context.purpose, &record).await?;
    Ok(client)
}

/// The redirect port of the client that was registered before.
pub(super) fn port_of(client: &GrantClient) -> u16 {
    url::Url::parse(&client.redirect_uri).ok().and_then(|url| url.port()).unwrap_or(0)
}

/// The part of its redirect address that is its own.
pub(super) fn path_of(client: &GrantClient) -> Option<String> {
    let url = url::Url::parse(&client.redirect_uri).ok()?;
    let own = url.path().strip_prefix("/callback/")?;
    own.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| own.to_owned()).filter(|own| !own.is_empty())
}

fn given(args: &SignInArgs, server: &AuthorizationServer) -> Result<Option<Client>, CliError> {
    let Some(client_id) = args.client_id.clone() else { return Ok(None) };
    let auth = match args.read_secret()? {
        None => ClientAuth::None,
        Some(secret) if server.takes(AuthMethod::ClientSecretBasic) => ClientAuth::Basic(secret),
        Some(secret) => ClientAuth::Post(secret),
    };
    let client = Client::new(server.issuer(), ClientIdentity::Given { client_id, auth });
    client.map(Some).map_err(|error| CliError::usage(error.to_string()))
}

fn no_identity(error: NoIdentity) -> CliError {
    match error {
        NoIdentity::Ask(asked) => {
            let port = url::Url::parse(&asked.redirect_uri).ok().and_then(|url| url.port()).unwrap_or(0);
            CliError::new(Code::ApprovalPending, format!("{} registers no clients by itself", asked.issuer)).hint(format!(
                "register one there with exactly this redirect address: {} — then run the command again with `--client-id ID --redirect-port {port}` (and `--client-secret-stdin` if it has a secret)",
                asked.redirect_uri
            ))
        }
        NoIdentity::Unusable(error) => explain::refused(error.to_string()),
    }
}

/// The client that a grant is for.
pub fn client_of(grant: &DeviceGrant) -> Result<Client, CliError> {
    let copy = |secret: &Secret<String>| {
        Secret::init(|out: &mut String| {
            // EXPOSE: to the client's own copy, for requests to its issuer.
            secret.with(|text| out.push_str(text));
        })
    };
    let auth = match &grant.client.proof {
        ClientProof::None => ClientAuth::None,
        ClientProof::Basic(secret) => ClientAuth::Basic(copy(secret)),
        ClientProof::Post(secret) => ClientAuth::Post(copy(secret)),
    };
    let client_id = grant.facts.client_id.clone();
    let management = grant.client.management.as_ref();
    let identity = match management.map(|access| Management { uri: access.uri.clone(), token: copy(&access.token) }) {
        Some(management) => ClientIdentity::Registered { client_id, auth, management: Some(management) },
        None => ClientIdentity::Given { client_id, auth },
    };
    Client::new(grant.facts.issuer.clone(), identity).map_err(|error| explain::refused(error.to_string()))
}

/// The client of a grant alone, for another consent.
pub fn client_record(grant: &DeviceGrant) -> Result<DeviceGrant, CliError> {
    Ok(grant_of(&client_of(grant)?, &grant.resource, &grant.client.redirect_uri))
}

/// A client as it is kept: a grant without tokens.
pub(super) fn grant_of(client: &Client, resource: &str, redirect_uri: &str) -> DeviceGrant {
    let copy = |secret: &Secret<String>| {
        Secret::init(|out: &mut String| {
            // EXPOSE: to the copy that is sealed.
            secret.with(|text| out.push_str(text));
        })
    };
    let proof = match client.auth() {
        ClientAuth::Basic(secret) => ClientProof::Basic(copy(secret)),
        ClientAuth::Post(secret) => ClientProof::Post(copy(secret)),
        // No client of a device has a key of its own.
        ClientAuth::None | ClientAuth::PrivateKeyJwt { .. } => ClientProof::None,
    };
    let management = match client.identity() {
        ClientIdentity::Registered { management: Some(management), .. } => {
            Some(RegistrationAccess { uri: management.uri.clone(), token: copy(&management.token) })
        }
        ClientIdentity::Registered { management: None, .. }
        | ClientIdentity::Given { .. }
        | ClientIdentity::Cimd { .. } => None,
    };
    DeviceGrant {
        facts: GrantFacts {
            issuer: client.issuer().to_owned(),
            client_id: client.client_id().to_owned(),
            scopes: Vec::new(),
            subject: String::new(),
        },
        resource: resource.to_owned(),
        client: GrantClient { proof, redirect_uri: redirect_uri.to_owned(), management },
        access: None,
        refresh_token: None,
    }
}
