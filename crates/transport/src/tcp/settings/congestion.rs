//! Settings of congestion control.

use cellwind_engine::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tcp::amount::PerAck;

/// How the congestion window moves in congestion avoidance, and what a loss leaves of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum CongestionSettings {
    /// One segment more each round trip, half of it after a loss (RFC 5681 §3.1).
    Aimd(AimdSettings),
    /// A cubic function of the time since the last loss (RFC 9438).
    Cubic(CubicSettings),
    /// A model of the path: its bandwidth and its round trip (BBR version 1, draft-cardwell-iccrg-bbr-congestion-control-00).
    Bbr,
    /// The same with bounds that losses teach (BBR version 3, draft-ietf-ccwg-bbr).
    BbrV3,
    /// Reno's growth, and after a loss what the path was measured to carry (Casetti et al. 2001, Grieco and Mascolo 2004).
    Westwood(WestwoodSettings),
    /// As much as leaves a few segments waiting in queues, judged by round trips (Brakmo and Peterson 1995).
    Vegas(VegasSettings),
    /// Reno that asks the round trips whether a loss was congestion (Fu and Liew 2003).
    Veno(VenoSettings),
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
    pub decrease: Halving,
    /// What a mark of congestion leaves (`ecn = true`).
    pub after_mark: AfterMark,
}

/// What a mark of congestion leaves of the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AfterMark {
    /// Half, as a loss does (RFC 3168 §6.1.2).
    #[default]
    AsLoss,
    /// Four fifths: ABE with a β_ecn of 0.8 (RFC 8511 §3).
    Abe,
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

/// What a loss halves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Halving {
    /// The data in flight (RFC 5681 §3.1 (4)).
    #[default]
    Flight,
    /// The congestion window, down to whole segments (Linux).
    Window,
    /// The window in use, which is the smaller of the congestion window and the receiver's: the threshold down to whole
    /// segments, the window itself exactly; nor does its growth lose by rounding (ns-2, whose windows have decimals).
    UsedWindow,
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

/// Settings of Westwood and Westwood+.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WestwoodSettings {
    /// How the bandwidth is estimated from ACKs.
    pub filter: BandwidthFilter,
    /// The window after fast recovery; the threshold is bandwidth times the shortest round trip, after a timeout, too.
    pub after_loss: AfterLoss,
    /// How a round trip's increase is spread over its ACKs.
    pub increase: Increase,
    /// When the window may grow.
    pub growth: Growth,
}

/// How Westwood estimates the bandwidth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum BandwidthFilter {
    /// A sample per ACK, through a low-pass filter of varying interval (Westwood: Casetti et al. 2001, §2.2).
    PerAck(PerAckFilter),
    /// A sample per round trip, of which a tenth enters the estimate (Westwood+: Grieco and Mascolo 2004, §2.2).
    PerRoundTrip,
    /// A sample per round trip of at least 50 ms, smoothed by 7/8 twice; a timeout forgets the shortest round trip
    /// (Linux's tcp_westwood).
    Linux,
}

impl Default for BandwidthFilter {
    fn default() -> Self {
        BandwidthFilter::PerAck(PerAckFilter::default())
    }
}

/// Westwood's filter per ACK (Casetti et al. 2001, §2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PerAckFilter {
    /// τ: the cut-off frequency is 1/τ, and each τ/2 without an ACK counts as a sample of zero.
    pub tau: Span,
}

impl Default for PerAckFilter {
    fn default() -> Self {
        PerAckFilter { tau: Span::from_millis(500) } // Casetti et al. 2001, §2.2
    }
}

/// The window after fast recovery, beside the new threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AfterLoss {
    /// The threshold, or the window of before where that is smaller (Casetti et al. 2001, §3.1).
    #[default]
    LoweredOnly,
    /// The threshold (Grieco and Mascolo 2004, §2.3).
    Threshold,
}

/// Settings of Vegas (Brakmo and Peterson 1995, §3.2 and §3.3), in segments that wait in queues on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct VegasSettings {
    /// α: with fewer segments the window grows by one a round trip.
    pub alpha: u32,
    /// β: with more segments the window shrinks by one a round trip; not below α.
    pub beta: u32,
    /// γ: with more segments slow start ends.
    pub gamma: u32,
}

impl Default for VegasSettings {
    fn default() -> Self {
        VegasSettings { alpha: 1, beta: 3, gamma: 1 } // Brakmo and Peterson 1995, §3.2, §3.3; ns-2
    }
}

/// Settings of Veno (Fu and Liew 2003).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct VenoSettings {
    /// β: with fewer segments waiting in queues, a loss is taken for a random one.
    pub beta: u32,
}

impl Default for VenoSettings {
    fn default() -> Self {
        VenoSettings { beta: 3 } // Fu and Liew 2003, §II
    }
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

/// What sets the pace of segments, apart from the windows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pacing {
    /// Nothing: what the windows allow leaves at once (RFC 5681).
    #[default]
    Off,
    /// The congestion control: BBR, which needs it.
    ByAlgorithm,
    /// The window over the smoothed round trip: 200 % of it in slow start, 120 % afterwards (Linux, sch_fq).
    ByWindow,
}
