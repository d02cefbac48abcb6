//! Registers a connection. It begins in `review_required` and can do nothing until a person has reviewed it.

use super::{connection_budget, connection_row::connection_row, endpoint::check_endpoint, names::check_name};
use crate::{
    app::App,
    door::make_random,
    http::{caller::Caller, error::ApiError},
};
use contract::{
    AuditEvent, Code,
    audit::AuditLog,
    connection::{ConnectionRow, CreateConnection, Profile, Scope, SealFormat},
    device::SessionClass,
    ids::{ConnectionId, ProjectId},
    manifest,
    workspace::Role,
};
use store::{Draft, NewConnection, ReadTx, StoreError, Viewer};

/// Checks the request, makes the row and writes down that it was made.
pub(crate) async fn create_connection(
    app: &App,
    caller: &Caller,
    request: CreateConnection,
) -> Result<ConnectionRow, ApiError> {
    check_name(&request.name)?;
    check_profile(request.transport)?;
    let project_id = find_project_id(request.scope, &request.project_id)?;
    let seal_format = choose_format(caller.session_class, request.seal_format)?;
    let endpoint = check_endpoint(&request.endpoint, seal_format)
        .map_err(|error| ApiError::field("endpoint", &error.to_string()))?;
    manifest::check_v1(&request.manifest)?;

    let rows = manifest::sort_v1(&request.manifest);
    let id = match &request.draft_id {
        Some(draft) => draft.clone(),
        None => ConnectionId::from_random(make_random()?),
    };
    let digest = manifest::digest_v1(&rows);
    let (viewer, now_ms) = (&caller.viewer(), app.now_ms());
    let new = NewConnection {
        id: &id,
        name: &request.name,
        project_id: project_id.as_ref(),
        profile: request.transport,
        endpoint: &endpoint,
        manifest: &rows,
        manifest_digest: &digest,
        seal_format,
        device_id: &caller.device_id,
    };
    let event = &AuditEvent::ConnectionCreated {
        connection_id: id.clone(),
        scope: request.scope,
        project_id: project_id.clone(),
        profile: request.transport,
        seal_format,
        manifest_digest: digest,
        tools: rows.len() as u64,
    };
    let from_draft = request.draft_id.is_some();
    let made = app
        .store()
        .run("create_connection", |mut tx| async move {
            check_project_role(&mut tx, viewer, new.project_id).await?;
            if from_draft {
                let draft = tx.find_draft(viewer, new.id, now_ms).await?;
                check_draft(&draft.ok_or(StoreError::NotVisible { what: "draft" })?, &new)?;
                tx.use_draft(viewer, new.id, now_ms).await?;
            }
            let made = tx.insert_connection(viewer, new, now_ms).await?;
            connection_budget::check(&mut tx, viewer, made.scope).await?;
            let log = AuditLog::Workspace(viewer.workspace_id.clone());
            Ok::<_, ApiError>(tx.commit_with(event.clone().entry(log, caller.actor(), now_ms), made).await?)
        })
        .await?;
    Ok(connection_row(made))
}

/// What was sealed on the way is bound to the draft's own values, so the connection has the same.
fn check_draft(draft: &Draft, new: &NewConnection<'_>) -> Result<(), ApiError> {
    let agree = [
        ("name", draft.name == new.name),
        ("endpoint", draft.endpoint == new.endpoint),
        ("transport", draft.profile == new.profile),
        ("project_id", draft.project_id.as_ref() == new.project_id),
        ("seal_format", draft.seal_format == new.seal_format),
    ];
    match agree.into_iter().find(|(_, same)| !same) {
        Some((field, _)) => Err(ApiError::field(field, "the draft has another one")),
        None => Ok(()),
    }
}

pub(super) fn check_profile(profile: Profile) -> Result<(), ApiError> {
    match profile {
        Profile::DeviceDirect => Ok(()),
        Profile::CloudProxy => {
            Err(ApiError::new(Code::Unsupported, "this service has no vault of its own; use `device_direct`")
                .at("transport"))
        }
    }
}

/// A project exactly where the scope wants one.
pub(super) fn find_project_id(scope: Scope, project_id: &str) -> Result<Option<ProjectId>, ApiError> {
    match (scope, project_id) {
        (Scope::Personal, "") => Ok(None),
        (Scope::Personal, _) => Err(ApiError::field("project_id", "a personal connection has no project")),
        (Scope::Project, id) => {
            ProjectId::parse(id).map(Some).map_err(|error| ApiError::field("project_id", &error.to_string()))
        }
    }
}

/// The public client opens v1 alone, so what its session makes is v1; our clients choose, and v2 is what they get.
pub(super) fn choose_format(class: SessionClass, asked: Option<SealFormat>) -> Result<SealFormat, ApiError> {
    match (class, asked) {
        (SessionClass::Sliding, None | Some(SealFormat::V1)) | (SessionClass::Rotating, Some(SealFormat::V1)) => {
            Ok(SealFormat::V1)
        }
        (SessionClass::Rotating, None | Some(SealFormat::V2)) => Ok(SealFormat::V2),
        (SessionClass::Sliding, Some(SealFormat::V2)) => {
            Err(ApiError::field("seal_format", "this session makes `v1` connections only"))
        }
    }
}

/// A guest of a project reads; a project that the viewer does not see is refused by the insert, like one that is not there.
pub(super) async fn check_project_role(
    tx: &mut ReadTx,
    viewer: &Viewer,
    project: Option<&ProjectId>,
) -> Result<(), StoreError> {
    let Some(project) = project else { return Ok(()) };
    match tx.find_project(viewer, project).await?.map(|project| project.role) {
        Some(Role::Guest) => Err(StoreError::Outranked),
        Some(Role::Owner | Role::Admin | Role::Member) | None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_public_session_never_makes_what_it_cannot_open() {
        let format = |class, asked| choose_format(class, asked).ok();
        assert_eq!(format(SessionClass::Sliding, None), Some(SealFormat::V1));
        assert_eq!(format(SessionClass::Sliding, Some(SealFormat::V2)), None);
        assert_eq!(format(SessionClass::Rotating, None), Some(SealFormat::V2));
        assert_eq!(format(SessionClass::Rotating, Some(SealFormat::V1)), Some(SealFormat::V1));
    }
}
