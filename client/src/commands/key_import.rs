//! Takes the account's key from another device. It is decoded, checked, and proved by opening an object of the account before anything is stored; another key that is here is never replaced.

use crate::api::{Api, segment};
use crate::app::{App, Service};
use crate::error::CliError;
use crate::opening::{Directory, Tenancy, open_connection};
use crate::output::Outcome;
use crate::prompt;
use crate::sealing::{is_sealed, key_required};
use crate::state::files::Made;
use contract::connection::{ConnectionList, ConnectionRow, SealFormat};
use contract::credential::{CredentialAnswer, EnvelopeV1};
use contract::device::DeviceList;
use contract::{Code, Json};
use seal::v1::{self, V1Connection, V1Key};
use seal::{UserSealingKey, recovery};
use sign::Secret;

/// Arguments of `key-import`.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// The key text. Better leave it out: it is asked for, or read from standard input, and then no other program can see it.
    #[arg(value_name = "TEXT")]
    pub text: Option<String>,
    /// Take a key that cannot be proved, because nothing of the account is sealed yet.
    #[arg(long)]
    pub new_key: bool,
}

/// Bytes of the longest text that is read from standard input.
const TEXT_BYTES_MAX: usize = 1024;

/// Runs `key-import`.
#[expect(
    clippy::await_holding_invalid_type,
    reason = "a key text is checked before any network (2.b.3) and proved by what the network brings (2.b.9)"
)]
pub async fn run(app: &App, args: &Args) -> Result<Outcome, CliError> {
    let service = app.service()?;
    let text = match &args.text {
        Some(text) => Secret::new(text.clone()),
        None => prompt::read_secret("Key text (it is not shown):", TEXT_BYTES_MAX)?,
    };
    // EXPOSE: to the choice between two formats.
    let is_v1 = text.with(|text| text.trim().starts_with(v1::PREFIX));
    let outcome = if is_v1 {
        import_v1(&service, args, &text_v1(&text)?).await?
    } else {
        import(&service, args, text_v2(&text)?).await?
    };
    Ok(match args.text {
        Some(_) => outcome.warn("the key stood on the command line, where other programs and the shell's history can see it; next time leave it out"),
        None => outcome,
    })
}

fn text_v2(text: &Secret<String>) -> Result<UserSealingKey, CliError> {
    recovery::decode_usk(text).map_err(|error| {
        CliError::usage(error.to_string()).hint("copy it again from the other device; nothing was stored")
    })
}

fn text_v1(text: &Secret<String>) -> Result<V1Key, CliError> {
    V1Key::from_text(text).map_err(|error| CliError::usage(error.to_string()).hint("copy it again; nothing was stored"))
}

async fn import(service: &Service<'_>, args: &Args, key: UserSealingKey) -> Result<Outcome, CliError> {
    let id = key.id().short();
    match service.folder.find_sealing_key()? {
        Some(held) if held.id() == key.id() => {
            return Ok(done(&id, 0, false).line(format!("Key {id} is here already. Nothing changed.")));
        }
        Some(held) => return Err(other_present(&held.id().short())),
        None => {}
    }
    let api = service.api()?;
    let proof = Proof::gather(&api, SealFormat::V2).await?;
    let tenancy = Tenancy { deployment: &service.profile.deployment_id, workspace: api.workspace() };
    let opened = proof.count(|row, sealed| open_connection(&key, tenancy, row, sealed, &proof.directory).is_ok());
    proof.judge(args, opened)?;
    match service.folder.store_sealing_key(&key)? {
        Made::New => {
            Ok(done(&id, opened, true).line(format!("Imported key {id}; it opens {opened} sealed connection(s).")))
        }
        // Another process was first; what it stored is judged by the next run.
        Made::WasThere => Err(other_present("of another process")),
    }
}

async fn import_v1(service: &Service<'_>, args: &Args, key: &V1Key) -> Result<Outcome, CliError> {
    if let Some(held) = service.find_v1_key().await? {
        if held.is_same(key) {
            return Ok(done("v1", 0, false).line("The public client's key is here already. Nothing changed."));
        }
        return Err(other_present("of the public client"));
    }
    let api = service.api()?;
    let proof = Proof::gather(&api, SealFormat::V1).await?;
    let opened = proof.count(|row, sealed| opens_v1(key, &api, service, row, sealed));
    proof.judge(args, opened)?;
    service.ready_sealing_key(&api).await.map_err(|error| {
        if error.code == Code::KeyRequired {
            key_required("the public client's key is kept under your own sealing key")
        } else {
            error
        }
    })?;
    service.store_v1_key(&service.seal_v1_key(key)?).await?;
    Ok(done("v1", opened, true)
        .line(format!("Imported the public client's key; it opens {opened} sealed connection(s).")))
}

fn opens_v1(key: &V1Key, api: &Api, service: &Service<'_>, row: &ConnectionRow, sealed: &Json) -> bool {
    let connection = V1Connection::of(row, api.workspace(), &service.profile.user_id);
    let envelope = EnvelopeV1::parse(sealed).ok();
    connection.zip(envelope).is_some_and(|(connection, envelope)| v1::open_v1(key, &connection, &envelope).is_ok())
}

/// The account's sealed objects of one format: what a key has to open.
struct Proof {
    objects: Vec<(ConnectionRow, Json)>,
    directory: Directory,
}

impl Proof {
    async fn gather(api: &Api, format: SealFormat) -> Result<Self, CliError> {
        let rows: ConnectionList = api.get("/v1/connections").await?;
        let devices: DeviceList = api.get("/v1/devices").await?;
        let mut objects = Vec::new();
        for row in rows.connections.into_iter().filter(|row| is_sealed(row, format)) {
            let answer: CredentialAnswer =
                api.get(&format!("/v1/connections/{}/credential", segment(row.id.as_str()))).await?;
            objects.push((row, answer.sealed_credential));
        }
        Ok(Self { objects, directory: Directory::of_rows(&devices.devices) })
    }

    fn count(&self, opens: impl Fn(&ConnectionRow, &Json) -> bool) -> usize {
        self.objects.iter().filter(|(row, sealed)| opens(row, sealed)).count()
    }

    /// A key that opens nothing is not taken.
    fn judge(&self, args: &Args, opened: usize) -> Result<(), CliError> {
        match (self.objects.is_empty(), opened) {
            (false, 0) => Err(CliError::new(Code::WrongKey, format!("this key opens none of the account's {} sealed connection(s)", self.objects.len()))
                .hint("it is another account's key, or was mistyped; nothing was stored")),
            (true, _) if !args.new_key => Err(CliError::new(Code::KeyRequired, "nothing of this account is sealed yet, so the key cannot prove itself")
                .hint("share a connection on the device that has the key, then import it here; or add `--new-key` if you are certain")),
            _ => Ok(()),
        }
    }
}

fn other_present(which: &str) -> CliError {
    CliError::new(Code::KeyOther, format!("another key ({which}) is on this device; it is left as it is"))
        .hint("two keys on one account would lock one device out; export the key that is here instead, or connect this device to its own account")
}

fn done(id: &str, opened: usize, changed: bool) -> Outcome {
    Outcome::new(Json::from_members([
        ("kid", id.into()),
        ("opened", i64::try_from(opened).unwrap_or(i64::MAX).into()),
        ("changed", changed.into()),
    ]))
}
