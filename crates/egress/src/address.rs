//! Which addresses a foreign destination may have. Never looks at names: a name is only as good as the address it leads to.

use contract::limits;
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::str::FromStr;

/// Whether this process may reach its own machine's loopback, for development and demonstrations only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Development {
    /// Loopback is refused (the default).
    #[default]
    Off,
    /// Loopback addresses are allowed, also by plain http.
    AllowLoopback,
}

/// A range of addresses that a foreign destination may not have (IANA special-purpose registries, RFC 6890).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reserved {
    /// 127.0.0.0/8 and ::1.
    Loopback,
    /// RFC 1918.
    Private,
    /// 100.64.0.0/10, RFC 6598.
    CarrierGrade,
    /// fc00::/7, RFC 4193.
    UniqueLocal,
    /// 169.254.0.0/16 and fe80::/10; cloud metadata services live here.
    LinkLocal,
    /// 0.0.0.0/8 and ::.
    ThisNetwork,
    /// 224.0.0.0/4 and ff00::/8.
    Multicast,
    /// 240.0.0.0/4 and 255.255.255.255.
    Broadcast,
    /// Ranges for documentation and benchmarks.
    Documentation,
    /// An IPv6 address that carries an IPv4 address inside: mapped, compatible, translated, NAT64, 6to4, Teredo.
    Embedded,
    /// Any other range that is not public unicast.
    Special,
    /// An address of this machine.
    OwnAddress,
}

impl fmt::Display for Reserved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Loopback => "a loopback address",
            Self::Private => "a private address",
            Self::CarrierGrade => "a carrier-grade NAT address",
            Self::UniqueLocal => "a unique local address",
            Self::LinkLocal => "a link-local address",
            Self::ThisNetwork => "an address of no host",
            Self::Multicast => "a multicast address",
            Self::Broadcast => "a broadcast or reserved address",
            Self::Documentation => "an address for documentation or benchmarks",
            Self::Embedded => "an IPv6 address with an IPv4 address inside",
            Self::Special => "an address of special purpose",
            Self::OwnAddress => "an address of this machine",
        })
    }
}

/// A private network, or one address, that an operator allows by `--allow-host`.
///
/// It must lie inside one private range or outside every reserved one: loopback, link-local and the other special
/// ranges cannot be allowed this way, and neither can "everything".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AllowHost(IpNet);

/// Why a text is no [`AllowHost`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AllowHostError {
    /// Neither an address nor a network in CIDR form.
    #[error("not an address or a network such as `10.1.0.0/16`")]
    Syntax,
    /// Reaches into addresses that cannot be allowed.
    #[error("reaches beyond one private network")]
    TooWide,
}

impl FromStr for AllowHost {
    type Err = AllowHostError;

    fn from_str(text: &str) -> Result<Self, AllowHostError> {
        let net = text
            .parse::<IpNet>()
            .or_else(|_| text.parse::<IpAddr>().map(IpNet::from))
            .map_err(|_| AllowHostError::Syntax)?
            .trunc();
        let mut touched = RANGES.iter().filter(|range| overlaps(&range.net, &net));
        let fits = match touched.next() {
            None => is_public_net(&net),
            Some(range) => {
                lift_of(range.why) == Lift::ByAllowHost && range.net.contains(&net) && touched.next().is_none()
            }
        };
        if fits { Ok(Self(net)) } else { Err(AllowHostError::TooWide) }
    }
}

impl fmt::Display for AllowHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Where a connection may lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// A pinned service over https: any address.
    Anywhere,
    /// Plain http: this machine only.
    LoopbackOnly,
    /// Whatever user input named.
    Guarded,
}

/// The rules for foreign addresses, as the operator set them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Guard {
    pub(crate) allow_hosts: Vec<AllowHost>,
    pub(crate) development: Development,
}

impl Guard {
    /// Says why `address` may not be connected to, if it may not. Sends nothing.
    pub(crate) fn check(&self, reach: Reach, address: IpAddr) -> Result<(), Reserved> {
        match reach {
            Reach::Anywhere => Ok(()),
            Reach::LoopbackOnly if address.is_loopback() => Ok(()),
            Reach::LoopbackOnly => Err(reserved(address).unwrap_or(Reserved::Special)),
            Reach::Guarded => self.check_foreign(address),
        }
    }

    fn check_foreign(&self, address: IpAddr) -> Result<(), Reserved> {
        let allowed = self.allow_hosts.iter().take(limits::ALLOW_HOSTS_MAX).any(|allow| allow.0.contains(&address));
        match reserved(address) {
            None if !allowed && is_own(address) => Err(Reserved::OwnAddress),
            None => Ok(()),
            Some(why) => match lift_of(why) {
                Lift::ByAllowHost if allowed => Ok(()),
                Lift::ByDevelopment if self.development == Development::AllowLoopback => Ok(()),
                Lift::ByAllowHost | Lift::ByDevelopment | Lift::Never => Err(why),
            },
        }
    }
}

/// Who may lift a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lift {
    ByAllowHost,
    ByDevelopment,
    Never,
}

const fn lift_of(why: Reserved) -> Lift {
    match why {
        Reserved::Private | Reserved::CarrierGrade | Reserved::UniqueLocal => Lift::ByAllowHost,
        Reserved::Loopback => Lift::ByDevelopment,
        Reserved::LinkLocal
        | Reserved::ThisNetwork
        | Reserved::Multicast
        | Reserved::Broadcast
        | Reserved::Documentation
        | Reserved::Embedded
        | Reserved::Special
        | Reserved::OwnAddress => Lift::Never,
    }
}

struct Range {
    net: IpNet,
    why: Reserved,
}

const fn v4(a: u8, b: u8, c: u8, prefix: u8, why: Reserved) -> Range {
    Range { net: IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, 0), prefix)), why }
}

const fn v6(start: [u16; 8], prefix: u8, why: Reserved) -> Range {
    let [a, b, c, d, e, f, g, h] = start;
    Range { net: IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, d, e, f, g, h), prefix)), why }
}

/// The first range that holds an address names it; outside 2000::/3 every other IPv6 address is special.
const RANGES: &[Range] = &[
    v4(0, 0, 0, 8, Reserved::ThisNetwork),
    v4(10, 0, 0, 8, Reserved::Private),
    v4(100, 64, 0, 10, Reserved::CarrierGrade),
    v4(127, 0, 0, 8, Reserved::Loopback),
    v4(169, 254, 0, 16, Reserved::LinkLocal),
    v4(172, 16, 0, 12, Reserved::Private),
    v4(192, 0, 0, 24, Reserved::Special),
    v4(192, 0, 2, 24, Reserved::Documentation),
    v4(192, 31, 196, 24, Reserved::Special),
    v4(192, 52, 193, 24, Reserved::Special),
    v4(192, 88, 99, 24, Reserved::Special),
    v4(192, 168, 0, 16, Reserved::Private),
    v4(192, 175, 48, 24, Reserved::Special),
    v4(198, 18, 0, 15, Reserved::Documentation),
    v4(198, 51, 100, 24, Reserved::Documentation),
    v4(203, 0, 113, 24, Reserved::Documentation),
    v4(224, 0, 0, 4, Reserved::Multicast),
    v4(240, 0, 0, 4, Reserved::Broadcast),
    v6([0, 0, 0, 0, 0, 0, 0, 0], 128, Reserved::ThisNetwork),
    v6([0, 0, 0, 0, 0, 0, 0, 1], 128, Reserved::Loopback),
    v6([0, 0, 0, 0, 0, 0, 0, 0], 96, Reserved::Embedded),
    v6([0, 0, 0, 0, 0, 0xffff, 0, 0], 96, Reserved::Embedded),
    v6([0, 0, 0, 0, 0xffff, 0, 0, 0], 96, Reserved::Embedded),
    v6([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96, Reserved::Embedded),
    v6([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48, Reserved::Embedded),
    v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 32, Reserved::Embedded),
    v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23, Reserved::Special),
    v6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32, Reserved::Documentation),
    v6([0x2002, 0, 0, 0, 0, 0, 0, 0], 16, Reserved::Embedded),
    v6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20, Reserved::Documentation),
    v6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7, Reserved::UniqueLocal),
    v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10, Reserved::LinkLocal),
    v6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8, Reserved::Multicast),
];

const GLOBAL_UNICAST_V6: Ipv6Net = Ipv6Net::new_assert(Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

fn reserved(address: IpAddr) -> Option<Reserved> {
    let listed = RANGES.iter().find(|range| range.net.contains(&address)).map(|range| range.why);
    listed.or_else(|| match address {
        IpAddr::V6(v6) if !GLOBAL_UNICAST_V6.contains(&v6) => Some(Reserved::Special),
        // ISATAP (RFC 5214) carries an IPv4 address in the interface identifier.
        IpAddr::V6(v6) if matches!(v6.segments(), [_, _, _, _, 0 | 0x200, 0x5efe, _, _]) => Some(Reserved::Embedded),
        IpAddr::V4(_) | IpAddr::V6(_) => None,
    })
}

fn is_public_net(net: &IpNet) -> bool {
    match net {
        IpNet::V4(_) => true,
        IpNet::V6(v6) => GLOBAL_UNICAST_V6.contains(v6),
    }
}

fn overlaps(a: &IpNet, b: &IpNet) -> bool {
    a.contains(b) || b.contains(a)
}

/// Whether this machine itself has `address`: the kernel then picks it as the source, too. A connected datagram socket sends nothing.
fn is_own(address: IpAddr) -> bool {
    let unspecified: IpAddr = match address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let source = UdpSocket::bind((unspecified, 0)).and_then(|socket| {
        socket.connect((address, 9))?;
        socket.local_addr()
    });
    source.is_ok_and(|source| source.ip() == address)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn reserved_addresses_are_named() {
        for (text, why) in [
            ("0.0.0.0", Reserved::ThisNetwork),
            ("0.1.2.3", Reserved::ThisNetwork),
            ("10.0.0.1", Reserved::Private),
            ("100.64.0.1", Reserved::CarrierGrade),
            ("100.127.255.255", Reserved::CarrierGrade),
            ("127.255.0.1", Reserved::Loopback),
            ("169.254.169.254", Reserved::LinkLocal),
            ("172.16.0.1", Reserved::Private),
            ("172.31.255.255", Reserved::Private),
            ("192.0.0.8", Reserved::Special),
            ("192.0.2.1", Reserved::Documentation),
            ("192.168.1.1", Reserved::Private),
            ("198.19.0.1", Reserved::Documentation),
            ("198.51.100.7", Reserved::Documentation),
            ("203.0.113.9", Reserved::Documentation),
            ("224.0.0.1", Reserved::Multicast),
            ("239.255.255.255", Reserved::Multicast),
            ("240.0.0.1", Reserved::Broadcast),
            ("255.255.255.255", Reserved::Broadcast),
            ("::", Reserved::ThisNetwork),
            ("::1", Reserved::Loopback),
            ("::2", Reserved::Embedded),
            ("::127.0.0.1", Reserved::Embedded),
            ("::ffff:127.0.0.1", Reserved::Embedded),
            ("::ffff:8.8.8.8", Reserved::Embedded),
            ("::ffff:0:127.0.0.1", Reserved::Embedded),
            ("64:ff9b::7f00:1", Reserved::Embedded),
            ("64:ff9b:1::1", Reserved::Embedded),
            ("100::1", Reserved::Special),
            ("2001::1", Reserved::Embedded),
            ("2001:10::1", Reserved::Special),
            ("2001:db8::1", Reserved::Documentation),
            ("2002:7f00:1::1", Reserved::Embedded),
            ("2606:4700::5efe:7f00:1", Reserved::Embedded),
            ("3fff::1", Reserved::Documentation),
            ("4000::1", Reserved::Special),
            ("fc00::1", Reserved::UniqueLocal),
            ("fdff::1", Reserved::UniqueLocal),
            ("fe80::1", Reserved::LinkLocal),
            ("fec0::1", Reserved::Special),
            ("ff02::1", Reserved::Multicast),
        ] {
            assert_eq!(Guard::default().check(Reach::Guarded, address(text)), Err(why), "{text}");
        }
    }

    #[test]
    fn public_addresses_pass() {
        for text in
            ["1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.0", "172.15.0.1", "172.32.0.1", "2606:4700:4700::1111"]
        {
            assert_eq!(Guard::default().check(Reach::Guarded, address(text)), Ok(()), "{text}");
        }
    }

    #[test]
    fn an_allowed_network_lifts_private_ranges_and_nothing_else() {
        let allow_hosts = ["10.1.0.0/16", "fd12::/16", "192.168.7.9"].map(|text| text.parse().expect("fits")).to_vec();
        let guard = Guard { allow_hosts, development: Development::Off };
        for (text, passes) in [
            ("10.1.2.3", true),
            ("10.2.0.1", false),
            ("fd12::1", true),
            ("fd13::1", false),
            ("192.168.7.9", true),
            ("192.168.7.8", false),
            ("::ffff:10.1.2.3", false),
            ("127.0.0.1", false),
        ] {
            assert_eq!(guard.check(Reach::Guarded, address(text)).is_ok(), passes, "{text}");
        }
    }

    #[test]
    fn even_an_entry_that_should_not_exist_lifts_private_ranges_only() {
        let everything = ["0.0.0.0/0", "::/0"].map(|text| AllowHost(text.parse().expect("a network"))).to_vec();
        let guard = Guard { allow_hosts: everything, development: Development::Off };
        assert_eq!(guard.check(Reach::Guarded, address("10.0.0.1")), Ok(()));
        for text in ["127.0.0.1", "169.254.169.254", "0.0.0.0", "::ffff:10.0.0.1", "::1", "ff02::1"] {
            assert!(guard.check(Reach::Guarded, address(text)).is_err(), "{text}");
        }
    }

    #[test]
    fn what_reaches_beyond_one_private_network_cannot_be_allowed() {
        for text in [
            "0.0.0.0/0",
            "::/0",
            "127.0.0.0/8",
            "127.0.0.1",
            "169.254.169.254",
            "::ffff:0:0/96",
            "10.0.0.0/7",
            "ff00::/8",
            "4000::/3",
            "fc00::/6",
        ] {
            assert_eq!(text.parse::<AllowHost>(), Err(AllowHostError::TooWide), "{text}");
        }
        for text in ["", "example.com", "10.0.0.0/33", "10.0.0"] {
            assert_eq!(text.parse::<AllowHost>(), Err(AllowHostError::Syntax), "{text}");
        }
        assert_eq!("10.1.2.3/16".parse::<AllowHost>().map(|allow| allow.to_string()), Ok("10.1.0.0/16".to_owned()));
    }

    #[test]
    fn development_lifts_loopback_only() {
        let guard = Guard { allow_hosts: Vec::new(), development: Development::AllowLoopback };
        assert_eq!(guard.check(Reach::Guarded, address("127.0.0.1")), Ok(()));
        assert_eq!(guard.check(Reach::Guarded, address("::1")), Ok(()));
        assert_eq!(guard.check(Reach::Guarded, address("10.0.0.1")), Err(Reserved::Private));
        assert_eq!(guard.check(Reach::Guarded, address("::ffff:127.0.0.1")), Err(Reserved::Embedded));
        assert_eq!(guard.check(Reach::LoopbackOnly, address("8.8.8.8")), Err(Reserved::Special));
    }

    #[test]
    fn this_machine_knows_its_own_addresses() {
        assert!(is_own(address("127.0.0.1")));
        assert!(!is_own(address("8.8.8.8")));
    }
}
