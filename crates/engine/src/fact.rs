//! Typed facts: what a machine observed, when, about which flow.
//!
//! Metrics, plots and reports are computed from facts alone. A fact is one flat row, so that recording
//! is a copy and a run's facts become columns without interpretation.

use std::fmt;

use crate::packet::FlowId;
use crate::time::Time;

/// One observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fact {
    /// What was observed.
    pub kind: FactKind,
    /// The flow it concerns.
    pub flow: FlowId,
    /// First sequence number, or block number; see [`FactKind::meaning`].
    pub seq: u64,
    /// Bytes.
    pub length: u32,
    /// First value of the kind.
    pub a: u64,
    /// Second value of the kind.
    pub b: u64,
}

impl Fact {
    /// A fact about `flow` with all other fields zero.
    pub const fn new(kind: FactKind, flow: FlowId) -> Self {
        Fact { kind, flow, seq: 0, length: 0, a: 0, b: 0 }
    }

    /// The same fact about `length` bytes from `seq`.
    pub const fn about(mut self, seq: u64, length: u32) -> Self {
        self.seq = seq;
        self.length = length;
        self
    }

    /// The same fact with its two values.
    pub const fn values(mut self, a: u64, b: u64) -> Self {
        self.a = a;
        self.b = b;
        self
    }
}

/// A fact with its time and the machine that told it.
///
/// Packed, because a run tells ten facts per packet and the time to keep them is the time to fill memory.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C, packed)]
pub struct FactRow {
    time: Time,
    seq: u64,
    a: u64,
    b: u64,
    length: u32,
    machine: u16,
    flow: FlowId,
    kind: FactKind,
}

impl FactRow {
    /// What `machine` tells at `time`.
    #[inline]
    pub const fn new(time: Time, machine: u16, fact: Fact) -> Self {
        let Fact { kind, flow, seq, length, a, b } = fact;
        FactRow { time, seq, a, b, length, machine, flow, kind }
    }

    /// When.
    pub const fn time(&self) -> Time {
        self.time
    }

    /// Index of the machine in its World.
    pub const fn machine(&self) -> u16 {
        self.machine
    }

    /// What.
    pub const fn fact(&self) -> Fact {
        Fact { kind: self.kind, flow: self.flow, seq: self.seq, length: self.length, a: self.a, b: self.b }
    }
}

impl fmt::Debug for FactRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} machine {}: {:?}", self.time(), self.machine(), self.fact())
    }
}

macro_rules! fact_kinds {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal,)+) => {
        /// The kinds of facts.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum FactKind {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl FactKind {
            /// All kinds, in the order of their codes.
            pub const ALL: &[FactKind] = &[$(FactKind::$variant,)+];

            /// The name in results.
            pub const fn name(self) -> &'static str {
                match self { $(FactKind::$variant => $name,)+ }
            }

            /// Who tells it and what its fields mean.
            pub const fn meaning(self) -> &'static str {
                match self { $(FactKind::$variant => concat!($($doc,)+).trim_ascii_start(),)+ }
            }
        }
    };
}

fact_kinds! {
    /// Sender: first transmission of `length` bytes from `seq`; `a` = transmission number (1), `b` = ACK number carried.
    SegmentSent = "segment_sent",
    /// Sender: retransmission of `length` bytes from `seq`; `a` = transmission number (2 or more), `b` = ACK number carried.
    SegmentResent = "segment_resent",
    /// Receiver: a segment arrived; `a` = next sequence number expected afterwards, `b` = 1 if it held no new byte.
    SegmentReceived = "segment_received",
    /// Receiver: an acknowledgement up to `seq` left; `a` = advertised window in bytes, `b` = SACK blocks.
    AckSent = "ack_sent",
    /// Sender: an acknowledgement up to `seq` arrived; `a` = oldest unacknowledged number before it, `b` = SACK blocks.
    AckReceived = "ack_received",
    /// Sender: the congestion window changed; `seq` = oldest unacknowledged number, `a` = window in bytes, `b` = send window in bytes (the smaller of it and the receiver's).
    Cwnd = "cwnd",
    /// Sender: the slow start threshold changed; `seq` = oldest unacknowledged number, `a` = threshold in bytes.
    Ssthresh = "ssthresh",
    /// Sender: a round trip was measured; `seq` = number acknowledged, `a` = sample in ns.
    RttSample = "rtt_sample",
    /// Sender: the smoothed round trip changed; `a` = SRTT in ns, `b` = RTTVAR in ns.
    Srtt = "srtt",
    /// Sender: the retransmission timeout changed; `a` = RTO in ns with back-off, `b` = number of doublings.
    Rto = "rto",
    /// Sender: the retransmission timer expired; `seq` = segment to resend, `a` = RTO in ns that passed, `b` = flight in bytes.
    Timeout = "timeout",
    /// Sender: the ACK of new data after a timeout answered a packet sent before it, so waiting longer would have brought it: the timeout was spurious; `seq` = number acknowledged. Known to the observer only.
    SpuriousTimeout = "spurious_timeout",
    /// Sender: what the peer tells, or its silence, set the allowed rate (TFRC); `a` = rate in bit/s, `b` = loss event rate in units of 10^-9.
    AllowedRate = "allowed_rate",
    /// Sender: it found a reaction to a supposed loss spurious and took it back; `seq` = oldest unacknowledged number, `a` = timeouts in a row, `b` = 1 for a timeout, 0 for a fast retransmit.
    ReactionUndone = "reaction_undone",
    /// Sender: a fast retransmit started; `seq` = segment resent, `a` = flight in bytes, `b` = duplicate ACKs counted.
    FastRetransmit = "fast_retransmit",
    /// Sender: a tail loss probe was sent; `a` = 1 if it was a retransmission.
    TailLossProbe = "tail_loss_probe",
    /// Sender: the flow began; `a` = bytes to send.
    FlowStarted = "flow_started",
    /// Receiver: the last byte was delivered in order; `a` = bytes delivered.
    FlowCompleted = "flow_completed",
    /// Link, bearer: a packet of `length` bytes joined the queue; `a` = packets waiting with it, `b` = bytes waiting.
    QueueLength = "queue_length",
    /// Link, bearer: the first packets of the queue left it, to be transmitted or because their wait is over; `a` = packets, `b` = ns since then, as a link tells it when a packet arrives.
    QueueLeft = "queue_left",
    /// Link, bearer, handover: a packet of `length` bytes was dropped; `a` = reason: 1 queue full, 2 random loss, 3 scripted, 4 attempts exhausted, 5 handover, 6 expired, 7 too large, 8 reset, 9 header damaged.
    Drop = "drop",
    /// Bearer: block `seq` was sent for the first time; `a` = 1, `b` = 1 if in error. Of `block-arq` `length` is its payload and the time the end of its TTI, of `umts` its octets with header and the beginning.
    BlockSent = "block_sent",
    /// Bearer: block `seq` was sent again; `a` = transmission number, `b` = 1 if in error; `length` and time as in `block_sent`.
    BlockResent = "block_resent",
    /// Bearer: block `seq` arrived without error; `a` = transmissions it took.
    BlockDelivered = "block_delivered",
    /// Bearer: a PDU asked for a status report; `seq` = its number since the start, 4096 for the first, `a` = 1 if it was sent before.
    PollSent = "poll_sent",
    /// Bearer: a status report left; `seq` = number since the start of the first PDU that the receiver has not, `a` = PDUs reported missing, `b` = 1 if piggybacked.
    StatusSent = "status_sent",
    /// Bearer: all of a packet of `length` octets is acknowledged, so that the transmitter forgets it; `a` = ns since it was handed to RLC.
    SduAcknowledged = "sdu_acknowledged",
    /// Bearer: what the transmitter keeps changed; `a` = octets of packets that are not acknowledged or not sent, `b` = PDUs from the first unacknowledged one to the last sent.
    BufferOccupancy = "buffer_occupancy",
    /// Bearer: the receiver is asked to move its window past SDUs that were given up; `seq` = number since the start of the PDU it is to begin with, `a` = how often it was asked, `b` = SDUs that end in that PDU and are given up.
    DiscardRequested = "discard_requested",
    /// Bearer: a RESET PDU left; `a` = how often in a row.
    ResetSent = "reset_sent",
    /// Bearer: an end was reset, at the request of its peer or with its consent; `a` = 1 if it was the one to ask.
    ResetDone = "reset_done",
    /// Bearer: RESET PDUs got no answer, so that both ends are to be established anew; `a` = RESET PDUs sent.
    Unrecoverable = "unrecoverable",
    /// Bearer: a packet left for the upper layer; `a` = ns since it entered the bearer.
    PacketDelivered = "packet_delivered",
    /// Handover: the terminal leaves its access; `a` = place in the scenario of the access it moves to, from 0, `b` = ns until it is there.
    HandoverStarted = "handover_started",
    /// Handover: the terminal is in its new access; `a` = place of that access, `b` = packets that were kept for it.
    HandoverEnded = "handover_ended",
    /// Link, bearer: nothing begins to be transmitted from now on.
    TransmissionHeld = "transmission_held",
    /// Link, bearer: transmission goes on.
    TransmissionReleased = "transmission_released",
    /// Link, bearer: its settings changed.
    SettingsChanged = "settings_changed",
    /// Bearer: its terminal is in another RRC state; `a` = the state: 1 idle, 2 URA_PCH, 3 CELL_PCH, 4 CELL_FACH, 5 CELL_DCH, `b` = the one before, or 0. The first is told with the first packet or change.
    RrcState = "rrc_state",
    /// Bearer: its terminal has another channel; `a` = bit rate in bit/s, or 0 while nothing may be sent, `b` = 0 down, 1 up. The first is told with the first packet or change.
    ChannelRate = "channel_rate",
    /// Cell: calls came or went; `a` = calls that go on, `b` = calls so far that found the cell full.
    Calls = "calls",
    /// Application: message number `seq` was given to the transport; `a` = its bytes, `b` = its deadline in ns, or 0.
    MessageSent = "message_sent",
    /// Application: message number `seq` of `length` bytes arrived complete; `a` = ns since it was made or asked for, `b` = 1 if after its deadline.
    MessageArrived = "message_arrived",
    /// Web: the text of page `seq` arrived; `a` = ns since it was asked for.
    PageTextArrived = "page_text_arrived",
    /// Web: page `seq` arrived with all its objects; `a` = ns since it was asked for.
    PageCompleted = "page_completed",
    /// Video: play-back started; `a` = ns since the flow started.
    PlaybackStarted = "playback_started",
    /// Video: play-back stopped because nothing was there to play; `b` = ns of the media played.
    PlaybackStalled = "playback_stalled",
    /// Video: play-back went on; `a` = ns since it stopped, `b` = ns of the media played.
    PlaybackResumed = "playback_resumed",
    /// Video: the last of the media was played; `b` = ns of the media played.
    PlaybackEnded = "playback_ended",
    /// Video: from piece `seq` on the media has another rate; `a` = that rate in bit/s, `b` = mean rate in bit/s that led to it.
    RateChosen = "rate_chosen",
}

/// Why a packet was dropped; the value of [`FactKind::Drop`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum DropReason {
    /// The queue had no room.
    QueueFull = 1,
    /// The link lost it at random.
    RandomLoss = 2,
    /// The scenario's script said so.
    Scripted = 3,
    /// A block was given up after its last allowed transmission.
    AttemptsExhausted = 4,
    /// It was in flight, or arrived, while its terminal moved from one access to another.
    Handover = 5,
    /// Its deadline was over, or too near, when its transmission was to begin.
    Expired = 6,
    /// The bearer has no way to carry a packet of its size.
    TooLarge = 7,
    /// The ends of its radio bearer were reset while it was under way.
    Reset = 8,
    /// Its compressed header came out wrong.
    HeaderDamaged = 9,
}

impl DropReason {
    /// All reasons, in the order of their codes, which begin at 1.
    pub const ALL: [DropReason; 9] = [
        DropReason::QueueFull,
        DropReason::RandomLoss,
        DropReason::Scripted,
        DropReason::AttemptsExhausted,
        DropReason::Handover,
        DropReason::Expired,
        DropReason::TooLarge,
        DropReason::Reset,
        DropReason::HeaderDamaged,
    ];

    /// The name in results.
    pub const fn name(self) -> &'static str {
        match self {
            DropReason::QueueFull => "queue_full",
            DropReason::RandomLoss => "random_loss",
            DropReason::Scripted => "scripted",
            DropReason::AttemptsExhausted => "attempts_exhausted",
            DropReason::Handover => "handover",
            DropReason::Expired => "expired",
            DropReason::TooLarge => "too_large",
            DropReason::Reset => "reset",
            DropReason::HeaderDamaged => "header_damaged",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_meaning_of_a_drop_lists_every_reason() {
        for (place, reason) in DropReason::ALL.into_iter().enumerate() {
            assert_eq!(place + 1, reason as usize);
            let listed = format!("{} {}", reason as u8, reason.name().replace('_', " "));
            assert!(FactKind::Drop.meaning().contains(&listed), "{listed}");
        }
    }
}
