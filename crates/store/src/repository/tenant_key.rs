//! The statements of the key store: wrapped tenant keys, one active generation for each tenant. They run on the key store's own database and on no other.

use crate::{
    engine::{ReadTx, Row, Tx, bind, statements},
    error::StoreError,
};

statements! {
    Read "vault_tmk" FIND_ACTIVE_TENANT_KEY =
        "SELECT workspace_id, generation, state, wk, tmk FROM vault_tmk WHERE workspace_id = $1 AND state = 'active'";
    Read "vault_tmk" FIND_TENANT_KEY =
        "SELECT workspace_id, generation, state, wk, tmk FROM vault_tmk WHERE workspace_id = $1 AND generation = $2";
    Read "vault_tmk" COUNT_TENANT_KEYS = "SELECT COUNT(*) AS number FROM vault_tmk WHERE workspace_id >= $1";
    Upkeep(TenantKey) "vault_tmk" INSERT_TENANT_KEY =
        "INSERT INTO vault_tmk (workspace_id, generation, state, wk, tmk, created_at_ms) VALUES ($1, $2, 'active', $3, $4, $5)
         ON CONFLICT DO NOTHING";
    // On exactly the bytes that were read, so that of two rotations one wins and none is lost (B7).
    Upkeep(TenantKey) "vault_tmk" REWRAP_TENANT_KEY =
        "UPDATE vault_tmk SET wk = $4, tmk = $5 WHERE workspace_id = $1 AND generation = $2 AND wk = $3";
    Upkeep(TenantKey) "vault_tmk" SHRED_TENANT_KEYS = "DELETE FROM vault_tmk WHERE workspace_id = $1";
}

/// What a generation of a tenant's key may still do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TenantKeyState {
    /// Seals and opens.
    Active,
    /// Opens what it sealed.
    DecryptOnly,
}

impl TenantKeyState {
    fn parse(word: &str) -> Option<Self> {
        match word {
            "active" => Some(Self::Active),
            "decrypt_only" => Some(Self::DecryptOnly),
            _ => None,
        }
    }
}

/// One generation of a tenant's wrapped keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TenantKey {
    /// The workspace, or the empty text for the installation itself.
    pub tenant: String,
    /// From 1.
    pub generation: u32,
    /// What it may still do.
    pub state: TenantKeyState,
    /// The record of the wrapped wrapping key.
    pub wk: Vec<u8>,
    /// The tenant master key under it (type 01).
    pub tmk: Vec<u8>,
}

impl ReadTx {
    pub(crate) async fn find_active_tenant_key(&mut self, tenant: &str) -> Result<Option<TenantKey>, StoreError> {
        let row = self.find(&FIND_ACTIVE_TENANT_KEY, bind![tenant]).await?;
        row.map(|row| TenantKey::try_from(&row)).transpose()
    }

    pub(crate) async fn find_tenant_key(
        &mut self,
        tenant: &str,
        generation: u32,
    ) -> Result<Option<TenantKey>, StoreError> {
        let row = self.find(&FIND_TENANT_KEY, bind![tenant, u64::from(generation)]).await?;
        row.map(|row| TenantKey::try_from(&row)).transpose()
    }

    pub(crate) async fn count_tenant_keys(&mut self) -> Result<u64, StoreError> {
        self.count(&COUNT_TENANT_KEYS, bind![""]).await
    }
}

impl Tx {
    pub(crate) async fn insert_tenant_key(&mut self, key: &TenantKey, now_ms: i64) -> Result<bool, StoreError> {
        let values = bind![key.tenant.as_str(), u64::from(key.generation), &key.wk[..], &key.tmk[..], now_ms];
        Ok(self.execute(&INSERT_TENANT_KEY, values).await? == 1)
    }

    pub(crate) async fn rewrap_tenant_key(&mut self, old: &TenantKey, new: &TenantKey) -> Result<bool, StoreError> {
        let values = bind![old.tenant.as_str(), u64::from(old.generation), &old.wk[..], &new.wk[..], &new.tmk[..]];
        Ok(self.execute(&REWRAP_TENANT_KEY, values).await? == 1)
    }

    pub(crate) async fn shred_tenant_keys(&mut self, tenant: &str) -> Result<u64, StoreError> {
        self.execute(&SHRED_TENANT_KEYS, bind![tenant]).await
    }
}

impl TryFrom<&Row> for TenantKey {
    type Error = StoreError;

    fn try_from(row: &Row) -> Result<Self, StoreError> {
        let generation = u32::try_from(row.int("generation")?).map_err(|_| row.inconsistent("generation"))?;
        Ok(Self {
            tenant: row.text("workspace_id")?,
            generation,
            state: row.parsed("state", TenantKeyState::parse)?,
            wk: row.bytes("wk")?,
            tmk: row.bytes("tmk")?,
        })
    }
}
