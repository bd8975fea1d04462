//! CUBIC (RFC 9438): the window follows a cubic function of the time since the last congestion event.
//!
//! Windows count in segments and times in seconds, as in the document. Of floating point only + − × ÷ are used, whose
//! results IEEE 754 determines to the last bit, so that runs agree on every machine.

use cellwind_engine::time::{Span, Time};

use super::{Cause, CongestionControl, NewAck, Windows, reduced};
use crate::tcp::settings::{CubicSettings, Lookahead, RenoFriendly};

#[derive(Clone, Copy, Debug)]
pub struct Cubic {
    settings: CubicSettings,
    /// W_max of the last congestion event; none before the first and after a timeout.
    w_max: Option<f64>,
    /// cwnd_prior: the window when the threshold was last lowered.
    cwnd_prior: Option<f64>,
    /// The current stage of congestion avoidance.
    stage: Option<Stage>,
    /// Bytes of growth, less than one, that the window does not show yet.
    fraction: f64,
    /// What the last reduction replaced (§4.9).
    before: Before,
}

/// What a reduction replaces, to be restored where the reduction proves wrong (§4.9.1, §4.9.2).
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    w_max: Option<f64>,
    cwnd_prior: Option<f64>,
    stage: Option<Stage>,
    fraction: f64,
}

/// A stage of congestion avoidance, from its first ACK to the next loss.
#[derive(Clone, Copy, Debug)]
struct Stage {
    /// t_epoch, moved by the time in which something else limited what was in flight (§4.2, §5.8).
    epoch: Time,
    /// The window at the point of inflection.
    w_max: f64,
    /// K: when the window gets there, in seconds after `epoch`.
    k: f64,
    /// W_est: the window that Reno would have (§4.3).
    w_est: f64,
    /// When the window was last allowed to grow.
    last_growth: Time,
    /// An ACK since then found that something else limited what was in flight.
    paused: bool,
}

impl Cubic {
    pub fn new(settings: &CubicSettings) -> Self {
        Cubic {
            settings: *settings,
            w_max: None,
            cwnd_prior: None,
            stage: None,
            fraction: 0.0,
            before: Before::default(),
        }
    }

    /// The stage that the first ACK of congestion avoidance begins.
    fn begin(&mut self, now: Time, cwnd: f64) -> Stage {
        self.cwnd_prior = self.cwnd_prior.or(Some(cwnd)); // §4.10: slow start was left without a loss
        // §4.8 and §4.10: where no loss has told W_max, the window starts at the point of inflection. So it does when it
        // is above.
        let w_max = self.w_max.map_or(cwnd, |w_max| w_max.max(cwnd));
        let k = cube_root((w_max - cwnd) / self.settings.c); // §4.2, figure 2
        Stage { epoch: now, w_max, k, w_est: cwnd, last_growth: now, paused: false }
    }

    /// The window after an ACK of `acked` segments (§4.3 to §4.5).
    fn next(&self, stage: &mut Stage, ack: &NewAck, cwnd: f64, acked: f64) -> f64 {
        let CubicSettings { c, beta, .. } = self.settings;
        let raised = self.settings.reno_friendly == RenoFriendly::Raised;
        let alpha = if raised && self.cwnd_prior.is_some_and(|prior| stage.w_est >= prior) {
            1.0
        } else {
            3.0 * (1.0 - beta) / (1.0 + beta)
        };
        stage.w_est += alpha * acked / cwnd; // §4.3, figure 4
        let w_cubic = |t: f64| {
            let offset = t - stage.k;
            c * offset * offset * offset + stage.w_max // §4.2, figure 1
        };
        let t = (ack.now - stage.epoch).as_secs_f64();
        let is_reno_faster = self.settings.reno_friendly != RenoFriendly::Off && w_cubic(t) < stage.w_est;
        let next = if is_reno_faster {
            stage.w_est.max(cwnd) // §4.3
        } else {
            let ahead = match self.settings.lookahead {
                Lookahead::SmoothedRtt => ack.srtt,
                Lookahead::MinimumRtt => ack.min_rtt,
            };
            let target = w_cubic(t + ahead.map_or(0.0, Span::as_secs_f64)).clamp(cwnd, 1.5 * cwnd); // §4.2
            cwnd + (target - cwnd) * acked.min(cwnd) / cwnd // §4.4, §4.5
        };
        if self.w_max.is_none() { next.max(cwnd + self.settings.growth_before_loss * acked) } else { next }
    }
}

impl CongestionControl for Cubic {
    fn on_ack(&mut self, windows: &mut Windows, ack: &NewAck) {
        let mss = ack.mss as f64;
        let cwnd = (windows.cwnd as f64 + self.fraction) / mss;
        let mut stage = self.stage.unwrap_or_else(|| self.begin(ack.now, cwnd));
        if stage.paused {
            stage.epoch += ack.now - stage.last_growth;
            stage.paused = false;
        }
        stage.last_growth = ack.now;
        let growth = (self.next(&mut stage, ack, cwnd, ack.acked as f64 / mss) - cwnd) * mss + self.fraction;
        let whole = growth as u64;
        windows.cwnd += whole;
        self.fraction = growth - whole as f64;
        self.stage = Some(stage);
    }

    fn on_ack_while_not_limiting(&mut self) {
        if let Some(stage) = &mut self.stage {
            stage.paused = true;
        }
    }

    /// What comes is another stage: the time without data is none in which the window could have grown (§4.2, §5.8).
    fn on_restart_from_idle(&mut self, _: &mut Windows, _: Time) {
        self.stage = None;
    }

    fn ssthresh_after(&mut self, _: Cause, windows: &Windows, flight: u64, mss: u64) -> u64 {
        let CubicSettings { beta, fast_convergence, decrease, .. } = self.settings;
        self.before =
            Before { w_max: self.w_max, cwnd_prior: self.cwnd_prior, stage: self.stage, fraction: self.fraction };
        let cwnd = windows.cwnd as f64 / mss as f64;
        let gave_up_some = fast_convergence && self.w_max.is_some_and(|w_max| cwnd < w_max);
        self.w_max = Some(if gave_up_some { cwnd * (1.0 + beta) / 2.0 } else { cwnd }); // §4.7
        self.cwnd_prior = Some(cwnd);
        self.stage = None;
        self.fraction = 0.0;
        reduced(decrease, windows, flight, mss, |bytes| (bytes as f64 * beta) as u64) // §4.6
    }

    fn on_timeout(&mut self, _: &mut Windows, _: u64) {
        self.w_max = None; // §4.8
        self.stage = None;
    }

    fn undo(&mut self) {
        let Before { w_max, cwnd_prior, stage, fraction } = self.before; // §4.9.1, §4.9.2
        (self.w_max, self.cwnd_prior, self.stage, self.fraction) = (w_max, cwnd_prior, stage, fraction);
    }
}

/// The cube root of `x`, which is not negative, to within a few units in the last place: Newton's method, which falls
/// towards the root from above.
fn cube_root(x: f64) -> f64 {
    if x == 0.0 {
        return 0.0;
    }
    let mut root = x.max(1.0);
    loop {
        let next = (2.0 * root + x / (root * root)) / 3.0;
        if next >= root {
            return root;
        }
        root = next;
    }
}

#[cfg(test)]
mod tests;
