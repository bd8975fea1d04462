//! Times in which everything sent is lost.

use cellwind_engine::time::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::settings::Unfit;

/// A time in which everything sent is lost, once or periodically: all blocks of a TTI, or a packet of a link, on the
/// air in it for however short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Blackout {
    /// When it begins, the first time, from the start of the run.
    #[serde(default)]
    pub at: Span,
    /// How long it lasts.
    pub duration: Span,
    /// From the beginning of one until the beginning of the next; by default there is only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period: Option<Span>,
}

impl Blackout {
    pub(super) fn check(&self, index: &str) -> Result<(), Unfit> {
        if self.duration.is_zero() {
            let message = "a blackout without a duration takes nothing";
            return Err(Unfit::new(&["blackouts", index, "duration"], message, "0 s", "a time above 0 s"));
        }
        match self.period {
            Some(period) if period <= self.duration => {
                let allowed = format!("a time above {}, its duration", self.duration);
                let message = "the blackout never ends, so that nothing ever gets through";
                Err(Unfit::new(&["blackouts", index, "period"], message, period.to_string(), allowed))
            }
            _ => Ok(()),
        }
    }

    /// The end of the blackout that `[from, to)` meets, the last one where it meets several; or else the beginning of
    /// the next one.
    fn meets(&self, from: Time, to: Time) -> Result<Time, Time> {
        let first = Time::ZERO + self.at;
        let Some(period) = self.period else {
            return match first + self.duration {
                end if first < to && from < end => Ok(end),
                _ if from < first => Err(first),
                _ => Err(Time::MAX),
            };
        };
        let begun = if to > first { (to - first).as_nanos().div_ceil(period.as_nanos()) } else { 0 };
        let begins = |number: u64| first + Span::from_nanos(period.as_nanos().saturating_mul(number));
        match begun.checked_sub(1).map(|last| begins(last) + self.duration) {
            Some(end) if from < end => Ok(end),
            _ => Err(begins(begun)),
        }
    }
}

/// The blackouts of a bearer or link.
#[derive(Clone, Debug)]
pub struct Blackouts {
    list: Box<[Blackout]>,
    /// There is a blackout until then.
    dark_until: Time,
    /// There is none until then.
    clear_until: Time,
}

impl Blackouts {
    /// The blackouts of a list, in any order, which may overlap.
    pub fn new(list: &[Blackout]) -> Self {
        let clear_until = if list.is_empty() { Time::MAX } else { Time::ZERO };
        Blackouts { list: list.into(), dark_until: Time::ZERO, clear_until }
    }

    /// Whether there is none at all.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Whether there is a blackout in `[from, to)`; `from` never decreases.
    #[inline]
    pub fn strike(&mut self, from: Time, to: Time) -> bool {
        if to <= self.clear_until {
            return false;
        }
        from < self.dark_until || self.look(from, to)
    }

    fn look(&mut self, from: Time, to: Time) -> bool {
        let mut is_dark = false;
        let mut next = Time::MAX;
        for blackout in &self.list {
            match blackout.meets(from, to) {
                // It has begun, so that all up to its end is in it.
                Ok(end) if end <= from + blackout.duration => {
                    is_dark = true;
                    self.dark_until = self.dark_until.max(end);
                }
                Ok(_) => is_dark = true,
                Err(begins) => next = next.min(begins),
            }
        }
        if !is_dark {
            self.clear_until = next;
        }
        is_dark
    }
}

#[cfg(test)]
mod tests;
