//! How the congestion window comes down to the reduced one in a recovery that counts its pipe.
//!
//! The recovery sends while the window leaves room for a segment beside the pipe. What is here moves the window, from the
//! one before the loss to the one that [`Core::reduced`] says.

use cellwind_engine::time::Time;

use super::prr::Prr;
use crate::tcp::core::Core;
use crate::tcp::settings::{PrrBound, ReductionSettings};

/// A reduction under way, or the one that will be made.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reduction {
    /// The whole reduction when the loss is found (RFC 5681 §3.2, RFC 6675 §5 (4.2)).
    AtOnce,
    /// One segment for every second ACK: the window falls by a segment with every second ACK, and stays at what is in the
    /// network and one segment more (Mathis, Semke and Mahdavi 1999; Linux 2.4, tcp_cwnd_down).
    RateHalving {
        /// ACKs since the window fell last.
        acks: u32,
    },
    /// The window comes down by half of what leaves the network (Mathis and Mahdavi 1996 §4.5, `rampdown_` of ns-2's Fack):
    /// `reduced + trim`.
    RampDown {
        /// What is still above the reduced window, `win_trim`.
        trim: u64,
        /// SND.FACK when that was reckoned.
        forward: u64,
        /// The share of what leaves that is taken from `trim`: the reduction, and the window before it.
        share: (u64, u64),
    },
    /// One segment, which grows with every ACK of the recovery (ns-2's Fack, CLOSE_CWND_RESTART).
    Restart,
    /// In proportion to what is delivered (RFC 6937 §3).
    Proportional {
        bound: PrrBound,
        /// Of the present recovery.
        prr: Option<Prr>,
    },
}

impl Reduction {
    pub fn new(settings: ReductionSettings) -> Self {
        match settings {
            ReductionSettings::AtOnce => Reduction::AtOnce,
            ReductionSettings::RateHalving => Reduction::RateHalving { acks: 0 },
            ReductionSettings::RampDown => Reduction::RampDown { trim: 0, forward: 0, share: (0, 1) },
            ReductionSettings::Restart => Reduction::Restart,
            ReductionSettings::PrrCrb => Reduction::proportional(PrrBound::Conservative),
            ReductionSettings::PrrSsrb => Reduction::proportional(PrrBound::SlowStart),
        }
    }

    /// Proportional rate reduction within `bound` (RFC 6937 §3).
    pub fn proportional(bound: PrrBound) -> Self {
        Reduction::Proportional { bound, prr: None }
    }

    /// A loss was found with a window of `before`, by an ACK that delivered `delivered` bytes, and the threshold lowered; the
    /// lost segment is not sent again yet.
    pub fn begin(&mut self, core: &mut Core, before: u64, delivered: u64) {
        let pipe = core.board.pipe();
        match self {
            Reduction::AtOnce => core.windows.cwnd = core.reduced,
            Reduction::RateHalving { acks } => {
                *acks = 0;
                core.windows.cwnd = before.min(pipe + core.mss);
            }
            Reduction::RampDown { trim, forward, share } => {
                *share = (before.saturating_sub(core.reduced), before.max(1));
                *forward = core.forward_most();
                *trim = part(pipe, *share);
                core.windows.cwnd = core.reduced + *trim;
            }
            Reduction::Restart => core.windows.cwnd = core.mss,
            Reduction::Proportional { bound, prr } => {
                let mut begun = Prr::new(*bound, core.reduced, core.flight());
                let sndcnt = begun.on_ack(delivered, pipe, core.mss, false);
                // The fast retransmit itself waits for nothing (RFC 5681 §3.2 (3)).
                core.windows.cwnd = pipe + sndcnt.max(core.mss);
                *prr = Some(begun);
            }
        }
    }

    /// An ACK has arrived in recovery and delivered `delivered` bytes. `progress` tells that it moved SND.UNA and found no
    /// new loss.
    pub fn on_ack(&mut self, core: &mut Core, delivered: u64, progress: bool, now: Time) {
        match self {
            Reduction::AtOnce => {}
            Reduction::RateHalving { acks } => {
                *acks += 1;
                let cwnd = core.windows.cwnd;
                // Linux 2.4: not below half of the threshold.
                let falls = *acks % 2 == 0 && cwnd > core.reduced / 2;
                let fallen = if falls { cwnd.saturating_sub(core.mss) } else { cwnd };
                core.windows.cwnd = fallen.min(core.board.pipe() + core.mss).max(core.mss);
            }
            Reduction::RampDown { trim, forward, share } => {
                let now = core.forward_most();
                *trim = trim.saturating_sub(part(now - *forward, *share));
                *forward = now;
                core.windows.cwnd = core.reduced + *trim;
            }
            Reduction::Restart => core.grow(core.mss, now), // as if each ACK were new
            Reduction::Proportional { prr, .. } => {
                let pipe = core.board.pipe();
                let sndcnt = prr.as_mut().map_or(0, |prr| prr.on_ack(delivered, pipe, core.mss, progress));
                core.windows.cwnd = (pipe + sndcnt).max(core.mss);
            }
        }
    }

    /// `bytes` were sent or resent in recovery.
    pub fn on_sent(&mut self, bytes: u64) {
        if let Reduction::Proportional { prr: Some(prr), .. } = self {
            prr.on_sent(bytes);
        }
    }

    /// The recovery is over, by an ACK of all that was outstanding.
    pub fn end(&self, core: &mut Core, now: Time) {
        match self {
            Reduction::AtOnce => {}
            // Linux 2.4, tcp_complete_cwr: slow start brings back what rate-halving took too much.
            Reduction::RateHalving { .. } => core.windows.cwnd = core.windows.cwnd.min(core.reduced),
            Reduction::Restart => core.grow(core.mss, now),
            Reduction::RampDown { .. } | Reduction::Proportional { .. } => core.windows.cwnd = core.reduced,
        }
    }
}

/// `bytes` times a fraction.
fn part(bytes: u64, (share, of): (u64, u64)) -> u64 {
    (u128::from(bytes) * u128::from(share) / u128::from(of)) as u64
}
