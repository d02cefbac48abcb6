//! A pairing that waits for a person, kept so that an interrupted login goes on where it stopped. Never holds a token.

use super::{ServiceDir, files};
use crate::error::CliError;
use crate::pairing::NewDevice;
use contract::device::PairingStarted;
use contract::{Json, cjson};
use sign::Secret;
use zeroize::Zeroizing;

/// A pairing under way.
pub struct Pairing {
    /// The service's URL.
    pub base: String,
    /// What the device calls itself.
    pub device_name: String,
    /// Fingerprint of the pinned certificate, or empty.
    pub server_fingerprint: String,
    /// b64u of the key that is to be bound.
    pub public_key: String,
    /// What is polled with.
    pub device_code: Secret<String>,
    /// The proof that this device started it.
    pub verifier: Secret<String>,
    /// What the person types.
    pub user_code: String,
    /// Where the person types it.
    pub verification_uri: String,
    /// Unix seconds by this device's clock.
    pub expires_at: u64,
    /// Seconds between polls.
    pub interval: u64,
}

const PAIRING: &str = "pairing.json";

impl Pairing {
    /// A pairing that the service has just started.
    #[must_use]
    pub fn new(started: PairingStarted, verifier: Secret<String>, device: NewDevice<'_>, now_s: u64) -> Self {
        Self {
            base: device.base.to_owned(),
            device_name: device.name.to_owned(),
            server_fingerprint: device.server_fingerprint.to_owned(),
            public_key: device.public_key.b64u(),
            device_code: Secret::new(started.device_code),
            verifier,
            user_code: started.user_code,
            verification_uri: started.verification_uri,
            expires_at: now_s.saturating_add(started.expires_in),
            interval: started.interval,
        }
    }

    fn text(&self) -> Zeroizing<Vec<u8>> {
        let number = |value: u64| Json::from(i64::try_from(value).unwrap_or(i64::MAX));
        // EXPOSE: to the device's own file of the waiting pairing.
        let (device_code, verifier) = (self.device_code.with(String::clone), self.verifier.with(String::clone));
        Zeroizing::new(
            Json::from_members([
                ("base", self.base.as_str().into()),
                ("device_name", self.device_name.as_str().into()),
                ("server_fingerprint", self.server_fingerprint.as_str().into()),
                ("public_key", self.public_key.as_str().into()),
                ("device_code", device_code.into()),
                ("verifier", verifier.into()),
                ("user_code", self.user_code.as_str().into()),
                ("verification_uri", self.verification_uri.as_str().into()),
                ("expires_at", number(self.expires_at)),
                ("interval", number(self.interval)),
            ])
            .canonical(),
        )
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let json = cjson::parse(bytes, bytes.len()).ok()?;
        let text = |name| json.find_str(name).map(str::to_owned);
        let number = |name| json.find(name)?.as_i64().and_then(|value| u64::try_from(value).ok());
        Some(Self {
            base: text("base")?,
            device_name: text("device_name")?,
            server_fingerprint: text("server_fingerprint")?,
            public_key: text("public_key")?,
            device_code: Secret::new(text("device_code")?),
            verifier: Secret::new(text("verifier")?),
            user_code: text("user_code")?,
            verification_uri: text("verification_uri")?,
            expires_at: number("expires_at")?,
            interval: number("interval")?,
        })
    }
}

impl ServiceDir {
    /// The pairing that waits. One that cannot be read counts as none: it can only be started again.
    pub fn find_pairing(&self) -> Result<Option<Pairing>, CliError> {
        Ok(files::read_secret(&self.file(PAIRING))?.and_then(|bytes| Pairing::parse(&bytes)))
    }

    /// Keeps a pairing.
    pub fn store_pairing(&self, pairing: &Pairing) -> Result<(), CliError> {
        self.make()?;
        files::replace(&self.file(PAIRING), &pairing.text(), self.nonce())
    }

    /// Forgets the pairing and its key, if that is not in its place yet.
    pub fn remove_pairing(&self) -> Result<bool, CliError> {
        self.remove_pairing_key()?;
        files::remove(&self.file(PAIRING))
    }
}
