//! Slow start (RFC 5681 §3.1), and what may end it before a loss does.

mod hystart;
mod hystart_plus_plus;

use cellwind_engine::time::Time;

use hystart::Hystart;
use hystart_plus_plus::HystartPlusPlus;

use super::{NewAck, Windows};
use crate::tcp::amount::{PerAck, Segments};
use crate::tcp::settings::{SlowStartExit, SlowStartSettings};

/// Slow start of a connection.
#[derive(Clone, Debug)]
pub struct SlowStart {
    per_ack: PerAck,
    exit: Exit,
    /// A timeout began this slow start.
    follows_timeout: bool,
}

#[derive(Clone, Debug)]
enum Exit {
    None,
    Hystart(Hystart),
    HystartPlusPlus(HystartPlusPlus),
}

impl SlowStart {
    pub fn new(settings: &SlowStartSettings) -> Self {
        let exit = match settings.exit {
            SlowStartExit::None => Exit::None,
            SlowStartExit::Hystart => Exit::Hystart(Hystart::default()),
            SlowStartExit::HystartPlusPlus => Exit::HystartPlusPlus(HystartPlusPlus::default()),
        };
        SlowStart { per_ack: settings.per_ack, exit, follows_timeout: false }
    }

    /// Looks at an ACK of new data, and lowers the threshold to the window where slow start is over.
    #[inline]
    pub fn watch(&mut self, windows: &mut Windows, ack: &NewAck) {
        if !windows.in_slow_start() {
            return;
        }
        let is_over = match &mut self.exit {
            Exit::None => false,
            Exit::Hystart(hystart) => hystart.is_over(windows.cwnd, ack),
            Exit::HystartPlusPlus(hystart) => hystart.is_over(windows.ssthresh, ack),
        };
        if is_over {
            windows.ssthresh = windows.cwnd;
        }
    }

    /// Lets the window grow, and returns the bytes of the ACK that remain for congestion avoidance.
    #[inline]
    pub fn grow(&mut self, windows: &mut Windows, ack: &NewAck) -> u64 {
        let divisor = match &mut self.exit {
            Exit::None => 1,
            Exit::Hystart(hystart) => {
                hystart.begin_round(ack);
                1
            }
            Exit::HystartPlusPlus(hystart) => hystart.growth_divisor(),
        };
        let counted = match self.per_ack {
            PerAck::Segments(Segments(1)) => {
                windows.cwnd += ack.acked.min(ack.mss) / divisor; // RFC 5681 §3.1 (2)
                return 0;
            }
            PerAck::Segments(_) if self.follows_timeout => ack.acked.min(ack.mss), // RFC 3465 §2.3: L = 1
            PerAck::Segments(Segments(most)) => ack.acked.min(u64::from(most) * ack.mss),
            PerAck::All => ack.acked,
        };
        let growth = (counted / divisor).min(windows.ssthresh - windows.cwnd);
        windows.cwnd += growth;
        if windows.in_slow_start() {
            return 0;
        }
        self.follows_timeout = false;
        counted - growth
    }

    /// The retransmission timer expired.
    pub fn on_timeout(&mut self, now: Time, snd_nxt: u64) {
        self.follows_timeout = true;
        if let Exit::Hystart(hystart) = &mut self.exit {
            hystart.restart(now, snd_nxt);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::ack;
    use super::*;

    fn slow_start(per_ack: PerAck) -> SlowStart {
        SlowStart::new(&SlowStartSettings { per_ack, exit: SlowStartExit::None })
    }

    #[test]
    fn the_window_doubles_with_each_round_trip() {
        let mut windows = Windows { cwnd: 1000, ssthresh: 8000 };
        while windows.cwnd < 8000 {
            let before = windows.cwnd;
            let mut slow_start = slow_start(PerAck::default());
            let ack = ack(Time::ZERO, &windows);
            (0..before / 1000).for_each(|_| assert_eq!(slow_start.grow(&mut windows, &ack), 0));
            assert_eq!(windows.cwnd, 2 * before);
        }
    }

    #[test]
    fn an_ack_of_several_segments_counts_as_much_as_is_allowed() {
        for (per_ack, expected) in
            [(PerAck::default(), 2000), (PerAck::Segments(Segments(2)), 3000), (PerAck::All, 6000)]
        {
            let mut windows = Windows { cwnd: 1000, ssthresh: 8000 };
            let ack = NewAck { acked: 5000, ..ack(Time::ZERO, &windows) };
            assert_eq!(slow_start(per_ack).grow(&mut windows, &ack), 0);
            assert_eq!(windows.cwnd, expected);
        }
    }

    #[test]
    fn after_a_timeout_an_ack_counts_as_one_segment_until_slow_start_is_over() {
        let mut slow_start = slow_start(PerAck::Segments(Segments(2)));
        let mut windows = Windows { cwnd: 1000, ssthresh: 3000 };
        slow_start.on_timeout(Time::ZERO, 1);
        for expected in [2000, 3000] {
            let ack = NewAck { acked: 2000, ..ack(Time::ZERO, &windows) };
            slow_start.grow(&mut windows, &ack);
            assert_eq!(windows.cwnd, expected); // RFC 3465 §2.3
        }
        windows.ssthresh = 9000;
        let ack = NewAck { acked: 2000, ..ack(Time::ZERO, &windows) };
        slow_start.grow(&mut windows, &ack);
        assert_eq!(windows.cwnd, 5000);
    }

    #[test]
    fn what_is_left_at_the_threshold_counts_in_avoidance() {
        let mut windows = Windows { cwnd: 6000, ssthresh: 8000 };
        let ack = NewAck { acked: 5000, ..ack(Time::ZERO, &windows) };
        assert_eq!(slow_start(PerAck::All).grow(&mut windows, &ack), 3000);
        assert_eq!(windows.cwnd, 8000);
    }
}
