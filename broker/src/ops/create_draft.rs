//! Gives a connection its id before there is a manifest, so that what is sealed on the way to the review can be bound to it. A draft is in no list and does nothing.

use super::{
    create_connection::{check_profile, check_project_role, choose_format, find_project_id},
    endpoint::check_endpoint,
    names::check_name,
};
use crate::{
    app::App,
    door::{make_random, wire_seconds},
    http::{caller::Caller, error::ApiError},
};
use contract::{
    AuditEvent,
    audit::AuditLog,
    connection::{CreateDraft, DraftRow},
    ids::ConnectionId,
};
use store::{Draft, NewDraft};

/// Checks what the connection will be, makes the draft and writes down that it was made.
pub(crate) async fn create_draft(app: &App, caller: &Caller, request: CreateDraft) -> Result<DraftRow, ApiError> {
    check_name(&request.name)?;
    check_profile(request.transport)?;
    let project_id = find_project_id(request.scope, &request.project_id)?;
    let seal_format = choose_format(caller.session_class, None)?;
    let endpoint = check_endpoint(&request.endpoint, seal_format)
        .map_err(|error| ApiError::field("endpoint", &error.to_string()))?;

    let id = ConnectionId::from_random(make_random()?);
    let (viewer, now_ms) = (&caller.viewer(), app.now_ms());
    let new = NewDraft {
        id: &id,
        name: &request.name,
        project_id: project_id.as_ref(),
        profile: request.transport,
        endpoint: &endpoint,
        seal_format,
        device_id: &caller.device_id,
    };
    let made = app
        .store()
        .run("create_draft", |mut tx| async move {
            check_project_role(&mut tx, viewer, new.project_id).await?;
            let made = tx.insert_draft(viewer, new, now_ms).await?;
            let event = AuditEvent::ConnectionDrafted {
                connection_id: made.id.clone(),
                scope: made.scope,
                project_id: made.project_id.clone(),
                profile: made.profile,
                expires_at_ms: made.expires_at_ms,
            };
            let log = AuditLog::Workspace(viewer.workspace_id.clone());
            tx.commit_with(event.entry(log, caller.actor(), now_ms), made).await
        })
        .await?;
    Ok(draft_row(made))
}

fn draft_row(draft: Draft) -> DraftRow {
    DraftRow {
        id: draft.id,
        name: draft.name,
        scope: draft.scope,
        project_id: draft.project_id.map_or_else(String::new, |id| id.as_str().to_owned()),
        transport: draft.profile,
        endpoint: draft.endpoint,
        seal_format: draft.seal_format,
        status: DraftRow::STATUS.to_owned(),
        expires_at: wire_seconds(draft.expires_at_ms),
    }
}
