//! The address of a connection's server, checked once where it enters; from then on it is compared byte for byte and bound into every credential. Resolves nothing and connects nowhere: the guard that looks at the address itself stands where the call is made.

use contract::{connection::SealFormat, limits};
use url::{Host, Url};

/// Why a text is no address of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EndpointError {
    /// Empty, longer than the maximum, or not printable ASCII.
    #[error("1 to {} printable ASCII characters are needed", limits::ENDPOINT_BYTES_MAX)]
    Characters,
    /// Not an absolute URL with a host.
    #[error("an absolute URL with a host is needed")]
    NotUrl,
    /// Another scheme than https, or http to another machine.
    #[error("only https is allowed, or http to this machine itself")]
    Scheme,
    /// `user@` or `user:password@`.
    #[error("a user or password in the URL is not allowed")]
    UserInfo,
    /// `#…`
    #[error("a fragment is not allowed")]
    Fragment,
}

/// Checks the address and returns the one spelling that is stored.
///
/// For v2 that is the canonical one (RFC 3986 6, as WHATWG serialises). For v1 it is the spelling that arrived: the public client refuses a row whose endpoint differs from what it sent.
pub(crate) fn check_endpoint(text: &str, format: SealFormat) -> Result<String, EndpointError> {
    // The parser would drop tabs and line feeds, trim spaces and read `\` as `/`; a text with any of them has two readers.
    let plain = text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    if !plain || !(1..=limits::ENDPOINT_BYTES_MAX).contains(&text.len()) {
        return Err(EndpointError::Characters);
    }
    if text.contains('#') {
        return Err(EndpointError::Fragment);
    }
    let url = Url::parse(text).map_err(|_| EndpointError::NotUrl)?;
    check_scheme(&url)?;
    // `https:/host` and `https:host` are read as if the slashes were there.
    let (_, rest) = text.split_once("://").ok_or(EndpointError::NotUrl)?;
    // An empty user, `https://@host/`, leaves no trace in the parsed form.
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    if authority.is_empty() {
        return Err(EndpointError::NotUrl);
    }
    if authority.contains('@') {
        return Err(EndpointError::UserInfo);
    }
    Ok(match format {
        SealFormat::V1 => text.to_owned(),
        SealFormat::V2 => url.into(),
    })
}

fn check_scheme(url: &Url) -> Result<(), EndpointError> {
    let host = url.host().ok_or(EndpointError::NotUrl)?;
    let loopback = match host {
        Host::Domain(name) => name == "localhost",
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    };
    match url.scheme() {
        "https" => Ok(()),
        "http" if loopback => Ok(()),
        _ => Err(EndpointError::Scheme),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v1_keeps_the_spelling_and_v2_has_one() {
        for (text, canonical) in [
            ("https://mcp.example.test/mcp", "https://mcp.example.test/mcp"),
            ("https://mcp.example.test", "https://mcp.example.test/"),
            ("https://MCP.example.test:443/a/../mcp?x=1", "https://mcp.example.test/mcp?x=1"),
            ("http://127.0.0.1:8080/mcp", "http://127.0.0.1:8080/mcp"),
            ("http://localhost/mcp", "http://localhost/mcp"),
            ("http://[::1]:1/", "http://[::1]:1/"),
        ] {
            assert_eq!(check_endpoint(text, SealFormat::V1).as_deref(), Ok(text));
            assert_eq!(check_endpoint(text, SealFormat::V2).as_deref(), Ok(canonical));
            assert_eq!(
                check_endpoint(canonical, SealFormat::V2).as_deref(),
                Ok(canonical),
                "canonical is a fixed point"
            );
        }
    }

    #[test]
    fn every_other_address_is_refused() {
        let long = format!("https://h/{}", "x".repeat(limits::ENDPOINT_BYTES_MAX));
        for (text, why) in [
            ("", EndpointError::Characters),
            (" https://h/", EndpointError::Characters),
            ("https://h/\t", EndpointError::Characters),
            ("https://h/a b", EndpointError::Characters),
            ("https://h\\@evil/", EndpointError::Characters),
            ("https://h/\0", EndpointError::Characters),
            ("https://häuser.test/", EndpointError::Characters),
            (long.as_str(), EndpointError::Characters),
            ("mcp.example.test/mcp", EndpointError::NotUrl),
            ("https:///mcp", EndpointError::NotUrl),
            ("https:mcp.example.test", EndpointError::NotUrl),
            ("https:/mcp.example.test", EndpointError::NotUrl),
            ("http://mcp.example.test/", EndpointError::Scheme),
            ("http://127.0.0.1.example.test/", EndpointError::Scheme),
            ("http://192.168.1.2/", EndpointError::Scheme),
            ("http://[::ffff:127.0.0.1]/", EndpointError::Scheme),
            ("ftp://h/", EndpointError::Scheme),
            ("javascript://h/%0aalert(1)", EndpointError::Scheme),
            ("https://user@h/", EndpointError::UserInfo),
            ("https://user:pw@h/", EndpointError::UserInfo),
            ("https://@h/", EndpointError::UserInfo),
            ("https://h/#x", EndpointError::Fragment),
            ("https://h/#", EndpointError::Fragment),
        ] {
            for format in [SealFormat::V1, SealFormat::V2] {
                assert_eq!(check_endpoint(text, format), Err(why), "{text}");
            }
        }
    }
}
