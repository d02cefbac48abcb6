//! Projects inside a workspace. An id that a person chooses can neither take nor reveal somebody else's.

use super::{
    Inserted, Viewer,
    role::RoleChange,
    workspace::{Member, MemberChange},
};
use crate::{
    engine::{ReadTx, Row, Tx, bind, statements},
    error::StoreError,
};
use contract::{
    ids::{ProjectId, UserId},
    limits,
    workspace::Role,
};

statements! {
    Read "project" LIST_PROJECTS =
        "SELECT p.id, p.name, p.created_by, p.created_at_ms, p.updated_at_ms, m.role
         FROM project p JOIN project_member m ON m.workspace_id = p.workspace_id AND m.project_id = p.id
         WHERE m.workspace_id = $1 AND m.user_id = $2 ORDER BY p.created_at_ms, p.id LIMIT $3";
    Read "project" FIND_PROJECT =
        "SELECT p.id, p.name, p.created_by, p.created_at_ms, p.updated_at_ms, m.role
         FROM project p JOIN project_member m ON m.workspace_id = p.workspace_id AND m.project_id = p.id
         WHERE m.workspace_id = $1 AND m.user_id = $2 AND m.project_id = $3";
    Read "project" FIND_REQUESTED =
        "SELECT p.id, p.name, p.created_by, p.created_at_ms, p.updated_at_ms, m.role
         FROM project p JOIN project_member m ON m.workspace_id = p.workspace_id AND m.project_id = p.id
         WHERE p.workspace_id = $1 AND p.created_by = $2 AND p.requested_id = $3 AND m.user_id = $2";
    Read "project" FIND_TAKEN = "SELECT id FROM project WHERE workspace_id = $1 AND id = $2";
    Read "project" COUNT_PROJECTS = "SELECT COUNT(*) AS number FROM project WHERE workspace_id = $1";
    Write "project" INSERT_PROJECT =
        "INSERT INTO project (workspace_id, id, name, created_by, requested_id, created_at_ms, updated_at_ms)
         VALUES ($1, $2, $3, $4, $5, $6, $6)";
    Read "project_member" LIST_PROJECT_MEMBERS =
        r#"SELECT m.user_id, m.role, u.display_name FROM project_member m JOIN "user" u ON u.id = m.user_id
           WHERE m.workspace_id = $1 AND m.project_id = $2 ORDER BY m.created_at_ms, m.user_id LIMIT $3"#;
    Read "project_member" FIND_PROJECT_ROLE =
        "SELECT user_id, role FROM project_member WHERE workspace_id = $1 AND project_id = $2 AND user_id = $3";
    Read "project_member" COUNT_PROJECT_MEMBERS =
        "SELECT COUNT(*) AS number FROM project_member WHERE workspace_id = $1 AND project_id = $2";
    Read "project_member" COUNT_OTHER_PROJECT_OWNERS =
        "SELECT COUNT(*) AS number FROM project_member
         WHERE workspace_id = $1 AND project_id = $2 AND role = 'owner' AND user_id <> $3";
    Read "membership" FIND_WORKSPACE_MEMBER = "SELECT user_id FROM membership WHERE workspace_id = $1 AND user_id = $2";
    Write "project_member" INSERT_PROJECT_MEMBER =
        "INSERT INTO project_member (workspace_id, project_id, user_id, role, created_at_ms) VALUES ($1, $2, $3, $4, $5)";
    Write "project_member" SET_PROJECT_ROLE =
        "UPDATE project_member SET role = $4 WHERE workspace_id = $1 AND project_id = $2 AND user_id = $3 AND role = $5";
}

/// A project as one of its members sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// Id, unique in its workspace.
    pub id: ProjectId,
    /// Name.
    pub name: String,
    /// Who made it.
    pub created_by: UserId,
    /// Unix milliseconds.
    pub created_at_ms: i64,
    /// Unix milliseconds.
    pub updated_at_ms: i64,
    /// The viewer's role in it.
    pub role: Role,
}

/// What a new project begins with.
#[derive(Debug, Clone, Copy)]
pub struct NewProject<'a> {
    /// The id its author asks for. The same id and name from the same author give the same project.
    pub requested_id: Option<&'a ProjectId>,
    /// A fresh id, taken when nothing was asked for or the asked one belongs to a project its author cannot see.
    pub fresh_id: &'a ProjectId,
    /// 1 to 200 characters.
    pub name: &'a str,
}

impl ReadTx {
    /// Every project of the viewer in their workspace, oldest first.
    pub async fn list_projects(&mut self, viewer: &Viewer) -> Result<Vec<Project>, StoreError> {
        let rows = self
            .list(&LIST_PROJECTS, bind![&viewer.workspace_id, &viewer.user_id, limits::PROJECTS_PER_WORKSPACE_MAX])
            .await?;
        rows.iter().map(Project::try_from).collect()
    }

    /// A project of the viewer.
    pub async fn find_project(&mut self, viewer: &Viewer, id: &ProjectId) -> Result<Option<Project>, StoreError> {
        let row = self.find(&FIND_PROJECT, bind![&viewer.workspace_id, &viewer.user_id, id]).await?;
        row.map(|row| Project::try_from(&row)).transpose()
    }

    /// Every member of a project of the viewer, oldest first.
    pub async fn list_project_members(&mut self, viewer: &Viewer, id: &ProjectId) -> Result<Vec<Member>, StoreError> {
        self.find_project(viewer, id).await?.ok_or(StoreError::NotVisible { what: "project" })?;
        let rows = self.list(&LIST_PROJECT_MEMBERS, bind![&viewer.workspace_id, id, limits::MEMBERS_MAX]).await?;
        rows.iter().map(Member::try_from).collect()
    }
}

impl Tx {
    /// Makes a project owned by the viewer, or finds the one they made before with the same requested id and name.
    pub async fn insert_project(
        &mut self,
        viewer: &Viewer,
        new: NewProject<'_>,
        now_ms: i64,
    ) -> Result<Inserted<Project>, StoreError> {
        self.find_role(viewer).await?.ok_or(StoreError::NotVisible { what: "workspace" })?;
        if let Some(standing) = self.find_standing(viewer, new.requested_id).await? {
            let same = standing.name == new.name;
            return if same { Ok(Inserted::Same(standing)) } else { Err(StoreError::AlreadyThere { what: "project" }) };
        }
        if self.count(&COUNT_PROJECTS, bind![&viewer.workspace_id]).await? >= limits::PROJECTS_PER_WORKSPACE_MAX {
            return Err(StoreError::Full { what: "projects", max: limits::PROJECTS_PER_WORKSPACE_MAX });
        }
        let id = match new.requested_id {
            Some(requested) if self.find(&FIND_TAKEN, bind![&viewer.workspace_id, requested]).await?.is_none() => {
                requested
            }
            Some(_) | None => new.fresh_id,
        };
        self.execute_one(
            &INSERT_PROJECT,
            bind![&viewer.workspace_id, id, new.name, &viewer.user_id, new.requested_id, now_ms],
        )
        .await?;
        self.execute_one(
            &INSERT_PROJECT_MEMBER,
            bind![&viewer.workspace_id, id, &viewer.user_id, Role::Owner.as_str(), now_ms],
        )
        .await?;
        let made = self.find_project(viewer, id).await?.ok_or(StoreError::NotVisible { what: "project" })?;
        Ok(Inserted::New(made))
    }

    /// Gives a member of the workspace this role in a project of the actor. A project keeps at least one owner.
    pub async fn set_project_member(
        &mut self,
        actor: &Viewer,
        id: &ProjectId,
        user_id: &UserId,
        role: Role,
        now_ms: i64,
    ) -> Result<MemberChange, StoreError> {
        let project = self.find_project(actor, id).await?.ok_or(StoreError::NotVisible { what: "project" })?;
        let row = self.find(&FIND_PROJECT_ROLE, bind![&actor.workspace_id, id, user_id]).await?;
        let present = row.map(|row| row.parsed("role", Role::parse)).transpose()?;
        if present == Some(role) {
            return Ok(MemberChange::Unchanged);
        }
        let change = RoleChange { actor: project.role, own: actor.user_id == *user_id, present, next: Some(role) };
        change.check()?;
        if change.loses_owner()
            && self.count(&COUNT_OTHER_PROJECT_OWNERS, bind![&actor.workspace_id, id, user_id]).await? == 0
        {
            return Err(StoreError::LastOwner);
        }
        if let Some(from) = present {
            self.execute_one(&SET_PROJECT_ROLE, bind![&actor.workspace_id, id, user_id, role.as_str(), from.as_str()])
                .await?;
            return Ok(MemberChange::Changed { from });
        }
        self.find(&FIND_WORKSPACE_MEMBER, bind![&actor.workspace_id, user_id])
            .await?
            .ok_or(StoreError::NotVisible { what: "member" })?;
        if self.count(&COUNT_PROJECT_MEMBERS, bind![&actor.workspace_id, id]).await? >= limits::MEMBERS_MAX {
            return Err(StoreError::Full { what: "members", max: limits::MEMBERS_MAX });
        }
        self.execute_one(&INSERT_PROJECT_MEMBER, bind![&actor.workspace_id, id, user_id, role.as_str(), now_ms])
            .await?;
        Ok(MemberChange::Added)
    }

    async fn find_standing(
        &mut self,
        viewer: &Viewer,
        requested: Option<&ProjectId>,
    ) -> Result<Option<Project>, StoreError> {
        let Some(requested) = requested else { return Ok(None) };
        let own = self.find(&FIND_REQUESTED, bind![&viewer.workspace_id, &viewer.user_id, requested]).await?;
        match own {
            Some(row) => Project::try_from(&row).map(Some),
            None => self.find_project(viewer, requested).await,
        }
    }
}

impl TryFrom<&Row> for Project {
    type Error = StoreError;

    fn try_from(row: &Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.id("id")?,
            name: row.text("name")?,
            created_by: row.id("created_by")?,
            created_at_ms: row.int("created_at_ms")?,
            updated_at_ms: row.int("updated_at_ms")?,
            role: row.parsed("role", Role::parse)?,
        })
    }
}
