//! Nonces that were seen: of request signatures, for twice the skew window, and of v1 envelopes, for ever. A full store refuses; it never forgets one that still counts.

use crate::{
    engine::{Tx, bind, statements},
    error::StoreError,
};
use contract::{
    ids::{DeviceId, UserId},
    limits,
};

statements! {
    Upkeep(Nonce) "request_nonce" DELETE_EXPIRED_NONCES = "DELETE FROM request_nonce WHERE device_id = $1 AND expires_at_ms <= $2";
    Read "request_nonce" COUNT_NONCES = "SELECT COUNT(*) AS number FROM request_nonce WHERE device_id = $1";
    Upkeep(Nonce) "request_nonce" INSERT_NONCE =
        "INSERT INTO request_nonce (device_id, nonce, expires_at_ms) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
    Upkeep(Nonce) "request_nonce" SWEEP_NONCES = "DELETE FROM request_nonce WHERE expires_at_ms <= $1";
    Read "v1_nonce" COUNT_V1_NONCES = "SELECT COUNT(*) AS number FROM v1_nonce WHERE user_id = $1";
    Write "v1_nonce" INSERT_V1_NONCE = "INSERT INTO v1_nonce (user_id, nonce) VALUES ($1, $2) ON CONFLICT DO NOTHING";
}

impl Tx {
    /// Remembers the nonce of a verified request for twice the skew window. Upkeep.
    ///
    /// [`StoreError::Replayed`] when the device used it within that time, [`StoreError::Full`] at [`limits::REQUEST_NONCES_PER_DEVICE_MAX`].
    pub async fn insert_request_nonce(
        &mut self,
        device_id: &DeviceId,
        nonce: &str,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        let expires_at_ms = now_ms + 2000 * i64::try_from(limits::REQUEST_SKEW_S_MAX).unwrap_or_default();
        self.insert_request_nonce_within(
            device_id,
            nonce,
            now_ms,
            Window { expires_at_ms, max: limits::REQUEST_NONCES_PER_DEVICE_MAX },
        )
        .await
    }

    pub(crate) async fn insert_request_nonce_within(
        &mut self,
        device_id: &DeviceId,
        nonce: &str,
        now_ms: i64,
        window: Window,
    ) -> Result<(), StoreError> {
        self.execute(&DELETE_EXPIRED_NONCES, bind![device_id, now_ms]).await?;
        if self.count(&COUNT_NONCES, bind![device_id]).await? >= window.max {
            return Err(StoreError::Full { what: "nonces", max: window.max });
        }
        match self.execute(&INSERT_NONCE, bind![device_id, nonce, window.expires_at_ms]).await? {
            1 => Ok(()),
            _ => Err(StoreError::Replayed { what: "nonce" }),
        }
    }

    /// Deletes every nonce whose window has passed. Upkeep.
    pub async fn sweep_request_nonces(&mut self, now_ms: i64) -> Result<u64, StoreError> {
        self.execute(&SWEEP_NONCES, bind![now_ms]).await
    }

    /// Remembers the nonce of a v1 envelope for ever (2.b.9): under one key a second use would reveal plaintext.
    pub(super) async fn insert_v1_nonce(&mut self, user_id: &UserId, nonce: &[u8; 12]) -> Result<(), StoreError> {
        if self.count(&COUNT_V1_NONCES, bind![user_id]).await? >= limits::V1_NONCES_PER_USER_MAX {
            return Err(StoreError::Full { what: "v1 nonces", max: limits::V1_NONCES_PER_USER_MAX });
        }
        match self.execute(&INSERT_V1_NONCE, bind![user_id, nonce.as_slice()]).await? {
            1 => Ok(()),
            _ => Err(StoreError::Replayed { what: "v1 nonce" }),
        }
    }
}

/// How long and how many.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    pub(crate) expires_at_ms: i64,
    pub(crate) max: u64,
}
