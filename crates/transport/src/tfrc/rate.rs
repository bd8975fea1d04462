//! The sender's rate (RFC 5348 §4): what feedback, and its absence, make of it.

use std::collections::VecDeque;

use cellwind_engine::time::{Span, Time};

use super::equation::throughput;

/// Weight of the past in the round trip (RFC 5348 §4.3: q), and in its square root (§4.5: q2).
const Q: f64 = 0.9;
/// The nofeedback timer before the first round trip is measured (RFC 5348 §4.2).
const FIRST_NOFEEDBACK: Span = Span::from_secs(2);
/// What a receive rate counts for after a loss while there was not enough to send (RFC 5348 §4.3).
const AFTER_LOSS: f64 = 0.85;

/// What the receiver tells (RFC 5348 §3.2.2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Feedback {
    /// When the last packet that it received was sent: t_recvdata.
    pub sent: Time,
    /// How long it kept that to itself: t_delay.
    pub delay: Span,
    /// X_recv, bytes per second.
    pub x_recv: f64,
    /// p, the loss event rate.
    pub p: f64,
}

/// The allowed rate of a sender and all that it depends on.
#[derive(Clone, Debug)]
pub struct RateControl {
    /// s.
    segment: f64,
    oscillation_prevention: bool,
    /// s / t_mbi.
    least: f64,

    /// X, bytes per second.
    x: f64,
    /// X_Bps, the equation's rate.
    x_bps: f64,
    /// p as last told.
    p: f64,
    /// R in seconds.
    rtt: Option<f64>,
    /// R_sqmean and the latest sqrt(R_sample).
    root: (f64, f64),
    /// X_recv_set, with the instants of its members.
    x_recv_set: VecDeque<(Time, f64)>,
    /// tld: when the rate was doubled last.
    doubled_at: Time,
    nofeedback: Option<Time>,
    /// Whether a packet was sent since the nofeedback timer was set.
    is_idle: bool,
    /// When the rate held packets back, each from and until (RFC 5348 §8.2.1: not data-limited).
    held_back: VecDeque<(Time, Time)>,
}

impl RateControl {
    /// A sender of segments of `segment` bytes, before it has sent any.
    pub fn new(segment: u64, longest_interval: Span, oscillation_prevention: bool) -> Self {
        let segment = segment as f64;
        RateControl {
            segment,
            oscillation_prevention,
            least: segment / longest_interval.as_secs_f64(),
            x: segment, // RFC 5348 §4.2: one packet per second
            x_bps: 0.0,
            p: 0.0,
            rtt: None,
            root: (0.0, 0.0),
            x_recv_set: VecDeque::from([(Time::ZERO, f64::INFINITY)]),
            doubled_at: Time::ZERO,
            nofeedback: None,
            is_idle: true,
            held_back: VecDeque::new(),
        }
    }

    /// The rate of this moment in bytes per second (RFC 5348 §4.5: X_inst, or X).
    pub fn rate(&self) -> f64 {
        match self.oscillation_prevention && self.root.1 > 0.0 {
            true => (self.x * self.root.0 / self.root.1).max(self.least),
            false => self.x,
        }
    }

    /// The time between a packet of `bytes` bytes and the next.
    pub fn interval(&self, bytes: u64) -> Span {
        Span::from_nanos((bytes as f64 / self.rate() * 1e9) as u64)
    }

    /// R.
    pub fn rtt(&self) -> Option<Span> {
        self.rtt.map(|seconds| Span::from_nanos((seconds * 1e9) as u64))
    }

    /// p as the receiver told it last.
    pub fn loss_event_rate(&self) -> f64 {
        self.p
    }

    /// RTO: how long feedback may stay away (RFC 5348 §4.3, step 3).
    pub fn timeout(&self) -> Span {
        match self.rtt {
            Some(rtt) => Span::from_nanos((1e9 * (4.0 * rtt).max(2.0 * self.segment / self.x)) as u64),
            None => FIRST_NOFEEDBACK,
        }
    }

    /// When the nofeedback timer expires.
    pub fn nofeedback_at(&self) -> Option<Time> {
        self.nofeedback
    }

    /// A packet leaves.
    pub fn on_sent(&mut self, now: Time) {
        self.is_idle = false;
        self.nofeedback.get_or_insert(now + self.timeout());
    }

    /// There is more to send, but not before `until`.
    pub fn on_held_back(&mut self, now: Time, until: Time) {
        match self.held_back.back_mut() {
            Some(last) if last.1 >= now => last.1 = last.1.max(until),
            _ => self.held_back.push_back((now, until)),
        }
    }

    /// Feedback arrives; gives the round trip that it shows.
    pub fn on_feedback(&mut self, now: Time, feedback: Feedback) -> Span {
        let measured = now.since(feedback.sent) - feedback.delay;
        let sample = measured.as_secs_f64().max(1e-9);
        let is_first = self.rtt.is_none();
        let rtt = self.rtt.map_or(sample, |rtt| Q * rtt + (1.0 - Q) * sample);
        self.rtt = Some(rtt);
        let root = sample.sqrt();
        self.root = (if is_first { root } else { Q * self.root.0 + (1.0 - Q) * root }, root);

        // RFC 5348 §4.3: an X_recv of zero never stands for a data-limited interval
        let data_limited = self.was_data_limited(feedback.sent) && feedback.x_recv > 0.0;
        let more_loss = feedback.p > self.p;
        self.p = feedback.p;
        if is_first {
            self.x = self.initial_rate(); // RFC 5348 §4.2
            self.doubled_at = now;
            self.x_recv_set = VecDeque::from([(now, f64::INFINITY)]); // §4.3: no limit for the next two round trips
        } else {
            let limit = self.receive_limit(now, feedback.x_recv, data_limited, more_loss);
            self.set_rate(now, limit);
        }
        self.restart(now);
        measured
    }

    /// The nofeedback timer has expired (RFC 5348 §4.4).
    pub fn on_nofeedback(&mut self, now: Time) {
        let x_recv = self.most_received();
        let recover_rate = self.initial_rate();
        let slow = if self.p > 0.0 { x_recv < recover_rate } else { self.x < 2.0 * recover_rate };
        if self.is_idle && (slow || self.rtt.is_none()) {
            // An idle sender keeps what it may restart with.
        } else if self.p == 0.0 {
            self.x = (self.x / 2.0).max(self.least);
        } else if self.x_bps > 2.0 * x_recv {
            self.limit(now, x_recv);
        } else {
            self.limit(now, self.x_bps / 2.0);
        }
        self.restart(now);
    }

    /// W_init / R (RFC 5348 §4.2).
    fn initial_rate(&self) -> f64 {
        let window = (4.0 * self.segment).min((2.0 * self.segment).max(4380.0));
        self.rtt.map_or(self.segment, |rtt| window / rtt)
    }

    /// Whether the sender had too little to send during the whole round trip up to the packet that feedback answers
    /// (RFC 5348 §8.2.1: t_old = t_new - R).
    fn was_data_limited(&mut self, sent: Time) -> bool {
        let rtt = (1e9 * self.rtt.unwrap_or(0.0)) as u64;
        let since = Time::from_nanos(sent.as_nanos().saturating_sub(rtt));
        let limited = !self.held_back.iter().any(|&(from, until)| from <= sent && since < until);
        self.held_back.retain(|&(_, until)| until > since);
        limited
    }

    /// recv_limit (RFC 5348 §4.3, step 4).
    fn receive_limit(&mut self, now: Time, x_recv: f64, data_limited: bool, more_loss: bool) -> f64 {
        if !data_limited {
            self.x_recv_set.push_back((now, x_recv));
            let old = Span::from_nanos((2e9 * self.rtt.unwrap_or(0.0)) as u64);
            self.x_recv_set.retain(|&(at, _)| now.since(at) <= old);
            return 2.0 * self.most_received();
        }
        if more_loss {
            self.x_recv_set.iter_mut().for_each(|(_, x)| *x /= 2.0);
            self.maximize(now, AFTER_LOSS * x_recv);
            self.most_received()
        } else {
            self.maximize(now, x_recv);
            2.0 * self.most_received()
        }
    }

    /// Maximize X_recv_set(): only the largest stays, with the stamp of now.
    fn maximize(&mut self, now: Time, x_recv: f64) {
        self.x_recv_set.retain(|(_, x)| x.is_finite());
        let most = self.most_received().max(x_recv);
        self.x_recv_set = VecDeque::from([(now, most)]);
    }

    fn most_received(&self) -> f64 {
        self.x_recv_set.iter().fold(0.0, |most, &(_, x)| x.max(most))
    }

    /// The rate by the equation, or in slow start (RFC 5348 §4.3, step 4).
    fn set_rate(&mut self, now: Time, recv_limit: f64) {
        let rtt = self.rtt.unwrap_or(1.0);
        if self.p > 0.0 {
            self.x_bps = throughput(self.segment, rtt, self.p);
            self.x = self.x_bps.min(recv_limit).max(self.least);
        } else if now.since(self.doubled_at).as_secs_f64() >= rtt {
            self.x = (2.0 * self.x).min(recv_limit).max(self.initial_rate());
            self.doubled_at = now;
        }
    }

    /// Update_Limits() (RFC 5348 §4.4).
    fn limit(&mut self, now: Time, limit: f64) {
        let limit = limit.max(self.least);
        self.x_recv_set = VecDeque::from([(now, limit / 2.0)]);
        self.set_rate(now, limit);
    }

    fn restart(&mut self, now: Time) {
        self.nofeedback = Some(now + self.timeout());
        self.is_idle = true;
    }
}

#[cfg(test)]
mod tests;
