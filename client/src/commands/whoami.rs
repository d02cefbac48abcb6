//! Who and which device this is. Answers from this device alone when the service does not.

use crate::app::App;
use crate::error::CliError;
use crate::output::Outcome;
use contract::device::WhoAmI;
use contract::{Code, Json};

/// Runs `whoami`.
pub async fn run(app: &App) -> Result<Outcome, CliError> {
    let service = app.service()?;
    let key = service.folder.device_key()?.public_key();
    let me: Result<WhoAmI, CliError> = service.api()?.get("/v1/whoami").await;
    let (me, warning) = match me {
        Ok(me) => (Some(me), None),
        Err(error) if error.code == Code::Unreachable => {
            (None, Some(format!("the service did not answer; shown is what this device knows ({error})")))
        }
        Err(error) => return Err(error),
    };
    let profile = &service.profile;
    if me.as_ref().is_some_and(|me| me.deployment_id != profile.deployment_id || me.device_id != profile.device_id) {
        return Err(CliError::new(
            Code::TrustPin,
            "the service answers as another installation than the one this device was connected to",
        )
        .hint("if it was installed anew, run `collie online login --replace`; else do not trust it"));
    }
    let display_name = me.as_ref().map_or("", |me| me.display_name.as_str());
    let mut outcome = Outcome::new(Json::from_members([
        ("server", profile.base.as_str().into()),
        ("deployment_id", profile.deployment_id.as_str().into()),
        ("user_id", profile.user_id.as_str().into()),
        ("display_name", display_name.into()),
        ("workspace_id", profile.workspace_id.as_str().into()),
        ("device_id", profile.device_id.as_str().into()),
        ("device_name", profile.device_name.as_str().into()),
        ("session_class", profile.session_class.as_str().into()),
        ("public_key", key.b64u().into()),
        ("fingerprint", key.fingerprint().into()),
    ]))
    .line(format!("user         {} {display_name}", profile.user_id))
    .line(format!("device       {} {}", profile.device_id, profile.device_name))
    .line(format!("workspace    {}", profile.workspace_id))
    .line(format!("service      {} ({})", profile.base, profile.deployment_id))
    .line(format!("session      {}", profile.session_class))
    .line(format!("public key   {}", key.b64u()))
    .line(format!("fingerprint  {}", key.fingerprint()));
    if let Some(warning) = warning {
        outcome = outcome.warn(warning);
    }
    Ok(outcome)
}
