//! The caller as the service sees it: person, workspace, device, installation.

use crate::{
    app::App,
    http::{caller::Caller, error::ApiError},
};
use contract::device::WhoAmI;

/// Names the caller.
pub(crate) async fn who_am_i(app: &App, caller: Caller) -> Result<WhoAmI, ApiError> {
    let who = &caller;
    let (user, device) = app
        .store()
        .read("who_am_i", |mut tx| async move {
            let user = tx.find_user(&who.user_id).await?.ok_or_else(|| ApiError::not_found("user"))?;
            let device =
                tx.find_device(&who.user_id, &who.device_id).await?.ok_or_else(|| ApiError::not_found("device"))?;
            Ok::<_, ApiError>((user, device))
        })
        .await?;
    Ok(WhoAmI {
        display_name: user.display_name,
        device_name: device.name,
        deployment_id: app.deployment_id().clone(),
        user_id: caller.user_id,
        workspace_id: caller.workspace_id,
        device_id: caller.device_id,
        session_class: caller.session_class,
    })
}
