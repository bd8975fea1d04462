//! Veno (Fu and Liew 2003): Reno that asks Vegas's measure of the queues on the way whether a loss was congestion.
//!
//! With N < β segments waiting, a loss is taken for a random one and takes a fifth of the window; otherwise it takes half, and
//! the window grows at half of Reno's pace.

use cellwind_engine::time::Span;

use super::{Cause, CongestionControl, NewAck, Windows, reduced};
use crate::tcp::settings::{Decrease, VenoSettings};

#[derive(Clone, Copy, Debug)]
pub struct Veno {
    beta: u32,
    /// The shortest round trip since the last loss.
    base_rtt: Option<Span>,
    /// The segment whose acknowledgement ends the present round trip.
    begin: u64,
    rtt_sum: Span,
    rtt_count: u32,
    /// N of the last round trip is β or more.
    is_congested: bool,
    /// With a queue on the way only every second ACK lets the window grow.
    skips: bool,
}

impl Veno {
    pub fn new(settings: &VenoSettings) -> Self {
        Veno {
            beta: settings.beta,
            base_rtt: None,
            begin: 0,
            rtt_sum: Span::ZERO,
            rtt_count: 0,
            is_congested: false,
            skips: false,
        }
    }

    fn measure(&mut self, windows: &Windows, ack: &NewAck) {
        if let Some(rtt) = ack.rtt {
            self.base_rtt = Some(self.base_rtt.map_or(rtt, |base| base.min(rtt)));
            self.rtt_sum += rtt;
            self.rtt_count += 1;
        }
        if ack.snd_una <= self.begin {
            return;
        }
        if let Some(base) = self.base_rtt.filter(|_| self.rtt_count > 0) {
            let rtt = self.rtt_sum / u64::from(self.rtt_count);
            self.is_congested = queued(windows.cwnd, base, rtt) >= u128::from(u64::from(self.beta) * ack.mss);
        }
        (self.begin, self.rtt_sum, self.rtt_count) = (ack.snd_nxt, Span::ZERO, 0);
    }
}

/// N in bytes: Actual · (RTT − BaseRTT) = cwnd · (RTT − BaseRTT) / RTT (§II.A).
fn queued(cwnd: u64, base: Span, rtt: Span) -> u128 {
    let beyond = rtt.as_nanos().saturating_sub(base.as_nanos());
    u128::from(cwnd) * u128::from(beyond) / u128::from(rtt.as_nanos().max(1))
}

impl CongestionControl for Veno {
    fn slow_start(&mut self, windows: &mut Windows, ack: &NewAck) -> bool {
        self.measure(windows, ack);
        false
    }

    fn on_ack(&mut self, windows: &mut Windows, ack: &NewAck) {
        self.measure(windows, ack);
        // §II.B: with N below β each ACK adds a share of a segment, otherwise every other one does
        self.skips = self.is_congested && !self.skips;
        if !self.skips {
            windows.cwnd += (ack.mss * ack.mss / windows.cwnd).max(1);
        }
    }

    fn on_ack_while_not_limiting(&mut self) {}

    /// §II.C: four fifths after a loss that looks random, half otherwise and after a timeout.
    fn ssthresh_after(&mut self, cause: Cause, windows: &Windows, flight: u64, mss: u64) -> u64 {
        let is_random = matches!(cause, Cause::DuplicateAcks | Cause::LostAgain) && !self.is_congested;
        self.base_rtt = None; // §II.A: measured anew after each loss
        let kept = |bytes: u64| if is_random { bytes * 4 / 5 } else { bytes / 2 };
        reduced(Decrease::Flight, windows, flight, mss, kept)
    }

    fn on_timeout(&mut self, _: &mut Windows, _: u64) {
        self.base_rtt = None;
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;
    use cellwind_engine::time::Time;

    fn round(veno: &mut Veno, windows: &mut Windows, rtt_ms: u64) {
        let begin = veno.begin;
        let ack = |una, windows: &Windows| NewAck {
            snd_una: una,
            snd_nxt: begin + 100_000,
            rtt: Some(Span::from_millis(rtt_ms)),
            ..testing::ack(Time::ZERO, windows)
        };
        for n in 0..10 {
            let ack = ack(begin.saturating_sub(9 - n), windows);
            veno.on_ack(windows, &ack);
        }
        let last = ack(begin + 1, windows);
        veno.measure(windows, &last);
    }

    #[test]
    fn a_loss_without_a_queue_takes_a_fifth_and_with_one_half() {
        // A window of 10 segments and a base of 100 ms: N = 10 (1 − 100/RTT): 2 at 125 ms, 3.3 at 150 ms; β = 3.
        for (rtt, expected) in [(100, 8000), (125, 8000), (150, 5000)] {
            let mut windows = Windows { cwnd: 10_000, ssthresh: 2000 };
            let mut veno = Veno::new(&VenoSettings::default());
            veno.base_rtt = Some(Span::from_millis(100));
            round(&mut veno, &mut windows, rtt);
            windows.cwnd = 10_000;
            let mut again = veno;
            assert_eq!(veno.ssthresh_after(Cause::DuplicateAcks, &windows, 10_000, 1000), expected, "{rtt} ms");
            assert_eq!(veno.base_rtt, None);
            assert_eq!(again.ssthresh_after(Cause::Timeout, &windows, 10_000, 1000), 5000);
        }
    }

    #[test]
    fn a_queue_halves_the_pace_of_growth() {
        for (is_congested, expected) in [(false, 10_100 + 99), (true, 10_100)] {
            let mut veno = Veno { is_congested, begin: u64::MAX, ..Veno::new(&VenoSettings::default()) };
            let mut windows = Windows { cwnd: 10_000, ssthresh: 2000 };
            let ack = testing::ack(Time::ZERO, &windows);
            (0..2).for_each(|_| veno.on_ack(&mut windows, &ack));
            assert_eq!(windows.cwnd, expected); // 10⁶/10⁴ = 100, then 10⁶/10100 = 99
        }
    }
}
