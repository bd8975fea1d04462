//! Which packets may travel on the path, and to which terminal they go.
//!
//! Headers are read as RFC 791 §3.1 and RFC 8200 §3 lay them out. Anything may arrive: a packet that is not what
//! its header says is refused with a reason, which is counted. Fragments travel like any packet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// RFC 791 §3.1: without options.
pub const IPV4_HEADER: usize = 20;
/// RFC 8200 §3.
pub const IPV6_HEADER: usize = 40;

/// What the path has to know of an IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ip {
    /// Bytes of the header, without IPv6 extension headers.
    pub header: u16,
    /// Bytes of the packet by its own account.
    pub length: u32,
    /// Where it goes.
    pub destination: IpAddr,
}

macro_rules! refusals {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal,)+) => {
        /// Why a packet did not enter or leave the path, besides what the path itself drops.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Refusal {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl Refusal {
            /// All reasons.
            pub const ALL: &[Refusal] = &[$(Refusal::$variant,)+];

            /// The name in results.
            pub const fn name(self) -> &'static str {
                match self { $(Refusal::$variant => $name,)+ }
            }
        }
    };
}

refusals! {
    /// It is shorter than its header, or empty.
    Truncated = "truncated",
    /// It is neither IPv4 nor IPv6.
    Version = "version",
    /// Its length is not what its header says.
    Length = "length",
    /// Its IPv4 header does not match its checksum.
    Checksum = "checksum",
    /// It is larger than the path's MTU.
    Oversized = "oversized",
    /// It asks for a segmentation that this program does not know, or that its headers contradict.
    Offload = "offload",
    /// Its destination is of link scope, which no router forwards (RFC 4291 §2.5.6, RFC 3927 §7).
    LinkScope = "link_scope",
    /// No terminal has its destination address.
    NoTerminal = "no_terminal",
    /// All slots for packets on the path were in use.
    NoSlot = "no_slot",
    /// The device at its end did not take it.
    NotTaken = "not_taken",
}

/// Reads the header of the packet in `bytes`, which holds at most `mtu` bytes of it.
///
/// With `padded` it comes from an Ethernet, which fills up its frames: bytes behind the packet are allowed. A bridge
/// between two of them is no router, so that destinations of link scope are allowed as well.
#[inline]
pub fn examine(bytes: &[u8], mtu: u32, padded: bool) -> Result<Ip, Refusal> {
    let ip = match bytes.first().map(|first| first >> 4) {
        Some(4) => examine_v4(bytes)?,
        Some(6) => examine_v6(bytes)?,
        Some(_) => return Err(Refusal::Version),
        None => return Err(Refusal::Truncated),
    };
    // Size comes first: what was read of a packet beyond the MTU is not all of it.
    if ip.length > mtu {
        return Err(Refusal::Oversized);
    }
    let length = ip.length as usize;
    if length > bytes.len() || (length < bytes.len() && !padded) {
        return Err(Refusal::Length);
    }
    if !padded && is_link_scope(ip.destination) {
        return Err(Refusal::LinkScope);
    }
    Ok(ip)
}

fn examine_v4(bytes: &[u8]) -> Result<Ip, Refusal> {
    if bytes.len() < IPV4_HEADER {
        return Err(Refusal::Truncated);
    }
    let header = usize::from(bytes[0] & 15) * 4;
    let length = u16::from_be_bytes([bytes[2], bytes[3]]);
    if header < IPV4_HEADER || usize::from(length) < header {
        return Err(Refusal::Length);
    }
    if bytes.len() < header {
        return Err(Refusal::Truncated);
    }
    if checksum(sum(&bytes[..header])) != 0 {
        return Err(Refusal::Checksum);
    }
    let destination: [u8; 4] = bytes[16..20].try_into().expect("four bytes");
    Ok(Ip { header: header as u16, length: u32::from(length), destination: Ipv4Addr::from(destination).into() })
}

fn examine_v6(bytes: &[u8]) -> Result<Ip, Refusal> {
    if bytes.len() < IPV6_HEADER {
        return Err(Refusal::Truncated);
    }
    // RFC 2675 jumbograms say zero here, and are larger than any MTU of this program.
    let payload = u32::from(u16::from_be_bytes([bytes[4], bytes[5]]));
    let destination: [u8; 16] = bytes[24..40].try_into().expect("sixteen bytes");
    let length = IPV6_HEADER as u32 + payload;
    Ok(Ip { header: IPV6_HEADER as u16, length, destination: Ipv6Addr::from(destination).into() })
}

fn is_link_scope(destination: IpAddr) -> bool {
    match destination {
        IpAddr::V4(address) => address.is_link_local() || address.octets()[..3] == [224, 0, 0],
        // RFC 4291 §2.7: the low half of the second byte is the scope; 1 is the interface, 2 the link.
        IpAddr::V6(address) => {
            let [first, second, ..] = address.octets();
            address.is_unicast_link_local() || (first == 0xff && second & 15 <= 2)
        }
    }
}

/// The sum of 16-bit words in the order of the network, before its carries are folded (RFC 1071).
///
/// An odd last byte counts as the high half of a word.
#[inline]
pub fn sum(bytes: &[u8]) -> u64 {
    // Words of 32 bits give the same folded sum, in half the steps.
    let mut words = bytes.chunks_exact(4);
    let mut total: u64 = words.by_ref().map(|word| u64::from(u32::from_be_bytes(word.try_into().expect("four")))).sum();
    let mut rest = [0; 4];
    let left = words.remainder();
    rest[..left.len()].copy_from_slice(left);
    total += u64::from(u32::from_be_bytes(rest));
    total
}

/// The checksum for a field: the complement of the folded sum.
#[inline]
pub fn checksum(sum: u64) -> u16 {
    let sum = (sum >> 32) + (sum & 0xffff_ffff);
    let sum = (sum >> 16) + (sum & 0xffff);
    let sum = (sum >> 16) + (sum & 0xffff);
    let sum = (sum >> 16) + (sum & 0xffff);
    !(sum as u16)
}

/// The addresses of terminals.
#[derive(Clone, Debug)]
pub enum Addresses {
    /// Everything goes to one terminal, whatever its address.
    All(u16),
    /// Each address belongs to a terminal; sorted by address.
    Listed(Vec<(IpAddr, u16)>),
}

impl Addresses {
    /// The terminals' addresses, in any order.
    pub fn listed(mut addresses: Vec<(IpAddr, u16)>) -> Self {
        addresses.sort_unstable();
        Addresses::Listed(addresses)
    }

    /// The terminal that a packet to `destination` goes to.
    #[inline]
    pub fn terminal(&self, destination: IpAddr) -> Result<u16, Refusal> {
        match self {
            Addresses::All(terminal) => Ok(*terminal),
            Addresses::Listed(addresses) => addresses
                .binary_search_by_key(&destination, |&(address, _)| address)
                .map(|place| addresses[place].1)
                .map_err(|_| Refusal::NoTerminal),
        }
    }
}

#[cfg(test)]
mod tests;
