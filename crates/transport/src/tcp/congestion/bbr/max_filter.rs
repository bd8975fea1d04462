//! The largest of the values seen in a window of counted time.

/// Kathleen Nichols' algorithm: the three best values of the window, each the best of those after the one before it
/// (Linux, lib/win_minmax.c, to which both drafts point).
#[derive(Clone, Copy, Debug)]
pub struct MaxFilter<T> {
    best: [(u64, T); 3],
}

impl<T: Copy + PartialOrd + Default> Default for MaxFilter<T> {
    fn default() -> Self {
        MaxFilter { best: [(0, T::default()); 3] }
    }
}

impl<T: Copy + PartialOrd> MaxFilter<T> {
    /// The largest value.
    pub fn get(&self) -> T {
        self.best[0].1
    }

    /// Takes `value` at `time`; only values of the last `window` count.
    pub fn update(&mut self, window: u64, time: u64, value: T) {
        let taken = (time, value);
        let [first, second, third] = &mut self.best;
        if value >= first.1 || time - third.0 > window {
            self.best = [taken; 3];
            return;
        }
        if value >= second.1 {
            (*second, *third) = (taken, taken);
        } else if value >= third.1 {
            *third = taken;
        }
        self.age(window, taken);
    }

    /// Drops what has left the window, and makes sure that the lesser ones are not as old as the best.
    fn age(&mut self, window: u64, taken: (u64, T)) {
        let [first, second, third] = &mut self.best;
        let elapsed = taken.0 - first.0;
        if elapsed > window {
            (*first, *second, *third) = (*second, *third, taken);
            if taken.0 - first.0 > window {
                (*first, *second) = (*second, taken);
            }
        } else if second.0 == first.0 && elapsed > window / 4 {
            (*second, *third) = (taken, taken); // a quarter of the window has passed without a second choice
        } else if third.0 == second.0 && elapsed > window / 2 {
            *third = taken;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_maximum_counts_for_the_window_and_falls_to_the_next_best_after_it() {
        let mut filter = MaxFilter::default();
        filter.update(10, 0, 100.0);
        for time in 1..=10 {
            filter.update(10, time, 50.0 - time as f64);
            assert_eq!(filter.get(), 100.0);
        }
        filter.update(10, 11, 10.0);
        assert!(filter.get() < 50.0 && filter.get() > 39.0, "{}", filter.get());
    }

    #[test]
    fn a_larger_value_counts_at_once_and_a_silent_window_forgets_all() {
        let mut filter = MaxFilter::default();
        filter.update(10, 0, 100);
        filter.update(10, 1, 200);
        assert_eq!(filter.get(), 200);
        filter.update(10, 12, 7);
        assert_eq!(filter.get(), 7);
    }
}
