//! Settings of a TCP connection: both ends and the four replaceable parts of the sender.

use cellwind_engine::time::Span;
use cellwind_engine::units::Size;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::amount::{Segments, Window};

mod congestion;
mod faults;
mod recovery;
mod rto;
mod spurious;

pub use congestion::*;
pub use faults::*;
pub use recovery::*;
pub use rto::*;
pub use spurious::*;

/// A TCP connection (RFC 9293): one sender, one receiver, and the parts the sender is made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TcpSettings {
    /// Maximum segment size: payload bytes of a full segment, less the options it carries (RFC 6691 §2).
    pub mss: Size,
    /// Bytes of IP and TCP header without options: 40 for IPv4 (RFC 791, RFC 9293).
    pub header: Size,
    /// How much may be sent before the first acknowledgement.
    pub initial_window: InitialWindow,
    /// Slow start threshold at the start; absent means as high as can be (RFC 5681 §3.1).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_ssthresh: Option<Window>,
    /// The receiver's buffer, which bounds the window it advertises.
    pub receive_window: Window,
    /// Window scale option (RFC 7323 §2); without it no window exceeds 65535 bytes.
    pub window_scaling: bool,
    /// Timestamps option on every segment (RFC 7323 §3): 12 bytes more, and an RTT sample for each ACK.
    pub timestamps: bool,
    /// Tick of the timestamp clock, 1 ms to 1 s (RFC 7323 §5.4).
    pub timestamp_clock: Span,
    /// The receiver reports blocks above a gap (RFC 2018).
    pub sack: bool,
    /// The receiver reports duplicates in the first SACK block (RFC 2883).
    pub d_sack: bool,
    /// Explicit congestion notification (RFC 3168): where both ends agree, queues may mark data instead of dropping it, and a
    /// mark lowers the window once per round trip.
    pub ecn: bool,
    /// The most SACK blocks on one ACK: four, of which three fit beside timestamps (RFC 2018 §3).
    #[schemars(range(min = 1, max = 4))]
    pub sack_blocks: u32,
    /// Whether data that had arrived before updates the timestamp to echo (RFC 7323 §4.3 (2)). RFC 1323 §3.4 said no, and
    /// then the ACK of a needless retransmission looks like one of the original.
    pub echo_duplicates: bool,
    /// How the receiver delays acknowledgements.
    pub delayed_ack: DelayedAck,
    /// Sends a new segment on each of the first two duplicate ACKs (RFC 3042).
    pub limited_transmit: bool,
    /// Duplicate ACKs that start a fast retransmit: DupThresh, 3 in RFC 5681 §3.2.
    #[schemars(range(min = 1))]
    pub dup_thresh: u32,
    /// Fewer duplicate ACKs start a fast retransmit while less than four segments are in flight and nothing new can be sent
    /// (RFC 5827).
    pub early_retransmit: EarlyRetransmit,
    /// How losses found by duplicate ACKs are repaired.
    pub recovery: RecoverySettings,
    /// How the congestion window moves in congestion avoidance, and what a loss leaves of it.
    pub congestion: CongestionSettings,
    /// How the congestion window grows in slow start, and when that ends before a loss ends it.
    pub slow_start: SlowStartSettings,
    /// Whether segments leave at a pace of their own, beside what the windows allow.
    pub pacing: Pacing,
    /// How a spurious timeout is noticed and answered.
    pub spurious: SpuriousSettings,
    /// The retransmission timer.
    pub rto: RtoSettings,
    /// Faults of implementations, emulated; none by default.
    pub faults: FaultSettings,
    /// Until when queues on the way shall carry a segment; only a queue that looks at deadlines (`expiry`) drops it then.
    pub lifetime: Lifetime,
}

impl Default for TcpSettings {
    fn default() -> Self {
        TcpSettings {
            mss: Size::from_bytes(1460), // Ethernet MTU 1500 less 40 (RFC 6691 §2)
            header: Size::from_bytes(40),
            initial_window: InitialWindow::Rfc6928,
            initial_ssthresh: None,
            receive_window: Window::Bytes(Size::from_bytes(65535)), // the largest without scaling (RFC 7323 §2)
            window_scaling: true,
            timestamps: false,
            timestamp_clock: Span::from_millis(1), // the finest RFC 7323 §5.4 allows
            sack: false,
            d_sack: false,
            ecn: false,
            sack_blocks: 4,        // RFC 2018 §3
            echo_duplicates: true, // RFC 7323 §4.3 (2)
            delayed_ack: DelayedAck::default(),
            limited_transmit: false,
            dup_thresh: 3,
            early_retransmit: EarlyRetransmit::Off,
            recovery: RecoverySettings::Newreno(NewRenoSettings::default()),
            congestion: CongestionSettings::Aimd(AimdSettings::default()),
            slow_start: SlowStartSettings::default(),
            pacing: Pacing::Off, // RFC 5681: the ACKs clock the segments out
            spurious: SpuriousSettings::Off,
            rto: RtoSettings::default(),
            faults: FaultSettings::default(),
            lifetime: Lifetime::Unlimited,
        }
    }
}

/// How long a segment is of use, counted from each of its transmissions (Gurtov, P9 III.E and IV.B).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Lifetime {
    /// For ever.
    #[default]
    Unlimited,
    /// The retransmission timeout of that moment. The timer starts again with every ACK, so that segments sent into a
    /// growing queue expire before it does.
    Rto,
    /// The retransmission timeout and the smoothed round trip.
    RtoPlusRtt,
}

/// The initial congestion window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialWindow {
    /// A number of full segments.
    Segments(Segments),
    /// `min(4 MSS, max(2 MSS, 4380 bytes))` (RFC 3390 §1).
    Rfc3390,
    /// `min(10 MSS, max(2 MSS, 14600 bytes))` (RFC 6928 §2).
    Rfc6928,
}

/// When the receiver acknowledges in-order data; out-of-order data and filled gaps are always
/// acknowledged at once (RFC 5681 §4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DelayedAck {
    /// Every how many full segments an ACK leaves; 1 turns delayed ACKs off (RFC 5681 §4.2 asks for at most 2).
    #[schemars(range(min = 1))]
    pub every: u32,
    /// The longest an ACK may wait; below 500 ms (RFC 9293 §3.8.6.3).
    pub timer: Span,
    /// The first so many ACKs of a connection leave at once (quick ACKs: Linux sends 16); 0 delays from the start.
    pub quick: u32,
}

impl Default for DelayedAck {
    fn default() -> Self {
        DelayedAck { every: 1, timer: Span::from_millis(200), quick: 0 } // 200 ms as in BSD-derived stacks
    }
}
