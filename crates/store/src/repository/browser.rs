//! Owner links and the cookie sessions they open. Neither token is ever here, only its HMAC.

use super::TokenMac;
use crate::{
    engine::{ReadTx, Row, Tx, bind, statements},
    error::StoreError,
};
use contract::{ids::UserId, limits};

statements! {
    Write "owner_link" DELETE_OWNER_LINKS = "DELETE FROM owner_link WHERE user_id = $1";
    Write "owner_link" INSERT_OWNER_LINK =
        "INSERT INTO owner_link (token_hmac, user_id, created_at_ms, expires_at_ms) VALUES ($1, $2, $3, $4)";
    Read "owner_link" FIND_OWNER_LINK = "SELECT user_id FROM owner_link WHERE token_hmac = $1 AND expires_at_ms > $2";
    Write "owner_link" USE_OWNER_LINK = "DELETE FROM owner_link WHERE token_hmac = $1 AND expires_at_ms > $2 RETURNING user_id";
    Write "browser_session" INSERT_BROWSER_SESSION =
        "INSERT INTO browser_session (token_hmac, user_id, created_at_ms, expires_at_ms) VALUES ($1, $2, $3, $4)";
    Write "browser_session" DELETE_OLDEST_BROWSER_SESSIONS =
        "DELETE FROM browser_session WHERE user_id = $1 AND token_hmac NOT IN
         (SELECT token_hmac FROM browser_session WHERE user_id = $1 ORDER BY created_at_ms DESC, token_hmac LIMIT $2)";
    Read "browser_session" FIND_BROWSER_SESSION =
        "SELECT user_id, created_at_ms, expires_at_ms FROM browser_session WHERE token_hmac = $1 AND expires_at_ms > $2";
    Write "browser_session" END_BROWSER_SESSION = "DELETE FROM browser_session WHERE token_hmac = $1 RETURNING user_id";
    Upkeep(Session) "owner_link" SWEEP_OWNER_LINKS = "DELETE FROM owner_link WHERE expires_at_ms <= $1";
    Upkeep(Session) "browser_session" SWEEP_BROWSER_SESSIONS = "DELETE FROM browser_session WHERE expires_at_ms <= $1";
}

/// A person signed in at a browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrowserSession {
    /// Who.
    pub user_id: UserId,
    /// Unix milliseconds.
    pub created_at_ms: i64,
    /// Unix milliseconds.
    pub expires_at_ms: i64,
}

impl ReadTx {
    /// Whose owner link this is, while it is good. Looking does not use it up.
    pub async fn find_owner_link(&mut self, token: &TokenMac, now_ms: i64) -> Result<Option<UserId>, StoreError> {
        self.find(&FIND_OWNER_LINK, bind![token, now_ms]).await?.map(|row| row.id("user_id")).transpose()
    }

    /// The session of a cookie, while it is good.
    pub async fn find_browser_session(
        &mut self,
        token: &TokenMac,
        now_ms: i64,
    ) -> Result<Option<BrowserSession>, StoreError> {
        self.find(&FIND_BROWSER_SESSION, bind![token, now_ms])
            .await?
            .map(|row| BrowserSession::try_from(&row))
            .transpose()
    }
}

impl Tx {
    /// Makes a person's one owner link; an earlier one is void from now on.
    pub async fn insert_owner_link(
        &mut self,
        token: &TokenMac,
        user_id: &UserId,
        now_ms: i64,
    ) -> Result<i64, StoreError> {
        let expires_at_ms = now_ms + 1000 * i64::try_from(limits::OWNER_LINK_TTL_S).unwrap_or_default();
        self.execute(&DELETE_OWNER_LINKS, bind![user_id]).await?;
        self.execute_one(&INSERT_OWNER_LINK, bind![token, user_id, now_ms, expires_at_ms]).await?;
        Ok(expires_at_ms)
    }

    /// Uses an owner link up. `None` when there is no good one.
    pub async fn use_owner_link(&mut self, token: &TokenMac, now_ms: i64) -> Result<Option<UserId>, StoreError> {
        self.returning(&USE_OWNER_LINK, bind![token, now_ms]).await?.map(|row| row.id("user_id")).transpose()
    }

    /// Opens a cookie session and returns its end. The oldest of a person ends beyond [`limits::BROWSER_SESSIONS_PER_USER_MAX`].
    pub async fn insert_browser_session(
        &mut self,
        token: &TokenMac,
        user_id: &UserId,
        now_ms: i64,
    ) -> Result<i64, StoreError> {
        let expires_at_ms = now_ms + 1000 * i64::try_from(limits::BROWSER_SESSION_TTL_S).unwrap_or_default();
        self.execute(&DELETE_OLDEST_BROWSER_SESSIONS, bind![user_id, limits::BROWSER_SESSIONS_PER_USER_MAX - 1])
            .await?;
        self.execute_one(&INSERT_BROWSER_SESSION, bind![token, user_id, now_ms, expires_at_ms]).await?;
        Ok(expires_at_ms)
    }

    /// Ends a cookie session. `None` when there was none.
    pub async fn end_browser_session(&mut self, token: &TokenMac) -> Result<Option<UserId>, StoreError> {
        self.returning(&END_BROWSER_SESSION, bind![token]).await?.map(|row| row.id("user_id")).transpose()
    }

    /// Deletes what has expired. Upkeep.
    pub async fn sweep_browser_sessions(&mut self, now_ms: i64) -> Result<u64, StoreError> {
        let links = self.execute(&SWEEP_OWNER_LINKS, bind![now_ms]).await?;
        Ok(links + self.execute(&SWEEP_BROWSER_SESSIONS, bind![now_ms]).await?)
    }
}

impl TryFrom<&Row> for BrowserSession {
    type Error = StoreError;

    fn try_from(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            user_id: row.id("user_id")?,
            created_at_ms: row.int("created_at_ms")?,
            expires_at_ms: row.int("expires_at_ms")?,
        })
    }
}
