//! Rounds of Vegas with numbers worked out by hand.

use cellwind_engine::time::Time;

use super::*;

const MSS: u64 = 1000;

/// A sender whose window is always full, and a path of a given round trip.
struct Flow {
    vegas: Vegas,
    windows: Windows,
    snd_una: u64,
    snd_nxt: u64,
}

impl Flow {
    fn new(segments: u64, ssthresh: u64) -> Self {
        let windows = Windows { cwnd: segments * MSS, ssthresh };
        Flow { vegas: Vegas::new(&VegasSettings::default()), windows, snd_una: 1, snd_nxt: 1 + segments * MSS }
    }

    /// The window is acknowledged segment by segment, each after `rtt_ms`, and filled again.
    fn round(&mut self, rtt_ms: u64) -> u64 {
        for _ in 0..(self.snd_nxt - self.snd_una) / MSS {
            self.snd_una += MSS;
            let ack = NewAck {
                now: Time::ZERO,
                acked: MSS,
                mss: MSS,
                flight: self.snd_nxt + MSS - self.snd_una,
                snd_una: self.snd_una,
                snd_nxt: self.snd_nxt,
                rtt: Some(Span::from_millis(rtt_ms)),
                srtt: None,
                min_rtt: None,
            };
            self.vegas.advance(&mut self.windows, &ack);
            let window = self.windows.cwnd / MSS * MSS;
            self.snd_nxt = self.snd_nxt.max(self.snd_una + window);
        }
        self.windows.cwnd
    }
}

#[test]
fn slow_start_doubles_every_other_round() {
    let mut flow = Flow::new(2, u64::MAX);
    let windows: Vec<u64> = (0..6).map(|_| flow.round(100) / MSS).collect();
    assert_eq!(windows, [2, 4, 4, 8, 8, 16]);
}

#[test]
fn a_queue_of_more_than_gamma_ends_slow_start_an_eighth_lower() {
    let mut flow = Flow::new(16, u64::MAX);
    flow.round(100);
    // Base 100 ms, round 120 ms: Diff = 16 (1 − 100/120) = 2.67, rounded 3, above γ = 1. The first ACK of the growing round
    // judges: 16 − 2 = 14 segments.
    flow.vegas.rtt_sum = Span::from_millis(120) * u64::from(flow.vegas.rtt_count);
    assert_eq!(flow.round(120), 14_000);
    assert_eq!(flow.windows.ssthresh, 2000);
}

#[test]
fn avoidance_keeps_between_alpha_and_beta_segments_in_queues() {
    // A window of 10 and a base of 100 ms: Diff = 10 (1 − 100/RTT): 0 at 100 ms, 1.67 (2) at 120 ms, 3.75 (4) at 160 ms.
    for (rtt, expected) in [(100, 11_000), (120, 10_000), (160, 9000)] {
        let mut flow = Flow::new(10, 2000);
        flow.vegas.base_rtt = Some(Span::from_millis(100));
        flow.vegas.rtt_sum = Span::from_millis(rtt);
        flow.vegas.rtt_count = 1;
        assert_eq!(flow.round(rtt), expected, "{rtt} ms");
    }
}

#[test]
fn a_segment_alone_on_its_way_tells_a_longer_base() {
    let mut flow = Flow::new(10, 2000);
    flow.round(100);
    assert_eq!(flow.vegas.base_rtt, Some(Span::from_millis(100)));
    flow.round(200);
    assert_eq!(flow.vegas.base_rtt, Some(Span::from_millis(100)));
    (flow.windows.cwnd, flow.snd_nxt) = (MSS, flow.snd_una + MSS);
    flow.vegas.begin = flow.snd_una;
    (flow.vegas.rtt_sum, flow.vegas.rtt_count) = (Span::from_millis(200), 1);
    flow.round(200);
    assert_eq!(flow.vegas.base_rtt, Some(Span::from_millis(200)));
}

#[test]
fn a_loss_takes_a_quarter_or_half_when_it_happens_again() {
    let mut vegas = Vegas::new(&VegasSettings::default());
    let windows = Windows { cwnd: 10_000, ssthresh: u64::MAX };
    assert_eq!(vegas.ssthresh_after(Cause::DuplicateAcks, &windows, 10_000, MSS), 2000);
    assert_eq!(
        [3000, 4000, 10_000, 11_500].map(|before| vegas.window_after(before, 2000, MSS)),
        [2000, 3000, 8000, 9000]
    );
    vegas.ssthresh_after(Cause::LostAgain, &windows, 10_000, MSS);
    assert_eq!(vegas.window_after(10_000, 2000, MSS), 5000);
    assert_eq!(vegas.ssthresh_after(Cause::Timeout, &windows, 10_000, MSS), 5000);
}

#[test]
fn the_window_waits_for_a_sender_that_does_not_keep_up() {
    let mut vegas = Vegas::new(&VegasSettings::default());
    vegas.growth = Growth::Share { window: 5000 };
    let ack = |in_flight: u64| NewAck {
        snd_una: 1,
        snd_nxt: 1 + in_flight,
        ..super::super::testing::ack(Time::ZERO, &Windows { cwnd: 0, ssthresh: 0 })
    };
    let mut windows = Windows { cwnd: 5000, ssthresh: 2000 };
    vegas.grow(&mut windows, &ack(1000)); // 5 − 2 segments unused
    assert_eq!(windows.cwnd, 5000);
    vegas.grow(&mut windows, &ack(2000));
    assert_eq!(windows.cwnd, 5200);
}
