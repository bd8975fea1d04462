//! The cycle of ProbeBW in version 3 (§5.3.3), and what the ACKs of each phase mean.

use cellwind_engine::random::Stream;
use cellwind_engine::time::{Span, Time};

/// A phase of ProbeBW.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Sends less than the bandwidth, to drain what the probe queued and leave room to others.
    Down,
    /// Sends at the bandwidth.
    Cruise,
    /// Fills the pipe for a round, so that the probe does not find it half empty.
    Refill,
    /// Probes for more bandwidth.
    Up,
}

impl Phase {
    /// BBR.pacing_gain (§5.6.1).
    pub fn pacing_gain(self) -> f64 {
        match self {
            Phase::Down => 0.9,
            Phase::Cruise | Phase::Refill => 1.0,
            Phase::Up => 1.25,
        }
    }

    /// BBR.cwnd_gain (§5.6.1).
    pub fn window_gain(self) -> f64 {
        if self == Phase::Up { 2.25 } else { 2.0 }
    }
}

/// BBR.ack_phase (§2.12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckPhase {
    /// Nothing is probed.
    Init,
    /// ACKs of what was sent to fill the pipe.
    Refilling,
    /// The probe has begun, its ACKs have not come yet.
    ProbeStarting,
    /// ACKs of the probe.
    ProbeFeedback,
    /// The probe has ended, its last ACKs come.
    ProbeStopping,
}

/// How long to wait until the next probe (§5.3.3.5.3).
#[derive(Clone, Copy, Debug, Default)]
pub struct ProbeTimer {
    /// BBR.cycle_stamp.
    begun: Time,
    /// BBR.bw_probe_wait: two to three seconds.
    wait: Span,
    /// BBR.rounds_since_probe_up.
    rounds: u64,
}

impl ProbeTimer {
    /// T_reno_bound: after so many rounds at most.
    const MOST_ROUNDS: u64 = 63;

    /// PickProbeWait: the wait of a cycle that begins now.
    pub fn restart(&mut self, draws: &mut Stream, now: Time) {
        self.rounds = draws.below(2);
        self.wait = Span::from_nanos(2_000_000_000 + draws.below(1_000_000_000));
        self.begun = now;
    }

    /// A round trip has passed.
    pub fn count_round(&mut self) {
        self.rounds += 1;
    }

    /// IsTimeToProbeBW: the wait is over, or so many rounds have passed as Reno, with `segments` in flight, would take to
    /// probe.
    pub fn is_over(&self, now: Time, segments: u64) -> bool {
        now > self.begun + self.wait || self.rounds >= segments.min(Self::MOST_ROUNDS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_probe_comes_after_two_to_three_seconds_or_as_often_as_renos() {
        let mut draws = Stream::new(1, 0, "probe");
        for _ in 0..100 {
            let mut timer = ProbeTimer::default();
            timer.restart(&mut draws, Time::ZERO);
            assert!(!timer.is_over(Time::from_secs(2), 1000) && timer.is_over(Time::from_millis(3001), 1000));
            (0..61).for_each(|_| timer.count_round());
            assert!(!timer.is_over(Time::ZERO, 1000) && timer.is_over(Time::ZERO, 61));
            (0..2).for_each(|_| timer.count_round());
            assert!(timer.is_over(Time::ZERO, 1000));
        }
    }
}
