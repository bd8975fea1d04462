//! How many ACKs come at once (v3 §5.5.9): what is delivered beyond what the bandwidth explains.

use cellwind_engine::time::Time;

use super::max_filter::MaxFilter;

/// BBR.ExtraAckedFilterLen, in rounds; one in Startup.
const ROUNDS: u64 = 10;

/// The estimate of ACK aggregation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Aggregation {
    interval_start: Time,
    delivered: u64,
    extra: MaxFilter<u64>,
}

impl Aggregation {
    /// BBR.extra_acked.
    pub fn extra_acked(&self) -> u64 {
        self.extra.get()
    }

    /// Starts a new interval, because nothing was sent for a while.
    pub fn restart(&mut self, now: Time) {
        self.interval_start = now;
    }

    /// UpdateACKAggregation.
    pub fn update(&mut self, now: Time, newly_acked: u64, bandwidth: f64, cwnd: u64, round: u64, pipe_was_full: bool) {
        let mut expected = (bandwidth * (now - self.interval_start).as_secs_f64()) as u64;
        if self.delivered <= expected {
            self.delivered = 0;
            self.interval_start = now;
            expected = 0;
        }
        self.delivered += newly_acked;
        let extra = (self.delivered - expected).min(cwnd);
        self.extra.update(if pipe_was_full { ROUNDS } else { 1 }, round, extra);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acks_that_come_together_are_extra() {
        // 100 000 bytes a second: 1000 bytes every 10 ms are expected.
        let mut aggregation = Aggregation::default();
        let mut take = |ms, bytes, round| {
            aggregation.update(Time::from_millis(ms), bytes, 100_000.0, 20_000, round, true);
            aggregation.extra_acked()
        };
        assert_eq!(take(10, 1000, 1), 1000); // a new interval: all of the first ACK
        assert_eq!(take(12, 5000, 1), 5800); // 6000 less the 200 of 2 ms
        assert_eq!(take(100, 1000, 2), 5800); // 6000 < 9000 expected: a new interval
        assert_eq!(take(5000, 1000, 13), 1000); // ten rounds later the burst is forgotten
    }
}
