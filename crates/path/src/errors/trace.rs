//! A recorded sequence of errors, as runs of equal outcomes.

use std::sync::Arc;

use cellwind_engine::random::Stream;
use cellwind_engine::time::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Errors as they were recorded: a block or packet for each 0 (arrived) or 1 (in error) of a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TraceSettings {
    /// A text file with a run in each line, `0` or `1` and how often it comes, such as `0 250`; blank lines and those that
    /// begin with `#` do not count. Its path is relative to the scenario file; a name without `/` and `.` is that of a
    /// ready-made one.
    pub file: String,
    /// What comes after the end of the record.
    #[serde(default)]
    pub at_end: AtEnd,
    /// Where in the record the run begins.
    #[serde(default)]
    pub start: Start,
    /// Takes a step in the record whenever so much time is over, also while nothing is sent; by default after each block
    /// (or TTI, with that `unit`), on a link after each packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<Span>,
    /// The record.
    #[serde(skip)]
    pub record: Arc<Record>,
}

/// What comes after the end of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AtEnd {
    /// The record again.
    #[default]
    Repeat,
    /// No more errors.
    NoErrors,
}

/// Where in a record a run begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// At its first entry, in every replication.
    #[default]
    Beginning,
    /// At a random entry, so that replications differ.
    Random,
}

/// Outcomes in the order recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Where each run ends, in outcomes from the beginning. Runs of success and of error alternate.
    ends: Vec<u64>,
    /// Whether the first run is one of errors.
    first: bool,
}

/// Why a text is no record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRecord {
    /// The bytes of the text that are wrong.
    pub span: std::ops::Range<usize>,
    /// What is wrong, as a clause.
    pub message: &'static str,
    /// What may stand there.
    pub allowed: &'static str,
}

impl Record {
    /// Reads the text of a file.
    pub fn parse(text: &str) -> Result<Self, BadRecord> {
        let mut record = Record::default();
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let start = at;
            at += line.len();
            let content = line.trim();
            if content.is_empty() || content.starts_with('#') {
                continue;
            }
            let bad = |word: &str, message, allowed| {
                let from = start + (word.as_ptr() as usize - line.as_ptr() as usize);
                BadRecord { span: from..from + word.len(), message, allowed }
            };
            let mut words = content.split_whitespace();
            let outcome = words.next().unwrap_or(content);
            let error = match outcome {
                "0" => false,
                "1" => true,
                _ => return Err(bad(outcome, "this is no outcome", "0 for a block that arrived, or 1 for an error")),
            };
            let Some(count) = words.next() else {
                return Err(bad(content, "the length of the run is missing", "a line such as `0 250`"));
            };
            let length = count.parse::<u64>().ok().filter(|length| (1..=MOST_OUTCOMES).contains(length));
            let Some(length) = length else {
                return Err(bad(count, "this is no length of a run", "a whole number from 1 to 1000000000000"));
            };
            if let Some(more) = words.next() {
                return Err(bad(more, "there is more in the line than a run", "a line such as `0 250`"));
            }
            record.push(error, length);
        }
        let whole = |message, allowed| Err(BadRecord { span: 0..0, message, allowed });
        match (record.ends.len(), record.first) {
            (0, _) => whole("the record is empty", "at least one line such as `0 250`"),
            (1, true) => whole("the record has nothing but errors, so that nothing ever gets through", "a run of 0"),
            _ => Ok(record),
        }
    }

    fn push(&mut self, error: bool, length: u64) {
        if self.ends.is_empty() {
            self.first = error;
        }
        let end = self.len().saturating_add(length);
        if !self.ends.is_empty() && error == self.is_error(self.ends.len() - 1) {
            self.ends.pop();
        }
        self.ends.push(end);
    }

    /// How many outcomes there are.
    pub fn len(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Whether the run of this place is one of errors.
    fn is_error(&self, run: usize) -> bool {
        self.first ^ (run % 2 == 1)
    }

    /// How many outcomes are errors.
    pub fn errors(&self) -> u64 {
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        let runs = self.ends.iter().zip(starts).enumerate();
        runs.filter(|&(run, _)| self.is_error(run)).map(|(_, (end, start))| end - start).sum()
    }
}

/// The longest run, which keeps sums within 64 bits.
const MOST_OUTCOMES: u64 = 1_000_000_000_000;

/// A walk along a record.
#[derive(Clone, Debug)]
pub struct Trace {
    record: Arc<Record>,
    stream: Stream,
    at_end: AtEnd,
    step: Option<Span>,
    /// The entry at which the run began.
    start: u64,
    /// The next entry; its end when there are no more errors.
    next: u64,
    /// The run that it is in.
    run: usize,
}

impl Trace {
    /// A walk as `settings` describe it; `stream` draws where it begins.
    pub fn new(settings: &TraceSettings, mut stream: Stream) -> Self {
        let record = settings.record.clone();
        let start = match settings.start {
            Start::Beginning => 0,
            Start::Random => stream.below(record.len()),
        };
        // A record without errors ends at once, or a search for the next error would go round for ever.
        let at_end = if record.errors() == 0 { AtEnd::NoErrors } else { settings.at_end };
        let mut trace = Trace { record, stream, at_end, step: settings.step, start, next: 0, run: 0 };
        trace.go_to(start);
        trace
    }

    pub(super) fn stream(&self) -> &Stream {
        &self.stream
    }

    pub(super) fn goes_with_time(&self) -> bool {
        self.step.is_some()
    }

    /// Goes to the entry of this time, if the record goes on with time.
    pub(super) fn begin(&mut self, now: Time) {
        if let Some(step) = self.step {
            self.go_to(self.start + now.as_nanos() / step.as_nanos());
        }
    }

    fn go_to(&mut self, entry: u64) {
        let length = self.record.len();
        self.next = match self.at_end {
            AtEnd::Repeat => entry % length,
            AtEnd::NoErrors => entry.min(length),
        };
        self.run = self.record.ends.partition_point(|&end| end <= self.next);
    }

    /// As [`ErrorProcess::take_successes`](super::ErrorProcess::take_successes).
    pub(super) fn take_successes(&mut self, most: u64) -> u64 {
        let mut taken = 0;
        while taken < most {
            let run = self.entries_left().min(most - taken);
            if self.is_error() {
                break;
            }
            taken += run;
            self.go_on(run);
        }
        taken
    }

    /// As [`ErrorProcess::strikes`](super::ErrorProcess::strikes).
    pub(super) fn strikes(&mut self) -> bool {
        let error = self.is_error();
        self.go_on(1);
        error
    }

    fn is_error(&self) -> bool {
        self.run < self.record.ends.len() && self.record.is_error(self.run)
    }

    /// Trials with the outcome of the next one.
    fn entries_left(&self) -> u64 {
        match self.record.ends.get(self.run) {
            Some(end) if self.step.is_none() => end - self.next,
            _ => u64::MAX,
        }
    }

    fn go_on(&mut self, trials: u64) {
        let Some(&end) = self.record.ends.get(self.run).filter(|_| self.step.is_none()) else { return };
        self.next += trials;
        if self.next == end {
            self.run += 1;
            if self.run == self.record.ends.len() && self.at_end == AtEnd::Repeat {
                (self.next, self.run) = (0, 0);
            }
        }
    }
}

#[cfg(test)]
mod tests;
