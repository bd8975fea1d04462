//! Fritchman's channel with a single error state.
//!
//! Fritchman, "A binary channel characterization using partitioned Markov chains", IEEE Trans. Inf. Theory 13 (1967).
//! The error-free states are not followed by each other, so that the distances between errors are a sum of
//! geometric distributions, and bursts are geometric.

use cellwind_engine::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::chain::{ChainTable, MOST_STATES};
use super::settings::{Chance, Unfit};

/// One error state, in which every block is in error, and several error-free states.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FritchmanSettings {
    /// The error-free states. What is left of their `enter` to 1 is the probability that an error follows an error.
    pub error_free: Vec<ErrorFree>,
    /// Takes a step of the chain whenever so much time is over, also while nothing is sent; by default after each block
    /// (or TTI, with that `unit`), on a link after each packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<Span>,
}

/// One error-free state.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ErrorFree {
    /// Probability that it follows a block in error.
    pub enter: Chance,
    /// Probability that it follows itself; else a block in error comes.
    pub stay: Chance,
}

impl FritchmanSettings {
    /// The chain, the error state last.
    pub fn chain(&self) -> Result<ChainTable, Unfit> {
        let count = self.error_free.len();
        if !(1..MOST_STATES).contains(&count) {
            let allowed = format!("1 to {} tables with `enter` and `stay`", MOST_STATES - 1);
            let message = "the number of error-free states is not allowed";
            return Err(Unfit::new(&["error_free"], message, count.to_string(), allowed));
        }
        let sum: f64 = self.error_free.iter().map(|state| state.enter.get()).sum();
        if sum <= 0.0 || sum > 1.0 + 1e-9 {
            let message = "the `enter` of all states together is no probability that a burst ends";
            let found = format!("a sum of {}", (sum * 1e9).round() / 1e9);
            return Err(Unfit::new(&["error_free"], message, found, "a sum above 0 and up to 1"));
        }
        for (index, state) in self.error_free.iter().enumerate() {
            let place = ["error_free", &index.to_string()];
            if state.stay == Chance::ALWAYS {
                let message = "no error ever follows this state";
                return Err(Unfit::new(&[place[0], place[1], "stay"], message, "1", "a value below 1"));
            }
            if state.enter == Chance::NEVER {
                let message = "this state never comes";
                return Err(Unfit::new(&[place[0], place[1], "enter"], message, "0", "a value above 0"));
            }
        }
        let row = |at: usize| {
            let stay = self.error_free[at].stay;
            let other = Chance::new(1.0 - stay.get()).unwrap_or(Chance::NEVER);
            (0..=count)
                .map(|to| {
                    if to == at {
                        stay
                    } else if to == count {
                        other
                    } else {
                        Chance::NEVER
                    }
                })
                .collect()
        };
        let again = Chance::new(1.0 - sum).unwrap_or(Chance::NEVER);
        let burst = self.error_free.iter().map(|state| state.enter).chain([again]).collect();
        let transitions: Vec<Vec<Chance>> = (0..count).map(row).chain([burst]).collect();
        let errors: Vec<Chance> =
            (0..=count).map(|at| if at == count { Chance::ALWAYS } else { Chance::NEVER }).collect();
        ChainTable::new(&transitions, &errors, &[])
    }
}
