//! The retransmission timeout (RFC 6298).

use cellwind_engine::time::Span;

use super::settings::{AfterSpurious, RtoSettings};

/// Estimates the round trip and derives the RTO; symbols as in RFC 6298 §2.
#[derive(Clone, Debug)]
pub struct Rto {
    settings: RtoSettings,
    srtt: Option<Span>,
    rttvar: Span,
    /// RTO before back-off.
    base: Span,
    backoff: u32,
    spurious: Adaptation,
    /// What is made of the RTO; below 100 by a fault.
    percent: u32,
}

/// What spurious timeouts have taught the timer.
#[derive(Clone, Copy, Debug, Default)]
struct Adaptation {
    /// SRTT and RTTVAR when the first of the last timeouts in a row expired.
    before: Option<(Span, Span)>,
    /// Doublings that those timeouts led to.
    reached: u32,
    /// Doublings that samples leave ([`AfterSpurious::KeepBackOff`]).
    kept: u32,
    /// What is added to the lower bound ([`AfterSpurious::RaiseMinimum`]).
    raised: Span,
    /// The next sample starts the estimate anew ([`AfterSpurious::Reseed`]).
    reseeds: bool,
    /// The sample of data above this number is at least what was measured before ([`AfterSpurious::Rfc4015`]).
    floor: Option<(u64, Span, Span)>,
}

impl Rto {
    /// An estimator without samples.
    pub fn new(settings: &RtoSettings) -> Self {
        Rto {
            settings: settings.clone(),
            srtt: None,
            rttvar: Span::ZERO,
            base: settings.initial,
            backoff: 0,
            spurious: Adaptation::default(),
            percent: 100,
        }
    }

    /// The same with a timer that makes `percent` of each RTO ([`FaultSettings::rto_percent`]).
    ///
    /// [`FaultSettings::rto_percent`]: super::settings::FaultSettings::rto_percent
    pub fn with_percent(self, percent: u32) -> Self {
        Rto { percent, ..self }
    }

    /// Takes a round-trip sample from an ACK up to `ack` and returns it as the clock saw it; ends the back-off (RFC 6298
    /// §5).
    #[inline(always)]
    pub fn on_sample(&mut self, sample: Span, ack: u64) -> Span {
        let sample = self.in_ticks(sample);
        match self.srtt.filter(|_| !self.spurious.reseeds) {
            // RFC 6298 §2.2
            None => self.seed(sample),
            // RFC 6298 §2.3: alpha = 1/8, beta = 1/4, RTTVAR first
            Some(srtt) => {
                self.rttvar = (self.rttvar * 3 + srtt.abs_diff(sample)) / 4;
                self.srtt = Some((srtt * 7 + sample) / 8);
            }
        }
        if self.spurious.floor.is_some()
            && let Some((_, srtt, rttvar)) = self.spurious.floor.take_if(|(above, ..)| ack > *above)
        {
            self.srtt = Some(srtt.max(sample)); // RFC 4015 §3.1 (11)
            self.rttvar = rttvar.max(sample / 2);
        }
        self.derive();
        self.backoff = self.spurious.kept;
        sample
    }

    fn seed(&mut self, sample: Span) {
        self.srtt = Some(sample);
        self.rttvar = sample / 2;
        self.spurious.reseeds = false;
    }

    /// The RTO from SRTT and RTTVAR, within its bounds.
    #[inline]
    fn derive(&mut self) {
        let Some(srtt) = self.srtt else { return };
        let floor = self.settings.granularity.max(self.settings.variance_minimum);
        let variance = (self.rttvar * 4).max(floor); // K = 4
        let minimum = (self.settings.minimum + self.spurious.raised).min(self.settings.maximum);
        self.base = (srtt + variance).clamp(minimum, self.settings.maximum); // §2.4, §2.5
        if self.percent < 100 {
            self.base = self.base * u64::from(self.percent) / 100;
        }
    }

    /// The timer expired, for the `timeouts`-th time in a row: the RTO doubles (RFC 6298 §5.5).
    pub fn on_timeout(&mut self, timeouts: u32) {
        if timeouts == 1 {
            self.spurious.before = self.srtt.map(|srtt| (srtt, self.rttvar));
        }
        self.back_off();
        self.spurious.reached = self.backoff;
    }

    /// The last timeouts were spurious. The ACK that told brought `sample`, if any; `snd_max` is what was sent by then.
    pub fn on_spurious_timeout(&mut self, sample: Option<Span>, snd_max: u64) {
        match self.settings.after_spurious {
            AfterSpurious::Standard => {}
            AfterSpurious::Reseed => match sample {
                Some(sample) => self.seed(sample),
                None => self.spurious.reseeds = true,
            },
            AfterSpurious::KeepBackOff => {
                self.spurious.kept = self.spurious.reached;
                self.backoff = self.spurious.kept;
            }
            AfterSpurious::RaiseMinimum(raise) => {
                self.spurious.raised = (self.spurious.raised + raise.step).min(self.settings.maximum);
            }
            AfterSpurious::Rfc4015 => {
                // RFC 4015 §3.1 (0): SRTT_prev and RTTVAR_prev
                let floor = |(srtt, rttvar)| (snd_max, srtt + self.settings.granularity * 2, rttvar);
                self.spurious.floor = self.spurious.before.map(floor);
            }
        }
        self.derive();
    }

    /// The last timeouts were necessary: what spurious ones have raised falls back. `sampled` tells whether a sample has
    /// ended the back-off since.
    pub fn on_necessary_timeout(&mut self, sampled: bool) {
        self.spurious = Adaptation::default();
        if sampled {
            self.backoff = 0;
        }
        self.derive();
    }

    /// Doubles the RTO.
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
    #[inline]
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
        rto.on_sample(Span::from_millis(300), 1);
        assert_eq!(rto.current(), Span::from_millis(900));
        rto.on_sample(Span::from_millis(500), 1);
        assert_eq!(rto.srtt(), Some(Span::from_millis(325)));
        assert_eq!(rto.rttvar(), Span::from_micros(162_500));
        assert_eq!(rto.current(), Span::from_millis(975));
    }

    #[test]
    fn bounds_hold_with_and_without_back_off() {
        let mut rto = rto(1000, 1);
        rto.on_sample(Span::from_millis(10), 1);
        assert_eq!(rto.current(), Span::from_secs(1));
        (0..100).for_each(|_| rto.back_off());
        assert_eq!(rto.current(), Span::from_secs(60));
        rto.on_sample(Span::from_millis(10), 1);
        assert_eq!(rto.current(), Span::from_secs(1));
    }

    #[test]
    fn a_floor_of_the_variance_keeps_the_timeout_above_the_round_trip() {
        let variance_minimum = Span::from_millis(200);
        let mut rto = Rto::new(&RtoSettings { variance_minimum, minimum: variance_minimum, ..RtoSettings::default() });
        for _ in 0..60 {
            rto.on_sample(Span::from_millis(300), 1);
        }
        assert_eq!(rto.current(), Span::from_millis(500)); // not 300 ms and what is left of the variance
    }

    #[test]
    fn a_sample_as_long_as_can_be_gives_the_upper_bound() {
        let mut rto = rto(200, 1);
        rto.on_sample(Span::MAX, 1);
        assert_eq!(rto.current(), Span::from_secs(60));
    }

    #[test]
    fn a_coarse_clock_rounds_samples_and_floors_the_variance() {
        let mut rto = rto(0, 100);
        assert_eq!(rto.on_sample(Span::from_millis(7), 1), Span::from_millis(100));
        for _ in 0..60 {
            rto.on_sample(Span::from_millis(130), 1);
        }
        // SRTT 100 ms, variance gone: G remains.
        assert!(
            rto.current() >= Span::from_millis(199) && rto.current() <= Span::from_millis(201),
            "{:?}",
            rto.current()
        );
    }

    fn settle(rto: &mut Rto) {
        for _ in 0..1000 {
            rto.on_sample(Span::from_millis(300), 1);
        }
    }

    /// Samples of 300 ms until the variance is gone, and a timeout at 300 ms and the floor of 200 ms.
    fn settled(after_spurious: AfterSpurious) -> Rto {
        let mut rto = Rto::new(&RtoSettings {
            minimum: Span::from_millis(200),
            variance_minimum: Span::from_millis(200),
            after_spurious,
            ..RtoSettings::default()
        });
        settle(&mut rto);
        assert_eq!(rto.current(), Span::from_millis(500));
        rto.on_timeout(1);
        rto
    }

    /// A delayed segment's ACK brings a sample of 4 s and the verdict.
    fn learn(rto: &mut Rto) {
        let sample = rto.on_sample(Span::from_secs(4), 1000);
        rto.on_spurious_timeout(Some(sample), 8000);
    }

    #[test]
    fn a_spurious_timeout_may_teach_the_timer_nothing() {
        // By hand: SRTT 0.3 + 3.7/8 = 0.7625 s, RTTVAR 3.7/4 = 0.925 s.
        let mut rto = settled(AfterSpurious::Standard);
        learn(&mut rto);
        assert_eq!(rto.current(), Span::from_micros(4_462_500));
    }

    #[test]
    fn reseeding_starts_with_the_delayed_sample() {
        let mut rto = settled(AfterSpurious::Reseed);
        learn(&mut rto);
        assert_eq!(rto.current(), Span::from_secs(12)); // 4 + 4 * 2
        let mut rto = settled(AfterSpurious::Reseed);
        rto.on_spurious_timeout(None, 8000);
        rto.on_sample(Span::from_secs(2), 9000); // the first there is
        assert_eq!(rto.current(), Span::from_secs(6));
    }

    #[test]
    fn a_kept_back_off_outlives_samples_until_a_necessary_timeout() {
        let mut rto = settled(AfterSpurious::KeepBackOff);
        learn(&mut rto);
        settle(&mut rto);
        assert_eq!((rto.backoff(), rto.current()), (1, Span::from_secs(1)));
        rto.on_timeout(1);
        learn(&mut rto);
        assert_eq!(rto.backoff(), 2);
        rto.on_timeout(1);
        rto.on_sample(Span::from_millis(300), 1);
        rto.on_necessary_timeout(true);
        assert_eq!(rto.backoff(), 0);
    }

    #[test]
    fn the_minimum_rises_by_a_step_for_each_spurious_timeout() {
        let mut rto = settled(AfterSpurious::RaiseMinimum(Default::default()));
        for seconds in [1, 2] {
            learn(&mut rto);
            settle(&mut rto);
            assert_eq!(rto.current(), Span::from_millis(200) + Span::from_secs(seconds));
        }
        rto.on_timeout(1);
        rto.on_necessary_timeout(false);
        assert_eq!(rto.current(), Span::from_secs(1)); // 500 ms, backed off
    }

    #[test]
    fn rfc_4015_raises_the_estimate_with_the_first_sample_of_new_data() {
        // §3.1 (0), (11): SRTT_prev = 300 + 2 G, RTTVAR_prev = 0; the sample of 500 ms is larger.
        let mut rto = settled(AfterSpurious::Rfc4015);
        learn(&mut rto);
        rto.on_sample(Span::from_millis(400), 8000); // of data from before
        rto.on_sample(Span::from_millis(500), 8001);
        assert_eq!((rto.srtt(), rto.rttvar()), (Some(Span::from_millis(500)), Span::from_millis(250)));
        rto.on_sample(Span::from_millis(500), 8002);
        assert_eq!(rto.rttvar(), Span::from_micros(187_500)); // as usual again
    }
}
