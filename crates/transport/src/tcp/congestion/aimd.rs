//! Additive increase by one segment a round trip, multiplicative decrease by half (RFC 5681 §3.1).

use super::{Cause, CongestionControl, NewAck, Windows, reduced};
use crate::tcp::settings::{AfterMark, AimdSettings, Decrease, Halving, Increase};

#[derive(Clone, Copy, Debug)]
pub struct Aimd {
    increase: Increase,
    decrease: Halving,
    after_mark: AfterMark,
    /// Bytes acknowledged that have not made the window grow yet.
    counted: u64,
    /// What an increase leaves beside whole bytes, in parts of 2^16.
    fraction: u64,
}

impl Aimd {
    pub fn new(settings: &AimdSettings) -> Self {
        Aimd {
            increase: settings.increase,
            decrease: settings.decrease,
            after_mark: settings.after_mark,
            counted: 0,
            fraction: 0,
        }
    }
}

impl CongestionControl for Aimd {
    fn on_ack(&mut self, windows: &mut Windows, ack: &NewAck) {
        match self.increase {
            // ns-2's window is a number with decimals: nothing is lost by rounding
            Increase::PerAck if self.decrease == Halving::UsedWindow => {
                let increase = ((ack.mss * ack.mss) << 16) / windows.cwnd + self.fraction;
                windows.cwnd += increase >> 16;
                self.fraction = increase & 0xffff;
            }
            // RFC 5681 §3.1 (3), and the rule to round up to one byte
            Increase::PerAck => windows.cwnd += (ack.mss * ack.mss / windows.cwnd).max(1),
            Increase::PerWindow => {
                self.counted += ack.acked;
                if self.counted >= windows.cwnd {
                    self.counted -= windows.cwnd;
                    windows.cwnd += ack.mss; // RFC 3465 §2.1
                }
            }
        }
    }

    fn on_ack_while_not_limiting(&mut self) {}

    fn ssthresh_after(&mut self, cause: Cause, windows: &Windows, flight: u64, mss: u64) -> u64 {
        self.counted = 0;
        let decrease = match self.decrease {
            Halving::Flight => Decrease::Flight,
            Halving::Window | Halving::UsedWindow => Decrease::Window,
        };
        match (cause, self.after_mark) {
            // RFC 8511 §3: marks come from short queues, which half a window would leave empty
            (Cause::Mark, AfterMark::Abe) => reduced(decrease, windows, flight, mss, |bytes| bytes * 4 / 5),
            _ => reduced(decrease, windows, flight, mss, |bytes| bytes / 2),
        }
    }

    fn window_after(&self, before: u64, ssthresh: u64, _: u64) -> u64 {
        match self.decrease {
            Halving::Flight | Halving::Window => ssthresh, // RFC 5681 §3.2 (6)
            Halving::UsedWindow if self.after_mark == AfterMark::Abe => ssthresh,
            Halving::UsedWindow => before / 2, // TcpAgent::slowdown() of ns-2, with precisionReduce_
        }
    }

    fn on_timeout(&mut self, _: &mut Windows, _: u64) {}
}

#[cfg(test)]
mod tests {
    use super::super::testing::ack;
    use super::*;
    use cellwind_engine::time::Time;

    /// What the window becomes when it is acknowledged segment by segment.
    fn round(aimd: &mut Aimd, windows: &mut Windows) {
        let ack = ack(Time::ZERO, windows);
        (0..windows.cwnd / 1000).for_each(|_| aimd.on_ack(windows, &ack));
    }

    #[test]
    fn avoidance_adds_about_one_segment_per_window_or_exactly_one() {
        let mut windows = Windows { cwnd: 8000, ssthresh: 8000 };
        round(&mut Aimd::new(&AimdSettings::default()), &mut windows);
        assert!((8900..=9000).contains(&windows.cwnd), "{}", windows.cwnd);
        let mut per_window = Aimd::new(&AimdSettings { increase: Increase::PerWindow, ..AimdSettings::default() });
        let mut windows = Windows { cwnd: 8000, ssthresh: 8000 };
        for expected in [9000, 10_000, 11_000] {
            round(&mut per_window, &mut windows);
            assert_eq!(windows.cwnd, expected);
        }
    }

    #[test]
    fn delayed_acks_slow_the_increase_per_ack_only() {
        for (increase, expected) in [(Increase::PerAck, 8488), (Increase::PerWindow, 9000)] {
            let mut aimd = Aimd::new(&AimdSettings { increase, ..AimdSettings::default() });
            let mut windows = Windows { cwnd: 8000, ssthresh: 8000 };
            (0..4).for_each(|_| {
                let ack = NewAck { acked: 2000, ..ack(Time::ZERO, &windows) };
                aimd.on_ack(&mut windows, &ack);
            });
            assert_eq!(windows.cwnd, expected, "{increase:?}"); // 8000 + 125 + 123 + 121 + 119, by hand, or one segment
        }
    }

    #[test]
    fn the_threshold_is_half_the_flight_or_window_but_two_segments_at_least() {
        let windows = Windows { cwnd: 51_000, ssthresh: u64::MAX };
        let mut aimd = Aimd::new(&AimdSettings::default());
        assert_eq!(aimd.ssthresh_after(Cause::DuplicateAcks, &windows, 20_000, 1000), 10_000);
        assert_eq!(aimd.ssthresh_after(Cause::DuplicateAcks, &windows, 1000, 1000), 2000);
        let mut aimd = Aimd::new(&AimdSettings { decrease: Halving::Window, ..AimdSettings::default() });
        assert_eq!(aimd.ssthresh_after(Cause::DuplicateAcks, &windows, 20_000, 1000), 25_000); // 51 / 2, whole segments
    }
}
