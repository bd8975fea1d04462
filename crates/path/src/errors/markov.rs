//! A chain of any number of states, each with its probability of an error: a hidden Markov model of the channel.

use cellwind_engine::time::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::chain::ChainTable;
use super::settings::{Chance, Unfit};

/// A Markov chain from a `file`, or written here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MarkovSettings {
    /// A TOML file with the keys `transitions`, `errors` and `initial`, relative to the scenario file; a name without
    /// `/` and `.` is that of a ready-made one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// A row for each state: the probabilities that each state follows it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub transitions: Vec<Vec<Chance>>,
    /// The probability of an error in each state.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<Chance>,
    /// The probability that the run begins in each state; by default that of the long run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub initial: Vec<Chance>,
    /// Takes a step of the chain whenever so much time is over, also while nothing is sent; by default after each block
    /// (or TTI, with that `unit`), on a link after each packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<Span>,
}

/// The file of a Markov chain.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MarkovFile {
    /// A row for each state: the probabilities that each state follows it.
    pub transitions: Vec<Vec<Chance>>,
    /// The probability of an error in each state.
    pub errors: Vec<Chance>,
    /// The probability that the run begins in each state.
    #[serde(default)]
    pub initial: Vec<Chance>,
}

impl MarkovFile {
    /// Says why this is no chain, if it is none.
    pub fn check(&self) -> Result<(), Unfit> {
        ChainTable::new(&self.transitions, &self.errors, &self.initial).map(drop)
    }
}

impl MarkovSettings {
    /// Puts what `file` holds in its place, so that the settings stand on their own.
    pub fn fill_in(&mut self, file: MarkovFile) {
        self.file = None;
        self.transitions = file.transitions;
        self.errors = file.errors;
        self.initial = file.initial;
    }

    /// Whether the chain is written here.
    pub fn is_written_here(&self) -> bool {
        !(self.transitions.is_empty() && self.errors.is_empty() && self.initial.is_empty())
    }

    /// The chain.
    pub fn chain(&self) -> Result<ChainTable, Unfit> {
        if !self.is_written_here() {
            return Err(Unfit::new(&[], "there is no chain", "no `file`", "`file`, or `transitions` and `errors`"));
        }
        ChainTable::new(&self.transitions, &self.errors, &self.initial)
    }
}
