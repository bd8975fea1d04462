//! What an emulation tells while it runs and when it is over.

use std::time::SystemTime;

use cellwind_engine::time::{Span, Time};
use cellwind_scenario::run::{BearerResult, LinkResult};

use crate::counts::Counts;
use crate::ends::ProcessId;
use crate::lateness::Summary;
use crate::spool::Spool;
use crate::writer::FactFile;

/// The end of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandEnded {
    /// The end it ran at.
    pub end: String,
    /// Its process.
    pub process: ProcessId,
    /// What it returned, or 128 and the number of the signal that ended it.
    pub code: i32,
}

/// The state of a running emulation.
#[derive(Clone, Debug)]
pub struct Status {
    /// The time of the path.
    pub time: Time,
    /// Counts, at most a tenth of a second old.
    pub counts: Counts,
    /// Numbers and names of the stages that `counts` has traffic of.
    pub stages: Vec<String>,
    /// How late packets left.
    pub lateness: Summary,
    /// Whether the share of late packets is within the scenario's limit.
    pub is_valid: bool,
    /// Facts and packets that could not be recorded.
    pub lost: (u64, u64),
    /// What is not as it was asked for.
    pub complaints: Vec<String>,
}

/// What a live run leaves behind.
#[derive(Debug)]
pub struct LiveRun {
    /// The time of day at the start.
    pub started: SystemTime,
    /// When it ended.
    pub ended: Time,
    /// The last counts.
    pub counts: Counts,
    /// Names of the terminals.
    pub terminal_names: Vec<String>,
    /// Bearers.
    pub bearers: Vec<BearerResult>,
    /// Wired links.
    pub links: Vec<LinkResult>,
    /// Names of the machines that facts refer to by number.
    pub machine_names: Vec<String>,
    /// The facts, if they were recorded.
    pub facts: Option<FactFile>,
    /// Captures in pcapng by the names of the ends, if packets were captured.
    pub captures: Vec<(String, Spool)>,
    /// How late packets left.
    pub lateness: Summary,
    /// The same as bins that are not empty: the largest value in each, and its count.
    pub histogram: Vec<(Span, u64)>,
    /// Whether the share of late packets is within the scenario's limit, and the path did not stop by itself.
    pub is_valid: bool,
    /// What is not as it was asked for.
    pub complaints: Vec<String>,
}
