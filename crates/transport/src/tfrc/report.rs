//! The receiver's reports (RFC 5348 §6): what it measures and when it tells.

use std::collections::VecDeque;

use cellwind_engine::time::{Span, Time};

use super::equation::loss_rate_for;
use super::losses::{LossHistory, Told};
use super::rate::Feedback;

/// What a data packet tells the receiver's half (RFC 5348 §3.2.1).
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// The packet's number, from 0.
    pub number: u64,
    /// When it was sent.
    pub sent: Time,
    /// R of the sender; none before it has measured any.
    pub rtt: Option<Span>,
    /// Payload bytes.
    pub bytes: u64,
}

/// The receiver's half of the rate control.
#[derive(Clone, Debug)]
pub struct Reports {
    segment: f64,
    losses: LossHistory,
    /// Arrivals of the last round trip.
    arrivals: VecDeque<(Time, u64)>,
    /// The packet with the highest number: when it was sent and when it arrived.
    latest: Option<(Time, Time)>,
    rtt: Span,
    /// The largest X_recv so far.
    most_received: f64,
    /// p as told last.
    told: f64,
    /// When feedback is due; none while nothing arrives.
    timer: Option<Time>,
    /// Whether a packet has arrived since the last feedback.
    is_news: bool,
}

impl Reports {
    /// A receiver of packets of `segment` bytes, before the first.
    pub fn new(segment: u64, discounting: bool) -> Self {
        Reports {
            segment: segment as f64,
            losses: LossHistory::new(discounting),
            arrivals: VecDeque::new(),
            latest: None,
            rtt: Span::ZERO,
            most_received: 0.0,
            told: 0.0,
            timer: None,
            is_news: false,
        }
    }

    /// Whether packet `number` would be news: one that comes after three later ones counts as lost.
    pub fn is_new(&self, number: u64) -> bool {
        self.losses.is_new(number)
    }

    /// Whatever is missing below `number` did not fall to congestion.
    pub fn forgive_below(&mut self, number: u64) {
        self.losses.forgive_below(number);
    }

    /// A data packet arrives; gives the feedback that is due at once.
    pub fn on_packet(&mut self, now: Time, arrival: Arrival) -> Option<Feedback> {
        let is_first = self.latest.is_none();
        if is_first || arrival.number >= self.losses.highest() {
            self.latest = Some((arrival.sent, now));
            self.rtt = arrival.rtt.unwrap_or(self.rtt);
        }
        self.arrivals.push_back((now, arrival.bytes));
        self.forget(now);
        self.is_news = true;
        let told = self.losses.on_packet(now, arrival.number, self.rtt);
        if told == Told::FirstEvent {
            self.begin_history(now);
        }
        // RFC 5348 §6.1: at once for the first packet, a new loss event or a higher rate of them, and after a silence
        let at_once = is_first || self.timer.is_none() || told != Told::Nothing;
        (at_once || self.losses.loss_event_rate() > self.told).then(|| self.report(now))
    }

    /// The feedback timer has expired; gives feedback when a packet has arrived since the last.
    pub fn on_timeout(&mut self, now: Time) -> Option<Feedback> {
        if self.timer.is_none_or(|due| due > now) {
            return None;
        }
        self.timer = None;
        self.is_news.then(|| self.report(now))
    }

    /// When feedback is due.
    pub fn next_timeout(&self) -> Option<Time> {
        self.timer
    }

    /// R as the sender told it.
    pub fn rtt(&self) -> Span {
        self.rtt
    }

    /// Loss events so far.
    pub fn loss_events(&self) -> u64 {
        self.losses.events()
    }

    fn report(&mut self, now: Time) -> Feedback {
        let x_recv = self.x_recv(now);
        self.most_received = self.most_received.max(x_recv);
        self.told = self.losses.loss_event_rate();
        self.is_news = false;
        // RFC 5348 §6.2: once per round trip; before the sender knows it, once per packet
        self.timer = (!self.rtt.is_zero()).then(|| now + self.rtt);
        let (sent, arrived) = self.latest.unwrap_or((now, now));
        Feedback { sent, delay: now.since(arrived), x_recv, p: self.told }
    }

    /// What arrived in the last round trip, per second (RFC 5348 §6.2); zero while no round trip is known (§6.3).
    fn x_recv(&mut self, now: Time) -> f64 {
        self.forget(now);
        if self.rtt.is_zero() {
            return 0.0;
        }
        let bytes: u64 = self.arrivals.iter().map(|&(_, bytes)| bytes).sum();
        bytes as f64 / self.rtt.as_secs_f64()
    }

    /// RFC 5348 §6.3.1: the first interval is what the equation needs for the rate that was reached, at least half a packet
    /// per round trip.
    fn begin_history(&mut self, now: Time) {
        let rtt = self.rtt.as_secs_f64().max(1e-9);
        let target = self.most_received.max(self.x_recv(now)).max(0.5 * self.segment / rtt);
        self.losses.set_first_interval(1.0 / loss_rate_for(self.segment, rtt, target));
    }

    fn forget(&mut self, now: Time) {
        while self.arrivals.front().is_some_and(|&(at, _)| at + self.rtt <= now && self.arrivals.len() > 1) {
            self.arrivals.pop_front();
        }
    }
}

#[cfg(test)]
mod tests;
