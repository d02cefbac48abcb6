//! Devices that wait to be bound. A code is stored only as an HMAC, works once, for ten minutes, and every guess is counted before it is looked up.

use super::TokenMac;
use crate::{
    engine::{ReadTx, Row, Tx, bind, statements},
    error::StoreError,
};
use contract::{
    device::SessionClass,
    digest::hex,
    ids::{DeviceId, FamilyId, PairingId, UserId, WorkspaceId},
    limits,
};

statements! {
    Read "pairing" COUNT_WAITING = "SELECT COUNT(*) AS number FROM pairing WHERE state = 'waiting' AND expires_at_ms > $1";
    Write "pairing" INSERT_PAIRING =
        "INSERT INTO pairing (id, device_code_hmac, user_code_hmac, challenge, public_key, device_name, session_class, origin, state, created_at_ms, expires_at_ms)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'waiting', $9, $10) ON CONFLICT DO NOTHING";
    Read "pairing" FIND_BY_USER_CODE =
        "SELECT id, challenge, public_key, device_name, session_class, origin, state, workspace_id, user_id, device_id, family_id,
         created_at_ms, expires_at_ms, decided_at_ms, claimed_at_ms FROM pairing WHERE user_code_hmac = $1 AND state = 'waiting' AND expires_at_ms > $2";
    Read "pairing" FIND_BY_DEVICE_CODE =
        "SELECT id, challenge, public_key, device_name, session_class, origin, state, workspace_id, user_id, device_id, family_id,
         created_at_ms, expires_at_ms, decided_at_ms, claimed_at_ms FROM pairing WHERE device_code_hmac = $1";
    Write "pairing" APPROVE_PAIRING =
        "UPDATE pairing SET state = 'approved', user_id = $2, workspace_id = $3, decided_at_ms = $4
         WHERE id = $1 AND state = 'waiting' AND expires_at_ms > $4";
    Write "pairing" REFUSE_PAIRING = "UPDATE pairing SET state = 'refused', decided_at_ms = $2 WHERE id = $1 AND state = 'waiting'";
    Write "pairing" CLAIM_PAIRING =
        "UPDATE pairing SET state = 'claimed', device_id = $2, family_id = $3, claimed_at_ms = $4
         WHERE id = $1 AND state = 'approved' AND expires_at_ms > $4";
    Upkeep(Retry) "pairing_try" DELETE_OLD_TRIES = "DELETE FROM pairing_try WHERE subject = $1 AND resets_at_ms <= $2";
    Upkeep(Retry) "pairing_try" COUNT_TRY =
        "INSERT INTO pairing_try (subject, tries, resets_at_ms) VALUES ($1, 1, $2)
         ON CONFLICT (subject) DO UPDATE SET tries = pairing_try.tries + 1 RETURNING subject, tries";
    Upkeep(Retry) "pairing_try" RETURN_TRY = "UPDATE pairing_try SET tries = tries - 1 WHERE subject = $1 AND tries > 0";
    Upkeep(Session) "pairing" SWEEP_PAIRINGS = "DELETE FROM pairing WHERE expires_at_ms <= $1";
    Upkeep(Session) "pairing_try" SWEEP_TRIES = "DELETE FROM pairing_try WHERE resets_at_ms <= $1";
}

/// A device that asked to be paired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pairing {
    /// Id.
    pub id: PairingId,
    /// b64u(SHA-256(verifier)): who knows the verifier may claim.
    pub challenge: String,
    /// Raw Ed25519 key, unproven until its first signed request.
    pub public_key: [u8; 32],
    /// What the device calls itself.
    pub device_name: String,
    /// How its sessions will live.
    pub session_class: SessionClass,
    /// The origin it spoke to.
    pub origin: String,
    /// Unix milliseconds.
    pub created_at_ms: i64,
    /// Unix milliseconds.
    pub expires_at_ms: i64,
    /// Where it stands.
    pub state: PairingState,
}

/// Where a pairing stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PairingState {
    /// Nobody has decided.
    Waiting,
    /// A person bound it; the device has not fetched its tokens.
    Approved {
        /// The person.
        user_id: UserId,
        /// The workspace of its first session.
        workspace_id: WorkspaceId,
    },
    /// A person said no.
    Refused,
    /// The device exists.
    Claimed {
        /// The person.
        user_id: UserId,
        /// The workspace of its first session.
        workspace_id: WorkspaceId,
        /// The device.
        device_id: DeviceId,
        /// Its first session.
        family_id: FamilyId,
        /// Unix milliseconds.
        at_ms: i64,
    },
}

impl PairingState {
    /// The word in the table.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Approved { .. } => "approved",
            Self::Refused => "refused",
            Self::Claimed { .. } => "claimed",
        }
    }
}

/// What a new pairing begins with.
#[derive(Debug, Clone, Copy)]
pub struct NewPairing<'a> {
    /// A fresh id.
    pub id: &'a PairingId,
    /// What the device polls with.
    pub device_code: &'a TokenMac,
    /// What the person types.
    pub user_code: &'a TokenMac,
    /// b64u(SHA-256(verifier)).
    pub challenge: &'a str,
    /// Raw Ed25519 key.
    pub public_key: &'a [u8; 32],
    /// At most 120 characters.
    pub device_name: &'a str,
    /// Fixed from now on.
    pub session_class: SessionClass,
    /// The origin it spoke to.
    pub origin: &'a str,
}

/// Who types codes; each is counted apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guesser<'a> {
    /// A signed-in browser, by its cookie.
    Browser(&'a TokenMac),
    /// A bound device.
    Device(&'a DeviceId),
}

impl Guesser<'_> {
    fn subject(&self) -> String {
        match self {
            Self::Browser(token) => format!("browser:{}", hex(&token.0)),
            Self::Device(id) => format!("device:{id}"),
        }
    }
}

impl ReadTx {
    /// The waiting pairing of a typed code. Count the try first: [`Tx::count_pairing_try`].
    pub async fn find_pairing_by_user_code(
        &mut self,
        user_code: &TokenMac,
        now_ms: i64,
    ) -> Result<Option<Pairing>, StoreError> {
        self.find(&FIND_BY_USER_CODE, bind![user_code, now_ms]).await?.map(|row| Pairing::try_from(&row)).transpose()
    }

    /// The pairing that a device polls for, wherever it stands.
    pub async fn find_pairing_by_device_code(&mut self, device_code: &TokenMac) -> Result<Option<Pairing>, StoreError> {
        self.find(&FIND_BY_DEVICE_CODE, bind![device_code]).await?.map(|row| Pairing::try_from(&row)).transpose()
    }
}

impl Tx {
    /// Makes a pairing and returns its end. [`StoreError::AlreadyThere`] when a code collides: make new codes.
    pub async fn insert_pairing(&mut self, new: NewPairing<'_>, now_ms: i64) -> Result<i64, StoreError> {
        let expires_at_ms = now_ms + 1000 * i64::try_from(limits::PAIRING_TTL_S).unwrap_or_default();
        if self.count(&COUNT_WAITING, bind![now_ms]).await? >= limits::PAIRINGS_OPEN_MAX {
            return Err(StoreError::Full { what: "pairings", max: limits::PAIRINGS_OPEN_MAX });
        }
        let values = bind![
            new.id,
            new.device_code,
            new.user_code,
            new.challenge,
            new.public_key,
            new.device_name,
            new.session_class.as_str(),
            new.origin,
            now_ms,
            expires_at_ms,
        ];
        match self.execute(&INSERT_PAIRING, values).await? {
            1 => Ok(expires_at_ms),
            _ => Err(StoreError::AlreadyThere { what: "pairing" }),
        }
    }

    /// Counts one typed code before it is looked up, and returns how many tries are left after it. Upkeep, and committed whatever the lookup finds.
    ///
    /// [`StoreError::Full`] beyond [`limits::PAIRING_TRIES_MAX`] within the life of a pairing.
    pub async fn count_pairing_try(&mut self, guesser: Guesser<'_>, now_ms: i64) -> Result<u64, StoreError> {
        let subject = guesser.subject();
        let resets_at_ms = now_ms + 1000 * i64::try_from(limits::PAIRING_TTL_S).unwrap_or_default();
        self.execute(&DELETE_OLD_TRIES, bind![&subject, now_ms]).await?;
        let row = self.returning(&COUNT_TRY, bind![&subject, resets_at_ms]).await?;
        let tries = row.ok_or(StoreError::Fenced { statement: "COUNT_TRY", expected: 1, actual: 0 })?.count("tries")?;
        limits::PAIRING_TRIES_MAX
            .checked_sub(tries)
            .ok_or(StoreError::Full { what: "pairing tries", max: limits::PAIRING_TRIES_MAX })
    }

    /// Gives back the one try of a code that was right; wrong ones stay counted, so a right code buys no further guesses. Upkeep.
    pub async fn return_pairing_try(&mut self, guesser: Guesser<'_>) -> Result<(), StoreError> {
        self.execute(&RETURN_TRY, bind![&guesser.subject()]).await.map(|_| ())
    }

    /// A person binds a waiting device to their account. [`StoreError::Fenced`] when it no longer waits.
    pub async fn approve_pairing(
        &mut self,
        id: &PairingId,
        user_id: &UserId,
        workspace_id: &WorkspaceId,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        self.execute_one(&APPROVE_PAIRING, bind![id, user_id, workspace_id, now_ms]).await
    }

    /// A person says no. [`StoreError::Fenced`] when it no longer waits.
    pub async fn refuse_pairing(&mut self, id: &PairingId, now_ms: i64) -> Result<(), StoreError> {
        self.execute_one(&REFUSE_PAIRING, bind![id, now_ms]).await
    }

    /// The device, made in this transaction, takes its approved pairing. [`StoreError::Fenced`] for a second claim.
    pub async fn claim_pairing(
        &mut self,
        id: &PairingId,
        device_id: &DeviceId,
        family_id: &FamilyId,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        self.execute_one(&CLAIM_PAIRING, bind![id, device_id, family_id, now_ms]).await
    }

    /// Deletes pairings and counts that have expired, once a lost token answer can no longer be fetched again. Upkeep.
    pub async fn sweep_pairings(&mut self, now_ms: i64) -> Result<u64, StoreError> {
        let repeat_ms = 1000 * i64::try_from(limits::PAIRING_REPEAT_S).unwrap_or_default();
        let pairings = self.execute(&SWEEP_PAIRINGS, bind![now_ms - repeat_ms]).await?;
        Ok(pairings + self.execute(&SWEEP_TRIES, bind![now_ms]).await?)
    }
}

impl TryFrom<&Row> for Pairing {
    type Error = StoreError;

    fn try_from(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.id("id")?,
            challenge: row.text("challenge")?,
            public_key: row.bytes32("public_key")?,
            device_name: row.text("device_name")?,
            session_class: row.parsed("session_class", SessionClass::parse)?,
            origin: row.text("origin")?,
            created_at_ms: row.int("created_at_ms")?,
            expires_at_ms: row.int("expires_at_ms")?,
            state: state_of(row)?,
        })
    }
}

fn state_of(row: &Row) -> Result<PairingState, StoreError> {
    match row.text("state")?.as_str() {
        "waiting" => Ok(PairingState::Waiting),
        "refused" => Ok(PairingState::Refused),
        "approved" => Ok(PairingState::Approved { user_id: row.id("user_id")?, workspace_id: row.id("workspace_id")? }),
        "claimed" => Ok(PairingState::Claimed {
            user_id: row.id("user_id")?,
            workspace_id: row.id("workspace_id")?,
            device_id: row.id("device_id")?,
            family_id: row.id("family_id")?,
            at_ms: row.int("claimed_at_ms")?,
        }),
        _ => Err(row.inconsistent("state")),
    }
}
