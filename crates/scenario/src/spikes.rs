//! Where delay spikes come from: draws from two distributions, or a list.

use std::collections::VecDeque;

use cellwind_engine::distribution::SpanDistribution;
use cellwind_engine::random::Stream;
use cellwind_engine::time::{Span, Time};

use crate::model::{IntervalFrom, Spikes};

/// The spikes of one `[spikes.NAME]`, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct SpikeSource {
    /// The next one: when it begins, and how long it lasts.
    next: Option<(Time, Span)>,
    rest: Rest,
}

/// Where the spikes after the next one come from.
#[derive(Clone, Debug)]
enum Rest {
    Drawn { interval: SpanDistribution, from: IntervalFrom, duration: SpanDistribution, stream: Stream },
    Listed(VecDeque<(Time, Span)>),
}

impl SpikeSource {
    /// The spikes of a valid table; random ones draw from `stream`, for each spike an interval and then a duration.
    pub fn new(settings: &Spikes, stream: Stream) -> Self {
        let rest = match (settings.interval, settings.duration) {
            (Some(interval), Some(duration)) => {
                Rest::Drawn { interval, from: settings.interval_from.unwrap_or_default(), duration, stream }
            }
            _ => {
                let spikes = settings.list.iter().map(|spike| (Time::ZERO + spike.at, spike.duration));
                let mut spikes: Vec<_> = spikes.collect();
                spikes.sort_by_key(|&(at, _)| at);
                Rest::Listed(spikes.into())
            }
        };
        let mut source = SpikeSource { next: None, rest };
        source.next = source.after(Time::ZERO, Time::ZERO, settings.first);
        source
    }

    /// When the next spike begins.
    pub fn next(&self) -> Option<Time> {
        self.next.map(|(begins, _)| begins)
    }

    /// Takes the next spike if it has begun by `now`, and says when it ends.
    pub fn take(&mut self, now: Time) -> Option<Time> {
        let (begins, duration) = self.next.filter(|&(begins, _)| begins <= now)?;
        let ends = begins + duration;
        self.next = self.after(begins, ends, None);
        Some(ends)
    }

    /// The spike that follows one with this beginning and end, after the usual interval or `another`.
    fn after(&mut self, begun: Time, ended: Time, another: Option<SpanDistribution>) -> Option<(Time, Span)> {
        match &mut self.rest {
            Rest::Drawn { interval, from, duration, stream } => {
                let before = match from {
                    IntervalFrom::End => ended,
                    IntervalFrom::Start => begun,
                };
                // Time goes on even where draws are zero.
                let least = Span::from_nanos(1);
                let begins = before + another.unwrap_or(*interval).draw(stream).max(least);
                Some((begins, duration.draw(stream).max(least)))
            }
            Rest::Listed(spikes) => spikes.pop_front(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Spike;

    fn drawn(interval: &str, duration: &str) -> SpikeSource {
        let [interval, duration] = [interval, duration].map(|text| Some(text.parse().unwrap()));
        SpikeSource::new(&Spikes { interval, duration, ..Spikes::default() }, Stream::new(1, 0, "spikes/x"))
    }

    /// When each spike begins and ends, in seconds.
    fn spikes(source: &mut SpikeSource, count: usize) -> Vec<(f64, f64)> {
        let seconds = |time: Time| time.as_nanos() as f64 / 1e9;
        (0..count)
            .map(|_| {
                let begins = source.next().unwrap();
                (seconds(begins), seconds(source.take(begins).unwrap()))
            })
            .collect()
    }

    #[test]
    fn the_interval_counts_from_the_end_of_the_spike_before() {
        assert_eq!(spikes(&mut drawn("10 s", "2 s"), 3), [(10.0, 12.0), (22.0, 24.0), (34.0, 36.0)]);
    }

    #[test]
    fn an_interval_from_the_start_counts_from_there_and_lets_spikes_overlap() {
        let settings = Spikes {
            interval: Some("5 s".parse().unwrap()),
            interval_from: Some(IntervalFrom::Start),
            duration: Some("7 s".parse().unwrap()),
            ..Spikes::default()
        };
        let mut source = SpikeSource::new(&settings, Stream::new(1, 0, "spikes/x"));
        assert_eq!(spikes(&mut source, 3), [(5.0, 12.0), (10.0, 17.0), (15.0, 22.0)]);
    }

    #[test]
    fn the_first_spike_may_have_an_interval_of_its_own() {
        let [first, interval, duration] = ["1 s", "10 s", "2 s"].map(|text| Some(text.parse().unwrap()));
        let settings = Spikes { first, interval, duration, ..Spikes::default() };
        let mut source = SpikeSource::new(&settings, Stream::new(1, 0, "spikes/x"));
        assert_eq!(spikes(&mut source, 3), [(1.0, 3.0), (13.0, 15.0), (25.0, 27.0)]);
    }

    #[test]
    fn random_spikes_keep_their_bounds_and_their_mean() {
        // Gurtov's difficult scenario: 20 to 40 s between spikes of 3 to 15 s, one in 39 s on average. The standard
        // deviation of a period is √(20² + 12²) / √12 = 6.7 s, that of the mean of 10 000 of them 0.067 s; five of those.
        let spikes = spikes(&mut drawn("uniform 20 s to 40 s", "uniform 3 s to 15 s"), 10_000);
        let mut before = 0.0;
        for &(begins, ends) in &spikes {
            assert!((20.0..=40.0).contains(&(begins - before)) && (3.0..=15.0).contains(&(ends - begins)));
            before = ends;
        }
        assert!((before / 10_000.0 - 39.0).abs() < 0.34, "{before}");
    }

    #[test]
    fn a_list_is_taken_in_the_order_of_time_and_may_overlap() {
        let [first, second] = [(5, 10), (2, 4)]
            .map(|(at, duration)| Spike { at: Span::from_secs(at), duration: Span::from_secs(duration) });
        let settings = Spikes { list: vec![first, second], ..Spikes::default() };
        let mut source = SpikeSource::new(&settings, Stream::new(1, 0, "unused"));
        assert_eq!(spikes(&mut source, 2), [(2.0, 6.0), (5.0, 15.0)]);
        assert_eq!(source.next(), None);
        assert_eq!(source.take(Time::MAX), None);
    }

    #[test]
    fn time_goes_on_even_where_every_draw_is_zero() {
        let mut source = drawn("uniform 0 s to 1 ns", "0 s");
        (0..100).for_each(|_| assert!(source.take(Time::from_nanos(1_000)).is_some()));
        assert!(source.next().unwrap() >= Time::from_nanos(100));
    }
}
