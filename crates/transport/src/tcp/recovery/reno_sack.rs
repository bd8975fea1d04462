//! Reno with SACK and a pipe counted by ACKs (K. Fall and S. Floyd, "Simulation-based comparisons of Tahoe, Reno and SACK
//! TCP", 1996; `Agent/TCP/Sack1` of ns-2).
//!
//! The ancestor of RFC 6675: the scoreboard says which segment goes again, and how many may go is counted, one for each
//! ACK that arrives. Nobody judges which segments are lost, so that those count as in the network until ACKs run out.

use cellwind_engine::machine::Outbox;
use cellwind_engine::time::Time;

use super::{Ack, Guard, LossRecovery, Timer};
use crate::tcp::core::Core;
use crate::tcp::settings::ClassicSettings;

#[derive(Clone, Debug)]
pub(crate) struct RenoSack {
    guard: Guard,
    phase: Phase,
    /// Everything below was considered for retransmission in this recovery.
    high_rxt: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    Recovery {
        /// Bytes believed to be in the network.
        pipe: u64,
    },
}

impl RenoSack {
    pub fn new(settings: &ClassicSettings) -> Self {
        RenoSack { guard: Guard::new(settings.bug_fix), phase: Phase::Open, high_rxt: 0 }
    }

    fn enter(&mut self, core: &mut Core, now: Time, out: &mut Outbox) {
        self.guard.set(core);
        core.begin_fast_retransmit(now, out);
        core.windows.cwnd = core.reduced;
        // The duplicate ACKs tell that so many segments have left.
        let left = core.segments_left() * core.mss;
        self.phase = Phase::Recovery { pipe: (core.snd_max - core.snd_una).saturating_sub(left) };
        core.resend(core.snd_una, now, out); // outside of the pipe
        self.high_rxt = core.board.at(core.snd_una).map_or(core.snd_una, |segment| segment.end);
    }

    /// Takes `segments` out of the pipe and sends while it leaves room: holes below the highest SACK first, then new data.
    fn drain(&mut self, segments: u64, core: &mut Core, now: Time, out: &mut Outbox) {
        let Phase::Recovery { pipe } = &mut self.phase else { return };
        *pipe = pipe.saturating_sub(segments * core.mss);
        while *pipe + core.mss <= core.windows.cwnd {
            let missing = core.board.first_missing(self.high_rxt.max(core.snd_una));
            let highest = core.board.highest_sacked();
            let below = missing.filter(|segment| highest.is_some_and(|highest| segment.end < highest));
            let hole = below.map(|segment| (segment.start, segment.end));
            if (hole.is_none() && !core.can_send_new()) || !core.pace_allows(now) {
                return;
            }
            match hole {
                Some((start, end)) => {
                    core.resend(start, now, out);
                    self.high_rxt = end;
                }
                None => core.send_new(now, out),
            }
            *pipe += core.mss;
        }
    }
}

impl LossRecovery for RenoSack {
    fn on_duplicate_ack(&mut self, core: &mut Core, ack: Ack, now: Time, out: &mut Outbox) {
        if self.phase != Phase::Open {
            self.drain(1, core, now, out);
            return;
        }
        if ack.newly_sacked == 0 {
            return; // as RFC 6675 §2: no news of segments that have left
        }
        core.duplicate_acks += 1;
        if core.reaches_threshold() && self.guard.allows(core) {
            self.enter(core, now, out);
            self.drain(0, core, now, out);
        } else if core.duplicate_acks < core.dup_thresh {
            core.limited_transmit(now, out);
        }
    }

    fn on_new_ack(&mut self, core: &mut Core, ack: Ack, now: Time, out: &mut Outbox) -> Timer {
        match self.phase {
            Phase::Open => core.grow(ack.acked, now),
            Phase::Recovery { .. } if core.snd_una >= self.guard.recover => self.phase = Phase::Open,
            // A partial ACK answers a retransmission: that and the lost original have both left the network.
            Phase::Recovery { .. } => self.drain(2, core, now, out),
        }
        Timer::Restart
    }

    fn on_timeout(&mut self, core: &mut Core, _: Time) {
        self.guard.set(core);
        self.phase = Phase::Open;
        self.high_rxt = core.snd_una;
    }

    fn on_spurious(&mut self, _: &mut Core) {
        self.phase = Phase::Open;
    }

    fn resume(&mut self, core: &mut Core, now: Time, out: &mut Outbox) {
        match self.phase {
            Phase::Open => self.send(core, now, out),
            Phase::Recovery { .. } => self.drain(0, core, now, out),
        }
    }

    fn send(&mut self, core: &mut Core, now: Time, out: &mut Outbox) {
        if self.phase == Phase::Open {
            let window = core.windows.cwnd + core.sacked_before_next();
            core.send_within(window, now, out);
        }
    }

    fn is_recovering(&self) -> bool {
        self.phase != Phase::Open
    }
}
