//! One file for each command of `collie online`. A command decides and answers; it prints nothing by itself.

pub mod connection_review;
pub mod connection_revoke;
pub mod connection_show;
pub mod connection_test;
pub mod connections;
pub mod device_approve;
pub mod device_revoke;
pub mod devices;
pub mod doctor;
pub mod invoke;
pub mod key_export;
pub mod key_import;
pub mod login;
pub mod logout;
pub mod share_mcp;
pub mod status;
pub mod whoami;

use crate::app::App;
use crate::cli::{Command, Online};
use crate::error::CliError;
use crate::output::Outcome;

/// Runs the command that was asked for.
pub async fn run(online: Online) -> Result<Outcome, CliError> {
    let app = App::new(online.global)?;
    match online.command.unwrap_or_else(|| Command::Status(status::Args::default())) {
        Command::Status(args) => status::run(&app, &args).await,
        Command::Login(args) => login::run(&app, &args).await,
        Command::Logout(args) => logout::run(&app, &args).await,
        Command::Whoami => whoami::run(&app).await,
        Command::Devices => devices::run(&app).await,
        Command::DeviceRevoke(args) => device_revoke::run(&app, &args).await,
        Command::DeviceApprove(args) => device_approve::run(&app, &args).await,
        Command::ShareMcp(args) => share_mcp::run(&app, &args).await,
        Command::Connections(args) => connections::run(&app, &args).await,
        Command::ConnectionShow(args) => connection_show::run(&app, &args).await,
        Command::ConnectionReview(args) => connection_review::run(&app, &args).await,
        Command::ConnectionTest(args) => connection_test::run(&app, &args).await,
        Command::ConnectionRevoke(args) => connection_revoke::run(&app, &args).await,
        Command::Invoke(args) => invoke::run(&app, &args).await,
        Command::KeyExport(args) => key_export::run(&app, &args).await,
        Command::KeyImport(args) => key_import::run(&app, &args).await,
        Command::Doctor(args) => doctor::run(&app, &args).await,
    }
}
