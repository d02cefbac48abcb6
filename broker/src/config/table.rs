//! Every setting of the service in one table: the file's keys, the environment's names, the flags and the reference in docs/configuration.md all come from here.

/// One setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Setting {
    /// Key in `collie-broker.toml`.
    pub(crate) key: &'static str,
    /// What stands when nobody says anything, as a person would write it.
    pub(crate) default: &'static str,
    /// Whether it takes a list.
    pub(crate) kind: Kind,
    /// What it is for.
    pub(crate) about: &'static str,
}

/// The shape of a setting's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One text.
    Text,
    /// A list of texts; in the environment and in flags separated by commas.
    List,
}

const fn text(key: &'static str, default: &'static str, about: &'static str) -> Setting {
    Setting { key, default, kind: Kind::Text, about }
}

/// Every setting, alphabetical.
pub(crate) const SETTINGS: &[Setting] = &[
    text(
        "database",
        "sqlite",
        "`sqlite` for a file in the state directory, `sqlite:PATH` for another file, or `postgres://…`. A URL with a password is not taken from a flag.",
    ),
    text(
        "environment",
        "production",
        "`production`, or `development` for a laptop, a demo or a test, where a key file beside its database is warned about instead of refused.",
    ),
    text(
        "kek_file",
        "",
        "Key file of the vault for `cloud_proxy` credentials: 32 raw bytes, mode 0600, in a folder with a backup of its own. `init` makes it once. Without it the service has no vault. A key that does not fit the database seals the service: `/readyz` says why, and nothing but it and `/healthz` answers.",
    ),
    text("kek_name", "file-1", "Full name of the key in `kek_file`; every record that it wraps carries the name."),
    text(
        "key_store",
        "sqlite",
        "Where the vault keeps its wrapped tenant keys, to be left out of the main backup: `sqlite` for a file in the state directory, `sqlite:PATH`, or `postgres://…`. Never the database itself.",
    ),
    text(
        "listen",
        "127.0.0.1:7420",
        "Address and port to listen on. Port 0 takes a free one. Any address that is not loopback needs `tls` or `proxy_trusted`.",
    ),
    text(
        "log",
        "info",
        "How much to log: `error`, `warn`, `info`, `debug` or `trace`. Logs are JSON lines on stderr; they never hold secrets at any level.",
    ),
    Setting {
        key: "proxy_trusted",
        default: "",
        kind: Kind::List,
        about: "Networks (CIDR) of the TLS-terminating proxy in front. `X-Forwarded-For` is believed from these alone, and on a plain listener that is not loopback nobody else may connect. Needs `public_url`.",
    },
    text(
        "public_url",
        "",
        "The origin that people and devices use, `https://host[:port]`. Without it: the listener's own address. Needed for a listener on all addresses.",
    ),
    text(
        "ready_file",
        "",
        "A file that is written once the service answers: one JSON line with `origin` and `listen`, and `fingerprint` with its own certificate.",
    ),
    text(
        "state_dir",
        "$XDG_STATE_HOME/collie-broker",
        "Keys, certificate and the SQLite database; made with mode 0700. A system unit sets `/var/lib/collie`.",
    ),
    text(
        "tls",
        "off",
        "`off`, `self-made` (a certificate of its own, kept in the state directory, pinned by its fingerprint) or `files`.",
    ),
    text("tls_certificate", "", "With `tls = \"files\"`: PEM file of the certificate chain, leaf first."),
    text("tls_key", "", "With `tls = \"files\"`: PEM file of the private key."),
];

/// Start of every environment name.
pub(crate) const ENV_PREFIX: &str = "COLLIE_BROKER_";
/// The environment's name for the configuration file; the one name that is not a setting.
pub(crate) const ENV_CONFIG: &str = "COLLIE_BROKER_CONFIG";

impl Setting {
    /// Its name in the environment.
    pub(crate) fn env(&self) -> String {
        format!("{ENV_PREFIX}{}", self.key.to_ascii_uppercase())
    }

    /// Its flag, without the dashes in front.
    pub(crate) fn flag(&self) -> String {
        self.key.replace('_', "-")
    }

    /// The setting of this key.
    pub(crate) fn find(key: &str) -> Option<&'static Self> {
        SETTINGS.iter().find(|setting| setting.key == key)
    }
}

/// The configuration reference as Markdown.
pub(crate) fn reference() -> String {
    let mut page = String::from(
        "# Configuration of collie-broker\n\n\
         Printed by `collie-broker print-config-reference`.\n\n\
         A flag wins over the environment, the environment over the file, the file over the default. The file is `--config PATH`, else `$COLLIE_BROKER_CONFIG`, \
         else `$XDG_CONFIG_HOME/collie/collie-broker.toml` where it exists. An unknown key, flag or `COLLIE_BROKER_…` name stops the start.\n\n\
         | key | environment | flag | default |\n|---|---|---|---|\n",
    );
    for setting in SETTINGS {
        let default = if setting.default.is_empty() { String::from("–") } else { format!("`{}`", setting.default) };
        page.push_str(&format!("| `{}` | `{}` | `--{}` | {default} |\n", setting.key, setting.env(), setting.flag()));
    }
    for setting in SETTINGS {
        page.push_str(&format!("\n## {}\n\n{}\n", setting.key, setting.about));
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_alphabetical_and_explained() {
        let keys: Vec<_> = SETTINGS.iter().map(|setting| setting.key).collect();
        let mut sorted = keys.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(keys, sorted);
        assert!(SETTINGS.iter().all(|setting| setting.about.ends_with('.')));
        assert!(SETTINGS.iter().all(|setting| setting.env() != ENV_CONFIG));
    }

    #[test]
    fn the_reference_names_every_setting_three_ways() {
        let page = reference();
        for setting in SETTINGS {
            assert!(page.contains(&format!("| `{}` | `{}` | `--{}` |", setting.key, setting.env(), setting.flag())));
        }
    }
}
