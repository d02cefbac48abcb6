//! Workspaces and who belongs to them. A workspace is the tenant; membership never creates execution trust.

use super::{Viewer, role::RoleChange};
use crate::{
    engine::{ReadTx, Row, Tx, bind, statements},
    error::StoreError,
};
use contract::{
    ids::{UserId, WorkspaceId},
    limits,
    workspace::{Role, WorkspaceKind},
};

statements! {
    Write "workspace" INSERT_WORKSPACE = "INSERT INTO workspace (id, name, kind, created_at_ms) VALUES ($1, $2, $3, $4)";
    Read "membership" COUNT_OWNED = "SELECT COUNT(*) AS number FROM membership WHERE user_id = $1 AND role = 'owner'";
    Read "workspace" LIST_WORKSPACES =
        "SELECT w.id, w.name, w.kind, w.created_at_ms, m.role FROM workspace w JOIN membership m ON m.workspace_id = w.id
         WHERE m.user_id = $1 ORDER BY w.created_at_ms, w.id LIMIT $2";
    Read "workspace" FIND_WORKSPACE =
        "SELECT w.id, w.name, w.kind, w.created_at_ms, m.role FROM workspace w JOIN membership m ON m.workspace_id = w.id
         WHERE m.workspace_id = $1 AND m.user_id = $2";
    Read "membership" FIND_ROLE = "SELECT user_id, role FROM membership WHERE workspace_id = $1 AND user_id = $2";
    Read "membership" LIST_MEMBERS =
        r#"SELECT m.user_id, m.role, u.display_name FROM membership m JOIN "user" u ON u.id = m.user_id
           WHERE m.workspace_id = $1 ORDER BY m.created_at_ms, m.user_id LIMIT $2"#;
    Read "membership" COUNT_MEMBERS = "SELECT COUNT(*) AS number FROM membership WHERE workspace_id = $1";
    Read "membership" COUNT_OTHER_OWNERS =
        "SELECT COUNT(*) AS number FROM membership WHERE workspace_id = $1 AND role = 'owner' AND user_id <> $2";
    Read "user" FIND_ANY_USER = r#"SELECT id FROM "user" WHERE id = $1"#;
    Write "membership" INSERT_MEMBER =
        "INSERT INTO membership (workspace_id, user_id, role, created_at_ms) VALUES ($1, $2, $3, $4)";
    Write "membership" SET_MEMBER_ROLE = "UPDATE membership SET role = $3 WHERE workspace_id = $1 AND user_id = $2 AND role = $4";
    Write "membership" DELETE_MEMBER = "DELETE FROM membership WHERE workspace_id = $1 AND user_id = $2 AND role = $3";
    Write "session_family" END_MEMBER_FAMILIES =
        "UPDATE session_family SET ended_at_ms = $3, end_reason = 'membership_ended'
         WHERE workspace_id = $1 AND user_id = $2 AND ended_at_ms IS NULL";
}

/// A workspace as one of its members sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    /// Id.
    pub id: WorkspaceId,
    /// Name.
    pub name: String,
    /// Personal or team.
    pub kind: WorkspaceKind,
    /// Unix milliseconds.
    pub created_at_ms: i64,
    /// The viewer's role in it.
    pub role: Role,
}

/// What a new workspace begins with.
#[derive(Debug, Clone, Copy)]
pub struct NewWorkspace<'a> {
    /// A fresh id.
    pub id: &'a WorkspaceId,
    /// 1 to 200 characters.
    pub name: &'a str,
    /// Personal or team.
    pub kind: WorkspaceKind,
    /// Its first owner.
    pub owner_id: &'a UserId,
}

/// A member of a workspace or a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Who.
    pub user_id: UserId,
    /// As what.
    pub role: Role,
    /// For display only.
    pub display_name: String,
}

/// What setting a member's role did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemberChange {
    /// They were no member before.
    Added,
    /// They had another role.
    Changed {
        /// The role before.
        from: Role,
    },
    /// They had this role; nothing was written.
    Unchanged,
}

impl ReadTx {
    /// Every workspace of a person, oldest first.
    pub async fn list_workspaces(&mut self, user_id: &UserId) -> Result<Vec<Workspace>, StoreError> {
        let rows = self.list(&LIST_WORKSPACES, bind![user_id, limits::MEMBERS_MAX]).await?;
        rows.iter().map(Workspace::try_from).collect()
    }

    /// The viewer's workspace, if they belong to it.
    pub async fn find_workspace(&mut self, viewer: &Viewer) -> Result<Option<Workspace>, StoreError> {
        let row = self.find(&FIND_WORKSPACE, bind![&viewer.workspace_id, &viewer.user_id]).await?;
        row.map(|row| Workspace::try_from(&row)).transpose()
    }

    /// The viewer's role in their workspace.
    pub async fn find_role(&mut self, viewer: &Viewer) -> Result<Option<Role>, StoreError> {
        let row = self.find(&FIND_ROLE, bind![&viewer.workspace_id, &viewer.user_id]).await?;
        row.map(|row| row.parsed("role", Role::parse)).transpose()
    }

    /// Every member of the viewer's workspace, oldest first; [`StoreError::NotVisible`] when they do not belong to it.
    pub async fn list_members(&mut self, viewer: &Viewer) -> Result<Vec<Member>, StoreError> {
        self.find_role(viewer).await?.ok_or(StoreError::NotVisible { what: "workspace" })?;
        let rows = self.list(&LIST_MEMBERS, bind![&viewer.workspace_id, limits::MEMBERS_MAX]).await?;
        rows.iter().map(Member::try_from).collect()
    }

    /// A count, from a statement whose one column is `number`.
    pub(crate) async fn count(
        &mut self,
        statement: &'static crate::engine::Statement,
        values: Vec<crate::engine::Value>,
    ) -> Result<u64, StoreError> {
        self.find(statement, values).await?.map_or(Ok(0), |row| row.count("number"))
    }
}

impl Tx {
    /// Makes a workspace with its first owner. [`StoreError::Full`] beyond [`limits::WORKSPACES_PER_USER_MAX`] owned ones.
    pub async fn insert_workspace(&mut self, new: NewWorkspace<'_>, now_ms: i64) -> Result<(), StoreError> {
        if self.count(&COUNT_OWNED, bind![new.owner_id]).await? >= limits::WORKSPACES_PER_USER_MAX {
            return Err(StoreError::Full { what: "workspaces", max: limits::WORKSPACES_PER_USER_MAX });
        }
        self.execute_one(&INSERT_WORKSPACE, bind![new.id, new.name, new.kind.as_str(), now_ms]).await?;
        self.execute_one(&INSERT_MEMBER, bind![new.id, new.owner_id, Role::Owner.as_str(), now_ms]).await
    }

    /// Gives `user_id` this role in the actor's workspace, as a new member or instead of the role they have.
    ///
    /// Invariant: a workspace always has an owner. The actor's rank, the member's rank and the count of owners are read in the transaction that writes.
    pub async fn set_member(
        &mut self,
        actor: &Viewer,
        user_id: &UserId,
        role: Role,
        now_ms: i64,
    ) -> Result<MemberChange, StoreError> {
        let change = self.role_change(actor, user_id, Some(role)).await?;
        if change.present == Some(role) {
            return Ok(MemberChange::Unchanged);
        }
        self.check_change(change, actor, user_id).await?;
        let Some(from) = change.present else {
            self.find(&FIND_ANY_USER, bind![user_id]).await?.ok_or(StoreError::NotVisible { what: "user" })?;
            if self.count(&COUNT_MEMBERS, bind![&actor.workspace_id]).await? >= limits::MEMBERS_MAX {
                return Err(StoreError::Full { what: "members", max: limits::MEMBERS_MAX });
            }
            self.execute_one(&INSERT_MEMBER, bind![&actor.workspace_id, user_id, role.as_str(), now_ms]).await?;
            return Ok(MemberChange::Added);
        };
        self.execute_one(&SET_MEMBER_ROLE, bind![&actor.workspace_id, user_id, role.as_str(), from.as_str()]).await?;
        Ok(MemberChange::Changed { from })
    }

    /// Ends a membership with its project memberships and its sessions in this workspace. Returns the role they had.
    pub async fn remove_member(&mut self, actor: &Viewer, user_id: &UserId, now_ms: i64) -> Result<Role, StoreError> {
        let change = self.role_change(actor, user_id, None).await?;
        let present = change.present.ok_or(StoreError::NotVisible { what: "member" })?;
        self.check_change(change, actor, user_id).await?;
        self.execute_one(&DELETE_MEMBER, bind![&actor.workspace_id, user_id, present.as_str()]).await?;
        self.execute(&END_MEMBER_FAMILIES, bind![&actor.workspace_id, user_id, now_ms]).await?;
        Ok(present)
    }

    async fn role_change(
        &mut self,
        actor: &Viewer,
        user_id: &UserId,
        next: Option<Role>,
    ) -> Result<RoleChange, StoreError> {
        let role = self.find_role(actor).await?.ok_or(StoreError::NotVisible { what: "workspace" })?;
        let target = Viewer { workspace_id: actor.workspace_id.clone(), user_id: user_id.clone() };
        let present = self.find_role(&target).await?;
        Ok(RoleChange { actor: role, own: actor.user_id == *user_id, present, next })
    }

    async fn check_change(&mut self, change: RoleChange, actor: &Viewer, user_id: &UserId) -> Result<(), StoreError> {
        change.check()?;
        if change.loses_owner() && self.count(&COUNT_OTHER_OWNERS, bind![&actor.workspace_id, user_id]).await? == 0 {
            return Err(StoreError::LastOwner);
        }
        Ok(())
    }
}

impl TryFrom<&Row> for Workspace {
    type Error = StoreError;

    fn try_from(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.id("id")?,
            name: row.text("name")?,
            kind: row.parsed("kind", WorkspaceKind::parse)?,
            created_at_ms: row.int("created_at_ms")?,
            role: row.parsed("role", Role::parse)?,
        })
    }
}

impl TryFrom<&Row> for Member {
    type Error = StoreError;

    fn try_from(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            user_id: row.id("user_id")?,
            role: row.parsed("role", Role::parse)?,
            display_name: row.text("display_name")?,
        })
    }
}
