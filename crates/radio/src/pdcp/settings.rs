//! Settings of PDCP.

use cellwind_engine::deserialize_by_type;
use cellwind_engine::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The Packet Data Convergence Protocol (TS 25.323).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PdcpSettings {
    /// Whether each packet has a PDCP header of one octet (TS 25.323 §8.2.2) or none (§8.2.1).
    pub header: bool,
    /// Compression of TCP, UDP and IP headers; it needs the PDCP header, whose PID tells the forms apart (§5.1.1).
    pub compression: Compression,
}

/// A method of header compression. Packets of a live run do not show their headers and pass unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Compression {
    /// None.
    #[default]
    None,
    /// TCP by differences from packet to packet (RFC 1144), which TS 25.323 does not have and GPRS has (TS 44.065). A lost
    /// packet makes all after it wrong until TCP retransmits.
    Rfc1144(Rfc1144Settings),
    /// TCP by differences with repair, UDP by contexts that full headers refresh (RFC 2507).
    Rfc2507(Rfc2507Settings),
    /// Robust header compression of UDP or RTP (RFC 3095), which has no profile for TCP.
    Rohc(RohcSettings),
}

deserialize_by_type!(Compression {
    None,
    Rfc1144(settings: Rfc1144Settings),
    Rfc2507(settings: Rfc2507Settings),
    Rohc(settings: RohcSettings),
});

/// Compression of TCP by RFC 1144.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Rfc1144Settings {
    /// Connections whose headers are remembered; the one longest unused makes room for another.
    #[schemars(range(min = 1, max = 256))]
    pub slots: u16,
}

impl Default for Rfc1144Settings {
    fn default() -> Self {
        Rfc1144Settings { slots: 16 } // RFC 1144 §5.1
    }
}

/// IP header compression by RFC 2507.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Rfc2507Settings {
    /// TCP_SPACE: the highest context number for TCP.
    #[schemars(range(max = 255))]
    pub tcp_space: u16,
    /// NON_TCP_SPACE: the highest context number for other packets, here UDP.
    #[schemars(range(max = 255))]
    pub non_tcp_space: u16,
    /// F_MAX_PERIOD: the most compressed packets of a UDP stream between two full headers.
    #[schemars(range(min = 1, max = 65535))]
    pub f_max_period: u32,
    /// F_MAX_TIME: the longest time between two full headers of a UDP stream that sends.
    pub f_max_time: Span,
    /// Whether the decompressor tries a difference twice where once gives a wrong TCP checksum, as after a single loss.
    pub twice: bool,
    /// Whether the decompressor asks for a header when it cannot repair a TCP stream (CONTEXT_STATE).
    pub header_requests: bool,
}

impl Default for Rfc2507Settings {
    fn default() -> Self {
        Rfc2507Settings {
            tcp_space: 15,                  // RFC 2507 §14
            non_tcp_space: 15,              // RFC 2507 §14
            f_max_period: 256,              // RFC 2507 §14
            f_max_time: Span::from_secs(5), // RFC 2507 §14
            twice: true,
            header_requests: true,
        }
    }
}

/// Robust header compression by RFC 3095.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RohcSettings {
    /// What UDP carries.
    pub profile: RohcProfile,
    /// Whether the decompressor answers.
    pub mode: RohcMode,
    /// MAX_CID: the highest context number; one of them is reserved (TS 25.323 §5.1.3.5).
    #[schemars(range(min = 1, max = 15))]
    pub max_cid: u16,
    /// Whether UDP has a checksum, of 2 octets in each packet.
    pub udp_checksum: bool,
    /// L: packets that repeat what changed before the compressor takes it for known (the optimistic approach).
    #[schemars(range(min = 1, max = 1000))]
    pub repeats: u32,
    /// Unidirectional mode: packets from one IR packet to the next refresh.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub ir_period: u32,
    /// Unidirectional mode: packets from one IR or IR-DYN packet to the next refresh of the dynamic part.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub fo_period: u32,
    /// k_1 and k_2: wrong packets in a row until the decompressor gives its dynamic part up, and as many until the static one.
    #[schemars(range(min = 1, max = 1000))]
    pub failures: u32,
}

impl Default for RohcSettings {
    fn default() -> Self {
        RohcSettings {
            profile: RohcProfile::Udp,
            mode: RohcMode::Unidirectional, // where every flow begins, RFC 3095 §4.4.1
            max_cid: 15,                    // the largest of one octet, RFC 3095 §5.2.1
            udp_checksum: true,
            repeats: 3,      // MAX_IR_COUNT of the ROHC library
            ir_period: 1700, // CHANGE_TO_IR_COUNT of the ROHC library
            fo_period: 700,  // CHANGE_TO_FO_COUNT of the ROHC library
            failures: 3,
        }
    }
}

/// What UDP carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RohcProfile {
    /// Anything: 28 octets of headers (profile 2).
    #[default]
    Udp,
    /// RTP: the first 12 octets of the payload are headers as well (profile 1).
    Rtp,
}

/// Whether the decompressor answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RohcMode {
    /// U-mode: it never does, so that contexts are refreshed periodically.
    #[default]
    Unidirectional,
    /// O-mode: it acknowledges contexts and says when one is damaged; nothing is refreshed without that.
    Optimistic,
}
