//! A small OAuth client that does exactly what a test says. Never looks whether that is wise.

use crate::support::{Answer, Request};
use collie_lab::{Credential, GivenClient, Lab, LabConfig, OAuthSwitches, SCOPE_READ, SeenOAuth};
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub(crate) const REDIRECT: &str = "http://127.0.0.1:9/callback";
/// Verifier and challenge of RFC 7636, appendix B.
pub(crate) const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
pub(crate) const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
pub(crate) const DEVICE_GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";
pub(crate) const SECRET: &str = "s3cr3t: with+odd%chars";

pub(crate) type Pairs<'a> = Vec<(&'a str, String)>;

/// A lab that asks for tokens and knows the public client `given`.
pub(crate) async fn lab(change: impl FnOnce(&mut OAuthSwitches)) -> Lab {
    let mut config = LabConfig { credential: Credential::OAuth, ..LabConfig::default() };
    change(&mut config.switches.oauth);
    let lab = Lab::start(config).await.expect("free ports");
    add(&lab, json!({"client_id": "given", "auth": "none", "redirect_uris": [REDIRECT]}));
    lab
}

pub(crate) fn add(lab: &Lab, client: Value) {
    let given: GivenClient = serde_json::from_value(client).expect("a client");
    lab.control(collie_lab::Command::AddClient(given)).expect("taken");
}

pub(crate) async fn get(url: &str) -> Answer {
    Request::new("GET", url, String::new()).send().await
}

pub(crate) fn first(lab: &Lab, path: &str) -> String {
    format!("{}{path}", lab.server_urls()[0])
}

pub(crate) fn form(pairs: &[(&str, String)]) -> String {
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

/// `pairs` with one of them set, added, or taken away if `value` is empty.
pub(crate) fn with<'a>(mut pairs: Pairs<'a>, name: &'a str, value: &str) -> Pairs<'a> {
    pairs.retain(|(known, _)| *known != name);
    if !value.is_empty() {
        pairs.push((name, value.to_owned()));
    }
    pairs
}

pub(crate) fn asking(lab: &Lab) -> Pairs<'static> {
    vec![
        ("response_type", "code".to_owned()),
        ("client_id", "given".to_owned()),
        ("redirect_uri", REDIRECT.to_owned()),
        ("state", "the-state".to_owned()),
        ("code_challenge", CHALLENGE.to_owned()),
        ("code_challenge_method", "S256".to_owned()),
        ("resource", lab.mcp_url()),
        ("scope", SCOPE_READ.to_owned()),
    ]
}

/// Sends an authorization request and reads where the browser is sent.
pub(crate) async fn authorize(lab: &Lab, pairs: &[(&str, String)]) -> BTreeMap<String, String> {
    let answer = get(&format!("{}?{}", first(lab, "/oauth/authorize"), form(pairs))).await;
    assert_eq!(answer.status, 302, "{}", answer.text());
    let location = answer.header("location").to_owned();
    assert!(location.starts_with(REDIRECT), "{location}");
    url::Url::parse(&location).expect("an address").query_pairs().into_owned().collect()
}

pub(crate) fn redeeming(lab: &Lab, code: &str) -> Pairs<'static> {
    vec![
        ("grant_type", "authorization_code".to_owned()),
        ("client_id", "given".to_owned()),
        ("code", code.to_owned()),
        ("redirect_uri", REDIRECT.to_owned()),
        ("code_verifier", VERIFIER.to_owned()),
        ("resource", lab.mcp_url()),
    ]
}

pub(crate) fn refreshing(lab: &Lab, refresh_token: &str) -> Pairs<'static> {
    vec![
        ("grant_type", "refresh_token".to_owned()),
        ("client_id", "given".to_owned()),
        ("refresh_token", refresh_token.to_owned()),
        ("resource", lab.mcp_url()),
    ]
}

pub(crate) fn posting(url: &str, pairs: &[(&str, String)]) -> Request {
    Request::new("POST", url, form(pairs)).header("content-type", "application/x-www-form-urlencoded")
}

pub(crate) async fn token(lab: &Lab, pairs: &[(&str, String)]) -> Answer {
    posting(&first(lab, "/oauth/token"), pairs).send().await
}

/// Signs in with this scope and returns the whole token answer.
pub(crate) async fn sign_in_for(lab: &Lab, scope: &str) -> Value {
    let code = authorize(lab, &with(asking(lab), "scope", scope)).await["code"].clone();
    let answer = token(lab, &redeeming(lab, &code)).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

pub(crate) async fn sign_in(lab: &Lab) -> Value {
    sign_in_for(lab, SCOPE_READ).await
}

pub(crate) fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_else(|| panic!("no {name}"))
}

pub(crate) async fn refresh(lab: &Lab, tokens: &Value) -> Answer {
    token(lab, &refreshing(lab, text(tokens, "refresh_token"))).await
}

/// A 2026-07-28 request to `url` with this access token.
pub(crate) fn mcp(url: &str, access: &str, method: &str, mut params: Value) -> Request {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "suite", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let name = params["name"].as_str().map(str::to_owned);
    let message = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    let request = Request::new("POST", url, message.to_string())
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("authorization", &format!("Bearer {access}"))
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", method);
    match name {
        Some(name) => request.header("mcp-name", &name),
        None => request,
    }
}

pub(crate) async fn list(lab: &Lab, tokens: &Value) -> Answer {
    mcp(&lab.mcp_url(), text(tokens, "access_token"), "tools/list", json!({})).send().await
}

/// The last request to an authorization server.
pub(crate) fn last(lab: &Lab) -> SeenOAuth {
    lab.seen().oauth.requests.back().cloned().expect("one was seen")
}

pub(crate) fn error(answer: &Answer) -> String {
    assert!(answer.status >= 400, "{}", answer.text());
    text(&answer.json(), "error").to_owned()
}
