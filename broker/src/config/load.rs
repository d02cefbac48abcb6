//! From flags, environment and file to typed settings, naming the place to blame. Never prints a value that may hold a password.

use super::{
    Config, Surroundings, Tls, VaultSettings,
    table::{ENV_CONFIG, ENV_PREFIX, Kind, Setting},
};
use crate::origin::{Origin, OriginError};
use contract::limits;
use kms::KekFullName;
use std::{
    collections::BTreeMap,
    net::SocketAddr,
    path::{Path, PathBuf},
};
use store::StoreConfig;

/// Why the settings cannot be used. Each sentence says what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the configuration file `{path}`; check `--config`")]
    Unreadable {
        /// Its path.
        path: String,
    },
    /// The file is not TOML, or too large.
    #[error("`{path}` is not a configuration file: {what}")]
    NotToml {
        /// Its path.
        path: String,
        /// What is wrong, without the file's text.
        what: String,
    },
    /// A key, flag or environment name that means nothing.
    #[error("{place}: `{key}` is not a setting; docs/configuration.md lists them all")]
    Unknown {
        /// Where it stands.
        place: &'static str,
        /// The name.
        key: String,
    },
    /// A value of another shape.
    #[error("{place}: `{key}` {what}")]
    Invalid {
        /// Where it stands.
        place: &'static str,
        /// The setting.
        key: &'static str,
        /// What is expected.
        what: String,
    },
    /// Plain http on an address that others reach.
    #[error(
        "plain http on {listen} would show tokens to the network; set `tls = \"self-made\"` or `tls = \"files\"`, declare a proxy with `proxy_trusted`, or listen on 127.0.0.1"
    )]
    PlainHttp {
        /// The address.
        listen: SocketAddr,
    },
    /// Nobody could tell people where the service is.
    #[error(
        "`listen` = {listen} does not say how people reach the service; set `public_url = \"https://HOST[:PORT]\"`"
    )]
    PublicUrlNeeded {
        /// The address.
        listen: SocketAddr,
    },
    /// An https service with an http origin.
    #[error("`public_url` must start with https:// when TLS or a proxy is in front of people")]
    PublicUrlPlain,
    /// No home to put the state into.
    #[error("there is no home directory for the state; set `state_dir`")]
    NoHome,
}

/// Where settings come from, most important first: flags, environment, file.
#[derive(Debug, Default, Clone)]
pub struct Sources {
    /// The configuration file, where one was named.
    pub config_file: Option<PathBuf>,
    /// Flags by key.
    pub flags: BTreeMap<String, String>,
    /// Environment variables.
    pub environment: BTreeMap<String, String>,
}

/// One value with the place it came from.
struct Found {
    place: &'static str,
    items: Vec<String>,
}

const PLACE_FLAG: &str = "flag";
const PLACE_ENV: &str = "environment";
const PLACE_FILE: &str = "collie-broker.toml";

impl Sources {
    /// Reads and checks everything.
    pub fn load(&self) -> Result<Config, ConfigError> {
        let mut found: BTreeMap<&'static str, Found> = self.read_file()?;
        for (name, value) in &self.environment {
            let Some(key) = name.strip_prefix(ENV_PREFIX).filter(|_| name != ENV_CONFIG) else { continue };
            insert(&mut found, PLACE_ENV, &key.to_ascii_lowercase(), name, value)?;
        }
        for (key, value) in &self.flags {
            insert(&mut found, PLACE_FLAG, key, key, value)?;
        }
        Reader { found, environment: &self.environment }.read()
    }

    fn read_file(&self) -> Result<BTreeMap<&'static str, Found>, ConfigError> {
        let named = self.config_file.clone().or_else(|| self.environment.get(ENV_CONFIG).map(PathBuf::from));
        let Some(path) = named.or_else(|| default_file(&self.environment)) else { return Ok(BTreeMap::new()) };
        let shown = path.display().to_string();
        let text = std::fs::read_to_string(&path).map_err(|_| ConfigError::Unreadable { path: shown.clone() })?;
        if text.len() > limits::CONFIG_BYTES_MAX {
            return Err(ConfigError::NotToml {
                path: shown,
                what: format!("more than {} bytes", limits::CONFIG_BYTES_MAX),
            });
        }
        // The parser's own message would quote the line, which may hold a password.
        let table: toml::Table = text
            .parse()
            .map_err(|error: toml::de::Error| ConfigError::NotToml { path: shown, what: error.message().to_owned() })?;
        table.into_iter().map(|(key, value)| file_value(&key, value)).collect()
    }
}

/// The file in the user's configuration directory, where it exists.
fn default_file(environment: &BTreeMap<String, String>) -> Option<PathBuf> {
    let base = xdg(environment, "XDG_CONFIG_HOME", ".config")?;
    Some(base.join("collie/collie-broker.toml")).filter(|path| path.exists())
}

fn xdg(environment: &BTreeMap<String, String>, name: &str, below_home: &str) -> Option<PathBuf> {
    let absolute = |name: &str| environment.get(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute(name).or_else(|| absolute("HOME").map(|home| home.join(below_home)))
}

fn file_value(key: &str, value: toml::Value) -> Result<(&'static str, Found), ConfigError> {
    let setting = Setting::find(key).ok_or_else(|| ConfigError::Unknown { place: PLACE_FILE, key: key.to_owned() })?;
    let invalid = |what: &str| ConfigError::Invalid { place: PLACE_FILE, key: setting.key, what: what.to_owned() };
    let items = match (setting.kind, value) {
        (Kind::Text, toml::Value::String(text)) => vec![text],
        (Kind::List, toml::Value::Array(items)) => items
            .into_iter()
            .map(|item| item.as_str().map(str::to_owned).ok_or_else(|| invalid("must be a list of texts")))
            .collect::<Result<_, _>>()?,
        (Kind::Text, _) => return Err(invalid("must be a text in quotes")),
        (Kind::List, _) => return Err(invalid("must be a list of texts")),
    };
    Ok((setting.key, Found { place: PLACE_FILE, items }))
}

fn insert(
    found: &mut BTreeMap<&'static str, Found>,
    place: &'static str,
    key: &str,
    shown: &str,
    value: &str,
) -> Result<(), ConfigError> {
    let setting = Setting::find(key).ok_or_else(|| ConfigError::Unknown { place, key: shown.to_owned() })?;
    let items = match setting.kind {
        Kind::Text => vec![value.to_owned()],
        Kind::List => value.split(',').map(|item| item.trim().to_owned()).filter(|item| !item.is_empty()).collect(),
    };
    found.insert(setting.key, Found { place, items });
    Ok(())
}

struct Reader<'a> {
    found: BTreeMap<&'static str, Found>,
    environment: &'a BTreeMap<String, String>,
}

impl Reader<'_> {
    fn read(&self) -> Result<Config, ConfigError> {
        let state_dir = match self.text("state_dir") {
            Some(path) => PathBuf::from(path),
            None => xdg(self.environment, "XDG_STATE_HOME", ".local/state")
                .ok_or(ConfigError::NoHome)?
                .join("collie-broker"),
        };
        Ok(Config {
            listen: self.parse(
                "listen",
                |text| text.parse().ok(),
                "must be an address and port, like 127.0.0.1:7420",
            )?,
            public_url: self.public_url()?,
            database: self.database("database", &state_dir.join("collie.db"))?,
            vault: self.vault(&state_dir)?,
            tls: self.tls()?,
            proxy_trusted: self.proxies()?,
            log: self.parse("log", parse_level, "must be one of error, warn, info, debug, trace")?,
            ready_file: self.text("ready_file").map(PathBuf::from),
            state_dir,
        })
    }

    /// The value of a text setting, if it is not empty.
    fn text(&self, key: &str) -> Option<&str> {
        self.found.get(key)?.items.first().map(String::as_str).filter(|text| !text.is_empty())
    }

    fn invalid(&self, key: &'static str, what: impl Into<String>) -> ConfigError {
        let place = self.found.get(key).map_or("default", |found| found.place);
        ConfigError::Invalid { place, key, what: what.into() }
    }

    fn parse<T>(&self, key: &'static str, parse: impl Fn(&str) -> Option<T>, what: &str) -> Result<T, ConfigError> {
        let default = Setting::find(key).map_or("", |setting| setting.default);
        parse(self.text(key).unwrap_or(default)).ok_or_else(|| self.invalid(key, what))
    }

    fn public_url(&self) -> Result<Option<Origin>, ConfigError> {
        let read = |text| {
            Origin::parse(text)
                .map_err(|error: OriginError| self.invalid("public_url", format!("is not an origin: {error}")))
        };
        self.text("public_url").map(read).transpose()
    }

    fn vault(&self, state_dir: &Path) -> Result<Option<VaultSettings>, ConfigError> {
        let surroundings = self.parse("environment", parse_surroundings, "must be production or development")?;
        let name = KekFullName::parse(self.text("kek_name").unwrap_or("file-1"));
        let kek_name = name.map_err(|error| self.invalid("kek_name", format!("is no name of a key: {error}")))?;
        let key_store = self.database("key_store", &state_dir.join("tenant-keys.db"))?;
        if key_store == self.database("database", &state_dir.join("collie.db"))? {
            return Err(self.invalid("key_store", "must be another file or database than `database`"));
        }
        let kek_file = self.text("kek_file").map(PathBuf::from);
        Ok(kek_file.map(|kek_file| VaultSettings { kek_file, kek_name, key_store, surroundings }))
    }

    fn database(&self, key: &'static str, default: &Path) -> Result<StoreConfig, ConfigError> {
        let text = self.text(key).unwrap_or("sqlite");
        if text == "sqlite" {
            return Ok(StoreConfig::Sqlite { path: default.to_owned() });
        }
        if let Some(path) = text.strip_prefix("sqlite:").filter(|path| !path.is_empty()) {
            return Ok(StoreConfig::Sqlite { path: PathBuf::from(path) });
        }
        let url = url::Url::parse(text).ok().filter(|url| matches!(url.scheme(), "postgres" | "postgresql"));
        let Some(url) = url else {
            return Err(self.invalid(key, "must be `sqlite`, `sqlite:PATH` or a postgres:// URL"));
        };
        let from_flag = self.found.get(key).is_some_and(|found| found.place == PLACE_FLAG);
        if from_flag && url.password().is_some() {
            return Err(self.invalid(key, "has a password, which every user of this machine could read in the process list; put it into the file or the environment"));
        }
        Ok(StoreConfig::Postgres { url: text.to_owned() })
    }

    fn tls(&self) -> Result<Tls, ConfigError> {
        let files = (self.text("tls_certificate"), self.text("tls_key"));
        match (self.text("tls").unwrap_or("off"), files) {
            ("files", (Some(certificate), Some(key))) => {
                Ok(Tls::Files { certificate: certificate.into(), key: key.into() })
            }
            ("files", _) => Err(self.invalid("tls", "= \"files\" needs `tls_certificate` and `tls_key`")),
            ("off", (None, None)) => Ok(Tls::Off),
            ("self-made", (None, None)) => Ok(Tls::SelfMade),
            ("off" | "self-made", _) => {
                Err(self.invalid("tls", "must be \"files\" when `tls_certificate` or `tls_key` is set"))
            }
            _ => Err(self.invalid("tls", "must be off, self-made or files")),
        }
    }

    fn proxies(&self) -> Result<Vec<ipnet::IpNet>, ConfigError> {
        let key = "proxy_trusted";
        let items = self.found.get(key).map_or(&[][..], |found| &found.items);
        if items.len() > limits::PROXIES_MAX {
            return Err(self.invalid(key, format!("has more than {} networks", limits::PROXIES_MAX)));
        }
        items
            .iter()
            .map(|item| item.parse().map_err(|_| self.invalid(key, "must be a list of networks, like 10.0.0.0/8")))
            .collect()
    }
}

fn parse_surroundings(text: &str) -> Option<Surroundings> {
    match text {
        "production" => Some(Surroundings::Production),
        "development" => Some(Surroundings::Development),
        _ => None,
    }
}

fn parse_level(text: &str) -> Option<tracing::Level> {
    matches!(text, "error" | "warn" | "info" | "debug" | "trace").then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(flags: &[(&str, &str)], environment: &[(&str, &str)]) -> Sources {
        let owned = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        };
        let mut sources = Sources { config_file: None, flags: owned(flags), environment: owned(environment) };
        sources.environment.entry("HOME".to_owned()).or_insert_with(|| "/nowhere".to_owned());
        sources
    }

    #[test]
    fn a_flag_wins_over_the_environment_and_that_over_the_file() {
        let directory = tempfile::tempdir().expect("directory");
        let file = directory.path().join("collie-broker.toml");
        std::fs::write(&file, "listen = \"127.0.0.1:1\"\nlog = \"warn\"\nproxy_trusted = [\"10.0.0.0/8\"]\n")
            .expect("written");
        let mut sources = sources(
            &[("listen", "127.0.0.1:3")],
            &[("COLLIE_BROKER_LISTEN", "127.0.0.1:2"), ("COLLIE_BROKER_LOG", "debug")],
        );
        sources.config_file = Some(file);
        let config = sources.load().expect("settings");
        assert_eq!((config.listen.port(), config.log), (3, tracing::Level::DEBUG));
        assert_eq!(config.proxy_trusted, ["10.0.0.0/8".parse().expect("CIDR")]);
        assert_eq!(config.state_dir, Path::new("/nowhere/.local/state/collie-broker"));
    }

    #[test]
    fn what_means_nothing_stops_the_start() {
        let unknown = |sources: Sources| matches!(sources.load(), Err(ConfigError::Unknown { .. }));
        assert!(unknown(sources(&[("listne", "x")], &[])));
        assert!(unknown(sources(&[], &[("COLLIE_BROKER_LISTNE", "x")])));
        let directory = tempfile::tempdir().expect("directory");
        let file = directory.path().join("c.toml");
        std::fs::write(&file, "listne = \"x\"").expect("written");
        assert!(unknown(Sources { config_file: Some(file), ..sources(&[], &[]) }));
        assert!(matches!(
            Sources { config_file: Some(directory.path().join("absent")), ..sources(&[], &[]) }.load(),
            Err(ConfigError::Unreadable { .. })
        ));
    }

    #[test]
    fn a_password_is_not_taken_from_argv_and_never_printed() {
        let url = "postgres://collie:canary-5150@db.test/collie";
        let refused = sources(&[("database", url)], &[]).load().expect_err("argv is public");
        assert!(!refused.to_string().contains("canary"));
        let config = sources(&[], &[("COLLIE_BROKER_DATABASE", url)]).load().expect("settings");
        assert!(!format!("{config:?}").contains("canary"));
    }

    #[test]
    fn a_vault_has_a_key_file_and_a_key_store_of_its_own() {
        assert!(sources(&[], &[]).load().expect("settings").vault.is_none());
        let vault = sources(&[("kek_file", "/keys/kek.key")], &[]).load().expect("settings").vault.expect("a vault");
        assert_eq!((vault.kek_name.as_str(), vault.surroundings), ("file-1", Surroundings::Production));
        let path = PathBuf::from("/nowhere/.local/state/collie-broker/tenant-keys.db");
        assert_eq!(vault.key_store, StoreConfig::Sqlite { path });
        for (key, value) in
            [("environment", "test"), ("kek_name", "alias/x"), ("kek_name", "*"), ("key_store", "mysql:x")]
        {
            let refused = sources(&[("kek_file", "k"), (key, value)], &[]).load();
            assert!(matches!(refused, Err(ConfigError::Invalid { key: named, .. }) if named == key), "{key} {value}");
        }
        let one = sources(&[("database", "sqlite:/a"), ("key_store", "sqlite:/a")], &[]).load();
        assert!(matches!(one, Err(ConfigError::Invalid { key: "key_store", .. })));
    }

    #[test]
    fn tls_files_come_in_pairs() {
        assert!(matches!(sources(&[("tls", "files")], &[]).load(), Err(ConfigError::Invalid { key: "tls", .. })));
        assert!(matches!(sources(&[("tls_key", "k")], &[]).load(), Err(ConfigError::Invalid { key: "tls", .. })));
        let both =
            sources(&[("tls", "files"), ("tls_key", "k"), ("tls_certificate", "c")], &[]).load().expect("settings");
        assert_eq!(both.tls, Tls::Files { certificate: "c".into(), key: "k".into() });
    }
}
