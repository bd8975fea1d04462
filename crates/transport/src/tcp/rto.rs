//! The retransmission timeout (RFC 6298).

use cellwind_engine::time::Span;

use super::settings::RtoSettings;

/// Estimates the round trip and derives the RTO; symbols as in RFC 6298 §2.
#[derive(Clone, Debug)]
pub struct Rto {
    settings: RtoSettings,
    srtt: Option<Span>,
    rttvar: Span,
    /// RTO before back-off.
    base: Span,
    backoff: u32,
}

impl Rto {
    /// An estimator without samples.
    pub fn new(settings: &RtoSettings) -> Self {
        Rto { settings: settings.clone(), srtt: None, rttvar: Span::ZERO, base: settings.initial, backoff: 0 }
    }

    /// Takes a round-trip sample and returns it as the clock saw it; ends the back-off (RFC 6298 §5).
    pub fn on_sample(&mut self, sample: Span) -> Span {
        let sample = self.in_ticks(sample);
        match self.srtt {
            // RFC 6298 §2.2
            None => {
                self.srtt = Some(sample);
                self.rttvar = sample / 2;
            }
            // RFC 6298 §2.3: alpha = 1/8, beta = 1/4, RTTVAR first
            Some(srtt) => {
                self.rttvar = (self.rttvar * 3 + srtt.abs_diff(sample)) / 4;
                self.srtt = Some((srtt * 7 + sample) / 8);
            }
        }
        let srtt = self.srtt.expect("just set");
        let floor = self.settings.granularity.max(self.settings.variance_minimum);
        let variance = (self.rttvar * 4).max(floor); // K = 4
        self.base = (srtt + variance).clamp(self.settings.minimum, self.settings.maximum); // §2.4, §2.5
        self.backoff = 0;
        sample
    }

    /// Doubles the RTO after a timeout (RFC 6298 §5.5).
    pub fn back_off(&mut self) {
        // Beyond 64 doublings every span is at its maximum.
        self.backoff = (self.backoff + 1).min(64);
    }

    /// Starts over with 3 s when the SYN had to be resent (RFC 6298 §5.7).
    pub fn restart_after_lost_syn(&mut self) {
        self.base = self.base.max(Span::from_secs(3)).min(self.settings.maximum);
        self.backoff = 0;
    }

    /// The timeout now in force, with back-off.
    pub fn current(&self) -> Span {
        self.base.doubled(self.backoff).min(self.settings.maximum)
    }

    /// SRTT, once there was a sample.
    pub fn srtt(&self) -> Option<Span> {
        self.srtt
    }

    /// RTTVAR.
    pub fn rttvar(&self) -> Span {
        self.rttvar
    }

    /// Doublings since the last sample.
    pub fn backoff(&self) -> u32 {
        self.backoff
    }

    /// The sample in whole ticks of the clock, to the nearest, at least one (as BSD and ns-2 measure).
    fn in_ticks(&self, sample: Span) -> Span {
        let tick = self.settings.granularity.as_nanos();
        if tick <= 1 {
            return sample;
        }
        Span::from_nanos((sample.as_nanos().saturating_add(tick / 2) / tick).max(1) * tick)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rto(minimum_ms: u64, granularity_ms: u64) -> Rto {
        Rto::new(&RtoSettings {
            minimum: Span::from_millis(minimum_ms),
            granularity: Span::from_millis(granularity_ms),
            ..RtoSettings::default()
        })
    }

    #[test]
    fn the_first_samples_follow_the_formulas() {
        // By hand: R = 300 ms: SRTT 300, RTTVAR 150, RTO 900. R' = 500: RTTVAR 162.5, SRTT 325, RTO 975.
        let mut rto = rto(200, 1);
        assert_eq!(rto.current(), Span::from_secs(1));
        rto.on_sample(Span::from_millis(300));
        assert_eq!(rto.current(), Span::from_millis(900));
        rto.on_sample(Span::from_millis(500));
        assert_eq!(rto.srtt(), Some(Span::from_millis(325)));
        assert_eq!(rto.rttvar(), Span::from_micros(162_500));
        assert_eq!(rto.current(), Span::from_millis(975));
    }

    #[test]
    fn bounds_hold_with_and_without_back_off() {
        let mut rto = rto(1000, 1);
        rto.on_sample(Span::from_millis(10));
        assert_eq!(rto.current(), Span::from_secs(1));
        (0..100).for_each(|_| rto.back_off());
        assert_eq!(rto.current(), Span::from_secs(60));
        rto.on_sample(Span::from_millis(10));
        assert_eq!(rto.current(), Span::from_secs(1));
    }

    #[test]
    fn a_floor_of_the_variance_keeps_the_timeout_above_the_round_trip() {
        let variance_minimum = Span::from_millis(200);
        let mut rto = Rto::new(&RtoSettings { variance_minimum, minimum: variance_minimum, ..RtoSettings::default() });
        for _ in 0..60 {
            rto.on_sample(Span::from_millis(300));
        }
        assert_eq!(rto.current(), Span::from_millis(500)); // not 300 ms and what is left of the variance
    }

    #[test]
    fn a_sample_as_long_as_can_be_gives_the_upper_bound() {
        let mut rto = rto(200, 1);
        rto.on_sample(Span::MAX);
        assert_eq!(rto.current(), Span::from_secs(60));
    }

    #[test]
    fn a_coarse_clock_rounds_samples_and_floors_the_variance() {
        let mut rto = rto(0, 100);
        assert_eq!(rto.on_sample(Span::from_millis(7)), Span::from_millis(100));
        for _ in 0..60 {
            rto.on_sample(Span::from_millis(130));
        }
        // SRTT 100 ms, variance gone: G remains.
        assert!(
            rto.current() >= Span::from_millis(199) && rto.current() <= Span::from_millis(201),
            "{:?}",
            rto.current()
        );
    }
}
