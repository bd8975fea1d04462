//! Packet-timed round trips (v1 §4.1.1.3, v3 §5.5.1): a round ends with the ACK of what was sent after it began.

use crate::tcp::delivery_rate::RateSample;

/// Counts round trips.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rounds {
    /// BBR.next_round_delivered.
    next_delivered: u64,
    /// BBR.round_count.
    pub count: u64,
    /// BBR.round_start: the last ACK began a round.
    pub has_begun: bool,
}

impl Rounds {
    /// UpdateRound.
    pub fn update(&mut self, sample: &RateSample) {
        self.has_begun = sample.prior_delivered >= self.next_delivered;
        if self.has_begun {
            self.restart(sample.total_delivered);
            self.count += 1;
        }
    }

    /// StartRound: a round begins now, when `delivered` bytes have been delivered in all.
    pub fn restart(&mut self, delivered: u64) {
        self.next_delivered = delivered;
    }
}
