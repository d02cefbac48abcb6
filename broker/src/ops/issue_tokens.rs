//! Tokens of a session as they are issued: made before the commit, handed out after it, stored only as a MAC. Never issues more life than the device's class and age allow.

use super::find_session::stored;
use crate::{
    app::App,
    door::{self, RandomError, ms, wire_seconds},
};
use contract::{device::SessionClass, ids::FamilyId, limits, session::Tokens};
use sign::{
    Secret, TokenKey,
    token::{TokenKind, make_token},
};

/// A token on its way to whom it is for. It lives across the commit that makes it good, because it is handed out after it.
pub(crate) struct FreshToken {
    pub(crate) text: Secret<String>,
    pub(crate) stored: store::TokenMac,
}

/// Makes a token of this kind with its stored form.
pub(crate) fn make_fresh(key: &TokenKey, kind: TokenKind) -> Result<FreshToken, RandomError> {
    let text = make_token(kind, &door::make_secret()?);
    // EXPOSE: to the MAC, the only form that is stored.
    let stored = text.with(|text| stored(&key.mac(kind, text)));
    Ok(FreshToken { text, stored })
}

/// Ends of a session's parts, Unix milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Life {
    /// End of the access token's row.
    pub(crate) access_ends_at_ms: i64,
    /// Sliding end of the family.
    pub(crate) family_expires_at_ms: i64,
    /// Absolute end of the family.
    pub(crate) family_ends_at_ms: i64,
}

impl Life {
    /// What a session may get now on a device that was enrolled at `enrolled_at_ms`.
    pub(crate) fn of(class: SessionClass, enrolled_at_ms: i64, now_ms: i64) -> Self {
        let family_ends_at_ms = enrolled_at_ms + ms(limits::SESSION_AGE_S_MAX);
        let (access_ttl_ms, family_ttl_ms) = match class {
            SessionClass::Rotating => (ms(limits::ACCESS_TOKEN_TTL_S), ms(limits::REFRESH_TOKEN_TTL_S)),
            // The access token lives as long as its family, whose end slides.
            SessionClass::Sliding => (ms(limits::SESSION_AGE_S_MAX), ms(limits::SLIDING_SESSION_TTL_S)),
        };
        Self {
            access_ends_at_ms: (now_ms + access_ttl_ms).min(family_ends_at_ms),
            family_expires_at_ms: (now_ms + family_ttl_ms).min(family_ends_at_ms),
            family_ends_at_ms,
        }
    }
}

/// The answer that issues tokens: the access token and refresh token `n` of its family.
pub(crate) fn tokens(app: &App, access: &FreshToken, family_id: &FamilyId, n: u64, life: Life) -> Tokens {
    let refresh = app.token_key().derive_refresh(family_id, n);
    Tokens {
        // EXPOSE: to the device, in the one answer that issues them.
        access_token: access.text.with(String::clone),
        refresh_token: refresh.with(String::clone),
        access_expires_at: wire_seconds(life.access_ends_at_ms.min(life.family_expires_at_ms)),
        refresh_expires_at: wire_seconds(life.family_expires_at_ms),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_lives_longer_than_a_year_after_enrolment() {
        let enrolled = ms(1_000_000);
        let year = ms(limits::SESSION_AGE_S_MAX);
        for class in SessionClass::ALL.iter().copied() {
            for age in [0, year / 2, year - 1000, year] {
                let life = Life::of(class, enrolled, enrolled + age);
                assert_eq!(life.family_ends_at_ms, enrolled + year);
                assert!(
                    life.access_ends_at_ms <= life.family_ends_at_ms
                        && life.family_expires_at_ms <= life.family_ends_at_ms
                );
            }
        }
        let rotating = Life::of(SessionClass::Rotating, enrolled, enrolled);
        assert_eq!(rotating.access_ends_at_ms - enrolled, ms(600));
    }
}
