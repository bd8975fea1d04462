//! HyStart: slow start ends when the round trip grows, or when a round's ACKs arrive over half of the shortest round
//! trip, because the window then fills the path.
//!
//! Ha and Rhee, "Taming the elephants: New TCP slow start" (Computer Networks, 2011), with the thresholds of Linux
//! (net/ipv4/tcp_cubic.c, version 2.3), which go back to measurements and not to the paper.

use cellwind_engine::time::{Span, Time};

use crate::tcp::congestion::NewAck;

/// Segments of window below which nothing is judged (`hystart_low_window`).
const LEAST_WINDOW: u64 = 16;
/// Samples that a round must have given before its shortest round trip is judged (`HYSTART_MIN_SAMPLES`).
const LEAST_SAMPLES: u32 = 8;
/// Bounds of the increase that is taken for a queue, an eighth of the shortest round trip (`HYSTART_DELAY_THRESH`).
const LEAST_INCREASE: Span = Span::from_millis(4);
const MOST_INCREASE: Span = Span::from_millis(16);
/// The longest pause between ACKs of one train (`hystart_ack_delta_us`).
const MOST_PAUSE: Span = Span::from_millis(2);
/// What Linux adds to the shortest round trip for segments that are sent and received in bundles, below 2 Gbit/s
/// (`hystart_ack_delay`).
const BUNDLING: Span = Span::from_millis(1);

#[derive(Clone, Debug, Default)]
pub struct Hystart {
    round: Option<Round>,
}

/// The ACKs of one window.
#[derive(Clone, Copy, Debug)]
struct Round {
    /// SND.NXT at its start: an ACK above ends it.
    end: u64,
    start: Time,
    /// The last ACK of the train that began with the round.
    train: Time,
    shortest: Span,
    samples: u32,
}

impl Round {
    fn new(now: Time, snd_nxt: u64) -> Self {
        Round { end: snd_nxt, start: now, train: now, shortest: Span::MAX, samples: 0 }
    }
}

impl Hystart {
    /// Whether this ACK shows that slow start is over.
    pub fn is_over(&mut self, cwnd: u64, ack: &NewAck) -> bool {
        let (Some(round), Some(rtt), Some(min_rtt)) = (&mut self.round, ack.rtt, ack.min_rtt) else { return false };
        if cwnd < LEAST_WINDOW * ack.mss {
            return false;
        }
        let mut is_over = false;
        if ack.now - round.train <= MOST_PAUSE {
            round.train = ack.now;
            is_over = ack.now - round.start > (min_rtt + BUNDLING) / 2;
        }
        round.shortest = round.shortest.min(rtt);
        if round.samples < LEAST_SAMPLES {
            round.samples += 1;
        } else {
            is_over |= round.shortest > min_rtt + (min_rtt / 8).clamp(LEAST_INCREASE, MOST_INCREASE);
        }
        is_over
    }

    /// Begins a round when this ACK has ended one.
    pub fn begin_round(&mut self, ack: &NewAck) {
        if self.round.is_none_or(|round| ack.snd_una > round.end) {
            self.round = Some(Round::new(ack.now, ack.snd_nxt));
        }
    }

    /// Begins again after a timeout.
    pub fn restart(&mut self, now: Time, snd_nxt: u64) {
        self.round = Some(Round::new(now, snd_nxt));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::Windows;
    use crate::tcp::congestion::testing;

    const MIN_RTT: Span = Span::from_millis(100);

    fn at(ms: u64, rtt_ms: u64) -> NewAck {
        let windows = Windows { cwnd: 20_000, ssthresh: u64::MAX };
        let rtt = Some(Span::from_millis(rtt_ms));
        NewAck { rtt, min_rtt: Some(MIN_RTT), ..testing::ack(Time::from_millis(ms), &windows) }
    }

    /// HyStart at the start of a round at 0.
    fn begun() -> Hystart {
        let mut hystart = Hystart::default();
        hystart.begin_round(&at(0, 100));
        hystart
    }

    #[test]
    fn a_round_trip_longer_by_an_eighth_ends_slow_start_at_the_ninth_sample() {
        // 100 ms / 8 = 12.5 ms lies between 4 and 16 ms. The ACKs are 10 ms apart, no train.
        let ended = |rtt_ms: u64| {
            let mut hystart = begun();
            (1..40).find(|n| hystart.is_over(20_000, &at(10 * n, rtt_ms)))
        };
        assert_eq!(ended(112), None);
        assert_eq!(ended(113), Some(9));
    }

    #[test]
    fn one_short_round_trip_vouches_for_its_round() {
        let mut hystart = begun();
        assert!(!hystart.is_over(20_000, &at(10, 105)));
        assert!((2..40).all(|n| !hystart.is_over(20_000, &at(10 * n, 150))));
        // The next round is judged by itself.
        hystart.begin_round(&NewAck { snd_una: 30_000, ..at(400, 150) });
        assert!((41..49).all(|n| !hystart.is_over(20_000, &at(10 * n, 150))));
        assert!(hystart.is_over(20_000, &at(490, 150)));
    }

    #[test]
    fn a_train_of_acks_longer_than_half_the_round_trip_ends_slow_start() {
        // (100 ms + 1 ms) / 2 = 50.5 ms
        let mut hystart = begun();
        assert_eq!((1..100).find(|&ms| hystart.is_over(20_000, &at(ms, 100))), Some(51));
        // A pause above 2 ms breaks the train.
        let mut hystart = begun();
        assert!((1..20).all(|ms| !hystart.is_over(20_000, &at(ms, 100))));
        assert!((23..200).all(|ms| !hystart.is_over(20_000, &at(ms, 100))));
    }

    #[test]
    fn a_window_below_sixteen_segments_is_not_judged() {
        let mut hystart = begun();
        assert!((1..100).all(|ms| !hystart.is_over(15_999, &at(ms, 200))));
    }
}
