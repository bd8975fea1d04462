//! The sender's rate by hand: segments of 1000 bytes, a round trip of 200 ms.

use super::*;

const RTT: Span = Span::from_millis(200);

fn at(ms: u64) -> Time {
    Time::from_millis(ms)
}

/// Feedback that arrives at `ms` for a packet sent a round trip before.
fn feedback(control: &mut RateControl, ms: u64, x_recv: f64, p: f64) {
    control.on_feedback(at(ms), Feedback { sent: at(ms - 200), delay: Span::ZERO, x_recv, p });
}

/// A sender whose rate holds packets back until the end.
fn greedy() -> RateControl {
    let mut control = RateControl::new(1000, Span::from_secs(64), false);
    control.on_sent(at(0));
    control.on_held_back(at(0), at(1_000_000));
    control
}

fn close(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < 1e-9
}

#[test]
fn it_starts_with_a_packet_per_second_and_then_the_initial_window_per_round_trip() {
    let mut control = greedy();
    assert_eq!((control.rate(), control.interval(1000)), (1000.0, Span::from_secs(1)));
    assert_eq!(control.nofeedback_at(), Some(at(2000)));
    feedback(&mut control, 200, 0.0, 0.0);
    // min(4 × 1000, max(2 × 1000, 4380)) = 4000 bytes per 200 ms
    assert!(close(control.rate(), 20_000.0));
    assert_eq!(control.rtt(), Some(RTT));
    assert_eq!(control.nofeedback_at(), Some(at(1000))); // max(4 R, 2 s/X) = 800 ms
}

#[test]
fn slow_start_doubles_once_per_round_trip_up_to_twice_what_is_received() {
    let mut control = greedy();
    feedback(&mut control, 200, 0.0, 0.0);
    feedback(&mut control, 300, 20_000.0, 0.0);
    assert!(close(control.rate(), 20_000.0));
    feedback(&mut control, 400, 20_000.0, 0.0);
    assert!(close(control.rate(), 40_000.0));
    // 25 000 came through: at most 50 000.
    feedback(&mut control, 900, 25_000.0, 0.0);
    assert!(close(control.rate(), 50_000.0), "{}", control.rate());
}

#[test]
fn with_losses_the_equation_rules() {
    let mut control = greedy();
    feedback(&mut control, 200, 0.0, 0.0);
    feedback(&mut control, 400, 1e6, 0.01);
    assert!(close(control.rate(), throughput(1000.0, 0.2, 0.01))); // 56 166 bytes/s
    // Twice what is received bounds it, once the values from before are two round trips old.
    feedback(&mut control, 1000, 10_000.0, 0.01);
    assert!(close(control.rate(), 20_000.0));
}

#[test]
fn the_round_trip_is_smoothed_by_a_tenth_and_the_receivers_delay_does_not_count() {
    let mut control = greedy();
    feedback(&mut control, 200, 0.0, 0.0);
    let later = Feedback { sent: at(0), delay: Span::from_millis(100), x_recv: 0.0, p: 0.0 };
    control.on_feedback(at(400), later);
    assert_eq!(control.rtt(), Some(Span::from_millis(210)));
}

#[test]
fn without_feedback_the_rate_halves_each_time() {
    let mut control = greedy();
    control.on_nofeedback(at(2000));
    assert_eq!(control.rate(), 500.0);
    assert_eq!(control.nofeedback_at(), Some(at(4000)));
    // After losses: X_Bps = 56 166, 20 000 received. X_Bps > 2 X_recv, so X_recv is halved and X = X_recv.
    let mut control = greedy();
    feedback(&mut control, 200, 0.0, 0.0);
    feedback(&mut control, 1000, 20_000.0, 0.01);
    assert!(close(control.rate(), 40_000.0));
    control.on_sent(at(1001));
    control.on_nofeedback(at(1800));
    assert!(close(control.rate(), 20_000.0));
    control.on_sent(at(1900));
    control.on_nofeedback(at(2600));
    assert!(close(control.rate(), 10_000.0));
}

#[test]
fn an_idle_sender_keeps_its_initial_rate() {
    let mut control = greedy();
    feedback(&mut control, 200, 0.0, 0.0);
    control.on_nofeedback(at(1000));
    assert!(close(control.rate(), 20_000.0)); // nothing was sent since the timer was set
    control.on_sent(at(1100));
    control.on_nofeedback(at(1800));
    assert!(close(control.rate(), 10_000.0));
}

#[test]
fn too_little_to_send_does_not_lower_the_limit() {
    // 4000 bytes/s are sent where 20 000 are allowed: the limit stays at twice the most ever received.
    let mut control = RateControl::new(1000, Span::from_secs(64), false);
    control.on_sent(at(0));
    feedback(&mut control, 200, 0.0, 0.0);
    feedback(&mut control, 1000, 20_000.0, 0.0);
    assert!(close(control.rate(), 40_000.0));
    feedback(&mut control, 2000, 4_000.0, 0.0);
    feedback(&mut control, 3000, 4_000.0, 0.0);
    assert!(close(control.rate(), 40_000.0));
    // A loss meanwhile halves what was received before: max(10 000, 0.85 × 4000), and no doubling of it.
    feedback(&mut control, 4000, 4_000.0, 0.001);
    assert!(close(control.rate(), 10_000.0));
}

#[test]
fn a_growing_round_trip_lowers_the_rate_of_the_moment() {
    let mut control = RateControl::new(1000, Span::from_secs(64), true);
    control.on_held_back(at(0), at(1_000_000));
    feedback(&mut control, 200, 0.0, 0.0);
    let longer = Feedback { sent: at(0), delay: Span::ZERO, x_recv: 1e9, p: 0.01 };
    control.on_feedback(at(800), longer);
    // R = 0.9 × 0.2 + 0.1 × 0.8 = 0.26; the square roots are 0.4472 and 0.8944, their mean 0.4919: 0.55 of X.
    assert!(close(control.rate(), 0.55 * throughput(1000.0, 0.26, 0.01)));
}

#[test]
fn what_is_received_limits_nothing_in_the_first_two_round_trips_whenever_they_are() {
    let mut control = RateControl::new(1000, Span::from_secs(64), false);
    control.on_sent(at(10_000));
    control.on_held_back(at(10_000), at(1_000_000));
    feedback(&mut control, 10_200, 0.0, 0.0);
    // 5000 bytes/s would allow 10 000, but X_recv_set still has its first member.
    feedback(&mut control, 10_400, 5000.0, 0.0);
    assert!(close(control.rate(), 40_000.0), "{}", control.rate());
    feedback(&mut control, 10_700, 15_000.0, 0.0);
    assert!(close(control.rate(), 30_000.0), "{}", control.rate());
}

#[test]
fn feedback_covers_the_round_trip_before_the_packet_it_answers() {
    let mut control = RateControl::new(1000, Span::from_secs(64), false);
    control.on_sent(at(0));
    feedback(&mut control, 200, 0.0, 0.0);
    control.on_held_back(at(1000), at(1001));
    // (850, 1050] and, after feedback that came early, (900, 1100] hold the instant; (1100, 1300] does not.
    assert_eq!([1050, 1100, 1300].map(|sent| control.was_data_limited(at(sent))), [false, false, true]);
}
