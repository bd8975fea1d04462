//! From the bytes of a captured frame to what an analysis asks of it.
//!
//! IPv4 (RFC 791), IPv6 with its extension headers (RFC 8200), TCP (RFC 9293) with the options of RFC 2018, RFC 2883
//! and RFC 7323. Bytes of the payload are never looked at, so that a capture that kept only headers says as much as a
//! complete one. Lengths come from the IP header, not from what was kept.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What a frame carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Address of the sender.
    pub source: IpAddr,
    /// Address of the receiver.
    pub target: IpAddr,
    /// IP protocol number behind all extension headers.
    pub protocol: u8,
    /// Bytes of the IP packet, headers included.
    pub ip_length: u32,
    /// Identification of an IPv4 packet; 0 in IPv6.
    pub ip_id: u16,
    /// The two bits of ECN: 0 not capable, 1 and 2 capable, 3 congestion experienced (RFC 3168 §5).
    pub ecn: u8,
    /// Ports of sender and receiver, where the protocol has any.
    pub ports: (u16, u16),
    /// Bytes behind the headers of IP and, in TCP and UDP, of the transport.
    pub payload: u32,
    /// The TCP header; none for other protocols.
    pub tcp: Option<Tcp>,
}

/// What a TCP header says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tcp {
    /// The eight flags, FIN lowest.
    pub flags: u8,
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// Window as it stands in the header, not scaled.
    pub window: u16,
    /// Maximum segment size.
    pub mss: Option<u16>,
    /// Window scale.
    pub window_scale: Option<u8>,
    /// SACK-permitted.
    pub sack_permitted: bool,
    /// Timestamp value and echo reply.
    pub timestamps: Option<(u32, u32)>,
    /// SACK blocks, the first one first.
    pub sack: [(u32, u32); MOST_BLOCKS],
    /// How many blocks there are.
    pub blocks: u8,
}

/// As many SACK blocks as fit the options (RFC 2018 §3).
pub const MOST_BLOCKS: usize = 4;

/// Why a frame was passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ignored {
    /// Another protocol than IP, such as ARP.
    NotIp,
    /// A part of an IP packet that is not the first one, which has no ports.
    Fragment,
    /// Cut off before the end of the headers, or headers that contradict themselves.
    Unreadable,
    /// A link type that is not understood: its number.
    LinkType(u32),
    /// A block that does not say when the frame was captured.
    NoTime,
}

impl fmt::Display for Ignored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ignored::NotIp => f.write_str("not IP"),
            Ignored::Fragment => f.write_str("fragments behind the first"),
            Ignored::Unreadable => f.write_str("headers cut off or malformed"),
            Ignored::LinkType(number) => write!(f, "link type {number}"),
            Ignored::NoTime => f.write_str("without time"),
        }
    }
}

/// How frames of a capture begin: the link types of <https://www.tcpdump.org/linktypes.html>.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// Four bytes of address family.
    Loopback,
    /// Ethernet, with or without VLAN tags.
    Ethernet,
    /// An IP packet.
    Raw,
    /// Linux "cooked" capture, the protocol in its last two of 16 bytes.
    Cooked,
    /// Linux "cooked" capture, second edition: the protocol in the first two of 20 bytes.
    Cooked2,
}

impl Link {
    /// The link of that number, if it is understood.
    pub fn of(number: u32) -> Option<Link> {
        match number {
            0 | 108 => Some(Link::Loopback),
            1 => Some(Link::Ethernet),
            // 12 and 14 are what some systems write for 101.
            12 | 14 | 101 | 228 | 229 => Some(Link::Raw),
            113 => Some(Link::Cooked),
            276 => Some(Link::Cooked2),
            _ => None,
        }
    }

    /// Bytes in front of the network protocol, and its EtherType where the link names it.
    fn header(self, bytes: &[u8]) -> Option<(usize, Option<u16>)> {
        let (length, ether_type) = match self {
            Link::Raw => return Some((0, None)),
            Link::Loopback => return Some((4, None)),
            Link::Ethernet => (14, u16_at(bytes, 12)?),
            Link::Cooked => (16, u16_at(bytes, 14)?),
            Link::Cooked2 => (20, u16_at(bytes, 0)?),
        };
        let (mut length, mut ether_type) = (length, ether_type);
        while let VLAN | SERVICE_VLAN = ether_type {
            ether_type = u16_at(bytes, length + 2)?;
            length += 4;
        }
        Some((length, Some(ether_type)))
    }
}

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const VLAN: u16 = 0x8100;
const SERVICE_VLAN: u16 = 0x88a8;

/// Reads a frame of which `bytes` were kept and which was `original` bytes long.
pub fn decode(link: Link, bytes: &[u8], original: u32) -> Result<Frame, Ignored> {
    let (start, ether_type) = link.header(bytes).ok_or(Ignored::Unreadable)?;
    if !matches!(ether_type, None | Some(IPV4 | IPV6)) {
        return Err(Ignored::NotIp);
    }
    let bytes = bytes.get(start..).ok_or(Ignored::Unreadable)?;
    let original = original.saturating_sub(start as u32);
    match bytes.first().ok_or(Ignored::Unreadable)? >> 4 {
        4 => ipv4(bytes, original),
        6 => ipv6(bytes, original),
        _ if ether_type.is_none() => Err(Ignored::NotIp),
        _ => Err(Ignored::Unreadable),
    }
}

fn ipv4(bytes: &[u8], original: u32) -> Result<Frame, Ignored> {
    let read = || {
        let header = usize::from(bytes.first()? & 15) * 4;
        let fragment = u16_at(bytes, 6)?;
        let source = Ipv4Addr::from(*bytes.get(12..)?.first_chunk::<4>()?);
        let target = Ipv4Addr::from(*bytes.get(16..)?.first_chunk::<4>()?);
        Some((header, u16_at(bytes, 2)?, u16_at(bytes, 4)?, fragment, *bytes.get(9)?, source, target))
    };
    let (header, total, ip_id, fragment, protocol, source, target) = read().ok_or(Ignored::Unreadable)?;
    if header < 20 {
        return Err(Ignored::Unreadable);
    }
    if fragment & 0x1fff != 0 {
        return Err(Ignored::Fragment);
    }
    // Captured before segmentation offload, a packet above 65 535 bytes has no length of its own.
    let ip_length = if total == 0 { original } else { u32::from(total) };
    transport(
        bytes,
        header,
        protocol,
        Frame { ip_id, ecn: bytes[1] & 3, ..bare(source.into(), target.into(), ip_length) },
    )
}

fn ipv6(bytes: &[u8], original: u32) -> Result<Frame, Ignored> {
    let read = || {
        let source = Ipv6Addr::from(*bytes.get(8..)?.first_chunk::<16>()?);
        let target = Ipv6Addr::from(*bytes.get(24..)?.first_chunk::<16>()?);
        Some((u16_at(bytes, 4)?, *bytes.get(6)?, source, target))
    };
    let (payload, next, source, target) = read().ok_or(Ignored::Unreadable)?;
    // RFC 2675 §2: zero in a jumbogram.
    let ip_length = if payload == 0 { original } else { 40 + u32::from(payload) };
    // RFC 8200 §7: the traffic class lies across the first two bytes.
    transport(bytes, 40, next, Frame { ecn: bytes[1] >> 4 & 3, ..bare(source.into(), target.into(), ip_length) })
}

fn bare(source: IpAddr, target: IpAddr, ip_length: u32) -> Frame {
    Frame { source, target, protocol: 0, ip_length, ip_id: 0, ecn: 0, ports: (0, 0), payload: 0, tcp: None }
}

/// Passes over extension headers, from `at` on, and reads ports and the TCP header.
fn transport(bytes: &[u8], mut at: usize, mut protocol: u8, mut frame: Frame) -> Result<Frame, Ignored> {
    loop {
        let next = |at: usize| bytes.get(at).copied().ok_or(Ignored::Unreadable);
        let length = match protocol {
            // RFC 8200 §4, RFC 6275, RFC 7401, RFC 5533: in units of eight bytes, the first ones not counted.
            0 | 43 | 60 | 135 | 139 | 140 => 8 * (usize::from(next(at + 1)?) + 1),
            44 => {
                if u16_at(bytes, at + 2).ok_or(Ignored::Unreadable)? >> 3 != 0 {
                    return Err(Ignored::Fragment);
                }
                8
            }
            51 => 4 * (usize::from(next(at + 1)?) + 2), // RFC 4302 §2.2
            _ => break,
        };
        protocol = next(at)?;
        at += length;
    }
    frame.protocol = protocol;
    let rest = bytes.get(at..).ok_or(Ignored::Unreadable)?;
    let mut headers = at;
    match protocol {
        TCP => {
            let (tcp, ports, length) = tcp(rest).ok_or(Ignored::Unreadable)?;
            frame.tcp = Some(tcp);
            frame.ports = ports;
            headers += length;
        }
        // UDP, DCCP, SCTP and UDP-Lite begin with two ports.
        17 | 33 | 132 | 136 => {
            frame.ports = u16_at(rest, 0).zip(u16_at(rest, 2)).ok_or(Ignored::Unreadable)?;
            headers += if protocol == 17 { 8 } else { 0 };
        }
        _ => {}
    }
    frame.payload = frame.ip_length.checked_sub(headers as u32).ok_or(Ignored::Unreadable)?;
    Ok(frame)
}

/// The IP protocol number of TCP.
pub const TCP: u8 = 6;

/// Header, ports and length of the header.
fn tcp(bytes: &[u8]) -> Option<(Tcp, (u16, u16), usize)> {
    let fixed = bytes.first_chunk::<20>()?;
    let length = usize::from(fixed[12] >> 4) * 4;
    if length < 20 {
        return None;
    }
    let mut tcp = Tcp {
        flags: fixed[13],
        seq: u32_at(fixed, 4)?,
        ack: u32_at(fixed, 8)?,
        window: u16_at(fixed, 14)?,
        ..Tcp::default()
    };
    // As many options as were kept.
    options(&bytes[20..length.min(bytes.len())], &mut tcp);
    Some((tcp, (u16_at(fixed, 0)?, u16_at(fixed, 2)?), length))
}

/// RFC 9293 §3.1: kind, length and data of one option after the other. What is malformed or cut ends the list.
fn options(mut rest: &[u8], tcp: &mut Tcp) {
    while let Some((&kind, after)) = rest.split_first() {
        match kind {
            0 => return,
            1 => rest = after,
            _ => {
                let Some(&length) = after.first() else { return };
                let Some(data) = rest.get(2..usize::from(length)) else { return };
                option(kind, data, tcp);
                rest = &rest[usize::from(length)..];
            }
        }
    }
}

fn option(kind: u8, data: &[u8], tcp: &mut Tcp) {
    match (kind, data.len()) {
        (2, 2) => tcp.mss = u16_at(data, 0),
        (3, 1) => tcp.window_scale = Some(data[0]),
        (4, 0) => tcp.sack_permitted = true,
        (5, _) => {
            tcp.blocks = 0;
            for (block, edges) in tcp.sack.iter_mut().zip(data.chunks_exact(8)) {
                if let Some(edges) = u32_at(edges, 0).zip(u32_at(edges, 4)) {
                    *block = edges;
                    tcp.blocks += 1;
                }
            }
        }
        (8, 8) => tcp.timestamps = u32_at(data, 0).zip(u32_at(data, 4)),
        _ => {}
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}
