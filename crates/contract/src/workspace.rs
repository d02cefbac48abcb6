//! Workspaces, projects and their members on the wire (wire-collie-v1 2.4).

use crate::{
    connection::words,
    ids::{ProjectId, UserId, WorkspaceId},
};
use serde::{Deserialize, Serialize};

words! {
    /// What a member may do; owner first.
    Role {
        /// Everything, and cannot be removed while the last one.
        Owner = "owner",
        /// Manages members below admin.
        Admin = "admin",
        /// Uses.
        Member = "member",
        /// Sees what a project shows them.
        Guest = "guest",
    }
}

words! {
    /// Kind of workspace.
    WorkspaceKind {
        /// One person's own.
        Personal = "personal",
        /// Several people.
        Team = "team",
    }
}

/// One workspace of the caller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceRow {
    /// Id.
    pub id: WorkspaceId,
    /// Name.
    pub name: String,
    /// Kind.
    pub kind: WorkspaceKind,
    /// The caller's role.
    pub role: Role,
}

/// GET /v1/workspaces
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceList {
    /// The complete set.
    pub workspaces: Vec<WorkspaceRow>,
}

/// POST /v1/workspaces
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CreateWorkspace {
    /// 1 to 200 characters.
    pub name: String,
}

/// 200 of [`CreateWorkspace`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceAnswer {
    /// The workspace.
    pub workspace: WorkspaceRow,
}

/// One member of a workspace or project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberRow {
    /// Who.
    pub user_id: UserId,
    /// As what.
    pub role: Role,
    /// Display only.
    pub display_name: String,
}

/// GET …/members
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberList {
    /// The complete set.
    pub members: Vec<MemberRow>,
}

/// POST …/members
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AddMember {
    /// Who.
    pub user_id: UserId,
    /// As what; never owner.
    pub role: Role,
}

/// 200 of [`AddMember`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberAnswer {
    /// The member.
    pub member: MemberRow,
}

/// One project of the caller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectRow {
    /// Id.
    pub id: ProjectId,
    /// Name.
    pub name: String,
    /// The caller's role.
    pub role: Role,
    /// Unix seconds.
    pub updated_at: u64,
    /// Its workspace.
    pub workspace_id: WorkspaceId,
}

/// GET /v1/projects
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectList {
    /// The complete set.
    pub projects: Vec<ProjectRow>,
}

/// POST /v1/projects
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CreateProject {
    /// 1 to 200 characters.
    pub name: String,
    /// The caller's own id for it: same id and name give the same answer, another name 409.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<ProjectId>,
}

/// 200 of [`CreateProject`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectAnswer {
    /// The project.
    pub project: ProjectRow,
}
