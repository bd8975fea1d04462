//! The gain cycle of ProbeBW in version 1 (§4.3.4): probe for a round trip, drain what that queued, cruise for six.

use cellwind_engine::time::{Span, Time};

/// One phase per RTprop; the first probes with 5/4, the second drains with 3/4 (v1 §4.3.4.3).
const GAINS: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];

/// Where the cycle stands.
#[derive(Clone, Copy, Debug)]
pub struct GainCycle {
    index: usize,
    /// BBR.cycle_stamp: when the phase began.
    stamp: Time,
}

/// What decides whether a phase is over.
#[derive(Clone, Copy, Debug)]
pub struct Phase {
    pub now: Time,
    pub min_rtt: Span,
    /// Data was found lost.
    pub has_lost: bool,
    /// As much was in flight as the gain asks for.
    pub has_filled: bool,
    /// No more is in flight than the pipe holds.
    pub has_drained: bool,
}

impl GainCycle {
    /// A cycle that begins in any phase but the second: `draw` is uniform in 0..7 (v1 §4.3.4.3).
    pub fn new(draw: u64, now: Time) -> Self {
        let mut cycle = GainCycle { index: GAINS.len() - 1 - draw as usize, stamp: now };
        cycle.advance(now);
        cycle
    }

    /// BBR.pacing_gain.
    pub fn gain(&self) -> f64 {
        GAINS[self.index]
    }

    /// CheckCyclePhase: goes to the next phase when this one is over.
    pub fn check(&mut self, phase: &Phase) {
        let is_full_length = phase.now - self.stamp > phase.min_rtt;
        let is_over = match self.gain() {
            gain if gain > 1.0 => is_full_length && (phase.has_lost || phase.has_filled),
            gain if gain < 1.0 => is_full_length || phase.has_drained,
            _ => is_full_length,
        };
        if is_over {
            self.advance(phase.now);
        }
    }

    fn advance(&mut self, now: Time) {
        self.stamp = now;
        self.index = (self.index + 1) % GAINS.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_draw_begins_with_draining() {
        let first: Vec<f64> = (0..7).map(|draw| GainCycle::new(draw, Time::ZERO).gain()).collect();
        assert_eq!(first, [1.25, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
    }

    #[test]
    fn probing_waits_for_a_full_flight_and_draining_ends_early() {
        let mut cycle = GainCycle::new(0, Time::ZERO);
        let phase = |ms, has_filled, has_drained| Phase {
            now: Time::from_millis(ms),
            min_rtt: Span::from_millis(100),
            has_lost: false,
            has_filled,
            has_drained,
        };
        cycle.check(&phase(150, false, false));
        assert_eq!(cycle.gain(), 1.25);
        cycle.check(&phase(160, true, false));
        assert_eq!(cycle.gain(), 0.75);
        cycle.check(&phase(170, false, true));
        assert_eq!(cycle.gain(), 1.0);
        cycle.check(&phase(260, false, false));
        (0..5).for_each(|n| cycle.check(&phase(271 + 101 * n, false, false)));
        assert_eq!(cycle.gain(), 1.0);
        cycle.check(&phase(776, false, false));
        assert_eq!(cycle.gain(), 1.25);
    }
}
