//! Settings of a TFRC connection.

use cellwind_engine::time::Span;
use cellwind_engine::units::Size;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// TFRC (RFC 5348): unreliable packets at a rate that is fair to TCP and changes slowly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TfrcSettings {
    /// s: payload bytes of a full packet (RFC 5348 §3.1).
    pub segment: Size,
    /// Bytes of header on each packet: IPv4, UDP, and 16 for number, timestamp, round trip and message (RFC 5348 §3.2.1).
    /// Feedback has as many.
    pub header: Size,
    /// Lowers the rate for the moment when the round trip grows (RFC 5348 §4.5).
    pub oscillation_prevention: bool,
    /// A long time without loss discounts earlier intervals (RFC 5348 §5.5).
    pub discounting: bool,
    /// The longest a sender waits between two packets: t_mbi (RFC 5348 §4.3).
    pub longest_interval: Span,
    /// Gives packets the sender's timeout as lifetime, for queues that look at deadlines (Gurtov, P9 IV.C).
    pub expiring_data: bool,
    /// Gives feedback the round trip that the sender told plus this time as lifetime (Gurtov, P9 IV.C: 3 s).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feedback_lifetime: Option<Span>,
}

impl Default for TfrcSettings {
    fn default() -> Self {
        TfrcSettings {
            segment: Size::from_bytes(1456), // Ethernet MTU 1500 less the header
            header: Size::from_bytes(44),
            oscillation_prevention: false, // RFC 5348 §4.5: optional
            discounting: true,
            longest_interval: Span::from_secs(64), // RFC 5348 §4.3
            expiring_data: false,
            feedback_lifetime: None,
        }
    }
}
