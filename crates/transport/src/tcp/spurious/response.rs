//! Responses: what a reaction that proved spurious leaves of the windows.

use super::Reaction;
use crate::tcp::congestion::Windows;
use crate::tcp::settings::Response;

/// The sender when it learns that a reaction was spurious.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Learnt {
    /// The windows that the reaction has left.
    pub windows: Windows,
    /// FlightSize with SND.NXT = SND.MAX.
    pub flight: u64,
    /// Bytes that the ACK newly acknowledges.
    pub acked: u64,
    /// IW: an initial window.
    pub initial_window: u64,
    pub mss: u64,
}

impl Response {
    /// The windows to go on with.
    pub(crate) fn windows(self, reaction: &Reaction, learnt: &Learnt) -> Windows {
        let old = reaction.windows;
        let half = (old.cwnd / 2).max(2 * learnt.mss); // RFC 5681 §3.1 (4): two segments at least
        match self {
            Response::Option1 => old,
            Response::Option2 => Windows { ssthresh: half, cwnd: half },
            Response::Option3 => Windows { ssthresh: half, cwnd: learnt.mss },
            Response::Option4 => Windows { ssthresh: old.cwnd, cwnd: old.cwnd },
            Response::ByTimeouts | Response::ByTimeoutsHalved if reaction.timeouts <= 1 => old,
            Response::ByTimeouts if reaction.timeouts == 2 => Windows { ssthresh: half, cwnd: half },
            Response::ByTimeoutsHalved if reaction.timeouts == 2 => Windows { ssthresh: old.cwnd, cwnd: half },
            Response::ByTimeouts | Response::ByTimeoutsHalved => learnt.windows,
            Response::Rfc4015 => Windows {
                // RFC 4015 §3.1 (0): pipe_prev; (9): FlightSize + min(bytes_acked, IW)
                ssthresh: old.ssthresh.max(reaction.flight),
                cwnd: (learnt.flight + learnt.acked.min(learnt.initial_window)).max(learnt.mss),
            },
            Response::Linux => {
                Windows { ssthresh: learnt.windows.ssthresh.max(old.ssthresh), cwnd: learnt.windows.cwnd.max(old.cwnd) }
            }
        }
    }

    /// Whether the state of congestion control is that from before, and not a new one for the windows.
    pub(crate) fn restores(self, reaction: &Reaction) -> bool {
        match self {
            Response::Option1 | Response::Linux => true,
            Response::ByTimeouts | Response::ByTimeoutsHalved => reaction.timeouts <= 1,
            Response::Option2 | Response::Option3 | Response::Option4 | Response::Rfc4015 => false,
        }
    }

    /// Whether the ACK that brings the verdict still lets the window grow. RFC 4015 has counted it already.
    pub(crate) fn grows(self) -> bool {
        self != Response::Rfc4015
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::congestion::Cause;
    use cellwind_engine::time::Time;

    /// Ten segments in flight in slow start; a timeout has left a threshold of five and a window of one.
    fn after(timeouts: u32, response: Response) -> (u64, u64) {
        let windows = Windows { cwnd: 10_000, ssthresh: 64_000 };
        let cause = Cause::Timeout;
        let reaction = Reaction {
            cause,
            timeouts,
            windows,
            flight: 10_000,
            snd_una: 1,
            snd_max: 10_001,
            first_end: 1001,
            is_repeated: timeouts > 1,
            was_recovering: false,
            retransmit_ts: 1,
            at: Time::ZERO,
        };
        let windows = Windows { cwnd: 1000, ssthresh: 5000 };
        let learnt = Learnt { windows, flight: 8000, acked: 2000, initial_window: 4000, mss: 1000 };
        let windows = response.windows(&reaction, &learnt);
        (windows.ssthresh, windows.cwnd)
    }

    #[test]
    fn the_options_are_those_of_the_paper() {
        // Gurtov and Ludwig 2003, III.B: ssthresh and cwnd for cwnd_old = 10 and ssthresh_old = 64 segments.
        assert_eq!(after(1, Response::Option1), (64_000, 10_000));
        assert_eq!(after(1, Response::Option2), (5000, 5000));
        assert_eq!(after(1, Response::Option3), (5000, 1000));
        assert_eq!(after(1, Response::Option4), (10_000, 10_000));
    }

    #[test]
    fn the_original_response_gives_back_less_after_each_timeout() {
        let by_timeouts = [1, 2, 3, 4].map(|timeouts| after(timeouts, Response::ByTimeouts));
        assert_eq!(by_timeouts, [(64_000, 10_000), (5000, 5000), (5000, 1000), (5000, 1000)]);
        assert_eq!(after(2, Response::ByTimeoutsHalved), (10_000, 5000)); // Gurtov 2001, section 3
    }

    #[test]
    fn rfc_4015_restores_the_pipe_and_adds_what_was_acknowledged() {
        // pipe_prev = max(10, 64) segments; FlightSize 8 and two acknowledged, fewer than the initial window.
        assert_eq!(after(1, Response::Rfc4015), (64_000, 10_000));
    }
}
