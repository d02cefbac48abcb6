//! The sealed credential of a connection, for devices of the person who sealed it and of a session class that can open it. Everybody else hears that there is none.

use crate::{
    app::App,
    http::{caller::Caller, error::ApiError},
};
use contract::{connection::SealFormat, credential::CredentialAnswer, device::SessionClass, ids::ConnectionId};
use store::StoreError;

/// Finds the credential as it was sent.
pub(crate) async fn find_credential(
    app: &App,
    caller: &Caller,
    id: &ConnectionId,
) -> Result<CredentialAnswer, ApiError> {
    let viewer = &caller.viewer();
    let found = app
        .store()
        .read("find_credential", |mut tx| async move {
            tx.find_connection(viewer, id).await?.ok_or(StoreError::NotVisible { what: "connection" })?;
            tx.find_credential(viewer, id).await
        })
        .await?;
    let readable = found.filter(|stored| can_open(caller.session_class, stored.seal_format));
    let stored = readable.ok_or_else(|| ApiError::not_found("credential"))?;
    Ok(CredentialAnswer { sealed_credential: stored.sealed, updated_at: stored.updated_at_s })
}

/// Invariant: no v2 blob reaches a session of the public class (2.b.9); its client stores whatever a credential GET answers.
const fn can_open(class: SessionClass, format: SealFormat) -> bool {
    match (class, format) {
        (SessionClass::Rotating, SealFormat::V1 | SealFormat::V2) | (SessionClass::Sliding, SealFormat::V1) => true,
        (SessionClass::Sliding, SealFormat::V2) => false,
    }
}
