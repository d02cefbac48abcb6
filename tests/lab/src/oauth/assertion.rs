//! Client assertions (RFC 7523): ES256, EdDSA or RS256, for this issuer alone, for minutes. Never takes the token endpoint as audience.

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

/// `client_assertion_type` of a JWT.
pub(crate) const TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/// Longest life of an assertion, in seconds.
const LIFE_S_MAX: u64 = 600;

/// What an assertion must fit.
pub(crate) struct Wanted<'a> {
    pub(crate) keys: &'a Value,
    pub(crate) issuer: &'a str,
    pub(crate) client_id: &'a str,
    pub(crate) now_s: u64,
}

/// Checks one assertion and returns its id.
pub(crate) fn verify(jwt: &str, wanted: &Wanted<'_>) -> Option<String> {
    let (signed, signature) = jwt.rsplit_once('.')?;
    let (header, claims) = signed.split_once('.')?;
    let (header, claims) = (part(header)?, part(claims)?);
    let text = |name: &str| claims.get(name).and_then(Value::as_str);
    let number = |name: &str| claims.get(name).and_then(Value::as_u64);
    // The issuer is the sole audience: a token endpoint's address can be anybody's.
    let audience = claims.get("aud")?;
    let only = audience.as_array().filter(|list| list.len() == 1).and_then(|list| list.first());
    let audience = only.unwrap_or(audience).as_str()?;
    let names = text("iss")? == wanted.client_id && text("sub")? == wanted.client_id && audience == wanted.issuer;
    let lives = (wanted.now_s..=wanted.now_s + LIFE_S_MAX).contains(&number("exp")?);
    let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
    let algorithm = header.get("alg")?.as_str()?;
    let kid = header.get("kid");
    let keys = wanted.keys.get("keys")?.as_array()?;
    let is_signed = keys
        .iter()
        .filter(|key| kid.is_none() || key.get("kid") == kid)
        .any(|key| is_signed_by(key, algorithm, signed.as_bytes(), &signature) == Some(true));
    (names && lives && is_signed).then(|| text("jti").map(str::to_owned))?
}

/// The client an assertion speaks of, unproven.
pub(crate) fn subject(jwt: &str) -> Option<String> {
    part(jwt.split('.').nth(1)?)?.get("sub")?.as_str().map(str::to_owned)
}

fn part(text: &str) -> Option<Value> {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).ok()?).ok()
}

fn is_signed_by(key: &Value, algorithm: &str, message: &[u8], signature: &[u8]) -> Option<bool> {
    let bytes = |name: &str| URL_SAFE_NO_PAD.decode(key.get(name)?.as_str()?).ok();
    let is = |name: &str, value: &str| key.get(name).and_then(Value::as_str) == Some(value);
    Some(match algorithm {
        "ES256" if is("kty", "EC") && is("crv", "P-256") => {
            let point = [vec![4], bytes("x")?, bytes("y")?].concat();
            UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature).is_ok()
        }
        "EdDSA" | "Ed25519" if is("kty", "OKP") && is("crv", "Ed25519") => {
            UnparsedPublicKey::new(&ED25519, bytes("x")?).verify(message, signature).is_ok()
        }
        "RS256" if is("kty", "RSA") => RsaPublicKeyComponents { n: bytes("n")?, e: bytes("e")? }
            .verify(&RSA_PKCS1_2048_8192_SHA256, message, signature)
            .is_ok(),
        _ => false,
    })
}
