//! The service's settings, read once at start from flags, environment and file. An unknown key stops the start; nothing is read again later.

mod load;
mod table;

pub use load::{ConfigError, Sources};
pub(crate) use table::{SETTINGS, reference};

use crate::origin::Origin;
use ipnet::IpNet;
use kms::KekFullName;
pub use kms::Surroundings;
use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
};
use store::StoreConfig;

/// Settings of one service.
#[derive(Debug, Clone)]
pub struct Config {
    /// Address to listen on.
    pub listen: SocketAddr,
    /// The origin that people and devices use, where it is not the listener's own.
    pub public_url: Option<Origin>,
    /// Keys, certificate and the SQLite database.
    pub state_dir: PathBuf,
    /// Where the database is.
    pub database: StoreConfig,
    /// Who speaks TLS.
    pub tls: Tls,
    /// Networks of the declared proxy.
    pub proxy_trusted: Vec<IpNet>,
    /// How much to log.
    pub log: tracing::Level,
    /// Written once the service answers.
    pub ready_file: Option<PathBuf>,
    /// The vault for `cloud_proxy` credentials, where the service has one.
    pub vault: Option<VaultSettings>,
}

/// Where the vault's keys are (2.a.4, 2.a.6).
#[derive(Debug, Clone)]
pub struct VaultSettings {
    /// The key encryption key.
    pub kek_file: PathBuf,
    /// Its full name, which every record carries.
    pub kek_name: KekFullName,
    /// The database of the wrapped tenant keys.
    pub key_store: StoreConfig,
    /// Whether people rely on this installation.
    pub surroundings: Surroundings,
}

/// Who speaks TLS on the listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tls {
    /// Nobody: a loopback listener, or a declared proxy in front.
    Off,
    /// The service, with a certificate of its own making.
    SelfMade,
    /// The service, with these files.
    Files {
        /// PEM, leaf first.
        certificate: PathBuf,
        /// PEM.
        key: PathBuf,
    },
}

/// What a listener of these settings may do, and to whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exposure {
    /// Plain http that does not leave this machine.
    Loopback,
    /// The service's own TLS.
    Tls,
    /// Plain http behind the declared proxy; nobody else may connect.
    Proxied,
}

impl Config {
    /// Everything by default inside one directory, on a free loopback port.
    #[must_use]
    pub fn in_directory(state_dir: &Path) -> Self {
        Self {
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0),
            public_url: None,
            state_dir: state_dir.to_owned(),
            database: StoreConfig::Sqlite { path: state_dir.join("collie.db") },
            tls: Tls::Off,
            proxy_trusted: Vec::new(),
            log: tracing::Level::INFO,
            ready_file: None,
            vault: None,
        }
    }

    /// Whether this listener may be opened, and how far it reaches. Plain http stays on this machine or behind the declared proxy.
    pub(crate) fn exposure(&self) -> Result<Exposure, ConfigError> {
        let loopback = self.listen.ip().is_loopback();
        if self.public_url.is_none() && (self.listen.ip().is_unspecified() || !self.proxy_trusted.is_empty()) {
            return Err(ConfigError::PublicUrlNeeded { listen: self.listen });
        }
        match (&self.tls, loopback, self.proxy_trusted.is_empty()) {
            (Tls::SelfMade | Tls::Files { .. }, _, _) => {
                if self.public_url.as_ref().is_some_and(|origin| !origin.is_https()) {
                    return Err(ConfigError::PublicUrlPlain);
                }
                Ok(Exposure::Tls)
            }
            (Tls::Off, true, _) => Ok(Exposure::Loopback),
            (Tls::Off, false, false) if self.public_url.as_ref().is_some_and(|origin| !origin.is_https()) => {
                Err(ConfigError::PublicUrlPlain)
            }
            (Tls::Off, false, false) => Ok(Exposure::Proxied),
            (Tls::Off, false, true) => Err(ConfigError::PlainHttp { listen: self.listen }),
        }
    }

    /// The origin once the listener has its address.
    pub(crate) fn origin(&self, bound: SocketAddr) -> Result<Origin, ConfigError> {
        if let Some(origin) = &self.public_url {
            return Ok(origin.clone());
        }
        let scheme = if self.tls == Tls::Off { "http" } else { "https" };
        Origin::parse(&format!("{scheme}://{bound}")).map_err(|_| ConfigError::PublicUrlNeeded { listen: bound })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(listen: &str) -> Config {
        Config { listen: listen.parse().expect("address"), ..Config::in_directory(Path::new("/nowhere")) }
    }

    fn origin(text: &str) -> Option<Origin> {
        Some(Origin::parse(text).expect("origin"))
    }

    #[test]
    fn plain_http_stays_on_this_machine_or_behind_the_declared_proxy() {
        assert_eq!(config("127.0.0.1:7420").exposure(), Ok(Exposure::Loopback));
        assert_eq!(config("[::1]:7420").exposure(), Ok(Exposure::Loopback));

        let lan = config("192.168.1.5:7420");
        assert_eq!(lan.exposure(), Err(ConfigError::PlainHttp { listen: lan.listen }));
        assert_eq!(
            Config { public_url: origin("https://a.test"), ..lan.clone() }.exposure(),
            Err(ConfigError::PlainHttp { listen: lan.listen })
        );
        assert_eq!(Config { tls: Tls::SelfMade, ..lan.clone() }.exposure(), Ok(Exposure::Tls));

        let proxied = Config { proxy_trusted: vec!["192.168.1.0/24".parse().expect("CIDR")], ..lan };
        assert_eq!(proxied.exposure(), Err(ConfigError::PublicUrlNeeded { listen: proxied.listen }));
        assert_eq!(
            Config { public_url: origin("http://127.0.0.1"), ..proxied.clone() }.exposure(),
            Err(ConfigError::PublicUrlPlain)
        );
        assert_eq!(Config { public_url: origin("https://a.test"), ..proxied }.exposure(), Ok(Exposure::Proxied));
    }

    #[test]
    fn a_listener_on_all_addresses_must_say_who_it_is() {
        let open = Config { tls: Tls::SelfMade, ..config("0.0.0.0:7420") };
        assert_eq!(open.exposure(), Err(ConfigError::PublicUrlNeeded { listen: open.listen }));
        assert_eq!(Config { public_url: origin("https://192.168.1.5:7420"), ..open }.exposure(), Ok(Exposure::Tls));
    }

    #[test]
    fn the_origin_is_the_public_url_or_the_bound_address() {
        let bound = "127.0.0.1:4711".parse().expect("address");
        assert_eq!(config("127.0.0.1:0").origin(bound).expect("origin").as_str(), "http://127.0.0.1:4711");
        let secure = Config { tls: Tls::SelfMade, ..config("127.0.0.1:0") };
        assert_eq!(secure.origin(bound).expect("origin").as_str(), "https://127.0.0.1:4711");
        let named = Config { public_url: origin("https://collie.test"), ..secure };
        assert_eq!(named.origin(bound).expect("origin").as_str(), "https://collie.test");
    }
}
