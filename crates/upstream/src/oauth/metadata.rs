//! The validated description of an authorization server. Never holds an endpoint that may not be called, and never one of another issuer's document.

use super::client_auth::AuthMethod;
use super::error::{DiscoveryError, Document, shortened};
use super::fields::{Fields, is_scope};
use contract::{Json, limits};
use egress::{Egress, EgressError};
use std::collections::BTreeMap;
use url::Url;

const DOCUMENT: Document = Document::AuthorizationServer;

/// Metadata of an authorization server (RFC 8414), every endpoint checked: https and no private address, as `egress` is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorizationServer {
    issuer: String,
    endpoints: BTreeMap<&'static str, String>,
    lists: BTreeMap<&'static str, Vec<String>>,
    iss_promised: bool,
    client_documents: bool,
}

const AUTHORIZATION: &str = "authorization_endpoint";
const TOKEN: &str = "token_endpoint";
const REGISTRATION: &str = "registration_endpoint";
const REVOCATION: &str = "revocation_endpoint";
const DEVICE: &str = "device_authorization_endpoint";
const ENDPOINTS: &[&str] = &[AUTHORIZATION, TOKEN, REGISTRATION, REVOCATION, DEVICE];

const SCOPES: &str = "scopes_supported";
const PKCE: &str = "code_challenge_methods_supported";
const AUTH_METHODS: &str = "token_endpoint_auth_methods_supported";
const AUTH_ALGORITHMS: &str = "token_endpoint_auth_signing_alg_values_supported";
const GRANTS: &str = "grant_types_supported";
const RESPONSES: &str = "response_types_supported";
const DPOP: &str = "dpop_signing_alg_values_supported";
const LISTS: &[&str] = &[SCOPES, PKCE, AUTH_METHODS, AUTH_ALGORITHMS, GRANTS, RESPONSES, DPOP];
const ISS: &str = "authorization_response_iss_parameter_supported";
const CLIENT_DOCUMENTS: &str = "client_id_metadata_document_supported";

impl AuthorizationServer {
    /// Reads a document that was kept, under the same rules as a fresh one.
    pub fn from_document(egress: &Egress, issuer: &str, document: Json) -> Result<Self, DiscoveryError> {
        let fields = Fields::new(document).ok_or_else(|| DiscoveryError::field(DOCUMENT, ".", "is no JSON object"))?;
        Self::read(egress, issuer, &fields)
    }

    pub(crate) fn read(egress: &Egress, issuer: &str, fields: &Fields) -> Result<Self, DiscoveryError> {
        // RFC 8414 3.3: identical, and no normalisation makes it so.
        let found = fields.text("issuer").unwrap_or_default();
        if found != issuer {
            return Err(DiscoveryError::OtherIssuer { expected: issuer.to_owned(), found: shortened(found) });
        }
        let mut server = Self {
            issuer: issuer.to_owned(),
            endpoints: BTreeMap::new(),
            lists: BTreeMap::new(),
            iss_promised: flag(fields, ISS)?,
            client_documents: flag(fields, CLIENT_DOCUMENTS)?,
        };
        for name in ENDPOINTS {
            if let Some(url) = endpoint(egress, fields, name)? {
                server.endpoints.insert(name, url);
            }
        }
        for name in LISTS {
            if let Some(items) = texts(DOCUMENT, fields, name)? {
                server.lists.insert(name, items);
            }
        }
        if !server.endpoints.contains_key(TOKEN) {
            return Err(DiscoveryError::field(DOCUMENT, TOKEN, "is missing"));
        }
        if !server.scopes().iter().all(|scope| is_scope(scope)) {
            return Err(DiscoveryError::field(DOCUMENT, SCOPES, "has an item that is no scope"));
        }
        Ok(server)
    }

    /// What was read, as a document that [`Self::from_document`] takes.
    #[must_use]
    pub fn to_document(&self) -> Json {
        let mut members = BTreeMap::from([("issuer".to_owned(), Json::from(&*self.issuer))]);
        members.extend(self.endpoints.iter().map(|(name, url)| ((*name).to_owned(), url.as_str().into())));
        let list = |items: &[String]| Json::Array(items.iter().map(|item| item.as_str().into()).collect());
        members.extend(self.lists.iter().map(|(name, items)| ((*name).to_owned(), list(items))));
        members.insert(ISS.to_owned(), self.iss_promised.into());
        members.insert(CLIENT_DOCUMENTS.to_owned(), self.client_documents.into());
        Json::Object(members)
    }

    /// The issuer, byte for byte.
    #[must_use]
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Where a person consents.
    #[must_use]
    pub fn authorization_endpoint(&self) -> Option<&str> {
        self.endpoint(AUTHORIZATION)
    }

    /// Where tokens are given.
    #[must_use]
    pub fn token_endpoint(&self) -> &str {
        self.endpoint(TOKEN).unwrap_or_default()
    }

    /// Where clients are registered (RFC 7591).
    #[must_use]
    pub fn registration_endpoint(&self) -> Option<&str> {
        self.endpoint(REGISTRATION)
    }

    /// Where tokens are revoked (RFC 7009).
    #[must_use]
    pub fn revocation_endpoint(&self) -> Option<&str> {
        self.endpoint(REVOCATION)
    }

    /// Where a sign-in without a browser begins (RFC 8628).
    #[must_use]
    pub fn device_endpoint(&self) -> Option<&str> {
        self.endpoint(DEVICE)
    }

    /// Origins, other than the issuer's, that codes, tokens and client secrets go to. A review shows them.
    #[must_use]
    pub fn foreign_origins(&self) -> Vec<String> {
        let origin = |text: &str| Url::parse(text).ok().map(|url| url.origin().ascii_serialization());
        let own = origin(&self.issuer);
        let mut others: Vec<String> =
            self.endpoints.values().map(|url| origin(url)).filter(|found| *found != own).flatten().collect();
        others.sort();
        others.dedup();
        others
    }

    /// The scopes that it names.
    #[must_use]
    pub fn scopes(&self) -> &[String] {
        self.lists.get(SCOPES).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether `offline_access` can be asked for.
    #[must_use]
    pub fn offers_offline_access(&self) -> bool {
        self.scopes().iter().any(|scope| scope == "offline_access")
    }

    /// Whether PKCE with S256 is advertised; without it no authorization begins.
    #[must_use]
    pub fn has_s256(&self) -> bool {
        self.lists.get(PKCE).is_some_and(|methods| methods.iter().any(|method| method == "S256"))
    }

    /// Whether it promised `iss` in every authorization response (RFC 9207).
    #[must_use]
    pub const fn promises_iss(&self) -> bool {
        self.iss_promised
    }

    /// Whether a client id may be the address of a client's own document (CIMD).
    #[must_use]
    pub const fn takes_client_documents(&self) -> bool {
        self.client_documents
    }

    /// Whether it can bind tokens to a key (RFC 9449).
    #[must_use]
    pub fn has_dpop(&self) -> bool {
        self.lists.contains_key(DPOP)
    }

    /// Whether a grant type is offered; without a list, what RFC 8414 2 says.
    #[must_use]
    pub fn offers_grant(&self, grant: &str) -> bool {
        match self.lists.get(GRANTS) {
            Some(grants) => grants.iter().any(|offered| offered == grant),
            None => grant == "authorization_code",
        }
    }

    /// Whether authorization codes are offered; a server that lists response types without `code` offers the implicit grant only.
    #[must_use]
    pub fn offers_codes(&self) -> bool {
        let listed = self.lists.get(RESPONSES).is_none_or(|types| types.iter().any(|kind| kind == "code"));
        listed && self.authorization_endpoint().is_some() && self.offers_grant("authorization_code")
    }

    /// Whether a client may show itself like this; a server without a list leaves it to what it told the client.
    #[must_use]
    pub fn takes(&self, method: AuthMethod) -> bool {
        let listed = |name, item: &str| self.lists.get(name).is_none_or(|items| items.iter().any(|i| i == item));
        let algorithm = method != AuthMethod::PrivateKeyJwt || listed(AUTH_ALGORITHMS, "ES256");
        listed(AUTH_METHODS, method.as_str()) && algorithm
    }

    fn endpoint(&self, name: &str) -> Option<&str> {
        self.endpoints.get(name).map(String::as_str)
    }
}

/// A URL that `egress` would call, as text and taken apart.
pub(crate) fn checked_url(egress: &Egress, text: &str) -> Result<Url, EgressError> {
    egress.foreign(text)?;
    Url::parse(text).map_err(|_| EgressError::BadUrl { what: "it cannot be read" })
}

/// A list of texts; none if the member is not there.
pub(crate) fn texts(
    document: Document,
    fields: &Fields,
    name: &'static str,
) -> Result<Option<Vec<String>>, DiscoveryError> {
    let bad = |what| DiscoveryError::field(document, name, what);
    let Some(value) = fields.find(name) else { return Ok(None) };
    let items = value.as_array().ok_or_else(|| bad("is no list"))?;
    if items.len() > limits::OAUTH_LIST_MAX {
        return Err(bad("is too long"));
    }
    let item = |item: &Json| {
        let text = item.as_str().ok_or_else(|| bad("has an item that is no text"))?;
        let fits = text.len() <= limits::OAUTH_ITEM_CHARS_MAX.max(limits::ENDPOINT_BYTES_MAX);
        if fits { Ok(text.to_owned()) } else { Err(bad("has an item that is too long")) }
    };
    items.iter().map(item).collect::<Result<_, _>>().map(Some)
}

fn endpoint(egress: &Egress, fields: &Fields, name: &'static str) -> Result<Option<String>, DiscoveryError> {
    let Some(value) = fields.find(name) else { return Ok(None) };
    let text = value.as_str().ok_or_else(|| DiscoveryError::field(DOCUMENT, name, "is no text"))?;
    match egress.foreign(text) {
        Ok(_) => Ok(Some(text.to_owned())),
        Err(error) => Err(DiscoveryError::field(DOCUMENT, name, format!("cannot be used: {error}"))),
    }
}

fn flag(fields: &Fields, name: &'static str) -> Result<bool, DiscoveryError> {
    match fields.find(name) {
        None => Ok(false),
        Some(value) => {
            value.as_bool().ok_or_else(|| DiscoveryError::field(DOCUMENT, name, "is neither true nor false"))
        }
    }
}
