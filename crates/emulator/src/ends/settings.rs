//! What an end is: its role, its addresses, and how its kernel's TCP behaves.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::error::EndError;

/// The pattern of the name of an end's device; the kernel puts a number in the place of `%d`, 0 in a new namespace.
pub(super) const DEVICE: &str = "cellwind%d";

/// The IPv4 addresses of all ends: part of the shared address space of RFC 6598, which no host of the Internet has.
pub(super) const NETWORK_V4: (Ipv4Addr, u8) = (Ipv4Addr::new(100, 64, 0, 0), 15);
/// The IPv6 addresses of all ends: a unique local prefix (RFC 4193).
pub(super) const NETWORK_V6: (Ipv6Addr, u8) = (Ipv6Addr::new(0xfd77, 0x6365, 0x6c6c, 0, 0, 0, 0, 0), 48);

/// The smallest MTU, which is that of IPv6 (RFC 8200 §5), and the largest, which is that of an IP packet.
const MTU: std::ops::RangeInclusive<u32> = 1280..=65535;

/// Which end of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// The server, in a namespace.
    Server,
    /// The terminal of this number, in a namespace.
    Terminal(u16),
    /// The server's place is taken by the host itself, with what lies beyond it behind address translation.
    Outside,
}

impl Role {
    /// The addresses of this end: one of IPv4, one of IPv6.
    pub fn addresses(self) -> [IpAddr; 2] {
        // Terminals begin one block of 256 after the server, so that their addresses tell them apart at sight.
        let host = match self {
            Role::Server | Role::Outside => 1,
            Role::Terminal(number) => 0x101 + u32::from(number),
        };
        let v4 = Ipv4Addr::from_bits(NETWORK_V4.0.to_bits() + host);
        let v6 = Ipv6Addr::from_bits(NETWORK_V6.0.to_bits() + u128::from(host));
        [v4.into(), v6.into()]
    }
}

/// What an end shall be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndSettings {
    /// Its name, for messages.
    pub name: String,
    /// Which end it is.
    pub role: Role,
    /// The host names known at this end, by the ends they belong to.
    pub names: Vec<(String, Role)>,
    /// Whether the server's place is taken by the host, so that names of the outside can be resolved.
    pub outside: bool,
    /// The largest IP packet, bytes.
    pub mtu: u32,
    /// How the kernel's TCP behaves.
    pub kernel: KernelTcp,
}

/// How the kernel's TCP behaves at an end; what is absent stays as the kernel has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelTcp {
    /// Congestion control by the kernel's name, such as `cubic`: attribute `congctl` of the routes.
    pub congestion_control: Option<String>,
    /// Initial congestion window, segments: attribute `initcwnd`.
    pub initial_window: Option<u32>,
    /// Largest segment offered to the peer, bytes: attribute `advmss`.
    pub mss: Option<u32>,
    /// Largest window offered to the peer, bytes: attribute `window`.
    pub window: Option<u32>,
    /// Smallest retransmission timeout: attribute `rto_min`, whole milliseconds.
    pub rto_min: Option<Duration>,
    /// Whether each segment is acknowledged at once: attribute `quickack`.
    pub quickack: Option<bool>,
    /// Selective acknowledgements (RFC 2018): `tcp_sack`.
    pub sack: Option<bool>,
    /// Timestamps (RFC 7323): `tcp_timestamps`.
    pub timestamps: Option<bool>,
    /// Duplicate selective acknowledgements (RFC 2883): `tcp_dsack`.
    pub dsack: Option<bool>,
    /// Forward RTO recovery (RFC 5682): `tcp_frto`, 2 or 0.
    pub frto: Option<bool>,
    /// Bits of `tcp_recovery`: 1 RACK (RFC 8985), 2 its fixed reordering window, 4 no reordering by duplicates.
    pub recovery: Option<u32>,
    /// Tail loss probes: `tcp_early_retrans`, 3 or 0.
    pub early_retrans: Option<bool>,
    /// Duplicate acknowledgements before a loss, at first: `tcp_reordering`.
    pub reordering: Option<u32>,
    /// Receive buffer, bytes, smallest, initial, largest: `tcp_rmem`.
    pub rmem: Option<[u32; 3]>,
    /// Send buffer, bytes, smallest, initial, largest: `tcp_wmem`.
    pub wmem: Option<[u32; 3]>,
    /// Whether an idle connection starts slowly again (RFC 5681 §4.1): `tcp_slow_start_after_idle`.
    pub slow_start_after_idle: Option<bool>,
}

impl EndSettings {
    /// Refuses what the kernel would refuse with worse words.
    pub(super) fn check(&self) -> Result<(), EndError> {
        let wrong = |name: &str, value: String, reason: &str| EndError::Setting {
            name: name.into(),
            value,
            reason: reason.into(),
        };
        if !MTU.contains(&self.mtu) {
            return Err(wrong("the MTU", format!("{} B", self.mtu), "it is from 1280 to 65535 B"));
        }
        if let Some(name) = &self.kernel.congestion_control {
            // The name becomes a word of a command.
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
            if name.is_empty() || !name.bytes().all(plain) {
                return Err(wrong("the congestion control", format!("{name:?}"), "no algorithm has such a name"));
            }
        }
        for (name, _) in &self.names {
            if name.is_empty() || name.contains(|c: char| c.is_whitespace() || c == '#') {
                return Err(wrong("a host name", format!("{name:?}"), "it is one word"));
            }
        }
        Ok(())
    }
}

impl KernelTcp {
    /// The settings that belong to a namespace: names below `/proc/sys/net/ipv4` and their values.
    pub(super) fn sysctls(&self) -> Vec<(&'static str, String)> {
        let flag =
            |name, value: Option<bool>, on: &str| Some((name, if value? { on.to_owned() } else { "0".to_owned() }));
        let number = |name, value: Option<u32>| Some((name, value?.to_string()));
        let three =
            |name, value: Option<[u32; 3]>| value.map(|[least, first, most]| (name, format!("{least} {first} {most}")));
        [
            flag("tcp_sack", self.sack, "1"),
            flag("tcp_timestamps", self.timestamps, "1"),
            flag("tcp_dsack", self.dsack, "1"),
            flag("tcp_frto", self.frto, "2"),
            number("tcp_recovery", self.recovery),
            flag("tcp_early_retrans", self.early_retrans, "3"),
            number("tcp_reordering", self.reordering),
            three("tcp_rmem", self.rmem),
            three("tcp_wmem", self.wmem),
            flag("tcp_slow_start_after_idle", self.slow_start_after_idle, "1"),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// The settings that belong to a route, as words of `ip route`.
    pub(super) fn route_words(&self) -> String {
        let mut words = String::new();
        let mut add = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                words.push_str(&format!(" {name} {value}"));
            }
        };
        add("congctl", self.congestion_control.clone());
        add("initcwnd", self.initial_window.map(|n| n.to_string()));
        add("advmss", self.mss.map(|n| n.to_string()));
        add("window", self.window.map(|n| n.to_string()));
        add("rto_min", self.rto_min.map(|span| format!("{}ms", span.as_millis())));
        add("quickack", self.quickack.map(|on| u8::from(on).to_string()));
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_end_has_its_own_addresses_inside_the_networks() {
        let [server_v4, server_v6] = Role::Server.addresses();
        assert_eq!(server_v4.to_string(), "100.64.0.1");
        assert_eq!(server_v6.to_string(), "fd77:6365:6c6c::1");
        let [last_v4, last_v6] = Role::Terminal(u16::MAX).addresses();
        assert_eq!(last_v4.to_string(), "100.65.1.0");
        assert_eq!(last_v6.to_string(), "fd77:6365:6c6c::1:100");
        assert_eq!(Role::Terminal(0).addresses()[0].to_string(), "100.64.1.1");
    }

    #[test]
    fn settings_become_sysctls_and_words_of_a_route() {
        let kernel = KernelTcp {
            congestion_control: Some("reno".into()),
            initial_window: Some(2),
            rto_min: Some(Duration::from_millis(200)),
            sack: Some(false),
            frto: Some(true),
            wmem: Some([4096, 16384, 65536]),
            ..KernelTcp::default()
        };
        assert_eq!(kernel.route_words(), " congctl reno initcwnd 2 rto_min 200ms");
        let expected = [("tcp_sack", "0"), ("tcp_frto", "2"), ("tcp_wmem", "4096 16384 65536")];
        assert_eq!(kernel.sysctls(), expected.map(|(name, value)| (name, value.to_owned())));
        assert_eq!(KernelTcp::default().route_words(), "");
    }

    #[test]
    fn a_name_that_would_become_two_words_is_refused() {
        let kernel = KernelTcp { congestion_control: Some("reno window 1".into()), ..KernelTcp::default() };
        let settings = EndSettings {
            name: "ue".into(),
            role: Role::Terminal(0),
            names: Vec::new(),
            outside: false,
            mtu: 1500,
            kernel,
        };
        assert!(matches!(settings.check(), Err(EndError::Setting { .. })));
    }
}
