//! Disjoint ranges of sequence numbers in order, none touching the next.

use std::collections::BTreeMap;

/// Ranges by their start.
#[derive(Clone, Debug, Default)]
pub(super) struct Runs {
    ends: BTreeMap<u64, u64>,
}

impl Runs {
    /// The run that contains `seq`.
    pub fn at(&self, seq: u64) -> Option<(u64, u64)> {
        let (&start, &end) = self.ends.range(..=seq).next_back()?;
        (end > seq).then_some((start, end))
    }

    /// Adds `[start, end)`, joining the runs it overlaps or touches.
    pub fn insert(&mut self, start: u64, mut end: u64) {
        while let Some((&joined, &reached)) = self.ends.range(start + 1..=end).next() {
            end = end.max(reached);
            self.ends.remove(&joined);
        }
        match self.ends.range_mut(..=start).next_back() {
            Some((_, reached)) if *reached >= start => *reached = end.max(*reached),
            _ => drop(self.ends.insert(start, end)),
        }
    }

    /// Removes everything below `seq`.
    pub fn remove_below(&mut self, seq: u64) {
        while let Some(first) = self.ends.first_entry().filter(|first| *first.key() < seq) {
            let (_, end) = first.remove_entry();
            if end > seq {
                self.ends.insert(seq, end);
            }
        }
    }

    /// How many bytes of `[start, end)` are in runs.
    pub fn bytes_within(&self, start: u64, end: u64) -> u64 {
        let first = self.at(start).map_or(start, |(first, _)| first);
        let runs = self.ends.range(first..end.max(first));
        runs.map(|(&from, &to)| to.min(end).saturating_sub(from.max(start))).sum()
    }

    /// The runs, lowest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, u64)> + '_ {
        self.ends.iter().map(|(&start, &end)| (start, end))
    }

    /// Removes all.
    pub fn clear(&mut self) {
        self.ends.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(of: &[(u64, u64)]) -> Runs {
        let mut runs = Runs::default();
        of.iter().for_each(|&(start, end)| runs.insert(start, end));
        runs
    }

    #[test]
    fn a_run_joins_what_it_touches() {
        let mut runs = runs(&[(10, 20), (30, 40), (50, 60), (70, 80)]);
        runs.insert(20, 50);
        assert_eq!(runs.iter().collect::<Vec<_>>(), [(10, 60), (70, 80)]);
        assert_eq!((runs.at(59), runs.at(60)), (Some((10, 60)), None));
    }

    #[test]
    fn what_is_below_a_number_goes() {
        let mut runs = runs(&[(10, 20), (30, 40), (50, 60)]);
        runs.remove_below(35);
        assert_eq!(runs.iter().collect::<Vec<_>>(), [(35, 40), (50, 60)]);
        assert_eq!(runs.bytes_within(36, 55), 9);
    }
}
