//! The one origin of the service: scheme, host and port, compared as text. Never has a path, a query or a user.

use std::{fmt, net::IpAddr};
use url::{Host, Url};

/// `https://host[:port]`, or `http://` on a loopback host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    text: String,
    authority: String,
    host: String,
    secure: bool,
}

/// The text is not an origin of ours.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OriginError {
    /// Not a URL, or not http(s).
    #[error("not an http or https URL")]
    NotHttp,
    /// It has a path, a query, a fragment or a user.
    #[error("only scheme, host and port may stand there")]
    MoreThanOrigin,
    /// Plain http to a host that is not this machine.
    #[error("plain http is for a loopback host only")]
    PlainHttp,
}

impl Origin {
    /// Reads an origin; a trailing `/` is allowed.
    pub fn parse(text: &str) -> Result<Self, OriginError> {
        let url = Url::parse(text).map_err(|_| OriginError::NotHttp)?;
        let (Some(host), true) = (url.host(), matches!(url.scheme(), "http" | "https")) else {
            return Err(OriginError::NotHttp);
        };
        if url.path() != "/"
            || url.query().is_some()
            || url.fragment().is_some()
            || !url.username().is_empty()
            || url.password().is_some()
        {
            return Err(OriginError::MoreThanOrigin);
        }
        let secure = url.scheme() == "https";
        if !secure && !is_loopback(&host) {
            return Err(OriginError::PlainHttp);
        }
        let authority = match url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_string(),
        };
        Ok(Self { text: format!("{}://{authority}", url.scheme()), authority, host: host_name(&host), secure })
    }

    /// As on the wire and in the browser's `Origin` header.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// As in the `Host` header.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// The host alone, without brackets, for certificates.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Whether the scheme is https.
    #[must_use]
    pub const fn is_https(&self) -> bool {
        self.secure
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn host_name(host: &Host<&str>) -> String {
    match host {
        Host::Domain(name) => (*name).to_owned(),
        Host::Ipv4(address) => address.to_string(),
        Host::Ipv6(address) => address.to_string(),
    }
}

fn is_loopback(host: &Host<&str>) -> bool {
    match host {
        Host::Domain(name) => *name == "localhost",
        Host::Ipv4(address) => IpAddr::V4(*address).is_loopback(),
        Host::Ipv6(address) => IpAddr::V6(*address).is_loopback(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        let origin = Origin::parse("https://Collie.Example:443/").expect("origin");
        assert_eq!(
            (origin.as_str(), origin.authority(), origin.is_https()),
            ("https://collie.example", "collie.example", true)
        );
        assert_eq!(Origin::parse("http://127.0.0.1:7420").expect("loopback").authority(), "127.0.0.1:7420");
        assert_eq!(Origin::parse("https://[fd00::1]:7420").expect("v6").authority(), "[fd00::1]:7420");
        for (bad, why) in [
            ("collie.example", OriginError::NotHttp),
            ("ftp://collie.example", OriginError::NotHttp),
            ("https://collie.example/api", OriginError::MoreThanOrigin),
            ("https://a@collie.example", OriginError::MoreThanOrigin),
            ("https://collie.example?x", OriginError::MoreThanOrigin),
            ("http://collie.example", OriginError::PlainHttp),
        ] {
            assert_eq!(Origin::parse(bad), Err(why), "{bad}");
        }
    }
}
