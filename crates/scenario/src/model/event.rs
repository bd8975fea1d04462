//! Changes while a scenario runs.

use cellwind_engine::time::Span;
use cellwind_engine::units::Size;
use cellwind_radio::settings::Bufferings;
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::Value;

/// A change while the scenario runs: exactly one of `set`, `spike` and `handover`, either `at` a time or `after` an
/// amount of data. It changes everything that it concerns at one instant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Event {
    /// When, from the start of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Span>,
    /// As soon as the terminal was delivered so much from the servers, in whole packets with their headers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Size>,
    /// The terminal that is meant; by default the only one, and in a `spike` at a time all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminal: Option<String>,
    /// New values, by dotted path as in `--set`: of links, without `faults`, and of accesses, without `type`. A packet
    /// or TTI in transmission completes under the old ones, and packets keep their order.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<std::collections::BTreeMap<String, serde_json::Value>>")]
    pub set: Option<IndexMap<String, Value>>,
    /// For so long nothing begins to be transmitted on the terminal's bearers, or without an access on the link next
    /// to it, in both directions. A packet or TTI in transmission completes. Behind the queue: what arrives waits
    /// (Gurtov, delay spikes).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spike: Option<Span>,
    /// The access that the terminal moves to. To the one where it is, it changes the cell: its bearer is made anew.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handover: Option<String>,
    /// The terminal is in both accesses meanwhile: what is in flight in the old one arrives there, and what comes goes
    /// through the new one at once, perhaps past it (Teyeb, 7.1). By default it leaves the old one first.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub soft: bool,
    /// How long the handover takes; no packet leaves during it. By default no time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Span>,
    /// What becomes of packets during the handover: `none` drops what is in flight and what arrives, `intermediate` keeps
    /// what arrives for the new access, `full` keeps both (Teyeb, 7.2.1); `none down, full up` tells the directions
    /// apart. By default `none`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffering: Option<Bufferings>,
    /// How often the terminal repeats its last acknowledgement when the handover ends, for each of its `bulk` downloads by
    /// TCP; DupThresh of them may start a fast retransmit (Teyeb, 7.1.1). By default never.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100))]
    pub duplicate_acks: Option<u32>,
}
