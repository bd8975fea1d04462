//! The state machine against a path of 1 Mbyte/s and 100 ms.

use super::super::testing::{BDP, MSS, Path, RATE, RTT};
use super::*;

fn bbr() -> V1 {
    V1::new(Stream::new(1, 0, "bbr"))
}

/// A flow that has filled the pipe and drained it.
fn steady() -> (V1, Path) {
    let mut bbr = bbr();
    let mut path = Path::new(&mut bbr);
    (0..5).for_each(|_| path.round(&mut bbr, RATE, 2 * BDP));
    path.round(&mut bbr, RATE, BDP / 2);
    assert!(matches!(bbr.state, State::ProbeBw(_)), "{:?}", bbr.state);
    (bbr, path)
}

#[test]
fn the_first_pace_is_two_over_ln_two_times_the_first_window_per_round_trip() {
    let mut bbr = bbr();
    Path::new(&mut bbr);
    let pace = bbr.pace().unwrap();
    assert!((pace.rate - 288_539.0).abs() < 1.0, "{}", pace.rate); // 2.88539 · 10 segments / 100 ms
    assert_eq!(pace.quantum, 2 * MSS); // 2.3 Mbit/s
}

#[test]
fn startup_ends_three_rounds_after_the_bandwidth_stops_growing_and_drain_when_the_queue_is_gone() {
    let mut bbr = bbr();
    let mut path = Path::new(&mut bbr);
    for rate in [1e5, 2e5, 4e5, 8e5, 1e6] {
        path.round(&mut bbr, rate, BDP);
        assert!(matches!(bbr.state, State::Startup));
    }
    (0..3).for_each(|_| path.round(&mut bbr, 1e6, 2 * BDP));
    assert!(matches!(bbr.state, State::Drain), "{:?}", bbr.state);
    assert!((bbr.pace().unwrap().rate - 1e6 / HIGH_GAIN).abs() < 1.0);
    path.round(&mut bbr, 1e6, BDP);
    assert!(matches!(bbr.state, State::ProbeBw(_)));
}

#[test]
fn a_cycle_takes_eight_round_trips_of_which_one_probes_and_one_drains() {
    let (mut bbr, mut path) = steady();
    let mut gains = Vec::new();
    for _ in 0..200 {
        path.in_flight = bbr.inflight(bbr.pacing_gain()); // as much as the gain asks for
        path.step_with(&mut bbr, RATE, |_| {});
        gains.push(bbr.pacing_gain());
    }
    let share = |gain: f64| gains.iter().filter(|&&g| g == gain).count();
    assert!((18..=36).contains(&share(1.25)), "{}", share(1.25)); // 200 samples: 20 round trips, 2 or 3 cycles
    assert!((140..=180).contains(&share(1.0)), "{}", share(1.0));
    assert!(share(0.75) <= 36);
}

#[test]
fn the_window_is_twice_the_product_and_three_quanta() {
    let (bbr, path) = steady();
    assert_eq!(bbr.send_quantum, 2 * MSS); // 8 Mbit/s
    assert_eq!(path.windows.cwnd, 2 * BDP + 6 * MSS);
}

#[test]
fn probe_rtt_comes_after_ten_seconds_and_holds_four_segments_for_200_ms() {
    let (mut bbr, mut path) = steady();
    let mut entered = None;
    path.rtt = Span::from_millis(120);
    while entered.is_none() {
        path.round(&mut bbr, RATE, BDP);
        entered = matches!(bbr.state, State::ProbeRtt(_)).then_some(path.now);
    }
    assert!(
        entered.unwrap() > Time::from_millis(10_600) && entered.unwrap() < Time::from_millis(10_900),
        "{entered:?}"
    );
    assert_eq!(path.windows.cwnd, 4 * MSS);
    path.rtt = RTT;
    let begun = path.now;
    while matches!(bbr.state, State::ProbeRtt(_)) {
        path.round(&mut bbr, RATE / 25.0, 4 * MSS);
    }
    let lasted = path.now - begun;
    assert!(lasted > Span::from_millis(200) && lasted <= Span::from_millis(400), "{lasted}");
    assert_eq!(bbr.min_rtt.value, Some(RTT));
    assert!(path.windows.cwnd > BDP); // the window of before is back
}

#[test]
fn the_bandwidth_is_forgotten_after_ten_rounds() {
    let (mut bbr, mut path) = steady();
    (0..9).for_each(|_| path.round(&mut bbr, RATE / 2.0, BDP));
    assert_eq!(bbr.bandwidth.get(), RATE);
    (0..3).for_each(|_| path.round(&mut bbr, RATE / 2.0, BDP));
    assert_eq!(bbr.bandwidth.get(), RATE / 2.0);
}

#[test]
fn recovery_conserves_packets_for_a_round_and_gives_the_window_back() {
    let (mut bbr, mut path) = steady();
    let before = path.windows.cwnd;
    path.in_flight = BDP;
    path.step_with(&mut bbr, RATE, |_| {});
    bbr.ssthresh_after(Cause::DuplicateAcks, &path.windows, 0, MSS);
    path.windows.cwnd = bbr.window_after(before, 0, MSS);
    assert_eq!(path.windows.cwnd, BDP + 10 * MSS); // an ACK here covers ten segments
    (0..9).for_each(|_| path.step_with(&mut bbr, RATE, |sample| sample.in_recovery = true));
    assert_eq!(path.windows.cwnd, BDP + 10 * MSS);
    path.step_with(&mut bbr, RATE, |_| {});
    assert_eq!(path.windows.cwnd, before);
}
