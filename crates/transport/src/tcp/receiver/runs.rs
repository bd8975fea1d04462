//! Received data above a gap: runs in order of sequence numbers, and which of them changed last.

use std::collections::BTreeMap;

/// Runs apart from each other. Nothing here looks at all of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Runs {
    /// By their start.
    runs: BTreeMap<u64, Run>,
    /// The same as `(start, end)`, by when they changed last.
    recent: BTreeMap<u64, (u64, u64)>,
    /// Counts changes.
    changes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Run {
    end: u64,
    changed: u64,
}

impl Runs {
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Adds `[start, end)`, joining the runs it overlaps or touches.
    pub fn insert(&mut self, mut start: u64, mut end: u64) {
        while let Some((&joined, run)) = self.runs.range_mut(..=end).next_back().filter(|(_, run)| run.end >= start) {
            if run.changed == self.changes && joined <= start {
                // Mostly, the run that changed last grows: nothing to reorder.
                run.end = run.end.max(end);
                self.recent.insert(self.changes, (joined, run.end));
                return;
            }
            (start, end) = (start.min(joined), end.max(run.end));
            self.recent.remove(&run.changed);
            self.runs.remove(&joined);
        }
        self.changes += 1;
        self.runs.insert(start, Run { end, changed: self.changes });
        self.recent.insert(self.changes, (start, end));
    }

    /// Removes the runs that begin at or below `next` and returns how far the data then reaches.
    pub fn absorb(&mut self, mut next: u64) -> u64 {
        while let Some(first) = self.runs.first_entry().filter(|first| *first.key() <= next) {
            let run = first.remove();
            self.recent.remove(&run.changed);
            next = next.max(run.end);
        }
        next
    }

    /// The part of `[start, end)` that lies in the lowest run it overlaps.
    pub fn overlap(&self, start: u64, end: u64) -> Option<(u64, u64)> {
        let (&last, run) = self.runs.range(..end).next_back().filter(|(_, run)| run.end > start)?;
        if last <= start {
            return Some((start, end.min(run.end)));
        }
        let before = self.runs.range(..=start).next_back().filter(|(_, run)| run.end > start);
        let (&from, run) = before.or_else(|| self.runs.range(start..end).next())?;
        Some((start.max(from), end.min(run.end)))
    }

    /// The runs as `(start, end)`, the one that changed last first.
    pub fn latest(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.recent.values().rev().copied()
    }

    /// Checks that the runs above `next` are apart and in order.
    pub fn check(&self, next: u64) -> Result<(), String> {
        let mut previous = next;
        for (&start, run) in &self.runs {
            if start <= previous || run.end <= start || self.recent.get(&run.changed) != Some(&(start, run.end)) {
                return Err(format!("run {start} {run:?} after {previous}"));
            }
            previous = run.end;
        }
        if self.recent.len() == self.runs.len() { Ok(()) } else { Err("runs are remembered that are gone".into()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_arrivals_leave_the_runs_a_list_of_all_would() {
        // Ranges in an order without pattern, against a list that is searched from end to end.
        let (mut runs, mut list) = (Runs::default(), Vec::<(u64, u64)>::new());
        let mut next = 1;
        for step in 0..3000_u64 {
            let start = next + 1 + step * step * 7919 % 400;
            let end = start + 1 + step % 13;
            assert_eq!(runs.overlap(start, end), {
                let known = list.iter().filter(|run| run.0 < end && start < run.1).min();
                known.map(|&(from, to)| (start.max(from), end.min(to)))
            });
            runs.insert(start, end);
            let touches = |run: &(u64, u64)| run.0 <= end && start <= run.1;
            let joined = list.iter().filter(|run| touches(run)).fold((start, end), |a, b| (a.0.min(b.0), a.1.max(b.1)));
            list.retain(|run| !touches(run));
            list.push(joined);
            if step % 50 == 49 {
                next += 200;
                let reached = runs.absorb(next);
                let in_order = |next: u64| list.iter().filter(|run| run.0 <= next).map(|run| run.1).max();
                while let Some(end) = in_order(next).filter(|&end| end > next) {
                    next = end;
                }
                assert_eq!(reached, next);
                list.retain(|run| run.0 > next);
            }
            assert!(runs.latest().eq(list.iter().rev().copied()));
            runs.check(next).unwrap();
        }
    }
}
