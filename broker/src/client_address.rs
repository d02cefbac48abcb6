//! Which network a request comes from: the peer, or what the declared proxy says about it. Never believes a header of anybody else.

use http::HeaderMap;
use ipnet::IpNet;
use std::net::{IpAddr, Ipv6Addr};

/// Where a request comes from, as far as rate limits care: an IPv4 address or an IPv6 /64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Network(IpAddr);

impl Network {
    /// The network of an address. One IPv6 customer has a /64 at least, so single addresses mean nothing there.
    pub(crate) fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(v4) => Self(IpAddr::V4(v4)),
            IpAddr::V6(v6) => Self(IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & (u128::MAX << 64)))),
        }
    }
}

/// Whether `address` belongs to the declared proxy.
pub(crate) fn is_trusted(address: IpAddr, trusted: &[IpNet]) -> bool {
    trusted.iter().any(|network| network.contains(&address.to_canonical()))
}

/// The address of the client: the right-most entry of `X-Forwarded-For` that is not a declared proxy, counted only when the peer itself is one.
pub(crate) fn find(peer: IpAddr, headers: &HeaderMap, trusted: &[IpNet]) -> IpAddr {
    let mut nearest = peer;
    if !is_trusted(peer, trusted) {
        return nearest;
    }
    let stated: Vec<&str> = headers
        .get_all("x-forwarded-for")
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .collect();
    for entry in stated.into_iter().rev() {
        // What is left of a text that is no address could have been written by anybody.
        let Some(address) = parse(entry.trim()) else { return nearest };
        nearest = address;
        if !is_trusted(address, trusted) {
            return nearest;
        }
    }
    nearest
}

/// An address, also with a port, as proxies write it.
fn parse(entry: &str) -> Option<IpAddr> {
    let address =
        entry.parse().ok().or_else(|| entry.parse().ok().map(|with_port: std::net::SocketAddr| with_port.ip()));
    address.map(|address: IpAddr| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("address")
    }

    fn found(peer: &str, stated: &[&str]) -> IpAddr {
        let trusted = ["10.0.0.0/8".parse().expect("CIDR"), "fd00::/8".parse().expect("CIDR")];
        let mut headers = HeaderMap::new();
        for value in stated {
            headers.append("x-forwarded-for", value.parse().expect("header"));
        }
        find(address(peer), &headers, &trusted)
    }

    #[test]
    fn the_header_counts_only_from_the_proxy_and_only_its_right_end() {
        assert_eq!(found("203.0.113.9", &["198.51.100.1"]), address("203.0.113.9"), "not a proxy");
        assert_eq!(found("10.0.0.1", &[]), address("10.0.0.1"));
        assert_eq!(found("10.0.0.1", &["198.51.100.1"]), address("198.51.100.1"));
        assert_eq!(
            found("10.0.0.1", &["1.2.3.4, 198.51.100.1, 10.9.9.9"]),
            address("198.51.100.1"),
            "the left end is the client's own text"
        );
        assert_eq!(
            found("10.0.0.1", &["1.2.3.4", "198.51.100.1:4711"]),
            address("198.51.100.1"),
            "two lines are one list"
        );
        assert_eq!(found("::ffff:10.0.0.1", &["198.51.100.1"]), address("198.51.100.1"), "mapped");
        assert_eq!(found("10.0.0.1", &["1.2.3.4, unknown"]), address("10.0.0.1"), "nothing is read across garbage");
        assert_eq!(found("fd00::2", &["2001:db8::7"]), address("2001:db8::7"));
    }

    #[test]
    fn one_ipv6_customer_is_one_network() {
        assert_eq!(Network::of(address("2001:db8:1:2::1")), Network::of(address("2001:db8:1:2:ffff::9")));
        assert_ne!(Network::of(address("2001:db8:1:2::1")), Network::of(address("2001:db8:1:3::1")));
        assert_ne!(Network::of(address("192.0.2.1")), Network::of(address("192.0.2.2")));
        assert_eq!(Network::of(address("::ffff:192.0.2.1")), Network::of(address("192.0.2.1")));
    }
}
