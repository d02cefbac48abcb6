//! Binds a waiting device from this one: shows what the service knows about it, and binds exactly the key whose fingerprint was confirmed.

use crate::app::App;
use crate::error::CliError;
use crate::output::Outcome;
use crate::prompt;
use contract::device::{ApproveDevice, FindPending, PendingDevice};
use contract::{Code, Json};

/// Arguments of `device-approve`.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// The code that the new device shows.
    #[arg(value_name = "CODE")]
    pub code: String,
    /// The key fingerprint that the new device shows: confirms without asking, and binds no other key.
    #[arg(long, value_name = "FINGERPRINT")]
    pub fingerprint: Option<String>,
}

/// Runs `device-approve`.
pub async fn run(app: &App, args: &Args) -> Result<Outcome, CliError> {
    let service = app.service()?;
    let api = service.api()?;
    let pending: PendingDevice = api.post("/v1/devices/pending", &FindPending { user_code: args.code.clone() }).await?;
    app.output.say(&format!("device       {}", pending.device_name));
    app.output.say(&format!("fingerprint  {}", pending.fingerprint));
    app.output.say(&format!("session      {}", pending.session_class));
    app.output.say(&format!("speaks to    {}", pending.origin));
    app.output.say("This device will be on your account. It opens sealed connections only with the key that you bring there yourself.");
    confirm(args, &pending)?;
    let body = ApproveDevice { user_code: args.code.clone(), fingerprint: pending.fingerprint.clone() };
    let _: Json = api.post("/v1/devices/approve", &body).await?;
    Ok(Outcome::new(Json::from_members([
        ("device_name", pending.device_name.as_str().into()),
        ("fingerprint", pending.fingerprint.as_str().into()),
        ("session_class", pending.session_class.as_str().into()),
        ("origin", pending.origin.as_str().into()),
    ]))
    .line(format!("Approved device {}.", pending.device_name)))
}

fn confirm(args: &Args, pending: &PendingDevice) -> Result<(), CliError> {
    match &args.fingerprint {
        Some(said) if said.trim().eq_ignore_ascii_case(&pending.fingerprint) => Ok(()),
        Some(_) => Err(CliError::new(Code::TrustPin, "the waiting device has another key than the fingerprint that was given")
            .hint("compare the fingerprint on the new device's screen; if it differs from the one above, somebody else typed this code")),
        None => {
            let question = "Does the new device show the same fingerprint, and shall it be bound?";
            let instead = "pass `--fingerprint` with what the new device shows";
            if prompt::ask_yes(question, instead)? {
                return Ok(());
            }
            Err(CliError::new(Code::Canceled, "the device was not bound; nothing changed"))
        }
    }
}
