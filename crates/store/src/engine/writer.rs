//! SQLite's one writer: it groups waiting bodies into one durable commit and hands each of them the connection in turn. It never runs a body itself, so a body that panics or is cancelled costs only its own savepoint.

use crate::error::{EngineFault, StoreError};
use contract::limits;
use sqlx::{Connection as _, SqliteConnection};
use std::sync::Arc;
use tokio::sync::{Mutex, OwnedMutexGuard, mpsc, oneshot};

/// The way to the writer's queue.
#[derive(Clone)]
pub(crate) struct Writer {
    queue: mpsc::Sender<Message>,
    #[cfg(test)]
    commits: Arc<std::sync::atomic::AtomicU64>,
}

/// One body's turn at the connection, inside its own savepoint.
pub(crate) struct Turn {
    /// The connection. It must be back (dropped) for the writer to go on.
    pub(crate) link: OwnedMutexGuard<SqliteConnection>,
    /// What to do with the savepoint; a report that never comes is [`Report::Undo`].
    pub(crate) report: oneshot::Sender<Report>,
    /// Whether the group's one COMMIT is durable. Until it says so, no answer may leave.
    pub(crate) verdict: oneshot::Receiver<Result<(), EngineFault>>,
}

/// How a body ended.
pub(crate) enum Report {
    /// Keep what it wrote.
    Keep,
    /// Take it back.
    Undo,
}

enum Message {
    Body(oneshot::Sender<Result<Turn, EngineFault>>),
    Checkpoint(oneshot::Sender<Result<(), StoreError>>),
    Close(oneshot::Sender<()>),
}

impl Writer {
    /// Starts the writer on the current runtime; it ends when the last handle is gone or [`Writer::close`] is called.
    pub(crate) fn start(connection: SqliteConnection) -> Self {
        let (queue, messages) = mpsc::channel(limits::STORE_QUEUE_MAX);
        #[cfg(test)]
        let commits = Arc::default();
        let group = Group {
            connection: Arc::new(Mutex::new(connection)),
            messages,
            #[cfg(test)]
            commits: Arc::clone(&commits),
        };
        tokio::spawn(group.serve());
        Self {
            queue,
            #[cfg(test)]
            commits,
        }
    }

    /// Waits for a turn. `Ok(Err(_))` means that the group could not begin.
    pub(crate) async fn wait_turn(&self) -> Result<Result<Turn, EngineFault>, StoreError> {
        let (offer, turn) = oneshot::channel();
        self.queue.send(Message::Body(offer)).await.map_err(|_| StoreError::Closed)?;
        turn.await.map_err(|_| StoreError::Closed)
    }

    /// Copies the write-ahead log into the database and truncates it, so that nothing overwritten or deleted stays in it.
    pub(crate) async fn checkpoint(&self) -> Result<(), StoreError> {
        let (done, answer) = oneshot::channel();
        self.queue.send(Message::Checkpoint(done)).await.map_err(|_| StoreError::Closed)?;
        answer.await.map_err(|_| StoreError::Closed)?
    }

    /// Ends the writer after the bodies that wait already.
    pub(crate) async fn close(&self) {
        let (done, ended) = oneshot::channel();
        if self.queue.send(Message::Close(done)).await.is_ok() {
            // An error here means that the writer has ended already.
            let _ = ended.await;
        }
    }

    #[cfg(test)]
    pub(crate) async fn pragma(&self, name: &str) -> String {
        use sqlx::Row as _;
        let mut turn = self.wait_turn().await.expect("the writer runs").expect("a group begins");
        let row = sqlx::query(sqlx::AssertSqlSafe(format!("SELECT CAST({name} AS TEXT) FROM pragma_{name}")))
            .fetch_one(&mut *turn.link)
            .await;
        row.expect("a setting").get(0)
    }

    #[cfg(test)]
    pub(crate) async fn wait_for_queue(&self, bodies: usize) {
        while self.queue.max_capacity() - self.queue.capacity() < bodies {
            tokio::task::yield_now().await;
        }
    }

    #[cfg(test)]
    pub(crate) fn commits(&self) -> u64 {
        self.commits.load(std::sync::atomic::Ordering::SeqCst)
    }
}

struct Group {
    connection: Arc<Mutex<SqliteConnection>>,
    messages: mpsc::Receiver<Message>,
    #[cfg(test)]
    commits: Arc<std::sync::atomic::AtomicU64>,
}

type Verdict = oneshot::Sender<Result<(), EngineFault>>;

impl Group {
    async fn serve(mut self) {
        let mut ahead = None;
        loop {
            let message = match ahead.take() {
                Some(message) => message,
                None => match self.messages.recv().await {
                    Some(message) => message,
                    None => return self.end().await,
                },
            };
            match message {
                Message::Body(offer) if offer.is_closed() => {}
                Message::Body(offer) => ahead = self.commit_group(offer).await,
                Message::Checkpoint(done) => {
                    let truncated = self.sql("PRAGMA wal_checkpoint(TRUNCATE)").await;
                    let _ = done.send(truncated.map_err(StoreError::Engine));
                }
                Message::Close(done) => {
                    self.end().await;
                    let _ = done.send(());
                    return;
                }
            }
        }
    }

    /// Runs one group and tells its bodies how it ended. Returns a message that is not a body and came meanwhile.
    async fn commit_group(&mut self, first: oneshot::Sender<Result<Turn, EngineFault>>) -> Option<Message> {
        if let Err(fault) = self.sql("BEGIN IMMEDIATE").await {
            let _ = first.send(Err(fault));
            return None;
        }
        let mut verdicts = Vec::new();
        let (turns, ahead) = self.take_turns(first, &mut verdicts).await;
        let outcome = match turns {
            Ok(()) => self.sql("COMMIT").await,
            Err(fault) => Err(fault),
        };
        if outcome.is_err() {
            // The engine may have left the transaction by itself; then this says so and nothing is lost.
            let _ = self.sql("ROLLBACK").await;
        }
        #[cfg(test)]
        self.commits.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        for verdict in verdicts {
            // A caller that is gone needs no verdict.
            let _ = verdict.send(outcome.clone());
        }
        ahead
    }

    async fn take_turns(
        &mut self,
        first: oneshot::Sender<Result<Turn, EngineFault>>,
        verdicts: &mut Vec<Verdict>,
    ) -> (Result<(), EngineFault>, Option<Message>) {
        let mut offer = first;
        loop {
            if !offer.is_closed()
                && let Err(fault) = self.take_turn(offer, verdicts).await
            {
                return (Err(fault), None);
            }
            if verdicts.len() >= limits::STORE_GROUP_MAX {
                return (Ok(()), None);
            }
            match self.messages.try_recv() {
                Ok(Message::Body(next)) => offer = next,
                Ok(other) => return (Ok(()), Some(other)),
                Err(_) => return (Ok(()), None),
            }
        }
    }

    /// One body inside its savepoint. An error is about the whole group.
    async fn take_turn(
        &self,
        offer: oneshot::Sender<Result<Turn, EngineFault>>,
        verdicts: &mut Vec<Verdict>,
    ) -> Result<(), EngineFault> {
        if let Err(fault) = self.sql("SAVEPOINT body").await {
            let _ = offer.send(Err(fault.clone()));
            return Err(fault);
        }
        let (report, reported) = oneshot::channel();
        let (verdict, given) = oneshot::channel();
        let link = Arc::clone(&self.connection).lock_owned().await;
        verdicts.push(verdict);
        // A caller that is gone gets its turn back as an error, which drops the link and the report: an undo.
        let _ = offer.send(Ok(Turn { link, report, verdict: given }));
        match reported.await {
            Ok(Report::Keep) => {}
            Ok(Report::Undo) | Err(_) => self.sql("ROLLBACK TO body").await?,
        }
        self.sql("RELEASE body").await
    }

    async fn sql(&self, text: &'static str) -> Result<(), EngineFault> {
        let mut connection = self.connection.lock().await;
        sqlx::query(text).execute(&mut *connection).await.map(|_| ()).map_err(|error| EngineFault::from(&error))
    }

    async fn end(self) {
        let _ = self.sql("PRAGMA wal_checkpoint(TRUNCATE)").await;
        if let Some(connection) = Arc::into_inner(self.connection) {
            // Nothing can be lost any more: every verdict was given after its COMMIT.
            let _ = connection.into_inner().close().await;
        }
    }
}
