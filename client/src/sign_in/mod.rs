//! Signs a person in at a server's provider, from the server's refusal to tokens that wait sealed for their review. Asks everything once, falls back to nothing silently, and stores nothing on the service.

mod args;
mod explain;
pub mod hand_off;
pub mod kept;
mod who;

pub use args::SignInArgs;
pub use hand_off::{HandOff, Open, Person};
pub use kept::Purpose;
pub use who::{client_of, client_record};

use crate::app::{App, Service};
use crate::db::Db;
use crate::error::CliError;
use crate::loopback::Loopback;
use contract::credential::GrantFacts;
use contract::{Code, limits};
use egress::Egress;
use seal::DeviceGrant;
use seal::cloud_secret::AccessToken;
use seal::grant::GrantClient;
use upstream::oauth::{
    Asked, AuthorizationRequest, AuthorizationServer, AuthorizeError, Callback, Challenge, Client, Consent,
    DiscoveryError, Document, Granted, Lifetime, Moment, NextRefresh, Offline, Poll, ProtectedResource, Seeds, Tokens,
    begin_authorization, exchange_code, find_resource, find_server, poll_device, start_device,
};

/// Everything around a sign-in.
pub struct Context<'a> {
    /// The command.
    pub app: &'a App,
    /// This device.
    pub service: &'a Service<'a>,
    /// What it is for.
    pub purpose: &'a Purpose,
    /// The guarded client.
    pub egress: &'a Egress,
    /// The flags.
    pub args: &'a SignInArgs,
    /// Who brings the address to a browser.
    pub hand: &'a dyn HandOff,
}

/// A consent, and what is to be said about it at the review.
pub struct SignedIn {
    /// The consent; it has an access token.
    pub grant: DeviceGrant,
    /// For the review.
    pub remarks: Vec<String>,
}

impl SignedIn {
    /// The credential in words.
    #[must_use]
    pub fn words(&self) -> String {
        let facts = &self.grant.facts;
        let who = if facts.subject.is_empty() {
            "an account that the provider does not name"
        } else {
            facts.subject.as_str()
        };
        let scopes = if facts.scopes.is_empty() { "(none named)".to_owned() } else { facts.scopes.join(" ") };
        format!("signed in at {} as {who}; scopes: {scopes}; sealed for your devices", facts.issuer)
    }
}

/// Whether a server's refusal leads to a sign-in: it names an authorization server. `None` where it names none.
pub async fn find(
    egress: &Egress,
    endpoint: &str,
    challenge: Option<&str>,
) -> Result<Option<(Challenge, ProtectedResource)>, CliError> {
    let Some(text) = challenge else { return Ok(None) };
    let Some(challenge) = Challenge::parse(text).map_err(|error| explain::protocol(error.to_string()))? else {
        return Ok(None);
    };
    match find_resource(egress, endpoint, Some(&challenge)).await {
        Ok(resource) => Ok(Some((challenge, resource))),
        // A server that neither names its metadata nor has some where it belongs wants a secret that a person has.
        Err(
            DiscoveryError::NotFound { document: Document::ProtectedResource, .. }
            | DiscoveryError::Field { document: Document::ProtectedResource, field: ".", .. },
        ) if challenge.resource_metadata.is_none() => Ok(None),
        Err(error) => Err(explain::discovery(error)),
    }
}

/// Signs in. A consent that was given and not yet reviewed is gone on with.
pub async fn sign_in(
    context: &Context<'_>,
    db: &mut Db,
    challenge: &Challenge,
    resource: &ProtectedResource,
    known: Option<DeviceGrant>,
) -> Result<SignedIn, CliError> {
    let issuer = issuer_of(resource, context.args)?;
    let server = find_server(context.egress, &issuer).await.map_err(explain::discovery)?;
    let wanted = wanted_scopes(context.args, challenge, resource);
    let known = match kept::find_client(context.service, db, context.purpose, &issuer).await? {
        Some(client) => Some(client),
        None => known.filter(|grant| grant.facts.issuer == issuer),
    };
    let client_id =
        context.args.client_id.clone().or_else(|| known.as_ref().map(|grant| grant.facts.client_id.clone()));
    if let Some(client_id) = client_id
        && let Some(grant) = kept::find_consent(context.service, db, context.purpose, &issuer, &client_id).await?
        && grant.lives(context.app.door.now_s(), limits::ACCESS_MARGIN_S)
        && grant.resource == resource.resource()
    {
        context.app.output.note("Going on with the sign-in that was not reviewed yet.");
        let remarks = remarks(&wanted, &grant.facts.scopes, &server, grant.refresh_token.is_some());
        return Ok(SignedIn { grant, remarks });
    }
    let port = match context.args.redirect_port {
        0 => known.as_ref().map_or(0, |grant| who::port_of(&grant.client)),
        port => port,
    };
    // A client comes back to the path that it was registered with.
    let path =
        known.as_ref().and_then(|grant| who::path_of(&grant.client)).unwrap_or_else(|| context.purpose.context());
    let door = open_loopback(context, port, &path).await?;
    let redirect_uri = door.redirect_uri();
    let client = who::find_or_make(context, db, resource, &server, &redirect_uri, known).await?;
    let parties = Parties { server: &server, resource, client: &client };
    let tokens = if context.args.device_code {
        by_device_code(context, parties, &wanted).await?
    } else {
        by_browser(context, parties, &wanted, door).await?
    };
    let grant = grant_of(context, parties, &redirect_uri, tokens)?;
    kept::keep_consent(context.service, db, context.purpose, &grant).await?;
    let remarks = remarks(&wanted, &grant.facts.scopes, &server, grant.refresh_token.is_some());
    Ok(SignedIn { grant, remarks })
}

#[derive(Clone, Copy)]
struct Parties<'a> {
    server: &'a AuthorizationServer,
    resource: &'a ProtectedResource,
    client: &'a Client,
}

/// The port of before where it is still free; another one is as good for a device (RFC 8252 7.3), unless the person named it.
async fn open_loopback(context: &Context<'_>, port: u16, path: &str) -> Result<Loopback, CliError> {
    match Loopback::open(port, path).await {
        Err(_) if context.args.redirect_port == 0 && port != 0 => Loopback::open(0, path).await,
        opened => opened,
    }
}

fn issuer_of(resource: &ProtectedResource, args: &SignInArgs) -> Result<String, CliError> {
    let named = resource.issuers();
    match (&args.issuer, named) {
        (Some(said), _) if named.contains(said) => Ok(said.clone()),
        (None, [only]) => Ok(only.clone()),
        (Some(_), _) => {
            Err(CliError::usage("the server does not name that issuer").hint(format!("it names: {}", named.join(", "))))
        }
        (None, _) => Err(CliError::usage("the server names several authorization servers")
            .hint(format!("choose one by `--issuer URL`: {}", named.join(", ")))),
    }
}

fn wanted_scopes(args: &SignInArgs, challenge: &Challenge, resource: &ProtectedResource) -> Vec<String> {
    if !args.oauth_scope.is_empty() {
        return args.oauth_scope.clone();
    }
    if challenge.scopes.is_empty() { resource.scopes().to_vec() } else { challenge.scopes.clone() }
}

async fn by_browser(
    context: &Context<'_>,
    parties: Parties<'_>,
    wanted: &[String],
    door: Loopback,
) -> Result<Tokens, CliError> {
    let clock = context.app.door;
    let redirect_uri = door.redirect_uri();
    let asked = AuthorizationRequest {
        redirect_uri: &redirect_uri,
        scopes: wanted,
        offline: Offline::WhereOffered,
        consent: Consent::AsServerDecides,
    };
    let seeds = Seeds { state: sign::Secret::new(clock.random()), verifier: sign::Secret::new(clock.random()) };
    let begun = begin_authorization(parties.server, parties.resource, parties.client, asked, seeds, clock.now_s());
    let (url, transaction) = begun.map_err(unbegun)?;
    let callback = if context.args.paste {
        context.hand.hand_over(context.app, &url, Open::Never)?;
        let text = context.hand.pasted()?;
        Callback::parse_pasted(&text, &redirect_uri).map_err(explain::callback)?
    } else {
        let open = if context.args.no_browser { Open::Never } else { Open::OnEnter };
        context.hand.hand_over(context.app, &url, open)?;
        let ours = |query: &str| Callback::parse(query).is_ok_and(|callback| transaction.is_answered_by(&callback));
        let query = door.wait(clock, transaction.ends_at_s(), ours).await?;
        Callback::parse(&query).map_err(explain::callback)?
    };
    let code = transaction.accept(callback, clock.now_s()).map_err(explain::callback)?;
    let moment = moment(context);
    exchange_code(context.egress, parties.server, parties.client, code, moment).await.map_err(explain::step)
}

async fn by_device_code(context: &Context<'_>, parties: Parties<'_>, wanted: &[String]) -> Result<Tokens, CliError> {
    let Parties { server, resource, client } = parties;
    let asked = Asked { resource: resource.resource(), scopes: wanted, narrowed: None };
    let start = start_device(context.egress, server, client, asked, moment(context)).await.map_err(explain::step)?;
    context.app.output.say(&format!("On any device, open {}", start.verification_uri));
    context.app.output.say(&format!("and type the code: {}", start.user_code));
    if let Some(whole) = &start.verification_uri_complete {
        context.hand.hand_over(context.app, whole, Open::Never)?;
    }
    let mut wait = start.wait;
    loop {
        let mut left = wait.interval_s();
        while left > 0 {
            context.app.door.pause(left).await;
            left = left.saturating_sub(crate::door::PAUSE_S_MAX);
        }
        let poll = poll_device(context.egress, server, client, &mut wait, asked, moment(context))
            .await
            .map_err(explain::step)?;
        let over = |what| CliError::new(Code::Canceled, what).hint("nothing was stored; run the command again");
        match poll {
            Poll::Pending => {}
            Poll::Done(tokens) => return Ok(*tokens),
            Poll::Denied => return Err(over("the sign-in was refused")),
            Poll::Expired => return Err(over("nobody signed in in time")),
        }
    }
}

fn unbegun(error: AuthorizeError) -> CliError {
    match error {
        AuthorizeError::NoCodes => explain::protocol(error.to_string()).hint("try `--device-code`; nothing was stored"),
        AuthorizeError::BadScopes => CliError::usage(error.to_string()),
        AuthorizeError::NoPkce
        | AuthorizeError::OtherIssuer
        | AuthorizeError::NotItsServer
        | AuthorizeError::NeedsDpop
        | AuthorizeError::BadEndpoint { .. } => explain::protocol(error.to_string()),
    }
}

fn moment(context: &Context<'_>) -> Moment {
    Moment { now_s: context.app.door.now_s(), random: context.app.door.random() }
}

fn grant_of(
    context: &Context<'_>,
    parties: Parties<'_>,
    redirect_uri: &str,
    tokens: Tokens,
) -> Result<DeviceGrant, CliError> {
    let Tokens { access_token, lifetime, granted, refresh, subject } = tokens;
    let expires_at_s = match lifetime {
        Lifetime::Stated(seconds) => Some(context.app.door.now_s().saturating_add(seconds)),
        Lifetime::Unstated | Lifetime::Nonsense => None,
        Lifetime::Over => return Err(explain::protocol("the authorization server gave a token that is over already")),
    };
    let Granted { scopes, .. } = granted;
    let client = who::grant_of(parties.client, parties.resource.resource(), redirect_uri);
    let facts = GrantFacts { scopes, subject: subject.map(|subject| subject.sub).unwrap_or_default(), ..client.facts };
    let refresh_token = match refresh {
        NextRefresh::New(token) => Some(token),
        NextRefresh::None | NextRefresh::Kept => None,
    };
    let GrantClient { proof, redirect_uri, management } = client.client;
    Ok(DeviceGrant {
        facts,
        resource: client.resource,
        client: GrantClient { proof, redirect_uri, management },
        access: Some(AccessToken { token: access_token, expires_at_s }),
        refresh_token,
    })
}

/// What a person should know of a consent before they review the tools.
fn remarks(wanted: &[String], granted: &[String], server: &AuthorizationServer, refreshes: bool) -> Vec<String> {
    let without = |these: &[String], those: &[String]| {
        let left = these
            .iter()
            .filter(|scope| !those.contains(scope) && *scope != "offline_access")
            .cloned()
            .collect::<Vec<_>>();
        left.join(" ")
    };
    let (missing, extra) = (without(wanted, granted), without(granted, wanted));
    let mut remarks = Vec::new();
    if !missing.is_empty() {
        remarks.push(format!("asked for and NOT granted: {missing}"));
    }
    if !extra.is_empty() {
        remarks.push(format!("granted without being asked for: {extra}"));
    }
    if !refreshes {
        remarks.push("the provider gave no refresh token: sign in again when the access token is over".to_owned());
    }
    let foreign = server.foreign_origins();
    if !foreign.is_empty() {
        remarks.push(format!("{} sends people and tokens to other hosts: {}", server.issuer(), foreign.join(", ")));
    }
    remarks
}
