//! Loans: a downstream credential that a device holds until its end. A row stands before anything is lent, and none is made for a connection that does not stand.

use super::{
    Viewer,
    vault::{parse_scopes, scopes_text, truth},
};
use crate::{
    engine::{ReadTx, Row, Tx, bind, statements},
    error::StoreError,
};
use contract::{
    Digest,
    connection::{Profile, Status},
    ids::{ConnectionId, DeviceId, LoanId, UserId, WorkspaceId},
    limits,
};

macro_rules! columns {
    () => {
        "id, connection_id, user_id, device_id, review_digest, credential_version, scopes, unchecked, issued_at_ms, ends_at_ms, ended_at_ms"
    };
}

statements! {
    Read "loan" COUNT_RUNNING_LOANS =
        "SELECT COUNT(*) AS number FROM loan WHERE workspace_id = $1 AND connection_id = $2 AND ends_at_ms > $3 AND ended_at_ms IS NULL";
    Read "loan" LIST_LOANS = concat!("SELECT ", columns!(), " FROM loan WHERE workspace_id = $1 AND connection_id = $2 AND ends_at_ms > $3
         AND ended_at_ms IS NULL ORDER BY ends_at_ms, id LIMIT $4");
    Read "loan" FIND_LOAN = concat!("SELECT ", columns!(), " FROM loan WHERE workspace_id = $1 AND user_id = $2 AND id = $3");
    Write "loan" INSERT_LOAN =
        "INSERT INTO loan (workspace_id, id, connection_id, user_id, device_id, review_digest, credential_version, scopes, unchecked, issued_at_ms,
         ends_at_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
    Write "loan" SHORTEN_LOAN =
        "UPDATE loan SET ends_at_ms = $4 WHERE workspace_id = $1 AND id = $2 AND user_id = $3 AND ended_at_ms IS NULL AND ends_at_ms > $4
         AND issued_at_ms < $4";
    Write "loan" END_LOAN =
        "UPDATE loan SET ended_at_ms = $4 WHERE workspace_id = $1 AND user_id = $2 AND id = $3 AND ended_at_ms IS NULL";
    Write "loan" END_LOANS =
        "UPDATE loan SET ended_at_ms = $3 WHERE workspace_id = $1 AND connection_id = $2 AND ended_at_ms IS NULL";
}

/// A loan as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loan {
    /// Its id.
    pub id: LoanId,
    /// From which connection.
    pub connection_id: ConnectionId,
    /// To whom.
    pub user_id: UserId,
    /// On which device.
    pub device_id: DeviceId,
    /// The review it was lent under.
    pub review_digest: Digest,
    /// The version of the grant it comes from.
    pub credential_version: u64,
    /// What it can do.
    pub scopes: Vec<String>,
    /// The person allowed loans that can do more than the reviewed tools.
    pub unchecked: bool,
    /// Unix milliseconds.
    pub issued_at_ms: i64,
    /// When the provider stops accepting it at the latest, Unix milliseconds.
    pub ends_at_ms: i64,
    /// When it was given back or ended, Unix milliseconds.
    pub ended_at_ms: Option<i64>,
}

/// A loan to make.
#[derive(Debug, Clone, Copy)]
pub struct NewLoan<'a> {
    /// A fresh id.
    pub id: &'a LoanId,
    /// From which connection.
    pub connection_id: &'a ConnectionId,
    /// On which device.
    pub device_id: &'a DeviceId,
    /// The review that stands.
    pub review_digest: &'a Digest,
    /// The version of the grant it comes from.
    pub credential_version: u64,
    /// What it will be able to do.
    pub scopes: &'a [String],
    /// The person allowed loans that can do more than the reviewed tools.
    pub unchecked: bool,
    /// At most [`limits::LOAN_TTL_S_MAX`] from now, Unix milliseconds.
    pub ends_at_ms: i64,
}

impl ReadTx {
    /// A loan of this person.
    pub async fn find_loan(&mut self, viewer: &Viewer, id: &LoanId) -> Result<Option<Loan>, StoreError> {
        let row = self.find(&FIND_LOAN, bind![&viewer.workspace_id, &viewer.user_id, id]).await?;
        row.map(|row| Loan::try_from(&row)).transpose()
    }

    /// The loans of a connection that run. The caller has found the connection by its viewer.
    pub async fn list_loans(
        &mut self,
        workspace: &WorkspaceId,
        id: &ConnectionId,
        now_ms: i64,
    ) -> Result<Vec<Loan>, StoreError> {
        let values = bind![workspace, id, now_ms, limits::LOANS_PER_CONNECTION_MAX];
        self.list(&LIST_LOANS, values).await?.iter().map(Loan::try_from).collect()
    }
}

impl Tx {
    /// Makes a loan of an active `cloud_proxy` connection that the viewer sees, under the review that stands.
    pub async fn insert_loan(&mut self, viewer: &Viewer, new: NewLoan<'_>, now_ms: i64) -> Result<Loan, StoreError> {
        let refused = |state| Err(StoreError::WrongState { what: "connection", state });
        let standing = self.find_connection(viewer, new.connection_id).await?;
        let standing = standing.ok_or(StoreError::NotVisible { what: "connection" })?;
        if standing.profile != Profile::CloudProxy {
            return refused("sealed on devices");
        }
        if standing.status != Status::Active {
            return refused(standing.status.as_str());
        }
        if standing.review.as_ref().map(|review| &review.digest) != Some(new.review_digest) {
            return refused("under another review");
        }
        let latest_ms = i64::try_from(limits::LOAN_TTL_S_MAX * 1000).unwrap_or(i64::MAX).saturating_add(now_ms);
        if new.ends_at_ms <= now_ms || new.ends_at_ms > latest_ms {
            return Err(StoreError::WrongState { what: "loan", state: "longer than it may be" });
        }
        let (workspace, max) = (&viewer.workspace_id, limits::LOANS_PER_CONNECTION_MAX);
        if self.count(&COUNT_RUNNING_LOANS, bind![workspace, new.connection_id, now_ms]).await? >= max {
            return Err(StoreError::Full { what: "loans", max });
        }
        let values = bind![
            workspace,
            new.id,
            new.connection_id,
            &viewer.user_id,
            new.device_id,
            new.review_digest,
            new.credential_version,
            scopes_text(new.scopes),
            i64::from(new.unchecked),
            now_ms,
            new.ends_at_ms,
        ];
        self.execute_one(&INSERT_LOAN, values).await?;
        self.find_loan(viewer, new.id).await?.ok_or(StoreError::NotVisible { what: "loan" })
    }

    /// Moves the end of a loan to an earlier time, when the provider gave a shorter life than was asked for.
    pub async fn shorten_loan(&mut self, viewer: &Viewer, id: &LoanId, ends_at_ms: i64) -> Result<bool, StoreError> {
        let values = bind![&viewer.workspace_id, id, &viewer.user_id, ends_at_ms];
        Ok(self.execute(&SHORTEN_LOAN, values).await? == 1)
    }

    /// Ends a loan that its device gave back. `false` when it had ended before.
    pub async fn end_loan(&mut self, viewer: &Viewer, id: &LoanId, now_ms: i64) -> Result<bool, StoreError> {
        let values = bind![&viewer.workspace_id, &viewer.user_id, id, now_ms];
        Ok(self.execute(&END_LOAN, values).await? == 1)
    }

    /// Ends every loan of a connection; says how many. Part of its revocation.
    pub async fn end_loans(
        &mut self,
        workspace: &WorkspaceId,
        id: &ConnectionId,
        now_ms: i64,
    ) -> Result<u64, StoreError> {
        self.execute(&END_LOANS, bind![workspace, id, now_ms]).await
    }
}

impl TryFrom<&Row> for Loan {
    type Error = StoreError;

    fn try_from(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.id("id")?,
            connection_id: row.id("connection_id")?,
            user_id: row.id("user_id")?,
            device_id: row.id("device_id")?,
            review_digest: row.digest("review_digest")?,
            credential_version: row.count("credential_version")?,
            scopes: row.parsed("scopes", parse_scopes)?,
            unchecked: truth(row, "unchecked")?,
            issued_at_ms: row.int("issued_at_ms")?,
            ends_at_ms: row.int("ends_at_ms")?,
            ended_at_ms: row.optional_int("ended_at_ms")?,
        })
    }
}
