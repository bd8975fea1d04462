//! Westwood (Casetti, Gerla, Mascolo, Sanadidi and Wang 2001) and Westwood+ (Grieco and Mascolo 2004): a loss leaves what
//! the path was measured to carry, bandwidth times the shortest round trip, in place of one half.
//!
//! Of floating point only + − × ÷ are used, whose results IEEE 754 determines to the last bit.

use cellwind_engine::time::{Span, Time};

use super::aimd::Aimd;
use super::{Arrival, Cause, CongestionControl, NewAck, Windows};
use crate::tcp::settings::{AfterLoss, AimdSettings, BandwidthFilter, WestwoodSettings};

#[derive(Clone, Copy, Debug)]
pub struct Westwood {
    /// Growth is that of Reno.
    aimd: Aimd,
    after_loss: AfterLoss,
    filter: Filter,
    count: AckedCount,
    /// RTTmin.
    rtt_min: Option<Span>,
}

/// The estimate of bandwidth, BWE, in bytes per second.
#[derive(Clone, Copy, Debug)]
enum Filter {
    PerAck(PerAck),
    PerRoundTrip(PerRoundTrip),
}

impl Westwood {
    pub fn new(settings: &WestwoodSettings) -> Self {
        let filter = match settings.filter {
            BandwidthFilter::PerAck(per_ack) => Filter::PerAck(PerAck::new(per_ack.tau)),
            BandwidthFilter::PerRoundTrip => Filter::PerRoundTrip(PerRoundTrip::new(Smoothing::Once)),
            BandwidthFilter::Linux => Filter::PerRoundTrip(PerRoundTrip::new(Smoothing::Twice)),
        };
        let aimd = AimdSettings { increase: settings.increase, growth: settings.growth, ..AimdSettings::default() };
        Westwood {
            aimd: Aimd::new(&aimd),
            after_loss: settings.after_loss,
            filter,
            count: AckedCount::default(),
            rtt_min: None,
        }
    }

    /// BWE in bytes per second.
    fn bandwidth(&self) -> f64 {
        match self.filter {
            Filter::PerAck(filter) => filter.estimate,
            Filter::PerRoundTrip(filter) => filter.estimate.unwrap_or(0.0),
        }
    }
}

impl CongestionControl for Westwood {
    fn on_arrival(&mut self, _: &mut Windows, arrival: &Arrival) {
        let bytes = self.count.count(arrival.acked, arrival.mss);
        match &mut self.filter {
            Filter::PerAck(filter) => filter.on_ack(arrival.now, bytes),
            Filter::PerRoundTrip(filter) => filter.on_ack(arrival.now, bytes, arrival.rtt),
        }
        if let Some(rtt) = arrival.rtt {
            self.rtt_min = Some(self.rtt_min.map_or(rtt, |shortest| shortest.min(rtt)));
        }
    }

    fn on_ack(&mut self, windows: &mut Windows, ack: &NewAck) {
        self.aimd.on_ack(windows, ack);
    }

    fn on_ack_while_not_limiting(&mut self) {}

    /// Casetti et al. 2001, §3.1 and §3.2; Grieco and Mascolo 2004, §2.3: BWE × RTTmin in both cases.
    fn ssthresh_after(&mut self, _: Cause, _: &Windows, _: u64, mss: u64) -> u64 {
        let rtt_min = self.rtt_min.unwrap_or_default().as_secs_f64();
        let carried = (self.bandwidth() * rtt_min) as u64;
        (carried / mss * mss).max(2 * mss) // whole segments, two at least
    }

    fn window_after(&self, before: u64, ssthresh: u64, _: u64) -> u64 {
        match self.after_loss {
            AfterLoss::LoweredOnly => before.min(ssthresh), // Casetti et al. 2001, §3.1: if (cwin > ssthresh)
            AfterLoss::Threshold => ssthresh,               // Grieco and Mascolo 2004, §2.3
        }
    }

    fn on_timeout(&mut self, _: &mut Windows, _: u64) {
        if let Filter::PerRoundTrip(PerRoundTrip { smoothing: Smoothing::Twice, .. }) = self.filter {
            self.rtt_min = None; // as Linux: the path may have become a longer one
        }
    }
}

/// How much data an ACK says has arrived, where duplicate ACKs count a segment each (Casetti et al. 2001, AckedCount).
#[derive(Clone, Copy, Debug, Default)]
struct AckedCount {
    /// Bytes that duplicate ACKs have counted and no cumulative ACK has covered.
    accounted: u64,
}

impl AckedCount {
    fn count(&mut self, acked: u64, mss: u64) -> u64 {
        if acked == 0 {
            self.accounted += mss;
            return mss;
        }
        if acked <= mss {
            return acked;
        }
        // A partial or delayed ACK: what duplicates have told before does not count again.
        if self.accounted >= acked {
            self.accounted -= acked;
            mss
        } else {
            acked - std::mem::take(&mut self.accounted)
        }
    }
}

/// The low-pass filter of Westwood: one sample per ACK, discretised by Tustin's rule (Casetti et al. 2001, §2.2).
#[derive(Clone, Copy, Debug)]
struct PerAck {
    /// τ in seconds; the cut-off frequency is 1/τ.
    tau: f64,
    /// b̂: the estimate in bytes per second.
    estimate: f64,
    /// b of the previous sample.
    sample: f64,
    /// When the previous sample ended; none before the first ACK.
    last: Option<Time>,
    /// Bytes of ACKs that came at one instant with others.
    bytes: u64,
}

impl PerAck {
    /// m: a virtual sample of zero stands for each τ/m without an ACK.
    const VIRTUAL_SAMPLES: u64 = 2;

    fn new(tau: Span) -> Self {
        PerAck { tau: tau.as_secs_f64(), estimate: 0.0, sample: 0.0, last: None, bytes: 0 }
    }

    fn on_ack(&mut self, now: Time, bytes: u64) {
        let Some(last) = self.last else {
            self.last = Some(now); // the first ACK only begins the first interval
            return;
        };
        self.bytes += bytes;
        let mut interval = (now - last).as_secs_f64();
        if interval == 0.0 {
            return; // differs: the formula divides by the interval; the data counts in the next sample
        }
        let longest = self.tau / Self::VIRTUAL_SAMPLES as f64;
        let mut left = MOST_VIRTUAL_SAMPLES;
        while interval > longest {
            interval -= longest;
            if left == 0 {
                // Nothing is left of the estimate, and a short τ would make of a pause millions of samples.
                interval = Some(interval % longest).filter(|&rest| rest > 0.0).unwrap_or(longest);
                break;
            }
            left -= 1;
            self.filter(0.0, longest);
        }
        self.filter(self.bytes as f64 / interval, interval);
        self.bytes = 0;
        self.last = Some(now);
    }

    /// b̂_k = ((2τ − Δ) b̂_{k−1} + Δ (b_k + b_{k−1})) / (2τ + Δ)
    fn filter(&mut self, sample: f64, interval: f64) {
        let both = 2.0 * self.tau + interval;
        self.estimate = ((2.0 * self.tau - interval) * self.estimate + interval * (sample + self.sample)) / both;
        self.sample = sample;
    }
}

/// So many virtual samples leave nothing of any estimate: each takes two fifths of it.
const MOST_VIRTUAL_SAMPLES: u32 = 200;

/// The estimate of Westwood+: one sample per round trip, smoothed exponentially (Grieco and Mascolo 2004, §2.2).
#[derive(Clone, Copy, Debug)]
struct PerRoundTrip {
    smoothing: Smoothing,
    estimate: Option<f64>,
    /// Linux: the estimate before the second smoothing.
    smoothed_once: f64,
    /// The round trip measured last.
    rtt: Option<Span>,
    /// When the present interval began; none before the first ACK.
    begin: Option<Time>,
    /// Bytes acknowledged in it.
    bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Smoothing {
    /// b̂_k = 0.9 b̂_{k−1} + 0.1 b_k.
    Once,
    /// By 7/8 twice over, with intervals of at least 50 ms (Linux's tcp_westwood).
    Twice,
}

impl PerRoundTrip {
    fn new(smoothing: Smoothing) -> Self {
        PerRoundTrip { smoothing, estimate: None, smoothed_once: 0.0, rtt: None, begin: None, bytes: 0 }
    }

    fn on_ack(&mut self, now: Time, bytes: u64, rtt: Option<Span>) {
        let begin = *self.begin.get_or_insert(now);
        let least = match self.smoothing {
            Smoothing::Once => Span::ZERO,
            Smoothing::Twice => Span::from_millis(50), // TCP_WESTWOOD_RTT_MIN
        };
        let interval = now - begin;
        if interval > Span::ZERO && self.rtt.is_some_and(|rtt| interval >= rtt.max(least)) {
            self.filter(self.bytes as f64 / interval.as_secs_f64());
            self.begin = Some(now);
            self.bytes = 0;
        }
        self.bytes += bytes;
        self.rtt = rtt.or(self.rtt);
    }

    fn filter(&mut self, sample: f64) {
        let Some(estimate) = self.estimate else {
            self.estimate = Some(sample); // as Linux does; the paper does not say where the filter starts
            self.smoothed_once = sample;
            return;
        };
        self.estimate = Some(match self.smoothing {
            Smoothing::Once => 0.9 * estimate + 0.1 * sample,
            Smoothing::Twice => {
                self.smoothed_once = (7.0 * self.smoothed_once + sample) / 8.0;
                (7.0 * estimate + self.smoothed_once) / 8.0
            }
        });
    }
}

#[cfg(test)]
mod tests;
