//! HyStart++ (RFC 9406): when the round trip grows, the window grows more slowly for up to five rounds, and then no more
//! by slow start; a round trip that shrinks again shows that it was too early.

use cellwind_engine::time::Span;

use crate::tcp::congestion::NewAck;

// RFC 9406 §4.3, the recommended values
const MIN_RTT_THRESH: Span = Span::from_millis(4);
const MAX_RTT_THRESH: Span = Span::from_millis(16);
const MIN_RTT_DIVISOR: u64 = 8;
const N_RTT_SAMPLE: u32 = 8;
const CSS_GROWTH_DIVISOR: u64 = 4;
const CSS_ROUNDS: u32 = 5;

/// The names are those of RFC 9406 §4.2; what is infinite there, is none here.
#[derive(Clone, Debug, Default)]
pub struct HystartPlusPlus {
    window_end: Option<u64>,
    last_round_min_rtt: Option<Span>,
    current_round_min_rtt: Option<Span>,
    rtt_sample_count: u32,
    /// Conservative slow start, once entered.
    css: Option<Css>,
}

#[derive(Clone, Copy, Debug)]
struct Css {
    baseline_min_rtt: Span,
    /// Rounds ended since it was entered; the one in which it was entered counts.
    rounds: u32,
}

impl HystartPlusPlus {
    /// Whether this ACK shows that slow start is over.
    pub fn is_over(&mut self, ssthresh: u64, ack: &NewAck) -> bool {
        if ssthresh < u64::MAX {
            return false; // §4.3: only for the initial slow start
        }
        self.judge(ack);
        let window_end = *self.window_end.get_or_insert(ack.snd_nxt);
        if ack.snd_una < window_end {
            return false;
        }
        self.window_end = Some(ack.snd_nxt);
        self.last_round_min_rtt = self.current_round_min_rtt.take();
        self.rtt_sample_count = 0;
        let Some(css) = &mut self.css else { return false };
        css.rounds += 1;
        css.rounds >= CSS_ROUNDS
    }

    /// What divides the growth: more than one in conservative slow start.
    pub fn growth_divisor(&self) -> u64 {
        if self.css.is_some() { CSS_GROWTH_DIVISOR } else { 1 }
    }

    /// Takes the ACK's round trip, and enters or leaves conservative slow start.
    fn judge(&mut self, ack: &NewAck) {
        let Some(rtt) = ack.rtt else { return };
        let current = self.current_round_min_rtt.map_or(rtt, |shortest| shortest.min(rtt));
        self.current_round_min_rtt = Some(current);
        self.rtt_sample_count += 1;
        if self.rtt_sample_count < N_RTT_SAMPLE {
            return;
        }
        match (self.css, self.last_round_min_rtt) {
            (Some(css), _) if current < css.baseline_min_rtt => self.css = None,
            (None, Some(last)) if current >= last + threshold(last) => {
                self.css = Some(Css { baseline_min_rtt: current, rounds: 0 });
            }
            _ => {}
        }
    }
}

/// RttThresh (§4.2): an eighth of the last round's shortest round trip, between 4 and 16 ms.
fn threshold(last_round_min_rtt: Span) -> Span {
    (last_round_min_rtt / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::Windows;
    use crate::tcp::congestion::testing;
    use cellwind_engine::time::Time;

    /// A round of twenty ACKs with this round trip; returns the divisors after each and whether slow start was over.
    fn round(hystart: &mut HystartPlusPlus, rtt_ms: u64) -> (Vec<u64>, bool) {
        let windows = Windows { cwnd: 20_000, ssthresh: u64::MAX };
        let start = hystart.window_end.expect("a round has begun") - 20_000;
        let mut is_over = false;
        let divisors = (1..=20).map(|n| {
            let (snd_una, snd_nxt) = (start + n * 1000, start + n * 1000 + 20_000);
            let rtt = Some(Span::from_millis(rtt_ms));
            let ack = NewAck { snd_una, snd_nxt, rtt, ..testing::ack(Time::ZERO, &windows) };
            is_over |= hystart.is_over(u64::MAX, &ack);
            hystart.growth_divisor()
        });
        (divisors.collect(), is_over)
    }

    /// HyStart++ after a round with round trips of 100 ms.
    fn begun() -> HystartPlusPlus {
        let mut hystart = HystartPlusPlus { window_end: Some(20_001), ..HystartPlusPlus::default() };
        assert_eq!(round(&mut hystart, 100), (vec![1; 20], false));
        hystart
    }

    #[test]
    fn the_threshold_is_an_eighth_between_4_and_16_ms() {
        let of = |ms| threshold(Span::from_millis(ms));
        assert_eq!([8, 32, 80, 128, 600].map(of), [4, 4, 10, 16, 16].map(Span::from_millis));
    }

    #[test]
    fn eight_longer_round_trips_slow_the_growth_to_a_quarter() {
        assert_eq!(round(&mut begun(), 112).0, [1; 20]);
        let (divisors, is_over) = round(&mut begun(), 113);
        assert_eq!(divisors, [[1; 7].as_slice(), &[4; 13]].concat());
        assert!(!is_over);
    }

    #[test]
    fn five_slow_rounds_end_slow_start_and_the_first_counts() {
        let mut hystart = begun();
        let over: Vec<_> = (0..5).map(|_| round(&mut hystart, 120).1).collect();
        assert_eq!(over, [false, false, false, false, true]);
    }

    #[test]
    fn a_round_trip_that_shrinks_again_resumes_slow_start() {
        let mut hystart = begun();
        round(&mut hystart, 120);
        assert_eq!(round(&mut hystart, 119).0, [[4; 7].as_slice(), &[1; 13]].concat());
    }

    #[test]
    fn later_slow_starts_are_left_alone() {
        let windows = Windows { cwnd: 20_000, ssthresh: 40_000 };
        let mut hystart = begun();
        let ack = NewAck { rtt: Some(Span::from_millis(500)), ..testing::ack(Time::ZERO, &windows) };
        assert!((0..20).all(|_| !hystart.is_over(windows.ssthresh, &ack)));
        assert_eq!(hystart.growth_divisor(), 1);
    }
}
