//! Delay spikes that come again and again.

use cellwind_engine::distribution::SpanDistribution;
use cellwind_engine::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use cellwind_engine::directions::Direction;

/// Delay spikes: either random, by `interval` and `duration`, or those of a `list`. For the time of a spike nothing
/// begins to be transmitted; a packet or TTI in transmission completes, and what arrives waits behind the queue
/// (Gurtov, P5 section 4 and P8 section IV.A). They act on the bearers of all terminals at the same instants, or without
/// an access on the link next to it, unless `terminal` or `link` names a place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Spikes {
    /// How long until the first spike begins, from the start of the run, and until each one after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<SpanDistribution>,
    /// How long until the first spike begins, in place of a first interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<SpanDistribution>,
    /// What the interval after a spike counts from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_from: Option<IntervalFrom>,
    /// How long each spike lasts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<SpanDistribution>,
    /// Spikes at given instants, which may overlap.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub list: Vec<Spike>,
    /// The terminal whose bearers they act on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub terminal: Option<String>,
    /// The wired link that they act on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// The only direction that they act on; by default both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
}

/// What the interval between two spikes counts from; by default the `end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IntervalFrom {
    /// The end of the spike before, so that spikes never overlap.
    #[default]
    End,
    /// The start of the spike before; one that begins during another adds what reaches beyond it.
    Start,
}

/// One delay spike of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spike {
    /// When it begins, from the start of the run.
    pub at: Span,
    /// How long it lasts.
    pub duration: Span,
}
