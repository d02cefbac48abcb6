//! Who may refresh a grant that several owners share (2.b.8): leases, intents and the state of the grant, each change one compare-and-set. Takes no intent away by time, and never deletes a credential.

use super::{
    Viewer,
    connection::Connection,
    credential::{NewCredential, StoredVersion},
};
use crate::{
    engine::{ReadTx, Row, Tx, bind, statements},
    error::StoreError,
};
use contract::{
    connection::{SealFormat, Status},
    ids::{ConnectionId, WorkspaceId},
    limits,
    refresh::RefreshStatus,
};

statements! {
    Read "connection_refresh" FIND_REFRESH =
        "SELECT connection_id, grant_epoch, status, fence, lease_owner, lease_expires_at_ms, intent_owner, intent_fence, intent_version
         FROM connection_refresh WHERE workspace_id = $1 AND connection_id = $2";
    Read "connection_refresh" LIST_INTENTS =
        "SELECT connection_id, workspace_id, grant_epoch, intent_version FROM connection_refresh WHERE intent_owner = $1 AND status = 'live'
         ORDER BY workspace_id, connection_id LIMIT $2";
    Upkeep(Lease) "connection_refresh" OPEN_REFRESH =
        "INSERT INTO connection_refresh (workspace_id, connection_id, grant_epoch, status, fence) VALUES ($1, $2, 1, 'live', 0)
         ON CONFLICT (workspace_id, connection_id) DO NOTHING";
    Upkeep(Lease) "connection_refresh" TAKE_LEASE =
        "UPDATE connection_refresh SET fence = fence + 1, lease_owner = $3, lease_expires_at_ms = $5 WHERE workspace_id = $1 AND connection_id = $2
         AND (lease_owner IS NULL OR lease_owner = $3 OR lease_expires_at_ms <= $4)";
    // The lease must be the newest one; whether it has run out meanwhile does not matter, as nobody took another.
    Write "connection_refresh" PLACE_INTENT =
        "UPDATE connection_refresh SET intent_owner = $3, intent_fence = $4, intent_version = $5 WHERE workspace_id = $1 AND connection_id = $2
         AND status = 'live' AND lease_owner = $3 AND fence = $4 AND grant_epoch = $6 AND intent_owner IS NULL";
    Write "connection_refresh" REPLACE_INTENT =
        "UPDATE connection_refresh SET intent_owner = $3, intent_fence = $4, intent_version = $5 WHERE workspace_id = $1 AND connection_id = $2
         AND status = 'live' AND lease_owner = $3 AND fence = $4 AND grant_epoch = $6
         AND intent_owner = $7 AND intent_fence = $8 AND intent_version = $9";
    Write "connection_refresh" WITHDRAW_INTENT =
        "UPDATE connection_refresh SET intent_owner = NULL, intent_fence = NULL, intent_version = NULL, lease_owner = NULL, lease_expires_at_ms = NULL
         WHERE workspace_id = $1 AND connection_id = $2 AND status = 'live' AND intent_owner = $3 AND intent_fence = $4 AND intent_version = $5";
    // An uncertain row keeps its intent, so that it says whose it was; a dead one has none.
    Write "connection_refresh" MARK_UNCERTAIN =
        "UPDATE connection_refresh SET status = 'uncertain', lease_owner = NULL, lease_expires_at_ms = NULL WHERE workspace_id = $1
         AND connection_id = $2 AND intent_owner = $3 AND intent_fence = $4 AND intent_version = $5 AND grant_epoch = $6";
    Write "connection_refresh" MARK_DEAD =
        "UPDATE connection_refresh SET status = 'dead', intent_owner = NULL, intent_fence = NULL, intent_version = NULL, lease_owner = NULL,
         lease_expires_at_ms = NULL WHERE workspace_id = $1 AND connection_id = $2 AND intent_owner = $3 AND intent_fence = $4
         AND intent_version = $5 AND grant_epoch = $6";
    // Rule (i): neither the lease nor its fence's age is asked for.
    Write "connection_refresh" SETTLE_INTENT =
        "UPDATE connection_refresh SET status = 'live', intent_owner = NULL, intent_fence = NULL, intent_version = NULL, lease_owner = NULL,
         lease_expires_at_ms = NULL WHERE workspace_id = $1 AND connection_id = $2 AND intent_owner = $3 AND intent_fence = $4
         AND intent_version = $5 AND grant_epoch = $6";
    Write "connection_refresh" RECONSENT =
        "UPDATE connection_refresh SET grant_epoch = grant_epoch + 1, status = 'live', intent_owner = NULL, intent_fence = NULL, intent_version = NULL,
         lease_owner = NULL, lease_expires_at_ms = NULL WHERE workspace_id = $1 AND connection_id = $2 AND grant_epoch = $3";
    Write "connection_refresh" VOID_INTENT =
        "UPDATE connection_refresh SET status = 'uncertain', intent_owner = NULL, intent_fence = NULL, intent_version = NULL
         WHERE workspace_id = $1 AND connection_id = $2 AND intent_owner = $3 AND status = 'live'";
    Upkeep(Lease) "connection_refresh" END_LEASES =
        "UPDATE connection_refresh SET lease_owner = NULL, lease_expires_at_ms = NULL WHERE lease_owner = $1";
    Write "connection_refresh" DELETE_REFRESH = "DELETE FROM connection_refresh WHERE workspace_id = $1 AND connection_id = $2";
}

/// Intents of one owner that are voided in one step.
const INTENTS_PAGE_MAX: u64 = 256;

/// One owner's declared will to send the refresh token of one version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    /// A device's id, or that of a process of the service.
    pub owner: String,
    /// The fence of the lease under which it was placed.
    pub fence: u64,
    /// The version whose refresh token is meant.
    pub version: u64,
}

/// A lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// Whose.
    pub owner: String,
    /// Unix milliseconds.
    pub expires_at_ms: i64,
}

/// The refresh row of a connection with the version of its credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refresh {
    /// Version of the stored credential; 0 when there is none.
    pub credential_version: u64,
    /// 1 for the first consent.
    pub grant_epoch: u64,
    /// State of the grant.
    pub status: RefreshStatus,
    /// The newest fence that was given.
    pub fence: u64,
    /// The newest lease, expired or not.
    pub lease: Option<Lease>,
    /// The intent that stands, or stood when the row became uncertain.
    pub intent: Option<Intent>,
}

/// One attempt to refresh: what each of its compare-and-sets names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt<'a> {
    /// Whose.
    pub owner: &'a str,
    /// The intent's fence.
    pub fence: u64,
    /// The version whose refresh token is meant.
    pub version: u64,
    /// The epoch it belongs to.
    pub grant_epoch: u64,
}

/// What a compare-and-set of the refresh row came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Swap<T> {
    /// It is written.
    Done(T),
    /// The same stood already; nothing was written.
    Stood(T),
    /// Something it names is not what stands; nothing was written.
    Lost,
}

/// An intent that ended with its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VoidedIntent {
    /// The tenant.
    pub workspace_id: WorkspaceId,
    /// The connection.
    pub connection_id: ConnectionId,
    /// The epoch.
    pub grant_epoch: u64,
    /// The version whose refresh token was meant.
    pub version: u64,
}

impl ReadTx {
    /// The refresh row of a connection that was found before; one that nobody ever leased is in its first epoch.
    pub async fn find_refresh(&mut self, viewer: &Viewer, connection: &Connection) -> Result<Refresh, StoreError> {
        let row = self.find(&FIND_REFRESH, bind![&viewer.workspace_id, &connection.id]).await?;
        let Some(row) = row else { return Ok(Refresh::first(connection.credential_version)) };
        Refresh::read(&row, connection.credential_version)
    }
}

impl Tx {
    /// Takes the lease for [`limits::REFRESH_LEASE_S_MAX`], under a fence that nobody had before. Upkeep: it decides nothing.
    pub async fn take_refresh_lease(
        &mut self,
        viewer: &Viewer,
        connection: &Connection,
        owner: &str,
        now_ms: i64,
    ) -> Result<Swap<u64>, StoreError> {
        let ends_ms = now_ms.saturating_add(i64::try_from(limits::REFRESH_LEASE_S_MAX * 1000).unwrap_or_default());
        self.execute(&OPEN_REFRESH, bind![&viewer.workspace_id, &connection.id]).await?;
        let values = bind![&viewer.workspace_id, &connection.id, owner, now_ms, ends_ms];
        match self.execute(&TAKE_LEASE, values).await? {
            1 => Ok(Swap::Done(self.find_refresh(viewer, connection).await?.fence)),
            _ => Ok(Swap::Lost),
        }
    }

    /// Places an intent where none stands, or where exactly `replaces` does (iii).
    pub async fn place_refresh_intent(
        &mut self,
        viewer: &Viewer,
        connection: &Connection,
        attempt: Attempt<'_>,
        replaces: Option<&Intent>,
    ) -> Result<Swap<()>, StoreError> {
        let standing = self.find_refresh(viewer, connection).await?;
        if standing.status == RefreshStatus::Live && attempt.is_standing_in(&standing) {
            return Ok(Swap::Stood(()));
        }
        let leased = standing.lease.as_ref().is_some_and(|lease| lease.owner == attempt.owner);
        let placeable = standing.status == RefreshStatus::Live
            && leased
            && standing.fence == attempt.fence
            && standing.grant_epoch == attempt.grant_epoch
            && standing.credential_version == attempt.version
            && standing.intent.as_ref() == replaces;
        if !placeable {
            return Ok(Swap::Lost);
        }
        let mut values = attempt.values(viewer, connection);
        match replaces {
            None => self.execute_one(&PLACE_INTENT, values).await?,
            Some(intent) => {
                values.extend(bind![intent.owner.as_str(), intent.fence, intent.version]);
                self.execute_one(&REPLACE_INTENT, values).await?;
            }
        }
        Ok(Swap::Done(()))
    }

    /// Takes an intent back while the grant is live.
    pub async fn withdraw_refresh_intent(
        &mut self,
        viewer: &Viewer,
        connection: &Connection,
        intent: &Intent,
    ) -> Result<Swap<()>, StoreError> {
        let standing = self.find_refresh(viewer, connection).await?;
        if standing.status != RefreshStatus::Live || standing.intent.as_ref() != Some(intent) {
            return Ok(Swap::Lost);
        }
        let owner = intent.owner.as_str();
        let values = bind![&viewer.workspace_id, &connection.id, owner, intent.fence, intent.version];
        self.execute_one(&WITHDRAW_INTENT, values).await.map(Swap::Done)
    }

    /// The owner of the standing intent does not know whether the refresh token was used.
    pub async fn mark_refresh_uncertain(
        &mut self,
        viewer: &Viewer,
        connection: &Connection,
        attempt: Attempt<'_>,
    ) -> Result<Swap<()>, StoreError> {
        let standing = self.find_refresh(viewer, connection).await?;
        match (attempt.is_standing_in(&standing), standing.status) {
            (false, _) => Ok(Swap::Lost),
            (true, RefreshStatus::Uncertain) => Ok(Swap::Stood(())),
            (true, RefreshStatus::Live | RefreshStatus::Dead) => {
                self.execute_one(&MARK_UNCERTAIN, attempt.values(viewer, connection)).await.map(Swap::Done)
            }
        }
    }

    /// The provider refused the refresh token of the standing intent; only while that version is the stored one (v).
    pub async fn mark_refresh_dead(
        &mut self,
        viewer: &Viewer,
        connection: &Connection,
        attempt: Attempt<'_>,
    ) -> Result<Swap<()>, StoreError> {
        let standing = self.find_refresh(viewer, connection).await?;
        if !attempt.is_standing_in(&standing) {
            return Ok(Swap::Lost);
        }
        self.execute_one(&MARK_DEAD, attempt.values(viewer, connection)).await.map(Swap::Done)
    }

    /// Stores the refreshed credential and ends the intent that it belongs to.
    pub async fn store_refreshed(
        &mut self,
        viewer: &Viewer,
        connection: &Connection,
        attempt: Attempt<'_>,
        credential: NewCredential<'_>,
        now_ms: i64,
    ) -> Result<Swap<StoredVersion>, StoreError> {
        if !self.settle_intent(viewer, connection, attempt).await? {
            return Ok(Swap::Lost);
        }
        self.reseal(viewer, connection, credential, now_ms).await.map(Swap::Done)
    }

    /// Ends the intent of an attempt that stands, for whoever stores what came back. `false`: it does not stand.
    pub(super) async fn settle_intent(
        &mut self,
        viewer: &Viewer,
        connection: &Connection,
        attempt: Attempt<'_>,
    ) -> Result<bool, StoreError> {
        if !attempt.is_standing_in(&self.find_refresh(viewer, connection).await?) {
            return Ok(false);
        }
        self.execute_one(&SETTLE_INTENT, attempt.values(viewer, connection)).await.map(|()| true)
    }

    /// Stores the credential of a new consent under the next epoch. It asks for nothing but the epoch; every standing intent is void (ii).
    pub async fn store_consent(
        &mut self,
        viewer: &Viewer,
        connection: &Connection,
        grant_epoch: u64,
        credential: NewCredential<'_>,
        now_ms: i64,
    ) -> Result<Swap<StoredVersion>, StoreError> {
        if !self.begin_grant_epoch(viewer, connection, grant_epoch).await? {
            return Ok(Swap::Lost);
        }
        self.reseal(viewer, connection, credential, now_ms).await.map(Swap::Done)
    }

    /// Moves to the epoch after `grant_epoch`, for whoever stores the new consent. `false`: another one stands.
    pub(super) async fn begin_grant_epoch(
        &mut self,
        viewer: &Viewer,
        connection: &Connection,
        grant_epoch: u64,
    ) -> Result<bool, StoreError> {
        if self.find_refresh(viewer, connection).await?.grant_epoch != grant_epoch {
            return Ok(false);
        }
        self.execute(&OPEN_REFRESH, bind![&viewer.workspace_id, &connection.id]).await?;
        self.execute_one(&RECONSENT, bind![&viewer.workspace_id, &connection.id, grant_epoch]).await.map(|()| true)
    }

    /// Ends what an owner holds that is gone for good: its intents leave their rows uncertain (ix), its leases end.
    pub async fn void_refresh_intents(&mut self, owner: &str) -> Result<Vec<VoidedIntent>, StoreError> {
        let mut voided = Vec::new();
        loop {
            let rows = self.list(&LIST_INTENTS, bind![owner, INTENTS_PAGE_MAX]).await?;
            if rows.is_empty() {
                break;
            }
            for row in &rows {
                let intent = VoidedIntent::try_from(row)?;
                self.execute_one(&VOID_INTENT, bind![&intent.workspace_id, &intent.connection_id, owner]).await?;
                voided.push(intent);
            }
        }
        self.execute(&END_LEASES, bind![owner]).await?;
        Ok(voided)
    }

    /// Invariant: nothing but its own upload and a new consent writes a credential while a refresh token may be on its way; another write would lose what comes back.
    pub(super) async fn check_not_refreshing(
        &mut self,
        viewer: &Viewer,
        connection: &Connection,
    ) -> Result<(), StoreError> {
        if connection.seal_format == SealFormat::V1 {
            return Ok(());
        }
        let standing = self.find_refresh(viewer, connection).await?;
        match (standing.status, standing.intent) {
            (RefreshStatus::Live, Some(_)) => Err(StoreError::Refreshing),
            (RefreshStatus::Live, None) | (RefreshStatus::Uncertain | RefreshStatus::Dead, _) => Ok(()),
        }
    }

    pub(super) async fn delete_refresh(&mut self, viewer: &Viewer, id: &ConnectionId) -> Result<(), StoreError> {
        self.execute(&DELETE_REFRESH, bind![&viewer.workspace_id, id]).await.map(|_| ())
    }

    async fn reseal(
        &mut self,
        viewer: &Viewer,
        connection: &Connection,
        credential: NewCredential<'_>,
        now_ms: i64,
    ) -> Result<StoredVersion, StoreError> {
        if connection.status == Status::Revoked {
            return Err(StoreError::WrongState { what: "connection", state: Status::Revoked.as_str() });
        }
        self.bump_version(viewer, connection, now_ms).await?;
        self.write_credential(viewer, connection, credential, now_ms).await
    }
}

impl Attempt<'_> {
    fn values(&self, viewer: &Viewer, connection: &Connection) -> Vec<crate::engine::Value> {
        let Self { owner, fence, version, grant_epoch } = *self;
        bind![&viewer.workspace_id, &connection.id, owner, fence, version, grant_epoch]
    }

    /// Whether this attempt's intent stands in `row`, in its epoch and on the stored version.
    #[must_use]
    pub fn is_standing_in(&self, row: &Refresh) -> bool {
        let named = |intent: &Intent| {
            intent.owner == self.owner && intent.fence == self.fence && intent.version == self.version
        };
        row.grant_epoch == self.grant_epoch
            && row.credential_version == self.version
            && row.intent.as_ref().is_some_and(named)
    }
}

impl Refresh {
    const fn first(credential_version: u64) -> Self {
        let status = RefreshStatus::Live;
        Self { credential_version, grant_epoch: 1, status, fence: 0, lease: None, intent: None }
    }

    fn read(row: &Row, credential_version: u64) -> Result<Self, StoreError> {
        let lease = match row.optional_text("lease_owner")? {
            Some(owner) => Some(Lease { owner, expires_at_ms: row.int("lease_expires_at_ms")? }),
            None => None,
        };
        let intent = match row.optional_text("intent_owner")? {
            Some(owner) => {
                Some(Intent { owner, fence: row.count("intent_fence")?, version: row.count("intent_version")? })
            }
            None => None,
        };
        Ok(Self {
            credential_version,
            grant_epoch: row.count("grant_epoch")?,
            status: row.parsed("status", RefreshStatus::parse)?,
            fence: row.count("fence")?,
            lease,
            intent,
        })
    }
}

impl TryFrom<&Row> for VoidedIntent {
    type Error = StoreError;

    fn try_from(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            connection_id: row.id("connection_id")?,
            workspace_id: row.id("workspace_id")?,
            grant_epoch: row.count("grant_epoch")?,
            version: row.count("intent_version")?,
        })
    }
}
