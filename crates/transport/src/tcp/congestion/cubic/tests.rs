//! CUBIC alone, against the closed formulas of RFC 9438.

use super::super::testing;
use super::*;

const MSS: f64 = 1000.0;

/// A window that is acknowledged segment by segment, evenly over each round trip.
struct Flow {
    cubic: Cubic,
    windows: Windows,
    now: Time,
    rtt: Span,
    acked: u64,
}

impl Flow {
    fn new(settings: CubicSettings, segments: u64, rtt_ms: u64) -> Self {
        let windows = Windows { cwnd: segments * 1000, ssthresh: segments * 1000 };
        Flow { cubic: Cubic::new(&settings), windows, now: Time::ZERO, rtt: Span::from_millis(rtt_ms), acked: 0 }
    }

    fn ack(&self) -> NewAck {
        NewAck { srtt: Some(self.rtt), min_rtt: Some(self.rtt), ..testing::ack(self.now, &self.windows) }
    }

    fn step(&mut self) {
        self.now += self.rtt * 1000 / self.windows.cwnd;
        let ack = self.ack();
        self.cubic.on_ack(&mut self.windows, &ack);
        self.acked += 1;
    }

    fn until(&mut self, ms: u64) {
        while self.now < Time::from_millis(ms) {
            self.step();
        }
    }

    fn lose(&mut self) {
        self.windows.ssthresh = self.cubic.ssthresh_after(Cause::DuplicateAcks, &self.windows, self.windows.cwnd, 1000);
        self.windows.cwnd = self.windows.ssthresh;
    }

    fn segments(&self) -> f64 {
        self.windows.cwnd as f64 / MSS
    }

    fn stage(&self) -> Stage {
        self.cubic.stage.expect("congestion avoidance has begun")
    }

    /// The mean window when each `1 / p`-th segment is lost, once that has settled.
    fn mean_with_loss(mut self, p: f64) -> f64 {
        let between = (1.0 / p) as u64;
        let lose_after = |times: u64, flow: &mut Flow| {
            for _ in 0..times {
                (0..between).for_each(|_| flow.step());
                flow.lose();
            }
        };
        self.lose();
        lose_after(20, &mut self);
        let (start, before) = (self.now, self.acked);
        lose_after(5, &mut self);
        (self.acked - before) as f64 * self.rtt.as_secs_f64() / (self.now - start).as_secs_f64()
    }
}

fn close(value: f64, expected: f64, share: f64) {
    assert!((value / expected - 1.0).abs() <= share, "{value} instead of {expected}");
}

#[test]
fn the_cube_root_is_that_of_the_standard_library() {
    for x in [0.0, 1e-9, 0.3, 1.0, 75.0, 1e6, 7.5e11] {
        assert!((cube_root(x) - f64::cbrt(x)).abs() <= 1e-14 * f64::cbrt(x), "{x}");
    }
}

#[test]
fn a_loss_leaves_seven_tenths_and_two_segments_at_least() {
    let mut flow = Flow::new(CubicSettings::default(), 100, 100);
    assert_eq!(flow.cubic.ssthresh_after(Cause::DuplicateAcks, &flow.windows, 50_000, 1000), 35_000);
    assert_eq!(flow.cubic.ssthresh_after(Cause::DuplicateAcks, &flow.windows, 2000, 1000), 2000);
    let window = CubicSettings { decrease: crate::tcp::settings::Decrease::Window, ..CubicSettings::default() };
    flow.windows.cwnd = 99_000;
    assert_eq!(Cubic::new(&window).ssthresh_after(Cause::DuplicateAcks, &flow.windows, 50_000, 1000), 69_000); // 69.3, whole segments
}

#[test]
fn the_window_follows_the_cubic_function_through_its_plateau() {
    // §4.2: W_max 200, cwnd_epoch 140, K = (60 / 0.4)^(1/3) = 5.313 s.
    let mut flow = Flow::new(CubicSettings::default(), 200, 100);
    flow.lose();
    flow.step();
    let k = flow.stage().k;
    assert!((k - 5.3133).abs() < 1e-4, "{k}");
    for ms in [1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000] {
        flow.until(ms);
        let offset = ms as f64 / 1000.0 - k;
        // The window lags behind a target one round trip ahead by about that round trip.
        close(flow.segments(), 0.4 * offset * offset * offset + 200.0, 0.005);
    }
}

#[test]
fn the_mean_window_under_regular_loss_is_that_of_the_document() {
    // §5.1, tables 1 and 2: segments for round trips of 100 and 10 ms, a loss rate and C. The rounded values follow from
    // (C (3+β) / (4 (1−β)))^(1/4) RTT^(3/4) / p^(3/4) and, in the Reno-friendly region, from (3 / 2p)^(1/2). Rows are left
    // out in which the two come close: a flow then takes the better of both at each instant.
    let table = [
        (100, 1e-2, 0.4, 12.0),
        (100, 1e-4, 0.4, 187.0),
        (100, 1e-5, 0.4, 1054.0),
        (100, 1e-4, 4.0, 333.0),
        (100, 1e-5, 0.04, 593.0),
        (10, 1e-3, 0.4, 38.0),
        (10, 1e-4, 0.4, 120.0),
        (10, 1e-5, 0.4, 379.0),
    ];
    for (rtt_ms, p, c, expected) in table {
        // A flow alone, as the formula has it, does not give way (§4.7).
        let reno_friendly = RenoFriendly::Constant;
        let settings = CubicSettings { c, reno_friendly, fast_convergence: false, ..CubicSettings::default() };
        // On its plateau the window moves so slowly that it has to start near its rest: the mean is this share of W_max.
        let w_max = expected / (1.0 - (1.0 - settings.beta) / 4.0);
        let mean = Flow::new(settings, w_max as u64, rtt_ms).mean_with_loss(p);
        close(mean, expected, 0.05);
    }
}

#[test]
fn renos_estimate_grows_by_a_whole_segment_once_the_loss_is_made_good() {
    // §4.3: 9/17 of a segment a round trip up to cwnd_prior, one from there on. A C of 0.001 keeps the cubic function
    // out of the way.
    for (reno_friendly, slope) in [(RenoFriendly::Raised, 1.0), (RenoFriendly::Constant, 9.0 / 17.0)] {
        let mut flow = Flow::new(CubicSettings { c: 0.001, reno_friendly, ..CubicSettings::default() }, 20, 10);
        flow.lose();
        let mut slopes = Vec::new();
        for round in 1..=30 {
            let before = flow.segments();
            flow.until(10 * round);
            slopes.push(flow.segments() - before);
        }
        close(slopes[5], 9.0 / 17.0, 0.1); // 14 segments after the loss, 20 after eleven round trips
        close(slopes[25], slope, 0.1);
    }
}

#[test]
fn fast_convergence_forgets_part_of_a_maximum_that_was_not_regained() {
    // §4.7: 0.85 of the window at a second loss below the first maximum.
    let mut flow = Flow::new(CubicSettings::default(), 100, 100);
    flow.lose();
    flow.windows.cwnd = 80_000;
    flow.lose();
    assert_eq!(flow.cubic.w_max, Some(68.0));
    flow.windows.cwnd = 90_000;
    flow.lose();
    assert_eq!(flow.cubic.w_max, Some(90.0));
    let mut steady = Flow::new(CubicSettings { fast_convergence: false, ..CubicSettings::default() }, 100, 100);
    steady.lose();
    steady.windows.cwnd = 80_000;
    steady.lose();
    assert_eq!(steady.cubic.w_max, Some(80.0));
}

#[test]
fn after_a_timeout_the_window_starts_at_the_point_of_inflection() {
    // §4.8: K is 0 and W_max the window at the beginning of the stage.
    let mut flow = Flow::new(CubicSettings::default(), 100, 100);
    flow.lose();
    flow.step();
    flow.lose();
    flow.cubic.on_timeout(&mut flow.windows, 1000);
    flow.windows.cwnd = 49_000;
    flow.step();
    let stage = flow.stage();
    assert_eq!((stage.k, stage.w_max, flow.cubic.w_max), (0.0, 49.0, None));
    // The same without any loss before (§4.10), where cwnd_prior is that window, too.
    let mut fresh = Flow::new(CubicSettings::default(), 30, 100);
    fresh.step();
    assert_eq!((fresh.stage().k, fresh.stage().w_max, fresh.cubic.cwnd_prior), (0.0, 30.0, Some(30.0)));
}

#[test]
fn growth_before_the_first_loss_has_a_floor_where_one_is_set() {
    // 5 % a round trip, compounded with each ACK: 100 to 164.9 segments in ten; the cubic function alone adds 0.4.
    let mut flow = Flow::new(CubicSettings { growth_before_loss: 0.05, ..CubicSettings::default() }, 100, 100);
    flow.until(1000);
    close(flow.segments(), 100.0 * f64::exp(0.5), 0.01);
    flow.lose();
    let after = flow.segments();
    flow.until(1100);
    assert!(flow.segments() < 1.04 * after);
}

#[test]
fn time_in_which_the_window_was_not_used_does_not_count() {
    // §5.8: the window stays where it is, and goes on along the curve from there.
    let mut flow = Flow::new(CubicSettings::default(), 200, 100);
    flow.lose();
    flow.until(2000);
    let before = flow.segments();
    flow.cubic.on_ack_while_not_limiting();
    flow.now += Span::from_secs(60);
    flow.step();
    close(flow.segments(), before, 0.002);
    flow.until(63_000);
    let offset = 3.0 - flow.stage().k;
    close(flow.segments(), 0.4 * offset * offset * offset + 200.0, 0.005);
}

#[test]
fn growth_is_half_a_window_per_round_trip_at_most() {
    // §4.2: far behind the curve, the target is 1.5 times the window.
    let mut flow = Flow::new(CubicSettings::default(), 10_000, 1000);
    flow.lose();
    flow.windows.cwnd = 100_000;
    flow.until(1000);
    assert!(flow.segments() < 100.0 * 1.7, "{}", flow.segments()); // e^0.5 when spread over the round trip
}

#[test]
fn a_reduction_undone_leaves_the_curve_of_before() {
    let mut flow = Flow::new(CubicSettings::default(), 100, 100);
    flow.lose();
    flow.until(300);
    let before = flow.cubic;
    flow.cubic.ssthresh_after(Cause::Timeout, &flow.windows, flow.windows.cwnd, 1000);
    flow.cubic.on_timeout(&mut flow.windows, 1000);
    assert!(flow.cubic.stage.is_none());
    flow.cubic.undo(); // §4.9.1
    assert_eq!((flow.cubic.w_max, flow.cubic.cwnd_prior), (before.w_max, before.cwnd_prior));
    assert_eq!(flow.cubic.stage.map(|stage| (stage.epoch, stage.k)), before.stage.map(|stage| (stage.epoch, stage.k)));
}

#[test]
fn a_pause_of_the_application_does_not_count_either() {
    // RFC 5681 §4.1 has left a small window: it climbs to the point of inflection along a curve that begins there.
    let mut flow = Flow::new(CubicSettings::default(), 200, 100);
    flow.lose();
    flow.until(2000);
    flow.windows.cwnd = 140_000;
    flow.cubic.on_restart_from_idle(&mut flow.windows, flow.now + Span::from_secs(60));
    flow.now += Span::from_secs(60);
    flow.step();
    close(flow.segments(), 140.0, 0.005);
    flow.until(63_000);
    close(flow.segments(), 167.9, 0.005); // K = (60/0.4)^(1/3) = 5.313 s: 0.4 (1 − 5.313)³ + 200
}
