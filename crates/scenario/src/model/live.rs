//! What only a live run uses.

use cellwind_engine::time::Span;
use cellwind_engine::units::{Probability, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the scenario runs live.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Live {
    /// The largest IP packet at both ends.
    pub mtu: Size,
    /// A packet that leaves later than this behind its instant counts as late.
    pub lateness_limit: Span,
    /// Share of packets that must not be late; below it the run is marked invalid.
    pub valid_share: Probability,
    /// The TCP of the kernel at both ends.
    #[serde(skip_serializing_if = "Kernel::is_default")]
    pub kernel: Kernel,
}

impl Default for Live {
    fn default() -> Self {
        Live {
            mtu: Size::from_bytes(1500), // as on Ethernet (RFC 894)
            lateness_limit: Span::from_millis(1),
            valid_share: Probability::new(0.99).expect("it is between 0 and 1"),
            kernel: Kernel::default(),
        }
    }
}

impl Live {
    /// Whether nothing was changed.
    pub fn is_default(&self) -> bool {
        *self == Live::default()
    }
}

/// Settings of the kernel's TCP at both ends (Linux, `ip-sysctl`); what is absent stays as the kernel has it. Metrics of
/// earlier connections are never used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Kernel {
    /// Congestion control by the kernel's name for it, such as `cubic`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion_control: Option<String>,
    /// Selective acknowledgements (`tcp_sack`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sack: Option<bool>,
    /// Timestamps option (`tcp_timestamps`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamps: Option<bool>,
    /// Duplicate SACKs (`tcp_dsack`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dsack: Option<bool>,
    /// F-RTO, detection of spurious timeouts (`tcp_frto`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frto: Option<bool>,
    /// Bits of loss recovery (`tcp_recovery`): 1 RACK, 2 static reordering window, 4 no use of DUPACKs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 7))]
    pub recovery: Option<u32>,
    /// Tail loss probes (`tcp_early_retrans`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub early_retrans: Option<bool>,
    /// Initial congestion window in segments (route attribute `initcwnd`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub initial_window: Option<u32>,
    /// The most that a connection's receive buffer grows to (third value of `tcp_rmem`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rmem: Option<Size>,
    /// The most that a connection's send buffer grows to (third value of `tcp_wmem`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wmem: Option<Size>,
}

impl Kernel {
    /// Whether everything is as the kernel has it.
    pub fn is_default(&self) -> bool {
        *self == Kernel::default()
    }
}

/// A command that runs at one end of a live run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Where it runs: `server`, or the name of a terminal.
    pub at: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// When it starts.
    #[serde(default)]
    pub start: Span,
}
