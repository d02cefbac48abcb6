//! The steps of a pairing (wire-collie-v1 2.1): start, wait for the person, fetch the tokens. Stores nothing.

use crate::api::{Answer, Way, decode};
use crate::door::Door;
use crate::error::CliError;
use crate::state::pairing::Pairing;
use contract::device::{Enrolled, FetchTokens, PairingStarted, StartPairing};
use contract::{Code, b64u, limits};
use sign::{PublicKey, Secret, pkce};
use std::ops::RangeInclusive;

/// How the new device presents itself.
#[derive(Debug, Clone, Copy)]
pub struct NewDevice<'a> {
    /// The service's URL.
    pub base: &'a str,
    /// What it calls itself.
    pub name: &'a str,
    /// Its key.
    pub public_key: &'a PublicKey,
    /// Fingerprint of the pinned certificate, or empty.
    pub server_fingerprint: &'a str,
}

/// Seconds between polls, whatever the service asks for.
const INTERVAL_S: RangeInclusive<u64> = 2..=10;
/// Polls that may fail one after another before the wait is given up. The pairing is kept.
const FAILURES_MAX: u32 = 5;

/// Asks the service for a code that a person can approve.
pub async fn start(way: &Way, door: Door, device: NewDevice<'_>) -> Result<Pairing, CliError> {
    let verifier = b64u::encode(door.random::<32>());
    let body = StartPairing {
        device_name: device.name.to_owned(),
        challenge: pkce::challenge(&verifier),
        public_key: device.public_key.b64u(),
        capabilities: vec!["refresh".to_owned()],
    };
    let answer = way.post_public("/v1/devices/start", &body).await?;
    if answer.status() != 201 {
        return Err(answer.to_error());
    }
    let started: PairingStarted = decode(&answer)?;
    Ok(Pairing::new(started, Secret::new(verifier), device, door.now_s()))
}

/// Waits until the person has decided, and fetches the tokens.
pub async fn wait(way: &Way, door: Door, pairing: &Pairing) -> Result<Enrolled, CliError> {
    let interval = pairing.interval.clamp(*INTERVAL_S.start(), *INTERVAL_S.end());
    let mut failures = 0;
    loop {
        match poll(way, pairing).await {
            Ok(Some(enrolled)) => return Ok(enrolled),
            Ok(None) => failures = 0,
            Err(error) if error.code == Code::Unreachable && failures < FAILURES_MAX => failures += 1,
            Err(error) => return Err(error),
        }
        if door.now_s() >= pairing.expires_at {
            return Err(CliError::new(Code::PairingExpired, "nobody approved this device in time")
                .hint("run `collie online login` again for a new code"));
        }
        door.pause(interval).await;
    }
}

/// Asks once; none while nobody has decided. Asking again after a lost answer gives the same tokens for a short while.
pub async fn poll(way: &Way, pairing: &Pairing) -> Result<Option<Enrolled>, CliError> {
    let answer = fetch(way, pairing).await?;
    match answer.status() {
        200 => decode(&answer).map(Some),
        428 => Ok(None),
        _ => Err(answer.to_error()),
    }
}

async fn fetch(way: &Way, pairing: &Pairing) -> Result<Answer, CliError> {
    // EXPOSE: to the body of this one request.
    let body = pairing.device_code.with(|device_code| {
        pairing.verifier.with(|verifier| FetchTokens { device_code: device_code.clone(), verifier: verifier.clone() })
    });
    way.post_public("/v1/devices/token", &body).await
}

/// A device name that the service takes: trimmed, visible, bounded.
pub fn check_name(said: &str) -> Result<String, CliError> {
    let name = said.trim();
    if name.is_empty() || name.chars().count() > limits::DEVICE_NAME_CHARS_MAX || contract::text::has_hidden(name) {
        return Err(CliError::usage(format!(
            "a device name has 1 to {} visible characters",
            limits::DEVICE_NAME_CHARS_MAX
        )));
    }
    Ok(name.to_owned())
}
