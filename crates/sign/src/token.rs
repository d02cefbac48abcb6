//! Session tokens, codes and links: opaque outside, stored only as MACs under a key that is not in the database. Decides nothing about sessions.

use crate::{Secret, crockford};
use contract::{Digest, b64u, ids::FamilyId, labels, limits};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use std::fmt;
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

/// Random tokens of the service. Each kind has its own prefix and its own label, so one is never good for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// A device's access token.
    Access,
    /// The cookie of a browser session.
    BrowserSession,
    /// What a waiting device polls with.
    DeviceCode,
    /// The token of an owner link.
    OwnerLink,
}

impl TokenKind {
    /// What the token starts with.
    #[must_use]
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Access => "collie_at_",
            Self::BrowserSession => "collie_bs_",
            Self::DeviceCode => "collie_dc_",
            Self::OwnerLink => "collie_ol_",
        }
    }

    const fn label(self) -> &'static [u8] {
        match self {
            Self::Access => labels::TOKEN_ACCESS,
            Self::BrowserSession => labels::TOKEN_BROWSER_SESSION,
            Self::DeviceCode => labels::TOKEN_DEVICE_CODE,
            Self::OwnerLink => labels::TOKEN_OWNER_LINK,
        }
    }
}

/// Writes 32 random bytes as a token of this kind.
#[must_use]
pub fn make_token(kind: TokenKind, random: &Secret<[u8; 32]>) -> Secret<String> {
    // EXPOSE: to the token's text, which is a secret itself.
    Secret::init(|text: &mut String| {
        text.push_str(kind.prefix());
        random.with(|bytes| text.push_str(&b64u::encode(bytes)));
    })
}

/// Whether `text` has the shape of a token of this kind; anything else is refused before a look-up.
#[must_use]
pub fn is_token(kind: TokenKind, text: &str) -> bool {
    text.strip_prefix(kind.prefix()).is_some_and(|random| b64u::decode_array::<32>(random).is_ok())
}

/// The stored form of a token: `HMAC-SHA-256(token key, label ‖ text)`. Of no use without the key, so it may be a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TokenMac(Digest);

impl TokenMac {
    /// Lower-case hexadecimal, the column's text.
    #[must_use]
    pub fn hex(&self) -> String {
        self.0.hex()
    }

    /// The 32 bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }
}

/// The text is no refresh token that this service made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a refresh token of this service")]
pub struct RefreshError;

/// What a refresh token of ours stands for. Whether `n` is still good is a question for the family's row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefreshClaim {
    /// The family.
    pub family: FamilyId,
    /// Its position: each use makes the next one.
    pub n: u64,
}

/// The service's token key, kept in a file outside the database.
pub struct TokenKey(Secret<[u8; 32]>);

impl TokenKey {
    /// Takes the key into custody.
    #[must_use]
    pub const fn new(key: Secret<[u8; 32]>) -> Self {
        Self(key)
    }

    /// The stored form of a token.
    #[must_use]
    pub fn mac(&self, kind: TokenKind, text: &str) -> TokenMac {
        TokenMac(Digest::from_bytes(self.hmac(&[kind.label(), text.as_bytes()])))
    }

    /// The stored form of a user code.
    #[must_use]
    pub fn mac_user_code(&self, code: &UserCode) -> TokenMac {
        TokenMac(Digest::from_bytes(self.hmac(&[labels::TOKEN_USER_CODE, &code.0])))
    }

    /// What a page's form must carry: `hex(HMAC(token key, "collie.token.form.v2\0" ‖ cookie))`. Only a page that was made for this session knows it, and it does not give the cookie back.
    #[must_use]
    pub fn derive_form_token(&self, cookie: &str) -> Secret<String> {
        Secret::new(contract::digest::hex(&self.hmac(&[labels::TOKEN_FORM, cookie.as_bytes()])))
    }

    /// `"collie_rt_" ‖ family ‖ "." ‖ n ‖ "." ‖ b64u(HMAC(K_family, "collie.rt.v2\0" ‖ n))`, the same for the same n: a lost answer can be given again, and no token is stored (2.e).
    #[must_use]
    pub fn derive_refresh(&self, family: &FamilyId, n: u64) -> Secret<String> {
        let mac = b64u::encode(self.refresh_mac(family, n));
        Secret::new(format!("{REFRESH_PREFIX}{family}.{n}.{mac}"))
    }

    /// Reads a refresh token that this key made; compares in constant time.
    pub fn parse_refresh(&self, text: &str) -> Result<RefreshClaim, RefreshError> {
        // Prefix, family, a 64-bit number, a MAC and two dots.
        if text.len() > REFRESH_PREFIX.len() + limits::ID_CHARS_MAX + 20 + 43 + 2 {
            return Err(RefreshError);
        }
        let mut parts = text.strip_prefix(REFRESH_PREFIX).ok_or(RefreshError)?.rsplitn(3, '.');
        let (mac, n, family) = (parts.next(), parts.next(), parts.next());
        let mac: [u8; 32] = b64u::decode_array(mac.ok_or(RefreshError)?).map_err(|_| RefreshError)?;
        let n = n.and_then(parse_n).ok_or(RefreshError)?;
        let family = FamilyId::parse(family.ok_or(RefreshError)?).map_err(|_| RefreshError)?;
        if bool::from(mac.ct_eq(&self.refresh_mac(&family, n))) {
            Ok(RefreshClaim { family, n })
        } else {
            Err(RefreshError)
        }
    }

    /// `HMAC(HMAC(token key, "collie.rt.family.v2\0" ‖ family), "collie.rt.v2\0" ‖ n u64)`
    fn refresh_mac(&self, family: &FamilyId, n: u64) -> [u8; 32] {
        let family_key = Secret::new(self.hmac(&[labels::REFRESH_FAMILY, family.as_str().as_bytes()]));
        // EXPOSE: to the MAC, which does not give its key back.
        family_key.with(|key| hmac(key, &[labels::REFRESH_TOKEN, &n.to_be_bytes()]))
    }

    fn hmac(&self, parts: &[&[u8]]) -> [u8; 32] {
        // EXPOSE: to the MAC, which does not give its key back.
        self.0.with(|key| hmac(key, parts))
    }
}

const REFRESH_PREFIX: &str = "collie_rt_";

fn hmac(key: &[u8; 32], parts: &[&[u8]]) -> [u8; 32] {
    // RFC 2104 pads a short key with zeros to the block of 64 bytes.
    let mut block = Zeroizing::new([0; 64]);
    block.iter_mut().zip(key).for_each(|(slot, byte)| *slot = *byte);
    let mut mac = Hmac::<Sha256>::new((&*block).into());
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

fn parse_n(text: &str) -> Option<u64> {
    text.parse::<u64>().ok().filter(|n| n.to_string() == text)
}

/// The code that a person reads on one screen and types on another: 40 bits, `ABCD-EFGH`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct UserCode([u8; 5]);

impl UserCode {
    /// A code from five random bytes.
    #[must_use]
    pub const fn from_random(bytes: [u8; 5]) -> Self {
        Self(bytes)
    }

    /// Reads what a person typed: any case, with or without the dash or spaces, look-alikes forgiven. `None` for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() > 32 {
            return None;
        }
        let mut bytes = [0; 5];
        crockford::decode_into(text.chars().filter(|c| !matches!(c, '-' | ' ')), &mut bytes)?;
        Some(Self(bytes))
    }
}

impl fmt::Display for UserCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::with_capacity(9);
        crockford::encode_into(&self.0, &mut text);
        let (left, right) = text.split_at_checked(4).unwrap_or((&text, ""));
        write!(f, "{left}-{right}")
    }
}

impl fmt::Debug for UserCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The code is half of a right while it stands; logs do not get it.
        f.write_str("UserCode")
    }
}

#[cfg(test)]
#[path = "token_tests.rs"]
mod tests;
