//! Registration, its management, client documents and the four client authentications.

use super::support::{
    REDIRECT, SECRET, add, asking, authorize, error, first, get, lab, last, posting, redeeming, token, with,
};
use crate::support::{Answer, Request};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use collie_lab::{ClientAuth, ClientVerdict, Lab, Registration, Verdict};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::{SystemTime, UNIX_EPOCH};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

async fn register(lab: &Lab, metadata: &Value) -> Answer {
    let request = Request::new("POST", &first(lab, "/oauth/register"), metadata.to_string());
    request.header("content-type", "application/json").send().await
}

/// Redeems a fresh code as `client_id`, with these pairs and headers more.
async fn redeem(lab: &Lab, client_id: &str, more: &[(&'static str, &str)], basic: Option<&str>) -> Answer {
    let code = authorize(lab, &with(asking(lab), "client_id", client_id)).await["code"].clone();
    let mut pairs = with(redeeming(lab, &code), "client_id", client_id);
    for (name, value) in more {
        pairs = with(pairs, name, value);
    }
    let request = posting(&first(lab, "/oauth/token"), &pairs);
    match basic {
        Some(basic) => request.header("authorization", &format!("Basic {}", STANDARD.encode(basic))).send().await,
        None => request.send().await,
    }
}

#[tokio::test]
async fn a_client_registers_and_manages_itself() {
    let lab = lab(|_| ()).await;
    let metadata = json!({"redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none", "client_name": "x"});
    let answer = register(&lab, &metadata).await;
    assert_eq!((answer.status, lab.seen().oauth.counts.registrations), (201, 1));
    let known = answer.json();
    assert!(known.get("client_secret").is_none());
    let id = known["client_id"].as_str().expect("an id");
    assert_eq!(redeem(&lab, id, &[], None).await.status, 200);
    let home = known["registration_client_uri"].as_str().expect("an address");
    let bearer = format!("Bearer {}", known["registration_access_token"].as_str().expect("a token"));
    let manage = |method: &'static str, body: &Value| {
        Request::new(method, home, body.to_string()).header("authorization", &bearer)
    };
    assert_eq!(get(home).await.status, 401);
    let foreign =
        register(&lab, &metadata).await.json()["registration_access_token"].as_str().expect("a token").to_owned();
    let stolen = Request::new("DELETE", home, String::new()).header("authorization", &format!("Bearer {foreign}"));
    assert_eq!(stolen.send().await.status, 401, "another registration's token");
    assert_eq!(manage("GET", &Value::Null).send().await.json()["client_name"], "x");
    let other = json!({"redirect_uris": ["https://new.invalid/"], "token_endpoint_auth_method": "none"});
    assert_eq!(manage("PUT", &other).send().await.json()["redirect_uris"], other["redirect_uris"]);
    assert_eq!(manage("POST", &other).send().await.status, 405);
    let gone = manage("DELETE", &Value::Null).raw().await.expect("it ends well");
    assert!(gone.starts_with(b"HTTP/1.1 204"));
    assert_eq!(manage("GET", &Value::Null).send().await.status, 401);
}

#[tokio::test]
async fn registration_is_refused_limited_or_absent() {
    let good = json!({"redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none"});
    let lab = lab(|oauth| oauth.registrations_max = Some(2)).await;
    for status in [201, 201, 429, 429] {
        assert_eq!(register(&lab, &good).await.status, status);
    }
    assert_eq!(lab.seen().oauth.counts.registrations, 2);
    lab.switch(|switches| switches.oauth.registrations_max = None);
    for (name, value, code) in [
        ("redirect_uris", json!([]), "invalid_redirect_uri"),
        ("redirect_uris", json!(["javascript:alert(1)"]), "invalid_redirect_uri"),
        ("redirect_uris", json!(["http://away.invalid/"]), "invalid_redirect_uri"),
        ("token_endpoint_auth_method", json!("tls_client_auth"), "invalid_client_metadata"),
        ("token_endpoint_auth_method", json!("private_key_jwt"), "invalid_client_metadata"),
    ] {
        let mut bad = good.clone();
        bad[name] = value;
        assert_eq!(error(&register(&lab, &bad).await), code, "{bad}");
    }
    lab.switch(|switches| switches.oauth.registration = Registration::Refused);
    assert_eq!(register(&lab, &good).await.status, 403);
    let metadata = || async { get(&first(&lab, "/.well-known/oauth-authorization-server")).await.json() };
    assert!(metadata().await.get("registration_endpoint").is_some());
    lab.switch(|switches| switches.oauth.registration = Registration::Absent);
    assert_eq!(register(&lab, &good).await.status, 404);
    assert!(metadata().await.get("registration_endpoint").is_none());
}

#[tokio::test]
async fn a_secret_comes_in_the_agreed_way_only() {
    let lab = lab(|_| ()).await;
    for (id, auth) in [("basic", "client_secret_basic"), ("post", "client_secret_post")] {
        add(&lab, json!({"client_id": id, "auth": auth, "client_secret": SECRET, "redirect_uris": [REDIRECT]}));
    }
    let encoded: String = url::form_urlencoded::byte_serialize(SECRET.as_bytes()).collect();
    let (basic, post) = (format!("basic:{encoded}"), format!("post:{encoded}"));
    let secret = [("client_secret", SECRET)];
    assert_eq!(redeem(&lab, "basic", &[], Some(&basic)).await.status, 200);
    assert_eq!((last(&lab).client_auth, last(&lab).client_proof), (Some(ClientAuth::Basic), Verdict::Right));
    assert_eq!(redeem(&lab, "post", &secret, None).await.status, 200);
    assert_eq!(last(&lab).client_auth, Some(ClientAuth::Post));
    for (id, more, header, status) in [
        ("basic", &[][..], Some("basic:wrong"), 401),
        ("basic", &secret[..], None, 401),
        ("basic", &[][..], None, 401),
        ("post", &[][..], Some(post.as_str()), 401),
        ("post", &[("client_secret", "wrong")][..], None, 401),
        ("post", &secret[..], Some(post.as_str()), 400),
        ("given", &secret[..], None, 401),
        ("given", &[][..], Some(basic.as_str()), 400),
    ] {
        let answer = redeem(&lab, id, more, header).await;
        assert_eq!(answer.status, status, "{id} {more:?} {header:?}");
        let challenged = answer.header("www-authenticate").starts_with("Basic");
        assert_eq!(challenged, status == 401 && header.is_some());
        assert_ne!(last(&lab).client_proof, Verdict::Right);
    }
    lab.switch(|switches| switches.oauth.client_auth = BTreeSet::from([ClientAuth::Post]));
    assert_eq!(redeem(&lab, "basic", &[], Some(&basic)).await.status, 401, "not taken any more");
    assert_eq!(redeem(&lab, "post", &secret, None).await.status, 200);
}

#[expect(clippy::disallowed_methods, reason = "an assertion lives by the clock that the lab reads")]
fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after the epoch").as_secs()
}

fn b64(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn jwt(algorithm: &str, claims: &Value, sign: impl Fn(&[u8]) -> Vec<u8>) -> String {
    let signed = format!("{}.{}", b64(json!({"alg": algorithm}).to_string()), b64(claims.to_string()));
    format!("{signed}.{}", b64(sign(signed.as_bytes())))
}

#[tokio::test]
async fn an_assertion_is_for_this_issuer_once_and_for_minutes() {
    let lab = lab(|_| ()).await;
    let random = SystemRandom::new();
    let ec = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).expect("a key");
    let point = ec.public_key().as_ref().to_vec();
    let ed = Ed25519KeyPair::generate().expect("a key");
    let keys = json!({"keys": [
        {"kty": "EC", "crv": "P-256", "x": b64(&point[1..33]), "y": b64(&point[33..])},
        {"kty": "OKP", "crv": "Ed25519", "x": b64(ed.public_key().as_ref())},
    ]});
    let client = json!({"client_id": "signs", "auth": "private_key_jwt", "redirect_uris": [REDIRECT], "jwks": keys});
    add(&lab, client);
    let es256 = |message: &[u8]| ec.sign(&random, message).expect("signed").as_ref().to_vec();
    let eddsa = |message: &[u8]| ed.sign(message).as_ref().to_vec();
    let claims =
        |jti: &str| json!({"iss": "signs", "sub": "signs", "aud": lab.issuer(), "exp": now_s() + 60, "jti": jti});
    let kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
    let send = |jwt: String| {
        let lab = &lab;
        async move {
            let more = [("client_assertion", jwt.as_str()), ("client_assertion_type", kind)];
            redeem(lab, "signs", &more, None).await.status
        }
    };
    assert_eq!(send(jwt("ES256", &claims("1"), es256)).await, 200);
    assert_eq!(send(jwt("ES256", &claims("1"), es256)).await, 401, "one use");
    assert_eq!(send(jwt("EdDSA", &claims("2"), eddsa)).await, 200);
    assert_eq!(last(&lab).client_auth, Some(ClientAuth::Assertion));
    for (name, value) in [
        ("aud", json!(first(&lab, "/oauth/token"))),
        ("aud", json!([lab.issuer(), "https://evil.invalid"])),
        ("aud", json!(format!("{}/", lab.issuer()))),
        ("iss", json!("given")),
        ("sub", json!("given")),
        ("exp", json!(now_s() - 1)),
        ("exp", json!(now_s() + 3600)),
        ("exp", Value::Null),
        ("jti", Value::Null),
    ] {
        let mut bad = claims(&format!("bad {name} {value}"));
        bad[name] = value;
        assert_eq!(send(jwt("ES256", &bad, es256)).await, 401, "{bad}");
    }
    assert_eq!(send(jwt("ES256", &claims("3"), eddsa)).await, 401, "signed by another key");
    assert_eq!(send(jwt("none", &claims("4"), |_| Vec::new())).await, 401);
    assert_eq!(send(jwt("ES256", &claims("3"), es256)).await, 200, "a bad one used nothing up");
}

/// Answers one request with this document and returns its head.
async fn serve_once(listener: &TcpListener, document: &str) -> String {
    let (mut stream, _) = listener.accept().await.expect("somebody comes");
    let mut head = vec![0; 4096];
    let length = stream.read(&mut head).await.expect("readable");
    let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{document}", document.len());
    stream.write_all(answer.as_bytes()).await.expect("taken");
    String::from_utf8_lossy(&head[..length]).into_owned()
}

#[tokio::test]
async fn a_client_is_what_its_document_says() {
    let id = "https://collie.invalid/clients/one.json";
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let route = listener.local_addr().expect("bound").to_string();
    let lab = lab(|oauth| {
        oauth.client_documents = true;
        oauth.document_routes.insert("https://collie.invalid".to_owned(), route);
    })
    .await;
    let good = json!({"client_id": id, "redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none"});
    let with_id = with(asking(&lab), "client_id", id);
    let document = good.to_string();
    let (back, head) = tokio::join!(authorize(&lab, &with_id), serve_once(&listener, &document));
    assert!(head.starts_with("GET /clients/one.json ") && head.contains("host: collie.invalid\r\n"), "{head}");
    let pairs = with(redeeming(&lab, &back["code"]), "client_id", id);
    let (tokens, _) = tokio::join!(token(&lab, &pairs), serve_once(&listener, &document));
    assert_eq!(tokens.status, 200, "{}", tokens.text());
    let metadata = get(&first(&lab, "/.well-known/oauth-authorization-server")).await.json();
    assert_eq!(metadata["client_id_metadata_document_supported"], true);
    let url = format!("{}?{}", first(&lab, "/oauth/authorize"), super::support::form(&with_id));
    for (name, value) in [("client_id", json!("https://collie.invalid/other")), ("client_secret", json!("x"))] {
        let mut bad = good.clone();
        bad[name] = value;
        let document = bad.to_string();
        let (answer, _) = tokio::join!(get(&url), serve_once(&listener, &document));
        assert_eq!((answer.status, last(&lab).client), (400, ClientVerdict::Unknown), "{bad}");
    }
    lab.switch(|switches| switches.oauth.client_documents = false);
    assert_eq!(get(&url).await.status, 400, "and nobody is asked");
}
