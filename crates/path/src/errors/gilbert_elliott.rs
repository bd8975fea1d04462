//! The Gilbert–Elliott channel: a good and a bad state.
//!
//! Gilbert, "Capacity of a burst-noise channel", BSTJ 39 (1960); Elliott, "Estimates of error rates for codes on
//! burst-noise channels", BSTJ 42 (1963), who lets errors happen in both states.

use cellwind_engine::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::chain::ChainTable;
use super::settings::{Chance, Unfit};

/// A good and a bad state, described by `good_to_bad` and `bad_to_good`, or by `rate` and `burst`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GilbertElliottSettings {
    /// Probability that a block in the good state is followed by the bad state (Gilbert's P).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub good_to_bad: Option<Chance>,
    /// Probability that a block in the bad state is followed by the good state (Gilbert's p).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bad_to_good: Option<Chance>,
    /// Share of blocks in error in the long run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Chance>,
    /// Mean number of blocks in one stay in the bad state, which is a burst of errors if all of them are in error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub burst: Option<f64>,
    /// Probability of an error in the good state.
    #[serde(default = "GilbertElliottSettings::default_good_errors")]
    pub good_errors: Chance,
    /// Probability of an error in the bad state.
    #[serde(default = "GilbertElliottSettings::default_bad_errors")]
    pub bad_errors: Chance,
    /// Takes a step of the chain whenever so much time is over, also while nothing is sent; by default after each block
    /// (or TTI, with that `unit`), on a link after each packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<Span>,
}

impl GilbertElliottSettings {
    fn default_good_errors() -> Chance {
        Chance::NEVER // Gilbert 1960
    }

    fn default_bad_errors() -> Chance {
        Chance::ALWAYS // h = 0 of Gilbert 1960, so that a burst is a run of errors
    }

    /// The probabilities of changing from good to bad and back.
    pub fn changes(&self) -> Result<(Chance, Chance), Unfit> {
        match (self.good_to_bad, self.bad_to_good, self.rate, self.burst) {
            (Some(good_to_bad), Some(bad_to_good), None, None) => Ok((good_to_bad, bad_to_good)),
            (None, None, Some(rate), Some(burst)) => self.changes_for(rate, burst),
            (good_to_bad, bad_to_good, rate, burst) => {
                let given = [
                    ("good_to_bad", good_to_bad.is_some()),
                    ("bad_to_good", bad_to_good.is_some()),
                    ("rate", rate.is_some()),
                    ("burst", burst.is_some()),
                ];
                let given: Vec<&str> = given.iter().filter(|(_, is_given)| *is_given).map(|(key, _)| *key).collect();
                let found = if given.is_empty() { "none of them".into() } else { format!("`{}`", given.join("`, `")) };
                let allowed = "both `good_to_bad` and `bad_to_good`, or both `rate` and `burst`";
                Err(Unfit::new(&[], "the two states are not described by one pair of keys", found, allowed))
            }
        }
    }

    /// In the long run a share b = (rate - good) / (bad - good) of blocks is in the bad state, which is
    /// good_to_bad / (good_to_bad + bad_to_good).
    fn changes_for(&self, rate: Chance, burst: f64) -> Result<(Chance, Chance), Unfit> {
        let (good, bad) = (self.good_errors, self.bad_errors);
        if !(good <= rate && rate < bad) {
            let allowed = format!("from {good} to below {bad}, the errors of the good and of the bad state");
            return Err(Unfit::new(&["rate"], "the states cannot bring about this rate", rate.to_string(), allowed));
        }
        if !(1.0..=1e15).contains(&burst) {
            let allowed = "a mean length from 1 to 1e15";
            return Err(Unfit::new(&["burst"], "there is no such burst", format!("{burst:?}"), allowed));
        }
        let share = (rate.get() - good.get()) / (bad.get() - good.get());
        let good_to_bad = share / (1.0 - share) / burst;
        let changes = Chance::new(good_to_bad).zip(Chance::new(1.0 / burst));
        changes.ok_or_else(|| {
            let least = share / (1.0 - share);
            let allowed = format!("at least {least:.6}, since a good block is between two bursts at the least");
            Unfit::new(&["burst"], "bursts are too short for so many errors", format!("{burst:?}"), allowed)
        })
    }

    /// The chain of the two states, the good one first.
    pub fn chain(&self) -> Result<ChainTable, Unfit> {
        let (good_to_bad, bad_to_good) = self.changes()?;
        let other = |chance: Chance| Chance::new(1.0 - chance.get()).unwrap_or(Chance::NEVER);
        let transitions = [vec![other(good_to_bad), good_to_bad], vec![bad_to_good, other(bad_to_good)]];
        let errors = [self.good_errors, self.bad_errors];
        // A state that is never left is where the walk is in the long run, and the only one that needs to be told.
        let initial: &[Chance] = match (good_to_bad == Chance::NEVER, bad_to_good == Chance::NEVER) {
            (false, false) => &[],
            (true, _) => &[Chance::ALWAYS, Chance::NEVER],
            (false, true) => &[Chance::NEVER, Chance::ALWAYS],
        };
        ChainTable::new(&transitions, &errors, initial).map_err(|unfit| {
            let found = "1 in every state that can follow".into();
            Unfit { keys: vec!["bad_errors".into()], found, ..unfit }
        })
    }
}
