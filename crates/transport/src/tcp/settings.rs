//! Settings of a TCP connection: both ends and the four replaceable parts of the sender.

use cellwind_engine::time::Span;
use cellwind_engine::units::Size;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::amount::{Segments, Window};

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
    /// How the receiver delays acknowledgements.
    pub delayed_ack: DelayedAck,
    /// Sends a new segment on each of the first two duplicate ACKs (RFC 3042).
    pub limited_transmit: bool,
    /// Duplicate ACKs that start a fast retransmit: DupThresh, 3 in RFC 5681 §3.2.
    #[schemars(range(min = 1))]
    pub dup_thresh: u32,
    /// How losses found by duplicate ACKs are repaired.
    pub recovery: RecoverySettings,
    /// How the congestion window moves.
    pub congestion: CongestionSettings,
    /// How a spurious timeout is noticed and answered.
    pub spurious: SpuriousSettings,
    /// The retransmission timer.
    pub rto: RtoSettings,
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
            delayed_ack: DelayedAck::default(),
            limited_transmit: false,
            dup_thresh: 3,
            recovery: RecoverySettings::Newreno(NewRenoSettings::default()),
            congestion: CongestionSettings::Aimd,
            spurious: SpuriousSettings::Off,
            rto: RtoSettings::default(),
        }
    }
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
}

impl Default for DelayedAck {
    fn default() -> Self {
        DelayedAck { every: 1, timer: Span::from_millis(200) } // 200 ms as in BSD-derived stacks
    }
}

/// How losses found by duplicate ACKs are repaired.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum RecoverySettings {
    /// Fast retransmit, then slow start from one segment (4.3BSD-Tahoe).
    Tahoe(ClassicSettings),
    /// Fast retransmit and fast recovery that ends with the first new ACK (RFC 5681 §3.2).
    Reno(ClassicSettings),
    /// Fast recovery that stays until all data outstanding at its start is acknowledged (RFC 6582).
    Newreno(NewRenoSettings),
    /// Recovery by selective acknowledgements (RFC 6675).
    Sack(SackSettings),
}

/// Settings of Tahoe and Reno.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ClassicSettings {
    /// Whether duplicate ACKs of data sent before the last loss was found may start a fast retransmit.
    pub bug_fix: BugFix,
}

/// Settings of NewReno (RFC 6582).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NewRenoSettings {
    /// Whether duplicate ACKs of data sent before the last loss was found may start a fast retransmit.
    pub bug_fix: BugFix,
    /// When a partial ACK restarts the retransmission timer.
    pub partial_ack: PartialAck,
}

impl Default for NewRenoSettings {
    fn default() -> Self {
        NewRenoSettings { bug_fix: BugFix::Careful, partial_ack: PartialAck::Impatient } // RFC 6582 §3.2, §4
    }
}

/// Settings of SACK recovery (RFC 6675).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SackSettings {
    /// Whether a partial ACK in recovery may send the "rescue" retransmission (RFC 6675 §4, rule 4 of NextSeg).
    pub rescue: Rescue,
}

/// Whether the rescue retransmission of RFC 6675 is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rescue {
    /// Once per recovery, when nothing else may be sent.
    #[default]
    On,
    /// Never, as RFC 3517 had it.
    Off,
}

/// Guards against a false fast retransmit after a loss ("bug fix" of RFC 2582 §5, RFC 6582 §4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BugFix {
    /// Every third duplicate ACK starts a fast retransmit.
    Off,
    /// Only when the ACK covers at least all data sent before the loss was found.
    LessCareful,
    /// Only when the ACK covers more than all data sent before the loss was found.
    #[default]
    Careful,
}

/// When a partial ACK restarts the retransmission timer (RFC 6582 §4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PartialAck {
    /// Only for the first partial ACK, so that many losses end in a timeout and slow start.
    #[default]
    Impatient,
    /// For every partial ACK, repairing one loss per round trip.
    SlowButSteady,
}

/// How the congestion window moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum CongestionSettings {
    /// Slow start and congestion avoidance of RFC 5681 §3.1.
    Aimd,
}

/// How a spurious timeout is noticed and answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum SpuriousSettings {
    /// Every timeout is taken for a loss (RFC 5681).
    Off,
}

/// The retransmission timer (RFC 6298).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RtoSettings {
    /// RTO before the first RTT sample (RFC 6298 §2.1: 1 s; RFC 2988: 3 s).
    pub initial: Span,
    /// Lower bound (RFC 6298 §2.4: 1 s).
    pub minimum: Span,
    /// Upper bound, also of the back-off (RFC 6298 §2.5: at least 60 s).
    pub maximum: Span,
    /// Clock granularity G: samples are whole ticks, at least one, and the variance term is at least G (RFC 6298 §2.3).
    pub granularity: Span,
    /// Which segments give an RTT sample.
    pub timing: RttTiming,
    /// Restart on a fast retransmit; RFC 6298 restarts on new ACKs only.
    pub restart_on_fast_retransmit: bool,
    /// Restart on every duplicate ACK.
    pub restart_on_duplicate_ack: bool,
    /// How often the same segment may time out before the connection gives up (RFC 9293 §3.8.3, R2).
    #[schemars(range(min = 1))]
    pub attempts: u32,
}

impl Default for RtoSettings {
    fn default() -> Self {
        RtoSettings {
            initial: Span::from_secs(1),
            minimum: Span::from_secs(1),
            maximum: Span::from_secs(60),
            granularity: Span::from_millis(1), // RFC 6298 §4: 100 ms or finer does better
            timing: RttTiming::PerSegment,
            restart_on_fast_retransmit: false,
            restart_on_duplicate_ack: false,
            attempts: 15, // as Linux tcp_retries2; above R2's 100 s (RFC 9293 §3.8.3)
        }
    }
}

/// Which segments give an RTT sample; retransmitted ones never do (Karn, RFC 6298 §3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RttTiming {
    /// One segment at a time, about one sample per window (RFC 6298 §3).
    PerWindow,
    /// Every segment.
    #[default]
    PerSegment,
}
