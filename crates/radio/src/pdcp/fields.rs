//! The fields of a packet's headers that compression looks at, and their changes as RFC 1144 writes them.

use cellwind_engine::packet::{Flags, FlowId, Packet, SackBlocks};

/// IPv4 and UDP without options (RFC 791, RFC 768).
pub(super) const UDP_HEADERS: u16 = 28;
/// IPv4 and TCP without options (RFC 791, RFC 9293).
pub(super) const TCP_HEADERS: u16 = 40;

/// Whose headers they are: addresses and ports.
pub(super) type Who = (FlowId, u16);

pub(super) fn who(packet: &Packet) -> Who {
    (packet.flow, packet.connection)
}

/// Whether this is a UDP datagram with headers to compress.
pub(super) fn is_udp(packet: &Packet) -> bool {
    packet.flags.has(Flags::UDP) && packet.header >= UDP_HEADERS
}

/// Whether this is a TCP segment whose headers can be compressed: one in the middle of a connection (RFC 1144 §3.2.3).
pub(super) fn is_tcp(packet: &Packet) -> bool {
    let Packet { flags, header, .. } = packet;
    let is_control = flags.has(Flags::SYN) || flags.has(Flags::FIN) || !flags.has(Flags::ACK);
    !flags.has(Flags::UDP) && !is_control && *header >= TCP_HEADERS
}

/// Bits of the IP header that change within a stream: ECN, in the place of the type of service (RFC 3168 §5).
pub(super) fn ecn(packet: &Packet) -> Flags {
    let mut bits = Flags::NONE;
    for bit in [Flags::ECT, Flags::CE] {
        if packet.flags.has(bit) {
            bits = bits.with(bit);
        }
    }
    bits
}

/// A TCP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tcp {
    pub(super) who: Who,
    pub(super) seq: u32,
    pub(super) ack: u32,
    pub(super) window: u16,
    pub(super) payload: u32,
    pub(super) options: Options,
    /// Everything else that models have in a header.
    pub(super) flags: Flags,
}

/// The options of a TCP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Options {
    header: u16,
    timestamps: (u32, u32),
    sack: SackBlocks,
}

impl Options {
    pub(super) fn octets(self) -> u32 {
        u32::from(self.header - TCP_HEADERS)
    }
}

impl Tcp {
    pub(super) fn of(packet: &Packet) -> Self {
        Tcp {
            who: who(packet),
            seq: packet.seq as u32,
            ack: packet.ack as u32,
            window: packet.window as u16,
            payload: packet.payload,
            options: Options { header: packet.header, timestamps: packet.timestamps, sack: packet.sack },
            flags: packet.flags,
        }
    }

    /// How the `next` header of the connection differs; none where the differences cannot be written or tell of a
    /// retransmission, so that the header has to be sent whole (RFC 1144 §3.2.3).
    pub(super) fn change_to(&self, next: &Tcp) -> Option<Change> {
        let small = |from: u32, to: u32| u16::try_from(to.wrapping_sub(from)).ok();
        let (seq, ack) = (small(self.seq, next.seq)?, small(self.ack, next.ack)?);
        let change = Change { seq, ack, window: next.window.wrapping_sub(self.window) };
        // Nothing changed: a duplicate ACK or a window probe, or a retransmission without pipelining.
        let is_repeated = change == Change::NONE && (next.payload == 0 || self.payload > 0);
        (!is_repeated).then_some(change)
    }

    /// Changes this header to the next one, which has so much payload.
    pub(super) fn apply(&mut self, change: Change, payload: u32) {
        self.seq = self.seq.wrapping_add(u32::from(change.seq));
        self.ack = self.ack.wrapping_add(u32::from(change.ack));
        self.window = self.window.wrapping_add(change.window);
        self.payload = payload;
    }
}

/// Changes of a TCP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    seq: u16,
    ack: u16,
    window: u16,
}

/// How a change is written (RFC 1144 §3.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delta {
    /// The sequence number grew by the data of the last packet: the special case SAWU.
    Data,
    /// So did the acknowledgement: the special case SWU.
    Echoed,
    /// Field by field.
    Fields(Change),
}

impl Change {
    const NONE: Change = Change { seq: 0, ack: 0, window: 0 };

    /// How the change is written after a packet with so much payload, and in how many octets.
    pub(super) fn written(self, last_payload: u32) -> (Delta, u32) {
        let Change { seq, ack, window } = self;
        if seq > 0 && u32::from(seq) == last_payload && window == 0 {
            if ack == 0 {
                return (Delta::Data, 0);
            }
            if ack == seq {
                return (Delta::Echoed, 0);
            }
        }
        // One octet up to 255, else a zero and two more (RFC 1144 §3.2.2).
        let octets = |change: u16| match change {
            0 => 0,
            1..=255 => 1,
            _ => 3,
        };
        (Delta::Fields(self), octets(seq) + octets(ack) + octets(window))
    }
}

impl Delta {
    /// What it changes for one who has seen a last packet with so much payload.
    pub(super) fn read(self, last_payload: u32) -> Change {
        let data = last_payload as u16;
        match self {
            Delta::Data => Change { seq: data, ..Change::NONE },
            Delta::Echoed => Change { seq: data, ack: data, window: 0 },
            Delta::Fields(change) => change,
        }
    }
}
