//! Settings of a TCP connection: both ends and the four replaceable parts of the sender.

use cellwind_engine::time::Span;
use cellwind_engine::units::Size;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::amount::{PerAck, Segments, Window};

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
    /// How the congestion window moves in congestion avoidance, and what a loss leaves of it.
    pub congestion: CongestionSettings,
    /// How the congestion window grows in slow start, and when that ends before a loss ends it.
    pub slow_start: SlowStartSettings,
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
            congestion: CongestionSettings::Aimd(AimdSettings::default()),
            slow_start: SlowStartSettings::default(),
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
    /// The first so many ACKs of a connection leave at once (quick ACKs: Linux sends 16); 0 delays from the start.
    pub quick: u32,
}

impl Default for DelayedAck {
    fn default() -> Self {
        DelayedAck { every: 1, timer: Span::from_millis(200), quick: 0 } // 200 ms as in BSD-derived stacks
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

/// How the congestion window moves in congestion avoidance, and what a loss leaves of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum CongestionSettings {
    /// One segment more each round trip, half of it after a loss (RFC 5681 §3.1).
    Aimd(AimdSettings),
    /// A cubic function of the time since the last loss (RFC 9438).
    Cubic(CubicSettings),
}

/// Settings of additive increase and multiplicative decrease (RFC 5681 §3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AimdSettings {
    /// How a round trip's increase is spread over its ACKs.
    pub increase: Increase,
    /// When the window may grow.
    pub growth: Growth,
    /// What a loss halves.
    pub decrease: Decrease,
}

/// How the increase of congestion avoidance is spread over the ACKs of a round trip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Increase {
    /// Each ACK adds MSS²/cwnd, whatever it covers (RFC 5681 §3.1 (3)).
    #[default]
    PerAck,
    /// A segment is added when a window of bytes has been acknowledged (RFC 3465 §2.1, Linux).
    PerWindow,
}

/// When the congestion window may grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Growth {
    /// With every ACK of new data (RFC 5681 §3.1).
    #[default]
    Always,
    /// Only while it is the congestion window that limits what is in flight, not the application or the receiver's
    /// window (Linux; RFC 9438 §5.8 for CUBIC, which always does so).
    WhenLimiting,
}

/// What is reduced when a loss is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Decrease {
    /// The data in flight (RFC 5681 §3.1 (4), RFC 9438 §4.6).
    #[default]
    Flight,
    /// The congestion window, down to whole segments (Linux).
    Window,
}

/// Settings of CUBIC (RFC 9438); windows count in segments.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CubicSettings {
    /// C in segments per second cubed: how steep the cubic function is (RFC 9438 §5.1: 0.4).
    #[schemars(range(min = 0.001, max = 1000.0))]
    pub c: f64,
    /// What remains of the window after a loss: β_cubic (RFC 9438 §4.6: 0.7).
    #[schemars(range(min = 0.1, max = 0.99))]
    pub beta: f64,
    /// Gives way to new flows when the window could not regain its last maximum (RFC 9438 §4.7).
    pub fast_convergence: bool,
    /// How the window is kept from falling behind Reno's (RFC 9438 §4.3).
    pub reno_friendly: RenoFriendly,
    /// How far ahead of now the window follows the cubic function (RFC 9438 §4.2: one RTT).
    pub lookahead: Lookahead,
    /// The least growth per round trip, as a share of the window, as long as no loss has told the maximum, or since a
    /// timeout made it void: 0 in RFC 9438 §4.8 and §4.10, 5 % in Linux.
    #[schemars(range(min = 0.0, max = 0.5))]
    pub growth_before_loss: f64,
    /// What a loss reduces.
    pub decrease: Decrease,
}

impl Default for CubicSettings {
    fn default() -> Self {
        CubicSettings {
            c: 0.4,                              // RFC 9438 §5.1
            beta: 0.7,                           // RFC 9438 §4.6
            fast_convergence: true,              // RFC 9438 §4.7
            reno_friendly: RenoFriendly::Raised, // RFC 9438 §4.3
            lookahead: Lookahead::SmoothedRtt,   // RFC 9438 §4.1.2
            growth_before_loss: 0.0,             // RFC 9438 §4.10
            decrease: Decrease::Flight,          // RFC 9438 §4.6
        }
    }
}

/// The Reno-friendly region of CUBIC: an estimate of Reno's window, W_est, is a floor (RFC 9438 §4.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RenoFriendly {
    /// No floor.
    Off,
    /// W_est grows by 3(1−β)/(1+β) segments a round trip (RFC 8312 §4.2, Linux).
    Constant,
    /// The same until it has reached the window from before the loss, by one segment from then on (RFC 9438 §4.3).
    #[default]
    Raised,
}

/// The round trip by which CUBIC looks ahead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Lookahead {
    /// SRTT (RFC 9438 §4.1.2).
    #[default]
    SmoothedRtt,
    /// The shortest round trip seen since the start, or since the last timeout (Linux).
    MinimumRtt,
}

/// Slow start (RFC 5681 §3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SlowStartSettings {
    /// The most that one ACK may add: 1 segment (RFC 5681 §3.1 (2)), 2 (RFC 3465 §2.3), 8 (RFC 9406 §4.3), or
    /// everything it acknowledges (Linux). Above 1 segment the window stops at the threshold, and the rest of the ACK
    /// counts in congestion avoidance.
    pub per_ack: PerAck,
    /// What ends slow start before a loss does.
    pub exit: SlowStartExit,
}

/// What ends slow start before a loss or the threshold does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SlowStartExit {
    /// Nothing (RFC 5681).
    #[default]
    None,
    /// A longer round trip, or a train of ACKs half a round trip long (HyStart as in Linux's tcp_cubic).
    Hystart,
    /// A longer round trip that lasts (HyStart++, RFC 9406).
    HystartPlusPlus,
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
    /// Lower bound of the variance term, 4 RTTVAR, beside the granularity (Linux: 200 ms, in place of `minimum`).
    pub variance_minimum: Span,
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
            variance_minimum: Span::ZERO,
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
