//! Signs this device out: revokes it at the service, destroys its key and its tokens. The sealed copy and the sealing key stay unless told otherwise.

use crate::app::{App, Service};
use crate::error::CliError;
use crate::output::Outcome;
use crate::state::forget;
use crate::state::profile::{Profile, Standing};
use contract::device::RevokeDevice;
use contract::{Code, Json};

/// Arguments of `logout`.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Args {
    /// Do not tell the service; the device stays on the account until it is revoked from another one.
    #[arg(long)]
    pub local_only: bool,
    /// Sign out here even if the service cannot be told.
    #[arg(long)]
    pub force: bool,
    /// Delete the sealed copy of the connections too.
    #[arg(long)]
    pub forget_mirror: bool,
}

/// Runs `logout`.
pub async fn run(app: &App, args: &Args) -> Result<Outcome, CliError> {
    let Some(service) = app.find_service()? else { return nothing(app, args, None).await };
    if service.profile.standing != Standing::Connected {
        return nothing(app, args, Some(&service)).await;
    }
    let lock = service.folder.lock_login()?;
    let (revoked, trouble) = if args.local_only { (false, None) } else { revoke(&service, args).await? };
    service.folder.remove_sessions()?;
    service.folder.remove_pairing()?;
    service.folder.remove_device_key()?;
    let mirror = forget_mirror(args, &service).await?;
    // The device may have been revoked already; then everything is forgotten and that is how it stands.
    let profile = service.folder.find_profile()?.unwrap_or_else(|| service.profile.clone());
    if profile.standing == Standing::Connected {
        service.folder.store_profile(&Profile {
            standing: Standing::SignedOut,
            changed_at: app.door.now_s(),
            ..profile
        })?;
    }
    drop(lock);
    let mut outcome =
        Outcome::new(data(revoked, mirror)).line(format!("Signed out on this device. Local mirror {mirror}."));
    if !revoked {
        let device = &service.profile.device_id;
        outcome = outcome.warn(match trouble {
            Some(error) => format!("the service was not told ({error}); revoke {device} from another device"),
            None => format!("the service was not told; revoke {device} from another device"),
        });
    }
    if service.folder.find_sealing_key()?.is_some() {
        outcome = outcome.warn(format!(
            "the sealing key stays in {}: whoever can read this folder and a sealed copy can open it",
            service.folder.path().display()
        ));
    }
    Ok(outcome)
}

/// Nobody is signed in: nothing changes, but for a copy that is to be forgotten.
async fn nothing(app: &App, args: &Args, service: Option<&Service<'_>>) -> Result<Outcome, CliError> {
    let mirror = match service {
        Some(service) => forget_mirror(args, service).await?,
        None => "kept",
    };
    let line = match (service, mirror) {
        (Some(_), "deleted") => "This device was signed out already. Local mirror deleted.".to_owned(),
        (Some(_), _) => "This device was signed out already. Nothing changed.".to_owned(),
        (None, _) => match app.find_base()? {
            Some(base) => format!("This device was never connected to {base}. Nothing changed."),
            None => "This device was never connected. Nothing changed.".to_owned(),
        },
    };
    Ok(Outcome::new(data(false, mirror)).line(line))
}

/// Tells the service; says whether it knows. With `--force` a failure is only reported.
async fn revoke(service: &Service<'_>, args: &Args) -> Result<(bool, Option<CliError>), CliError> {
    let body = RevokeDevice { device_id: service.profile.device_id.clone() };
    let told: Result<Json, CliError> = service.api()?.post("/v1/devices/revoke", &body).await;
    match told {
        Ok(_) => Ok((true, None)),
        Err(error) if error.code == Code::SessionRevoked => Ok((true, None)),
        Err(error) if args.force => Ok((false, Some(error))),
        Err(error) => Err(error.hint(
            "run `collie online logout --force` to sign out here anyway; then revoke this device from another one",
        )),
    }
}

async fn forget_mirror(args: &Args, service: &Service<'_>) -> Result<&'static str, CliError> {
    if !args.forget_mirror {
        return Ok("kept");
    }
    forget::forget_copy(&service.folder).await?;
    Ok("deleted")
}

fn data(revoked: bool, mirror: &str) -> Json {
    Json::from_members([("revoked", revoked.into()), ("mirror", mirror.into())])
}
