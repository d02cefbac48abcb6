//! What every command is handed: the flags, the printer, time and chance, the state folder, and the way out. Opens nothing by itself.

use crate::api::Api;
use crate::cli::Global;
use crate::db::Db;
use crate::door::Door;
use crate::error::CliError;
use crate::output::Output;
use crate::state::profile::{Profile, Standing};
use crate::state::{ServiceDir, StateDir};
use contract::Code;
use egress::{AllowHost, Development, Egress, Settings, Trust};

/// The context of one command.
pub struct App {
    /// Flags of every command.
    pub global: Global,
    /// The printer.
    pub output: Output,
    /// Time and chance.
    pub door: Door,
    /// What this device keeps.
    pub state: StateDir,
}

impl App {
    /// The context for these flags.
    pub fn new(global: Global) -> Result<Self, CliError> {
        let door = Door;
        let output = Output::new(global.json, global.quiet, global.no_color);
        let state = StateDir::new(global.state_dir.as_deref(), door)?;
        Ok(Self { global, output, door, state })
    }

    /// The guarded client for everything user input names. Loopback only by the development setting.
    #[must_use]
    pub fn egress(&self, allow_hosts: Vec<AllowHost>) -> Egress {
        let development =
            if self.global.development_allow_loopback { Development::AllowLoopback } else { Development::Off };
        Egress::new(Settings { allow_hosts, development, ..Settings::default() })
    }

    /// The URL of the service that is meant: `--server`, else the one signed in to last.
    pub fn find_base(&self) -> Result<Option<String>, CliError> {
        match &self.global.server {
            Some(said) => normal_base(said).map(Some),
            None => self.state.find_current(),
        }
    }

    /// The service that is meant, with this device's profile there, signed in or not.
    pub fn find_service(&self) -> Result<Option<Service<'_>>, CliError> {
        let Some(base) = self.find_base()? else { return Ok(None) };
        let folder = self.state.service(&base);
        let profile = folder.find_profile()?;
        Ok(profile.map(|profile| Service { app: self, folder, profile }))
    }

    /// The service that is meant, signed in.
    pub fn service(&self) -> Result<Service<'_>, CliError> {
        let service = self.find_service()?.ok_or_else(CliError::not_connected)?;
        match service.profile.standing {
            Standing::Connected => Ok(service),
            Standing::SignedOut => Err(CliError::new(
                Code::SessionRequired,
                format!("this device is signed out of {}", service.profile.base),
            )
            .hint(format!("run `collie online login --server {}`", service.profile.base))),
            Standing::Revoked => {
                Err(CliError::new(Code::SessionRevoked, format!("this device was revoked at {}", service.profile.base))
                    .hint(format!(
                        "run `collie online login --server {}` to connect it as a new device",
                        service.profile.base
                    )))
            }
        }
    }
}

/// One service this device has to do with.
pub struct Service<'a> {
    app: &'a App,
    /// Where its files are.
    pub folder: ServiceDir,
    /// This device there.
    pub profile: Profile,
}

impl<'a> Service<'a> {
    /// A service by its folder and profile.
    #[must_use]
    pub const fn new(app: &'a App, folder: ServiceDir, profile: Profile) -> Self {
        Self { app, folder, profile }
    }

    /// The signed way to the service. Nothing is sent yet.
    pub fn api(&self) -> Result<Api, CliError> {
        Api::new(self.app, &self.folder, &self.profile)
    }

    /// Time and chance.
    #[must_use]
    pub const fn door(&self) -> Door {
        self.app.door
    }

    /// The local database.
    pub async fn db(&self) -> Result<Db, CliError> {
        Db::open(&self.folder.database()).await
    }
}

/// How certificates of a service are checked.
pub fn trust(fingerprint: &str) -> Result<Trust, CliError> {
    if fingerprint.is_empty() {
        return Ok(Trust::Roots);
    }
    fingerprint.parse().map(Trust::Pinned).map_err(|error| {
        CliError::usage(format!("`{fingerprint}` is {error}"))
            .hint("the service shows its fingerprint when it starts, and by `collie-broker check`")
    })
}

/// A service's URL as it is kept and compared: lower-case scheme and host, no slash at its end.
pub fn normal_base(said: &str) -> Result<String, CliError> {
    let url = url::Url::parse(said.trim()).map_err(|_| {
        CliError::usage(format!("`{said}` is not the URL of a service"))
            .hint("it looks like https://collie.example or http://127.0.0.1:7420")
    })?;
    if url.query().is_some() || url.fragment().is_some() {
        return Err(CliError::usage(format!("`{said}` is not the URL of a service: it has a query or a fragment")));
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_has_one_spelling() {
        for said in [
            "https://Collie.Example",
            "https://collie.example/",
            "https://collie.example:443",
            " https://collie.example ",
        ] {
            assert_eq!(normal_base(said).as_deref(), Ok("https://collie.example"), "{said}");
        }
        assert_eq!(normal_base("http://127.0.0.1:7420/x/").as_deref(), Ok("http://127.0.0.1:7420/x"));
        assert!(normal_base("collie").is_err());
        assert!(normal_base("https://a.example/?x=1").is_err());
    }
}
