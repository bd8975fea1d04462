//! Changes that are made by hand, on top of those that have come before.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Change, Running, assignments_of};
use crate::error::ScenarioError;
use crate::model::Scenario;
use crate::node::Node;
use crate::resolve::Assignment;

/// The settings of a running session as far as whoever changes them has followed it. What it makes is parsed and checked,
/// and whoever applies it does neither.
#[derive(Clone, Debug)]
pub struct Controls {
    tree: Node,
    running: Running,
    /// How many of the applied events are in `running`.
    followed: usize,
}

impl Controls {
    pub(crate) fn new(scenario: &Scenario, tree: &Node) -> Self {
        Controls { tree: tree.clone(), running: Running::new(scenario, tree), followed: 0 }
    }

    /// Goes on to what the session's events have set meanwhile.
    pub fn follow(&mut self, applied: &Applied) {
        for event in applied.since(self.followed) {
            self.followed += 1;
            let mut next = self.running.clone();
            // It was valid in the file, and the session has applied it; beside what was set by hand it may not read so.
            if assignments_of(&self.tree, event).and_then(|assignments| next.set(assignments)).is_ok() {
                self.running = next;
            }
        }
    }

    /// New values of links, accesses and terminals: dotted paths and TOML values, as in `set` of an event. After an error
    /// everything is as before.
    pub fn set(&mut self, sets: &[(String, String)]) -> Result<Change, ScenarioError> {
        let assignments = sets.iter().map(|(path, value)| Assignment::of_text("set", path, value));
        let mut next = self.running.clone();
        let change = next.set(assignments.collect::<Result<_, _>>()?)?;
        self.running = next;
        Ok(change)
    }
}

/// Which events of the scenario have been applied, in their order: a session writes it, and who likes reads it, from any
/// thread and without waiting.
#[derive(Debug)]
pub struct Applied {
    events: Box<[AtomicUsize]>,
    count: AtomicUsize,
}

impl Applied {
    /// None of so many.
    pub(crate) fn none_of(events: usize) -> Self {
        Applied { events: (0..events).map(|_| AtomicUsize::new(0)).collect(), count: AtomicUsize::new(0) }
    }

    /// Adds one; only ever from one thread.
    pub(crate) fn add(&self, event: usize) {
        let count = self.count.load(Ordering::Relaxed);
        self.events[count].store(event, Ordering::Relaxed);
        self.count.store(count + 1, Ordering::Release);
    }

    /// Those behind the first ones.
    fn since(&self, first: usize) -> impl Iterator<Item = usize> + '_ {
        self.events[first..self.count.load(Ordering::Acquire)].iter().map(|event| event.load(Ordering::Relaxed))
    }
}
