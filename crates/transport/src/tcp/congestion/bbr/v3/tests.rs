//! The state machine against a path of 1 Mbyte/s and 100 ms; names as in the draft's list of example test cases.

use super::super::testing::{BDP, MSS, Path, RATE, RTT};
use super::*;

fn bbr() -> V3 {
    V3::new(Stream::new(1, 0, "bbr"))
}

/// A flow that has filled the pipe and drained it.
fn steady() -> (V3, Path) {
    let mut bbr = bbr();
    let mut path = Path::new(&mut bbr);
    (0..5).for_each(|_| path.round(&mut bbr, RATE, 2 * BDP));
    path.round(&mut bbr, RATE, BDP / 2);
    assert!(matches!(bbr.state, State::ProbeBw(_)), "{:?}", bbr.state);
    (bbr, path)
}

/// ACKs at the bandwidth until the phase is `wanted`.
fn until(bbr: &mut V3, path: &mut Path, wanted: Phase) {
    path.in_flight = BDP;
    for _ in 0..800 {
        if matches!(bbr.state, State::ProbeBw(phase) if phase == wanted) {
            return;
        }
        path.step_with(bbr, RATE, |_| {});
    }
    panic!("no {wanted:?} within 80 round trips: {:?}", bbr.state);
}

fn loss(path: &Path, number: u64, lost: u64, tx_in_flight: u64) -> Loss {
    let start = 1_000_000_000 + 2 * number * MSS;
    let (end, total_delivered, now) = (start + MSS, path.delivered, path.now);
    Loss { start, end, tx_in_flight, lost, is_app_limited: false, total_delivered, now }
}

#[test]
fn gains_are_those_of_the_table() {
    let mut bbr = bbr();
    Path::new(&mut bbr);
    assert!((bbr.pace().unwrap().rate - 277_000.0).abs() < 1.0); // 2.77 · 10 segments / 100 ms
    assert_eq!((bbr.pacing_gain(), bbr.window_gain()), (2.77, 2.0));
    bbr.state = State::Drain { since_round: 0 };
    assert_eq!((bbr.pacing_gain(), bbr.window_gain()), (0.5, 2.0));
    for (phase, gains) in
        [(Phase::Down, (0.9, 2.0)), (Phase::Cruise, (1.0, 2.0)), (Phase::Refill, (1.0, 2.0)), (Phase::Up, (1.25, 2.25))]
    {
        bbr.state = State::ProbeBw(phase);
        assert_eq!((bbr.pacing_gain(), bbr.window_gain()), gains);
    }
    bbr.state = State::ProbeRtt(ProbeRtt::default());
    assert_eq!((bbr.pacing_gain(), bbr.window_gain()), (1.0, 0.5));
}

#[test]
fn startup_exits_on_a_bandwidth_plateau_and_drain_on_inflight() {
    let mut bbr = bbr();
    let mut path = Path::new(&mut bbr);
    for rate in [1e5, 2e5, 4e5, 8e5, 1e6] {
        path.round(&mut bbr, rate, BDP);
        assert!(matches!(bbr.state, State::Startup));
    }
    (0..3).for_each(|_| path.round(&mut bbr, 1e6, 2 * BDP));
    assert!(matches!(bbr.state, State::Drain { .. }), "{:?}", bbr.state);
    assert!((bbr.pace().unwrap().rate - 0.5 * 0.99e6).abs() < 1.0);
    path.round(&mut bbr, 1e6, BDP);
    assert!(matches!(bbr.state, State::ProbeBw(_)));
}

#[test]
fn drain_exits_after_three_rounds_though_the_queue_stands() {
    let mut bbr = bbr();
    let mut path = Path::new(&mut bbr);
    let mut rounds_in_drain = 0;
    for _ in 0..20 {
        path.round(&mut bbr, RATE, 2 * BDP);
        rounds_in_drain += u32::from(matches!(bbr.state, State::Drain { .. }));
    }
    assert_eq!(rounds_in_drain, 4); // more than three rounds after the one in which it began
    assert!(matches!(bbr.state, State::ProbeBw(_)));
}

#[test]
fn startup_exits_on_loss_when_application_limited() {
    let mut bbr = bbr();
    let mut path = Path::new(&mut bbr);
    (0..3).for_each(|_| path.round(&mut bbr, RATE, BDP));
    bbr.ssthresh_after(Cause::DuplicateAcks, &path.windows, 0, MSS);
    for round in 0..3 {
        (0..6).for_each(|n| bbr.on_lost(&path.windows, &loss(&path, 10 * round + n, 3000, BDP)));
        for _ in 0..10 {
            path.step_with(&mut bbr, RATE, |sample| {
                (sample.in_recovery, sample.is_app_limited, sample.lost) = (true, true, 6000);
            });
        }
    }
    assert!(bbr.pipe_was_full && !matches!(bbr.state, State::Startup), "{:?}", bbr.state);
    assert!(bbr.long_term.inflight.unwrap() >= BDP);
}

#[test]
fn the_cycle_goes_down_cruise_refill_up() {
    let (mut bbr, mut path) = steady();
    until(&mut bbr, &mut path, Phase::Cruise);
    let cruising = path.now;
    until(&mut bbr, &mut path, Phase::Refill);
    // Two to three seconds after it went down, or 62 to 63 rounds.
    assert!(path.now - cruising > Span::from_millis(1500) && path.now - cruising < Span::from_millis(3200));
    until(&mut bbr, &mut path, Phase::Up);
    let up = path.now;
    until(&mut bbr, &mut path, Phase::Down);
    // Three rounds without growth after the one that the probe began in.
    assert!(path.now - up <= Span::from_millis(500), "{}", path.now - up);
}

#[test]
fn too_much_loss_in_a_probe_bounds_what_is_in_flight_and_ends_it() {
    let (mut bbr, mut path) = steady();
    until(&mut bbr, &mut path, Phase::Up);
    path.round(&mut bbr, RATE, BDP);
    assert!(matches!(bbr.state, State::ProbeBw(Phase::Up)));
    // 2 % of 120 segments are 2.4: the third loss crosses it.
    let tx = 120 * MSS;
    (1..=2).for_each(|n| bbr.on_lost(&path.windows, &loss(&path, n, n * MSS, tx)));
    assert_eq!(bbr.long_term.inflight, None);
    bbr.on_lost(&path.windows, &loss(&path, 3, 3 * MSS, tx));
    assert!(matches!(bbr.state, State::ProbeBw(Phase::Down)));
    // Before the third 119 segments and two losses: (0.02 · 119 − 2) / 0.98 = 0.388 segments more.
    assert_eq!(bbr.long_term.inflight, Some(119_387));
    // The next samples leave 15 % of that free while cruising.
    until(&mut bbr, &mut path, Phase::Cruise);
    path.round(&mut bbr, RATE, BDP / 2);
    assert!(path.windows.cwnd <= 101_480, "{}", path.windows.cwnd);
}

#[test]
fn losses_while_cruising_slow_down_to_what_is_delivered() {
    let (mut bbr, mut path) = steady();
    until(&mut bbr, &mut path, Phase::Cruise);
    bbr.on_lost(&path.windows, &loss(&path, 1, MSS, BDP));
    (0..2).for_each(|_| path.round(&mut bbr, 0.9 * RATE, BDP));
    assert_eq!(bbr.short_term.bandwidth, Some(RATE)); // the round in which the loss was found still delivered that
    bbr.on_lost(&path.windows, &loss(&path, 2, MSS, BDP));
    (0..2).for_each(|_| path.round(&mut bbr, 0.9 * RATE, BDP));
    assert_eq!((bbr.short_term.bandwidth, bbr.bandwidth), (Some(0.9 * RATE), 0.9 * RATE));
    until(&mut bbr, &mut path, Phase::Refill);
    assert_eq!(bbr.short_term.bandwidth, None);
}

#[test]
fn probe_rtt_comes_after_ten_seconds_with_half_the_product() {
    let (mut bbr, mut path) = steady();
    path.rtt = Span::from_millis(120);
    while !matches!(bbr.state, State::ProbeRtt(_)) {
        path.round(&mut bbr, RATE, BDP);
    }
    assert!(path.now > Time::from_secs(10) && path.now < Time::from_millis(10_900), "{}", path.now);
    assert_eq!(path.windows.cwnd, BDP / 2); // of the round trip before it expired
    path.rtt = RTT;
    while matches!(bbr.state, State::ProbeRtt(_)) {
        path.round(&mut bbr, RATE / 2.0, BDP / 2);
    }
    assert!(matches!(bbr.state, State::ProbeBw(Phase::Cruise)));
    assert_eq!(bbr.min_rtt.value, Some(RTT));
}

#[test]
fn a_loss_that_was_none_brings_the_probe_back() {
    let (mut bbr, mut path) = steady();
    until(&mut bbr, &mut path, Phase::Up);
    path.round(&mut bbr, RATE, BDP);
    (1..=3).for_each(|n| bbr.on_lost(&path.windows, &loss(&path, n, n * MSS, 120 * MSS)));
    assert!(matches!(bbr.state, State::ProbeBw(Phase::Down)));
    bbr.undo();
    assert!(matches!(bbr.state, State::ProbeBw(Phase::Refill)));
    assert_eq!(bbr.long_term.inflight, None);
}
