//! Settings of the retransmission timer.

use cellwind_engine::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    /// Which segments give an RTT sample, without timestamps, which give one for each ACK of new data.
    pub timing: RttTiming,
    /// Whether the SYN, sent once, gives the first sample (RFC 6298 §2.2); otherwise the first segment with data does, as
    /// RFC 3481 §4.10 allows on slow links.
    pub seed_from_syn: bool,
    /// What a timeout that was found spurious changes.
    pub after_spurious: AfterSpurious,
    /// Restart on a fast retransmit; RFC 6298 restarts on new ACKs only.
    pub restart_on_fast_retransmit: bool,
    /// Which duplicate ACKs restart it (Gurtov 2001, P4 §4.1 and §4.3).
    pub restart_on_duplicate_ack: RestartOnDuplicateAck,
    /// After a timeout, duplicate ACKs do nothing until SND.UNA moves (Gurtov 2001, P4 §4.4): nothing leaves for them, and
    /// they do not count towards DupThresh.
    pub ignore_duplicate_acks: bool,
    /// Which expiries of the timer for the same segment lower ssthresh.
    pub lower_ssthresh: LowerSsthresh,
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
            seed_from_syn: true, // RFC 6298 §2.2: the first measurement that is made
            after_spurious: AfterSpurious::Standard,
            restart_on_fast_retransmit: false,
            restart_on_duplicate_ack: RestartOnDuplicateAck::Never,
            ignore_duplicate_acks: false,
            lower_ssthresh: LowerSsthresh::Once,
            attempts: 15, // as Linux tcp_retries2; above R2's 100 s (RFC 9293 §3.8.3)
        }
    }
}

/// Which duplicate ACKs restart the retransmission timer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RestartOnDuplicateAck {
    /// None (RFC 6298 §5).
    #[default]
    Never,
    /// Those that count towards DupThresh, the last of them included.
    UpToDupThresh,
    /// Every one. Not where new segments leave for those above DupThresh and a lost retransmission waits for the timer,
    /// which would never expire.
    Always,
}

/// Which expiries of the timer for the same segment lower ssthresh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LowerSsthresh {
    /// The first; the others hold it (RFC 5681 §3.1).
    #[default]
    Once,
    /// Each (RFC 2581 §3.1, ns-2): the second already leaves no more than the two segments that are the least.
    EachTime,
}

/// What a timeout found spurious changes of the timer (Gurtov and Ludwig 2003, III.C; RFC 4015).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum AfterSpurious {
    /// Nothing: samples go on, and the next one ends the back-off (RFC 6298).
    #[default]
    Standard,
    /// The first sample from a delayed segment starts SRTT and RTTVAR anew.
    Reseed,
    /// The back-off stays where the timeout has left it, until a timeout is necessary.
    KeepBackOff,
    /// The lower bound of the RTO rises, until a timeout is necessary.
    RaiseMinimum(RaiseMinimumSettings),
    /// The first sample of data that is new after the timeout raises SRTT and RTTVAR at once (RFC 4015 §3.1 (11)).
    #[serde(rename = "rfc4015")]
    Rfc4015,
}

/// Settings of the rising lower bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RaiseMinimumSettings {
    /// What each spurious timeout adds.
    pub step: Span,
}

impl Default for RaiseMinimumSettings {
    fn default() -> Self {
        RaiseMinimumSettings { step: Span::from_secs(1) } // Gurtov and Ludwig 2003, IV.A
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
