//! Splits what the kernel left together: TCP and UDP segments larger than the MTU, and checksums left open.
//!
//! A device with offloads hands over packets with a `virtio_net_hdr` (virtio 1.2 §5.1.6) that says what is left to
//! do. The path must see packets as they would be on the air, so this is done first.

use crate::ip::{IPV4_HEADER, IPV6_HEADER, Refusal, checksum, sum};

/// The most segments that one packet is split into: 64 KiB in the least that Linux's TCP agrees to, 48 bytes.
const MOST_SEGMENTS: usize = 1400;

const NEEDS_CHECKSUM: u8 = 1;
const GSO_NONE: u8 = 0;
const GSO_TCPV4: u8 = 1;
const GSO_TCPV6: u8 = 4;
const GSO_UDP_L4: u8 = 5;
/// Congestion Window Reduced is set, which belongs into the first segment only (RFC 3168 §6.1.2).
const GSO_ECN: u8 = 0x80;

const UDP: u8 = 17;
const TCP: u8 = 6;
const UDP_HEADER: usize = 8;
const TCP_HEADER: usize = 20;
const TCP_FIN_PSH: u8 = 0x09;
const TCP_CWR: u8 = 0x80;

/// What the kernel left to do with a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offload {
    flags: u8,
    gso_type: u8,
    gso_size: u16,
    checksum_start: u16,
    checksum_offset: u16,
}

impl Offload {
    /// Bytes of the header in front of a packet.
    pub const SIZE: usize = 10;

    /// Reads the header; numbers are in the byte order of the machine.
    pub fn parse(bytes: &[u8; Self::SIZE]) -> Self {
        let number = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        Offload {
            flags: bytes[0],
            gso_type: bytes[1],
            gso_size: number(4),
            checksum_start: number(6),
            checksum_offset: number(8),
        }
    }
}

/// A packet on its way to become packets, kept from one call to the next.
#[derive(Clone, Copy, Debug)]
pub struct Splitter {
    network: usize,
    transport: usize,
    payload: usize,
    length: usize,
    /// Payload bytes of all but the last segment.
    size: usize,
    kind: Kind,
    /// Where the next payload starts, and its segment's number.
    at: usize,
    number: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Nothing left to do.
    Whole,
    /// A checksum is left open at this place; it covers everything from `transport` on.
    Checksum(usize),
    Tcp,
    Udp,
}

impl Splitter {
    /// Prepares to split the packet in `frame`, whose IP header stands at `network`.
    pub fn new(frame: &[u8], network: usize, offload: Offload) -> Result<Self, Refusal> {
        let whole = Splitter {
            network,
            transport: 0,
            payload: 0,
            length: frame.len(),
            size: frame.len(),
            kind: Kind::Whole,
            at: 0,
            number: 0,
        };
        let transport = usize::from(offload.checksum_start);
        match offload.gso_type & !GSO_ECN {
            GSO_NONE if offload.flags & NEEDS_CHECKSUM == 0 => Ok(whole),
            GSO_NONE => {
                let place = transport + usize::from(offload.checksum_offset);
                let fits = transport >= network && place + 2 <= frame.len();
                fits.then_some(Splitter { transport, kind: Kind::Checksum(place), ..whole }).ok_or(Refusal::Offload)
            }
            gso @ (GSO_TCPV4 | GSO_TCPV6 | GSO_UDP_L4) if offload.flags & NEEDS_CHECKSUM != 0 => {
                let (kind, payload) = transport_of(frame, network, transport, gso).ok_or(Refusal::Offload)?;
                let size = usize::from(offload.gso_size);
                if size == 0 || (frame.len() - payload).div_ceil(size) > MOST_SEGMENTS {
                    return Err(Refusal::Offload);
                }
                Ok(Splitter { transport, payload, size, kind, at: payload, ..whole })
            }
            _ => Err(Refusal::Offload),
        }
    }

    /// Whether it has more packets than one.
    pub fn is_many(&self) -> bool {
        matches!(self.kind, Kind::Tcp | Kind::Udp) && self.length - self.payload > self.size
    }

    /// Puts the next packet into `slot` and returns its length; none when there is no more.
    ///
    /// A packet that is longer than the slot fills it, so that it is found to be too large.
    pub fn next(&mut self, frame: &[u8], slot: &mut [u8]) -> Option<usize> {
        match self.kind {
            Kind::Tcp | Kind::Udp => self.next_segment(frame, slot),
            Kind::Whole | Kind::Checksum(_) if self.number > 0 => None,
            Kind::Whole | Kind::Checksum(_) => {
                self.number = 1;
                let length = self.length.min(slot.len());
                slot[..length].copy_from_slice(&frame[..length]);
                if let Kind::Checksum(place) = self.kind
                    && length == self.length
                {
                    // The kernel left the sum of the pseudo header in the field.
                    let check = nonzero(checksum(sum(&slot[self.transport..length])));
                    slot[place..place + 2].copy_from_slice(&check.to_be_bytes());
                }
                Some(length)
            }
        }
    }

    fn next_segment(&mut self, frame: &[u8], slot: &mut [u8]) -> Option<usize> {
        // A packet without payload is one segment.
        if self.at >= self.length && self.number > 0 {
            return None;
        }
        let end = self.length.min(self.at + self.size);
        let length = self.payload + (end - self.at);
        if length > slot.len() {
            let room = slot.len();
            slot.copy_from_slice(&frame[..room]); // the header of the whole, which is even larger
            self.at = end;
            self.number += 1;
            return Some(room);
        }
        slot[..self.payload].copy_from_slice(&frame[..self.payload]);
        slot[self.payload..length].copy_from_slice(&frame[self.at..end]);
        let packet = &mut slot[..length];
        self.write_ip(packet);
        match self.kind {
            Kind::Tcp => self.write_tcp(packet, end == self.length),
            _ => {
                let udp_length = (length - self.transport) as u16;
                packet[self.transport + 4..self.transport + 6].copy_from_slice(&udp_length.to_be_bytes());
                self.write_checksum(packet, UDP, 6);
            }
        }
        self.at = end;
        self.number += 1;
        Some(length)
    }

    /// Length, identification and checksum of the IP header.
    fn write_ip(&self, packet: &mut [u8]) {
        let ip_length = packet.len() - self.network;
        let header = &mut packet[self.network..self.transport];
        if header[0] >> 4 == 6 {
            header[4..6].copy_from_slice(&((ip_length - IPV6_HEADER) as u16).to_be_bytes());
            return;
        }
        header[2..4].copy_from_slice(&(ip_length as u16).to_be_bytes());
        let identification = u16::from_be_bytes([header[4], header[5]]).wrapping_add(self.number as u16);
        header[4..6].copy_from_slice(&identification.to_be_bytes());
        header[10..12].fill(0);
        let check = checksum(sum(header));
        header[10..12].copy_from_slice(&check.to_be_bytes());
    }

    /// Sequence number, flags and checksum of the TCP header.
    fn write_tcp(&self, packet: &mut [u8], is_last: bool) {
        let header = &mut packet[self.transport..];
        let seq = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
        let seq = seq.wrapping_add((self.at - self.payload) as u32);
        header[4..8].copy_from_slice(&seq.to_be_bytes());
        if !is_last {
            header[13] &= !TCP_FIN_PSH;
        }
        if self.number > 0 {
            header[13] &= !TCP_CWR;
        }
        self.write_checksum(packet, TCP, 16);
    }

    /// The transport's checksum, `offset` bytes into its header, over the pseudo header and all that follows
    /// (RFC 9293 §3.1, RFC 768, RFC 8200 §8.1).
    fn write_checksum(&self, packet: &mut [u8], protocol: u8, offset: usize) {
        let place = self.transport + offset;
        packet[place..place + 2].fill(0);
        let ip = &packet[self.network..];
        let addresses = if ip[0] >> 4 == 6 { &ip[8..40] } else { &ip[12..20] };
        let pseudo = sum(addresses) + (packet.len() - self.transport) as u64 + u64::from(protocol);
        let check = nonzero(checksum(pseudo + sum(&packet[self.transport..])));
        packet[place..place + 2].copy_from_slice(&check.to_be_bytes());
    }
}

/// RFC 768: zero means that there is no checksum; all ones is the same number.
fn nonzero(check: u16) -> u16 {
    if check == 0 { 0xffff } else { check }
}

/// Which transport it is and where its payload begins; none when headers and request contradict each other.
fn transport_of(frame: &[u8], network: usize, transport: usize, gso: u8) -> Option<(Kind, usize)> {
    let ip = frame.get(network..)?;
    let (header, protocol, is_v6) = match ip.first()? >> 4 {
        4 => (usize::from(ip[0] & 15) * 4, *ip.get(9)?, false),
        6 => (IPV6_HEADER, *ip.get(6)?, true),
        _ => return None,
    };
    // IPv6 extension headers may stand in between.
    let is_adjacent = transport == network + header || (is_v6 && transport > network + header);
    if header < IPV4_HEADER || !is_adjacent {
        return None;
    }
    let adjacent_is = |wanted: u8| protocol == wanted || (is_v6 && transport > network + header);
    let start = frame.get(transport..)?;
    match gso {
        GSO_UDP_L4 if adjacent_is(UDP) && start.len() >= UDP_HEADER => Some((Kind::Udp, transport + UDP_HEADER)),
        GSO_TCPV4 | GSO_TCPV6 if (gso == GSO_TCPV6) == is_v6 && adjacent_is(TCP) && start.len() >= TCP_HEADER => {
            let payload = transport + usize::from(start[12] >> 4) * 4;
            (payload >= transport + TCP_HEADER && payload <= frame.len()).then_some((Kind::Tcp, payload))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
