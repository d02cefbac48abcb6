//! The ledger of invocations through the service: durable before a call leaves, one row for an idempotency key. A call whose outcome is unknown stays so; it is never sent again.

use super::{Viewer, vault::column_words};
use crate::{
    engine::{ReadTx, Row, Tx, bind, statements},
    error::StoreError,
};
use contract::{
    Digest,
    ids::{ConnectionId, DeviceId, WorkspaceId},
    limits,
};

macro_rules! columns {
    () => {
        "idempotency_key, workspace_id, connection_id, device_id, tool, arguments_digest, review_digest, process, state, result_digest, created_at_ms,
         updated_at_ms"
    };
}

macro_rules! row {
    () => {
        "workspace_id = $1 AND connection_id = $2 AND device_id = $3 AND idempotency_key = $4 "
    };
}

statements! {
    Read "invocation" FIND_INVOCATION = concat!("SELECT ", columns!(), " FROM invocation WHERE ", row!());
    Write "invocation" INSERT_INVOCATION =
        "INSERT INTO invocation (workspace_id, connection_id, device_id, idempotency_key, tool, arguments_digest, review_digest, process, state,
         created_at_ms, updated_at_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'intent', $9, $9)";
    Write "invocation" SEND_INVOCATION =
        concat!("UPDATE invocation SET state = 'sent', updated_at_ms = $6 WHERE ", row!(), "AND process = $5 AND state = 'intent'");
    Write "invocation" COMPLETE_INVOCATION = concat!("UPDATE invocation SET state = 'completed', result_digest = $6, updated_at_ms = $7 WHERE ",
        row!(), "AND process = $5 AND state = 'sent'");
    Write "invocation" DOUBT_INVOCATION =
        concat!("UPDATE invocation SET state = 'uncertain', updated_at_ms = $6 WHERE ", row!(), "AND process = $5 AND state = 'sent'");
    Write "invocation" WITHDRAW_INVOCATION =
        concat!("DELETE FROM invocation WHERE ", row!(), "AND process = $5 AND state IN ('intent', 'sent')");
    // After a start: what a process that is gone left behind. What it had not sent is as if it never was.
    Write "invocation" ABANDON_SENT =
        "UPDATE invocation SET state = 'uncertain', updated_at_ms = $2 WHERE process = $1 AND state = 'sent' AND workspace_id <> ''";
    Write "invocation" ABANDON_INTENTS = "DELETE FROM invocation WHERE process = $1 AND state = 'intent' AND workspace_id <> ''";
    Upkeep(Retry) "invocation" SWEEP_INVOCATIONS =
        "DELETE FROM invocation WHERE state = 'completed' AND updated_at_ms <= $1 AND workspace_id <> ''";
}

column_words! {
    /// How far an invocation came.
    InvocationState {
        /// Decided and written down; not sent.
        Intent = "intent",
        /// On its way, or its answer was lost.
        Sent = "sent",
        /// Answered.
        Completed = "completed",
        /// Sent, and nobody knows what came of it.
        Uncertain = "uncertain",
    }
}

/// The name of one invocation: a device's idempotency key for one connection.
#[derive(Debug, Clone, Copy)]
pub struct InvocationKey<'a> {
    /// The connection.
    pub connection_id: &'a ConnectionId,
    /// The device that asked.
    pub device_id: &'a DeviceId,
    /// Its key, at most [`limits::IDEMPOTENCY_KEY_CHARS_MAX`] characters.
    pub idempotency_key: &'a str,
}

/// What an invocation is about.
#[derive(Debug, Clone, Copy)]
pub struct NewInvocation<'a> {
    /// Its name.
    pub key: InvocationKey<'a>,
    /// The tool.
    pub tool: &'a str,
    /// Digest of its arguments.
    pub arguments_digest: &'a Digest,
    /// The review it was decided under.
    pub review_digest: &'a Digest,
    /// The process that will send it.
    pub process: &'a str,
}

/// An invocation as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    /// The device's key.
    pub idempotency_key: String,
    /// The tenant.
    pub workspace_id: WorkspaceId,
    /// The connection.
    pub connection_id: ConnectionId,
    /// The device that asked.
    pub device_id: DeviceId,
    /// The tool.
    pub tool: String,
    /// Digest of its arguments.
    pub arguments_digest: Digest,
    /// The review it was decided under.
    pub review_digest: Digest,
    /// The process that owns it.
    pub process: String,
    /// How far it came.
    pub state: InvocationState,
    /// Digest of the answer of a completed one.
    pub result_digest: Option<Digest>,
    /// Unix milliseconds.
    pub created_at_ms: i64,
    /// Unix milliseconds.
    pub updated_at_ms: i64,
}

/// What beginning an invocation found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Begun {
    /// Nothing by this key; the intent stands now.
    Intent,
    /// The same invocation stood already; nothing was written, and nothing may be sent for it.
    Before(Box<Invocation>),
}

impl ReadTx {
    /// The invocation of this name.
    pub async fn find_invocation(
        &mut self,
        workspace: &WorkspaceId,
        key: InvocationKey<'_>,
    ) -> Result<Option<Invocation>, StoreError> {
        let values = bind![workspace, key.connection_id, key.device_id, key.idempotency_key];
        self.find(&FIND_INVOCATION, values).await?.map(|row| Invocation::try_from(&row)).transpose()
    }
}

impl Tx {
    /// Writes the intent of an invocation of a connection that the viewer sees. [`StoreError::AlreadyThere`] when the key stands for another tool or other arguments.
    pub async fn begin_invocation(
        &mut self,
        viewer: &Viewer,
        new: NewInvocation<'_>,
        now_ms: i64,
    ) -> Result<Begun, StoreError> {
        let key = new.key;
        if !(1..=limits::IDEMPOTENCY_KEY_CHARS_MAX).contains(&key.idempotency_key.chars().count()) {
            return Err(StoreError::WrongState { what: "idempotency key", state: "empty or too long" });
        }
        self.find_connection(viewer, key.connection_id).await?.ok_or(StoreError::NotVisible { what: "connection" })?;
        if let Some(standing) = self.find_invocation(&viewer.workspace_id, key).await? {
            let same = standing.tool == new.tool && standing.arguments_digest == *new.arguments_digest;
            let before = Begun::Before(Box::new(standing));
            return if same { Ok(before) } else { Err(StoreError::AlreadyThere { what: "idempotency key" }) };
        }
        let values = bind![
            &viewer.workspace_id,
            key.connection_id,
            key.device_id,
            key.idempotency_key,
            new.tool,
            new.arguments_digest,
            new.review_digest,
            new.process,
            now_ms,
        ];
        self.execute_one(&INSERT_INVOCATION, values).await?;
        Ok(Begun::Intent)
    }

    /// The call leaves now. Exactly one caller ever gets past this for one intent.
    pub async fn send_invocation(
        &mut self,
        workspace: &WorkspaceId,
        key: InvocationKey<'_>,
        process: &str,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        let values = bind![workspace, key.connection_id, key.device_id, key.idempotency_key, process, now_ms];
        self.execute_one(&SEND_INVOCATION, values).await
    }

    /// The call was answered.
    pub async fn complete_invocation(
        &mut self,
        workspace: &WorkspaceId,
        key: InvocationKey<'_>,
        process: &str,
        result_digest: &Digest,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        let values =
            bind![workspace, key.connection_id, key.device_id, key.idempotency_key, process, result_digest, now_ms];
        self.execute_one(&COMPLETE_INVOCATION, values).await
    }

    /// The call was sent and nobody knows what came of it.
    pub async fn doubt_invocation(
        &mut self,
        workspace: &WorkspaceId,
        key: InvocationKey<'_>,
        process: &str,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        let values = bind![workspace, key.connection_id, key.device_id, key.idempotency_key, process, now_ms];
        self.execute_one(&DOUBT_INVOCATION, values).await
    }

    /// The call had certainly no effect (it never left, or was refused before it could run): its key is free again.
    pub async fn withdraw_invocation(
        &mut self,
        workspace: &WorkspaceId,
        key: InvocationKey<'_>,
        process: &str,
    ) -> Result<(), StoreError> {
        let values = bind![workspace, key.connection_id, key.device_id, key.idempotency_key, process];
        self.execute_one(&WITHDRAW_INVOCATION, values).await
    }

    /// What a process that is gone left behind: what it sent is uncertain, what it only intended is forgotten. Says how many became uncertain.
    pub async fn abandon_invocations(&mut self, process: &str, now_ms: i64) -> Result<u64, StoreError> {
        self.execute(&ABANDON_INTENTS, bind![process]).await?;
        self.execute(&ABANDON_SENT, bind![process, now_ms]).await
    }

    /// Forgets completed invocations after [`limits::INVOCATION_KEPT_S`]. Upkeep; uncertain ones stay.
    pub async fn sweep_invocations(&mut self, now_ms: i64) -> Result<u64, StoreError> {
        let kept_ms = i64::try_from(limits::INVOCATION_KEPT_S * 1000).unwrap_or(i64::MAX);
        self.execute(&SWEEP_INVOCATIONS, bind![now_ms.saturating_sub(kept_ms)]).await
    }
}

impl TryFrom<&Row> for Invocation {
    type Error = StoreError;

    fn try_from(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            idempotency_key: row.text("idempotency_key")?,
            workspace_id: row.id("workspace_id")?,
            connection_id: row.id("connection_id")?,
            device_id: row.id("device_id")?,
            tool: row.text("tool")?,
            arguments_digest: row.digest("arguments_digest")?,
            review_digest: row.digest("review_digest")?,
            process: row.text("process")?,
            state: row.parsed("state", InvocationState::parse)?,
            result_digest: row.optional_digest("result_digest")?,
            created_at_ms: row.int("created_at_ms")?,
            updated_at_ms: row.int("updated_at_ms")?,
        })
    }
}
