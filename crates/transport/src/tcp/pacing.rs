//! Pacing: when the next segment may leave, apart from what the windows allow.
//!
//! draft-ietf-ccwg-bbr §5.6.2 gives the rule: each packet moves the earliest time of the next by its size divided by the
//! pacing rate. Linux does the same for every congestion control that asks for it (net/ipv4/tcp_output.c,
//! tcp_update_skb_after_send), and in the queue discipline fq.

use cellwind_engine::time::{Span, Time};

/// The pace of a sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pacer {
    /// Bytes per second; infinite before the first round trip is known.
    rate: f64,
    /// How long before its time a segment may leave, so that a quantum of them leaves together.
    slack: Span,
    /// When what was sent so far would have left at the pacing rate: C.next_send_time.
    next_send: Time,
    /// A segment waits, until then.
    release: Option<Time>,
}

/// What sets the pace: a rate in bytes per second, and the bytes that may leave together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pace {
    pub rate: f64,
    pub quantum: u64,
}

impl Default for Pacer {
    fn default() -> Self {
        Pacer { rate: f64::INFINITY, slack: Span::ZERO, next_send: Time::ZERO, release: None }
    }
}

impl Pacer {
    /// Changes the pace; segments of `mss` bytes.
    #[inline]
    pub fn set(&mut self, pace: Pace, mss: u64) {
        self.rate = pace.rate;
        self.slack = time_for(pace.quantum.saturating_sub(mss), pace.rate);
    }

    /// Whether a segment may leave now; if not, [`release`](Self::release) says when.
    #[inline]
    pub fn allows(&mut self, now: Time) -> bool {
        if self.release.is_some() {
            return false;
        }
        if self.next_send > now + self.slack {
            self.release = Some(self.next_send);
        }
        self.release.is_none()
    }

    /// A segment with `bytes` bytes of data has left.
    #[inline]
    pub fn on_sent(&mut self, bytes: u64, now: Time) {
        self.next_send = self.next_send.max(now) + time_for(bytes, self.rate);
    }

    /// When a segment that waits may leave.
    #[inline]
    pub fn release(&self) -> Option<Time> {
        self.release
    }

    /// Whether what waits may leave now; it waits no longer then.
    pub fn take_release(&mut self, now: Time) -> bool {
        let is_due = self.release.is_some_and(|release| release <= now);
        if is_due {
            self.release = None;
        }
        is_due
    }
}

/// How long `bytes` take at `rate` bytes per second, rounded up to a nanosecond.
#[inline]
fn time_for(bytes: u64, rate: f64) -> Span {
    // `ceil` of a number far below 2^53, exact; an infinite rate gives zero.
    let nanos = bytes as f64 * 1e9 / rate;
    let whole = nanos as u64;
    Span::from_nanos(whole.saturating_add(u64::from((whole as f64) < nanos)))
}

/// The rate of window-based congestion control: a multiple of cwnd / SRTT, 200 % in slow start and 120 % afterwards, so
/// that the window and not the pace limits what is in flight (Linux, tcp_update_pacing_rate: tcp_pacing_ss_ratio and
/// tcp_pacing_ca_ratio; slow start counts as over when the window has come to half the threshold).
#[inline]
pub(crate) fn pace_of_window(cwnd: u64, ssthresh: u64, flight: u64, srtt: Option<Span>, mss: u64) -> Option<Pace> {
    let srtt = srtt.filter(|&srtt| srtt > Span::ZERO)?;
    let ratio = if cwnd < ssthresh / 2 { 2.0 } else { 1.2 };
    Some(Pace { rate: ratio * cwnd.max(flight) as f64 / srtt.as_secs_f64(), quantum: mss })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    #[test]
    fn segments_leave_at_the_rate_and_none_earlier() {
        let mut pacer = Pacer::default();
        pacer.set(Pace { rate: 100_000.0, quantum: 1000 }, 1000); // 10 ms a segment
        assert!(pacer.allows(ms(0)));
        pacer.on_sent(1000, ms(0));
        assert!(!pacer.allows(ms(4)));
        assert_eq!(pacer.release(), Some(ms(10)));
        assert!(!pacer.take_release(ms(9)));
        assert!(pacer.take_release(ms(10)) && pacer.allows(ms(10)));
        pacer.on_sent(500, ms(10));
        assert!(!pacer.allows(ms(12)));
        assert_eq!(pacer.release(), Some(ms(15)));
    }

    #[test]
    fn a_quantum_leaves_together_and_idle_time_is_not_saved_up() {
        let mut pacer = Pacer::default();
        pacer.set(Pace { rate: 100_000.0, quantum: 3000 }, 1000);
        let burst = |pacer: &mut Pacer, now| {
            let mut sent = 0;
            while pacer.allows(now) {
                pacer.on_sent(1000, now);
                sent += 1;
            }
            sent
        };
        assert_eq!(burst(&mut pacer, ms(0)), 3);
        assert_eq!(pacer.release(), Some(ms(30)));
        assert!(pacer.take_release(ms(500)));
        assert_eq!(burst(&mut pacer, ms(500)), 3);
    }

    #[test]
    fn without_a_rate_nothing_waits() {
        let mut pacer = Pacer::default();
        (0..100).for_each(|_| {
            assert!(pacer.allows(ms(1)));
            pacer.on_sent(1000, ms(1));
        });
    }

    #[test]
    fn the_window_is_paced_at_twice_its_rate_in_slow_start_and_at_six_fifths_later() {
        let srtt = Some(Span::from_millis(100));
        let rate = |cwnd, ssthresh| pace_of_window(cwnd, ssthresh, 0, srtt, 1000).unwrap().rate;
        assert_eq!(rate(10_000, u64::MAX), 200_000.0);
        assert_eq!(rate(10_000, 20_002), 200_000.0);
        assert_eq!(rate(10_000, 20_000), 120_000.0);
        assert_eq!(pace_of_window(10_000, 1, 0, None, 1000), None);
    }
}
