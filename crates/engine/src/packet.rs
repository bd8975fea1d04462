//! The packet that travels between machines: a small `Copy` value with the header fields that matter.

use crate::time::Time;
use crate::units::Size;

/// A flow's number within a scenario, in the order of the scenario file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u16);

impl FlowId {
    /// Stands for no flow, in facts about no single one.
    pub const NONE: FlowId = FlowId(u16::MAX);
}

/// Control bits of a transport header (RFC 9293 §3.1) as far as the models use them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u16);

impl Flags {
    /// Synchronize sequence numbers.
    pub const SYN: Flags = Flags(1);
    /// No more data from the sender.
    pub const FIN: Flags = Flags(2);
    /// The acknowledgement field is significant.
    pub const ACK: Flags = Flags(4);
    /// The timestamps option is present (RFC 7323 §3).
    pub const TIMESTAMPS: Flags = Flags(8);
    /// The first SACK block reports a duplicate (RFC 2883 §4).
    pub const D_SACK: Flags = Flags(16);
    /// The receiver supports SACK (RFC 2018 §2); only on SYN.
    pub const SACK_PERMITTED: Flags = Flags(32);
    /// IP: the transport understands marks of congestion (ECT, RFC 3168 §5).
    pub const ECT: Flags = Flags(64);
    /// IP: a queue on the way marked congestion instead of dropping (CE, RFC 3168 §5).
    pub const CE: Flags = Flags(128);
    /// The receiver echoes a mark of congestion (RFC 3168 §6.1.3); on a SYN it asks for ECN.
    pub const ECE: Flags = Flags(256);
    /// The sender has reduced its congestion window (RFC 3168 §6.1.2); on a SYN it asks for ECN.
    pub const CWR: Flags = Flags(512);
    /// A queue on the way dropped packets of this connection just before this one because their deadline was over (EXP;
    /// Gurtov, P9 III.B). Feedback that echoes it says so of the gap below.
    pub const EXP: Flags = Flags(1024);
    /// IP: the protocol is UDP, with a header of 8 bytes behind the 20 of IPv4; else TCP.
    pub const UDP: Flags = Flags(2048);
    /// No bit set.
    pub const NONE: Flags = Flags(0);

    /// These bits together with `other`'s.
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    /// These bits without `other`'s.
    pub const fn without(self, other: Flags) -> Flags {
        Flags(self.0 & !other.0)
    }

    /// True when every bit of `other` is set.
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
}

/// At most four SACK blocks (RFC 2018 §3), stored as distances from the acknowledgement number.
///
/// Thirty-two bits suffice because a window never exceeds 2^30 bytes (RFC 7323 §2.3); a D-SACK block lies
/// below the acknowledgement, hence the sign.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    /// Left edge in the high half, right edge in the low half: whole words, so that packets copy fast. Zero
    /// stands for no block, as an empty block at the acknowledgement never occurs.
    edges: [u64; SackBlocks::MOST],
}

impl SackBlocks {
    /// The most blocks that fit a TCP header without other options.
    pub const MOST: usize = 4;

    /// No blocks.
    pub const NONE: SackBlocks = SackBlocks { edges: [0; Self::MOST] };

    /// Appends the block `[start, end)`; false when the list is full.
    pub fn push(&mut self, ack: u64, start: u64, end: u64) -> bool {
        debug_assert!(start < end, "a block has bytes");
        let distance = |edge: u64| u64::from(edge.wrapping_sub(ack) as u32);
        let Some(free) = self.edges.iter_mut().find(|edges| **edges == 0) else { return false };
        *free = distance(start) << 32 | distance(end);
        true
    }

    /// The blocks as sequence numbers, first reported first.
    pub fn iter(&self, ack: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        let edge = move |distance: u64| ack.wrapping_add(i64::from(distance as u32 as i32) as u64);
        self.edges[..self.len()].iter().map(move |&both| (edge(both >> 32), edge(both)))
    }

    /// The four words in the place of the blocks, which transports other than TCP fill with their own feedback.
    pub const fn words(&self) -> [u64; SackBlocks::MOST] {
        self.edges
    }

    /// What transports other than TCP put in the place of the blocks.
    pub const fn of_words(words: [u64; SackBlocks::MOST]) -> SackBlocks {
        SackBlocks { edges: words }
    }

    /// How many blocks there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.edges.iter().take_while(|&&edges| edges != 0).count()
    }

    /// True when there is no block.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.edges[0] == 0
    }
}

/// Number of a payload that the models do not look at and its owner finds by it.
///
/// Only packets that come from outside have one; whoever puts them in learns from it what became of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Body(pub u32);

impl Body {
    /// Stands for no payload, as in every packet that a machine makes.
    pub const NONE: Body = Body(u32::MAX);
}

/// Until when a packet is of use to its receiver; queues may drop it afterwards (Gurtov, P9).
///
/// In steps of 0.1 ms, which reach for 119 hours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(u32);

impl Deadline {
    /// Of use for ever.
    pub const NONE: Deadline = Deadline(0);
    const STEP_NS: u64 = 100_000;

    /// The deadline at `time`, rounded up to a whole step; the last step that there is stands for all later times.
    pub const fn at(time: Time) -> Deadline {
        let steps = time.as_nanos().div_ceil(Self::STEP_NS);
        Deadline(if steps == 0 {
            1
        } else if steps > u32::MAX as u64 {
            u32::MAX
        } else {
            steps as u32
        })
    }

    /// When it is; none for a packet that is of use for ever.
    pub const fn time(self) -> Option<Time> {
        if self.0 == 0 { None } else { Some(Time::from_nanos(self.0 as u64 * Self::STEP_NS)) }
    }

    /// Whether it is over at `now`.
    #[inline]
    pub const fn is_over(self, now: Time) -> bool {
        self.0 != 0 && now.as_nanos() > self.0 as u64 * Self::STEP_NS
    }
}

/// A packet on its way.
///
/// Sequence numbers count bytes from the flow's own SYN, which is 0, and do not wrap; a capture writes
/// their low 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// First sequence number of the segment.
    pub seq: u64,
    /// Next sequence number expected, valid with [`Flags::ACK`].
    pub ack: u64,
    /// Tells the transmissions of its sender apart: it counts them, modulo 2^32.
    pub number: u32,
    /// The number of the packet that this acknowledgement answers: of the first one since the acknowledgement before.
    ///
    /// Marks of the observer: they tell a spurious timeout from a necessary one in results. No protocol reads them.
    pub answers: u32,
    /// Receive window in bytes, after scaling (RFC 7323 §2).
    pub window: u32,
    /// Payload bytes.
    pub payload: u32,
    /// Timestamp value and echo reply in ticks, valid with [`Flags::TIMESTAMPS`].
    pub timestamps: (u32, u32),
    /// Selective acknowledgements.
    pub sack: SackBlocks,
    /// Its payload, if somebody keeps one.
    pub body: Body,
    /// Until when it is of use.
    pub deadline: Deadline,
    /// The flow it belongs to.
    pub flow: FlowId,
    /// Header bytes of IP and transport with options.
    pub header: u16,
    /// Control bits.
    pub flags: Flags,
    /// Which of the flow's connections it belongs to, from 0.
    pub connection: u16,
}

impl Packet {
    /// A packet of flow 0 that carries nothing, with 40 bytes of header as IPv4 and TCP have without options.
    pub const EMPTY: Packet = Packet {
        seq: 0,
        ack: 0,
        number: 0,
        answers: 0,
        window: 0,
        payload: 0,
        timestamps: (0, 0),
        sack: SackBlocks::NONE,
        body: Body::NONE,
        deadline: Deadline::NONE,
        flow: FlowId(0),
        header: 40,
        flags: Flags::NONE,
        connection: 0,
    };

    /// The size on the link: headers and payload.
    pub const fn size(&self) -> Size {
        Size::from_bytes(self.header as u64 + self.payload as u64)
    }

    /// The sequence number after this segment; SYN and FIN take one each (RFC 9293 §3.4).
    pub const fn end(&self) -> u64 {
        let control = self.flags.has(Flags::SYN) as u64 + self.flags.has(Flags::FIN) as u64;
        self.seq + self.payload as u64 + control
    }

    /// True when the packet takes sequence space, so that its loss must be repaired.
    pub const fn occupies_sequence_space(&self) -> bool {
        self.end() > self.seq
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Span;

    #[test]
    fn sack_blocks_lie_on_both_sides_of_the_acknowledgement() {
        let ack = 1 << 40;
        let mut blocks = SackBlocks::NONE;
        assert!(blocks.push(ack, ack - 1000, ack - 500));
        assert!(blocks.push(ack, ack + 500, ack + 1500));
        let seen: Vec<_> = blocks.iter(ack).collect();
        assert_eq!(seen, [(ack - 1000, ack - 500), (ack + 500, ack + 1500)]);
    }

    #[test]
    fn a_deadline_is_over_after_its_instant() {
        let at = Time::from_millis(40);
        let deadline = Deadline::at(at);
        assert_eq!(deadline.time(), Some(at));
        assert!(!deadline.is_over(at) && deadline.is_over(at + Span::from_nanos(1)));
        assert!(Deadline::at(Time::ZERO).is_over(Time::from_millis(1)));
        assert!(!Deadline::NONE.is_over(Time::MAX) && Deadline::NONE.time().is_none());
    }

    #[test]
    fn a_packet_stays_within_two_cache_lines() {
        assert!(size_of::<Packet>() <= 88, "{}", size_of::<Packet>());
    }
}
