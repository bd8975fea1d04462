//! Samples of a path that delivers at a rate of its own, for the tests of the state machines.

use std::collections::VecDeque;

use cellwind_engine::time::{Span, Time};

use crate::tcp::congestion::{CongestionControl, Windows};
use crate::tcp::delivery_rate::RateSample;

pub const MSS: u64 = 1000;
/// 1 Mbyte/s and 100 ms: a bandwidth-delay product of 100 segments.
pub const RATE: f64 = 1e6;
pub const RTT: Span = Span::from_millis(100);
pub const BDP: u64 = 100 * MSS;

/// A path seen from the ACKs, ten of which come in each round trip.
pub struct Path {
    pub now: Time,
    pub windows: Windows,
    pub delivered: u64,
    /// The round trip that the samples show.
    pub rtt: Span,
    pub in_flight: u64,
    /// What had been delivered at each of the last ten ACKs, the newest last.
    history: VecDeque<u64>,
}

impl Path {
    pub fn new(algorithm: &mut impl CongestionControl) -> Self {
        let windows = Windows { cwnd: 10 * MSS, ssthresh: u64::MAX };
        algorithm.on_connected(&windows, Some(RTT), Time::ZERO, MSS);
        let history = VecDeque::from([0; 10]);
        Path { now: Time::ZERO, windows, delivered: 0, rtt: RTT, in_flight: 10 * MSS, history }
    }

    /// The sample of an ACK of `newly_acked` bytes, which were sent a round trip ago.
    pub fn sample(&self, rate: f64, newly_acked: u64) -> RateSample {
        RateSample {
            now: self.now,
            mss: MSS,
            total_delivered: self.delivered,
            in_flight: self.in_flight,
            prior_in_flight: self.in_flight + newly_acked,
            is_window_limited: true,
            in_recovery: false,
            rate: Some(rate),
            delivered: self.delivered - self.history[0],
            prior_delivered: self.history[0],
            newly_acked,
            lost: 0,
            tx_in_flight: self.in_flight + newly_acked,
            is_app_limited: false,
            rtt: Some(self.rtt),
        }
    }

    /// The next ACK, changed by `change`.
    pub fn step_with(
        &mut self,
        algorithm: &mut impl CongestionControl,
        rate: f64,
        change: impl FnOnce(&mut RateSample),
    ) {
        self.now += self.rtt / 10;
        let acked = (rate * self.rtt.as_secs_f64()) as u64 / 10;
        self.delivered += acked;
        let mut sample = self.sample(rate, acked);
        change(&mut sample);
        algorithm.on_sample(&mut self.windows, &sample);
        self.history.pop_front();
        self.history.push_back(self.delivered);
    }

    /// A round trip at `rate` with `in_flight` bytes in the network throughout.
    pub fn round(&mut self, algorithm: &mut impl CongestionControl, rate: f64, in_flight: u64) {
        self.in_flight = in_flight;
        (0..10).for_each(|_| self.step_with(algorithm, rate, |_| {}));
    }
}
