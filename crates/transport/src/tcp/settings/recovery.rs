//! Settings of loss recovery.

use cellwind_engine::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How losses found by duplicate ACKs are repaired.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum RecoverySettings {
    /// Fast retransmit, then slow start from one segment (4.3BSD-Tahoe).
    Tahoe(ClassicSettings),
    /// Fast retransmit and fast recovery that ends with the first new ACK (RFC 5681 §3.2).
    Reno(RenoSettings),
    /// Fast recovery that stays until all data outstanding at its start is acknowledged (RFC 6582).
    Newreno(NewRenoSettings),
    /// Recovery by selective acknowledgements (RFC 6675).
    Sack(SackSettings),
    /// Reno with a fine timeout of each segment, asked on duplicate ACKs (Brakmo and Peterson 1995).
    Vegas(ClassicSettings),
    /// Recovery by the times of transmissions, with a probe at the tail (RACK-TLP, RFC 8985).
    Rack(RackSettings),
    /// Recovery by forward acknowledgement: all that is missing below SACKed data is lost (Mathis and Mahdavi 1996).
    Fack(FackSettings),
    /// Fast recovery that counts the data in the network by ACKs: "pipe" of Fall and Floyd (1996), as in ns-2's Sack1.
    RenoSack(ClassicSettings),
}

/// Settings of Tahoe, Vegas and Reno with SACK.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ClassicSettings {
    /// Whether duplicate ACKs of data sent before the last loss was found may start a fast retransmit.
    pub bug_fix: BugFix,
}

/// Settings of Reno (RFC 5681 §3.2).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RenoSettings {
    /// Whether duplicate ACKs of data sent before the last loss was found may start a fast retransmit.
    pub bug_fix: BugFix,
    /// What the ACK that ends fast recovery does to the window.
    pub last_ack: LastAck,
    /// What duplicate ACKs above DupThresh do while `bug_fix` keeps them from starting a fast retransmit.
    pub guarded_acks: GuardedAcks,
}

/// What duplicate ACKs above DupThresh do while "bug fix" keeps them from starting a fast retransmit (Gurtov 2001, P4
/// §4.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GuardedAcks {
    /// Nothing (RFC 2582 §5).
    #[default]
    Ignore,
    /// Each inflates the window by a segment, until the next new ACK (ns-2's Reno).
    Inflate,
    /// Each inflates the window by a segment for good. Unstable under congestion, and not advised.
    InflateForGood,
    /// Every second one lets out a new segment, as in rate halving.
    EverySecond,
}

/// What the ACK that ends fast recovery does to the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LastAck {
    /// Deflates it (RFC 5681 §3.2 (6), RFC 6582 §3.2 step 3).
    #[default]
    Deflates,
    /// Deflates it, and then lets it grow as every other ACK of new data does (ns-2).
    DeflatesAndGrows,
}

/// Settings of NewReno (RFC 6582).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NewRenoSettings {
    /// Whether duplicate ACKs of data sent before the last loss was found may start a fast retransmit.
    pub bug_fix: BugFix,
    /// When a partial ACK restarts the retransmission timer.
    pub partial_ack: PartialAck,
    /// Whether a partial ACK lets out new data beside the retransmission, where the window has room for it (RFC 6582 §3.2
    /// step 3). If not, it adds nothing to the window that it deflates (Gurtov 2001, P2 §4.1).
    pub new_data_on_partial_ack: bool,
    /// What the ACK that ends fast recovery does to the window.
    pub last_ack: LastAck,
    /// What duplicate ACKs above DupThresh do while `bug_fix` keeps them from starting a fast retransmit.
    pub guarded_acks: GuardedAcks,
}

impl Default for NewRenoSettings {
    fn default() -> Self {
        // RFC 6582 §3.2, §4
        NewRenoSettings {
            bug_fix: BugFix::Careful,
            partial_ack: PartialAck::Impatient,
            new_data_on_partial_ack: true,
            last_ack: LastAck::Deflates,
            guarded_acks: GuardedAcks::Ignore,
        }
    }
}

/// Settings of SACK recovery (RFC 6675).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SackSettings {
    /// Which duplicate ACKs count towards DupThresh.
    pub duplicate_acks: DuplicateAcks,
    /// Whether a partial ACK in recovery may send the "rescue" retransmission (RFC 6675 §4, rule 4 of NextSeg).
    pub rescue: Rescue,
    /// Whether a partial ACK resends SND.UNA even when the pipe is full (NewReno-SACK; Gurtov and Ludwig 2003 §III.A).
    pub partial_ack: SackPartialAck,
    /// How the window comes down to what a loss leaves of it.
    pub reduction: ReductionSettings,
}

/// Settings of FACK (Mathis and Mahdavi 1996).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FackSettings {
    /// How the window comes down to what a loss leaves of it.
    pub reduction: ReductionSettings,
    /// Halves again what a loss in slow start leaves, because slow start has overshot by a window ("overdamping", the
    /// `ss-div4_` of ns-2).
    pub overdamping: bool,
    /// What the sender does when it sees that the path reorders.
    pub reordering: Reordering,
}

/// How Early Retransmit counts what is in flight (RFC 5827 §3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EarlyRetransmit {
    /// There is none: too few duplicate ACKs leave a loss to the timer.
    #[default]
    Off,
    /// In bytes, which takes short segments for fewer full ones (RFC 5827 §3.1).
    ByteBased,
    /// In segments (RFC 5827 §3.2).
    SegmentBased,
}

/// Which duplicate ACKs count towards DupThresh in SACK recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DuplicateAcks {
    /// Those whose SACK blocks report data that was not reported before (RFC 6675 §2; Gurtov 2001, P4 §4.3): the others
    /// answer needless retransmissions.
    #[default]
    WithNewSack,
    /// All (RFC 3517 §5).
    All,
}

/// What a partial ACK does in SACK recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SackPartialAck {
    /// Nothing but what the pipe allows (RFC 6675 §5).
    #[default]
    Pipe,
    /// Resends SND.UNA, as NewReno does, and counts it in the pipe.
    Resend,
    /// The same after a timeout that proved spurious, until all that was outstanding then is acknowledged.
    ResendUntilRecoveryPoint,
}

/// How the window comes down to what a loss leaves of it, in a recovery that counts what is in the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReductionSettings {
    /// When the loss is found (RFC 6675 §5): nothing is sent until that much has left the network.
    #[default]
    AtOnce,
    /// One segment for every second ACK, while the window is above half of the threshold (Linux 2.4).
    RateHalving,
    /// By half of what SACK blocks report as having left the network (`rampdown_` of ns-2's Fack).
    RampDown,
    /// To one segment at once, from which every ACK of the recovery lets it grow, up to the threshold as in slow start (ns-2's
    /// Fack).
    Restart,
    /// In proportion to what is delivered (RFC 6937 §3); below the threshold as much as was delivered leaves (PRR-CRB).
    PrrCrb,
    /// The same; below the threshold one segment more with each ACK, as in slow start (PRR-SSRB).
    PrrSsrb,
}

/// What FACK does when it sees reordering: data below SACKed data that arrives late by its first transmission.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reordering {
    /// Nothing.
    #[default]
    Ignore,
    /// DupThresh rises to the distance seen, at most 127 segments, and losses are found by RFC 6675 from then on, no more
    /// by FACK (Linux 2.4).
    Adaptive,
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

/// Settings of RACK-TLP (RFC 8985).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RackSettings {
    /// How fast data may leave in recovery while less is in the network than the threshold (RFC 6937 §3).
    pub prr: PrrBound,
    /// Whether the tail of a flight is probed before the retransmission timer expires (RFC 8985 §7).
    pub tail_probe: Probe,
    /// How much longer the probe waits when one segment is in flight, whose ACK may be delayed (RFC 8985 §7.2:
    /// TLP.max_ack_delay; Linux: 200 ms).
    pub max_ack_delay: Span,
}

impl Default for RackSettings {
    fn default() -> Self {
        RackSettings {
            prr: PrrBound::default(),
            tail_probe: Probe::default(),
            max_ack_delay: Span::from_millis(200), // the usual timer of delayed ACKs
        }
    }
}

/// Whether the tail of a flight is probed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Probe {
    /// After two round trips without an ACK (RFC 8985 §7.2).
    #[default]
    On,
    /// Never: the retransmission timer finds losses there.
    Off,
}

/// The reduction bound of proportional rate reduction (RFC 6937 §3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PrrBound {
    /// PRR-CRB: as much as was delivered.
    Conservative,
    /// PRR-SSRB: one segment more with each ACK, as in slow start.
    #[default]
    SlowStart,
    /// One segment more with each ACK that moves the window and reveals no further loss (Linux since 4.2).
    SafeAck,
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
