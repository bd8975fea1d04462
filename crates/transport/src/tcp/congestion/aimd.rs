//! Slow start and congestion avoidance (RFC 5681 §3.1).

use super::{CongestionControl, Windows};

/// Additive increase by one segment a round trip, multiplicative decrease by half.
#[derive(Clone, Copy, Debug)]
pub struct Aimd;

impl CongestionControl for Aimd {
    fn on_ack(&mut self, windows: &mut Windows, acked: u64, mss: u64) {
        windows.cwnd += if windows.cwnd < windows.ssthresh {
            acked.min(mss) // RFC 5681 §3.1 (2)
        } else {
            (mss * mss / windows.cwnd).max(1) // RFC 5681 §3.1 (3), and the rule to round up to one byte
        };
    }

    fn ssthresh_after_loss(&mut self, _: &Windows, flight: u64, mss: u64) -> u64 {
        (flight / 2).max(2 * mss) // RFC 5681 §3.1 (4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_start_doubles_and_avoidance_adds_one_segment_per_window() {
        let mut windows = Windows { cwnd: 1000, ssthresh: 8000 };
        while windows.cwnd < 8000 {
            let before = windows.cwnd;
            (0..before / 1000).for_each(|_| Aimd.on_ack(&mut windows, 1000, 1000));
            assert_eq!(windows.cwnd, 2 * before);
        }
        (0..8).for_each(|_| Aimd.on_ack(&mut windows, 1000, 1000));
        assert!((8900..=9000).contains(&windows.cwnd), "{}", windows.cwnd);
    }

    #[test]
    fn an_ack_of_several_segments_counts_once() {
        let mut windows = Windows { cwnd: 1000, ssthresh: 8000 };
        Aimd.on_ack(&mut windows, 5000, 1000);
        assert_eq!(windows.cwnd, 2000);
    }

    #[test]
    fn the_threshold_is_half_the_flight_but_two_segments_at_least() {
        let windows = Windows { cwnd: 50_000, ssthresh: u64::MAX };
        assert_eq!(Aimd.ssthresh_after_loss(&windows, 20_000, 1000), 10_000);
        assert_eq!(Aimd.ssthresh_after_loss(&windows, 1000, 1000), 2000);
    }
}
