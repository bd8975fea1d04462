//! How late packets left: a histogram of fixed size that one thread fills while others read it.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use cellwind_engine::time::Span;

/// Bins per doubling: a bin is at most a thirty-second of its value wide.
const BINS_PER_DOUBLING: u32 = 32;
/// Below this each value has its own bin, as the first doublings are too narrow to be divided.
const EXACT: u64 = 2 * BINS_PER_DOUBLING as u64;
/// Doublings from there on, up to 2^36 ns or a minute; the last bin holds all that is later.
const DOUBLINGS: u32 = 36 - EXACT.ilog2();
const BINS: usize = EXACT as usize + (DOUBLINGS * BINS_PER_DOUBLING) as usize;

/// Counts of lateness in bins as wide as their value demands, as HdrHistogram does.
///
/// Each count is written by one thread only, so that adding is a load and a store.
#[derive(Debug)]
pub struct Lateness {
    bins: [AtomicU64; BINS],
    worst_ns: AtomicU64,
    limit_ns: u64,
    over_limit: AtomicU64,
}

/// A summary of a histogram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// How many.
    pub count: u64,
    /// Half of them were at most this late, to the width of a bin.
    pub p50: Span,
    /// All but a hundredth of them were at most this late.
    pub p99: Span,
    /// The latest, exactly.
    pub worst: Span,
    /// How many were later than the limit.
    pub over_limit: u64,
}

impl Lateness {
    /// An empty histogram that counts what is later than `limit`.
    pub fn new(limit: Span) -> Self {
        Lateness {
            bins: [const { AtomicU64::new(0) }; BINS],
            worst_ns: AtomicU64::new(0),
            limit_ns: limit.as_nanos(),
            over_limit: AtomicU64::new(0),
        }
    }

    /// Counts one; only ever from one thread.
    #[inline]
    pub fn add(&self, late: Span) {
        let ns = late.as_nanos();
        add_one(&self.bins[bin(ns)]);
        if ns > self.worst_ns.load(Relaxed) {
            self.worst_ns.store(ns, Relaxed);
        }
        if ns > self.limit_ns {
            add_one(&self.over_limit);
        }
    }

    /// What was counted so far.
    pub fn summary(&self) -> Summary {
        let counts: Vec<u64> = self.bins.iter().map(|bin| bin.load(Relaxed)).collect();
        let count: u64 = counts.iter().sum();
        let worst = self.worst_ns.load(Relaxed);
        let quantile = |share: f64| {
            let rank = (count as f64 * share).ceil() as u64;
            let mut below = 0;
            let place = counts.iter().position(|&in_bin| {
                below += in_bin;
                below >= rank && in_bin > 0
            });
            Span::from_nanos(place.map_or(0, |place| last_of(place).min(worst)))
        };
        Summary {
            count,
            p50: quantile(0.5),
            p99: quantile(0.99),
            worst: Span::from_nanos(worst),
            over_limit: self.over_limit.load(Relaxed),
        }
    }

    /// The bins that are not empty: the largest value in each, and its count.
    pub fn histogram(&self) -> Vec<(Span, u64)> {
        let counts = self.bins.iter().map(|bin| bin.load(Relaxed)).enumerate();
        counts.filter(|&(_, count)| count > 0).map(|(place, count)| (Span::from_nanos(last_of(place)), count)).collect()
    }
}

fn add_one(count: &AtomicU64) {
    count.store(count.load(Relaxed) + 1, Relaxed);
}

/// The bin of a value: the doubling it lies in, and the bits below its highest.
#[inline]
fn bin(ns: u64) -> usize {
    let shift = (ns | (EXACT - 1)).ilog2() - BINS_PER_DOUBLING.ilog2();
    let place = u64::from(shift * BINS_PER_DOUBLING) + (ns >> shift);
    (place as usize).min(BINS - 1)
}

/// The largest value in a bin.
fn last_of(place: usize) -> u64 {
    let per_doubling = BINS_PER_DOUBLING as usize;
    let shift = (place / per_doubling).saturating_sub(1);
    (((place - shift * per_doubling) as u64 + 1) << shift) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_in_its_bin() {
        // Bins follow each other without gap or overlap, none wider than the bins of a doubling are.
        let mut first = 0;
        for place in 0..BINS - 1 {
            let last = last_of(place);
            assert_eq!((bin(first), bin(last)), (place, place), "{first}..={last}");
            assert!(last - first <= first / 32, "{first}..={last}");
            first = last + 1;
        }
        assert!(first > 10_000_000_000, "{first}");
        assert_eq!(bin(u64::MAX), BINS - 1);
    }

    #[test]
    fn quantiles_are_those_of_the_values() {
        let lateness = Lateness::new(Span::from_millis(1));
        (1..=1000).for_each(|us| lateness.add(Span::from_micros(us)));
        lateness.add(Span::from_nanos(1_000_001));
        let summary = lateness.summary();
        let near = |span: Span, us: u64| span.abs_diff(Span::from_micros(us)) <= Span::from_micros(us / 32);
        assert!(near(summary.p50, 500) && near(summary.p99, 990), "{summary:?}");
        assert_eq!((summary.count, summary.over_limit), (1001, 1));
        assert_eq!(summary.worst, Span::from_nanos(1_000_001));
        assert_eq!(lateness.histogram().iter().map(|&(_, count)| count).sum::<u64>(), 1001);
    }

    #[test]
    fn an_empty_histogram_says_nothing() {
        assert_eq!(Lateness::new(Span::ZERO).summary(), Summary::default());
    }
}
