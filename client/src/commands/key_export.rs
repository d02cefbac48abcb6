//! Prints the key that opens the account's sealed credentials, for another device of the same person. The only command that prints a secret, and only when told so twice.

use crate::app::{App, Service};
use crate::error::CliError;
use crate::output::Outcome;
use contract::{Code, Json};
use seal::recovery;
use sign::Secret;

/// Arguments of `key-export`.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Print it.
    #[arg(long)]
    pub yes: bool,
    /// Print it even where standard output is not a terminal.
    #[arg(long)]
    pub stdout_secret: bool,
    /// Print the public client's key (`collie-seal-v1:`) instead.
    #[arg(long)]
    pub for_public_client: bool,
}

/// Runs `key-export`.
pub async fn run(app: &App, args: &Args) -> Result<Outcome, CliError> {
    check(app, args)?;
    let service = app.find_service()?.ok_or_else(CliError::not_connected)?;
    let (text, id) = if args.for_public_client { v1_text(&service).await? } else { text(&service)? };
    app.output.note("Whoever has this text opens every credential that is sealed for you. Type it into the other device and keep it nowhere else:");
    // EXPOSE: to the person who asked for it, on standard output.
    text.with(|text| app.output.reveal(text));
    app.output.note(&format!("On the other device: collie online key-import   (key {id})"));
    Ok(Outcome::new(Json::object()))
}

/// A person must have said `--yes`, and must be the one who reads.
fn check(app: &App, args: &Args) -> Result<(), CliError> {
    if app.output.is_json() {
        return Err(CliError::usage("`key-export` prints the key and nothing else; it has no `--json`"));
    }
    if !args.yes {
        return Err(CliError::usage("`key-export` prints the key that opens every credential of yours")
            .hint("say `collie online key-export --yes` where nobody else can read it"));
    }
    if !args.stdout_secret && !app.output.is_for_a_person() {
        return Err(CliError::usage("standard output is not a terminal, so the key could end up in a file")
            .hint("add `--stdout-secret` if that is what you want"));
    }
    Ok(())
}

fn text(service: &Service<'_>) -> Result<(Secret<String>, String), CliError> {
    let key =
        service.folder.find_sealing_key()?.ok_or_else(|| none("it is made when the first credential is sealed"))?;
    let text = recovery::encode_usk(&key).map_err(|error| CliError::internal(error.to_string()))?;
    Ok((text, key.id().short()))
}

async fn v1_text(service: &Service<'_>) -> Result<(Secret<String>, String), CliError> {
    let key = service.find_v1_key().await?;
    let key =
        key.ok_or_else(|| none("it is made by the first `share-mcp --for-public-client`, or taken by `key-import`"))?;
    Ok((key.to_text(), "of the public client".to_owned()))
}

fn none(when: &str) -> CliError {
    CliError::new(Code::NotFound, "there is no such key on this device").hint(when)
}
