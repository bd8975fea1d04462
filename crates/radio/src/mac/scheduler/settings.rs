//! Settings of the scheduler of a cell.

use cellwind_engine::deserialize_by_type;
use cellwind_engine::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who gets how much of a cell's capacity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Discipline {
    /// The same bit rate for all, so that those with a poor C/I take more of the resource (Teyeb, section 2.3.1.2).
    #[default]
    FairThroughput,
    /// The same power and time for all, so that those with a good C/I have the higher bit rate (Teyeb, section 2.3.1.2).
    FairResource,
    /// The best C/I first: the most that the cell can carry, and nothing for the others (Teyeb, section 2.3.1.2).
    CI,
    /// Whoever could have the highest bit rate compared with what it had lately (Jalali, Padovani, Pankaj: "Data throughput of
    /// CDMA-HDR", VTC 2000).
    ProportionalFair(ProportionalFairSettings),
}

/// Settings of the proportional-fair scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ProportionalFairSettings {
    /// Time constant of the mean bit rate of a terminal.
    pub time_constant: Span,
}

impl Default for ProportionalFairSettings {
    fn default() -> Self {
        ProportionalFairSettings { time_constant: Span::from_millis(1_670) } // Jalali et al.†: 1000 slots of 1.67 ms
    }
}

deserialize_by_type!(Discipline {
    FairThroughput,
    FairResource,
    CI,
    ProportionalFair(settings: ProportionalFairSettings),
});

/// Traffic handling priority of a bearer of the interactive class, or that it is of the background class, which comes last
/// (TS 23.107 §6.4.3†).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum PriorityLevel {
    /// Interactive, priority 1: before all others.
    First,
    /// Interactive, priority 2.
    Second,
    /// Interactive, priority 3.
    Third,
    /// Background.
    #[default]
    Background,
}

impl PriorityLevel {
    /// All levels, the one that comes first in front.
    pub const ALL: [PriorityLevel; 4] =
        [PriorityLevel::First, PriorityLevel::Second, PriorityLevel::Third, PriorityLevel::Background];
}
