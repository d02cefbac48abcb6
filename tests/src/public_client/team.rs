//! Workspaces, projects and their members as the public client reads them (wire-collie-v1 2.4).

use super::{PublicClient, Refusal, index, pyjson::Py, quote, rows, text, text_or};

impl PublicClient {
    /// `(id, name, kind, role)` of each workspace.
    pub async fn workspaces(&self) -> Result<Vec<[String; 4]>, Refusal> {
        let answer = self.call("GET", "/v1/workspaces", None).await?;
        rows(&answer, "workspaces")?
            .iter()
            .map(|row| Ok([text(row, "id")?, text(row, "name")?, text(row, "kind")?, text(row, "role")?]))
            .collect()
    }

    /// Makes a workspace; its id.
    pub async fn create_workspace(&self, name: &str) -> Result<String, Refusal> {
        let answer = self.call("POST", "/v1/workspaces", Some(&Py::dict([("name", Py::from(name))]))).await?;
        let workspace = index(&answer, "workspace")?;
        text(workspace, "name")?;
        text(workspace, "id")
    }

    /// `(id, name, role)` of each project; rows without id or name are dropped.
    pub async fn projects(&self) -> Result<Vec<[String; 3]>, Refusal> {
        let answer = self.call("GET", "/v1/projects", None).await?;
        let mut projects = Vec::new();
        for row in rows(&answer, "projects")? {
            let id = row.find("id").or_else(|| row.find("project_id"));
            let (Some(id), Some(name)) =
                (id.filter(|id| id.is_truthy()), row.find("name").filter(|name| name.is_truthy()))
            else {
                continue;
            };
            let id = id.as_str().ok_or(Refusal::NotAString("id"))?.to_owned();
            let name = name.as_str().ok_or(Refusal::NotAString("name"))?.to_owned();
            projects.push([id, name, text_or(row, "role", "member")?]);
        }
        Ok(projects)
    }

    /// Makes a project, under an id of the client's choice if one is given; its id.
    pub async fn create_project(&self, name: &str, project_id: Option<&str>) -> Result<String, Refusal> {
        let mut body = vec![("name".to_owned(), Py::from(name))];
        body.extend(project_id.map(|id| ("project_id".to_owned(), Py::from(id))));
        let answer = self.call("POST", "/v1/projects", Some(&Py::Dict(body.into_iter().collect()))).await?;
        let project = index(&answer, "project")?;
        text(project, "name")?;
        text_or(project, "role", "owner")?;
        text(project, "id")
    }

    /// `(user_id, role, display_name)` of each member of `workspaces/{id}` or `projects/{id}`.
    pub async fn members(&self, kind: &str, id: &str) -> Result<Vec<[String; 3]>, Refusal> {
        let answer = self.call("GET", &format!("/v1/{kind}/{}/members", quote(id)), None).await?;
        rows(&answer, "members")?
            .iter()
            .map(|row| Ok([text(row, "user_id")?, text(row, "role")?, text(row, "display_name")?]))
            .collect()
    }

    /// Adds a member; their role.
    pub async fn add_member(&self, kind: &str, id: &str, user_id: &str, role: &str) -> Result<String, Refusal> {
        let body = Py::dict([("user_id", Py::from(user_id)), ("role", Py::from(role))]);
        let answer = self.call("POST", &format!("/v1/{kind}/{}/members", quote(id)), Some(&body)).await?;
        let member = index(&answer, "member")?;
        text(member, "user_id")?;
        text(member, "role")
    }
}
