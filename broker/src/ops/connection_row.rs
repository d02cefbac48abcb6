//! A stored connection as the row that every device sees: the public client's fields byte for byte, then ours. Holds no ciphertext and grants nothing.

use crate::door::wire_seconds;
use contract::connection::{ConnectionPolicy, ConnectionRow, Status};
use store::Connection;

/// The row of `connection`.
///
/// Sessions of both classes get the same rows, those of v2 connections included. To the public client such a row is truthful and unusable at once: it registers no tool without a credential that it can open, and the credential is not there for it (2.b.9). Leaving the row out would be the lie, and changing its status would move a field that v1 credentials are bound to.
pub(crate) fn connection_row(connection: Connection) -> ConnectionRow {
    // After a drift the newest signed review is still what the credential is sealed under, and every device needs it to show the
    // difference and to seal anew; `status` says that it does not stand. After a later review of the public client it is history.
    let superseded = connection.status == Status::Active && connection.reviewed_raw_digest.is_none();
    let review = connection.review.filter(|_| !superseded);
    ConnectionRow {
        id: connection.id,
        name: connection.name,
        scope: connection.scope,
        project_id: connection.project_id.map_or_else(String::new, |id| id.as_str().to_owned()),
        transport: connection.profile,
        endpoint: connection.endpoint,
        manifest: connection.manifest,
        manifest_digest: connection.manifest_digest.b64u(),
        reviewed_digest: connection.reviewed_digest.map_or_else(String::new, |digest| digest.b64u()),
        status: connection.status,
        policy: ConnectionPolicy { allowed_effects: connection.allowed_effects },
        seal_format: connection.seal_format,
        version: connection.version,
        credential_version: connection.credential_version,
        review_seq: connection.review_seq,
        raw_digest: connection.raw_digest.map_or_else(String::new, |digest| digest.b64u()),
        review: review.map(|review| review.wire),
        reviewed_by: connection.reviewed_by.map_or_else(String::new, |id| id.as_str().to_owned()),
        created_at: wire_seconds(connection.created_at_ms),
    }
}
