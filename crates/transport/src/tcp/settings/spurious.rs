//! Settings of the detection of spurious retransmissions and of the response to them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a timeout or a fast retransmit without a loss is noticed, and what it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum SpuriousSettings {
    /// Every timeout and every fast retransmit is taken for a loss (RFC 5681).
    Off,
    /// By the timestamp that the first ACK of new data echoes (Eifel detection, RFC 3522).
    Eifel(EifelSettings),
    /// By the receiver's reports that all of what was sent again was there before (RFC 3708).
    DSack(DSackSettings),
    /// By sending new data after the first ACK that follows a timeout, and seeing what comes back (F-RTO, RFC 5682).
    FRto(FRtoSettings),
    /// By an ACK that comes sooner after a timeout than any round trip has taken (Allman and Paxson 1999).
    MinimumRtt(MinimumRttSettings),
    /// By timestamps, by D-SACK and by F-RTO, whichever tells first (Linux).
    Linux(LinuxUndoSettings),
}

/// Settings of detection by D-SACK (RFC 3708).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DSackSettings {
    /// Which reactions are judged.
    pub after: After,
    /// What a reaction found spurious leaves.
    pub response: Response,
}

/// Settings of F-RTO (RFC 5682), which judges timeouts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FRtoSettings {
    /// Which acknowledgements it reads.
    pub variant: FRtoVariant,
    /// What a timeout found spurious leaves.
    pub response: Response,
}

/// The two algorithms of RFC 5682.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FRtoVariant {
    /// Cumulative acknowledgements alone (RFC 5682 §2).
    #[default]
    Basic,
    /// SACK tells originals from new data (RFC 5682 §3).
    Sack,
}

/// Settings of detection by the minimum round trip (Gurtov and Ludwig 2003, II.C), which judges timeouts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MinimumRttSettings {
    /// The share of the minimum round trip within which an ACK answers an original.
    #[schemars(range(min = 0.01, max = 1.0))]
    pub fraction: f64,
    /// What a timeout found spurious leaves.
    pub response: Response,
}

impl Default for MinimumRttSettings {
    fn default() -> Self {
        MinimumRttSettings { fraction: 1.0, response: Response::default() } // Gurtov and Ludwig 2003, II.C
    }
}

/// Settings of Linux's detection. Timestamps and D-SACK tell where the connection has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LinuxUndoSettings {
    /// Runs F-RTO after timeouts, too, with SACK where the connection has it (tcp_frto).
    pub f_rto: bool,
    /// Judges a timeout though something outstanding was sent again before it, as the second timeout in a row. Linux 2.4 and
    /// 2.6 let it stand (tcp_enter_loss).
    pub repeated_timeouts: bool,
    /// What a reaction found spurious leaves.
    pub response: Response,
}

impl Default for LinuxUndoSettings {
    fn default() -> Self {
        LinuxUndoSettings { f_rto: true, repeated_timeouts: true, response: Response::Linux } // tcp_frto = 2
    }
}

/// Settings of Eifel detection (RFC 3522).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EifelSettings {
    /// Which reactions are judged.
    pub after: After,
    /// What an ACK of everything outstanding tells, when it echoes an original: only the ACKs may have been lost.
    pub lost_acks: LostAcks,
    /// What a reaction found spurious leaves.
    pub response: Response,
}

/// Which reactions to a supposed loss a detector judges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum After {
    /// Timeouts.
    Timeouts,
    /// Fast retransmits.
    FastRetransmits,
    /// Both (RFC 3522 §3.2).
    #[default]
    Both,
}

/// What Eifel detection makes of a reaction after which one ACK of an original covers all that is outstanding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LostAcks {
    /// It was necessary, unless the receiver is known to report duplicates and reports none (RFC 3522 §3.2 (5)).
    #[default]
    Necessary,
    /// It was spurious, as by any other ACK of an original: no data was lost (Gurtov and Ludwig 2003, II.B).
    Spurious,
}

/// What becomes of the windows after a reaction that proved spurious. All responses go on with new data
/// (SND.NXT = SND.MAX).
///
/// `cwnd_old` and `ssthresh_old` are from before the reaction, or before the first of several timeouts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Response {
    /// ssthresh = ssthresh_old, cwnd = cwnd_old (Gurtov and Ludwig 2003, III.B, option 1).
    #[default]
    #[serde(rename = "option-1")]
    Option1,
    /// ssthresh = cwnd_old/2, cwnd = ssthresh (option 2).
    #[serde(rename = "option-2")]
    Option2,
    /// ssthresh = cwnd_old/2, cwnd = one segment (option 3): only SND.NXT is restored.
    #[serde(rename = "option-3")]
    Option3,
    /// ssthresh = cwnd_old, cwnd = ssthresh (option 4).
    #[serde(rename = "option-4")]
    Option4,
    /// Options 1, 2 and 3 after one, two, and three or more timeouts in a row (the original response, as Gurtov and
    /// Ludwig 2003 describe it).
    ByTimeouts,
    /// The same, but after two timeouts ssthresh = cwnd_old, cwnd = cwnd_old/2 (the original response, as Gurtov 2001,
    /// section 3, ran it).
    ByTimeoutsHalved,
    /// ssthresh = max(FlightSize, ssthresh) from before, cwnd = FlightSize and what the ACK covers, at most an initial
    /// window (RFC 4015 §3.1 (9)). For timeouts.
    #[serde(rename = "rfc4015")]
    Rfc4015,
    /// The larger of cwnd and cwnd_old, and of ssthresh and ssthresh_old (Linux, tcp_undo_cwnd_reduction).
    Linux,
}
