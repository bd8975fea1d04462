//! Faults of TCP implementations that measurements have found, to be emulated.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What an implementation does against the specification (Gurtov 2000, 5.3). An oversized initial window and a low
/// DupThresh are settings of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FaultSettings {
    /// So many full segments are sent beyond the receiver's window (Windows 98 and NT).
    pub window_overrun: u32,
    /// What the timer makes of the RTO, in percent: below 100 it expires too early (Windows 95, 98 and NT 4).
    #[schemars(range(min = 1, max = 100))]
    pub rto_percent: u32,
    /// Each timeout sends everything that is outstanding again at once, as if nothing limited it (FreeBSD 4.1).
    pub resend_all: bool,
}

impl Default for FaultSettings {
    fn default() -> Self {
        FaultSettings { window_overrun: 0, rto_percent: 100, resend_all: false } // as RFC 5681 and RFC 6298 have it
    }
}
