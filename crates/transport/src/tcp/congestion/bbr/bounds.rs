//! What losses tell of the path in version 3: bounds for the bandwidth and for what is in flight, of the present cycle
//! (the short-term model) and of those before it (the long-term model).

use super::MIN_PIPE_SEGMENTS;

/// BBR.LossThresh (v3 §2.7): the share of losses in a round that a probe may cause.
pub const LOSS_THRESHOLD: f64 = 0.02;
/// BBR.Beta (v3 §2.7).
pub const BETA: f64 = 0.7;
/// BBR.Headroom (v3 §2.7).
const HEADROOM: f64 = 0.15;

/// The long-term model: BBR.inflight_longterm, none while it is infinite.
#[derive(Clone, Copy, Debug, Default)]
pub struct LongTerm {
    pub inflight: Option<u64>,
    /// BBR.bw_probe_up_acked, bw_probe_up_rounds and probe_up_acked_per_inc.
    acked: u64,
    rounds: u32,
    acked_per_segment: u64,
}

impl LongTerm {
    /// InflightWithHeadroom (§5.3.3.6): room that is left to other flows.
    pub fn with_headroom(&self, mss: u64) -> Option<u64> {
        let inflight = self.inflight?;
        let headroom = ((HEADROOM * inflight as f64) as u64).max(mss);
        Some(inflight.saturating_sub(headroom).max(MIN_PIPE_SEGMENTS * mss))
    }

    /// Forgets how far it was raised, before a new probe (StartProbeBW_REFILL).
    pub fn begin_probe(&mut self) {
        (self.rounds, self.acked) = (0, 0);
    }

    /// RaiseInflightLongtermSlope: a segment in the first round, two in the second, four in the third.
    pub fn steepen(&mut self, cwnd: u64, mss: u64) {
        self.acked_per_segment = (cwnd >> self.rounds).max(mss);
        self.rounds = (self.rounds + 1).min(30);
    }

    /// ProbeInflightLongtermUpward, where the window is full and the bound limits it.
    pub fn raise(&mut self, newly_acked: u64, mss: u64) {
        let Some(inflight) = &mut self.inflight else { return };
        self.acked += newly_acked;
        let segments = self.acked / self.acked_per_segment;
        self.acked -= segments * self.acked_per_segment;
        *inflight += segments * mss;
    }
}

/// The short-term model: bw_shortterm and inflight_shortterm, none while they are infinite.
#[derive(Clone, Copy, Debug, Default)]
pub struct ShortTerm {
    pub bandwidth: Option<f64>,
    pub inflight: Option<u64>,
}

impl ShortTerm {
    /// InitLowerBounds and LossLowerBounds (§5.5.10.3), at the end of a round with losses: towards what was delivered in
    /// it, but to no less than β of before.
    pub fn lower(&mut self, max_bandwidth: f64, cwnd: u64, latest_bandwidth: f64, latest_inflight: u64) {
        let bandwidth = self.bandwidth.unwrap_or(max_bandwidth);
        let inflight = self.inflight.unwrap_or(cwnd);
        self.bandwidth = Some(latest_bandwidth.max(BETA * bandwidth));
        self.inflight = Some(latest_inflight.max((BETA * inflight as f64) as u64));
    }
}

/// What was in flight when losses crossed the threshold (InflightAtLoss, §5.5.10.2): before a segment of `size` bytes
/// with which `in_flight` bytes were in the network and `lost` were lost, and the part of it that crossed.
pub fn inflight_at_loss(in_flight: u64, lost: u64, size: u64) -> u64 {
    let before = in_flight.saturating_sub(size) as f64;
    let lost_before = lost.saturating_sub(size) as f64;
    let prefix = (LOSS_THRESHOLD * before - lost_before) / (1.0 - LOSS_THRESHOLD);
    (before + prefix).max(0.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_rises_by_one_segment_then_two_then_four_a_round() {
        let mut bound = LongTerm { inflight: Some(10_000), ..LongTerm::default() };
        bound.begin_probe();
        for expected in [11_000, 13_000, 17_000] {
            bound.steepen(8000, 1000);
            (0..8).for_each(|_| bound.raise(1000, 1000));
            assert_eq!(bound.inflight, Some(expected));
        }
    }

    #[test]
    fn headroom_is_fifteen_per_cent_or_a_segment() {
        let of = |inflight| LongTerm { inflight: Some(inflight), ..LongTerm::default() }.with_headroom(1000);
        assert_eq!([of(100_000), of(6000), of(4500)], [Some(85_000), Some(5000), Some(4000)]);
    }

    #[test]
    fn a_round_with_losses_lowers_to_what_was_delivered_but_not_below_beta() {
        let mut bounds = ShortTerm::default();
        bounds.lower(1000.0, 50_000, 900.0, 20_000);
        assert_eq!((bounds.bandwidth, bounds.inflight), (Some(900.0), Some(35_000)));
        bounds.lower(1000.0, 50_000, 100.0, 30_000);
        assert_eq!((bounds.bandwidth, bounds.inflight), (Some(630.0), Some(30_000)));
    }

    #[test]
    fn losses_cross_two_per_cent_within_the_segment() {
        // 99 000 bytes before it with 1000 lost: 2 % of 99 000 are 1980, 980 more; 980 / 0.98 = 1000 of the segment.
        assert_eq!(inflight_at_loss(100_000, 2000, 1000), 100_000);
        assert_eq!(inflight_at_loss(10_000, 1000, 1000), 9183); // 9000 + 180 / 0.98
    }
}
