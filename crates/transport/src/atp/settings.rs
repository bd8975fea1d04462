//! Settings of an ATP association.

use cellwind_engine::time::Span;
use cellwind_engine::units::Size;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// ATP (Gurtov, P9 III): objects with deadlines, repaired selectively, under a control of congestion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AtpSettings {
    /// Payload bytes of a full packet; larger objects travel as several.
    pub fragment: Size,
    /// Bytes of header on each packet: IPv4 with its deadline option, UDP, and 24 of ATP's own (P9 Figure 2).
    pub header: Size,
    /// What holds the sender back.
    pub congestion: AtpCongestion,
    /// Sends again what the receiver misses, while its object is of use; otherwise the first loss gives an object up.
    pub retransmit: bool,
    /// Until when queues shall carry a fragment; never longer than its object is of use.
    pub lifetime: FragmentLifetime,
    /// Gives up an object before its first fragment when the estimated rate would bring it too late (P9 III.A).
    pub refuse_hopeless: bool,
    /// Every how many packets an acknowledgement leaves; gaps and complete objects are told at once.
    #[schemars(range(min = 1))]
    pub ack_every: u32,
    /// The longest an acknowledgement may wait.
    pub ack_timer: Span,
    /// The retransmission timeout before the first round trip is measured (RFC 6298 §2.1).
    pub initial_rto: Span,
    /// The shortest retransmission timeout (RFC 6298 §2.4).
    pub minimum_rto: Span,
}

/// How ATP's sender is held back (P9 III.D).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AtpCongestion {
    /// Not at all.
    Off,
    /// A window that grows and halves as TCP's (RFC 5681).
    #[default]
    Aimd,
    /// A rate (RFC 5348), with one acknowledgement per round trip.
    Tfrc,
}

/// How long a fragment is of use, counted from each of its transmissions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FragmentLifetime {
    /// As long as its object.
    Object,
    /// The retransmission timeout of that moment (P9 III.B).
    #[default]
    Rto,
    /// The retransmission timeout and the smoothed round trip (P9 IV.B).
    RtoPlusRtt,
}

impl Default for AtpSettings {
    fn default() -> Self {
        AtpSettings {
            fragment: Size::from_bytes(1440), // Ethernet MTU 1500 less the header
            header: Size::from_bytes(60),
            congestion: AtpCongestion::Aimd,
            retransmit: true,
            lifetime: FragmentLifetime::Rto,
            refuse_hopeless: false,
            ack_every: 2,                      // P9 III.D
            ack_timer: Span::from_millis(500), // P9 III.D
            initial_rto: Span::from_secs(1),
            minimum_rto: Span::from_secs(1),
        }
    }
}
