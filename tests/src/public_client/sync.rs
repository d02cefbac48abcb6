//! One `sync_once` of the public client, in its exact order, with everything that aborts it (wire-collie-v1 2.5).

use super::{PublicClient, Refusal, index, pyjson::Py, rows, text};

/// A sync object as the service sent it.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Server version.
    pub version: i64,
    /// Opened content.
    pub content: Py,
    /// Deleted.
    pub tombstone: bool,
}

/// What one sync did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SyncReport {
    /// Operations the service accepted.
    pub pushed: usize,
    /// Events applied.
    pub pulled: usize,
    /// Operations it refused.
    pub conflicts: usize,
    /// Cursor after the pull.
    pub cursor: i64,
    /// Rows of each list, in the order they are fetched.
    pub projects: usize,
    /// Connections.
    pub connections: usize,
    /// Credentials fetched.
    pub connection_credentials: usize,
    /// Nodes.
    pub nodes: usize,
    /// Missions.
    pub missions: usize,
    /// Schedules.
    pub schedules: usize,
}

impl PublicClient {
    /// Puts a change into the outbox, as an edit on this device does.
    pub fn queue(&mut self, operation: Py) {
        self.outbox.push(operation);
    }

    /// Operations that are still queued.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.outbox.len()
    }

    /// Shows the service a cursor, as a database that was restored would.
    pub fn set_cursor(&mut self, cursor: i64) {
        if let Some(profile) = &self.profile {
            self.cursors.insert(profile.workspace_id.clone(), cursor);
        }
    }

    /// push (if something is queued) → pull one page → projects → connections → credentials → nodes, missions, schedules.
    /// Any failure but that of a credential's status ends it.
    pub async fn sync_once(&mut self, limit: usize) -> Result<SyncReport, Refusal> {
        let mut report = SyncReport::default();
        if !self.outbox.is_empty() {
            (report.pushed, report.conflicts) = self.push(limit).await?;
        }
        (report.pulled, report.cursor) = self.pull(limit).await?;
        report.projects = self.projects().await?.len();
        let connections = self.list_connections().await?;
        report.connections = connections.len();
        self.credentials.retain(|id, _| connections.iter().any(|row| row.id == *id));
        for row in connections.iter().filter(|row| row.transport == "device_direct") {
            if self.refresh_credential(&row.id).await? {
                report.connection_credentials += 1;
            }
        }
        self.connections = connections;
        report.nodes = self.list("/v1/nodes", "nodes", &["id", "name", "kind", "status"]).await?;
        report.missions = self.list("/v1/missions", "missions", &["id", "state", "goal"]).await?;
        report.schedules = self.list("/v1/schedules", "schedules", &["id", "name", "cadence"]).await?;
        Ok(report)
    }

    async fn push(&mut self, limit: usize) -> Result<(usize, usize), Refusal> {
        let batch: Vec<Py> = self.outbox.iter().take(limit).cloned().collect();
        let answer = self.call("POST", "/v1/sync/push", Some(&Py::dict([("operations", Py::List(batch))]))).await?;
        let mut settled = Vec::new();
        for accepted in rows(&answer, "accepted")? {
            text(accepted, "object_id")?;
            index(accepted, "version")?
                .as_i64()
                .filter(|version| *version > 0)
                .ok_or(Refusal::MissingKey("version"))?;
            settled.push(text(accepted, "operation_id")?);
        }
        let pushed = settled.len();
        for conflict in rows(&answer, "conflicts")? {
            settled.push(text(conflict, "operation_id")?);
        }
        let conflicts = settled.len() - pushed;
        self.outbox.retain(|op| op.find_str("operation_id").is_none_or(|id| !settled.iter().any(|done| done == id)));
        Ok((pushed, conflicts))
    }

    async fn pull(&mut self, limit: usize) -> Result<(usize, i64), Refusal> {
        let workspace = self.profile()?.workspace_id.clone();
        let cursor = self.cursors.get(&workspace).copied().unwrap_or(0);
        let answer = self.call("GET", &format!("/v1/sync/pull?cursor={cursor}&limit={limit}"), None).await?;
        let mut applied = 0;
        for event in rows(&answer, "events")? {
            applied += usize::from(self.apply(event)?);
        }
        let next = match answer.find("cursor").and_then(Py::as_i64) {
            None | Some(0) => cursor,
            Some(next) if next < cursor => return Err(Refusal::CursorLower),
            Some(next) => next,
        };
        self.cursors.insert(workspace, next);
        Ok((applied, next))
    }

    fn apply(&mut self, event: &Py) -> Result<bool, Refusal> {
        let id = text(event, "object_id")?;
        let class = text(event, "data_class")?;
        let content = index(event, "content")?;
        let opened = match class.as_str() {
            "device_only" | "secret" => return Ok(false),
            "cloud_indexed" => content.clone(),
            "sealed" => self.seal.open(&text(event, "project_id")?, &id, content).ok_or(Refusal::CannotOpen)?,
            _ => return Err(Refusal::UnknownDataClass(class)),
        };
        let version = index(event, "version")?.as_i64().ok_or(Refusal::MissingKey("version"))?;
        if self.objects.get(&id).is_some_and(|known| known.version >= version) {
            return Ok(false);
        }
        let tombstone = event.find("tombstone").is_some_and(Py::is_truthy);
        self.objects.insert(id, Event { version, content: opened, tombstone });
        Ok(true)
    }

    /// A failing status is swallowed; an answer that came but cannot be right ends the sync.
    async fn refresh_credential(&mut self, id: &str) -> Result<bool, Refusal> {
        let (envelope, updated_at) = match self.fetch_credential(id).await {
            Ok(found) => found,
            Err(Refusal::Service { .. }) => return Ok(false),
            Err(other) => return Err(other),
        };
        if self.credentials.get(id).is_some_and(|(_, known)| *known > updated_at) {
            return Err(Refusal::UpdatedAtLower);
        }
        self.credentials.insert(id.to_owned(), (envelope, updated_at));
        Ok(true)
    }

    async fn list(&self, target: &str, key: &'static str, strings: &[&'static str]) -> Result<usize, Refusal> {
        let answer = self.call("GET", target, None).await?;
        let found = rows(&answer, key)?;
        for row in found {
            for name in strings {
                text(row, name)?;
            }
        }
        Ok(found.len())
    }
}
