//! Vegas (Brakmo and Peterson 1995): the window follows the number of segments that wait in queues on the way, which the
//! round trips tell before anything is lost.
//!
//! Where the paper leaves a choice, the arithmetic is that of ns-2's tcp-vegas.cc. Windows count in segments there, in bytes
//! here. Of floating point only + − × ÷ are used, whose results IEEE 754 determines to the last bit.

use cellwind_engine::time::Span;

use super::{Cause, CongestionControl, NewAck, Windows};
use crate::tcp::settings::VegasSettings;

#[derive(Clone, Copy, Debug)]
pub struct Vegas {
    settings: VegasSettings,
    /// BaseRTT: the shortest round trip, or that of a segment which was alone on its way.
    base_rtt: Option<Span>,
    /// The distinguished segment: the round ends when it is acknowledged. All of the rest is about the present round.
    begin: u64,
    rtt_sum: Span,
    rtt_count: u32,
    growth: Growth,
    /// Slow start: whether this is a round in which the window grows; it does in every other.
    is_growing_round: bool,
    /// What is left of the increase that whole bytes could not show.
    remainder: u64,
    /// The window is reduced for a segment that was lost again.
    lost_again: bool,
}

/// What each ACK of the round adds to the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Growth {
    Nothing,
    /// A segment: the window doubles.
    Segment,
    /// A segment for all ACKs of a window that is so large.
    Share {
        window: u64,
    },
}

impl Vegas {
    pub fn new(settings: &VegasSettings) -> Self {
        Vegas {
            settings: *settings,
            base_rtt: None,
            begin: 0,
            rtt_sum: Span::ZERO,
            rtt_count: 0,
            growth: Growth::Nothing,
            is_growing_round: true,
            remainder: 0,
            lost_again: false,
        }
    }

    /// An ACK of new data, in slow start or not.
    fn advance(&mut self, windows: &mut Windows, ack: &NewAck) {
        if ack.snd_una > self.begin {
            self.end_round(windows, ack);
        }
        if self.growth == Growth::Segment && !windows.in_slow_start() {
            self.growth = Growth::Nothing;
        }
        self.grow(windows, ack);
        if let Some(rtt) = ack.rtt {
            self.rtt_sum += rtt;
            self.rtt_count += 1;
            self.base_rtt = Some(self.base_rtt.map_or(rtt, |base| base.min(rtt)));
        }
    }

    /// The distinguished segment is acknowledged: judges the round, and begins another.
    fn end_round(&mut self, windows: &mut Windows, ack: &NewAck) {
        let rtt = if self.rtt_count > 0 { Some(self.rtt_sum / u64::from(self.rtt_count)) } else { ack.rtt };
        if let Some(rtt) = rtt.filter(|&rtt| rtt > Span::ZERO) {
            let sent = ack.snd_nxt - self.begin.max(1); // bytes sent since the round began
            if sent <= ack.mss || self.base_rtt.is_none_or(|base| rtt < base) {
                self.base_rtt = Some(rtt); // alone on its way it met no queue of ours: the path itself is so long
            }
            self.judge(windows, ack, rtt, sent);
        }
        self.begin = ack.snd_nxt;
        self.rtt_sum = Span::ZERO;
        self.rtt_count = 0;
    }

    fn judge(&mut self, windows: &mut Windows, ack: &NewAck, rtt: Span, sent: u64) {
        let VegasSettings { alpha, beta, gamma } = self.settings;
        let mss = ack.mss;
        let diff = self.diff(ack.snd_nxt - ack.snd_una + mss, sent, rtt, mss);
        if windows.in_slow_start() {
            // Brakmo and Peterson §3.3: the window doubles every other round, so that the one between can be compared.
            self.is_growing_round = !self.is_growing_round;
            self.growth = Growth::Nothing;
            if self.is_growing_round && diff > i64::from(gamma) {
                windows.ssthresh = 2 * mss;
                windows.cwnd = (windows.cwnd - windows.cwnd / 8).max(2 * mss);
            } else if self.is_growing_round {
                self.growth = Growth::Segment;
            }
        } else if diff > i64::from(beta) {
            windows.cwnd = (windows.cwnd - mss.min(windows.cwnd)).max(2 * mss);
            self.growth = Growth::Nothing;
        } else if diff < i64::from(alpha) {
            self.growth = Growth::Share { window: windows.cwnd };
        } else {
            self.growth = Growth::Nothing;
        }
        self.remainder = 0;
    }

    /// Diff = (Expected − Actual) · BaseRTT: the segments that wait in queues (Brakmo and Peterson §3.2), rounded.
    fn diff(&self, window: u64, sent: u64, rtt: Span, mss: u64) -> i64 {
        let base = self.base_rtt.unwrap_or(rtt).as_secs_f64();
        let expected = (window as f64 / mss as f64) / base;
        let actual = (sent as f64 / mss as f64) / rtt.as_secs_f64();
        ((expected - actual) * base + 0.5) as i64
    }

    fn grow(&mut self, windows: &mut Windows, ack: &NewAck) {
        let used = ack.snd_nxt - ack.snd_una + ack.mss;
        if windows.cwnd > used + 2 * ack.mss {
            return; // the sender does not keep up with the window (ns-2)
        }
        match self.growth {
            Growth::Nothing => {}
            Growth::Segment => windows.cwnd += ack.mss,
            Growth::Share { window } => {
                self.remainder += ack.mss * ack.mss;
                windows.cwnd += self.remainder / window;
                self.remainder %= window;
            }
        }
    }
}

impl CongestionControl for Vegas {
    fn slow_start(&mut self, windows: &mut Windows, ack: &NewAck) -> bool {
        self.advance(windows, ack);
        true
    }

    fn on_ack(&mut self, windows: &mut Windows, ack: &NewAck) {
        self.advance(windows, ack);
    }

    fn on_ack_while_not_limiting(&mut self) {}

    /// After a loss found by duplicate ACKs the window never grows by slow start again; after a timeout it does, as far as
    /// half of what was in flight.
    fn ssthresh_after(&mut self, cause: Cause, _: &Windows, flight: u64, mss: u64) -> u64 {
        self.lost_again = cause == Cause::LostAgain;
        match cause {
            Cause::DuplicateAcks | Cause::LostAgain | Cause::Mark => 2 * mss,
            Cause::Timeout => (flight / 2).max(2 * mss),
        }
    }

    /// Three quarters for a segment lost once, half for one lost again (ns-2), whole segments, two at least.
    fn window_after(&self, before: u64, _: u64, mss: u64) -> u64 {
        let segments = before / mss;
        let kept = match segments {
            0..=3 => 2,
            _ if self.lost_again => segments / 2,
            _ => segments - segments / 4,
        };
        kept * mss
    }

    fn on_timeout(&mut self, windows: &mut Windows, mss: u64) {
        windows.cwnd = 2 * mss; // differs from RFC 5681 §3.1 (LW): Vegas starts again from two segments (ns-2)
    }
}

#[cfg(test)]
mod tests;
