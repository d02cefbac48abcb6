//! Who we are to an authorization server, and how that is decided. A client never leaves the issuer it is for, and a person is asked rather than a default invented.

use super::client_auth::{AuthMethod, ClientAuth};
use super::metadata::{AuthorizationServer, checked_url};
use super::register::Management;
use contract::limits;
use egress::Egress;

/// A client at one issuer.
pub struct Client {
    issuer: String,
    identity: ClientIdentity,
}

/// Where a client's identity comes from.
pub enum ClientIdentity {
    /// A person registered it and gave it to us.
    Given {
        /// The id.
        client_id: String,
        /// What it shows.
        auth: ClientAuth,
    },
    /// The address of a document of ours that describes it; a public client.
    Cimd {
        /// The address, which is the client id.
        document_url: String,
    },
    /// We registered it (RFC 7591).
    Registered {
        /// The id.
        client_id: String,
        /// What it shows.
        auth: ClientAuth,
        /// How it can be removed again.
        management: Option<Management>,
    },
}

/// Why a client cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IdentityError {
    /// It belongs to another issuer.
    #[error("this client is registered at another issuer")]
    OtherIssuer,
    /// The server does not take its way to show itself.
    #[error("the authorization server does not take `{}`", method.as_str())]
    Method {
        /// The client's method.
        method: AuthMethod,
    },
    /// The id is empty, too long or holds characters that an id cannot have.
    #[error("this is no client id")]
    BadClientId,
    /// The document's address is not a public https address with a path.
    #[error("the client document's address cannot be a client id: {what}")]
    BadDocumentUrl {
        /// Why not.
        what: &'static str,
    },
}

impl Client {
    /// A client at `issuer`.
    pub fn new(issuer: impl Into<String>, identity: ClientIdentity) -> Result<Self, IdentityError> {
        let client = Self { issuer: issuer.into(), identity };
        let id = client.client_id();
        // RFC 6749 A.1: VSCHAR.
        let fits = (1..=limits::OAUTH_CLIENT_ID_CHARS_MAX).contains(&id.len());
        if !fits || !id.bytes().all(|byte| (0x20..=0x7e).contains(&byte)) {
            return Err(IdentityError::BadClientId);
        }
        Ok(client)
    }

    /// The issuer that it belongs to.
    #[must_use]
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Its id.
    #[must_use]
    pub fn client_id(&self) -> &str {
        match &self.identity {
            ClientIdentity::Given { client_id, .. } | ClientIdentity::Registered { client_id, .. } => client_id,
            ClientIdentity::Cimd { document_url } => document_url,
        }
    }

    /// What it shows.
    #[must_use]
    pub const fn auth(&self) -> &ClientAuth {
        match &self.identity {
            ClientIdentity::Given { auth, .. } | ClientIdentity::Registered { auth, .. } => auth,
            ClientIdentity::Cimd { .. } => &ClientAuth::None,
        }
    }

    /// Where it comes from.
    #[must_use]
    pub const fn identity(&self) -> &ClientIdentity {
        &self.identity
    }

    fn check(&self, server: &AuthorizationServer) -> Result<(), IdentityError> {
        if self.issuer != server.issuer() {
            return Err(IdentityError::OtherIssuer);
        }
        let method = self.auth().method();
        if server.takes(method) { Ok(()) } else { Err(IdentityError::Method { method }) }
    }
}

/// What the caller has.
pub struct Available<'a> {
    /// A client that the person gave for this connection.
    pub given: Option<Client>,
    /// The client that this connection context registered before; it is never registered twice.
    pub registered: Option<Client>,
    /// The address of this context's client document, where the service has a public https address.
    pub document_url: Option<&'a str>,
    /// The exact redirect address that will be used.
    pub redirect_uri: &'a str,
}

/// What to do.
pub enum Choice {
    /// Use this client.
    Use(Box<Client>),
    /// Register one, then keep it for this context.
    Register,
}

/// A person has to register a client by hand.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "this authorization server registers no clients by itself; register one there with the redirect address `{redirect_uri}`"
)]
pub struct AskThePerson {
    /// Where they do it.
    pub issuer: String,
    /// The exact redirect address to enter there.
    pub redirect_uri: String,
}

/// Why there is no identity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoIdentity {
    /// Nothing automatic is possible.
    #[error(transparent)]
    Ask(#[from] AskThePerson),
    /// What is there cannot be used; nothing else is tried in its place.
    #[error(transparent)]
    Unusable(#[from] IdentityError),
}

/// Decides by the order of MCP's authorization profile: given, the client document, dynamic registration, the person.
pub fn choose_identity(
    egress: &Egress,
    server: &AuthorizationServer,
    available: Available<'_>,
) -> Result<Choice, NoIdentity> {
    if let Some(client) = available.given.or(available.registered) {
        client.check(server)?;
        return Ok(Choice::Use(Box::new(client)));
    }
    if let Some(url) = available.document_url
        && server.takes_client_documents()
        && server.takes(AuthMethod::None)
    {
        check_document_url(egress, url)?;
        let identity = ClientIdentity::Cimd { document_url: url.to_owned() };
        return Ok(Choice::Use(Box::new(Client::new(server.issuer(), identity)?)));
    }
    if server.registration_endpoint().is_some() {
        return Ok(Choice::Register);
    }
    let (issuer, redirect_uri) = (server.issuer().to_owned(), available.redirect_uri.to_owned());
    Err(AskThePerson { issuer, redirect_uri }.into())
}

/// draft-ietf-oauth-client-id-metadata-document 3: https, a path, no fragment, no dot segment, no user.
fn check_document_url(egress: &Egress, text: &str) -> Result<(), IdentityError> {
    let bad = |what| IdentityError::BadDocumentUrl { what };
    let url = checked_url(egress, text).map_err(|_| bad("it cannot be called"))?;
    if url.scheme() != "https" {
        return Err(bad("it is not https"));
    }
    if url.path() == "/" {
        return Err(bad("it has no path"));
    }
    // Comparison is byte for byte at the other side, so only one spelling is usable.
    if url.as_str() != text || url.query().is_some() {
        return Err(bad("it is not in its shortest form"));
    }
    Ok(())
}
