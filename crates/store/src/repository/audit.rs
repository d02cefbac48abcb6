//! The audit log: one gapless sequence per workspace and one for the installation, written in the commit it explains. Never updated, never deleted.

use crate::{
    engine::{ReadTx, Row, Tx, bind, statements},
    error::StoreError,
};
use contract::{
    AuditEvent,
    audit::{AuditEntry, AuditLog},
    limits,
};

// The sequence is part of the commit: a transaction that is rolled back leaves no hole.
statements! {
    Write "audit_head" NEXT_SEQ =
        "INSERT INTO audit_head (log_id, seq) VALUES ($1, 1)
         ON CONFLICT (log_id) DO UPDATE SET seq = audit_head.seq + 1 RETURNING log_id, seq";
    Write "audit_event" INSERT_EVENT =
        "INSERT INTO audit_event (log_id, seq, at_ms, actor_kind, actor, kind, body) VALUES ($1, $2, $3, $4, $5, $6, $7)";
    Read "audit_event" LIST_EVENTS =
        "SELECT log_id, seq, at_ms, actor_kind, actor, kind, body FROM audit_event WHERE log_id = $1 AND seq > $2 ORDER BY seq LIMIT $3";
    Read "audit_event" FIND_KIND = "SELECT log_id FROM audit_event WHERE log_id = $1 AND kind = $2 ORDER BY seq LIMIT 1";
}

/// One written event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRecord {
    /// Its place in its log, from 1, without holes.
    pub seq: u64,
    /// Unix milliseconds by the service's clock.
    pub at_ms: i64,
    /// `anonymous`, `browser`, `device` or `operator`.
    pub actor_kind: String,
    /// Who, as an id where there is one.
    pub actor: String,
    /// What.
    pub event: AuditEvent,
}

impl ReadTx {
    /// Events of one log after `after_seq`, oldest first, at most [`limits::AUDIT_PAGE_MAX`].
    pub async fn list_audit_events(&mut self, log: &AuditLog, after_seq: u64) -> Result<Vec<AuditRecord>, StoreError> {
        let rows = self.list(&LIST_EVENTS, bind![log.as_str(), after_seq, limits::AUDIT_PAGE_MAX]).await?;
        rows.iter().map(AuditRecord::try_from).collect()
    }
}

impl ReadTx {
    /// Whether an event of this kind was ever written into the log. Reads the log from its start.
    pub async fn has_audit_event(&mut self, log: &AuditLog, kind: &str) -> Result<bool, StoreError> {
        Ok(self.find(&FIND_KIND, bind![log.as_str(), kind]).await?.is_some())
    }
}

/// Writes one event at the next place of its log.
pub(crate) async fn append(tx: &mut Tx, entry: AuditEntry) -> Result<(), StoreError> {
    let AuditEntry { log, actor, at_ms, event } = entry;
    let head = tx.returning(&NEXT_SEQ, bind![log.as_str()]).await?;
    let seq = head.ok_or(StoreError::Fenced { statement: "NEXT_SEQ", expected: 1, actual: 0 })?.int("seq")?;
    // Ids, words, digests and integers always have a canonical form.
    let body = event
        .canonical()
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .ok_or(StoreError::Unexplained { statement: "INSERT_EVENT" })?;
    tx.execute_one(&INSERT_EVENT, bind![log.as_str(), seq, at_ms, actor.kind(), actor.as_str(), event.kind(), body])
        .await
}

impl TryFrom<&Row> for AuditRecord {
    type Error = StoreError;

    fn try_from(row: &Row) -> Result<Self, StoreError> {
        let event = row.parsed("body", |body| AuditEvent::parse(body.as_bytes()).ok())?;
        if row.text("kind")? != event.kind() {
            return Err(row.inconsistent("kind"));
        }
        Ok(Self {
            seq: row.count("seq")?,
            at_ms: row.int("at_ms")?,
            actor_kind: row.text("actor_kind")?,
            actor: row.text("actor")?,
            event,
        })
    }
}
