//! The ledger of calls: an intent is durable before a call leaves, and what may have happened is never repeated. A key names one call; the same key again answers what is recorded.

use crate::app::Service;
use crate::db::Db;
use crate::error::CliError;
use crate::state::files::{self, FileLock};
use contract::ids::ConnectionId;
use contract::{Code, Digest, Json, cjson, limits};
use seal::SealRandom;
use seal::local::{self, CallPlace};
use sign::Secret;
use sqlx::Row as _;
use std::path::PathBuf;

/// One call, as the ledger names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallName {
    /// The connection.
    pub connection: ConnectionId,
    /// The idempotency key, unique per connection on this device.
    pub key: String,
}

impl CallName {
    /// A name; the key has the characters of an id.
    pub fn new(connection: ConnectionId, key: &str) -> Result<Self, CliError> {
        if !contract::ids::is_id(key) {
            return Err(CliError::usage(format!("`{key}` cannot be an idempotency key"))
                .hint("1 to 200 letters, digits, `_`, `.`, `:` and `-`"));
        }
        Ok(Self { connection, key: key.to_owned() })
    }

    fn digest(&self) -> Digest {
        Digest::of(&[self.connection.as_str().as_bytes(), b"\0", self.key.as_bytes()])
    }

    fn lock_path(&self, service: &Service<'_>) -> PathBuf {
        service.folder.file(&format!("call-{}.lock", self.digest().hex()))
    }
}

/// What exactly is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallContent {
    /// The tool.
    pub tool: String,
    /// Digest of the arguments.
    pub arguments: Digest,
}

/// The recorded outcome of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// The tool's result; none where it was too large to keep, or where a person settled the call.
    pub result: Option<Json>,
    /// The server sent the credential back, and it was taken out.
    pub redacted: bool,
}

/// How a key stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// Nobody used it, or the call certainly did not happen.
    Free,
    /// The call is under way in another process.
    Running,
    /// It has an outcome.
    Recorded(Recorded),
    /// It may have happened.
    Uncertain,
}

/// A call that is about to leave. Whoever holds it says how it ended; dropped without a word, the call is uncertain.
#[must_use = "an intent that is not settled makes the call uncertain"]
pub struct Intent {
    name: CallName,
    path: PathBuf,
    _lock: FileLock,
}

/// One call of the ledger, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenCall {
    /// Its key.
    pub key: String,
    /// The tool.
    pub tool: String,
    /// Unix milliseconds.
    pub created_ms: u64,
}

/// How this key stands for this call. An intent whose process is gone becomes uncertain here, for good.
pub async fn standing(
    service: &Service<'_>,
    db: &mut Db,
    name: &CallName,
    content: &CallContent,
) -> Result<Standing, CliError> {
    let Some(row) = db.find_invocation(name).await? else { return Ok(Standing::Free) };
    check_same(name, &row, content)?;
    match row.state {
        State::Refused => Ok(Standing::Free),
        State::Uncertain => Ok(Standing::Uncertain),
        State::Completed => Ok(Standing::Recorded(recorded(service, name, &row)?)),
        State::Intent => {
            let Some(_lock) = FileLock::take(&name.lock_path(service))? else { return Ok(Standing::Running) };
            // Its process may have ended it between the two looks.
            let moved = db.move_invocation(name, State::Intent, State::Uncertain, service.door().now_ms()).await?;
            if moved { Ok(Standing::Uncertain) } else { Box::pin(standing(service, db, name, content)).await }
        }
    }
}

/// Writes the intent, durable when this returns. Fails for a key that is not free.
pub async fn begin(
    service: &Service<'_>,
    db: &mut Db,
    name: &CallName,
    content: &CallContent,
    operation: Digest,
) -> Result<Intent, CliError> {
    let path = name.lock_path(service);
    let lock = FileLock::take(&path)?.ok_or_else(|| running(name))?;
    if db.insert_intent(name, content, operation, service.door().now_ms()).await? {
        return Ok(Intent { name: name.clone(), path, _lock: lock });
    }
    drop(lock);
    match standing(service, db, name, content).await? {
        Standing::Running | Standing::Free | Standing::Recorded(_) => Err(running(name)),
        Standing::Uncertain => Err(uncertain(name, &content.tool)),
    }
}

impl Intent {
    /// The call has an outcome.
    pub async fn complete(self, service: &Service<'_>, db: &mut Db, recorded: &Recorded) -> Result<(), CliError> {
        let body = Json::from_members([
            ("redacted", recorded.redacted.into()),
            ("result", recorded.result.clone().unwrap_or(Json::Null)),
        ]);
        let bytes = body.canonical();
        let digest = Digest::of(&[&bytes]);
        // Sealing adds a header; what does not fit is not kept, its digest is.
        let sealed =
            if bytes.len() <= limits::BLOB_BYTES_MAX / 2 { Some(seal(service, &self.name, &bytes)?) } else { None };
        db.complete_invocation(&self.name, digest, sealed.as_deref(), service.door().now_ms()).await?;
        // Only now nobody can begin under this key again; before, a removed file would be a second lock.
        files::remove(&self.path).map(|_| ())
    }

    /// The call certainly did not happen; its key is free again.
    pub async fn release(self, service: &Service<'_>, db: &mut Db) -> Result<(), CliError> {
        db.move_invocation(&self.name, State::Intent, State::Refused, service.door().now_ms()).await.map(|_| ())
    }

    /// The call may have happened.
    pub async fn doubt(self, service: &Service<'_>, db: &mut Db) -> Result<(), CliError> {
        db.move_invocation(&self.name, State::Intent, State::Uncertain, service.door().now_ms()).await.map(|_| ())
    }
}

/// What a person found out about an uncertain call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Verdict {
    /// It happened; the key stays used.
    Happened,
    /// It did not happen; the key is free again.
    NotHappened,
}

/// Takes over what a person found out. Only an uncertain call can be settled.
pub async fn settle(
    service: &Service<'_>,
    db: &mut Db,
    name: &CallName,
    tool: &str,
    verdict: Verdict,
) -> Result<(), CliError> {
    let row = db.find_invocation(name).await?.ok_or_else(|| {
        CliError::new(Code::NotFound, format!("no call with key `{}` was made from this device", name.key))
            .hint(format!("`collie online connection-show {}` lists the open calls", name.connection))
    })?;
    let content = CallContent { tool: tool.to_owned(), arguments: row.arguments };
    match standing(service, db, name, &content).await? {
        Standing::Uncertain => {}
        Standing::Running => return Err(running(name)),
        Standing::Free | Standing::Recorded(_) => {
            return Err(CliError::new(
                Code::IllegalTransition,
                format!("the call with key `{}` is not uncertain", name.key),
            )
            .hint("nothing changed"));
        }
    }
    let to = match verdict {
        Verdict::Happened => State::Completed,
        Verdict::NotHappened => State::Refused,
    };
    db.settle_invocation(name, to, service.door().now_ms()).await
}

/// A call under this key is under way.
#[must_use]
pub fn running(name: &CallName) -> CliError {
    CliError::new(Code::EffectRunning, format!("a call with key `{}` is under way on this device", name.key))
        .hint("wait for it, or use another `--idempotency-key` for another call")
}

/// A call under this key may have happened.
#[must_use]
pub fn uncertain(name: &CallName, tool: &str) -> CliError {
    let settle = format!(
        "collie online invoke {} {tool} --idempotency-key {} --settle-uncertain happened|not-happened",
        name.connection, name.key
    );
    CliError::new(
        Code::EffectUncertain,
        format!("the call of `{tool}` with key `{}` may have happened; it is not repeated", name.key),
    )
    .hint(format!("look at the server, then run `{settle}`"))
    .details(Json::from_members([
        ("connection", name.connection.as_str().into()),
        ("tool", tool.into()),
        ("idempotency_key", name.key.as_str().into()),
    ]))
}

fn check_same(name: &CallName, row: &InvocationRow, content: &CallContent) -> Result<(), CliError> {
    if row.tool == content.tool && row.arguments == content.arguments {
        return Ok(());
    }
    Err(CliError::new(
        Code::IdempotencyMismatch,
        format!("the key `{}` was used for another call of this connection", name.key),
    )
    .hint("use another `--idempotency-key` for another call, or none"))
}

fn seal(service: &Service<'_>, name: &CallName, bytes: &[u8]) -> Result<Vec<u8>, CliError> {
    let usk = service.sealing_key()?;
    let answer = Secret::init(|copy: &mut Vec<u8>| copy.extend_from_slice(bytes));
    let call = name.digest();
    let place = CallPlace { connection: &name.connection, call: &call };
    local::seal_call_answer(&usk, service.local_place(), place, &answer, SealRandom::new(service.door().random()))
        .map_err(|error| CliError::internal(error.to_string()))
}

fn recorded(service: &Service<'_>, name: &CallName, row: &InvocationRow) -> Result<Recorded, CliError> {
    let Some(sealed) = &row.sealed else { return Ok(Recorded { result: None, redacted: false }) };
    let usk = service.sealing_key()?;
    let call = name.digest();
    let place = CallPlace { connection: &name.connection, call: &call };
    let damaged = || {
        CliError::new(
            Code::WrongKey,
            format!("the recorded answer of key `{}` does not open with this device's key", name.key),
        )
        .hint("the call was made; it is not repeated")
    };
    let opened = local::open_call_answer(&usk, service.local_place(), place, sealed).map_err(|_| damaged())?;
    // EXPOSE: to the person who made the call.
    let json = opened.with(|bytes| cjson::parse(bytes, limits::BLOB_BYTES_MAX)).map_err(|_| damaged())?;
    Ok(Recorded {
        result: json.find("result").filter(|result| **result != Json::Null).cloned(),
        redacted: json.find("redacted").and_then(Json::as_bool).unwrap_or(false),
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Intent,
    Completed,
    Uncertain,
    Refused,
}

impl State {
    const ALL: [Self; 4] = [Self::Intent, Self::Completed, Self::Uncertain, Self::Refused];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Intent => "intent",
            Self::Completed => "completed",
            Self::Uncertain => "uncertain",
            Self::Refused => "refused",
        }
    }
}

struct InvocationRow {
    tool: String,
    arguments: Digest,
    state: State,
    sealed: Option<Vec<u8>>,
}

/// SQLite has signed integers only; every number here is far below.
fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn impossible(column: &str) -> CliError {
    CliError::internal(format!("the local database holds an impossible value in invocation.{column}"))
        .hint("run `collie online doctor`")
}

impl Db {
    async fn find_invocation(&mut self, name: &CallName) -> Result<Option<InvocationRow>, CliError> {
        let row = sqlx::query(
            "SELECT tool, args_digest, state, result_sealed FROM invocation WHERE connection_id = $1 AND idempotency_key = $2",
        )
        .bind(name.connection.as_str())
        .bind(&name.key)
        .fetch_optional(&mut self.connection)
        .await?;
        let Some(row) = row else { return Ok(None) };
        let state: &str = row.try_get(2)?;
        Ok(Some(InvocationRow {
            tool: row.try_get(0)?,
            arguments: Digest::parse(row.try_get(1)?).map_err(|_| impossible("args_digest"))?,
            state: State::ALL.into_iter().find(|known| known.as_str() == state).ok_or_else(|| impossible("state"))?,
            sealed: row.try_get(3)?,
        }))
    }

    /// Only a key that is new, or whose call certainly did not happen, takes an intent.
    async fn insert_intent(
        &mut self,
        name: &CallName,
        content: &CallContent,
        operation: Digest,
        now_ms: u64,
    ) -> Result<bool, CliError> {
        let done = sqlx::query(
            "INSERT INTO invocation (connection_id, idempotency_key, tool, args_digest, op_digest, state, created_ms, updated_ms)
             VALUES ($1, $2, $3, $4, $5, 'intent', $6, $6)
             ON CONFLICT (connection_id, idempotency_key) DO UPDATE SET
               state = 'intent', op_digest = excluded.op_digest, updated_ms = excluded.updated_ms, settled_by = ''
             WHERE invocation.state = 'refused' AND invocation.tool = excluded.tool AND invocation.args_digest = excluded.args_digest",
        )
        .bind(name.connection.as_str())
        .bind(&name.key)
        .bind(&content.tool)
        .bind(content.arguments.b64u())
        .bind(operation.b64u())
        .bind(signed(now_ms))
        .execute(&mut self.connection)
        .await?;
        Ok(done.rows_affected() == 1)
    }

    async fn move_invocation(
        &mut self,
        name: &CallName,
        from: State,
        to: State,
        now_ms: u64,
    ) -> Result<bool, CliError> {
        let done = sqlx::query(
            "UPDATE invocation SET state = $3, updated_ms = $4 WHERE connection_id = $1 AND idempotency_key = $2 AND state = $5",
        )
        .bind(name.connection.as_str())
        .bind(&name.key)
        .bind(to.as_str())
        .bind(signed(now_ms))
        .bind(from.as_str())
        .execute(&mut self.connection)
        .await?;
        Ok(done.rows_affected() == 1)
    }

    async fn complete_invocation(
        &mut self,
        name: &CallName,
        result: Digest,
        sealed: Option<&[u8]>,
        now_ms: u64,
    ) -> Result<(), CliError> {
        sqlx::query(
            "UPDATE invocation SET state = 'completed', result_digest = $3, result_sealed = $4, updated_ms = $5
             WHERE connection_id = $1 AND idempotency_key = $2 AND state IN ('intent', 'uncertain')",
        )
        .bind(name.connection.as_str())
        .bind(&name.key)
        .bind(result.b64u())
        .bind(sealed)
        .bind(signed(now_ms))
        .execute(&mut self.connection)
        .await?;
        Ok(())
    }

    async fn settle_invocation(&mut self, name: &CallName, to: State, now_ms: u64) -> Result<(), CliError> {
        sqlx::query(
            "UPDATE invocation SET state = $3, settled_by = 'person', updated_ms = $4
             WHERE connection_id = $1 AND idempotency_key = $2 AND state = 'uncertain'",
        )
        .bind(name.connection.as_str())
        .bind(&name.key)
        .bind(to.as_str())
        .bind(signed(now_ms))
        .execute(&mut self.connection)
        .await?;
        Ok(())
    }

    /// Calls of a connection that have no outcome, oldest first.
    pub async fn list_open_calls(&mut self, connection: &ConnectionId) -> Result<Vec<OpenCall>, CliError> {
        let rows = sqlx::query(
            "SELECT idempotency_key, tool, created_ms FROM invocation
             WHERE connection_id = $1 AND state IN ('intent', 'uncertain') ORDER BY created_ms LIMIT 100",
        )
        .bind(connection.as_str())
        .fetch_all(&mut self.connection)
        .await?;
        rows.iter()
            .map(|row| {
                let created: i64 = row.try_get(2)?;
                let created_ms = u64::try_from(created).map_err(|_| impossible("created_ms"))?;
                Ok(OpenCall { key: row.try_get(0)?, tool: row.try_get(1)?, created_ms })
            })
            .collect()
    }
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
