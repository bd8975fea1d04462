//! Segments of a script: what arrives, what is expected to leave, and what was seen.

use cellwind_engine::packet::{Deadline, Flags, FlowId, Packet, SackBlocks};
use cellwind_engine::time::Time;

/// A segment that the script sends.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    /// SYN, FIN, ACK, and the bits of ECN.
    pub flags: Flags,
    /// First sequence number.
    pub seq: u64,
    /// Bytes of data.
    pub payload: u32,
    /// The acknowledgement.
    pub ack: u64,
    /// The window; that of the segment before when absent.
    pub window: Option<u32>,
    /// SACK blocks, a D-SACK block first.
    pub sack: Vec<(u64, u64)>,
    /// The timestamp; that of the instant when absent.
    pub stamp: Option<u32>,
    /// Which timestamp is echoed.
    pub echo: Echo,
}

/// Which transmission's timestamp an ACK echoes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Echo {
    /// That of the last transmission of the segment at the left edge, as RFC 7323 §4.3 has it when nothing is late.
    #[default]
    Last,
    /// That of its first transmission.
    First,
    /// This one.
    Value(u32),
}

/// What a segment that leaves must be like; what is absent may be anything.
#[derive(Clone, Debug, PartialEq)]
pub struct Form {
    /// SYN, FIN, ACK, ECE, CWR and CE, all compared.
    pub flags: Flags,
    /// First sequence number.
    pub seq: Option<u64>,
    /// Bytes of data.
    pub payload: u32,
    /// The acknowledgement.
    pub ack: Option<u64>,
    /// The window.
    pub window: Option<u32>,
    /// SACK blocks in their order; none where none are written.
    pub sack: Vec<(u64, u64)>,
    /// The timestamp.
    pub stamp: Option<u32>,
    /// The echoed timestamp.
    pub echo: Option<u32>,
    /// Whether the packet says that its transport understands marks of congestion.
    pub ect: Option<bool>,
}

/// The bits of a header that are compared.
pub(super) const COMPARED: [(Flags, &str); 6] = [
    (Flags::SYN, "syn"),
    (Flags::FIN, "fin"),
    (Flags::ACK, "ack"),
    (Flags::ECE, "ece"),
    (Flags::CWR, "cwr"),
    (Flags::CE, "ce"),
];

/// A segment that the end under test has sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// When.
    pub at: Time,
    /// What.
    pub packet: Packet,
}

impl Segment {
    /// The packet, with what the script leaves to the instant put in.
    pub(super) fn packet(&self, window: u32, timestamps: Option<(u32, u32)>, answers: u32) -> Packet {
        let mut sack = SackBlocks::NONE;
        for &(start, end) in &self.sack {
            sack.push(self.ack, start, end);
        }
        let dsack = self.sack.first().is_some_and(|block| is_dsack(self.ack, *block, self.sack.get(1)));
        let flags = if dsack { self.flags.with(Flags::D_SACK) } else { self.flags };
        Packet {
            seq: self.seq,
            ack: self.ack,
            number: 0,
            answers,
            window,
            payload: self.payload,
            timestamps: timestamps.unwrap_or((0, 0)),
            sack,
            deadline: Deadline::NONE,
            flow: FlowId(0),
            flags: if timestamps.is_some() { flags.with(Flags::TIMESTAMPS) } else { flags },
            ..Packet::EMPTY
        }
    }
}

/// RFC 2883 §4: a first block below the acknowledgement, or inside the second one.
fn is_dsack(ack: u64, first: (u64, u64), second: Option<&(u64, u64)>) -> bool {
    first.0 < ack || second.is_some_and(|second| second.0 <= first.0 && first.1 <= second.1)
}

impl Form {
    /// Whether the packet is of this form.
    pub fn fits(&self, packet: &Packet) -> bool {
        let same = |flag: Flags| self.flags.has(flag) == packet.flags.has(flag);
        let stamped = packet.flags.has(Flags::TIMESTAMPS);
        let stamp = |wanted: Option<u32>, is: u32| wanted.is_none_or(|wanted| stamped && wanted == is);
        COMPARED.iter().all(|&(flag, _)| same(flag))
            && self.payload == packet.payload
            && self.seq.is_none_or(|seq| seq == packet.seq)
            && self.ack.is_none_or(|ack| ack == packet.ack)
            && self.window.is_none_or(|window| window == packet.window)
            && self.ect.is_none_or(|ect| ect == (packet.flags.has(Flags::ECT) || packet.flags.has(Flags::CE)))
            && self.sack.iter().copied().eq(packet.sack.iter(packet.ack))
            && stamp(self.stamp, packet.timestamps.0)
            && stamp(self.echo, packet.timestamps.1)
    }
}
