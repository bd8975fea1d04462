//! What a sender counts of its work.

use cellwind_engine::time::Span;

/// Counts of a sender's work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Segments with data sent, retransmissions included.
    pub segments_sent: u64,
    /// Segments with data sent again.
    pub segments_retransmitted: u64,
    /// Expiries of the retransmission timer after which something was sent again: data, or what opens the connection.
    pub timeouts: u64,
    /// Fast retransmits begun.
    pub fast_retransmits: u64,
    /// Timeouts, several in a row counted once, after which an acknowledgement of new data answered a packet from before
    /// the last of them: it would have come without them (RFC 3522 §2).
    pub spurious_timeouts: u64,
    /// The others, of which the acknowledgement answered a packet sent after the last of them.
    pub necessary_timeouts: u64,
    /// Timeouts and fast retransmits that the sender itself found spurious and took back.
    pub reactions_undone: u64,
    /// Reductions of the window that echoes of marks asked for (RFC 3168 §6.1.2).
    pub marks_answered: u64,
    /// Segments sent to a window of zero, to learn whether it has opened (RFC 9293 §3.8.6.1).
    pub window_probes: u64,
    /// ACKs of what was never sent (RFC 9293 §3.10.7.4).
    pub unacceptable_acks: u64,
    /// SACK blocks that are empty or reach beyond what was sent.
    pub unacceptable_blocks: u64,
    /// Echoed timestamps that this end cannot have sent.
    pub unacceptable_echoes: u64,
    /// SYNs that came when the connection was established.
    pub unexpected_syns: u64,
    /// Round-trip samples taken.
    pub rtt_samples: u64,
    /// Sum of the samples.
    pub rtt_sum: Span,
}

impl Counters {
    /// The sum of these counts and `other`'s.
    pub fn with(self, other: &Counters) -> Counters {
        Counters {
            segments_sent: self.segments_sent + other.segments_sent,
            segments_retransmitted: self.segments_retransmitted + other.segments_retransmitted,
            timeouts: self.timeouts + other.timeouts,
            fast_retransmits: self.fast_retransmits + other.fast_retransmits,
            spurious_timeouts: self.spurious_timeouts + other.spurious_timeouts,
            necessary_timeouts: self.necessary_timeouts + other.necessary_timeouts,
            reactions_undone: self.reactions_undone + other.reactions_undone,
            marks_answered: self.marks_answered + other.marks_answered,
            window_probes: self.window_probes + other.window_probes,
            unacceptable_acks: self.unacceptable_acks + other.unacceptable_acks,
            unacceptable_blocks: self.unacceptable_blocks + other.unacceptable_blocks,
            unacceptable_echoes: self.unacceptable_echoes + other.unacceptable_echoes,
            unexpected_syns: self.unexpected_syns + other.unexpected_syns,
            rtt_samples: self.rtt_samples + other.rtt_samples,
            rtt_sum: self.rtt_sum + other.rtt_sum,
        }
    }
}
