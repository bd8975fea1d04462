//! Congestion control: how the window grows with acknowledgements and what a loss leaves of it.
//!
//! An algorithm of congestion avoidance is one file and one variant of [`Avoidance`]; slow start and its exits stand
//! beside it in [`slow_start`]. Loss recovery decides *when* data counts as lost; what is here decides *how much* may
//! be in flight.

mod aimd;
mod bbr;
mod cubic;
mod slow_start;
mod vegas;
mod veno;
mod westwood;

use cellwind_engine::packet::FlowId;
use cellwind_engine::random::Stream;
use cellwind_engine::time::{Span, Time};

use aimd::Aimd;
use cubic::Cubic;
use slow_start::SlowStart;
use vegas::Vegas;
use veno::Veno;
use westwood::Westwood;

use super::delivery_rate::{Loss, RateSample};
use super::pacing::Pace;
use super::settings::{CongestionSettings, Decrease, Growth, TcpSettings};

/// The two windows every algorithm works on, in bytes (RFC 5681 §2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Windows {
    /// Congestion window.
    pub cwnd: u64,
    /// Slow start threshold.
    pub ssthresh: u64,
}

impl Windows {
    /// Whether the window grows by slow start (RFC 5681 §3.1).
    fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
}

/// What an algorithm may know of an acknowledgement of new data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewAck {
    pub now: Time,
    /// Bytes newly acknowledged in sequence.
    pub acked: u64,
    /// Payload of a full segment.
    pub mss: u64,
    /// FlightSize from before this ACK.
    pub flight: u64,
    pub snd_una: u64,
    pub snd_nxt: u64,
    /// Time since the newest segment it acknowledges was sent; none if any was sent twice (Karn).
    pub rtt: Option<Span>,
    pub srtt: Option<Span>,
    /// The shortest `rtt` since the start, or since the last timeout.
    pub min_rtt: Option<Span>,
}

impl NewAck {
    /// Whether it was the congestion window that limited what was in flight: another segment did not fit, or, in slow
    /// start, more than half of the window was used (as Linux judges it).
    fn found_window_limiting(&self, windows: &Windows) -> bool {
        let full = self.flight + self.mss > windows.cwnd;
        full || (windows.in_slow_start() && 2 * self.flight > windows.cwnd)
    }
}

/// What every acceptable acknowledgement tells, before loss recovery acts on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub now: Time,
    /// Bytes newly acknowledged in sequence; zero for a duplicate ACK.
    pub acked: u64,
    /// Payload of a full segment.
    pub mss: u64,
    /// Time since the newest segment it acknowledges was sent; none if any was sent twice (Karn), and for a duplicate.
    pub rtt: Option<Span>,
}

/// Why the window is reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Duplicate ACKs, or SACK, tell of a loss.
    DuplicateAcks,
    /// The same, of a segment that was sent again before.
    LostAgain,
    /// The retransmission timer expired.
    Timeout,
    /// The receiver echoes a mark of congestion (RFC 3168 §6.1.2).
    Mark,
}

/// What an algorithm of congestion avoidance must answer, and what it may look at.
pub(crate) trait CongestionControl {
    /// An acceptable acknowledgement, also a duplicate, also in recovery; the window is not to grow here.
    #[inline(always)]
    fn on_arrival(&mut self, _windows: &mut Windows, _arrival: &Arrival) {}

    /// New data was acknowledged below the threshold; true when the algorithm has a slow start of its own.
    #[inline(always)]
    fn slow_start(&mut self, _windows: &mut Windows, _ack: &NewAck) -> bool {
        false
    }

    /// New data was acknowledged outside of loss recovery and of slow start: the window may grow.
    fn on_ack(&mut self, windows: &mut Windows, ack: &NewAck);

    /// The same, but the window must not grow, because something else limits what is in flight.
    fn on_ack_while_not_limiting(&mut self);

    /// Congestion was found with `flight` bytes outstanding: the new slow start threshold.
    fn ssthresh_after(&mut self, cause: Cause, windows: &Windows, flight: u64, mss: u64) -> u64;

    /// The window at the end of fast recovery, where `before` was the window and `ssthresh` is the new threshold.
    #[inline(always)]
    fn window_after(&self, _before: u64, ssthresh: u64, _mss: u64) -> u64 {
        ssthresh // RFC 5681 §3.2 (6)
    }

    /// The retransmission timer expired: the threshold was lowered and the window is one segment.
    fn on_timeout(&mut self, windows: &mut Windows, mss: u64);

    /// The connection is open, with its first window; `srtt` is the round trip of the handshake.
    fn on_connected(&mut self, _windows: &Windows, _srtt: Option<Span>, _now: Time, _mss: u64) {}

    /// What an acknowledgement tells of the delivery rate, before loss recovery acts on it.
    fn on_sample(&mut self, _windows: &mut Windows, _sample: &RateSample) {}

    /// A segment was found lost.
    fn on_lost(&mut self, _windows: &Windows, _loss: &Loss) {}

    /// The application sends again after it had nothing to send and nothing was in flight.
    fn on_restart_from_idle(&mut self, _windows: &mut Windows, _now: Time) {}

    /// The pace of segments, when the algorithm sets one.
    #[inline(always)]
    fn pace(&self) -> Option<Pace> {
        None
    }

    /// Whether the algorithm sends less than the path takes, so that samples do not show what it takes.
    fn is_holding_back(&self) -> bool {
        false
    }

    /// The last reduction proved wrong; the windows are those of before again.
    fn undo(&mut self) {}
}

/// The congestion control of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Congestion {
    slow_start: SlowStart,
    avoidance: Avoidance,
    /// Whether the window may grow while something else limits what is in flight.
    grows_always: bool,
    min_rtt: Option<Span>,
}

/// The algorithm of congestion avoidance.
#[derive(Clone, Debug)]
enum Avoidance {
    Aimd(Aimd),
    Cubic(Cubic),
    Westwood(Westwood),
    Vegas(Vegas),
    Veno(Veno),
    Bbr(Box<bbr::V1>),
    BbrV3(Box<bbr::V3>),
}

macro_rules! each {
    ($avoidance:expr, $algorithm:ident => $call:expr) => {
        match $avoidance {
            Avoidance::Aimd($algorithm) => $call,
            Avoidance::Cubic($algorithm) => $call,
            Avoidance::Bbr($algorithm) => $call,
            Avoidance::BbrV3($algorithm) => $call,
            Avoidance::Westwood($algorithm) => $call,
            Avoidance::Vegas($algorithm) => $call,
            Avoidance::Veno($algorithm) => $call,
        }
    };
}

impl Congestion {
    /// The congestion control of `flow`, whose number decides what BBR draws.
    pub fn new(settings: &TcpSettings, flow: FlowId) -> Self {
        let draws = || Stream::new(0, 0, &format!("tcp/{}/bbr", flow.0));
        let (avoidance, grows_always) = match &settings.congestion {
            CongestionSettings::Aimd(aimd) => (Avoidance::Aimd(Aimd::new(aimd)), aimd.growth == Growth::Always),
            CongestionSettings::Cubic(cubic) => (Avoidance::Cubic(Cubic::new(cubic)), false), // RFC 9438 §5.8
            CongestionSettings::Westwood(westwood) => {
                (Avoidance::Westwood(Westwood::new(westwood)), westwood.growth == Growth::Always)
            }
            CongestionSettings::Veno(veno) => (Avoidance::Veno(Veno::new(veno)), true),
            CongestionSettings::Vegas(vegas) => (Avoidance::Vegas(Vegas::new(vegas)), true), // it looks by itself
            CongestionSettings::Bbr => (Avoidance::Bbr(Box::new(bbr::V1::new(draws()))), true),
            CongestionSettings::BbrV3 => (Avoidance::BbrV3(Box::new(bbr::V3::new(draws()))), true),
        };
        Congestion { slow_start: SlowStart::new(&settings.slow_start), avoidance, grows_always, min_rtt: None }
    }

    /// New data was acknowledged outside of loss recovery.
    #[inline(always)]
    pub fn on_ack(&mut self, windows: &mut Windows, mut ack: NewAck) {
        if let Some(rtt) = ack.rtt {
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |shortest| shortest.min(rtt)));
        }
        ack.min_rtt = self.min_rtt;
        self.slow_start.watch(windows, &ack);
        if !self.grows_always && !ack.found_window_limiting(windows) {
            each!(&mut self.avoidance, algorithm => algorithm.on_ack_while_not_limiting());
            return;
        }
        if windows.in_slow_start() {
            if each!(&mut self.avoidance, algorithm => algorithm.slow_start(windows, &ack)) {
                return;
            }
            ack.acked = self.slow_start.grow(windows, &ack);
            if ack.acked == 0 {
                return;
            }
        }
        each!(&mut self.avoidance, algorithm => algorithm.on_ack(windows, &ack));
    }

    /// An acceptable acknowledgement, before loss recovery acts on it.
    #[inline(always)]
    pub fn on_arrival(&mut self, windows: &mut Windows, arrival: &Arrival) {
        if !matches!(self.avoidance, Avoidance::Aimd(_) | Avoidance::Cubic(_)) {
            self.on_arrival_of_others(windows, arrival); // these two do not look at it
        }
    }

    #[inline(never)]
    fn on_arrival_of_others(&mut self, windows: &mut Windows, arrival: &Arrival) {
        each!(&mut self.avoidance, algorithm => algorithm.on_arrival(windows, arrival));
    }

    /// The connection is open, with its first window.
    pub fn on_connected(&mut self, windows: &Windows, srtt: Option<Span>, now: Time, mss: u64) {
        each!(&mut self.avoidance, algorithm => algorithm.on_connected(windows, srtt, now, mss));
    }

    /// What an acknowledgement tells of the delivery rate.
    pub fn on_sample(&mut self, windows: &mut Windows, sample: &RateSample) {
        each!(&mut self.avoidance, algorithm => algorithm.on_sample(windows, sample));
    }

    /// A segment was found lost.
    pub fn on_lost(&mut self, windows: &Windows, loss: &Loss) {
        each!(&mut self.avoidance, algorithm => algorithm.on_lost(windows, loss));
    }

    /// The application sends again after a pause.
    pub fn on_restart_from_idle(&mut self, windows: &mut Windows, now: Time) {
        each!(&mut self.avoidance, algorithm => algorithm.on_restart_from_idle(windows, now));
    }

    /// The pace of segments, when the algorithm sets one.
    pub fn pace(&self) -> Option<Pace> {
        each!(&self.avoidance, algorithm => algorithm.pace())
    }

    /// Whether the algorithm sends less than the path takes.
    pub fn is_holding_back(&self) -> bool {
        each!(&self.avoidance, algorithm => algorithm.is_holding_back())
    }

    /// Whether the algorithm needs samples of the delivery rate.
    pub fn needs_samples(&self) -> bool {
        matches!(self.avoidance, Avoidance::Bbr(_) | Avoidance::BbrV3(_))
    }

    /// Congestion was found with `flight` bytes outstanding: the new slow start threshold.
    pub fn ssthresh_after(&mut self, cause: Cause, windows: &Windows, flight: u64, mss: u64) -> u64 {
        each!(&mut self.avoidance, algorithm => algorithm.ssthresh_after(cause, windows, flight, mss))
    }

    /// The window at the end of fast recovery, where `before` was the window and `ssthresh` is the new threshold.
    pub fn window_after(&self, before: u64, ssthresh: u64, mss: u64) -> u64 {
        each!(&self.avoidance, algorithm => algorithm.window_after(before, ssthresh, mss))
    }

    /// The retransmission timer expired: the threshold was lowered and the window is one segment.
    pub fn on_timeout(&mut self, windows: &mut Windows, mss: u64, now: Time, snd_nxt: u64) {
        self.min_rtt = None;
        self.slow_start.on_timeout(now, snd_nxt);
        each!(&mut self.avoidance, algorithm => algorithm.on_timeout(windows, mss));
    }

    /// The last reduction proved wrong; the windows are those of before again.
    pub fn undo(&mut self) {
        each!(&mut self.avoidance, algorithm => algorithm.undo());
    }
}

/// The share `kept` of what a loss reduces, two segments at least (RFC 5681 §3.1 (4), RFC 9438 §4.6).
fn reduced(decrease: Decrease, windows: &Windows, flight: u64, mss: u64, kept: impl Fn(u64) -> u64) -> u64 {
    let left = match decrease {
        Decrease::Flight => kept(flight),
        Decrease::Window => kept(windows.cwnd) / mss * mss,
    };
    left.max(2 * mss)
}

/// Acknowledgements for the tests of algorithms.
#[cfg(test)]
mod testing {
    use super::*;

    /// An ACK of one segment of 1000 bytes in a window that is full.
    pub fn ack(now: Time, windows: &Windows) -> NewAck {
        NewAck {
            now,
            acked: 1000,
            mss: 1000,
            flight: windows.cwnd,
            snd_una: 1,
            snd_nxt: 1 + windows.cwnd,
            rtt: None,
            srtt: None,
            min_rtt: None,
        }
    }
}
