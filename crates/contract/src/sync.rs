//! Sync calls as far as they exist: the public client's whole sync passes over truthfully empty streams, and what it pushes stays queued at the client.

use crate::Json;
use serde::{Deserialize, Serialize};

/// POST /v1/sync/push
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PushOperations {
    /// Oldest first.
    pub operations: Vec<Json>,
}

/// 200 of [`PushOperations`]. An operation in neither list stays queued at the client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct PushAnswer {
    /// Taken.
    pub accepted: Vec<Json>,
    /// Refused for good.
    pub conflicts: Vec<Json>,
}

/// GET /v1/sync/pull
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullAnswer {
    /// After the cursor.
    pub events: Vec<Json>,
    /// Never lower than the caller's.
    pub cursor: u64,
}

/// GET /v1/nodes
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct NodeList {
    /// The complete set.
    pub nodes: Vec<Json>,
}

/// GET /v1/missions
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct MissionList {
    /// The complete set.
    pub missions: Vec<Json>,
}

/// GET /v1/schedules
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
pub struct ScheduleList {
    /// The complete set.
    pub schedules: Vec<Json>,
}
