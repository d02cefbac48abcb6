//! Finds the authorization server of a resource (RFC 9728) and its metadata (RFC 8414, OpenID Connect Discovery). Never guesses an endpoint, and never takes a document that is about something else.

use super::challenge::Challenge;
use super::error::{DiscoveryError, Document, shortened};
use super::fields::{Fields, is_scope};
use super::http::{Answer, fetch};
use super::metadata::{AuthorizationServer, checked_url, texts};
use contract::limits;
use egress::Egress;
use url::{Position, Url};

/// How a resource's own name covers the endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    /// It is the endpoint.
    Exact,
    /// It is a parent of the endpoint on the same origin; tokens are for all of it.
    Parent,
    /// The resource has no metadata; a person named the authorization server.
    Configured,
}

/// A resource and who may be asked for tokens to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProtectedResource {
    resource: String,
    fit: Fit,
    issuers: Vec<String>,
    scopes: Vec<String>,
    dpop_required: bool,
    found_at: Option<String>,
}

impl ProtectedResource {
    /// A resource without metadata, whose authorization server a person named.
    pub fn configured(egress: &Egress, endpoint: &str, issuer: &str) -> Result<Self, DiscoveryError> {
        issuer_url(egress, issuer)?;
        Ok(Self {
            resource: endpoint.to_owned(),
            fit: Fit::Configured,
            issuers: vec![issuer.to_owned()],
            scopes: Vec::new(),
            dpop_required: false,
            found_at: None,
        })
    }

    /// The value of `resource` in every request (RFC 8707), byte for byte as the resource names itself.
    #[must_use]
    pub fn resource(&self) -> &str {
        &self.resource
    }

    /// How it covers the endpoint.
    #[must_use]
    pub const fn fit(&self) -> Fit {
        self.fit
    }

    /// Its authorization servers in its own order, at least one; which is used is the caller's choice and is shown.
    #[must_use]
    pub fn issuers(&self) -> &[String] {
        &self.issuers
    }

    /// The scopes that it names.
    #[must_use]
    pub fn scopes(&self) -> &[String] {
        &self.scopes
    }

    /// Whether it takes sender-constrained tokens only (RFC 9728 2).
    #[must_use]
    pub const fn is_dpop_required(&self) -> bool {
        self.dpop_required
    }

    /// Where its metadata was found.
    #[must_use]
    pub fn found_at(&self) -> Option<&str> {
        self.found_at.as_deref()
    }
}

/// Finds the metadata of the resource at `endpoint`: where its challenge says, or else at the two well-known places.
///
/// A challenge that names a place is believed or refused, never ignored.
pub async fn find_resource(
    egress: &Egress,
    endpoint: &str,
    challenge: Option<&Challenge>,
) -> Result<ProtectedResource, DiscoveryError> {
    let document = Document::ProtectedResource;
    let url = checked_url(egress, endpoint).map_err(|source| DiscoveryError::Unreachable {
        document,
        url: shortened(endpoint),
        source,
    })?;
    let places = match challenge.and_then(|challenge| challenge.resource_metadata.clone()) {
        Some(hint) => vec![hint],
        None => resource_places(&url),
    };
    let (place, fields) = first_of(egress, document, places).await?;
    read_resource(egress, endpoint, &url, place, &fields)
}

/// Finds the metadata of the authorization server `issuer`, at each place that the standards name.
pub async fn find_server(egress: &Egress, issuer: &str) -> Result<AuthorizationServer, DiscoveryError> {
    let url = issuer_url(egress, issuer)?;
    let (_, fields) = first_of(egress, Document::AuthorizationServer, server_places(issuer, &url)).await?;
    AuthorizationServer::read(egress, issuer, &fields)
}

fn resource_places(endpoint: &Url) -> Vec<String> {
    const NAME: &str = "/.well-known/oauth-protected-resource";
    let origin = endpoint.origin().ascii_serialization();
    // RFC 9728 3.1: inserted between host and path, a query stays.
    let path = match &endpoint[Position::BeforePath..Position::AfterQuery] {
        "/" => "",
        path => path,
    };
    let mut places = vec![format!("{origin}{NAME}{path}")];
    if !path.is_empty() {
        places.push(format!("{origin}{NAME}"));
    }
    places
}

fn server_places(issuer: &str, url: &Url) -> Vec<String> {
    const OAUTH: &str = "/.well-known/oauth-authorization-server";
    const OIDC: &str = "/.well-known/openid-configuration";
    let origin = url.origin().ascii_serialization();
    // RFC 8414 3.1: a slash at the end goes before the insertion.
    match url.path().trim_end_matches('/') {
        "" => vec![format!("{origin}{OAUTH}"), format!("{origin}{OIDC}")],
        path => vec![
            format!("{origin}{OAUTH}{path}"),
            format!("{origin}{OIDC}{path}"),
            format!("{}{OIDC}", issuer.trim_end_matches('/')),
        ],
    }
}

/// RFC 8414 2: https, no query, no fragment.
fn issuer_url(egress: &Egress, issuer: &str) -> Result<Url, DiscoveryError> {
    let bad = |what: String| {
        DiscoveryError::field(
            Document::ProtectedResource,
            "authorization_servers",
            format!("names `{}`: {what}", shortened(issuer)),
        )
    };
    let url = checked_url(egress, issuer).map_err(|error| bad(error.to_string()))?;
    if url.query().is_some() {
        return Err(bad("an issuer has no query".to_owned()));
    }
    Ok(url)
}

/// The first place that has the document. "Not there" is a client error or something that is no JSON; everything else ends the search.
async fn first_of(
    egress: &Egress,
    document: Document,
    places: Vec<String>,
) -> Result<(String, Fields), DiscoveryError> {
    for place in &places {
        let answer = fetch(egress, place).await.map_err(|source| DiscoveryError::Unreachable {
            document,
            url: shortened(place),
            source,
        })?;
        if let Some(fields) = document_in(document, place, &answer)? {
            return Ok((place.clone(), fields));
        }
    }
    Err(DiscoveryError::NotFound { document, tried: places.iter().map(|place| shortened(place)).collect() })
}

fn document_in(document: Document, place: &str, answer: &Answer) -> Result<Option<Fields>, DiscoveryError> {
    match answer.status {
        // A server of pages answers every path with a page.
        200 if !answer.is_json => Ok(None),
        200 => match answer.fields() {
            Some(fields) => Ok(Some(fields)),
            None => Err(DiscoveryError::field(document, ".", "is no JSON object")),
        },
        400 | 401 | 403 | 404 | 405 | 406 | 410 => Ok(None),
        status => Err(DiscoveryError::Status { document, url: shortened(place), status }),
    }
}

fn read_resource(
    egress: &Egress,
    endpoint: &str,
    endpoint_url: &Url,
    place: String,
    fields: &Fields,
) -> Result<ProtectedResource, DiscoveryError> {
    let document = Document::ProtectedResource;
    let bad = |field, what: &str| DiscoveryError::field(document, field, what);
    let resource = fields.text("resource").ok_or(bad("resource", "is missing or no text"))?;
    let fit = fit_of(egress, endpoint, endpoint_url, resource)
        .ok_or_else(|| DiscoveryError::OtherResource { endpoint: endpoint.to_owned(), found: shortened(resource) })?;
    let issuers = texts(document, fields, "authorization_servers")?.unwrap_or_default();
    if issuers.is_empty() {
        return Err(bad("authorization_servers", "names none"));
    }
    if issuers.len() > limits::OAUTH_SERVERS_MAX {
        return Err(bad("authorization_servers", "names too many"));
    }
    issuers.iter().try_for_each(|issuer| issuer_url(egress, issuer).map(|_| ()))?;
    let scopes = texts(document, fields, "scopes_supported")?.unwrap_or_default();
    if !scopes.iter().all(|scope| is_scope(scope)) {
        return Err(bad("scopes_supported", "has an item that is no scope"));
    }
    let methods = texts(document, fields, "bearer_methods_supported")?;
    if methods.is_some_and(|methods| !methods.iter().any(|method| method == "header")) {
        return Err(bad("bearer_methods_supported", "does not take tokens in the header"));
    }
    let dpop_required = fields.find("dpop_bound_access_tokens_required").and_then(contract::Json::as_bool);
    Ok(ProtectedResource {
        resource: resource.to_owned(),
        fit,
        issuers,
        scopes,
        dpop_required: dpop_required.unwrap_or(false),
        found_at: Some(place),
    })
}

/// RFC 9728 3.3, and a parent by whole path segments as clients of MCP take it. A slash more or less at the end is another resource.
fn fit_of(egress: &Egress, endpoint: &str, endpoint_url: &Url, resource: &str) -> Option<Fit> {
    if resource == endpoint {
        return Some(Fit::Exact);
    }
    let url = checked_url(egress, resource).ok()?;
    if url.origin() != endpoint_url.origin() {
        return None;
    }
    // `https://h` and `https://h/` are one URL (RFC 3986 6.2.3); so are spellings of the scheme and host.
    if url.as_str() == endpoint_url.as_str() {
        return Some(Fit::Exact);
    }
    let parent = url.path().trim_end_matches('/');
    let rest = endpoint_url.path().strip_prefix(parent)?;
    let is_parent = url.query().is_none() && rest.starts_with('/') && rest != "/";
    is_parent.then_some(Fit::Parent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use egress::Settings;

    fn url(text: &str) -> Url {
        Url::parse(text).expect("a URL")
    }

    #[test]
    fn places_of_both_documents() {
        let well_known = "https://h/.well-known";
        assert_eq!(
            resource_places(&url("https://h/a/mcp?x=1")),
            [
                format!("{well_known}/oauth-protected-resource/a/mcp?x=1"),
                format!("{well_known}/oauth-protected-resource")
            ]
        );
        assert_eq!(resource_places(&url("https://h")), [format!("{well_known}/oauth-protected-resource")]);
        for issuer in ["https://h/t", "https://h/t/"] {
            assert_eq!(
                server_places(issuer, &url(issuer)),
                [
                    format!("{well_known}/oauth-authorization-server/t"),
                    format!("{well_known}/openid-configuration/t"),
                    "https://h/t/.well-known/openid-configuration".to_owned(),
                ]
            );
        }
        assert_eq!(
            server_places("https://h", &url("https://h")),
            [format!("{well_known}/oauth-authorization-server"), format!("{well_known}/openid-configuration")]
        );
    }

    #[test]
    fn a_resource_covers_itself_and_what_lies_below() {
        let egress = Egress::new(Settings::default());
        let endpoint = "https://h.example/a/mcp";
        let fit = |resource| fit_of(&egress, endpoint, &url(endpoint), resource);
        assert_eq!(fit(endpoint), Some(Fit::Exact));
        assert_eq!(fit("HTTPS://H.example/a/mcp"), Some(Fit::Exact));
        for parent in ["https://h.example", "https://h.example/", "https://h.example/a", "https://h.example/a/"] {
            assert_eq!(fit(parent), Some(Fit::Parent), "{parent}");
        }
        for other in [
            "https://h.example/a/mcp/",
            "https://h.example/a/mc",
            "https://h.example/a/mcp/b",
            "https://h.example/A/mcp",
            "https://h.example/a?x",
            "https://h.example:444/a/mcp",
            "https://evil.example/a/mcp",
            "http://h.example/a/mcp",
            "https://u@h.example/a/mcp",
            "https://h.example/a/mcp#x",
            "javascript:alert(1)",
            "",
        ] {
            assert_eq!(fit(other), None, "{other}");
        }
        let root = "https://h.example/";
        assert_eq!(fit_of(&egress, root, &url(root), "https://h.example"), Some(Fit::Exact));
    }
}
