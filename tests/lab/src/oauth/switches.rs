//! What the authorization server does until told otherwise: discovery, consent, tokens, registration, lies. Never a one-shot fault.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Lasting behaviour of the authorization server and of the MCP endpoint's challenges.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OAuthSwitches {
    /// Where metadata is found, and on which host the server is.
    pub discovery: Discovery,
    /// The resource names the second authorization server from now on.
    pub moved: bool,
    /// The issuer ends with a slash, everywhere alike.
    pub issuer_slash: bool,
    /// What metadata says wrongly.
    pub lies: BTreeSet<MetadataLie>,
    /// Members put into the server's metadata as they are; `null` removes one.
    pub server_metadata: Map<String, Value>,
    /// Members put into the resource's metadata as they are; `null` removes one.
    pub resource_metadata: Map<String, Value>,
    /// `resource_metadata` of challenges, word for word, instead of the true address.
    pub challenge_metadata: Option<String>,
    /// `scope` of the first challenge; an empty one leaves it out.
    pub challenge_scope: String,
    /// Tools of a higher effect need a wider scope (403 `insufficient_scope`).
    pub step_up: bool,
    /// A tool's call is answered with `insufficient_scope` whatever the token may do.
    pub never_enough: bool,
    /// What the authorization endpoint does without a person.
    pub consent: Consent,
    /// `iss` of authorization responses, errors included.
    pub iss: IssForm,
    /// Whether metadata says that `iss` is sent.
    pub iss_advertised: bool,
    /// `state` of authorization responses.
    pub state: StateForm,
    /// The first server's authorization endpoint sends the browser to this address with the same query.
    pub forward_authorize_to: Option<String>,
    /// Authorization and token requests must name the resource byte for byte.
    pub resource_checked: bool,
    /// Each refresh ends the refresh token it used.
    pub rotation: bool,
    /// A refresh token used twice ends its grant.
    pub reuse_detector: bool,
    /// True life of an access token, in seconds.
    pub access_ttl_s: u64,
    /// What `expires_in` says of it.
    pub expires_in: ExpiresIn,
    /// The refresh token in the answer to a code.
    pub first_refresh_token: RefreshForm,
    /// The refresh token in the answer to a refresh.
    pub next_refresh_token: RefreshForm,
    /// The scope that is granted, beside what was asked.
    pub scope: ScopeForm,
    /// How `offline_access` is met.
    pub offline: Offline,
    /// Access tokens are for another audience.
    pub other_audience: bool,
    /// `token_type`, word for word.
    pub token_type: String,
    /// Token, revocation and registration endpoints refuse, and send the caller's secrets back.
    pub echo_secrets: Option<SecretEcho>,
    /// Client authentication that metadata names and endpoints take.
    pub client_auth: BTreeSet<ClientAuth>,
    /// Dynamic registration.
    pub registration: Registration,
    /// Registrations answered before 429.
    pub registrations_max: Option<u32>,
    /// Addresses of documents that describe clients are taken as client ids.
    pub client_documents: bool,
    /// Loopback address (`127.0.0.1:80`) where the documents of an https origin are read without TLS.
    pub document_routes: BTreeMap<String, String>,
    /// What revoking one token ends.
    pub revocation: Revocation,
    /// Revoking ends access tokens that are out.
    pub revokes_access: bool,
    /// The device authorization grant.
    pub device: DeviceGrant,
    /// Polls answered `authorization_pending` before a device is let in.
    pub device_pending: u32,
    /// `interval` of the device grant, in seconds.
    pub device_interval_s: u32,
}

impl Default for OAuthSwitches {
    fn default() -> OAuthSwitches {
        OAuthSwitches {
            discovery: Discovery::OtherHost,
            moved: false,
            issuer_slash: false,
            lies: BTreeSet::new(),
            server_metadata: Map::new(),
            resource_metadata: Map::new(),
            challenge_metadata: None,
            challenge_scope: super::scope::READ.to_owned(),
            step_up: true,
            never_enough: false,
            consent: Consent::Auto,
            iss: IssForm::Right,
            iss_advertised: true,
            state: StateForm::Right,
            forward_authorize_to: None,
            resource_checked: true,
            rotation: true,
            reuse_detector: true,
            access_ttl_s: 3600,
            expires_in: ExpiresIn::True,
            first_refresh_token: RefreshForm::Given,
            next_refresh_token: RefreshForm::Given,
            scope: ScopeForm::Same,
            offline: Offline::Offered,
            other_audience: false,
            token_type: "Bearer".to_owned(),
            echo_secrets: None,
            client_auth: BTreeSet::from(ClientAuth::ALL),
            registration: Registration::Open,
            registrations_max: None,
            client_documents: false,
            document_routes: BTreeMap::new(),
            revocation: Revocation::Grant,
            revokes_access: true,
            device: DeviceGrant::Off,
            device_pending: 1,
            device_interval_s: 1,
        }
    }
}

/// Where metadata is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Discovery {
    /// Hint in the challenge, both well-known places, server on another host with both documents.
    OtherHost,
    /// As `other_host`, but the server is on the resource's own host.
    SameHost,
    /// Only the challenge names the resource's metadata, at an address nobody can guess.
    HeaderHint,
    /// Only the well-known place with the resource's path inserted.
    PathWellKnown,
    /// Only the well-known place at the root.
    RootWellKnown,
    /// The server has only the OpenID Connect document.
    OidcOnly,
    /// The issuer has a path, and only the RFC 8414 place with that path inserted answers.
    IssuerPath,
    /// The resource has no metadata at all; the server answers whoever knows its issuer.
    NoResourceMetadata,
    /// The issuer has a path, and only the OpenID Connect place appended to it answers.
    IssuerPathOidc,
    /// Nothing is found anywhere, also not at the server.
    Nothing,
}

impl Discovery {
    /// The eight shapes that real servers have.
    pub const EIGHT: [Discovery; 8] = [
        Discovery::OtherHost,
        Discovery::SameHost,
        Discovery::HeaderHint,
        Discovery::PathWellKnown,
        Discovery::RootWellKnown,
        Discovery::OidcOnly,
        Discovery::IssuerPath,
        Discovery::NoResourceMetadata,
    ];
}

/// What metadata says wrongly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MetadataLie {
    /// The server's document names the other server as its issuer.
    WrongIssuer,
    /// The server's document has the issuer with a slash more, or one less, than the resource's.
    SlashIssuer,
    /// `code_challenge_methods_supported` is not there.
    NoPkceMethods,
    /// `code_challenge_methods_supported` names only `plain`.
    PlainPkceOnly,
    /// The resource's document has the resource with a slash more.
    SlashResource,
    /// The resource's document is about another resource.
    WrongResource,
    /// `authorization_endpoint` is a `javascript:` address.
    ScriptAuthorize,
    /// `authorization_endpoint` is a file.
    FileAuthorize,
    /// `token_endpoint` is a link-local address.
    PrivateToken,
    /// `registration_endpoint` is a private address.
    PrivateRegistration,
    /// The resource's document names an authorization server at a private address.
    PrivateServer,
    /// Token, registration and revocation endpoints are on the other host, which records what comes.
    EndpointsElsewhere,
    /// No authorization server is named.
    NoServers,
    /// Two servers are named, the second one first.
    TwoServers,
}

impl MetadataLie {
    /// Every lie there is.
    pub const ALL: [MetadataLie; 14] = [
        MetadataLie::WrongIssuer,
        MetadataLie::SlashIssuer,
        MetadataLie::NoPkceMethods,
        MetadataLie::PlainPkceOnly,
        MetadataLie::SlashResource,
        MetadataLie::WrongResource,
        MetadataLie::ScriptAuthorize,
        MetadataLie::FileAuthorize,
        MetadataLie::PrivateToken,
        MetadataLie::PrivateRegistration,
        MetadataLie::PrivateServer,
        MetadataLie::EndpointsElsewhere,
        MetadataLie::NoServers,
        MetadataLie::TwoServers,
    ];
}

/// What the authorization endpoint does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Consent {
    /// Consents at once.
    Auto,
    /// Answers `access_denied` at once.
    Deny,
    /// Shows a page with two buttons.
    Page,
}

/// `iss` of authorization responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IssForm {
    /// The issuer, byte for byte.
    Right,
    /// None.
    Absent,
    /// The other server's issuer.
    Wrong,
    /// The issuer with a slash more.
    Slash,
    /// The issuer with an upper-case scheme.
    Case,
    /// The issuer twice.
    Twice,
}

/// `state` of authorization responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StateForm {
    /// As it came.
    Right,
    /// None.
    Absent,
    /// Another one.
    Wrong,
}

/// What `expires_in` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExpiresIn {
    /// The true life, in seconds.
    True,
    /// Nothing.
    Absent,
    /// 0.
    Zero,
    /// −1.
    Negative,
    /// A text that is no number.
    Nonsense,
    /// The true life, as a text.
    Text,
    /// The true life with a fraction.
    Fraction,
    /// 2^63.
    Huge,
    /// `null`.
    Null,
}

impl ExpiresIn {
    /// Every form there is.
    pub const ALL: [ExpiresIn; 9] = [
        ExpiresIn::True,
        ExpiresIn::Absent,
        ExpiresIn::Zero,
        ExpiresIn::Negative,
        ExpiresIn::Nonsense,
        ExpiresIn::Text,
        ExpiresIn::Fraction,
        ExpiresIn::Huge,
        ExpiresIn::Null,
    ];
}

/// A refresh token in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefreshForm {
    /// There. A new one with rotation, else the one that was used.
    Given,
    /// Not there; the one that was used stays good.
    Omitted,
    /// An empty text; the one that was used stays good.
    Empty,
    /// `null`; the one that was used stays good.
    Null,
}

/// The scope of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScopeForm {
    /// What was asked, and said.
    Same,
    /// What was asked, and not said.
    Absent,
    /// All there is, and said.
    Wider,
    /// Only the first of what was asked, and said.
    Narrower,
}

/// How `offline_access` is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Offline {
    /// Named in metadata; refresh tokens come with or without it.
    Offered,
    /// Named in metadata; refresh tokens come only with it.
    Needed,
    /// Named in metadata, and yet `invalid_scope` for whoever asks; no refresh tokens.
    Refused,
    /// Not named; `invalid_scope` for whoever asks; refresh tokens come all the same.
    Unknown,
}

/// How a refusal sends the caller's secrets back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SecretEcho {
    /// In `error_description` of a JSON error.
    Json,
    /// As a form, under its own media type.
    Form,
    /// In the query of `error_uri`.
    Url,
    /// In a plain text under status 500.
    Text,
    /// In a response header.
    Header,
}

impl SecretEcho {
    /// Every form there is.
    pub const ALL: [SecretEcho; 5] =
        [SecretEcho::Json, SecretEcho::Form, SecretEcho::Url, SecretEcho::Text, SecretEcho::Header];
}

/// How a client shows who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ClientAuth {
    /// By its id alone.
    #[serde(rename = "none")]
    None,
    /// By its secret in `Authorization: Basic`.
    #[serde(rename = "client_secret_basic")]
    Basic,
    /// By its secret in the form.
    #[serde(rename = "client_secret_post")]
    Post,
    /// By an assertion signed with its key (RFC 7523).
    #[serde(rename = "private_key_jwt")]
    Assertion,
}

impl ClientAuth {
    /// Every kind there is.
    pub const ALL: [ClientAuth; 4] = [ClientAuth::None, ClientAuth::Basic, ClientAuth::Post, ClientAuth::Assertion];

    /// Its name in metadata.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ClientAuth::None => "none",
            ClientAuth::Basic => "client_secret_basic",
            ClientAuth::Post => "client_secret_post",
            ClientAuth::Assertion => "private_key_jwt",
        }
    }
}

/// Dynamic registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Registration {
    /// Anyone may register.
    Open,
    /// Named in metadata, and refused.
    Refused,
    /// Not there at all.
    Absent,
}

/// What revoking one token ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Revocation {
    /// Not there at all.
    Absent,
    /// That token.
    Token,
    /// All tokens that descend from the same consent and client, the consent stays.
    Family,
    /// The grant with all its tokens.
    Grant,
}

/// The device authorization grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceGrant {
    /// Not there at all.
    Off,
    /// Lets a device in after some polls.
    Auto,
    /// Answers `authorization_pending` for ever.
    Pending,
    /// Answers `slow_down` for ever.
    SlowDown,
    /// Answers `access_denied`.
    Deny,
    /// Answers `expired_token`.
    Expired,
}
