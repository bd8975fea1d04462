//! The shortest round trip of the last ten seconds (v1 §4.1.2, v3 §5.5.6), and how long ProbeRTT lasts.

use cellwind_engine::time::{Span, Time};

use super::PROBE_RTT_DURATION;

/// RTpropFilterLen (v1 §4.1.2.3), MinRTTFilterLen (v3 §2.14.1).
const FILTER_LENGTH: Span = Span::from_secs(10);

/// BBR.RTprop of version 1, BBR.min_rtt of version 3.
#[derive(Clone, Copy, Debug)]
pub struct MinRtt {
    /// The estimate; none before the first sample.
    pub value: Option<Span>,
    stamp: Time,
    /// No sample has confirmed it for ten seconds.
    pub is_expired: bool,
}

impl MinRtt {
    pub fn new(now: Time, srtt: Option<Span>) -> Self {
        MinRtt { value: srtt, stamp: now, is_expired: false }
    }

    /// Whether the estimate is out of date at `now`.
    pub fn expires(&self, now: Time) -> bool {
        now > self.stamp + FILTER_LENGTH
    }

    /// Takes a sample; `confirms` says whether one of the same length renews the estimate.
    pub fn update(&mut self, rtt: Option<Span>, now: Time, confirms: bool) {
        self.is_expired = self.expires(now);
        let Some(rtt) = rtt else { return };
        let counts = self.value.is_none_or(|value| if confirms { rtt <= value } else { rtt < value });
        if counts || self.is_expired {
            self.value = Some(rtt);
            self.stamp = now;
        }
    }

    /// Takes the estimate for confirmed.
    pub fn confirm(&mut self, now: Time) {
        self.stamp = now;
    }
}

/// How far ProbeRTT has come: little in flight for 200 ms, and for a round trip at least.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProbeRtt {
    /// probe_rtt_done_stamp, once little enough is in flight.
    done_at: Option<Time>,
    is_round_done: bool,
}

impl ProbeRtt {
    /// HandleProbeRTT: takes note of an ACK; true when a round begins that has to end first.
    pub fn note(&mut self, now: Time, has_drained: bool, round_has_begun: bool) -> bool {
        if self.done_at.is_some() {
            self.is_round_done |= round_has_begun;
            return false;
        }
        if has_drained {
            self.done_at = Some(now + PROBE_RTT_DURATION);
        }
        has_drained
    }

    /// Whether it is over.
    pub fn is_done(&self, now: Time) -> bool {
        self.is_round_done && self.has_lasted(now)
    }

    /// Whether its time is over, apart from the round trip.
    pub fn has_lasted(&self, now: Time) -> bool {
        self.done_at.is_some_and(|done_at| now > done_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Time {
        Time::from_secs(seconds)
    }

    #[test]
    fn the_shortest_counts_until_it_was_not_seen_for_ten_seconds() {
        let ms = |ms| Some(Span::from_millis(ms));
        let mut min = MinRtt::new(at(0), None);
        for (second, rtt, expected) in [(1, 100, 100), (2, 80, 80), (5, 90, 80), (12, 90, 80), (13, 90, 90)] {
            min.update(ms(rtt), at(second), true);
            assert_eq!(min.value, ms(expected), "after {second} s");
        }
        assert!(min.is_expired); // told with the sample that replaced it
        min.update(ms(90), at(14), true);
        assert!(!min.is_expired && !min.expires(at(24)) && min.expires(at(25)));
    }

    #[test]
    fn probing_lasts_200_ms_and_a_round_from_when_the_pipe_is_drained() {
        let ms = Time::from_millis;
        let mut probe = ProbeRtt::default();
        assert!(!probe.note(ms(0), false, true));
        assert!(probe.note(ms(100), true, false));
        assert!(!probe.note(ms(200), true, true) && !probe.is_done(ms(300)));
        assert!(probe.is_done(ms(301)));
    }
}
