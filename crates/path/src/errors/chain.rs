//! A Markov chain of states, each with its share of errors.
//!
//! The chain takes a step from one trial to the next, or one for each `step` of time. Without memory inside a state,
//! the length of a stay and the distance to the next error are geometric and drawn at once.

use std::sync::Arc;

use cellwind_engine::random::Stream;
use cellwind_engine::time::{Span, Time};

use super::settings::{Chance, Unfit};

/// The most states; the stationary distribution costs the third power of it.
pub const MOST_STATES: usize = 256;
/// How far from 1 the sum of a row may be, so that six decimals are enough to write it; it is scaled to 1.
const ROUNDING: f64 = 1e-5;

/// A chain as a table: which state follows which, and how many trials fail in each.
#[derive(Clone, Debug, PartialEq)]
pub struct ChainTable {
    states: Arc<[State]>,
    /// Probabilities of the states at the start, summed up.
    initial: Arc<[f64]>,
}

#[derive(Clone, Debug, PartialEq)]
struct State {
    /// Probability of being here at the next step again.
    stay: f64,
    /// The states that follow a stay, with their probabilities summed up to 1.
    exits: Box<[(f64, usize)]>,
    /// Probability of an error.
    error: f64,
}

impl ChainTable {
    /// The chain with these `transitions` (row: from, column: to) and probability of an error in each state.
    ///
    /// It starts in a state drawn from `initial`, or where that is empty, from the stationary distribution.
    pub fn new(transitions: &[Vec<Chance>], errors: &[Chance], initial: &[Chance]) -> Result<Self, Unfit> {
        let count = transitions.len();
        if !(1..=MOST_STATES).contains(&count) {
            let allowed = format!("1 to {MOST_STATES} rows, one for each state");
            return Err(Unfit::new(&["transitions"], "the number of states is not allowed", rows(count), allowed));
        }
        for (from, row) in transitions.iter().enumerate() {
            let place = ["transitions", &from.to_string()];
            if row.len() != count {
                let allowed = format!("{count} values, one for each state, as there are {}", rows(count));
                return Err(Unfit::new(&place, "the table is not square", format!("a row of {}", row.len()), allowed));
            }
            check_sum(&place, row)?;
        }
        if errors.len() != count {
            let (found, allowed) = (format!("{} values", errors.len()), format!("{count}, one for each state"));
            return Err(Unfit::new(&["errors"], "the number of values is not that of the states", found, allowed));
        }
        let table: Vec<Vec<f64>> = transitions.iter().map(|row| scaled(row)).collect();
        if let Some(trap) = (0..count).find(|&from| !leads_to(&table, from, |to| errors[to].get() < 1.0)) {
            let message = "a state leads to nothing but errors, so that nothing ever gets through";
            let found = format!("row {trap} of `transitions`, and `errors` of 1 in all states that follow");
            return Err(Unfit::new(&["errors"], message, found, "a value below 1 in a state that follows"));
        }
        let initial = if initial.is_empty() {
            stationary(&table).ok_or_else(|| {
                let message = "not every state is reached from every other, so that the first one must be told";
                Unfit::new(&["transitions"], message, "no `initial`", "`initial` with the probability of each state")
            })?
        } else if initial.len() == count {
            check_sum(&["initial"], initial)?;
            scaled(initial)
        } else {
            let (found, allowed) = (format!("{} values", initial.len()), format!("{count}, one for each state"));
            return Err(Unfit::new(&["initial"], "the number of values is not that of the states", found, allowed));
        };
        let states = table.iter().zip(errors).enumerate().map(|(at, (row, error))| State::new(at, row, error.get()));
        let mut sum = 0.0;
        let initial = initial.iter().map(|probability| {
            sum += probability;
            sum
        });
        Ok(ChainTable { states: states.collect(), initial: initial.collect() })
    }
}

fn rows(count: usize) -> String {
    format!("{count} row{}", if count == 1 { "" } else { "s" })
}

fn check_sum(place: &[&str], row: &[Chance]) -> Result<(), Unfit> {
    let sum: f64 = row.iter().map(|chance| chance.get()).sum();
    if (sum - 1.0).abs() <= ROUNDING {
        return Ok(());
    }
    let found = format!("a sum of {}", (sum * 1e9).round() / 1e9);
    Err(Unfit::new(place, "the probabilities do not sum up to 1", found, "a sum of 1, to five decimals"))
}

fn scaled(row: &[Chance]) -> Vec<f64> {
    let sum: f64 = row.iter().map(|chance| chance.get()).sum();
    row.iter().map(|chance| chance.get() / sum).collect()
}

/// Whether the chain can get from a state to one that is `good`, which may be itself.
fn leads_to(table: &[Vec<f64>], from: usize, good: impl Fn(usize) -> bool) -> bool {
    let mut seen = vec![false; table.len()];
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        if good(at) {
            return true;
        }
        if !std::mem::replace(&mut seen[at], true) {
            open.extend((0..table.len()).filter(|&to| table[at][to] > 0.0 && !seen[to]));
        }
    }
    false
}

/// How often the chain is in each state in the long run; none if it falls apart.
///
/// The elimination of Grassmann, Taksar and Heyman (1985), which never subtracts.
fn stationary(table: &[Vec<f64>]) -> Option<Vec<f64>> {
    let count = table.len();
    if (1..count).any(|at| !leads_to(table, 0, |to| to == at) || !leads_to(table, at, |to| to == 0)) {
        return None;
    }
    // Rows of the states that are left; the shares of each state that was taken out stay in its column.
    let mut left = table.to_vec();
    for last in (1..count).rev() {
        let (rest, taken) = left.split_at_mut(last);
        let out: f64 = taken[0][..last].iter().sum();
        for row in rest {
            row[last] /= out;
            let share = row[last];
            row[..last].iter_mut().zip(&taken[0]).for_each(|(way, by)| *way += share * by);
        }
    }
    let mut weights = vec![1.0];
    for at in 1..count {
        weights.push(weights.iter().zip(&left).map(|(weight, row)| weight * row[at]).sum());
    }
    let sum: f64 = weights.iter().sum();
    Some(weights.iter().map(|weight| weight / sum).collect())
}

impl State {
    fn new(at: usize, row: &[f64], error: f64) -> Self {
        let leave: f64 = row.iter().enumerate().filter(|&(to, _)| to != at).map(|(_, p)| p).sum();
        let mut sum = 0.0;
        let exits = row.iter().enumerate().filter(|&(to, &p)| to != at && p > 0.0).map(|(to, p)| {
            sum += p / leave;
            (sum, to)
        });
        let mut exits: Box<[_]> = exits.collect();
        if let Some((sum, _)) = exits.last_mut() {
            *sum = 1.0;
        }
        State { stay: if exits.is_empty() { 1.0 } else { row[at] }, exits, error }
    }
}

/// A walk through the states.
#[derive(Clone, Debug)]
pub struct Chain {
    states: Arc<[State]>,
    stream: Stream,
    at: usize,
    /// Steps left in this state, the current one included; never zero.
    left: u64,
    /// Trials that still succeed before the next error, as long as the state lasts.
    successes: u64,
    clock: Option<Clock>,
}

/// The time of a chain that takes its steps with it.
#[derive(Clone, Copy, Debug)]
struct Clock {
    step: Span,
    /// Steps from the start of the run.
    now: u64,
}

impl Chain {
    /// A walk that begins in a drawn state. It takes a step after each trial, or if there is a `step`, one whenever so
    /// much time is over.
    pub fn new(table: &ChainTable, step: Option<Span>, mut stream: Stream) -> Self {
        let at = match table.initial.len() {
            1 => 0,
            count => {
                let drawn = stream.uniform();
                table.initial.iter().position(|&sum| drawn < sum).unwrap_or(count - 1)
            }
        };
        let clock = step.map(|step| Clock { step, now: 0 });
        let mut chain = Chain { states: table.states.clone(), stream, at, left: 0, successes: 0, clock };
        chain.enter(at);
        chain
    }

    pub(super) fn stream(&self) -> &Stream {
        &self.stream
    }

    pub(super) fn goes_with_time(&self) -> bool {
        self.clock.is_some()
    }

    /// Takes the steps that are due with time; an instant before the last one counts as that.
    pub(super) fn begin(&mut self, now: Time) {
        let Some(Clock { step, now: before }) = self.clock else { return };
        let steps = before.max(now.as_nanos() / step.as_nanos());
        let mut due = steps - before;
        while due >= self.left {
            due -= self.left;
            self.leave();
        }
        self.left -= due;
        self.clock = Some(Clock { step, now: steps });
    }

    /// As [`ErrorProcess::take_successes`](super::ErrorProcess::take_successes).
    #[inline]
    pub(super) fn take_successes(&mut self, most: u64) -> u64 {
        let mut taken = 0;
        while taken < most {
            let stay = if self.clock.is_some() { u64::MAX } else { self.left };
            let run = self.successes.min(stay).min(most - taken);
            if run == 0 {
                break;
            }
            taken += run;
            self.successes -= run;
            self.go_on(run);
        }
        taken
    }

    /// As [`ErrorProcess::strikes`](super::ErrorProcess::strikes).
    #[inline]
    pub(super) fn strikes(&mut self) -> bool {
        let error = self.successes == 0;
        if error {
            self.successes = self.draw_successes();
        } else {
            self.successes -= 1;
        }
        self.go_on(1);
        error
    }

    /// Takes the steps of `trials`, which do not go beyond the state.
    #[inline]
    fn go_on(&mut self, trials: u64) {
        if self.clock.is_none() {
            self.left -= trials;
            if self.left == 0 {
                self.leave();
            }
        }
    }

    /// The state is over.
    fn leave(&mut self) {
        let to = match &*self.states[self.at].exits {
            [] => self.at, // after 2^64 steps
            [(_, only)] => *only,
            exits => {
                let drawn = self.stream.uniform();
                exits.iter().find(|&&(sum, _)| drawn < sum).expect("the last sum is 1").1
            }
        };
        self.enter(to);
    }

    fn enter(&mut self, state: usize) {
        self.at = state;
        self.left = geometric(self.states[state].stay, &mut self.stream).saturating_add(1);
        self.successes = self.draw_successes();
    }

    fn draw_successes(&mut self) -> u64 {
        geometric(1.0 - self.states[self.at].error, &mut self.stream)
    }
}

/// How often something of this probability happens in a row; draws nothing where that is certain.
fn geometric(probability: f64, stream: &mut Stream) -> u64 {
    if probability <= 0.0 {
        return 0;
    }
    if probability >= 1.0 {
        return u64::MAX;
    }
    // Inverts P(count >= n) = p^n; 1 - u is in (0, 1], so that the logarithm is finite.
    let count = (1.0 - stream.uniform()).ln() / probability.ln();
    if count < u64::MAX as f64 { count as u64 } else { u64::MAX }
}

#[cfg(test)]
mod tests;
