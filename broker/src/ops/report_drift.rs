//! A device read another manifest than the reviewed one. The report can only narrow: it lifts the review it names, and nothing else.

use super::connection_row::connection_row;
use crate::{
    app::App,
    http::{caller::Caller, error::ApiError},
};
use contract::{
    AuditEvent,
    audit::AuditLog,
    connection::{ConnectionRow, DriftReport},
    ids::ConnectionId,
};
use store::{Drift, DriftSeen, StoreError};

/// Lifts the review if it is the one that stands and its manifest is another; otherwise changes nothing. Answers the row as it stands.
pub(crate) async fn report_drift(
    app: &App,
    caller: &Caller,
    id: &ConnectionId,
    report: DriftReport,
) -> Result<ConnectionRow, ApiError> {
    let (viewer, now_ms, report) = (&caller.viewer(), app.now_ms(), &report);
    let row = app
        .store()
        .run("report_drift", |mut tx| async move {
            let seen = DriftSeen { raw_digest: &report.raw_digest, review_digest: &report.review_digest };
            let drift = tx.report_drift(viewer, id, seen, now_ms).await?;
            let connection =
                tx.find_connection(viewer, id).await?.ok_or(StoreError::NotVisible { what: "connection" })?;
            match drift {
                Drift::NothingToDo => tx.commit_unchanged(connection),
                Drift::Lifted { review_seq } => {
                    let raw_digest = Some(report.raw_digest);
                    let event = AuditEvent::ConnectionDrifted { connection_id: id.clone(), raw_digest, review_seq };
                    let log = AuditLog::Workspace(viewer.workspace_id.clone());
                    tx.commit_with(event.entry(log, caller.actor(), now_ms), connection).await
                }
            }
        })
        .await?;
    Ok(connection_row(row))
}
