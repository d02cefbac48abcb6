//! Session families of devices and their access tokens (2.e). A refresh token is never stored: one number per family says which one is next.

use super::{TokenMac, device::Device};
use crate::{
    engine::{ReadTx, Row, Tx, bind, statements},
    error::StoreError,
};
use contract::{
    device::SessionClass,
    ids::{DeviceId, FamilyId, UserId, WorkspaceId},
    limits,
    workspace::Role,
};

/// The columns of a session with its device and role; each of the two ways to find one adds the access token's end.
macro_rules! session_columns {
    () => {
        "f.id AS family_id, f.workspace_id, f.refresh_issued, f.created_at_ms AS family_created_at_ms, f.expires_at_ms AS family_expires_at_ms,
         f.ends_at_ms, f.ended_at_ms, f.end_reason, f.session_class AS family_class, m.role,
         d.id, d.user_id, d.name, d.public_key, d.session_class, d.created_at_ms, d.last_seen_at_ms, d.flagged_at_ms, d.revoked_at_ms"
    };
}

macro_rules! session_joins {
    () => {
        "JOIN device d ON d.id = f.device_id AND d.user_id = f.user_id
         LEFT JOIN membership m ON m.workspace_id = f.workspace_id AND m.user_id = f.user_id"
    };
}

statements! {
    Read "session_family" FIND_SESSION = concat!(
        "SELECT ", session_columns!(), ", a.expires_at_ms AS access_expires_at_ms FROM access_token a JOIN session_family f ON f.id = a.family_id ",
        session_joins!(), " WHERE a.token_hmac = $1"
    );
    Read "session_family" FIND_FAMILY = concat!(
        "SELECT ", session_columns!(), ", f.expires_at_ms AS access_expires_at_ms FROM session_family f ", session_joins!(), " WHERE f.id = $1"
    );
    Read "session_family" FIND_DEVICE_OWNER =
        "SELECT d.id FROM device d JOIN membership m ON m.user_id = d.user_id
         WHERE d.id = $1 AND d.user_id = $2 AND m.workspace_id = $3 AND d.revoked_at_ms IS NULL AND d.session_class = $4";
    Write "session_family" END_OLDEST_FAMILIES =
        "UPDATE session_family SET ended_at_ms = $2, end_reason = 'replaced' WHERE device_id = $1 AND ended_at_ms IS NULL AND id NOT IN
         (SELECT id FROM session_family WHERE device_id = $1 AND ended_at_ms IS NULL ORDER BY created_at_ms DESC, id LIMIT $3)";
    Write "session_family" INSERT_FAMILY =
        "INSERT INTO session_family (id, workspace_id, user_id, device_id, session_class, refresh_issued, created_at_ms, expires_at_ms, ends_at_ms)
         VALUES ($1, $2, $3, $4, $5, 1, $6, $7, $8)";
    Upkeep(Session) "access_token" INSERT_ACCESS_TOKEN =
        "INSERT INTO access_token (token_hmac, family_id, created_at_ms, expires_at_ms) VALUES ($1, $2, $3, $4)";
    Upkeep(Session) "access_token" DELETE_OLDEST_ACCESS_TOKENS =
        "DELETE FROM access_token WHERE family_id = $1 AND token_hmac NOT IN
         (SELECT token_hmac FROM access_token WHERE family_id = $1 ORDER BY created_at_ms DESC, token_hmac LIMIT $2)";
    Upkeep(Session) "session_family" ADVANCE_REFRESH =
        "UPDATE session_family SET refresh_issued = refresh_issued + 1 WHERE id = $1 AND refresh_issued = $2 AND ended_at_ms IS NULL";
    Upkeep(Session) "session_family" SLIDE_FAMILY =
        "UPDATE session_family SET expires_at_ms = CASE WHEN $2 > ends_at_ms THEN ends_at_ms ELSE $2 END
         WHERE id = $1 AND expires_at_ms < $2 AND ended_at_ms IS NULL";
    Write "session_family" END_FAMILY =
        "UPDATE session_family SET ended_at_ms = $2, end_reason = $3 WHERE id = $1 AND ended_at_ms IS NULL";
    Upkeep(Session) "access_token" SWEEP_ACCESS_TOKENS = "DELETE FROM access_token WHERE expires_at_ms <= $1";
    Upkeep(Session) "session_family" SWEEP_FAMILIES = "DELETE FROM session_family WHERE ends_at_ms <= $1";
}

/// Why a family ended before its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndReason {
    /// Its device was revoked.
    DeviceRevoked,
    /// Its person no longer belongs to the workspace.
    MembershipEnded,
    /// A used refresh token came again.
    RefreshReused,
    /// Newer sessions of the same device took its place.
    Replaced,
}

impl EndReason {
    const ALL: [Self; 4] = [Self::DeviceRevoked, Self::MembershipEnded, Self::RefreshReused, Self::Replaced];

    /// The word in the table.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::DeviceRevoked => "device_revoked",
            Self::MembershipEnded => "membership_ended",
            Self::RefreshReused => "refresh_reused",
            Self::Replaced => "replaced",
        }
    }

    fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == word)
    }
}

/// Whether a session may be used now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Yes, with this role.
    Live(Role),
    /// Its time is over; signing in again helps.
    Expired,
    /// It was ended.
    Ended(EndReason),
}

/// A session family with the device it is bound to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// The family.
    pub family_id: FamilyId,
    /// The workspace it was made for.
    pub workspace_id: WorkspaceId,
    /// The device, whose key signs every request.
    pub device: Device,
    /// How it lives.
    pub session_class: SessionClass,
    /// Number of the newest refresh token: the next one to be used for the first time.
    pub refresh_issued: u64,
    /// Unix milliseconds.
    pub created_at_ms: i64,
    /// End of the presented access token, or of the family when it was found by id; Unix milliseconds.
    pub access_expires_at_ms: i64,
    /// Sliding end, Unix milliseconds.
    pub expires_at_ms: i64,
    /// Absolute end, Unix milliseconds.
    pub ends_at_ms: i64,
    role: Option<Role>,
    ended: Option<EndReason>,
}

impl Session {
    /// Whether it may be used at this time. Ended comes before expired, so that a device learns that it was revoked.
    #[must_use]
    pub fn standing(&self, now_ms: i64) -> Standing {
        if let Some(reason) = self.ended {
            return Standing::Ended(reason);
        }
        if self.device.revoked_at_ms.is_some() {
            return Standing::Ended(EndReason::DeviceRevoked);
        }
        let Some(role) = self.role else { return Standing::Ended(EndReason::MembershipEnded) };
        let end = self.access_expires_at_ms.min(self.expires_at_ms).min(self.ends_at_ms);
        if now_ms < end { Standing::Live(role) } else { Standing::Expired }
    }
}

/// What a new family begins with.
#[derive(Debug, Clone, Copy)]
pub struct NewFamily<'a> {
    /// A fresh id.
    pub id: &'a FamilyId,
    /// For which workspace.
    pub workspace_id: &'a WorkspaceId,
    /// Of whom.
    pub user_id: &'a UserId,
    /// On which device.
    pub device_id: &'a DeviceId,
    /// The device's class.
    pub session_class: SessionClass,
    /// Sliding end, Unix milliseconds.
    pub expires_at_ms: i64,
    /// Absolute end, Unix milliseconds: at most [`limits::SESSION_AGE_S_MAX`] after the device was enrolled.
    pub ends_at_ms: i64,
}

/// What presenting refresh token `n` did (2.e).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refreshed {
    /// `n` was used for the first time; this is the number of its successor.
    Advanced {
        /// Number of the token to hand out.
        issued: u64,
    },
    /// `n` came again before its successor was used: the same successor again.
    Repeated {
        /// Number of the token to hand out.
        issued: u64,
    },
    /// `n` is older than that: the family has ended and the device is flagged. Must be committed with its event.
    Reused {
        /// Number of the newest token.
        issued: u64,
    },
}

impl ReadTx {
    /// The session of an access token, whatever its standing.
    pub async fn find_session(&mut self, access: &TokenMac) -> Result<Option<Session>, StoreError> {
        self.find(&FIND_SESSION, bind![access]).await?.map(|row| Session::try_from(&row)).transpose()
    }

    /// A family by its id, whatever its standing: where a refresh token leads.
    pub async fn find_family(&mut self, id: &FamilyId) -> Result<Option<Session>, StoreError> {
        self.find(&FIND_FAMILY, bind![id]).await?.map(|row| Session::try_from(&row)).transpose()
    }
}

impl Tx {
    /// Makes a family for a bound device of a member, with refresh token 1 issued. The oldest of the device ends beyond [`limits::SESSIONS_PER_DEVICE_MAX`].
    pub async fn insert_family(&mut self, new: NewFamily<'_>, now_ms: i64) -> Result<(), StoreError> {
        let class = new.session_class.as_str();
        self.find(&FIND_DEVICE_OWNER, bind![new.device_id, new.user_id, new.workspace_id, class])
            .await?
            .ok_or(StoreError::NotVisible { what: "workspace" })?;
        self.execute(&END_OLDEST_FAMILIES, bind![new.device_id, now_ms, limits::SESSIONS_PER_DEVICE_MAX - 1]).await?;
        let expires_at_ms = new.expires_at_ms.min(new.ends_at_ms);
        let values =
            bind![new.id, new.workspace_id, new.user_id, new.device_id, class, now_ms, expires_at_ms, new.ends_at_ms];
        self.execute_one(&INSERT_FAMILY, values).await
    }

    /// Adds an access token to a family. Upkeep; the oldest goes beyond [`limits::ACCESS_TOKENS_PER_FAMILY_MAX`].
    pub async fn insert_access_token(
        &mut self,
        token: &TokenMac,
        family_id: &FamilyId,
        now_ms: i64,
        expires_at_ms: i64,
    ) -> Result<(), StoreError> {
        self.execute(&DELETE_OLDEST_ACCESS_TOKENS, bind![family_id, limits::ACCESS_TOKENS_PER_FAMILY_MAX - 1]).await?;
        self.execute_one(&INSERT_ACCESS_TOKEN, bind![token, family_id, now_ms, expires_at_ms]).await
    }

    /// Presents refresh token number `presented`, whose MAC and device signature were verified. [`StoreError::WrongState`] when the family does not stand.
    pub async fn refresh_family(
        &mut self,
        id: &FamilyId,
        presented: u64,
        now_ms: i64,
    ) -> Result<Refreshed, StoreError> {
        let session = self.find_family(id).await?.ok_or(StoreError::NotVisible { what: "session" })?;
        match session.standing(now_ms) {
            Standing::Live(_) => {}
            Standing::Expired => return Err(StoreError::WrongState { what: "session", state: "expired" }),
            Standing::Ended(reason) => return Err(StoreError::WrongState { what: "session", state: reason.as_str() }),
        }
        let issued = session.refresh_issued;
        if presented == issued {
            self.execute_one(&ADVANCE_REFRESH, bind![id, presented]).await?;
            return Ok(Refreshed::Advanced { issued: issued + 1 });
        }
        // Number 0 was never issued, so 1 has no predecessor whose answer could be repeated.
        if presented >= 1 && presented.checked_add(1) == Some(issued) {
            return Ok(Refreshed::Repeated { issued });
        }
        self.execute_one(&END_FAMILY, bind![id, now_ms, EndReason::RefreshReused.as_str()]).await?;
        self.flag_device(&session.device.id, now_ms).await?;
        Ok(Refreshed::Reused { issued })
    }

    /// Moves the sliding end forward, never beyond the absolute end and never back. Upkeep.
    pub async fn slide_family(&mut self, id: &FamilyId, expires_at_ms: i64) -> Result<(), StoreError> {
        self.execute(&SLIDE_FAMILY, bind![id, expires_at_ms]).await.map(|_| ())
    }

    /// Deletes tokens that have expired and families beyond their absolute end. Upkeep.
    pub async fn sweep_sessions(&mut self, now_ms: i64) -> Result<u64, StoreError> {
        let tokens = self.execute(&SWEEP_ACCESS_TOKENS, bind![now_ms]).await?;
        Ok(tokens + self.execute(&SWEEP_FAMILIES, bind![now_ms]).await?)
    }
}

impl TryFrom<&Row> for Session {
    type Error = StoreError;

    fn try_from(row: &Row) -> Result<Self, StoreError> {
        let device = Device::try_from(row)?;
        let session_class = row.parsed("family_class", SessionClass::parse)?;
        if session_class != device.session_class {
            return Err(row.inconsistent("family_class"));
        }
        Ok(Self {
            family_id: row.id("family_id")?,
            workspace_id: row.id("workspace_id")?,
            device,
            session_class,
            refresh_issued: row.count("refresh_issued")?,
            created_at_ms: row.int("family_created_at_ms")?,
            access_expires_at_ms: row.int("access_expires_at_ms")?,
            expires_at_ms: row.int("family_expires_at_ms")?,
            ends_at_ms: row.int("ends_at_ms")?,
            role: row.optional_parsed("role", Role::parse)?,
            ended: row.optional_parsed("end_reason", EndReason::parse)?,
        })
    }
}
