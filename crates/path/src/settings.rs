//! Settings of the wired parts of a path.

use cellwind_engine::packet::Deadline;
use cellwind_engine::time::{Span, Time};
use cellwind_engine::units::{Rate, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::errors::settings::ErrorSettings;

/// One direction of a wired link: a queue, a transmitter and a delay line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LinkSettings {
    /// Transmission rate; absent means that packets take no time to send.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Propagation delay.
    pub delay: Span,
    /// Which packets are lost after they were sent: the probability of independent losses, or a table as for the `errors` of
    /// a radio bearer.
    pub loss: ErrorSettings,
    /// Bound of the drop-tail queue in front of the transmitter.
    pub queue: QueueLimit,
    /// Marks congestion in packets that find so many others waiting, where their transport understands it (ECN, RFC 3168 §5);
    /// absent marks none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark_above: Option<u32>,
    /// Drops waiting packets whose deadline is over; absent lets them pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expiry: Option<Expiry>,
    /// Scripted faults on this direction, for exact tests.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<Fault>,
}

impl LinkSettings {
    /// Takes the value of one key over from `other`. Scripted faults do not change while the link runs.
    pub fn adopt(&mut self, key: &str, other: &Self) {
        match key {
            "rate" => self.rate = other.rate,
            "delay" => self.delay = other.delay,
            "loss" => self.loss = other.loss.clone(),
            "queue" => self.queue = other.queue,
            "mark_above" => self.mark_above = other.mark_above,
            "expiry" => self.expiry = other.expiry,
            _ => {}
        }
    }
}

/// What a queue does about deadlines (Gurtov, P9 III.C): when a packet's transmission is to begin and its deadline is over,
/// or nearer than `fix_ttl`, it is dropped and takes no time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Expiry {
    /// FixTtl: the least lifetime that must be left, such as the latency of the way behind the queue (P9 IV).
    pub fix_ttl: Span,
    /// Sets EXP in the next packet of the same connection, so that its receiver does not take the gap for congestion
    /// (P9 III.B).
    pub mark: bool,
}

impl Expiry {
    /// Whether a packet with `deadline` that would begin to be transmitted at `starts` is to be dropped.
    pub fn strikes(&self, deadline: Deadline, starts: Time) -> bool {
        deadline.is_over(starts + self.fix_ttl)
    }
}

/// Bound of a drop-tail queue; the packet being transmitted does not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueueLimit {
    /// Never full.
    #[default]
    Unlimited,
    /// So many waiting packets.
    Packets(u32),
    /// So many waiting bytes.
    Bytes(Size),
}

impl QueueLimit {
    /// Whether a packet of `size` may join `packets` waiting packets of `bytes` bytes.
    pub fn admits(self, packets: usize, bytes: u64, size: Size) -> bool {
        match self {
            QueueLimit::Unlimited => true,
            QueueLimit::Packets(most) => packets < most as usize,
            QueueLimit::Bytes(most) => bytes + size.as_bytes() <= most.as_bytes(),
        }
    }
}

/// A scripted fault: exactly one of `drop_data`, `drop_ack`, `drop_segment`, `mark_data` and `delay_segment`.
///
/// Packets are counted from 1 per flow, in the order they reach the link: data packets for `drop_data` and `mark_data`,
/// packets without data for `drop_ack` (SYN and FIN count for neither). A segment's number is its place
/// among the flow's first transmissions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Fault {
    /// Drops the k-th data packet, whatever it carries.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub drop_data: Option<u64>,
    /// Drops the k-th pure ACK.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub drop_ack: Option<u64>,
    /// Drops one transmission of this segment.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub drop_segment: Option<u64>,
    /// Marks congestion in the k-th data packet (CE, RFC 3168 §5); drops it where its transport does not understand marks.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub mark_data: Option<u64>,
    /// Delays one transmission of this segment.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub delay_segment: Option<u64>,
    /// Which transmission of the segment is meant, 1 for the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub transmission: Option<u32>,
    /// How long `delay_segment` holds the packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<Span>,
    /// Whether later packets may overtake the delayed one; otherwise they wait behind it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overtaking: Option<bool>,
}
