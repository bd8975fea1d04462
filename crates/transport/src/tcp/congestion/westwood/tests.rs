//! Both filters, the count of what ACKs tell, and the thresholds, with numbers worked out by hand.

use super::*;
use crate::tcp::settings::PerAckFilter;

const MSS: u64 = 1000;

fn arrival(ms: u64, acked: u64) -> Arrival {
    Arrival { now: Time::from_millis(ms), acked, mss: MSS, rtt: Some(Span::from_millis(100)) }
}

fn westwood(filter: BandwidthFilter) -> Westwood {
    Westwood::new(&WestwoodSettings { filter, ..WestwoodSettings::default() })
}

/// ACKs of a segment every 10 ms from 0 to `until_ms`: 100 kB/s.
fn steady(westwood: &mut Westwood, windows: &mut Windows, until_ms: u64) {
    (0..=until_ms / 10).for_each(|n| westwood.on_arrival(windows, &arrival(n * 10, MSS)));
}

fn windows(cwnd: u64) -> Windows {
    Windows { cwnd, ssthresh: u64::MAX }
}

#[test]
fn the_filter_per_ack_weighs_two_samples_by_their_interval() {
    // τ = 0.5 s, Δ = 0.1 s: b̂ = (0.9 b̂ + 0.1 (b + b'))/1.1. With b = 10 000 B/s: 909.09, then
    // (0.9 · 909.09 + 0.1 · 20 000)/1.1 = 2561.98.
    let mut filter = PerAck::new(Span::from_millis(500));
    filter.on_ack(Time::ZERO, 1000);
    filter.on_ack(Time::from_millis(100), 1000);
    assert!((filter.estimate - 909.0909).abs() < 1e-3, "{}", filter.estimate);
    filter.on_ack(Time::from_millis(200), 1000);
    assert!((filter.estimate - 2561.983).abs() < 1e-3, "{}", filter.estimate);
}

#[test]
fn silence_counts_as_samples_of_zero() {
    // τ/2 = 0.25 s of silence: b̂ = (0.75 · 1000 + 0.25 · 0)/1.25 = 600; then 0.1 s with 500 B: 5000 B/s:
    // (0.9 · 600 + 0.1 · 5000)/1.1 = 945.45.
    let mut filter = PerAck::new(Span::from_millis(500));
    filter.on_ack(Time::ZERO, 0);
    filter.estimate = 1000.0;
    filter.on_ack(Time::from_millis(350), 500);
    assert!((filter.estimate - 945.4545).abs() < 1e-3, "{}", filter.estimate);
}

#[test]
fn hours_of_silence_leave_nothing_and_take_no_time() {
    let mut filter = PerAck::new(Span::from_micros(100));
    filter.on_ack(Time::ZERO, 0);
    filter.estimate = 1e9;
    filter.on_ack(Time::from_secs(3), 0);
    assert!(filter.estimate < 1.0, "{}", filter.estimate);
}

#[test]
fn acks_at_one_instant_make_one_sample() {
    let mut once = PerAck::new(Span::from_millis(500));
    let mut split = once;
    for (filter, parts) in [(&mut once, 1), (&mut split, 4)] {
        filter.on_ack(Time::ZERO, 1000);
        filter.on_ack(Time::from_millis(100), 4000 / parts);
        (1..parts).for_each(|_| filter.on_ack(Time::from_millis(100), 4000 / parts));
        filter.on_ack(Time::from_millis(200), 1000);
    }
    assert!(once.estimate > 0.0 && split.estimate > 0.0);
    assert_eq!(once.bytes, split.bytes);
}

#[test]
fn duplicate_acks_count_once() {
    let mut count = AckedCount::default();
    assert_eq!(count.count(0, MSS), MSS);
    assert_eq!(count.count(0, MSS), MSS);
    assert_eq!(count.count(0, MSS), MSS);
    assert_eq!(count.count(4000, MSS), 1000); // three of the four were counted
    assert_eq!(count.count(2000, MSS), 2000); // a delayed ACK
    (0..5).for_each(|_| _ = count.count(0, MSS));
    assert_eq!(count.count(2000, MSS), 1000); // a partial ACK: less than what was counted
    assert_eq!(count.accounted, 3000);
}

#[test]
fn a_steady_flow_is_measured_as_what_it_is_by_every_filter() {
    let per_ack = BandwidthFilter::PerAck(PerAckFilter::default());
    for filter in [per_ack, BandwidthFilter::PerRoundTrip, BandwidthFilter::Linux] {
        let mut westwood = westwood(filter);
        steady(&mut westwood, &mut windows(10_000), 6000);
        assert!((westwood.bandwidth() - 100_000.0).abs() < 20.0, "{filter:?} {}", westwood.bandwidth());
    }
}

#[test]
fn westwood_plus_smooths_a_sample_per_round_trip() {
    // 100 kB/s for a while, then one round trip of 200 ms with 10 segments, 50 kB/s: 0.9 · 100 + 0.1 · 50 = 95;
    // Linux: (7 · 100 + 50)/8 = 93.75 and (7 · 100 + 93.75)/8 = 99.21875.
    for (filter, expected) in [(BandwidthFilter::PerRoundTrip, 95_000.0), (BandwidthFilter::Linux, 99_218.75)] {
        let mut westwood = westwood(filter);
        steady(&mut westwood, &mut windows(10_000), 990);
        westwood.on_arrival(&mut windows(10_000), &arrival(1000, 10 * MSS)); // ends an interval of 100 ms
        westwood.on_arrival(&mut windows(10_000), &arrival(1200, MSS));
        assert!((westwood.bandwidth() - expected).abs() < 1e-6, "{filter:?} {}", westwood.bandwidth());
    }
}

#[test]
fn the_threshold_is_what_the_path_carries_in_the_shortest_round_trip() {
    let mut westwood = westwood(BandwidthFilter::PerRoundTrip);
    let mut windows = windows(40_000);
    assert_eq!(westwood.ssthresh_after(Cause::DuplicateAcks, &windows, 40_000, MSS), 2000); // nothing measured yet
    steady(&mut westwood, &mut windows, 1000);
    for cause in [Cause::DuplicateAcks, Cause::Timeout] {
        assert_eq!(westwood.ssthresh_after(cause, &windows, 40_000, MSS), 10_000); // 100 kB/s · 0.1 s
    }
}

#[test]
fn westwood_does_not_raise_the_window_and_westwood_plus_sets_it() {
    let of = |after_loss| Westwood::new(&WestwoodSettings { after_loss, ..WestwoodSettings::default() });
    assert_eq!(of(AfterLoss::LoweredOnly).window_after(6000, 10_000, MSS), 6000);
    assert_eq!(of(AfterLoss::LoweredOnly).window_after(16_000, 10_000, MSS), 10_000);
    assert_eq!(of(AfterLoss::Threshold).window_after(6000, 10_000, MSS), 10_000);
}

#[test]
fn a_pause_of_a_day_with_the_shortest_tau_takes_no_time() {
    // 86 400 s in virtual samples of half a nanosecond would be 2 · 10^14 of them.
    let filter = BandwidthFilter::PerAck(PerAckFilter { tau: Span::from_nanos(1) });
    let mut westwood = westwood(filter);
    for ms in [0, 100, 86_400_000] {
        westwood.on_arrival(&mut windows(10_000), &arrival(ms, MSS));
    }
    assert!(westwood.bandwidth().is_finite() && westwood.bandwidth() >= 0.0);
}
